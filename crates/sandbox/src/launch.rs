//! The two processes that re-execute the host program. The supervisor creates a POSIX session,
//! starts the launcher and waits; when the launcher ends or the host is gone, it kills every
//! process left in that POSIX session. The launcher confines itself and becomes the command.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{
    Resource, Rlimit, Signal, getpid, kill_process, set_child_subreaper, setrlimit, setsid,
};

use crate::launch_spec::{LAUNCH_ARGUMENT, LaunchSpec};
use crate::{linux, process_group};

/// The exit status that shells use for a command that could not be executed.
const NOT_STARTED: u8 = 126;

/// The exit status of a supervisor whose host has ended.
const HOST_GONE: i32 = 1;

/// Runs the command if this process was re-executed to run one, and returns its exit code;
/// otherwise returns `None`.
///
/// Call it first thing in `main`. See the crate documentation.
#[must_use]
pub fn launcher() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != LAUNCH_ARGUMENT {
        return None;
    }
    let spec = arguments.next().unwrap_or_default();
    let command: Vec<OsString> = arguments.skip_while(|argument| argument == "--").collect();
    let code = enter(&spec, &command).unwrap_or_else(|why| {
        // Standard error is part of the command's output, whose reader must learn what failed.
        drop(writeln!(std::io::stderr(), "cannot confine the command, so it was not run: {why}"));
        NOT_STARTED
    });
    Some(ExitCode::from(code))
}

fn enter(spec: &OsStr, command: &[OsString]) -> Result<u8, String> {
    let invalid = || "invalid launch rules".to_owned();
    let spec: LaunchSpec =
        serde_json::from_str(spec.to_str().ok_or_else(invalid)?).map_err(|_| invalid())?;
    if spec.supervised { Err(become_command(&spec, command)) } else { supervise(spec, command) }
}

fn supervise(spec: LaunchSpec, command: &[OsString]) -> Result<u8, String> {
    // Commands may not call `setsid`, so no process can leave the POSIX session and all of them can
    // be found and killed.
    let posix_session =
        setsid().map_err(|error| format!("cannot create a POSIX session: {error}"))?;
    // Orphaned processes become children of the supervisor, so none is missed.
    let _ = set_child_subreaper(Some(posix_session));
    // A core dump may hold secrets.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let spec = serde_json::to_string(&LaunchSpec { supervised: true, ..spec })
        .map_err(|error| error.to_string())?;
    // Not the executable's path: another file may be there by now.
    let mut launcher = Command::new("/proc/self/exe");
    launcher.arg(LAUNCH_ARGUMENT).arg(spec).arg("--").args(command).stdin(Stdio::null());
    let mut launched = launcher.spawn().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        // The host holds the other end and writes nothing, so this read returns when the host ends
        // or drops the command.
        drop(std::io::stdin().read(&mut [0]));
        process_group::kill_session(posix_session);
        std::process::exit(HOST_GONE);
    });
    let status = launched.wait().map_err(|error| error.to_string())?;
    process_group::kill_session(posix_session);
    process_group::kill_children();
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // End by the same signal, so that the host sees how the command ended.
        let _ = kill_process(getpid(), signal);
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Confines this process and becomes the command. Returns only if that fails, with the reason.
fn become_command(spec: &LaunchSpec, command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else {
        return "missing command".to_owned();
    };
    // If memory runs out, the kernel should kill the command first, not the host or another program
    // of the user.
    drop(std::fs::write("/proc/self/oom_score_adj", "1000"));
    let close_commands = close_inherited(program);
    match linux::confine(&spec.rules, spec.confined) {
        Err(why) if spec.confined => return why,
        _ => {}
    }
    let mut arguments = arguments.to_vec();
    if let Some(text) = arguments.last_mut() {
        let mut script = OsString::from(close_commands);
        script.push(&text);
        *text = script;
    }
    Command::new(program).args(arguments).exec().to_string()
}

/// Returns shell commands that close the descriptors the host inherited, to run before the command.
/// Only bash accepts descriptors above 9; another shell would treat the number as a command and
/// stop.
fn close_inherited(shell: &OsStr) -> String {
    let last = if Path::new(shell).ends_with("bash") { u32::MAX } else { 9 };
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The list includes the descriptor it is read from, which is already closed when the shell
    // runs. Closing it again is harmless.
    numbers
        .filter(|number| (3..=last).contains(number))
        .map(|number| format!("exec {number}>&-;"))
        .collect()
}

/// Keeps other programs of the same user from reading this process's memory and environment.
///
/// Call it once at startup if they hold secrets.
pub fn hide() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // If the kernel refuses, the other protections still apply.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
