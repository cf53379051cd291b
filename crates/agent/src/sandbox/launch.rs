//! What the launcher does. It is this program twice more. The first, the keeper, begins a session of its own, starts the second
//! and waits; when that ends, or the program that wanted the command is gone, it ends everything that is left of the session. The
//! second confines itself and becomes the command.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, set_child_subreaper, setrlimit, setsid};

use super::{Order, family, linux};

/// Does what the launcher does, and gives the exit status of the command.
///
/// # Errors
/// Why the command was not run.
pub fn enter(order: &str, command: &[OsString]) -> Result<u8, String> {
    let read = serde_json::from_str::<Order>(order).map_err(|_| "the rules cannot be read".to_owned())?;
    if read.kept { Err(begin(&read, command)) } else { keep(read, OsStr::new(order)) }
}

fn keep(order: Order, text: &OsStr) -> Result<u8, String> {
    // The first of a session of its own, which nobody in it can leave: so all of it can be ended.
    let session = setsid().map_err(|error| format!("it cannot have a session of its own: {error}"))?;
    // What loses its parent becomes the keeper's child, so that nothing is overlooked.
    let _ = set_child_subreaper(Some(session));
    // What a program leaves when it crashes may hold what nobody should find.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let kept = serde_json::to_string(&Order { kept: true, ..order }).map_err(|error| error.to_string())?;
    let words = std::env::args_os().skip(1).map(|word| if word == text { OsString::from(&kept) } else { word });
    // Not by its path: the file there may be another one by now.
    let mut begun = Command::new("/proc/self/exe");
    let mut begun = begun.args(words).stdin(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        // The program holds the other end and writes nothing: what comes is its end.
        drop(std::io::stdin().read(&mut [0]));
        family::end(session);
        std::process::exit(LEFT);
    });
    let status = begun.wait().map_err(|error| error.to_string())?;
    family::end(session);
    family::end_children();
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // Whoever waits sees how the command ended.
        let _ = kill_process(getpid(), signal);
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// The exit status of a keeper that nobody waits for.
const LEFT: i32 = 1;

/// Confines this process and becomes the command. Comes back only with why it could not.
fn begin(order: &Order, command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else { return "no command is given".to_owned() };
    // Where memory runs out the command goes, not the program or another one of the user.
    drop(std::fs::write("/proc/self/oom_score_adj", "1000"));
    let closing = handed_on(program);
    match linux::confine(&order.rules, order.confined) {
        Err(why) if order.confined => return why,
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

/// Whoever started the program may have left files open in it: the shell closes them before it reads the command. Only bash can
/// name those above 9; another shell would take the number for a command, and end.
fn handed_on(shell: &OsStr) -> String {
    let last = if Path::new(shell).ends_with("bash") { u32::MAX } else { 9 };
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The one that this list is read from is closed already; closing it again does no harm.
    numbers.filter(|number| (3..=last).contains(number)).map(|number| format!("exec {number}>&-;")).collect()
}

/// Keeps other programs of the user from reading the keys in the memory and the environment of this one.
pub fn hide() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Where it is refused, everything else still holds.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
