//! Runs a command that may change one directory, but not use the network or read the user's other
//! files.
//!
//! ```console
//! $ cargo run -p waterline-sandbox --example confined_command -- 'echo hi > note; cat note; cat ~/.bashrc'
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::process::ExitCode;
use std::time::Duration;

use waterline_sandbox::{Rules, Shell, Support, Workspace, support};

fn main() -> ExitCode {
    // This must come first: the program is re-executed to confine itself and become the command.
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    match run() {
        Ok(code) => code,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let command = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "echo hi > note; cat note; cat /etc/shadow".to_owned());
    let directory = std::env::temp_dir().join(format!("confined-{}", std::process::id()));
    // A workspace is a directory that belongs to one session. Its path has no symbolic links.
    let workspace = Workspace::open(&directory, "example", &[])?;

    let mut shell = Shell::new();
    if let Support::None(why) = support() {
        println!("[the kernel cannot confine files: {why}]");
        shell.confined = false;
    }
    shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let rules = Rules { write: vec![workspace.path().to_owned()], ..Rules::default() };
    let result =
        shell.run(&rules, workspace.path(), &command, Some(Duration::from_secs(10))).await?;
    print!("{}", result.output);
    println!(
        "[{}]",
        result.status.map_or_else(|| "timed out".to_owned(), |status| status.to_string())
    );
    std::fs::remove_dir_all(&directory)?;
    Ok(ExitCode::SUCCESS)
}
