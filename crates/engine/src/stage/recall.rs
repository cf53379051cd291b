//! `recall`: appends to the newest user message passages of messages that are no longer shown.
//!
//! The caller searches for them (`plan::Input::found_passages`). If it does not, the stage searches
//! the history for the messages that share the rarest words with the newest one.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Draft, Item, Passage, Search, Stage};
use crate::history::{AtomKind, History, View};
use crate::message::{Body, Form, Part, Role};
use crate::reason::Reason;
use crate::setting::{Allowed, Key, Size};
use crate::summary::REFERENCE_ONLY;
use crate::tokens::is_cjk;
use crate::truncate;

pub(super) const SPEC: Spec = Spec {
    name: "recall",
    about: "quote passages that are no longer shown and fit the newest user message",
    keys: &[
        Key::new("top", Allowed::Whole(1, 20), "maximum number of passages"),
        Key::new("max", Allowed::Size, "maximum number of tokens of all passages together"),
        Key::new(
            "timeout",
            Allowed::Whole(1, 60_000),
            "maximum number of milliseconds that a call waits for the search; without a result in \
             time nothing is quoted",
        ),
    ],
    build: build::<Recall>,
};

/// Quotes passages that are no longer shown.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recall {
    /// The maximum number of passages.
    pub top: usize,
    /// Maximum number of tokens of all passages.
    pub max: Size,
    /// Maximum number of milliseconds that a call waits for the search.
    pub timeout: u64,
}

impl Default for Recall {
    fn default() -> Self {
        Self { top: 3, max: Size::percent(5), timeout: 50 }
    }
}

const PASSAGE_CHARS: usize = 400;

impl Stage for Recall {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let newest_user =
            arrival.history.latest_user().and_then(|message| arrival.history.atom_of(message));
        if newest_user != Some(item.atom) {
            return;
        }
        let max = arrival.marks.tokens(self.max);
        if let Some(found) = arrival.found_passages {
            self.append(item, arrival.history, found.iter().copied(), max);
        } else {
            let found = self.by_words(arrival.history, item.atom, arrival.unsent);
            self.append(item, arrival.history, found.iter(), max);
        }
    }

    fn search(&self) -> Option<Search> {
        Some(Search { passages: self.top, timeout: Duration::from_millis(self.timeout) })
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        let newest_user =
            draft.history.latest_user().and_then(|message| draft.history.atom_of(message));
        let Some(at) = newest_user.filter(|&at| draft.kind(at) == AtomKind::User) else { return };
        let found = match draft.found_passages {
            Some(found) => found.to_vec(),
            None => {
                let hidden = (draft.history.system_prefix()..at)
                    .filter(|&atom| draft.kind(atom) != AtomKind::System && !draft.is_kept(atom));
                self.by_words(draft.history, at, &hidden.collect::<Vec<_>>())
            }
        };
        let hidden: Vec<&Passage> = found.iter().filter(|passage| !draft.shows(passage)).collect();
        let max = draft.marks.tokens(self.max);
        let quoted = draft
            .change(at, |item, history| self.append(item, history, hidden.iter().copied(), max));
        // A summary covers the whole messages, of which only passages are quoted.
        if draft.summary_settings.is_some() {
            return;
        }
        for message in quoted.unwrap_or_default() {
            if let Some(atom) = draft.history.atom_of(message) {
                draft.recall(atom, Reason::Quoted);
            }
        }
    }
}

impl Recall {
    /// Returns the passages that share the rarest words with the message `query`, best first.
    fn by_words(&self, history: &History, query: usize, hidden: &[usize]) -> Vec<Passage> {
        let asked: FxHashSet<String> =
            history.atom_messages(query).flat_map(|message| words(&message.text())).collect();
        let texts: Vec<(usize, String)> =
            hidden.iter().map(|&atom| (atom, text_of(history, atom))).collect();
        let mut holders: FxHashMap<&str, f64> = FxHashMap::default();
        let found: Vec<FxHashSet<String>> = texts
            .iter()
            .map(|(_, text)| words(text).filter(|word| asked.contains(word)).collect())
            .collect();
        for word in found.iter().flatten() {
            *holders.entry(word).or_default() += 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of messages")]
        let all = texts.len() as f64 + 1.0;
        let score = |set: &FxHashSet<String>| {
            set.iter()
                .filter_map(|word| holders.get(word.as_str()))
                .map(|n| (all / n).ln())
                .sum::<f64>()
        };
        let mut ranked: Vec<(f64, usize, &str)> = texts
            .iter()
            .zip(&found)
            .map(|((atom, text), set)| (score(set), *atom, text.as_str()))
            .filter(|(score, ..)| *score > 0.5)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        ranked
            .into_iter()
            .take(self.top)
            .filter_map(|(_, atom, text)| passage(history, atom, text, &asked))
            .collect()
    }

    /// Appends passages to a user message, as many as fit. Returns the messages that were quoted.
    fn append<'a>(
        &self,
        item: &mut Item,
        history: &History,
        passages: impl Iterator<Item = &'a Passage>,
        max: usize,
    ) -> Vec<usize> {
        let mut text = format!("\n\n[Quoted from earlier in this conversation; {REFERENCE_ONLY}]");
        let mut quoted = Vec::new();
        for passage in passages {
            let more = quotation(history, passage);
            let fits = || history.counter().text(&text) + history.counter().text(&more) <= max;
            if quoted.len() < self.top && !text.contains(&more) && fits() {
                text.push_str(&more);
                quoted.push(passage.message);
            }
        }
        let mut views = item.views(history);
        let last = views.pop().and_then(|view| view.message(history).cloned());
        let Some(mut message) = last.filter(|_| !quoted.is_empty()) else { return Vec::new() };
        message.form = Form::Changed;
        message.parts.push(Part::text(text));
        views.push(View::made(message));
        item.tokens = views.iter().map(|view| view.tokens(history)).sum();
        item.views = Some(views);
        item.reasons = match quoted.len() {
            1 => Reason::RecalledOne.into(),
            count => Reason::Recalled { passages: count }.into(),
        };
        quoted
    }
}

/// Returns a passage as it is quoted. Every line is marked, so that no text can end the quotation.
fn quotation(history: &History, passage: &Passage) -> String {
    let who = match passage.role {
        Role::Tool => "tool result",
        role => role.name(),
    };
    let text = passage.text.trim().lines().collect::<Vec<_>>().join("\n> ");
    let number = history.number(passage.message).unwrap_or(passage.message + 1);
    format!("\n> message {number}, {who}: {text}")
}

fn text_of(history: &History, atom: usize) -> String {
    let mut text = String::new();
    for message in history.atom_messages(atom) {
        for part in &message.parts {
            match &part.body {
                Body::Text(own) => text.push_str(own),
                Body::Result(result) => text.push_str(&result.text()),
                Body::Call(call) => text.push_str(&call.arguments),
                _ => continue,
            }
            text.push('\n');
        }
    }
    text
}

/// Returns the lower-case words of four letters or more, and the pairs of CJK characters.
fn words(text: &str) -> impl Iterator<Item = String> + use<> {
    let latin = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= 4 && !word.chars().any(is_cjk));
    let chars: Vec<char> = text.chars().filter(|&c| is_cjk(c)).collect();
    let pairs: Vec<String> = chars.windows(2).map(|pair| pair.iter().collect()).collect();
    latin.map(str::to_lowercase).chain(pairs).collect::<Vec<_>>().into_iter()
}

/// Returns the lines of an atom around the first shared word.
fn passage(
    history: &History,
    atom: usize,
    text: &str,
    asked: &FxHashSet<String>,
) -> Option<Passage> {
    let lines: Vec<&str> = text.lines().collect();
    let at =
        lines.iter().position(|line| words(line).any(|word| asked.contains(&word))).unwrap_or(0);
    let near =
        lines.iter().skip(at.saturating_sub(1)).take(6).copied().collect::<Vec<_>>().join(" ");
    let message = *history.atom(atom)?.messages.first()?;
    let role = history.message(message)?.role;
    Some(Passage { message, role, text: truncate::line(&near, PASSAGE_CHARS) })
}
