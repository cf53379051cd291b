//! Confines the calling thread: Landlock restricts files, ports and signals; seccomp denies sockets
//! and syscalls such as `setsid`, which would leave the POSIX session.

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

/// The newest Landlock ABI that is used; an older kernel enforces what it supports.
const ABI: landlock::ABI = ABI::V6;

/// The oldest Landlock ABI that suffices: before it, a file outside could still be truncated.
const MINIMUM_ABI: landlock::ABI = ABI::V3;

const MISSING: &str = "the kernel does not support ABI 3 or later, or Landlock is disabled";

/// The directories of the system's programs and libraries.
const SYSTEM_DIRECTORIES: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/snap"];

/// Other files and directories that programs need. Not all of `/etc` and `/proc`: they hold
/// secrets.
const SYSTEM_FILES: [&str; 37] = [
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

/// Harmless devices.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Confines this thread and everything it starts, irrevocably. Files are confined only if
/// `confine_files` is set.
pub(crate) fn confine(rules: &Rules, confine_files: bool) -> Result<(), String> {
    if confine_files {
        restrict_files(rules).map_err(|error| format!("Landlock: {error}"))?;
    }
    let failed = |error: seccompiler::BackendError| format!("seccomp: {error}");
    let filters = [
        x32_filter(),
        missing_syscalls_filter().map_err(failed)?,
        denied_syscalls_filter(rules.network).map_err(failed)?,
    ];
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

/// Denies syscalls by their x32 numbers, a second numbering that the other filters do not know.
#[cfg(target_arch = "x86_64")]
fn x32_filter() -> BpfProgram {
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    vec![
        // Load the syscall number. From the first x32 number on return ENOSYS, below it allow.
        step(0x20, 0, 0, 0),
        step(0x35, 0, 1, 0x4000_0000),
        step(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Allows everything: only x86-64 has a second numbering.
#[cfg(not(target_arch = "x86_64"))]
fn x32_filter() -> BpfProgram {
    vec![seccompiler::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }]
}

fn restrict_files(rules: &Rules) -> Result<(), String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let required = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(MINIMUM_ABI))
        .map_err(|_| MISSING.to_owned())?;
    let mut handled = required
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI))
        .map_err(text)?;
    if !rules.network {
        handled = handled.handle_access(AccessNet::from_all(ABI)).map_err(text)?;
    }
    let mut ruleset = handled.scope(Scope::from_all(ABI)).map_err(text)?.create().map_err(text)?;
    let read = AccessFs::from_read(ABI);
    for path in SYSTEM_DIRECTORIES.iter().chain(&SYSTEM_FILES).map(Path::new) {
        ruleset = allow(ruleset, path, read, ResolveFlags::empty())?;
    }
    for path in DEVICES.iter().map(Path::new) {
        ruleset =
            allow(ruleset, path, AccessFs::ReadFile | AccessFs::WriteFile, ResolveFlags::empty())?;
    }
    // The paths had no links when they were granted, so a link was put there by a command.
    for path in &rules.read {
        ruleset = allow(ruleset, path, read, ResolveFlags::NO_SYMLINKS)?;
    }
    let write = AccessFs::from_all(ABI) & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    for path in &rules.write {
        ruleset = allow(ruleset, path, write, ResolveFlags::NO_SYMLINKS)?;
    }
    match ruleset.restrict_self().map_err(text)?.ruleset {
        RulesetStatus::NotEnforced => Err(MISSING.to_owned()),
        _ => Ok(()),
    }
}

/// Allows access below a path. A path that does not exist needs no rule.
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
    // Rights such as creating or listing entries do not apply to a file.
    let is_directory = fstat(&handle)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if is_directory { access } else { access & AccessFs::from_file(ABI) };
    ruleset
        .add_rule(PathBeneath::new(handle, access))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Syscalls that no command needs: they leave its POSIX session, inspect other processes, or change
/// the machine. Some of them need root, which a host may be run as.
const DENIED_SYSCALLS: &[i64] = &[
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

/// Syscalls that the `libc` crate does not name yet; their numbers are the same on every
/// architecture.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Syscalls that a process may make only about itself: pairs of an argument's index and the value
/// it must have.
const SELF_ONLY_SYSCALLS: [(i64, &[(u8, u64)]); 7] = [
    (libc::SYS_prlimit64, &[(0, 0)]),
    // In these two, the first argument tells whether the second is a process, a group or a user.
    (libc::SYS_setpriority, &[(0, 0), (1, 0)]),
    (libc::SYS_ioprio_set, &[(0, 1), (1, 0)]),
    (libc::SYS_sched_setaffinity, &[(0, 0)]),
    (libc::SYS_sched_setscheduler, &[(0, 0)]),
    (libc::SYS_sched_setparam, &[(0, 0)]),
    (libc::SYS_sched_setattr, &[(0, 0)]),
];

/// Namespaces that a new process may not create: inside them it would have root's capabilities.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWCGROUP,
];

/// The bits of a socket's type without its flags.
const SOCKET_TYPE_MASK: u64 = 0xf;

/// Requests that change a file even if it is open only for reading: `FS_IOC_SETFLAGS`,
/// `FS_IOC_FSSETXATTR`, and a lease.
const FILE_CHANGING_IOCTLS: [u64; 2] = [0x4008_6602, 0x401c_5820];
const F_SETLEASE: u64 = 1024;

/// Returns a filter that denies syscalls. Without the network it denies every socket; with it, only
/// Unix sockets.
fn denied_syscalls_filter(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let is =
        |argument, op, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value);
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect();
    for (call, allowed) in SELF_ONLY_SYSCALLS {
        let others = allowed.iter().map(|(argument, value)| {
            SeccompRule::new(vec![is(*argument, SeccompCmpOp::Ne, *value)?])
        });
        denied.insert(call, others.collect::<Result<_, _>>()?);
    }
    let namespaces = NAMESPACES.iter().map(|namespace| {
        let bit = u64::from(namespace.cast_unsigned());
        SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(bit), bit)?])
    });
    denied.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    // Local servers that listen at a path accept commands too, a container engine for example. One
    // end of a pair of datagram sockets can send to them.
    let local = is(0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.cast_unsigned()))?;
    let sockets = if network { vec![SeccompRule::new(vec![local])?] } else { Vec::new() };
    denied.insert(libc::SYS_socket, sockets);
    let streams =
        [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.cast_unsigned()));
    let others = (0..=SOCKET_TYPE_MASK)
        .filter(|kind| !streams.contains(kind))
        .map(|kind| SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), kind)?]));
    denied.insert(libc::SYS_socketpair, others.collect::<Result<_, _>>()?);
    for (call, requests) in
        [(libc::SYS_ioctl, FILE_CHANGING_IOCTLS.as_slice()), (libc::SYS_fcntl, &[F_SETLEASE])]
    {
        let requests = requests
            .iter()
            .map(|request| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, *request)?]));
        denied.insert(call, requests.collect::<Result<_, _>>()?);
    }
    filter(denied, libc::EPERM)
}

/// Returns a filter that reports newer syscalls as missing, so that programs use the older ones,
/// whose arguments a filter can inspect.
fn missing_syscalls_filter() -> Result<BpfProgram, seccompiler::BackendError> {
    filter(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn filter(
    denied: BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let denial = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(denied, SeccompAction::Allow, denial, std::env::consts::ARCH.try_into()?)?
        .try_into()
}
