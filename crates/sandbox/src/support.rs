//! Finds out whether the kernel can confine commands.

use crate::reason::Unsupported;

/// How well the kernel can confine a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It can confine files, network and processes.
    Full,
    /// It cannot confine files; the reason.
    None(Unsupported),
}

/// Returns what the kernel supports. A short-lived thread confines itself to find out.
#[must_use]
pub fn support() -> Support {
    #[cfg(target_os = "linux")]
    {
        let outcome = std::thread::spawn(|| {
            crate::linux::confine(&crate::rules::Rules::default(), true, None)
        })
        .join();
        match outcome {
            Ok(Ok(())) => Support::Full,
            Ok(Err(why)) => Support::None(why),
            Err(_) => Support::None(Unsupported::NotChecked),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Support::None(Unsupported::NotLinux)
}
