//! The kernel's means: Landlock for files, ports and signals, seccomp for sockets and for leaving
//! the POSIX session.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::rules::Rules;

/// What this program knows of Landlock; an older kernel enforces what it knows.
const ABI: landlock::ABI = ABI::V6;

/// Below this a file outside could still be cut to nothing.
const LEAST: landlock::ABI = ABI::V3;

const MISSING: &str = "the kernel does not have it in ABI 3 or later, or it is switched off";

/// Where the system's programs and their libraries are.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/snap"];

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

/// Confines this thread and everything it starts, for good. Files are confined only if `from_files`
/// is set.
pub(crate) fn confine(rules: &Rules, from_files: bool) -> Result<(), String> {
    if from_files {
        files(rules).map_err(|error| format!("Landlock: {error}"))?;
    }
    let made = |error: seccompiler::BackendError| format!("seccomp: {error}");
    for filter in [other_numbers(), unknown().map_err(made)?, calls(rules.network).map_err(made)?] {
        seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

/// Refuses calls by the numbers of x32, a second set for the same calls that no filter of ours
/// knows.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> BpfProgram {
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    vec![
        // The number of the call; at or above the first of x32 it is unknown, else it is allowed.
        step(0x20, 0, 0, 0),
        step(0x35, 0, 1, 0x4000_0000),
        step(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Refuses nothing: only there is a second set of numbers.
#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> BpfProgram {
    vec![seccompiler::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }]
}

fn files(rules: &Rules) -> Result<(), String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let least = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let least = least.handle_access(AccessFs::from_all(LEAST)).map_err(|_| MISSING.to_owned())?;
    let mut handled = least
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI))
        .map_err(text)?;
    if !rules.network {
        handled = handled.handle_access(AccessNet::from_all(ABI)).map_err(text)?;
    }
    let mut ruleset = handled.scope(Scope::from_all(ABI)).map_err(text)?.create().map_err(text)?;
    let looks = AccessFs::from_read(ABI);
    for path in SYSTEM.iter().chain(&NEEDED).map(Path::new) {
        ruleset = allow(ruleset, path, looks, ResolveFlags::empty())?;
    }
    for path in DEVICES.iter().map(Path::new) {
        ruleset =
            allow(ruleset, path, AccessFs::ReadFile | AccessFs::WriteFile, ResolveFlags::empty())?;
    }
    // A link in the path of a folder that is granted would be one that a command put there.
    for path in &rules.read {
        ruleset = allow(ruleset, path, looks, ResolveFlags::NO_SYMLINKS)?;
    }
    let changes = AccessFs::from_all(ABI) & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    for path in &rules.write {
        ruleset = allow(ruleset, path, changes, ResolveFlags::NO_SYMLINKS)?;
    }
    match ruleset.restrict_self().map_err(text)?.ruleset {
        RulesetStatus::NotEnforced => Err(MISSING.to_owned()),
        _ => Ok(()),
    }
}

/// Allows something below a path; a path that is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    resolve: ResolveFlags,
) -> Result<RulesetCreated, String> {
    let Ok(handle) = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
    else {
        return Ok(ruleset);
    };
    // A right to make or list something says nothing about a file.
    let is_folder = fstat(&handle)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(ABI) };
    ruleset
        .add_rule(PathBeneath::new(handle, access))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Calls that no command needs: they leave its POSIX session, look into other processes, or change
/// the machine. What only the system's administrator may call is here too, because programs are
/// sometimes run by one.
const REFUSED: &[i64] = &[
    libc::SYS_setsid,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_userfaultfd,
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
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    FILE_SETATTR,
    REMOVEXATTRAT,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_reboot,
    libc::SYS_vhangup,
    libc::SYS_syslog,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
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

/// Calls that are younger than their names in the crate; their numbers are the same everywhere.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Calls that may be made about the own process only: by the number of an argument, and what it
/// must be.
const OWN_ONLY: [(i64, &[(u8, u64)]); 7] = [
    (libc::SYS_prlimit64, &[(0, 0)]),
    // The first argument of these two says what the second one names: a process, a group or a user.
    (libc::SYS_setpriority, &[(0, 0), (1, 0)]),
    (libc::SYS_ioprio_set, &[(0, 1), (1, 0)]),
    (libc::SYS_sched_setaffinity, &[(0, 0)]),
    (libc::SYS_sched_setscheduler, &[(0, 0)]),
    (libc::SYS_sched_setparam, &[(0, 0)]),
    (libc::SYS_sched_setattr, &[(0, 0)]),
];

/// What a new process may not have of its own: in a world of its own it would be an administrator.
const WORLDS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWCGROUP,
];

/// The bits of a socket's type that say what kind it is.
const KIND: u64 = 0xf;

/// What may be ordered of a file that is open to be read, and changes it: its flags, twice, and a
/// lease on it.
const FILE_ORDERS: [u64; 2] = [0x4008_6602, 0x401c_5820];
const F_SETLEASE: u64 = 1024;

/// Refuses calls; without the network every socket, also those of other programs on this machine.
fn calls(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let is =
        |argument, op, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value);
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, owns) in OWN_ONLY {
        let others = owns
            .iter()
            .map(|(argument, own)| SeccompRule::new(vec![is(*argument, SeccompCmpOp::Ne, *own)?]));
        refused.insert(call, others.collect::<Result<_, _>>()?);
    }
    let worlds = WORLDS.iter().map(|world| {
        let bit = u64::from(world.cast_unsigned());
        SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(bit), bit)?])
    });
    refused.insert(libc::SYS_clone, worlds.collect::<Result<_, _>>()?);
    // Servers of this machine that listen at a path take orders too: a container engine for
    // example. A pair of datagram sockets can be turned to them.
    let local = is(0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.cast_unsigned()))?;
    let sockets = if network { vec![SeccompRule::new(vec![local])?] } else { Vec::new() };
    refused.insert(libc::SYS_socket, sockets);
    let streams =
        [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.cast_unsigned()));
    let others = (0..=KIND).filter(|kind| !streams.contains(kind));
    let others =
        others.map(|kind| SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(KIND), kind)?]));
    refused.insert(libc::SYS_socketpair, others.collect::<Result<_, _>>()?);
    for (call, orders) in
        [(libc::SYS_ioctl, FILE_ORDERS.as_slice()), (libc::SYS_fcntl, &[F_SETLEASE])]
    {
        let orders =
            orders.iter().map(|order| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, *order)?]));
        refused.insert(call, orders.collect::<Result<_, _>>()?);
    }
    filter(refused, libc::EPERM)
}

/// Calls that are said not to exist, so that programs take the older ones, whose arguments a filter
/// can see.
fn unknown() -> Result<BpfProgram, seccompiler::BackendError> {
    filter(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn filter(
    refused: BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let refusal = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(refused, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?
        .try_into()
}
