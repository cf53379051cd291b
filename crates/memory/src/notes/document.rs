//! `MEMORY.md` as text: sections with one fact per line. Everything that a person wrote around the
//! facts stays as it is.

use super::compare::{Relation, compare};
use super::line::Line;

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topic {
    /// A standing instruction of the user.
    Instruction,
    /// What the user likes or has chosen.
    Preference,
    /// Anything else.
    Fact,
    /// A fact that a newer one replaced. Search finds it, but it is not given to the model
    /// otherwise.
    Superseded,
}

impl Topic {
    /// All topics, in the order of the file.
    pub const ALL: [Self; 4] = [Self::Instruction, Self::Preference, Self::Fact, Self::Superseded];

    /// Returns the heading of the section.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Instruction => "## Instructions",
            Self::Preference => "## Preferences",
            Self::Fact => "## Facts",
            Self::Superseded => "## Superseded",
        }
    }

    /// Returns the topic of a section. A section that a person added has facts.
    fn of_heading(heading: &str) -> Self {
        let is = |topic: &Self| topic.heading().eq_ignore_ascii_case(heading.trim());
        Self::ALL.into_iter().find(is).unwrap_or(Self::Fact)
    }
}

/// A fact with its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// What it is about.
    pub topic: Topic,
    /// What it says, and where it is from.
    pub line: Line,
}

/// What adding a fact changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// The fact is new.
    New,
    /// The file had it already.
    Known,
    /// It replaced this fact, or several with `; ` between them, which moved to the superseded
    /// ones.
    Replaced(String),
}

/// The text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    lines: Vec<String>,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    /// Returns the facts in the order of the file.
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.entries().map(|(_, note)| note).collect()
    }

    /// Adds a fact to its section. A known fact is not added twice. A fact that it contradicts
    /// moves to the superseded ones.
    pub(crate) fn add(&mut self, note: &Note) -> Added {
        let mut replaced: Vec<(usize, Line)> = Vec::new();
        for (at, known) in self.entries() {
            if known.topic == Topic::Superseded {
                continue;
            }
            // Rules are the user's words, and a fact may come from elsewhere.
            let is_protected = note.topic == Topic::Fact && known.topic != Topic::Fact;
            match compare(&note.line.text, &known.line.text) {
                Relation::Same => return Added::Known,
                Relation::Contradiction if is_protected => {}
                Relation::Contradiction => replaced.push((at, known.line)),
                Relation::Different => {}
            }
        }
        // From the end, so that the numbers of the other lines stay valid.
        for (at, _) in replaced.iter().rev() {
            self.lines.remove(*at);
        }
        for (_, line) in &replaced {
            self.insert(Topic::Superseded, line);
        }
        self.insert(note.topic, &note.line);
        let texts: Vec<String> = replaced.into_iter().map(|(_, line)| line.text).collect();
        if texts.is_empty() { Added::New } else { Added::Replaced(texts.join("; ")) }
    }

    /// Removes the fact with this number, counted from 0 in the order of [`Self::notes`].
    pub(crate) fn remove(&mut self, number: usize) -> Option<Note> {
        let (at, note) = self.entries().nth(number)?;
        self.lines.remove(at);
        Some(note)
    }

    /// Replaces the text of a fact.
    pub(crate) fn edit(&mut self, number: usize, line: &Line) -> Option<Note> {
        let (at, note) = self.entries().nth(number)?;
        *self.lines.get_mut(at)? = line.to_string();
        Some(note)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    /// Returns each fact with the number of its line.
    fn entries(&self) -> impl Iterator<Item = (usize, Note)> {
        let mut topic = Topic::Fact;
        self.lines.iter().enumerate().filter_map(move |(at, text)| {
            if text.starts_with('#') {
                topic = Topic::of_heading(text);
            }
            Line::parse(text).map(|line| (at, Note { topic, line }))
        })
    }

    /// Writes a line at the end of its section, which is created if it is missing.
    fn insert(&mut self, topic: Topic, line: &Line) {
        if self.lines.is_empty() {
            self.lines.push("# Memory".to_owned());
        }
        let heading = topic.heading();
        let is_heading = |text: &String| text.trim().eq_ignore_ascii_case(heading);
        let at = match self.lines.iter().position(is_heading) {
            Some(start) => self.end_of_section(start),
            None => {
                self.lines.extend([String::new(), heading.to_owned(), String::new()]);
                self.lines.len()
            }
        };
        self.lines.insert(at, line.to_string());
    }

    /// Returns the line after the last one of a section that is not empty.
    fn end_of_section(&self, start: usize) -> usize {
        let after = self.lines.iter().skip(start + 1);
        let length = after.take_while(|line| !line.starts_with('#')).count();
        let section = self.lines.get(start..=start + length).unwrap_or_default();
        let blank = section.iter().rev().take_while(|line| line.trim().is_empty()).count();
        let end = start + 1 + length - blank;
        // The heading is followed by an empty line.
        if end == start + 1 && blank > 0 { end + 1 } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(topic: Topic, text: &str) -> Note {
        Note { topic, line: Line::new(text, "2026-11-16", None) }
    }

    #[test]
    fn facts_go_to_their_sections() {
        let mut document = Document::parse("");
        document.add(&note(Topic::Fact, "The API runs on port 8080."));
        document.add(&note(Topic::Instruction, "Always answer in French."));
        document.add(&note(Topic::Fact, "Tests run with make test."));
        let text = "# Memory\n\n## Facts\n\n\
            - The API runs on port 8080. <!-- 2026-11-16 -->\n\
            - Tests run with make test. <!-- 2026-11-16 -->\n\n\
            ## Instructions\n\n\
            - Always answer in French. <!-- 2026-11-16 -->\n";
        assert_eq!(document.text(), text);
        assert_eq!(Document::parse(text), document);
    }

    #[test]
    fn contradiction_supersedes_and_stays_findable() {
        let mut document = Document::parse("");
        document.add(&note(Topic::Fact, "The staging database is on port 5432."));
        let added = document.add(&note(Topic::Fact, "The staging database is on port 5433."));
        assert_eq!(added, Added::Replaced("The staging database is on port 5432.".to_owned()));
        let notes: Vec<(Topic, String)> =
            document.notes().into_iter().map(|note| (note.topic, note.line.text)).collect();
        assert_eq!(
            notes,
            [
                (Topic::Fact, "The staging database is on port 5433.".to_owned()),
                (Topic::Superseded, "The staging database is on port 5432.".to_owned()),
            ]
        );
    }

    #[test]
    fn every_line_that_is_contradicted_is_superseded() {
        // A person may have written two versions.
        let mut document =
            Document::parse("- The API is on port 80\n- other\n- The API is on port 81\n");
        let added = document.add(&note(Topic::Fact, "The API is on port 82"));
        let both = "The API is on port 80; The API is on port 81".to_owned();
        assert_eq!(added, Added::Replaced(both));
        let topics: Vec<Topic> = document.notes().iter().map(|note| note.topic).collect();
        assert_eq!(topics.iter().filter(|topic| **topic == Topic::Superseded).count(), 2);
    }

    #[test]
    fn fact_does_not_supersede_a_rule() {
        let mut document = Document::parse("");
        document.add(&note(Topic::Instruction, "Always answer in French."));
        assert_eq!(document.add(&note(Topic::Fact, "Always answer in German.")), Added::New);
        assert_eq!(document.notes()[0].topic, Topic::Instruction);
        let replaced = Added::Replaced("Always answer in French.".to_owned());
        document.remove(1);
        assert_eq!(document.add(&note(Topic::Instruction, "Always answer in Dutch.")), replaced);
    }

    #[test]
    fn what_a_person_wrote_stays() {
        let mine = "# About me\n\nI live in Kiel.\n\n## Team\n- Ada leads the team\n\nBye.\n";
        let mut document = Document::parse(mine);
        assert_eq!(document.add(&note(Topic::Fact, "ada leads the team")), Added::Known);
        document.add(&note(Topic::Preference, "I prefer tabs."));
        let text = document.text();
        assert!(text.starts_with(mine.trim_end()), "{text}");
        assert!(text.ends_with("## Preferences\n\n- I prefer tabs. <!-- 2026-11-16 -->\n"));
    }

    #[test]
    fn facts_are_removed_and_edited_by_number() {
        let mut document = Document::parse("- one\n- two\n- three\n");
        assert_eq!(document.remove(1).unwrap().line.text, "two");
        document.edit(1, &Line::new("four", "2026-11-16", None)).unwrap();
        assert_eq!(document.text(), "- one\n- four <!-- 2026-11-16 -->\n");
        assert_eq!(document.remove(5), None);
    }
}
