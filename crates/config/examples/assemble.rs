//! An agent as `waterline run` configures it: settings from files and the environment, the tools,
//! skills and roles that they name, and a session in a log. The offline model answers, so the
//! example needs no network.
//!
//! `cargo run -p waterline-config --example assemble`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::process::ExitCode;
use std::sync::Arc;

use waterline_agent::{Start, Unattended, UserInput};
use waterline_config::{Assembly, Config, Environment, Overrides};
use waterline_log::Log;

fn main() -> ExitCode {
    // This must come first: confined commands start the program again.
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    // A real program passes `std::env::vars_os()`; only these variables are read here.
    let variables =
        [("HOME", directory.path().as_os_str()), ("WATERLINE_MODEL", "offline".as_ref())];
    let environment = Arc::new(Environment::new(directory.path(), variables));
    let log = Log::open(&directory.path().join("log.db").display().to_string())?;

    let config = Config::load(environment)?;
    let start = Start::Open("first".to_owned());
    let (assembly, notices) = Assembly::new(config, Overrides::default(), log, start).await?;
    notices.iter().for_each(|notice| println!("notice: {notice:?}"));
    let prepared = assembly.builder()?.prepare().await?;
    let mut runner = prepared.runner(Arc::new(Unattended)).await?;
    let outcome = runner.turn(Some(UserInput::new("list files"))).await?;
    println!("{} steps: {}", outcome.steps, outcome.text);
    Ok(())
}
