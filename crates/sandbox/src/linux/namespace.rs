//! Namespaces for commands: one with mounts of its own, and one with a network of its own.

use std::io;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

/// Gives this process its own mount namespace, in a user namespace if it is not privileged. Mounts
/// made in it are not visible outside, and commands started from it cannot undo them. `probe`
/// tries the same in another process.
///
/// The process must have only one thread.
pub(crate) fn enter(probe: impl FnOnce() -> bool) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    if unshare(UnshareFlags::NEWNS).is_err() {
        // Some systems create the namespace and then refuse to map the user, who would have no
        // files of their own in it. A process cannot leave it again.
        if !probe() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Gives this thread its own network, which has only a loopback interface. The process must have
/// entered its namespaces, or be privileged.
pub(crate) fn enter_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &set_loopback_up(), SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 128];
    let (_, received) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    // The answer is a header of 16 bytes and an error number, which is 0 for success.
    let error = answer.get(16..20).filter(|_| received >= 20);
    match error.and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Returns a request to the kernel that sets the loopback interface up.
fn set_loopback_up() -> Vec<u8> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // The sequence number and the sender; the family and type of the interface.
    message.extend([1_u32, 0, 0].iter().flat_map(|field| field.to_ne_bytes()));
    // The interface, the flags, and which of them change.
    message.extend([LOOPBACK, UP, UP].iter().flat_map(|field| field.to_ne_bytes()));
    message
}

#[expect(deprecated, reason = "the replacement is unsafe only with a flag that is not used here")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}
