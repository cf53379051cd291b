//! The summary block: the text that replaces folded messages. It holds a digest or a model's
//! summary, open todos and approvals, and the ledger of values. It is marked as reference material,
//! so it never has the authority of the user or of the system prompt.

use super::listed_values::{Values, texts_of};
use super::stable_ledger::StableLedger;
use crate::draft::{Draft, Item, Slot, Treatment};
use crate::history::{Atom, AtomKind, View};
use crate::message::{Form, Message, Part, Role};
use crate::reason::{Reason, Reasons};
use crate::reduce;
use crate::summary::{Frame, Language, Placement, Schema, Summarize, Summary, digest};
use crate::tokens::Counter;

/// The text that replaces folded messages.
#[derive(Clone, Debug)]
pub(crate) struct SummaryBlock {
    /// The atoms it replaces.
    pub(crate) atoms: Vec<usize>,
    /// The messages it replaces.
    pub(crate) sources: Vec<usize>,
    /// The part of its ledger that was sent before, or that later folds will send again.
    pub(crate) stable: Option<StableLedger>,
    pub(crate) text: String,
    pub(crate) placement: Placement,
    /// The atom that the block comes before; `None` for the first kept one.
    pub(crate) before_atom: Option<usize>,
    /// The text of the mock user message, for [`Placement::Mock`].
    pub(crate) question: String,
    /// The values in its ledger, most likely needed first.
    pub(crate) listed: Vec<String>,
    pub(crate) reasons: Reasons,
    /// Whether a model's summary covers all of its messages.
    pub(crate) has_full_summary: bool,
}

/// The tokens reserved for the heading of the ledger and the end of the block.
const FRAME_TOKENS: usize = 24;

/// A block with fewer tokens than this is useless.
const MIN_BLOCK_TOKENS: usize = 48;

/// If at least this many tokens are left after the ledger, the text is written again to use them.
const MIN_EXTRA_TOKENS: usize = 48;

/// Next to a model's summary, the ledger gets at least this part of the block: a sixth.
const MIN_LEDGER_PART: usize = 6;

impl SummaryBlock {
    /// Writes the block for what the draft dropped, within `budget` tokens. Returns `None` if there
    /// is nothing to write or the budget is too small.
    pub(crate) fn write(
        draft: &Draft<'_>,
        settings: &Summarize,
        supplied: &[Summary],
        lines: &[String],
        earlier: Option<&Slot>,
        budget: usize,
    ) -> Option<Self> {
        let items = draft.items().iter();
        let atoms: Vec<usize> =
            items.filter(|item| is_folded(draft, item)).map(|item| item.atom).collect();
        let sources = sources_of(draft, &atoms);
        // A block of more than half the size of what it replaces is not worth it.
        let replaced: usize = draft.items().iter().map(|item| unsent_tokens(draft, item)).sum();
        let max_tokens = budget.min(replaced / 2);
        if max_tokens < MIN_BLOCK_TOKENS {
            return None;
        }
        let frame = Frame::of(draft.history);
        let full_header = frame.header(settings, draft.history, &sources, false);
        let summary = best_summary(supplied, &sources);
        let question = match settings.placement {
            Placement::Mock => {
                let language = Language::of_history(draft.history);
                Schema::of(settings, language).question.clone()
            }
            Placement::Prefix | Placement::Own | Placement::Middle | Placement::System => {
                String::new()
            }
        };
        let tokens = max_tokens.saturating_sub(draft.history.counter().text(&question));
        let parts = BlockBudget::new(draft, settings, &full_header, tokens, summary.is_some());
        let kept = texts_of(draft);
        let values = Values::new(draft, &kept);
        let BlockText { text, kept_lines } =
            BlockText::write(draft, &atoms, summary, lines, &parts, &values);
        let counter = draft.history.counter();
        let text_tokens = counter.text(&text);
        let left = parts.available.saturating_sub(text_tokens + counter.text(&kept_lines));
        let (stable, ledger) = StableLedger::write_or_reuse(
            draft,
            settings,
            &values,
            earlier,
            &text,
            parts.ledger.min(left),
        );
        let has_values = stable.is_some() || !ledger.text.is_empty();
        if !has_values && kept_lines.is_empty() && (text.is_empty() || atoms.is_empty()) {
            return None;
        }
        let ledger_tokens = counter.text(&ledger.text);
        let reason = Reason::replaced(sources.len(), summary.is_some(), text_tokens, ledger_tokens);
        let ledger_section = if ledger.text.is_empty() {
            String::new()
        } else {
            format!("\n\n{}\n{}", frame.ledger, ledger.text)
        };
        let content = format!("{text}{kept_lines}{ledger_section}");
        let header = frame.header(settings, draft.history, &sources, text.is_empty());
        let has_full_summary = summary.is_some_and(|summary| summary.sources == sources);
        Some(Self {
            atoms,
            sources,
            stable,
            text: format!("{header}\n{}\n---", content.trim_start_matches('\n')),
            placement: settings.placement,
            before_atom: draft.trim_boundary.filter(|_| settings.placement == Placement::Middle),
            question,
            listed: ledger.values,
            reasons: reason.into(),
            has_full_summary,
        })
    }

    /// Returns the messages that carry the block if it is not joined to a user message.
    pub(crate) fn views(&self) -> Vec<View> {
        let block = |role| View::made(Message::new(role, vec![Part::text(&self.text)]));
        match self.placement {
            Placement::Mock => {
                vec![View::made(Message::user(&self.question)), block(Role::Assistant)]
            }
            Placement::Prefix | Placement::Own | Placement::Middle => vec![block(Role::User)],
            Placement::System => vec![block(Role::System)],
        }
    }

    /// Returns a user message with the block in front of its text.
    pub(crate) fn prepended_to(&self, message: &Message) -> Message {
        let mut joined = message.clone();
        joined.form = Form::Changed;
        joined.parts.insert(0, Part::text(format!("{}\n\n", self.text)));
        joined
    }
}

/// The tokens that the parts of a block may take.
struct BlockBudget {
    /// All parts together, without the heading and the frame.
    available: usize,
    /// The digest or the model's summary.
    text: usize,
    ledger: usize,
}

impl BlockBudget {
    fn new(
        draft: &Draft<'_>,
        settings: &Summarize,
        header: &str,
        tokens: usize,
        has_model_summary: bool,
    ) -> Self {
        let counter = draft.history.counter();
        let available = tokens.saturating_sub(counter.text(header) + FRAME_TOKENS);
        // A model's summary may have lost values, so it always gets a ledger, if only a small one.
        let min_ledger = if has_model_summary { available / MIN_LEDGER_PART } else { 0 };
        let ledger = draft.ledger_tokens(settings).max(min_ledger).min(available);
        // If the block is too small for both, the text may take up to half of the ledger's tokens.
        let text = draft.marks.tokens(settings.max).min(available - ledger / 2);
        Self { available, text, ledger }
    }
}

/// The part of a block before the ledger.
struct BlockText {
    /// The digest or the model's summary.
    text: String,
    /// The lines that every fold keeps and that the text does not contain.
    kept_lines: String,
}

impl BlockText {
    /// Writes the text and the kept lines. The text may use what the ledger does not need: if there
    /// are few values to list, more of what the user wrote can stay.
    fn write(
        draft: &Draft<'_>,
        atoms: &[usize],
        summary: Option<&Summary>,
        lines: &[String],
        budget: &BlockBudget,
        values: &Values<'_>,
    ) -> Self {
        let counter = draft.history.counter();
        let write = |extra: usize| match summary {
            Some(summary) => with_digest_of_rest(draft, summary, atoms, budget.text + extra),
            None => digest::write(draft.history, atoms, budget.text, extra),
        };
        let first = write(0);
        // The other half is for the ledger.
        let lines_budget = budget.available.saturating_sub(counter.text(&first)) / 2;
        let heading = &Frame::of(draft.history).open;
        let kept_lines = missing_lines(heading, lines, &first, counter, lines_budget);
        let ledger = values.list(&first, budget.ledger).text;
        let used = budget.text + counter.text(&ledger) + counter.text(&kept_lines);
        let unused = budget.available.saturating_sub(used);
        let text = if unused > MIN_EXTRA_TOKENS { write(unused) } else { first };
        Self { text, kept_lines }
    }
}

/// Returns the lines that `text` does not contain, as many as fit.
fn missing_lines(
    heading: &str,
    lines: &[String],
    text: &str,
    counter: &Counter,
    budget: usize,
) -> String {
    let mut kept_lines = String::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty() && !text.contains(line.as_str()))
    {
        let start = if kept_lines.is_empty() { format!("\n\n{heading}") } else { String::new() };
        let longer = format!("{kept_lines}{start}\n- {line}");
        if counter.text(&longer) <= budget {
            kept_lines = longer;
        }
    }
    kept_lines
}

/// Of the summaries that cover only these messages, returns the one that covers the largest number.
/// Empty summaries are ignored.
fn best_summary<'a>(supplied: &'a [Summary], sources: &[usize]) -> Option<&'a Summary> {
    let fits = |summary: &&Summary| {
        let covered = summary.sources.iter().all(|source| sources.binary_search(source).is_ok());
        covered && !summary.sources.is_empty() && !summary.text.trim().is_empty()
    };
    supplied.iter().filter(fits).max_by_key(|summary| summary.sources.len())
}

/// Returns a supplied summary, truncated to the budget, and a digest of what it does not cover.
fn with_digest_of_rest(
    draft: &Draft<'_>,
    summary: &Summary,
    atoms: &[usize],
    budget: usize,
) -> String {
    let history = draft.history;
    let quoted = quoted(&summary.text);
    let text = reduce::truncate_text(&quoted, history.counter(), budget).unwrap_or(quoted);
    let spent = history.counter().text(&text);
    let is_covered = |atom: &usize| {
        history
            .atom(*atom)
            .is_some_and(|atom| atom.messages.iter().all(|m| summary.sources.contains(m)))
    };
    let rest: Vec<usize> = atoms.iter().copied().filter(|atom| !is_covered(atom)).collect();
    let digest = digest::write(history, &rest, budget.saturating_sub(spent), 0);
    if digest.is_empty() { text } else { format!("{text}\n{digest}") }
}

/// Returns a text in which no line looks like the end of the block.
fn quoted(text: &str) -> String {
    let lines = text.trim().lines().map(|line| if line.trim() == "---" { "- - -" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns whether the block replaces the atom: it is not sent, although it is a part of the
/// conversation.
fn is_folded(draft: &Draft<'_>, item: &Item) -> bool {
    item.treatment == Treatment::Omitted
        && draft.history.atom(item.atom).is_some_and(belongs_to_conversation)
}

fn belongs_to_conversation(atom: &Atom) -> bool {
    (atom.is_sendable() && atom.kind != AtomKind::System) || atom.kind == AtomKind::Unread
}

/// Returns the tokens of an atom that are not sent.
fn unsent_tokens(draft: &Draft<'_>, item: &Item) -> usize {
    let atom = draft.history.atom(item.atom).filter(|atom| belongs_to_conversation(atom));
    atom.map_or(0, |atom| atom.tokens.saturating_sub(item.tokens))
}

/// Returns the messages of these atoms, in order.
pub(super) fn sources_of(draft: &Draft<'_>, atoms: &[usize]) -> Vec<usize> {
    let mut sources: Vec<usize> = atoms
        .iter()
        .filter_map(|&atom| draft.history.atom(atom))
        .flat_map(|atom| atom.messages.iter().copied())
        .collect();
    sources.sort_unstable();
    sources
}
