//! One test suite for both databases. PostgreSQL needs a server (`scripts/with-postgres cargo
//! test`); without one, its tests are listed as ignored.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests panic to fail; clippy exempts only `#[test]` functions, and these are not"
)]

mod backend;
mod branches;
mod files;
mod generations;
mod handle;
mod leases;
mod lines;
mod messages;
mod sessions;
mod upkeep;
mod vectors;
mod work;

use backend::{Backend, Postgres, Sqlite};
use libtest_mimic::{Arguments, Failed, Trial};

type Case = (&'static str, fn(&dyn Backend));

fn main() {
    let arguments = Arguments::from_args();
    let cases: Vec<Case> = [
        messages::CASES,
        branches::CASES,
        sessions::CASES,
        generations::CASES,
        lines::CASES,
        upkeep::CASES,
        work::CASES,
        handle::CASES,
        leases::CASES,
        files::CASES,
        vectors::CASES,
    ]
    .concat();
    let server = std::env::var("WATERLINE_TEST_POSTGRES").ok();
    let mut trials = Vec::new();
    for (name, case) in cases {
        trials.push(Trial::test(format!("sqlite::{name}"), move || run(case, &Sqlite::new())));
        let server_url = server.clone();
        let trial = Trial::test(format!("postgres::{name}"), move || {
            let url = server_url.ok_or("WATERLINE_TEST_POSTGRES is not set")?;
            run(case, &Postgres::new(&url))
        });
        trials.push(trial.with_ignored_flag(server.is_none()));
    }
    if server.is_none() {
        eprintln!(
            "PostgreSQL tests are ignored: WATERLINE_TEST_POSTGRES is not set \
             (scripts/with-postgres starts a server)"
        );
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(case: fn(&dyn Backend), backend: &dyn Backend) -> Result<(), Failed> {
    case(backend);
    Ok(())
}

/// Declares the cases of a file.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CASES: &[crate::Case] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use cases;
