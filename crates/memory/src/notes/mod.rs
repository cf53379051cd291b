//! `MEMORY.md`: the facts that outlive a session. It is a plain file that a person can read, edit
//! and put under version control. The program reads it again before each use.

mod compare;
mod document;
mod file;
mod journal;
mod line;
mod secret;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use file::{lock, open, read as read_small, recover, replace, swaps};

pub use file::FileError;

pub use document::{Added, Note, Topic};
pub use line::{Line, Source};
pub use secret::has_secret;
pub(crate) use secret::without_secrets;

use document::Document;
use journal::Journal;

/// The name of the file.
const NAME: &str = "MEMORY.md";

/// How often a change is retried after a person saved the file at the same moment.
const TRIES: usize = 5;

/// How long an editor may take to write a file that it has emptied, and how often to look.
const SAVING: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// The file `MEMORY.md` of one user.
#[derive(Clone, Debug)]
pub struct Notes {
    directory: PathBuf,
}

/// Why a fact was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text seems to contain a key or a password.
    #[error("not written to memory: the text seems to contain a key or a password")]
    Secret,
    /// The text is empty.
    #[error("there is nothing to remember")]
    Empty,
    /// No fact has this number.
    #[error("there is no fact {number}; the memory has {count}")]
    NoSuchNote {
        /// The number that was requested, from 1.
        number: usize,
        /// How many there are.
        count: usize,
    },
}

impl Notes {
    /// Uses the file in a directory. Both are created with the first fact.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// Returns the facts in the order of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list(&self) -> io::Result<Vec<Note>> {
        if !self.path().exists() {
            return Ok(Vec::new());
        }
        self.restore_lost()?;
        Ok(Document::parse(&file::read(&self.path())?).notes())
    }

    /// Adds a fact, unless the file has it already. A fact that it contradicts is superseded.
    ///
    /// # Errors
    /// If the text is empty or looks like a secret, or the file cannot be written.
    pub fn add(&self, topic: Topic, line: Line) -> Result<Added, NoteError> {
        if line.text.is_empty() {
            return Err(NoteError::Empty);
        }
        if has_secret(&line.text) {
            return Err(NoteError::Secret);
        }
        let note = Note { topic, line };
        let added = self.change(|document| Some(document.add(&note)))?;
        Ok(added.unwrap_or(Added::Known))
    }

    /// Removes the fact with this number, from 1 in the order of [`Notes::list`].
    ///
    /// # Errors
    /// If the fact does not exist, or the file cannot be written.
    pub fn forget(&self, number: usize) -> Result<Note, NoteError> {
        let removed = self.change(|document| document.remove(number.checked_sub(1)?))?;
        removed.ok_or_else(|| self.no_such(number))
    }

    /// Removes a rule that the program wrote. What a person wrote into the file has no source and
    /// stays. Returns whether there was such a rule.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn withdraw(&self, rule: &str) -> Result<bool, NoteError> {
        let is_it = |note: &Note| {
            note.topic == Topic::Instruction && note.line.source.is_some() && note.line.text == rule
        };
        let removed = self.change(|document| {
            let number = document.notes().iter().position(is_it)?;
            document.remove(number)
        })?;
        Ok(removed.is_some())
    }

    /// Replaces the text of a fact. Returns the earlier one.
    ///
    /// # Errors
    /// If the fact does not exist, the text looks like a secret, or the file cannot be written.
    pub fn edit(&self, number: usize, line: &Line) -> Result<Note, NoteError> {
        if line.text.is_empty() {
            return Err(NoteError::Empty);
        }
        if has_secret(&line.text) {
            return Err(NoteError::Secret);
        }
        let earlier = self.change(|document| document.edit(number.checked_sub(1)?, line))?;
        earlier.ok_or_else(|| self.no_such(number))
    }

    fn no_such(&self, number: usize) -> NoteError {
        let count = self.list().map_or(0, |notes| notes.len());
        NoteError::NoSuchNote { number, count }
    }

    /// Changes the file under the lock. If a person saves it at the same moment, their version is
    /// read and the change is made to it.
    fn change<T>(&self, work: impl Fn(&mut Document) -> Option<T>) -> io::Result<Option<T>> {
        let _lock = file::lock(&self.directory)?;
        let journal = Journal::of(&self.directory);
        let path = self.path();
        file::recover(&path)?;
        let mut before = file::read(&path)?;
        for _ in 0..TRIES {
            if before.is_empty() && path.exists() {
                before = when_saved(|| file::read(&path))?;
            }
            let earlier = Document::parse(&before);
            let mut document = earlier.clone();
            let restored = journal.restore(&mut document)?;
            let Some(result) = work(&mut document) else { return Ok(None) };
            let after = document.text();
            match replace_changed(&path, &before, &after)? {
                Ok(()) => {
                    journal.record(&earlier, &document, &restored)?;
                    return Ok(Some(result));
                }
                Err(theirs) => before = theirs,
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, FileError::Busy(path.clone())))
    }

    /// Restores lines that an editor dropped when it saved an older version of the file.
    fn restore_lost(&self) -> io::Result<()> {
        let journal = Journal::of(&self.directory);
        let mut document = Document::parse(&file::read(&self.path())?);
        // A swap belongs to a running process, or to one that was killed.
        let is_pending = !file::swaps(&self.path())?.is_empty();
        if is_pending || !journal.restore(&mut document)?.is_empty() {
            self.change(|_| Some(()))?;
        }
        Ok(())
    }
}

/// Reads a file that is empty: many editors empty a file before they write it. A file that stays
/// empty is what the person wants.
pub(crate) fn when_saved(read: impl Fn() -> io::Result<String>) -> io::Result<String> {
    let deadline = Instant::now() + SAVING;
    loop {
        let text = read()?;
        if !text.is_empty() || Instant::now() >= deadline {
            return Ok(text);
        }
        std::thread::sleep(LOOK);
    }
}

fn replace_changed(path: &Path, before: &str, after: &str) -> io::Result<Result<(), String>> {
    if before == after { Ok(Ok(())) } else { replace(path, before, after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::new(text, "2026-11-16", None)
    }

    fn texts(notes: &Notes) -> Vec<String> {
        notes.list().unwrap().into_iter().map(|note| note.line.text).collect()
    }

    #[test]
    fn facts_are_added_once_and_forgotten_by_number() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path().join("m"));
        assert!(notes.list().unwrap().is_empty());
        assert_eq!(notes.add(Topic::Fact, line("The API is on port 80")).unwrap(), Added::New);
        assert_eq!(notes.add(Topic::Fact, line("the API is on port 80.")).unwrap(), Added::Known);
        notes.add(Topic::Instruction, line("Always answer in French")).unwrap();
        notes.edit(1, &line("The API is on port 81")).unwrap();
        assert_eq!(notes.forget(2).unwrap().line.text, "Always answer in French");
        assert_eq!(texts(&notes), ["The API is on port 81"]);
        let error = notes.forget(7).unwrap_err().to_string();
        assert_eq!(error, "there is no fact 7; the memory has 1");
    }

    #[test]
    fn secrets_are_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path());
        let refused = notes.add(Topic::Fact, line("the password is hunter2hunter2"));
        assert!(matches!(refused, Err(NoteError::Secret)));
        assert!(!notes.path().exists());
    }

    #[test]
    fn edit_of_a_person_is_kept_with_the_facts_written_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path());
        notes.add(Topic::Fact, line("The first fact")).unwrap();
        let opened_in_editor = std::fs::read_to_string(notes.path()).unwrap();
        notes.add(Topic::Fact, line("A second thing")).unwrap();
        // The editor saves what it opened before the second fact, with a change.
        let saved = opened_in_editor.replace("The first fact", "The first fact, corrected");
        std::fs::write(notes.path(), saved).unwrap();
        assert_eq!(texts(&notes), ["The first fact, corrected", "A second thing"]);
    }

    /// The journal has the newest lines only. That must not confuse their order.
    #[test]
    fn newest_line_of_a_long_file_is_restored() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path());
        let fact = |number: usize| line(&format!("alpha{number} beta{number}"));
        for number in 0..60 {
            notes.add(Topic::Fact, fact(number)).unwrap();
        }
        let opened_in_editor = std::fs::read_to_string(notes.path()).unwrap();
        notes.add(Topic::Fact, fact(60)).unwrap();
        std::fs::write(notes.path(), &opened_in_editor).unwrap();
        assert_eq!(texts(&notes).len(), 61);
        assert!(texts(&notes).contains(&"alpha60 beta60".to_owned()));
    }

    #[test]
    fn line_that_a_person_deletes_again_stays_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path());
        notes.add(Topic::Fact, line("The first fact")).unwrap();
        notes.add(Topic::Fact, line("A second thing")).unwrap();
        let delete = || {
            let text = std::fs::read_to_string(notes.path()).unwrap();
            let kept: Vec<&str> = text.lines().filter(|line| !line.contains("second")).collect();
            std::fs::write(notes.path(), kept.join("\n")).unwrap();
        };
        delete();
        assert_eq!(texts(&notes), ["The first fact", "A second thing"]);
        delete();
        assert_eq!(texts(&notes), ["The first fact"]);
        notes.add(Topic::Fact, line("More")).unwrap();
        assert_eq!(texts(&notes), ["The first fact", "More"]);
    }

    #[test]
    fn older_line_that_a_person_deletes_stays_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path());
        notes.add(Topic::Fact, line("The first fact")).unwrap();
        notes.add(Topic::Fact, line("A second thing")).unwrap();
        let text = std::fs::read_to_string(notes.path()).unwrap();
        let kept: Vec<&str> = text.lines().filter(|line| !line.contains("first")).collect();
        std::fs::write(notes.path(), kept.join("\n")).unwrap();
        assert_eq!(texts(&notes), ["A second thing"]);
    }

    #[test]
    fn threads_and_processes_do_not_lose_facts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    for number in 0..10 {
                        let text = format!("writer{writer} saw item{number}");
                        Notes::new(path).add(Topic::Fact, line(&text)).unwrap();
                    }
                });
            }
        });
        assert_eq!(texts(&Notes::new(path)).len(), 40);
    }

    #[test]
    fn symbolic_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join(".bashrc");
        std::fs::write(&secret, "alias x=y\n").unwrap();
        let notes = Notes::new(directory.path().join("m"));
        std::fs::create_dir(directory.path().join("m")).unwrap();
        std::os::unix::fs::symlink(&secret, notes.path()).unwrap();
        assert!(notes.add(Topic::Fact, line("A fact")).is_err());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "alias x=y\n");
    }
}
