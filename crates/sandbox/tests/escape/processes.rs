//! Commands, and what they start, whom they reach, how long they stay.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use waterline_sandbox::Rules;

use crate::commands::{fails, fails_by, rules, run, run_by, shell, works, works_by};
use crate::yard::{SECRET, Yard};

/// The number of `prctl`, where it is known.
const PRCTL: Option<usize> = if cfg!(target_arch = "x86_64") {
    Some(157)
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    Some(167)
} else {
    None
};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["processes":
        a_server_is_reached_only_with_the_network,
        a_packet_is_sent_only_with_the_network,
        other_processes_get_no_signal,
        a_signal_to_the_own_group_stays_in_it,
        what_runs_in_the_background_ends_with_the_command,
        what_asks_for_a_session_of_its_own_ends_with_the_command,
        what_job_control_starts_ends_with_the_command,
        what_has_an_odd_name_ends_with_the_command,
        what_is_started_twice_removed_ends_with_the_command,
        a_command_that_ignores_signals_ends_after_its_time,
        a_command_that_nobody_waits_for_is_ended,
        a_command_whose_program_is_killed_is_ended,
        a_limit_of_time_inside_a_command_ends_only_what_it_is_for,
        an_endless_output_is_cut_in_the_middle,
    ];
    let has = |program: &str| {
        ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
            .iter()
            .any(|at| Path::new(at).join(program).exists())
    };
    if has("perl") {
        trials.extend(trials!["processes":
            a_socket_of_another_program_is_not_reached,
            memory_of_other_programs_is_not_shared,
            a_pair_of_sockets_is_not_turned_to_another_program,
            other_programs_keep_their_priority,
            a_daemon_ends_with_the_command,
        ]);
    }
    if has("perl") && PRCTL.is_some() {
        trials.extend(trials!["processes": no_program_gains_rights]);
    }
    if has("perl") && cfg!(target_arch = "x86_64") {
        trials.extend(trials!["processes":
            other_numbers_of_the_same_call_do_not_help,
            a_process_gets_no_world_of_its_own,
        ]);
    }
    if has("sudo") {
        trials.extend(trials!["processes": nobody_becomes_another_user]);
    }
    if has("strace") {
        trials.extend(trials!["processes": other_processes_are_not_traced]);
    }
    if has("prlimit") && has("renice") {
        trials.extend(trials!["processes": limits_of_other_processes_are_not_changed]);
    }
    if has("hostname") {
        trials.extend(trials!["processes": the_machine_keeps_its_name]);
    }
    trials
}

fn with_network(yard: &Yard) -> Rules {
    Rules { network: true, ..rules(yard) }
}

fn a_server_is_reached_only_with_the_network(yard: &Yard) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let text = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && echo connected",
        server.local_addr().unwrap().port()
    );
    fails(yard, &text);
    assert!(server.accept().is_err(), "somebody came");
    assert_eq!(works_by(yard, &with_network(yard), &text), "connected\n");
    server.accept().unwrap();
}

fn a_packet_is_sent_only_with_the_network(yard: &Yard) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let text = format!("echo hello > /dev/udp/127.0.0.1/{}", server.local_addr().unwrap().port());
    let mut packet = [0; 16];
    fails(yard, &text);
    assert!(server.recv(&mut packet).is_err(), "something came");
    works_by(yard, &with_network(yard), &text);
    assert_eq!(server.recv(&mut packet).unwrap(), 6);
}

/// Also with the network: such servers are of this machine, and some take orders.
fn a_socket_of_another_program_is_not_reached(yard: &Yard) {
    let path = yard.spare("server");
    let server = UnixListener::bind(&path).unwrap();
    server.set_nonblocking(true).unwrap();
    let connect = r#"use Socket;
        socket(S, PF_UNIX, SOCK_STREAM, 0) or die "refused\n";
        connect(S, pack_sockaddr_un($ARGV[0])) or die "refused\n";
        print "connected\n";"#;
    let text = format!("perl -e '{connect}' '{}'", path.display());
    assert_eq!(fails(yard, &text), "refused\n");
    assert_eq!(fails_by(yard, &with_network(yard), &text), "refused\n");
    assert!(server.accept().is_err(), "somebody came");
    // Anybody else gets in.
    let said = Command::new("perl").arg("-e").arg(connect).arg(&path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "connected\n");
}

/// Memory that two programs share belongs to no file.
fn memory_of_other_programs_is_not_shared(yard: &Yard) {
    let perl = |script: &str, argument: &str| {
        let output = Command::new("perl").arg("-e").arg(script).arg(argument).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let id = perl("$id = shmget(0, 64, 01600); shmwrite($id, $ARGV[0], 0, 64); print $id", SECRET);
    let inside = |call: &str| {
        run(yard, &format!(r#"perl -e 'print {call} ? "done" : "refused"' {id}"#)).output
    };
    let read = inside("shmread($ARGV[0], $seen, 0, 64)");
    let write = inside(r#"shmwrite($ARGV[0], "changed", 0, 7)"#);
    // Looked at and given back before anything is asserted: nobody else would.
    let kept = perl("shmread($ARGV[0], $seen, 0, 64); shmctl($ARGV[0], 0, 0); print $seen", &id);
    assert_eq!([read.as_str(), write.as_str()], ["refused", "refused"]);
    assert_eq!(kept.trim_end_matches('\0'), SECRET);
    assert_eq!(works(yard, "perl -e 'print 1 + 1'"), "2");
}

fn a_pair_of_sockets_is_not_turned_to_another_program(yard: &Yard) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("datagrams");
    let server = UnixDatagram::bind(&path).unwrap();
    server.set_nonblocking(true).unwrap();
    let script = r#"use Socket; socketpair($a, $b, AF_UNIX, $ARGV[1], 0) or die "no pair";
        send($a, "hello", 0, pack_sockaddr_un($ARGV[0])); print "made";"#;
    let with = |kind: u8| format!("perl -e '{script}' {} {kind}", path.display());
    for kind in [2, 3, 4] {
        assert!(fails(yard, &with(kind)).contains("no pair"), "{kind}");
    }
    assert_eq!(works(yard, &with(1)), "made", "a pair of streams is allowed");
    assert!(server.recv(&mut [0; 16]).is_err(), "something came");
}

fn other_programs_keep_their_priority(yard: &Yard) {
    let set = |which: u8, who: u32| {
        works(yard, &format!("perl -e 'print setpriority({which}, {who}, 3) ? 1 : 0'"))
    };
    assert_eq!(
        [set(2, 0), set(1, 0), set(0, std::process::id())],
        ["0", "0", "0"],
        "of the user, a group, this program"
    );
    assert_eq!(set(0, 0), "1", "its own");
}

fn a_process_gets_no_world_of_its_own(yard: &Yard) {
    for world in [0x1000_0000, 0x2_0000, 0x2000_0000, 0x4000_0000] {
        let text = format!("perl -e 'print syscall(56, {}, 0, 0, 0, 0)'", world + 17);
        assert_eq!(works(yard, &text), "-1", "{world:x}");
    }
    assert_eq!(works(yard, "(echo child) & wait"), "child\n");
}

/// A process of somebody else: of this program.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("60").spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// What it may use, and how urgent it is.
    fn limits(&self) -> (String, Option<String>) {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).unwrap();
        (read("limits"), read("stat").split_whitespace().nth(18).map(str::to_owned))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn other_processes_get_no_signal(yard: &Yard) {
    let mut other = Other::start();
    for signal in ["0", "TERM", "STOP", "KILL"] {
        fails(yard, &format!("kill -{signal} {}", other.0.id()));
    }
    fails(yard, "kill -0 $PPID");
    assert!(other.lives());
    assert_eq!(works(yard, "sleep 60 & kill $!; wait $!; echo $?"), "143\n");
}

fn a_signal_to_the_own_group_stays_in_it(yard: &Yard) {
    let mut other = Other::start();
    let ended = run(yard, "echo begun; kill -TERM 0; sleep 60");
    assert_eq!(
        (ended.output.as_str(), ended.status.and_then(|status| status.signal())),
        ("begun\n", Some(15))
    );
    assert!(other.lives());
}

fn limits_of_other_processes_are_not_changed(yard: &Yard) {
    let other = Other::start();
    let before = other.limits();
    for text in ["prlimit --nofile=7:7 --pid", "renice -n 19 -p"] {
        fails(yard, &format!("{text} {}", other.0.id()));
    }
    assert_eq!(other.limits(), before);
    assert_eq!(works(yard, "ulimit -n 64; ulimit -n"), "64\n");
}

fn other_processes_are_not_traced(yard: &Yard) {
    let mut other = Other::start();
    fails(yard, &format!("strace -o temp/trace -p {}", other.0.id()));
    fails(yard, "strace -o temp/trace true");
    assert!(other.lives());
    works(yard, "strace -V");
}

fn no_program_gains_rights(yard: &Yard) {
    let call = PRCTL.unwrap();
    // 39 asks whether rights can be gained by running a program: 1 says no.
    assert_eq!(works(yard, &format!("perl -e 'print syscall({call}, 39, 0, 0, 0, 0)'")), "1");
}

fn nobody_becomes_another_user(yard: &Yard) {
    fails(yard, "sudo -n true");
    assert_eq!(works(yard, "id -u"), format!("{}\n", rustix::process::getuid().as_raw()));
}

/// The calls of an older interface have the same numbers, but for one bit.
fn other_numbers_of_the_same_call_do_not_help(yard: &Yard) {
    for call in [41, 0x4000_0000 + 41] {
        assert_eq!(works(yard, &format!("perl -e 'print syscall({call}, 2, 2, 0)'")), "-1");
    }
    assert_eq!(works(yard, "perl -e 'print syscall(39) == $$'"), "1", "a call that is allowed");
}

/// Whoever works as root may rename it, but not a command.
fn the_machine_keeps_its_name(yard: &Yard) {
    assert!(!works(yard, "hostname").trim().is_empty());
    fails(yard, r#"hostname "$(hostname)""#);
}

/// A number of seconds that no other process sleeps.
fn mark() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("60.{:07}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Whether a process is there that sleeps so long. One that was killed may need a moment to be
/// gone.
fn is_there(mark: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(3);
    loop {
        let found = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
        });
        if !found || Instant::now() > until {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command that leaves a process behind, which says in `temp/alive` that it runs; afterwards
/// it must be gone.
#[track_caller]
fn leaves_nothing(yard: &Yard, text: &str, mark: &str) {
    let since = Instant::now();
    let text = format!("{text}\nuntil [ -s temp/alive ]; do sleep 0.01; done; echo begun");
    let ended = run(yard, &text);
    assert!(
        ended.status.is_some_and(|status| status.success()) && ended.output.ends_with("begun\n"),
        "{ended:?}"
    );
    assert!(since.elapsed() < Duration::from_secs(10), "the output was kept open");
    assert!(!is_there(mark), "{text}");
}

fn what_runs_in_the_background_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    leaves_nothing(
        yard,
        &format!("(echo yes > temp/alive; exec sleep {mark}) & disown 2> /dev/null"),
        &mark,
    );
    std::fs::remove_file(yard.inside("temp/alive")).unwrap();
    leaves_nothing(
        yard,
        &format!("nohup sh -c 'echo yes > temp/alive; exec sleep {mark}' > /dev/null 2>&1 &"),
        &mark,
    );
}

/// It may be refused one, or have one: it is not left in either case.
fn what_asks_for_a_session_of_its_own_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    for text in ["setsid", "setsid -f", "setsid -w", "unshare -p -f", "unshare -U -p -f"] {
        assert_eq!(
            run(yard, &format!("{text} sleep {mark} > /dev/null 2>&1 & echo begun")).output,
            "begun\n"
        );
        // With a moment to get away.
        assert_eq!(
            run(yard, &format!("{text} sleep {mark} > /dev/null 2>&1 & sleep 0.1; echo begun"))
                .output,
            "begun\n"
        );
    }
    assert!(!is_there(&mark));
}

fn what_job_control_starts_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    leaves_nothing(
        yard,
        &format!("set -m; (echo yes > temp/alive; exec sleep {mark}) & set +m"),
        &mark,
    );
}

/// The name of a process may hold bytes that are no text.
fn what_has_an_odd_name_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    let text = format!(
        r"cp /bin/sleep $'temp/x\xff) S 1'; (echo yes > temp/alive; exec $'temp/x\xff) S 1' {mark}) & disown"
    );
    leaves_nothing(yard, &text, &mark);
}

fn what_is_started_twice_removed_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    leaves_nothing(yard, &format!("( ( (echo yes > temp/alive; exec sleep {mark}) & ) & )"), &mark);
}

fn a_daemon_ends_with_the_command(yard: &Yard) {
    let mark = mark();
    let script = r#"fork and exit; POSIX::setsid(); setpgrp(0, 0); fork and exit;
        open(F, ">", "temp/alive"); print F "yes"; close(F); exec("sleep", $ARGV[0]);"#;
    leaves_nothing(yard, &format!("perl -MPOSIX -e '{script}' {mark}"), &mark);
}

fn a_command_that_ignores_signals_ends_after_its_time(yard: &Yard) {
    let (mark, since) = (mark(), Instant::now());
    let text =
        format!("trap '' TERM INT HUP; echo begun; sleep {mark}; sleep {mark}; sleep {mark}");
    let ended = run_by(yard, &rules(yard), &text, Some(Duration::from_secs(1)));
    assert!(ended.status.is_none() && ended.output == "begun\n", "{ended:?}");
    assert!(since.elapsed() < Duration::from_secs(10) && !is_there(&mark));
    let quick = run_by(yard, &rules(yard), "echo quick", Some(Duration::from_secs(10)));
    assert_eq!(
        (quick.output.as_str(), quick.status.map(|status| status.success())),
        ("quick\n", Some(true))
    );
}

fn a_command_that_nobody_waits_for_is_ended(yard: &Yard) {
    let mark = mark();
    let text = format!("(echo yes > temp/alive; exec sleep {mark}) & wait");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (shell, rules, folder) = (shell(yard), rules(yard), yard.ws());
        let begun = async {
            while !yard.inside("temp/alive").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = shell.run(&rules, &folder, &text, None) => panic!("it ended by itself: {ended:?}"),
            () = begun => {}
        }
    });
    runtime.shutdown_background();
    assert!(!is_there(&mark));
}

/// A host that was killed can kill nothing any more; the supervisor that it started sees that it is
/// gone.
fn a_command_whose_program_is_killed_is_ended(yard: &Yard) {
    let mark = mark();
    let text = format!("(set -m; (echo yes > temp/alive; exec sleep {mark}) & wait); sleep {mark}");
    let spec = serde_json::json!({"rules": rules(yard), "confined": true, "supervised": false})
        .to_string();
    let mut supervisor = Command::new(std::env::current_exe().unwrap());
    supervisor.args(["sandbox-exec", &spec, "--", "/bin/bash", "-c", &text]).current_dir(yard.ws());
    let mut supervisor = supervisor.stdin(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !yard.inside("temp/alive").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(yard.inside("temp/alive").exists());
    drop(supervisor.stdin.take());
    supervisor.wait().unwrap();
    assert!(!is_there(&mark));
}

/// The neighbour of all commands that are ended: `timeout` ends its own command, not the one it
/// stands in.
fn a_limit_of_time_inside_a_command_ends_only_what_it_is_for(yard: &Yard) {
    assert_eq!(run(yard, "timeout 0.2 sleep 60; echo $?").output, "124\n");
}

fn an_endless_output_is_cut_in_the_middle(yard: &Yard) {
    let ended = run(yard, "yes | head -c 50000000; echo end");
    assert!(
        ended.output.len() < 1_100_000 && ended.dropped > 48_000_000,
        "{} {}",
        ended.output.len(),
        ended.dropped
    );
    assert!(ended.output.contains(&format!("[... {} bytes omitted ...]", ended.dropped)));
    assert!(ended.output.starts_with("y\ny\n") && ended.output.ends_with("y\nend\n"));
    let short = run(yard, "seq 1 3");
    assert_eq!((short.output.as_str(), short.dropped), ("1\n2\n3\n", 0));
}
