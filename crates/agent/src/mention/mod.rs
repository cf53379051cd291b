//! Mentions in a user's text: `@name` and `#file`.

mod attach;
mod input;
mod problem;

use std::sync::Arc;

pub use attach::{Attached, attach};
pub use input::{Notice, read};
pub use problem::{AttachProblem, FileProblem};

use crate::skill::Skill;
use crate::tool::{Callable, Tier};

/// What a mention refers to. Names are looked up in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A tool in the model's tool list.
    Tool,
    /// A tool that is not in the list; the mention allows it in this session.
    Disabled,
    /// A skill, which the model is told to follow.
    Skill(Skill),
    /// Another agent: a role.
    Agent,
    /// No tool, skill or role has this name.
    Unknown,
}

/// A mention of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mention {
    /// The name, without `@`.
    pub name: String,
    /// What it refers to.
    pub kind: Kind,
}

/// Returns the names after `@` in a text. E-mail addresses are not mentions, and CJK text directly
/// after a name is not part of it.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '@' && !is_address_char(before) {
            let mut name = String::new();
            while let Some(&next) =
                rest.peek().filter(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-'))
            {
                name.push(next);
                rest.next();
            }
            // `@here.example` is the end of an address with unusual characters.
            let mut ahead = rest.clone();
            let is_address = match ahead.next() {
                Some('@') => true,
                Some('.') => ahead.next().is_some_and(|next| next.is_ascii_alphanumeric()),
                _ => false,
            };
            let name = name.trim_end_matches('-').to_owned();
            if !name.is_empty() && !is_address && !names.contains(&name) {
                names.push(name);
            }
        }
        before = c;
    }
    names
}

/// Returns the names after `@` that look like files: `@calc.py`, `@src/main.rs`. A scope such as
/// `@crew/pages` and the end of an e-mail address are not returned.
#[must_use]
pub fn dotted(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "，。；：！？、（）()“”《》".contains(c));
    let names = words.filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| name.trim_end_matches(['.', ',', ';', ':', '!', '?', '"', '\'']));
    let is_file = |name: &&str| {
        let is_word =
            name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
        let parts = name.rsplit_once('.');
        is_word && parts.is_some_and(|(stem, end)| !stem.is_empty() && !end.contains('/'))
    };
    let mut found: Vec<String> = names.filter(is_file).map(str::to_owned).collect();
    found.dedup();
    found
}

const fn is_address_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-' | '@' | '/')
}

/// Looks up a name.
#[must_use]
pub fn look_up(
    name: &str,
    tools: &[(&Arc<dyn Callable>, Tier)],
    skills: &[Skill],
    roles: &[String],
) -> Mention {
    let tier = tools.iter().find(|(tool, _)| tool.name() == name).map(|(_, tier)| *tier);
    let skill = skills.iter().find(|skill| skill.id == name || skill.name == name);
    let kind = match (tier, skill) {
        (Some(Tier::Visible), _) => Kind::Tool,
        (Some(Tier::Enabled | Tier::Discovered), _) => Kind::Disabled,
        (None, Some(skill)) => Kind::Skill(skill.clone()),
        (None, None) if roles.iter().any(|role| role == name) => Kind::Agent,
        (None, None) => Kind::Unknown,
    };
    Mention { name: name.to_owned(), kind }
}

/// Returns the paths after `#` in a text: `#notes.md`, `#docs/`, `#**/*.rs`,
/// `#"a name with spaces.md"`. Headings, numbers and colors are not paths.
#[must_use]
pub fn files(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut before = ' ';
    // The end of the last quoted path: a `#` inside it does not start another one.
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let starts = c == '#'
            && (before.is_whitespace() || !before.is_ascii() || matches!(before, '(' | '"' | '\''));
        before = c;
        let Some(rest) = text.get(at + 1..).filter(|_| starts && at >= from) else { continue };
        let path = match quoted(rest) {
            Some(path) => {
                from = at + 1 + path.len() + 2;
                Some(path)
            }
            None => plain(rest),
        };
        if let Some(path) = path.filter(|path| !found.iter().any(|known| known == path)) {
            found.push(path.to_owned());
        }
    }
    found
}

/// Returns a quoted path. Any text in quotes counts as a path.
fn quoted(rest: &str) -> Option<&str> {
    let (path, _) = rest.strip_prefix('"')?.split_once('"')?;
    Some(path).filter(|path| !path.trim().is_empty() && !path.contains('\n'))
}

/// Returns a path without quotes, if the text looks like one.
fn plain(rest: &str) -> Option<&str> {
    let ends = |c: char| c.is_whitespace() || "，。；：！？、（）“”《》#".contains(c);
    let path = rest.split(ends).next().unwrap_or_default();
    let path =
        path.trim_end_matches([',', ';', ':', '!', '?', ')', '"', '\'']).trim_end_matches('.');
    let is_path = path.contains(['/', '*'])
        || path.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !end.is_empty());
    is_path.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_not_mentions_and_cjk_text_ends_a_name() {
        assert_eq!(names("@pdf please, and @web_search"), ["pdf", "web_search"]);
        assert_eq!(names("mail ann@example.org or @ann@example.org"), Vec::<String>::new());
        assert_eq!(names("用@pdf读取文件，再用@pdf"), ["pdf"]);
        assert_eq!(names("(@now) @now- @"), ["now"]);
    }

    #[test]
    fn a_name_with_a_dot_may_be_a_file() {
        assert_eq!(
            dotted("@calc.py, then (@src/a.rs) and @报告.txt。"),
            ["calc.py", "src/a.rs", "报告.txt"]
        );
        assert_eq!(
            dotted("@pdf. ann@example.org @crew/v1.2/pages @ann@b.org"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn headings_and_numbers_are_not_files() {
        assert_eq!(files("see #notes.md, #docs/ and #**/*.rs."), ["notes.md", "docs/", "**/*.rs"]);
        assert_eq!(files("# Title, issue #12, C#.net and a#b.c"), Vec::<String>::new());
        assert_eq!(files("读取#报告.txt，谢谢"), ["报告.txt"]);
        assert_eq!(files("#../up/file.txt (#a.png)"), ["../up/file.txt", "a.png"]);
    }

    #[test]
    fn names_with_spaces_are_quoted() {
        assert_eq!(
            files("see #\"docs/b c.md\", #\"报告 一.txt\" and #d.md"),
            ["docs/b c.md", "报告 一.txt", "d.md"]
        );
        assert_eq!(files("#\"a #b.md\""), ["a #b.md"], "quoted text is one name");
        assert_eq!(files("#\"\" #\"half a name.md and #e.md"), ["e.md"]);
    }
}
