//! What the host program does when it is re-executed. The first process, the supervisor, starts a
//! POSIX session of its own, starts the second one and waits; when that ends, or the host is gone,
//! it kills everything that is left of the POSIX session. The second process confines itself and
//! becomes the command.

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

/// The exit status of a shell that could not start a command.
const NOT_STARTED: u8 = 126;

/// The exit status of a supervisor whose host is gone.
const HOST_GONE: i32 = 1;

/// Runs the command if this process was re-executed to run one, and returns its exit code;
/// otherwise returns `None`.
///
/// Call it first thing in `main`. See the crate's documentation.
#[must_use]
pub fn launcher() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != LAUNCH_ARGUMENT {
        return None;
    }
    let spec = arguments.next().unwrap_or_default();
    let command: Vec<OsString> = arguments.skip_while(|word| word == "--").collect();
    let code = enter(&spec, &command).unwrap_or_else(|why| {
        // The standard error is the output of the command, whose reader must learn why there is
        // none.
        drop(writeln!(
            std::io::stderr(),
            "the command could not be confined and was not run: {why}"
        ));
        NOT_STARTED
    });
    Some(ExitCode::from(code))
}

fn enter(spec: &OsStr, command: &[OsString]) -> Result<u8, String> {
    let unreadable = || "its rules cannot be read".to_owned();
    let spec: LaunchSpec =
        serde_json::from_str(spec.to_str().ok_or_else(unreadable)?).map_err(|_| unreadable())?;
    if spec.supervised { Err(become_command(&spec, command)) } else { supervise(spec, command) }
}

fn supervise(spec: LaunchSpec, command: &[OsString]) -> Result<u8, String> {
    // No process can leave a POSIX session (`setsid` is refused to commands), so all of them can be
    // found and killed.
    let posix_session =
        setsid().map_err(|error| format!("it cannot start a POSIX session: {error}"))?;
    // Processes that lose their parent become children of the supervisor, so that none is
    // overlooked.
    let _ = set_child_subreaper(Some(posix_session));
    // The core dump of a program may hold secrets.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let spec = serde_json::to_string(&LaunchSpec { supervised: true, ..spec })
        .map_err(|error| error.to_string())?;
    // Not by its path: the file there may be another one by now.
    let mut launcher = Command::new("/proc/self/exe");
    launcher.arg(LAUNCH_ARGUMENT).arg(spec).arg("--").args(command).stdin(Stdio::null());
    let mut launched = launcher.spawn().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        // The host holds the other end and writes nothing: a read returns when the host ends or
        // drops the command.
        drop(std::io::stdin().read(&mut [0]));
        process_group::kill_session(posix_session);
        std::process::exit(HOST_GONE);
    });
    let status = launched.wait().map_err(|error| error.to_string())?;
    process_group::kill_session(posix_session);
    process_group::kill_children();
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // The host sees how the command ended.
        let _ = kill_process(getpid(), signal);
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Confines this process and becomes the command. Returns only if that fails, with the reason.
fn become_command(spec: &LaunchSpec, command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else {
        return "no command is given".to_owned();
    };
    // When memory runs out, the kernel kills the command before the host or another program of the
    // user.
    drop(std::fs::write("/proc/self/oom_score_adj", "1000"));
    let closing = close_inherited(program);
    match linux::confine(&spec.rules, spec.confined) {
        Err(why) if spec.confined => return why,
        _ => {}
    }
    let mut arguments = arguments.to_vec();
    if let Some(text) = arguments.last_mut() {
        let mut whole = OsString::from(closing);
        whole.push(&text);
        *text = whole;
    }
    Command::new(program).args(arguments).exec().to_string()
}

/// Closes the descriptors that the host inherited, in words of the shell, which runs them before
/// the command. Only bash can name descriptors above 9; another shell would take the number for a
/// command and stop.
fn close_inherited(shell: &OsStr) -> String {
    let last = if Path::new(shell).ends_with("bash") { u32::MAX } else { 9 };
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The descriptor that this list is read from is closed by then; closing it again does no harm.
    numbers
        .filter(|number| (3..=last).contains(number))
        .map(|number| format!("exec {number}>&-;"))
        .collect()
}

/// Keeps other programs of the user from reading the memory and the environment of this process.
///
/// Call it once at start if they hold secrets.
pub fn hide() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Where the kernel refuses it, everything else still holds.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
