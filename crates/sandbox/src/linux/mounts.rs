//! Read-only mounts, in the mount namespace of a command.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, openat2, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_bind, mount_bind_recursive, mount_remount};

/// File systems whose server may not answer.
const REMOTE: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "9p", "fuse", "fuseblk"];

/// How long to wait for the servers of remote file systems.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(2);

/// Makes paths read-only in this process's mount namespace, with everything below them. They can
/// then be neither renamed nor removed.
pub(crate) fn make_read_only(paths: &[&Path]) -> io::Result<()> {
    for path in paths {
        mount_bind(*path, *path)?;
        // Flags that the outer mount has must be kept, or the kernel refuses.
        let outer = statvfs(*path)?.f_flag;
        let mut flags = MountFlags::BIND | MountFlags::RDONLY;
        for (has, flag) in [
            (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
            (StatVfsMountFlags::NODEV, MountFlags::NODEV),
            (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        ] {
            flags.set(flag, outer.contains(has));
        }
        mount_remount(*path, flags, "")?;
    }
    Ok(())
}

/// Makes all mounts in this process's mount namespace read-only, except what is below some
/// directories. A command that may not open a file could still change its mode, owner and times: on
/// a read-only mount the kernel refuses that too.
///
/// Processes must [enter](enter_again) their working directory again.
pub(crate) fn make_read_only_except(writable: &[PathBuf]) -> io::Result<()> {
    for path in writable {
        keep_writable(path)?;
    }
    let is_outside = |mount: &Mount| !writable.iter().any(|root| mount.path.starts_with(root));
    let mounts = writable_mounts(&std::fs::read("/proc/self/mountinfo")?);
    let (remote, local): (Vec<Mount>, Vec<Mount>) =
        mounts.into_iter().filter(is_outside).partition(|mount| mount.is_remote);
    let made = make_all_read_only(&local);
    if remote.is_empty() {
        return made;
    }
    // A server that does not answer must not stop the command.
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(make_all_read_only(&remote)));
    made.and(receiver.recv_timeout(REMOTE_TIMEOUT).unwrap_or(Ok(())))
}

/// Makes each of these mounts read-only. If some cannot be, returns the first error.
fn make_all_read_only(mounts: &[Mount]) -> io::Result<()> {
    mounts.iter().map(Mount::make_read_only).fold(Ok(()), io::Result::and)
}

/// Returns the mounts of a table that are not read-only. One that another mount covers is left out:
/// its path leads to that other mount, which has flags of its own to keep.
fn writable_mounts(table: &[u8]) -> Vec<Mount> {
    let mut mounts: Vec<Mount> =
        table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect();
    let places: HashSet<(Vec<u8>, PathBuf)> =
        mounts.iter().map(|mount| (mount.parent.clone(), mount.path.clone())).collect();
    let is_covered = |mount: &Mount| places.contains(&(mount.id.clone(), mount.path.clone()));
    mounts.retain(|mount| !mount.is_read_only && !is_covered(mount));
    mounts
}

/// Enters the working directory again, which may be covered by a new mount.
pub(crate) fn enter_again() -> io::Result<()> {
    std::env::set_current_dir(std::env::current_dir()?)
}

/// Gives a directory a mount of its own.
fn keep_writable(path: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    // A link was put there by a command, and grants nothing.
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let Ok(directory) = opened else { return Ok(()) };
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(mount_bind_recursive(path.as_str(), path.as_str())?)
}

/// A mount, as `/proc/self/mountinfo` lists it.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    id: Vec<u8>,
    /// The id of the mount that it is in.
    parent: Vec<u8>,
    path: PathBuf,
    /// The flags that it must keep.
    flags: MountFlags,
    is_read_only: bool,
    is_remote: bool,
}

impl Mount {
    /// Parses a line.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let (id, parent) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let path = PathBuf::from(unescape(fields.nth(2)?));
        let options = fields.next()?;
        let full_kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        let kind = full_kind.split(|byte| *byte == b'.').next().unwrap_or(full_kind);
        let mut flags = MountFlags::empty();
        let mut is_read_only = false;
        for option in options.split(|byte| *byte == b',') {
            is_read_only |= option == b"ro";
            flags |= match option {
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"nosymfollow" => MountFlags::NOSYMFOLLOW,
                _ => MountFlags::empty(),
            };
        }
        let is_remote = REMOTE.iter().any(|name| name.as_bytes() == kind);
        Some(Self { id, parent, path, flags, is_read_only, is_remote })
    }

    fn make_read_only(&self) -> io::Result<()> {
        let flags = MountFlags::BIND | MountFlags::RDONLY | self.flags;
        match mount_remount(self.path.as_path(), flags, "") {
            Err(error @ (Errno::PERM | Errno::BUSY)) => Err(error.into()),
            Err(error) if self.path == Path::new("/") => Err(error.into()),
            // The path leads elsewhere or nowhere: a command cannot reach the mount either.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Replaces the escapes of special characters: `\040` is a space.
fn unescape(path: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                Some((((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::namespace;

    #[test]
    fn lines_of_the_mount_table_are_parsed() {
        let parse = |line: &str| Mount::parse(line.as_bytes());
        let mount = |id: &str, parent: &str, path: &str| Mount {
            id: id.into(),
            parent: parent.into(),
            path: path.into(),
            flags: MountFlags::empty(),
            is_read_only: false,
            is_remote: false,
        };
        let line =
            "36 35 98:0 /mnt1 /a\\040b rw,nosuid,noexec,noatime master:1 - ext3 /dev/root rw";
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        assert_eq!(parse(line), Some(Mount { flags, ..mount("36", "35", "/a b") }));
        let line = "40 25 0:35 / /home rw shared:2 master:3 - fuse.sshfs host:/ rw,user_id=0";
        assert_eq!(parse(line), Some(Mount { is_remote: true, ..mount("40", "25", "/home") }));
        let line = "41 25 0:35 / /snap ro,nodev - squashfs /dev/loop0 ro";
        let flags = MountFlags::NODEV;
        let expected = Mount { flags, is_read_only: true, ..mount("41", "25", "/snap") };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(""), None);
    }

    /// systemd mounts a file system over the one that waits for its first use.
    #[test]
    fn a_mount_that_another_one_covers_is_left_out() {
        let table = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     30 21 0:5 / /misc rw - autofs systemd-1 rw\n\
                     31 30 0:6 / /misc rw,nosuid,nodev,noexec - binfmt_misc none rw\n\
                     32 21 0:7 / /data rw - ext4 /dev/sdb1 rw\n\
                     33 32 0:8 / /data ro - tmpfs none ro\n\
                     34 21 0:9 / /data/a rw - tmpfs none rw\n";
        let ids = writable_mounts(table.as_bytes()).into_iter().map(|mount| mount.id);
        assert_eq!(ids.collect::<Vec<_>>(), [b"21", b"31", b"34"]);
    }

    /// The kernel refuses it while a file in the mount is open for writing. Only root may try that
    /// in a process with more than one thread.
    #[test]
    fn a_mount_that_stays_writable_does_not_keep_the_others() {
        if !rustix::process::getuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        ["a", "b"].iter().for_each(|name| std::fs::create_dir(path(name)).unwrap());
        let (a, b) = (path("a"), path("b"));
        let tried = std::thread::spawn(move || {
            namespace::enter(|| false).ok()?;
            [&a, &b].iter().for_each(|path| mount_bind(path.as_path(), path.as_path()).unwrap());
            let _open = std::fs::File::create(a.join("open")).unwrap();
            let table = std::fs::read("/proc/thread-self/mountinfo").unwrap();
            let mounts: Vec<Mount> = writable_mounts(&table)
                .into_iter()
                .filter(|mount| mount.path == a || mount.path == b)
                .collect();
            let made = make_all_read_only(&mounts);
            Some((mounts.len(), made.is_ok(), std::fs::write(b.join("new"), "x").is_ok()))
        });
        if let Some(tried) = tried.join().unwrap() {
            assert_eq!(tried, (2, false, false), "mounts, whether all are read-only, the second");
        }
    }
}
