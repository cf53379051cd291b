//! The two processes that re-execute the host program. The supervisor creates a POSIX session,
//! makes protected paths read-only, starts the launcher and waits; when the launcher ends or the
//! host is gone, it kills every process left in that POSIX session and checks the protected paths.
//! The launcher confines itself and becomes the command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, kill_process, set_child_subreaper, setrlimit, setsid,
};

use crate::launch_spec::{LAUNCH_ARGUMENT, LaunchSpec, PROBE_MOUNTS, PROBE_NAMESPACES, Report};
use crate::limits::{ExceededLimit, ResourceLimits};
use crate::linux::first_killed::RaisedScore;
use crate::linux::limits::{self, LeastFree};
use crate::linux::{self, mounts, namespace};
use crate::network::{self, Host, InvalidHost, RefusedHosts};
use crate::process_group;
use crate::protected::{Checked, Guard};
use crate::rules::Network;

/// The exit status that shells use for a command that could not be executed.
const NOT_STARTED: u8 = 126;

/// How often the limits of a command are checked.
const LIMIT_INTERVAL: Duration = Duration::from_millis(250);

/// How often a command that waits for another one checks whether that one has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Variables that tell programs which proxy to use.
const PROXY_VARIABLES: [&str; 5] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"];

/// Maximum number of blocked paths in a report.
const MAX_REPORTED: usize = 50;

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
    if spec == PROBE_NAMESPACES || spec == PROBE_MOUNTS {
        let is_possible = namespace::enter(|| true).is_ok()
            && (spec == PROBE_NAMESPACES || mounts::make_read_only_except(&[]).is_ok());
        return Some(if is_possible { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
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
    let rules = spec.rules.clone();
    let hosts = match &rules.network {
        Network::Hosts(hosts) => Some(parse_hosts(hosts)?),
        Network::Off | Network::Any => None,
    };
    let least_free = LeastFree::new(&rules);
    let raised_score = RaisedScore::new();
    let is_entered = enter_namespaces(&spec)?;
    // Without mounts, the guard keeps copies, which must not contain another command's changes.
    let turn = if is_entered { Vec::new() } else { take_turn(&rules.guarded)? };
    let guard = (!rules.guarded.is_empty()).then(|| {
        Guard::new(&rules, spec.user.clone(), |paths| match is_entered {
            true => mounts::make_read_only(paths),
            false => Err(std::io::ErrorKind::PermissionDenied.into()),
        })
    });
    if is_entered {
        // A directory that was removed meanwhile stays read-only.
        let _ = mounts::enter_again();
    }
    let refused = RefusedHosts::default();
    let launched = match hosts {
        Some(hosts) => spawn_with_proxy(spec, command, hosts, refused.clone())?,
        None => spawn_launcher(spec, command)?,
    };
    drop(raised_score);
    std::thread::spawn(move || {
        // The host holds the other end and writes nothing, so this read returns when the host ends
        // or drops the command.
        drop(std::io::stdin().read(&mut [0]));
        process_group::kill_session(posix_session);
    });
    let exceeded = Arc::new(OnceLock::new());
    let watched = Arc::clone(&exceeded);
    let limits = rules.limits.clone();
    std::thread::spawn(move || watch_limits(posix_session, &limits, &least_free, &watched));
    let status = process_group::wait_for(launched).map_err(|error| error.to_string())?;
    process_group::kill_session(posix_session);
    process_group::kill_children();
    let Checked { blocked, unchecked } = guard.map(|guard| guard.check(&rules)).unwrap_or_default();
    drop(turn);
    let exceeded = exceeded.get().copied();
    report(&Report { exceeded, blocked, unchecked, hosts: refused.take() });
    if let Some(signal) = status.terminating_signal().and_then(Signal::from_named_raw) {
        // End by the same signal, so that the host sees how the command ended.
        let _ = kill_process(getpid(), signal);
    }
    // This process may ignore the signal. Then the status is the one that shells use.
    let code =
        status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Enters the namespaces that a command needs and makes directories read-only in them. Returns
/// whether the kernel allows it; that is an error only if nothing else can keep the rules.
fn enter_namespaces(spec: &LaunchSpec) -> Result<bool, String> {
    let rules = &spec.rules;
    let needs_mounts = spec.confined || !(rules.guarded.is_empty() && rules.read_only.is_empty());
    let needs_network = matches!(rules.network, Network::Hosts(_));
    // Namespaces can be created only while there is one thread.
    let is_entered = (needs_mounts || needs_network) && namespace::enter(can_enter).is_ok();
    if is_entered && spec.confined {
        // Landlock refuses all other changes, so a failure leaves only modes, owners and times. The
        // host learns of it from `Shell::has_mount_namespace`.
        let _ = mounts::make_read_only_except(&rules.write);
    }
    let read_only: Vec<&Path> = rules.read_only.iter().map(PathBuf::as_path).collect();
    if read_only.is_empty() || is_entered && mounts::make_read_only(&read_only).is_ok() {
        return Ok(is_entered);
    }
    let names: Vec<String> = read_only.iter().map(|path| path.display().to_string()).collect();
    Err(format!("the kernel cannot keep {} read-only", names.join(", ")))
}

/// Waits until no other command runs in the guarded directories, and keeps others out of them until
/// the result is dropped.
fn take_turn(guarded: &[PathBuf]) -> Result<Vec<File>, String> {
    let mut roots = guarded.to_vec();
    // In the same order everywhere, so that no two commands wait for each other.
    roots.sort();
    let directories: Vec<File> = roots.iter().filter_map(|root| File::open(root).ok()).collect();
    for directory in &directories {
        // A file system without locks keeps no one out.
        while flock(directory, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            if is_host_gone() {
                return Err("another command runs in its directory".to_owned());
            }
            std::thread::sleep(LOCK_INTERVAL);
        }
    }
    Ok(directories)
}

/// Returns whether the host has ended or dropped the command.
fn is_host_gone() -> bool {
    let stdin = std::io::stdin();
    let mut line = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut line, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Returns whether a process of this user can enter namespaces.
fn can_enter() -> bool {
    let mut probe = Command::new("/proc/self/exe");
    probe.args([LAUNCH_ARGUMENT, PROBE_NAMESPACES]).stdin(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn spawn_launcher(spec: LaunchSpec, command: &[OsString]) -> Result<Pid, String> {
    let spec = serde_json::to_string(&LaunchSpec { supervised: true, ..spec })
        .map_err(|error| error.to_string())?;
    // Not the executable's path: another file may be there by now.
    let mut launcher = Command::new("/proc/self/exe");
    launcher.arg(LAUNCH_ARGUMENT).arg(spec).arg("--").args(command).stdin(Stdio::null());
    let launched = launcher.spawn().map_err(|error| error.to_string())?;
    let pid = i32::try_from(launched.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| "the launcher has no process id".to_owned())
}

fn parse_hosts(hosts: &[String]) -> Result<Vec<Host>, String> {
    hosts.iter().map(|host| host.parse().map_err(|error: InvalidHost| error.to_string())).collect()
}

/// Starts the launcher and the proxy that it may connect to. If possible, the launcher has a
/// network of its own, in which only the proxy is reachable; otherwise Landlock restricts it to the
/// proxy's port.
fn spawn_with_proxy(
    spec: LaunchSpec,
    command: &[OsString],
    hosts: Vec<Host>,
    refused: RefusedHosts,
) -> Result<Pid, String> {
    let command = command.to_vec();
    // A namespace belongs to a thread, and to what the thread starts. This process keeps its own
    // network, and accepts connections from the other one.
    let inner = std::thread::spawn(move || {
        // Without it, the launcher relies on Landlock alone.
        let _ = namespace::enter_network();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| format!("cannot start the proxy: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let spec = LaunchSpec { proxy: Some(address.port()), ..spec };
        Ok::<_, String>((listener, spawn_launcher(spec, &command)?))
    });
    let (listener, launched) = inner.join().map_err(|_| "cannot start the proxy".to_owned())??;
    std::thread::spawn(move || network::serve(&listener, &hosts, &refused));
    Ok(launched)
}

/// Kills the command when it exceeds a limit that the kernel does not enforce.
fn watch_limits(
    posix_session: Pid,
    limits: &ResourceLimits,
    least_free: &LeastFree,
    exceeded: &OnceLock<ExceededLimit>,
) {
    let memory = limits.memory.unwrap_or_else(limits::default_memory);
    loop {
        std::thread::sleep(LIMIT_INTERVAL);
        let usage = process_group::usage(posix_session);
        let limit = if usage.tasks > limits.processes {
            ExceededLimit::Processes
        } else if usage.memory > memory && process_group::shared_memory_once(posix_session) > memory
        {
            ExceededLimit::Memory
        } else if least_free.is_exceeded() {
            ExceededLimit::Disk
        } else {
            continue;
        };
        let _ = exceeded.set(limit);
        process_group::kill_session(posix_session);
    }
}

/// Sends a report to the host. It fits into the buffer of the socket, because the host reads it
/// only when this process has ended.
fn report(report: &Report) {
    let mut report = report.clone();
    report.blocked.truncate(MAX_REPORTED);
    let text = serde_json::to_vec(&report).unwrap_or_default();
    // The host may be gone, or may have given no socket.
    let _ = rustix::io::write(std::io::stdin(), &text);
}

/// Confines this process and becomes the command. Returns only if that fails, with the reason.
fn become_command(spec: &LaunchSpec, command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else {
        return "missing command".to_owned();
    };
    let close_commands = close_inherited(program);
    limits::apply(&spec.rules);
    match linux::confine(&spec.rules, spec.confined, spec.proxy) {
        Err(why) if spec.confined => return why.to_string(),
        _ => {}
    }
    let mut arguments = arguments.to_vec();
    if let Some(text) = arguments.last_mut() {
        let mut script = OsString::from(close_commands);
        script.push(&text);
        *text = script;
    }
    let mut command = Command::new(program);
    if let Some(port) = spec.proxy {
        let address = format!("http://127.0.0.1:{port}");
        command.envs(PROXY_VARIABLES.map(|name| (name, &address)));
        // Node ignores the other variables without it.
        command.env("NODE_USE_ENV_PROXY", "1");
    }
    command.args(arguments).exec().to_string()
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
