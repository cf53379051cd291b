//! The kernel's means: Landlock for files, ports and signals, seccomp for sockets and for leaving the session.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Rules;

/// What this program knows of Landlock; an older kernel enforces what it knows.
const ABI: landlock::ABI = ABI::V6;

/// Below this a file outside could still be cut to nothing.
const LEAST: landlock::ABI = ABI::V3;

/// Where the system's programs and their libraries are.
const SYSTEM: [&str; 10] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/snap"];

/// What programs need of the rest of the system. Not all of `/etc` and `/proc`: they hold secrets.
const NEEDED: [&str; 37] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/environment",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java-17-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/profile",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
];

/// Devices that are nobody's.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Confines this thread, and everything it starts, for good.
pub(super) fn confine(rules: &Rules) -> Result<(), String> {
    files(rules).map_err(|error| format!("Landlock: {error}"))?;
    let filter = calls(rules.network).map_err(|error| format!("seccomp: {error}"))?;
    seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))
}

fn files(rules: &Rules) -> Result<(), String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let least = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let least = least.handle_access(AccessFs::from_all(LEAST)).map_err(text)?;
    let mut handled =
        least.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(ABI)).map_err(text)?;
    if !rules.network {
        handled = handled.handle_access(AccessNet::from_all(ABI)).map_err(text)?;
    }
    let mut ruleset = handled.scope(Scope::from_all(ABI)).map_err(text)?.create().map_err(text)?;
    let looks = AccessFs::from_read(ABI);
    for path in SYSTEM.iter().chain(&NEEDED).map(Path::new).chain(rules.read.iter().map(AsRef::as_ref)) {
        ruleset = allow(ruleset, path, looks)?;
    }
    for path in DEVICES.iter().map(Path::new) {
        ruleset = allow(ruleset, path, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    for path in &rules.write {
        ruleset = allow(ruleset, path, AccessFs::from_all(ABI) & !AccessFs::MakeBlock & !AccessFs::MakeChar)?;
    }
    match ruleset.restrict_self().map_err(text)?.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel does not have it, or it is switched off".to_owned()),
        _ => Ok(()),
    }
}

/// Allows something below a path; a path that is not there needs no rule.
fn allow(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    let Ok(handle) = PathFd::new(path) else { return Ok(ruleset) };
    // A right to make or list something says nothing about a file.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI) };
    ruleset.add_rule(PathBeneath::new(handle, access)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Calls that no command needs: they leave its session, look into other processes, or change the machine. What only the system's
/// administrator may call is here too, because programs are sometimes run by one.
const REFUSED: [i64; 46] = [
    libc::SYS_setsid,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// Calls that may be made about the own process, which is number 0, and about no other.
const OWN_ONLY: [(i64, u8); 3] =
    [(libc::SYS_prlimit64, 0), (libc::SYS_setpriority, 1), (libc::SYS_sched_setaffinity, 0)];

/// Refuses calls; without the network every socket, also those of other programs on this machine.
fn calls(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, argument) in OWN_ONLY {
        let other = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
        refused.insert(call, vec![SeccompRule::new(vec![other])?]);
    }
    // Servers of this machine that listen at a path take orders too: a container engine for example.
    let local = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?;
    let sockets = if network { vec![SeccompRule::new(vec![local])?] } else { Vec::new() };
    refused.insert(libc::SYS_socket, sockets);
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?;
    filter.try_into()
}
