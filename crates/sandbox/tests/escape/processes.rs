//! The processes that commands start: which sockets and processes they can reach, and when they
//! end.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use waterline_sandbox::{Network, Refusal, Rules};

use crate::commands::{fails, fails_with, rules, run, run_with, shell, works, works_with};
use crate::yard::{SECRET, Yard};

/// The syscall number of `prctl` on architectures where it is known.
const PRCTL: Option<usize> = if cfg!(target_arch = "x86_64") {
    Some(157)
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    Some(167)
} else {
    None
};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["processes":
        tcp_needs_the_network_rule,
        udp_needs_the_network_rule,
        only_listed_hosts_are_reachable,
        other_processes_cannot_be_signalled,
        signal_to_own_group_stays_in_the_group,
        background_processes_end_with_the_command,
        setsid_processes_end_with_the_command,
        job_control_processes_end_with_the_command,
        process_with_odd_name_ends_with_the_command,
        grandchildren_end_with_the_command,
        command_that_ignores_signals_times_out,
        dropping_the_future_kills_the_command,
        command_ends_when_the_host_is_killed,
        timeout_inside_a_command_ends_only_its_own_child,
        long_output_loses_its_middle,
    ];
    let has = |program: &str| {
        ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
            .iter()
            .any(|at| Path::new(at).join(program).exists())
    };
    if has("perl") {
        trials.extend(trials!["processes":
            unix_sockets_of_other_programs_are_refused,
            shared_memory_of_other_programs_is_refused,
            socketpair_cannot_send_to_another_program,
            priority_of_other_programs_cannot_be_changed,
            daemon_ends_with_the_command,
        ]);
    }
    if has("perl") && PRCTL.is_some() {
        trials.extend(trials!["processes": no_program_gains_privileges]);
    }
    if has("perl") && cfg!(target_arch = "x86_64") {
        trials.extend(trials!["processes":
            only_tcp_reaches_the_proxy,
            x32_syscall_numbers_are_refused,
            new_namespaces_are_refused,
        ]);
    }
    if has("sudo") {
        trials.extend(trials!["processes": sudo_fails]);
    }
    if has("strace") {
        trials.extend(trials!["processes": other_processes_cannot_be_traced]);
    }
    if has("prlimit") && has("renice") {
        trials.extend(trials!["processes": limits_of_other_processes_cannot_be_changed]);
    }
    if has("hostname") {
        trials.extend(trials!["processes": hostname_cannot_be_changed]);
    }
    trials
}

fn with_network(yard: &Yard) -> Rules {
    Rules { network: Network::Any, ..rules(yard) }
}

fn tcp_needs_the_network_rule(yard: &Yard) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let text = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && echo connected",
        server.local_addr().unwrap().port()
    );
    fails(yard, &text);
    assert!(server.accept().is_err(), "a connection was made");
    assert_eq!(works_with(yard, &with_network(yard), &text), "connected\n");
    server.accept().unwrap();
}

fn udp_needs_the_network_rule(yard: &Yard) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let text = format!("echo hello > /dev/udp/127.0.0.1/{}", server.local_addr().unwrap().port());
    let mut packet = [0; 16];
    fails(yard, &text);
    assert!(server.recv(&mut packet).is_err(), "a packet arrived");
    works_with(yard, &with_network(yard), &text);
    assert_eq!(server.recv(&mut packet).unwrap(), 6);
}

/// Where network namespaces are refused, Landlock keeps a command from other servers. It restricts
/// `connect` of TCP, so other protocols and other ways to connect must be refused.
fn only_tcp_reaches_the_proxy(yard: &Yard) {
    let listed = Rules { network: Network::Hosts(vec!["crates.io".to_owned()]), ..rules(yard) };
    // socket: TCP by default and by number; MPTCP, SCTP, UDP-Lite; MPTCP with IPv6.
    let script = r#"for ([2, 0], [2, 6], [2, 262], [2, 132], [2, 136], [10, 262]) {
            my ($family, $protocol) = @$_;
            my $socket = syscall(41, $family, 1, $protocol);
            print $socket < 0 ? $! + 0 : "open", "\n";
        }"#;
    let sockets = works_with(yard, &listed, &format!("perl -e '{script}'"));
    assert_eq!(sockets, "open\nopen\n1\n1\n1\n1\n");
    // sendto, sendmsg and sendmmsg with MSG_FASTOPEN; an address is not even read.
    let script = r#"my $s = syscall(41, 2, 1, 0); my $b = "\0" x 64;
        for ([44, $s, $b, 1, 0x20000000, 0, 0], [46, $s, 0, 0x20000000],
             [307, $s, 0, 1, 0x20000000]) {
            my ($call, @rest) = @$_;
            syscall($call, @rest);
            print $! + 0, "\n";
        }"#;
    let sent = works_with(yard, &listed, &format!("perl -e '{script}'"));
    assert_eq!(sent, "1\n1\n1\n");
}

/// A server that answers every HTTP request with `tide`.
fn tide_server() -> (u16, std::sync::Arc<AtomicUsize>) {
    use std::io::{Read, Write};
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&count);
    std::thread::spawn(move || {
        for mut client in server.incoming().flatten() {
            counter.fetch_add(1, Ordering::Relaxed);
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|n| n > 0) {
                head.extend_from_slice(&byte);
            }
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntide\n");
        }
    });
    (port, count)
}

fn only_listed_hosts_are_reachable(yard: &Yard) {
    let (port, count) = tide_server();
    let with = |hosts: &[String]| Rules { network: Network::Hosts(hosts.to_vec()), ..rules(yard) };
    let get = |host: &str| {
        format!(
            r#"trap '' PIPE; proxy=${{HTTP_PROXY#http://127.0.0.1:}}; exec 3<>/dev/tcp/127.0.0.1/$proxy &&
            printf 'GET http://{host}:{port}/x HTTP/1.1\r\n\r\n' >&3 && cat <&3"#
        )
    };
    let listed = with(&[format!("127.0.0.1:{port}"), "crates.io".to_owned()]);
    let answer = works_with(yard, &listed, &get("127.0.0.1"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("tide\n"), "{answer}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let tunnel = format!(
        r#"trap '' PIPE; exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}} &&
        printf 'CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n' >&3 && cat <&3"#
    );
    let answer = works_with(yard, &listed, &tunnel);
    assert!(answer.contains("200 Connection established") && answer.ends_with("tide\n"));
    let other = with(&["crates.io".to_owned()]);
    assert!(works_with(yard, &other, &tunnel).starts_with("HTTP/1.1 403"));
    for (rules, host) in [(&other, "127.0.0.1"), (&listed, "localhost"), (&other, "[::1]")] {
        let answer = works_with(yard, rules, &get(host));
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    // The output names no host, and the command succeeds.
    let quiet = format!("({}) > /dev/null", get("b.org"));
    let refused = run_with(yard, &other, &quiet, None).refused;
    assert_eq!(refused, [Refusal::Host { host: format!("b.org:{port}") }]);
    // Without the proxy nothing is reachable, by TCP or UDP.
    fails_with(yard, &listed, &format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
    fails_with(yard, &listed, &format!("echo x > /dev/udp/127.0.0.1/{port}"));
    assert_eq!(count.load(Ordering::Relaxed), 2, "a connection was made");
}

/// They are refused even with the network rule: some local servers accept powerful commands.
fn unix_sockets_of_other_programs_are_refused(yard: &Yard) {
    let path = yard.spare("server");
    let server = UnixListener::bind(&path).unwrap();
    server.set_nonblocking(true).unwrap();
    let connect = r#"use Socket;
        socket(S, PF_UNIX, SOCK_STREAM, 0) or die "refused\n";
        connect(S, pack_sockaddr_un($ARGV[0])) or die "refused\n";
        print "connected\n";"#;
    let text = format!("perl -e '{connect}' '{}'", path.display());
    assert_eq!(fails(yard, &text), "refused\n");
    assert_eq!(fails_with(yard, &with_network(yard), &text), "refused\n");
    assert!(server.accept().is_err(), "a connection was made");
    // An unconfined process can connect.
    let unconfined = Command::new("perl").arg("-e").arg(connect).arg(&path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&unconfined.stdout), "connected\n");
}

/// System V shared memory is not a file, so file rules do not cover it.
fn shared_memory_of_other_programs_is_refused(yard: &Yard) {
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
    // Checked and freed before the assertions: the segment would outlive a failed test.
    let kept = perl("shmread($ARGV[0], $seen, 0, 64); shmctl($ARGV[0], 0, 0); print $seen", &id);
    assert_eq!([read.as_str(), write.as_str()], ["refused", "refused"]);
    assert_eq!(kept.trim_end_matches('\0'), SECRET);
    assert_eq!(works(yard, "perl -e 'print 1 + 1'"), "2");
}

fn socketpair_cannot_send_to_another_program(yard: &Yard) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("datagrams");
    let server = UnixDatagram::bind(&path).unwrap();
    server.set_nonblocking(true).unwrap();
    let script = r#"use Socket; socketpair($a, $b, AF_UNIX, $ARGV[1], 0) or die "no pair";
        send($a, "hello", 0, pack_sockaddr_un($ARGV[0])); print "made";"#;
    let with = |kind: u8| format!("perl -e '{script}' {} {kind}", path.display());
    for kind in [2, 3, 4] {
        assert!(fails(yard, &with(kind)).contains("no pair"), "{kind}");
    }
    assert_eq!(works(yard, &with(1)), "made", "a pair of streams is allowed");
    assert!(server.recv(&mut [0; 16]).is_err(), "a packet arrived");
}

fn priority_of_other_programs_cannot_be_changed(yard: &Yard) {
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

fn new_namespaces_are_refused(yard: &Yard) {
    for namespace in [0x1000_0000, 0x2_0000, 0x2000_0000, 0x4000_0000] {
        let text = format!("perl -e 'print syscall(56, {}, 0, 0, 0, 0)'", namespace + 17);
        assert_eq!(works(yard, &text), "-1", "{namespace:x}");
    }
    assert_eq!(works(yard, "(echo child) & wait"), "child\n");
}

/// A process that is not part of the command.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("60").spawn().unwrap())
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Returns its resource limits and its priority.
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

fn other_processes_cannot_be_signalled(yard: &Yard) {
    let mut other = Other::start();
    for signal in ["0", "TERM", "STOP", "KILL"] {
        fails(yard, &format!("kill -{signal} {}", other.0.id()));
    }
    fails(yard, "kill -0 $PPID");
    assert!(other.is_running());
    assert_eq!(works(yard, "sleep 60 & kill $!; wait $!; echo $?"), "143\n");
}

fn signal_to_own_group_stays_in_the_group(yard: &Yard) {
    let mut other = Other::start();
    let result = run(yard, "echo started; kill -TERM 0; sleep 60");
    assert_eq!(
        (result.output.as_str(), result.status.and_then(|status| status.signal())),
        ("started\n", Some(15))
    );
    assert!(other.is_running());
}

fn limits_of_other_processes_cannot_be_changed(yard: &Yard) {
    let other = Other::start();
    let before = other.limits();
    for text in ["prlimit --nofile=7:7 --pid", "renice -n 19 -p"] {
        fails(yard, &format!("{text} {}", other.0.id()));
    }
    assert_eq!(other.limits(), before);
    assert_eq!(works(yard, "ulimit -n 64; ulimit -n"), "64\n");
}

fn other_processes_cannot_be_traced(yard: &Yard) {
    let mut other = Other::start();
    fails(yard, &format!("strace -o temp/trace -p {}", other.0.id()));
    fails(yard, "strace -o temp/trace true");
    assert!(other.is_running());
    works(yard, "strace -V");
}

fn no_program_gains_privileges(yard: &Yard) {
    let call = PRCTL.unwrap();
    // Option 39 is PR_GET_NO_NEW_PRIVS.
    assert_eq!(works(yard, &format!("perl -e 'print syscall({call}, 39, 0, 0, 0, 0)'")), "1");
}

fn sudo_fails(yard: &Yard) {
    fails(yard, "sudo -n true");
    assert_eq!(works(yard, "id -u"), format!("{}\n", rustix::process::getuid().as_raw()));
}

/// x32 syscalls have the same numbers except for one bit.
fn x32_syscall_numbers_are_refused(yard: &Yard) {
    for call in [41, 0x4000_0000 + 41] {
        assert_eq!(works(yard, &format!("perl -e 'print syscall({call}, 2, 2, 0)'")), "-1");
    }
    assert_eq!(works(yard, "perl -e 'print syscall(39) == $$'"), "1", "a call that is allowed");
}

/// Commands cannot rename the machine even if the tests run as root.
fn hostname_cannot_be_changed(yard: &Yard) {
    assert!(!works(yard, "hostname").trim().is_empty());
    fails(yard, r#"hostname "$(hostname)""#);
}

/// Returns a duration in seconds that no other process sleeps, to recognize the sleeping process.
fn unique_sleep() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("60.{:07}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns whether a process with this sleep is running. A killed process may need a moment to
/// disappear.
fn is_sleeping(sleep: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        let found = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|argument| argument == sleep.as_bytes())
        });
        if !found || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command that starts a background process, which creates `temp/alive` when it runs, and
/// checks that the process is killed with the command.
#[track_caller]
fn leaves_nothing(yard: &Yard, text: &str, sleep: &str) {
    let since = Instant::now();
    let text = format!("{text}\nuntil [ -s temp/alive ]; do sleep 0.01; done; echo started");
    let result = run(yard, &text);
    assert!(
        result.status.is_some_and(|status| status.success())
            && result.output.ends_with("started\n"),
        "{result:?}"
    );
    assert!(since.elapsed() < Duration::from_secs(10), "the output was kept open");
    assert!(!is_sleeping(sleep), "{text}");
}

fn background_processes_end_with_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    leaves_nothing(
        yard,
        &format!("(echo yes > temp/alive; exec sleep {sleep}) & disown 2> /dev/null"),
        &sleep,
    );
    std::fs::remove_file(yard.inside("temp/alive")).unwrap();
    leaves_nothing(
        yard,
        &format!("nohup sh -c 'echo yes > temp/alive; exec sleep {sleep}' > /dev/null 2>&1 &"),
        &sleep,
    );
}

/// The process may or may not get a session or a namespace; it must end in either case.
fn setsid_processes_end_with_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    for text in ["setsid", "setsid -f", "setsid -w", "unshare -p -f", "unshare -U -p -f"] {
        assert_eq!(
            run(yard, &format!("{text} sleep {sleep} > /dev/null 2>&1 & echo started")).output,
            "started\n"
        );
        // With time to escape.
        assert_eq!(
            run(yard, &format!("{text} sleep {sleep} > /dev/null 2>&1 & sleep 0.1; echo started"))
                .output,
            "started\n"
        );
    }
    assert!(!is_sleeping(&sleep));
}

fn job_control_processes_end_with_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    leaves_nothing(
        yard,
        &format!("set -m; (echo yes > temp/alive; exec sleep {sleep}) & set +m"),
        &sleep,
    );
}

/// The name of a process may contain bytes that are not UTF-8.
fn process_with_odd_name_ends_with_the_command(yard: &Yard) {
    if !crate::harness::has_bash() {
        return;
    }
    let sleep = unique_sleep();
    let text = format!(
        r#"name=$'temp/x\xff) S 1'; cp /bin/sleep "$name"
        (echo yes > temp/alive; exec "$name" {sleep}) & disown"#
    );
    leaves_nothing(yard, &text, &sleep);
}

fn grandchildren_end_with_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    leaves_nothing(
        yard,
        &format!("( ( (echo yes > temp/alive; exec sleep {sleep}) & ) & )"),
        &sleep,
    );
}

fn daemon_ends_with_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    let script = r#"fork and exit; POSIX::setsid(); setpgrp(0, 0); fork and exit;
        open(F, ">", "temp/alive"); print F "yes"; close(F); exec("sleep", $ARGV[0]);"#;
    leaves_nothing(yard, &format!("perl -MPOSIX -e '{script}' {sleep}"), &sleep);
}

fn command_that_ignores_signals_times_out(yard: &Yard) {
    let sleep = unique_sleep();
    let since = Instant::now();
    let text =
        format!("trap '' TERM INT HUP; echo started; sleep {sleep}; sleep {sleep}; sleep {sleep}");
    let result = run_with(yard, &rules(yard), &text, Some(Duration::from_secs(1)));
    assert!(result.status.is_none() && result.output == "started\n", "{result:?}");
    assert!(since.elapsed() < Duration::from_secs(10) && !is_sleeping(&sleep));
    let quick = run_with(yard, &rules(yard), "echo quick", Some(Duration::from_secs(10)));
    assert_eq!(
        (quick.output.as_str(), quick.status.map(|status| status.success())),
        ("quick\n", Some(true))
    );
}

fn dropping_the_future_kills_the_command(yard: &Yard) {
    let sleep = unique_sleep();
    let text = format!("(echo yes > temp/alive; exec sleep {sleep}) & wait");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let shell = shell(yard);
        let rules = rules(yard);
        let workspace = yard.ws();
        let started = async {
            while !yard.inside("temp/alive").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            result = shell.run(&rules, &workspace, &text, None) => panic!("it ended: {result:?}"),
            () = started => {}
        }
    });
    runtime.shutdown_background();
    assert!(!is_sleeping(&sleep));
}

/// A killed host cannot clean up; its supervisor notices that it is gone.
fn command_ends_when_the_host_is_killed(yard: &Yard) {
    let sleep = unique_sleep();
    let text =
        format!("(set -m; (echo yes > temp/alive; exec sleep {sleep}) & wait); sleep {sleep}");
    let spec = serde_json::json!({"rules": rules(yard), "confined": true, "supervised": false})
        .to_string();
    let mut supervisor = Command::new(std::env::current_exe().unwrap());
    let shell = if crate::harness::has_bash() { "/bin/bash" } else { "/bin/sh" };
    supervisor.args(["sandbox-exec", &spec, "--", shell, "-c", &text]).current_dir(yard.ws());
    let mut supervisor = supervisor.stdin(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !yard.inside("temp/alive").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(yard.inside("temp/alive").exists());
    drop(supervisor.stdin.take());
    supervisor.wait().unwrap();
    assert!(!is_sleeping(&sleep));
}

/// The counterpart of the commands that are killed: `timeout` kills its own child, not the command
/// that runs it.
fn timeout_inside_a_command_ends_only_its_own_child(yard: &Yard) {
    assert_eq!(run(yard, "timeout 0.2 sleep 60; echo $?").output, "124\n");
}

fn long_output_loses_its_middle(yard: &Yard) {
    let result = run(yard, "yes | head -c 50000000; echo end");
    let gap = result.gap.unwrap();
    assert_eq!(result.output.len() + gap.bytes, 50_000_004);
    assert!(result.output.len() < 1_100_000 && gap.chars == gap.bytes, "{gap:?}");
    assert_eq!(gap.at, 512 * 1024);
    assert!(result.output.starts_with("y\ny\n") && result.output.ends_with("y\nend\n"));
    let short = run(yard, "seq 1 3");
    assert_eq!((short.output.as_str(), short.gap), ("1\n2\n3\n", None));
}
