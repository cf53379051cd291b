//! How well the kernel can confine a command.

/// How well the kernel can confine a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// Files, network and processes.
    Full,
    /// Not its files, for this reason.
    None(String),
}

/// Asks the kernel: a thread confines itself to find out, and ends.
#[must_use]
pub fn support() -> Support {
    #[cfg(target_os = "linux")]
    {
        let tried =
            std::thread::spawn(|| crate::linux::confine(&crate::rules::Rules::default(), true))
                .join();
        match tried {
            Ok(Ok(())) => Support::Full,
            Ok(Err(why)) => Support::None(why),
            Err(_) => Support::None("the kernel could not be asked".to_owned()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Support::None("this system has no Landlock".to_owned())
}
