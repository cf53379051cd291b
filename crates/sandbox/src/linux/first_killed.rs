//! Makes the kernel kill a command first if memory runs out.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

/// The highest score: the kernel kills a process with it before all others.
const HIGHEST: &[u8] = b"1000";

/// Raises the score of this process until it is dropped. Processes that are started meanwhile keep
/// the raised score: the kernel should not kill the host or another program of the user.
#[derive(Debug)]
pub(crate) struct RaisedScore {
    /// The file with the score, and the score before. The file is opened before the namespace makes
    /// it read-only.
    opened: Option<(File, String)>,
}

impl RaisedScore {
    pub(crate) fn new() -> Self {
        let file = File::options().read(true).write(true).open("/proc/self/oom_score_adj");
        let opened = file.ok().and_then(|mut file| {
            let mut before = String::new();
            file.read_to_string(&mut before).ok()?;
            file.write_all_at(HIGHEST, 0).ok()?;
            Some((file, before))
        });
        Self { opened }
    }
}

impl Drop for RaisedScore {
    fn drop(&mut self) {
        if let Some((file, before)) = &self.opened {
            let _ = file.write_all_at(before.as_bytes(), 0);
        }
    }
}
