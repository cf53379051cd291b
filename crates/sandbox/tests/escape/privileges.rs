//! What a command may do to the machine: capabilities, set-id bits, attributes and limits. Most of
//! these trials matter when the tests run as root.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use waterline_sandbox::ExceededLimit;

use crate::commands::{fails, rules, run, run_with, works, works_with};
use crate::harness::ignored;
use crate::yard::Yard;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["privileges":
        set_id_bits_are_refused,
        files_are_copied_with_their_mode,
        file_size_and_open_files_are_limited,
        file_size_is_limited_by_default,
        command_that_fills_the_disk_is_killed,
        processes_are_limited,
        command_is_killed_before_its_host,
    ];
    let mut in_perl = trials!["privileges":
        memory_is_limited,
        orphans_are_reaped_while_the_command_runs,
    ];
    // Their system calls are given by number.
    if cfg!(target_arch = "x86_64") {
        in_perl.extend(trials!["privileges":
            command_has_no_capabilities,
            attributes_cannot_be_changed,
            file_system_requests_are_refused,
            ports_cannot_be_accessed,
            shared_memory_is_limited,
        ]);
    }
    trials.extend(match Path::new("/usr/bin/perl").exists() {
        true => in_perl,
        false => ignored("privileges", in_perl, "there is no perl"),
    });
    if Path::new("/usr/bin/chrt").exists() {
        trials.extend(trials!["privileges": priority_cannot_be_raised]);
    }
    trials
}

fn command_has_no_capabilities(yard: &Yard) {
    // capget, version 3.
    let sets = r#"my $h = pack("LL", 0x20080522, 0); my $d = "\0" x 24; syscall(125, $h, $d);
        print join(",", unpack("L6", $d))"#;
    assert_eq!(works(yard, &format!("perl -e '{sets}'")), "0,0,0,0,0,0");
    // PR_CAPBSET_READ of each capability. Without privileges the set cannot be emptied.
    if rustix::process::getuid().is_root() {
        let bounding = "print join(q(), map { syscall(157, 23, $_, 0, 0, 0) } 0 .. 40)";
        assert_eq!(works(yard, &format!("perl -e '{bounding}'")), "0".repeat(41));
    }
    // PR_CAP_AMBIENT_IS_SET of each capability.
    let ambient = "print join(q(), map { syscall(157, 47, 1, $_, 0, 0) } 0 .. 40)";
    assert_eq!(works(yard, &format!("perl -e '{ambient}'")), "0".repeat(41));
}

fn set_id_bits_are_refused(yard: &Yard) {
    works(yard, "cp /bin/true tool && mkdir dir");
    for text in [
        "chmod 4755 tool",
        "chmod u+s tool",
        "chmod g+s tool",
        "chmod 2775 dir",
        "install -m 6755 /bin/true other",
        "cp --preserve=mode /usr/bin/passwd mine && test ! -u mine && false",
    ] {
        fails(yard, text);
    }
    if Path::new("/usr/bin/perl").exists() {
        let create =
            "perl -MFcntl -e 'umask 0; sysopen(F, q(born), O_CREAT|O_WRONLY, 04755) or die'";
        fails(yard, create);
        assert!(!yard.inside("born").exists());
        // chmod, fchmodat and fchmodat2 by their numbers, which a shell's chmod may not use.
        if cfg!(target_arch = "x86_64") {
            for call in ["90, $p, 04755", "268, -100, $p, 02755", "452, -100, $p, 04755, 0"] {
                let script = format!(r#"my $p = "tool"; print syscall({call}), q( ), $! + 0"#);
                assert_eq!(works(yard, &format!("perl -e '{script}'")), "-1 1", "{call}");
            }
        }
    }
    for name in ["tool", "dir", "other", "mine"] {
        let mode = std::fs::metadata(yard.inside(name)).map_or(0, |file| file.permissions().mode());
        assert_eq!(mode & 0o6000, 0, "{name}");
    }
    works(yard, "chmod 755 tool && chmod 1777 dir && chmod -x tool && umask 022 && touch new");
}

/// Programs that copy files also copy their access control lists.
fn files_are_copied_with_their_mode(yard: &Yard) {
    let text = "chmod 640 note.txt && sed -i s/inside/changed/ note.txt && cp -p note.txt a && \
                cp -a note.txt b && install -m 700 note.txt c && mv a d && tar cf t d && \
                tar xf t && stat -c %a note.txt b c d && cat d";
    assert_eq!(works(yard, text), "640\n640\n700\n640\nchanged\n");
}

fn attributes_cannot_be_changed(yard: &Yard) {
    // setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr.
    let script = r#"open(F, "<", "note.txt") or die; my $n = "user.a"; my $v = "1"; my $p = "note.txt";
        for ([188, $p], [189, $p], [190, fileno(F)], [197, $p], [198, $p], [199, fileno(F)]) {
            my ($call, $file) = @$_;
            my $result = $call < 196 ? syscall($call, $file, $n, $v, 1, 0) : syscall($call, $file, $n);
            print "$result ", $! + 0, "\n";
        }"#;
    assert_eq!(works(yard, &format!("perl -e '{script}'")), "-1 95\n".repeat(6));
    // setxattrat, removexattrat, file_setattr, open_tree_attr; newer kernels have them.
    let script = r#"my $p = "note.txt"; my $n = "user.a"; my $b = "\0" x 64;
        for ([463, -100, $p, 0, $n, $b, 16], [466, -100, $p, 0, $n], [469, -100, $p, $b, 24, 0],
             [467, -100, $p, 1, $b, 32]) {
            my ($call, @rest) = @$_;
            my $result = syscall($call, @rest);
            print "$result ", $! + 0, "\n";
        }"#;
    let expected = "-1 95\n-1 95\n-1 1\n-1 1\n";
    assert_eq!(works(yard, &format!("perl -e '{script}'")), expected);
}

fn file_system_requests_are_refused(yard: &Yard) {
    for request in ["0xC0045877", "0xC0045878", "0x8004587D", "0xC0185879", "0x40086602"] {
        let script = format!(
            r#"open(F, "<", "note.txt") or die; my $v = pack("Q4", 0, 0, 0, 0);
            print defined(ioctl(F, {request}, $v)) ? "done" : $! + 0"#
        );
        assert_eq!(works(yard, &format!("perl -e '{script}'")), "1", "{request}");
    }
}

fn ports_cannot_be_accessed(yard: &Yard) {
    for call in ["172, 3", "173, 0x70, 1, 1"] {
        let script = format!("print syscall({call}), q( ), $! + 0");
        assert_eq!(works(yard, &format!("perl -e '{script}'")), "-1 1", "{call}");
    }
}

fn priority_cannot_be_raised(yard: &Yard) {
    fails(yard, "chrt -f 1 true");
    fails(yard, "chrt -r 1 true");
    let before = works(yard, "nice");
    assert_eq!(works(yard, "nice -n -5 nice 2> /dev/null"), before);
    assert_eq!(works(yard, "nice -n 3 true; chrt -o 0 echo fine"), "fine\n");
}

fn file_size_and_open_files_are_limited(yard: &Yard) {
    let mut rules = rules(yard);
    rules.limits.file_bytes = Some(100_000);
    rules.limits.open_files = 100;
    let result = run_with(yard, &rules, "head -c 1000000 /dev/zero > large", None);
    assert!(!result.status.unwrap().success(), "{result:?}");
    assert_eq!(std::fs::metadata(yard.inside("large")).unwrap().len(), 100_000);
    assert_eq!(
        works_with(yard, &rules, "ulimit -n; ulimit -n 200 2> /dev/null || echo no"),
        "100\nno\n"
    );
    works(yard, "head -c 1000000 /dev/zero > large");
}

fn file_size_is_limited_by_default(yard: &Yard) {
    let kilobytes: u64 = works(yard, "ulimit -f").trim().parse().unwrap();
    assert!((97_000..=4_900_000).contains(&kilobytes), "{kilobytes}");
}

fn command_that_fills_the_disk_is_killed(yard: &Yard) {
    let mut rules = rules(yard);
    rules.limits.disk_bytes = Some(50_000_000);
    let text = "for i in 1 2 3 4; do head -c 50000000 /dev/zero > part$i; sleep 1; done; echo all";
    let result = run_with(yard, &rules, text, None);
    assert_eq!(result.exceeded, Some(ExceededLimit::Disk), "{result:?}");
    assert!(!result.output.contains("all"));
}

/// Waits until a command has written its process id, and returns it.
fn process_id(yard: &Yard) -> String {
    let deadline = Instant::now() + Duration::from_secs(15);
    let read = || std::fs::read_to_string(yard.inside("temp/pid")).unwrap_or_default();
    while !read().ends_with('\n') && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    read().trim().to_owned()
}

/// If memory runs out, the kernel kills the process with the highest score.
fn command_is_killed_before_its_host(yard: &Yard) {
    let text = "echo $$ > temp/pid; until [ -e temp/end ]; do sleep 0.01; done";
    std::thread::scope(|scope| {
        let command = scope.spawn(|| run(yard, text));
        let pid = process_id(yard);
        let score = |pid: &str| {
            std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().to_owned()
        };
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let supervisor = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap();
        let scores = [score(&pid), score(supervisor)];
        std::fs::write(yard.inside("temp/end"), "").unwrap();
        assert_eq!(scores, ["1000".to_owned(), score("self")]);
        assert!(command.join().unwrap().status.unwrap().success());
    });
}

/// The kernel does not limit root's processes; there the supervisor ends the command.
fn processes_are_limited(yard: &Yard) {
    let mut rules = rules(yard);
    rules.limits.processes = 30;
    let text = "for i in $(seq 400); do sleep 20 & done; wait; echo all";
    let result = run_with(yard, &rules, text, None);
    assert!(!result.output.contains("all"), "{result:?}");
    if rustix::process::getuid().is_root() {
        assert_eq!(result.exceeded, Some(ExceededLimit::Processes), "{result:?}");
    }
    let text = "for i in $(seq 20); do sleep 0.5 & done; wait; echo all";
    assert_eq!(works_with(yard, &rules, text), "all\n");
}

fn memory_is_limited(yard: &Yard) {
    let mut rules = rules(yard);
    rules.limits.memory = Some(100_000_000);
    let fill = |bytes: u32| format!("perl -e 'my $x = q(x) x {bytes}; sleep 2; print length($x)'");
    let result = run_with(yard, &rules, &fill(300_000_000), None);
    assert_eq!(result.exceeded, Some(ExceededLimit::Memory), "{result:?}");
    assert_eq!(works_with(yard, &rules, &fill(10_000_000)), "10000000");
}

fn shared_memory_is_limited(yard: &Yard) {
    let mut rules = rules(yard);
    rules.limits.memory = Some(100_000_000);
    // mmap, shared and anonymous; reading zeros into it takes the pages. A child shares them.
    let fill = |bytes: u32| {
        let script = format!(
            r#"open(Z, "<", "/dev/zero") or die; my $at = syscall(9, 0, {bytes}, 3, 0x21, -1, 0);
            my $read = syscall(0, fileno(Z), $at, {bytes}); fork; sleep 2; print "$read\n""#
        );
        format!("perl -e '{script}'")
    };
    let result = run_with(yard, &rules, &fill(300_000_000), None);
    assert_eq!(result.exceeded, Some(ExceededLimit::Memory), "{result:?}");
    assert!(works_with(yard, &rules, &fill(70_000_000)).starts_with("70000000\n"));
}

/// Returns the session of a process, and how many processes of that session are zombies.
fn zombies(pid: u32) -> usize {
    let fields = |pid: &str| -> Option<Vec<String>> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat).into_owned();
        Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
    };
    let session = fields(&pid.to_string()).unwrap()[3].clone();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| fields(entry.file_name().to_str()?));
    all.filter(|fields| fields[0] == "Z" && fields[3] == session).count()
}

fn orphans_are_reaped_while_the_command_runs(yard: &Yard) {
    let chain = "for (1 .. 100) { exit if fork }";
    let text = format!(
        "echo $$ > temp/pid; perl -e '{chain}'; sleep 1; echo yes > temp/forked; \
         until [ -e temp/end ]; do sleep 0.01; done"
    );
    std::thread::scope(|scope| {
        let command = scope.spawn(|| run(yard, &text));
        let deadline = Instant::now() + Duration::from_secs(15);
        while !yard.inside("temp/forked").exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = std::fs::read_to_string(yard.inside("temp/pid")).unwrap();
        let left = zombies(pid.trim().parse().unwrap());
        std::fs::write(yard.inside("temp/end"), "").unwrap();
        assert!(left < 5, "{left} zombies");
        assert!(command.join().unwrap().status.unwrap().success());
    });
}
