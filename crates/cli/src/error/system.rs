//! Errors of files: those of the operating system, and those of ours that come in an I/O error.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;

use waterline_log::TooLarge;
use waterline_memory::FileError;
use waterline_sandbox::PathReason;
use waterline_sandbox::small_file::ReadError;

use crate::foreign::foreign;
use crate::text;

/// Returns the text of an error of the operating system, or of one that a library wrapped.
pub fn io_error(error: &std::io::Error) -> String {
    if let Some(inner) = error.get_ref() {
        let inner: &(dyn Error + 'static) = inner;
        let known = inner
            .downcast_ref()
            .map(describe_read)
            .or_else(|| inner.downcast_ref().map(describe_file))
            .or_else(|| inner.downcast_ref().map(too_large));
        return known.unwrap_or_else(|| foreign(&error.to_string()));
    }
    let kind = match error.kind() {
        ErrorKind::NotFound => "not-found",
        ErrorKind::PermissionDenied => "permission-denied",
        ErrorKind::AlreadyExists => "already-exists",
        ErrorKind::IsADirectory => "is-a-directory",
        ErrorKind::NotADirectory => "not-a-directory",
        ErrorKind::DirectoryNotEmpty => "directory-not-empty",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "storage-full",
        ErrorKind::FileTooLarge => "file-too-large",
        ErrorKind::ReadOnlyFilesystem => "read-only",
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => "busy",
        ErrorKind::InvalidFilename => "invalid-name",
        ErrorKind::ConnectionRefused => "connection-refused",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => "connection-closed",
        ErrorKind::TimedOut => "timed-out",
        ErrorKind::BrokenPipe => "broken-pipe",
        ErrorKind::UnexpectedEof => "end",
        ErrorKind::OutOfMemory => "memory",
        _ => "other",
    };
    text!("error-system", kind = kind, text = error.to_string())
}

fn too_large(error: &TooLarge) -> String {
    match error.is_line {
        true => text!("input-line-too-large", megabytes = error.megabytes),
        false => text!("input-too-large", megabytes = error.megabytes),
    }
}

/// Describes why a file of settings, a role or a skill was not read.
fn describe_read(error: &ReadError) -> String {
    let path = error.path.display().to_string();
    text!("cannot-read-because", path = path, why = path_reason(&error.why))
}

/// Returns why a workspace, a directory or a path cannot be used.
pub(super) fn path_reason(reason: &PathReason) -> String {
    match reason {
        PathReason::Io(error) => io_error(error),
        PathReason::InvalidOwner(file) => text!("path-invalid-owner", file = *file),
        PathReason::OwnerNotRegular(file) => text!("path-owner-not-regular", file = *file),
        PathReason::OtherSession(session) => {
            text!("path-other-session", session = session.as_str())
        }
        PathReason::InsideWritable(outer) => {
            text!("path-inside-writable", outer = outer.display().to_string())
        }
        PathReason::NotDirectory => text!("path-not-directory"),
        PathReason::NotGranted => text!("path-not-granted"),
        PathReason::NulByte => text!("path-nul-byte"),
        PathReason::NoFileName => text!("path-no-file-name"),
        PathReason::ThroughLink => text!("path-through-link"),
        PathReason::DeniedOrLink => text!("path-denied-or-link"),
        PathReason::NotRegular => text!("path-not-regular"),
        PathReason::TooLarge(most) => text!("path-too-large", megabytes = most / 1_000_000),
        PathReason::NotUtf8 => text!("path-not-utf8"),
        other => other.to_string(),
    }
}

/// Describes why a file of the memory was not read or replaced.
fn describe_file(error: &FileError) -> String {
    let shown = |path: &Path| path.display().to_string();
    match error {
        FileError::NotRegular(path) => text!("memory-not-regular", path = shown(path)),
        FileError::TooLarge(path) => text!("memory-too-large", path = shown(path)),
        FileError::Busy(path) => text!("memory-busy", path = shown(path)),
        FileError::Io { path, error } => {
            text!("error-with-cause", error = shown(path), cause = io_error(error))
        }
        other => other.to_string(),
    }
}
