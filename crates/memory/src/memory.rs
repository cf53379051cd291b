//! The memory of one user across sessions: lasting facts in `MEMORY.md`, and what happened each day
//! in `memory/YYYY-MM-DD.md`.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::daily::{DayFiles, Section};
use crate::hit::{Hit, Reason};
use crate::notes::{Line, Note, NoteError, Notes, Source, Topic};
use crate::pin::{PinKind, pins};
use crate::rank::Ranking;
use crate::searchable::{Cache, Remembered, Searchable, Stamp};

/// How many lines of the daily files are searched, newest first.
const SEARCHED_LINES: usize = 20_000;

/// The memory of one user. Users have different directories, so one never sees another's.
#[derive(Clone, Debug)]
pub struct Memory {
    root: PathBuf,
    daily: DayFiles,
    notes: Notes,
    extracts: bool,
    /// Whether users have directories below the root, which is for sessions without a user.
    is_shared: bool,
    cache: Cache,
}

impl Memory {
    /// Uses the files of a directory, which are created when something is first written.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            daily: DayFiles::new(root.join("memory")),
            notes: Notes::new(&root),
            extracts: false,
            is_shared: false,
            cache: Cache::default(),
            root,
        }
    }

    /// Uses the directory of a user below `root`. Without a user it is `root` itself.
    #[must_use]
    pub fn of_user(root: &Path, user: Option<&str>) -> Self {
        match user {
            Some(user) => Self::new(root.join("users").join(escaped(user))),
            None => Self { is_shared: true, ..Self::new(root) },
        }
    }

    /// Returns the memory for a session that belongs to `owner`: the owner's own, if users have
    /// directories below this root; otherwise this one.
    #[must_use]
    pub fn of_owner(&self, owner: Option<&str>) -> Self {
        match owner {
            Some(owner) if self.is_shared => {
                Self::of_user(&self.root, Some(owner)).with_extraction(self.extracts)
            }
            _ => self.clone(),
        }
    }

    /// Sets whether lasting facts of summaries are also written to `MEMORY.md`. By default only the
    /// daily file has them, because models find many facts that are not worth keeping.
    #[must_use]
    pub const fn with_extraction(mut self, extracts: bool) -> Self {
        self.extracts = extracts;
        self
    }

    /// Returns the lasting facts.
    #[must_use]
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Adds a section to the file of the day. Lasting facts also go to `MEMORY.md`, if extraction
    /// is on; `source` is the message they are from.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn keep(&self, section: Section, text: &str, source: Option<&Source>) -> io::Result<()> {
        self.daily.keep(section, text, source)?;
        if section != Section::Notes || !self.extracts {
            return Ok(());
        }
        for line in text.lines() {
            // A model wrote the line, perhaps from a tool's output, so it is never more than a
            // fact: only what the user says becomes an instruction or a preference.
            match self.notes.add(Topic::Fact, line_of_today(line, source.cloned())) {
                Ok(_) | Err(NoteError::Secret | NoteError::Empty) => {}
                Err(NoteError::Io(error)) => return Err(error),
                Err(other) => return Err(io::Error::other(other)),
            }
        }
        Ok(())
    }

    /// Adds a fact to `MEMORY.md`, in the section that its words belong to.
    ///
    /// # Errors
    /// If it is empty or looks like a secret, or the file cannot be written.
    pub fn remember(
        &self,
        text: &str,
        source: Option<Source>,
    ) -> Result<crate::notes::Added, NoteError> {
        let line = line_of_today(text, source);
        self.notes.add(topic_of(&line.text), line)
    }

    /// Adds a standing instruction to `MEMORY.md`, whatever its words are.
    ///
    /// # Errors
    /// As for [`Memory::remember`].
    pub fn remember_rule(
        &self,
        text: &str,
        source: Option<Source>,
    ) -> Result<crate::notes::Added, NoteError> {
        self.notes.add(Topic::Instruction, line_of_today(text, source))
    }

    /// Returns the lines that answer a question best.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn find(&self, question: &str, limit: usize) -> io::Result<Vec<Remembered>> {
        self.find_by(question, limit, |_, _| HashSet::new())
    }

    /// Returns the lines that answer a question best. `rerank` may re-rank them with their vectors,
    /// and returns the numbers of the lines that mean something similar. Other lines must have a
    /// word of the question.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn find_by(
        &self,
        question: &str,
        limit: usize,
        rerank: impl FnOnce(&mut Ranking<'_>, &[Remembered]) -> HashSet<usize>,
    ) -> io::Result<Vec<Remembered>> {
        let searchable = self.searchable()?;
        let mut ranking = searchable.index.rank(question, |_| true);
        let similar = rerank(&mut ranking, &searchable.lines);
        let speaks = |hit: &Hit| {
            let has_words = hit.reasons.iter().any(|why| matches!(why, Reason::Words(_)));
            has_words || similar.contains(&hit.message)
        };
        let found = ranking.best(limit).into_iter().filter(speaks);
        Ok(found.filter_map(|hit| searchable.lines.get(hit.message).cloned()).collect())
    }

    /// Returns all lines that are searched.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn searched(&self) -> io::Result<Vec<Remembered>> {
        Ok(self.searchable()?.lines.clone())
    }

    /// Reads the files and builds the index, so that the first search need not.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn prepare(&self) -> io::Result<()> {
        self.searchable().map(drop)
    }

    fn searchable(&self) -> io::Result<Arc<Searchable>> {
        self.cache.get(|| self.stamps(), || self.lines())
    }

    /// Returns the stamps of all files, which differ after a file has changed.
    fn stamps(&self) -> io::Result<Vec<Stamp>> {
        let mut files = vec![self.notes.path()];
        files.extend(self.daily.files()?);
        files.extend(DayFiles::new(&self.root).files()?);
        Ok(files.iter().filter_map(|file| Stamp::of(file)).collect())
    }

    /// Returns the newest lines of the days, newest first.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn newest(&self, limit: usize) -> io::Result<Vec<Remembered>> {
        let mut lines = self.daily.newest(limit)?;
        // Earlier versions wrote the daily files next to `MEMORY.md`.
        lines.extend(DayFiles::new(&self.root).newest(limit - lines.len().min(limit))?);
        let of = |line: crate::daily::DayLine| Remembered {
            place: line.day.clone(),
            text: line.text,
            day: line.day,
            source: line.source,
            is_superseded: false,
        };
        Ok(lines.into_iter().map(of).collect())
    }

    /// Returns the lines that are searched.
    fn lines(&self) -> io::Result<Vec<Remembered>> {
        let of = |note: Note| Remembered {
            place: "MEMORY.md".to_owned(),
            text: note.line.text,
            day: note.line.day,
            source: note.line.source,
            is_superseded: note.topic == Topic::Superseded,
        };
        let mut lines: Vec<Remembered> = self.notes.list()?.into_iter().map(of).collect();
        lines.extend(self.newest(SEARCHED_LINES)?);
        Ok(lines)
    }
}

fn line_of_today(text: &str, source: Option<Source>) -> Line {
    let day = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    Line::new(text, &day, source)
}

/// Returns the section that a text belongs to.
fn topic_of(text: &str) -> Topic {
    match pins(text).first() {
        Some((PinKind::Instruction, _)) => Topic::Instruction,
        Some((PinKind::Preference, _)) => Topic::Preference,
        None => Topic::Fact,
    }
}

/// Returns a name that is safe as the name of a directory, and different for each user.
fn escaped(user: &str) -> String {
    let mut name = String::new();
    for byte in user.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_78_users_do_not_see_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let ada = Memory::of_user(directory.path(), Some("ada"));
        let eve = Memory::of_user(directory.path(), Some("../ada"));
        ada.remember("The launch is on Friday.", None).unwrap();
        assert_eq!(ada.find("when is the launch?", 5).unwrap().len(), 1);
        assert!(eve.find("when is the launch?", 5).unwrap().is_empty());
        assert!(Memory::of_user(directory.path(), None).find("launch", 5).unwrap().is_empty());
        assert!(eve.root().starts_with(directory.path().join("users")));
        let shared = Memory::of_user(directory.path(), None);
        assert_eq!(shared.of_owner(Some("ada")).root(), ada.root());
        assert_eq!(shared.of_owner(None).root(), directory.path());
        assert_eq!(ada.of_owner(Some("eve")).root(), ada.root(), "a user was named");
    }

    #[test]
    fn s2_34_daily_lines_and_facts_are_found_in_both_languages() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path());
        memory.keep(Section::Trimmed, "- Ada ordered 40 bolts\n- 大门密码是4711", None).unwrap();
        memory.remember("I prefer tea.", None).unwrap();
        let texts = |question: &str| -> Vec<String> {
            memory.find(question, 3).unwrap().into_iter().map(|line| line.text).collect()
        };
        assert_eq!(texts("How many bolts did Ada order?"), ["- Ada ordered 40 bolts"]);
        assert_eq!(texts("大门密码是多少？"), ["- 大门密码是4711"]);
        assert_eq!(texts("does he like tea"), ["I prefer tea."]);
        assert!(texts("weather").is_empty());
    }

    #[test]
    fn lines_say_when_they_were_written_and_whether_they_still_hold() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path());
        let source = Source { session: "s".to_owned(), message: 4 };
        memory.remember("The API is on port 80.", None).unwrap();
        memory.remember("The API is on port 81.", Some(source.clone())).unwrap();
        memory.keep(Section::Trimmed, "- asked for the port of the API", Some(&source)).unwrap();
        let found = memory.find("which port has the API", 3).unwrap();
        let superseded: Vec<&str> =
            found.iter().filter(|it| it.is_superseded).map(|it| it.text.as_str()).collect();
        assert_eq!((found.len(), superseded), (3, vec!["The API is on port 80."]));
        assert!(found.iter().all(|line| crate::date_of(&line.day).is_some()), "{found:?}");
        assert_eq!(found.iter().filter(|it| it.source.as_ref() == Some(&source)).count(), 2);
    }

    #[test]
    fn index_is_built_again_only_after_a_change() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path());
        memory.remember("The launch is on Friday.", None).unwrap();
        memory.prepare().unwrap();
        let first = memory.searchable().unwrap();
        assert!(Arc::ptr_eq(&first, &memory.clone().searchable().unwrap()));
        std::fs::write(memory.notes().path(), "- The launch is on Monday.\n").unwrap();
        assert_eq!(
            memory.find("when is the launch?", 1).unwrap()[0].text,
            "The launch is on Monday."
        );
        memory.keep(Section::Trimmed, "- the harbor opens at nine", None).unwrap();
        assert_eq!(memory.find("harbor", 1).unwrap().len(), 1);
    }

    #[test]
    fn facts_of_summaries_reach_the_notes_only_if_extraction_is_on() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path());
        memory.keep(Section::Notes, "- The API is on port 80", None).unwrap();
        assert!(memory.notes().list().unwrap().is_empty());
        let source = Source { session: "s".to_owned(), message: 4 };
        let memory = memory.with_extraction(true);
        memory
            .keep(Section::Notes, "- The API is on port 80\n- Always use tabs", Some(&source))
            .unwrap();
        let notes = memory.notes().list().unwrap();
        let topics: Vec<Topic> = notes.iter().map(|note| note.topic).collect();
        assert_eq!(topics, [Topic::Fact, Topic::Fact], "a summary makes no instruction");
        assert!(notes.iter().all(|note| note.line.source.as_ref() == Some(&source)));
    }
}
