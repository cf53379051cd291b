//! Seccomp filters that refuse syscalls.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use crate::rules::Network;

/// Syscalls, each with the rules that match it.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

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
    FILE_SETATTR,
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
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Syscalls that change extended attributes. They are reported as not supported: programs such as
/// `sed -i` and `cp -p` try to copy the attributes of a file and accept that answer.
const ATTRIBUTE_SYSCALLS: [i64; 8] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
];

/// Newer forms of syscalls, whose arguments a filter cannot inspect. They are reported as missing,
/// so that programs use the older forms.
const UNINSPECTABLE_SYSCALLS: [i64; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Syscalls that the `libc` crate does not name yet; their numbers are the same on every
/// architecture.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
const FCHMODAT2: i64 = 452;

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

/// Protocols of the stream sockets with which a command reaches the proxy: the usual one, by
/// default and by number. Landlock restricts no other, MPTCP for example.
const PROXY_PROTOCOLS: [i32; 2] = [0, libc::IPPROTO_TCP];

/// Syscalls that send, with the index of the flags. With [`MSG_FASTOPEN`] they also connect, which
/// Landlock does not see.
const SEND_SYSCALLS: [(i64, u8); 3] =
    [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

const MSG_FASTOPEN: u64 = 0x2000_0000;

/// Requests that change a file or its file system even if the file is open only for reading.
const DENIED_IOCTLS: [u64; 10] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4100_9432, // FS_IOC_SETFSLABEL
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0xc004_5877, // FIFREEZE
    0xc004_5878, // FITHAW
    0xc018_5879, // FITRIM
    0x8004_587d, // FS_IOC_SHUTDOWN
    0x5412,      // TIOCSTI
];

/// The `fcntl` request for a lease.
const F_SETLEASE: u64 = 1024;

/// The mode bits that make a program run as the owner or the group of its file.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// Flags of `open` with which its mode argument counts: `O_CREAT` and `O_TMPFILE`.
const CREATING_FLAGS: [u64; 2] = [0o100, 0o20_000_000];

/// Syscalls that set a mode, with the index of the mode argument.
const MODE_SYSCALLS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];

/// Syscalls that may create a file, with the index of the flags; the mode follows.
const OPEN_SYSCALLS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// Returns the filters for a command.
pub(super) fn filters(network: &Network) -> Result<[BpfProgram; 4], BackendError> {
    let all = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    Ok([
        x32_filter(),
        filter(all(&UNINSPECTABLE_SYSCALLS), libc::ENOSYS)?,
        filter(all(&ATTRIBUTE_SYSCALLS), libc::EOPNOTSUPP)?,
        filter(denied(network)?, libc::EPERM)?,
    ])
}

fn is(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// A condition that all bits of a mask are set in an argument.
fn has(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    is(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

/// Returns the refused syscalls, each with the rules that refuse it; without rules it is always
/// refused.
fn denied(network: &Network) -> Result<Rules, BackendError> {
    let mut denied: Rules = DENIED_SYSCALLS.iter().map(|call| (*call, Vec::new())).collect();
    for (call, allowed) in SELF_ONLY_SYSCALLS {
        let others = allowed.iter().map(|(argument, value)| {
            SeccompRule::new(vec![is(*argument, SeccompCmpOp::Ne, *value)?])
        });
        denied.insert(call, others.collect::<Result<_, _>>()?);
    }
    let namespaces = NAMESPACES
        .iter()
        .map(|namespace| SeccompRule::new(vec![has(0, u64::from(namespace.cast_unsigned()))?]));
    denied.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    denied.insert(libc::SYS_socket, sockets(network)?);
    // One end of a pair of datagram sockets can send to a local server that listens at a path.
    denied.insert(
        libc::SYS_socketpair,
        other_socket_types(&[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?,
    );
    for (call, requests) in
        [(libc::SYS_ioctl, DENIED_IOCTLS.as_slice()), (libc::SYS_fcntl, &[F_SETLEASE])]
    {
        let requests = requests
            .iter()
            .map(|request| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, *request)?]));
        denied.insert(call, requests.collect::<Result<_, _>>()?);
    }
    if matches!(network, Network::Hosts(_)) {
        for (call, flags) in SEND_SYSCALLS {
            denied.insert(call, vec![SeccompRule::new(vec![has(flags, MSG_FASTOPEN)?])?]);
        }
    }
    denied.extend(set_id_modes()?);
    Ok(denied)
}

/// Returns the rules that refuse sockets. Without the network all are refused; with it, all but
/// internet sockets: local servers accept commands too, a container engine for example.
fn sockets(network: &Network) -> Result<Vec<SeccompRule>, BackendError> {
    let is_not = |family: i32| is(0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned()));
    let other_families = SeccompRule::new(vec![is_not(libc::AF_INET)?, is_not(libc::AF_INET6)?])?;
    Ok(match network {
        Network::Off => Vec::new(),
        Network::Any => vec![other_families],
        // The proxy is reached by TCP; datagrams could leave without it.
        Network::Hosts(_) => {
            let mut rules = other_socket_types(&[libc::SOCK_STREAM])?;
            rules.push(other_families);
            let is_not =
                |protocol: &i32| is(2, SeccompCmpOp::Ne, u64::from(protocol.cast_unsigned()));
            let others = PROXY_PROTOCOLS.iter().map(is_not).collect::<Result<_, _>>()?;
            rules.push(SeccompRule::new(others)?);
            rules
        }
    })
}

/// Returns rules that match every type of socket except the given ones.
fn other_socket_types(allowed: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let is_allowed = |kind: &u64| allowed.iter().any(|one| u64::from(one.cast_unsigned()) == *kind);
    (0..=SOCKET_TYPE_MASK)
        .filter(|kind| !is_allowed(kind))
        .map(|kind| SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), kind)?]))
        .collect()
}

/// Returns the rules that refuse set-id bits, in each syscall that can set them.
fn set_id_modes() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for (call, mode) in MODE_SYSCALLS {
        let modes = SET_ID_BITS.iter().map(|bit| SeccompRule::new(vec![has(*mode, *bit)?]));
        rules.insert(*call, modes.collect::<Result<_, _>>()?);
    }
    for (call, flags) in OPEN_SYSCALLS {
        let pairs =
            CREATING_FLAGS.iter().flat_map(|flag| SET_ID_BITS.iter().map(move |bit| (flag, bit)));
        let modes = pairs
            .map(|(flag, bit)| SeccompRule::new(vec![has(*flags, *flag)?, has(flags + 1, *bit)?]));
        rules.insert(*call, modes.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

fn filter(denied: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    let denial = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(denied, SeccompAction::Allow, denial, std::env::consts::ARCH.try_into()?)?
        .try_into()
}
