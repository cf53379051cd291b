//! The summary block: the text that replaces folded messages. It holds a digest or a model's
//! summary, open todos and approvals, and the ledger of values. It is marked as reference material,
//! so it never has the authority of the user or of the system prompt.

use super::listed_values::list_values;
use super::stable_ledger::StableLedger;
use crate::draft::{Draft, Item, Slot, Treatment};
use crate::history::{AtomKind, History, View};
use crate::message::{Form, Message, Part, Role};
use crate::reason::Reason;
use crate::reduce;
use crate::summary::{Language, Placement, REFERENCE_ONLY, Schema, Summarise, Summary, digest};
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
    question: String,
    /// The values in its ledger, most likely needed first.
    pub(crate) listed: Vec<String>,
    pub(crate) reason: String,
    /// Whether a model's summary covers all of its messages.
    pub(crate) is_summarised: bool,
}

const LEDGER_HEADING: &str =
    "\n\nValues from these messages, verbatim, most likely needed first:\n";

/// The tokens reserved for the heading of the ledger and the end of the block.
const FRAME_TOKENS: usize = 24;

/// A block with fewer tokens than this is useless.
const MIN_TOKENS: usize = 48;

impl SummaryBlock {
    /// Writes the block for what the draft dropped, within `budget` tokens. Returns `None` if there
    /// is nothing to write or the budget is too small.
    pub(crate) fn write(
        draft: &Draft<'_>,
        settings: &Summarise,
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
        let replaced: usize = draft.items().iter().map(|item| left_out(draft, item)).sum();
        let budget = budget.min(replaced / 2);
        if budget < MIN_TOKENS {
            return None;
        }
        let head = header(settings, draft.history, &sources);
        let summary = best_summary(supplied, &sources);
        let question = match settings.placement {
            Placement::Mock => {
                let language = Language::of_history(draft.history);
                Schema::of(settings, language).question.clone()
            }
            Placement::Prefix | Placement::Own | Placement::System => String::new(),
        };
        let tokens = budget.saturating_sub(draft.history.counter().text(&question));
        let budget = BlockBudget::new(draft, settings, &head, tokens, summary.is_some());
        let BlockText { text: body, open } =
            BlockText::write(draft, &atoms, summary, lines, &budget);
        let counter = draft.history.counter();
        let body_tokens = counter.text(&body);
        let left = budget.available.saturating_sub(body_tokens + counter.text(&open));
        let (stable, ledger) =
            StableLedger::split(draft, settings, earlier, &body, budget.ledger.min(left));
        let has_values = stable.is_some() || !ledger.text.is_empty();
        if !has_values && open.is_empty() && (body.is_empty() || atoms.is_empty()) {
            return None;
        }
        let ledger_tokens = counter.text(&ledger.text);
        let reason =
            Reason::replaced(sources.len(), summary.is_some(), body_tokens, ledger_tokens).into();
        let ledger_section = match ledger.text.is_empty() {
            true => String::new(),
            false => format!("{LEDGER_HEADING}{}", ledger.text),
        };
        let is_summarised = summary.is_some_and(|summary| summary.sources == sources);
        Some(Self {
            atoms,
            sources,
            stable,
            text: format!("{head}\n{body}{open}{ledger_section}\n---"),
            placement: settings.placement,
            question,
            listed: ledger.values,
            reason,
            is_summarised,
        })
    }

    /// Returns the messages that carry the block if it is not joined to a user message.
    pub(crate) fn views(&self) -> Vec<View> {
        let block = |role| View::made(Message::new(role, vec![Part::text(&self.text)]));
        match self.placement {
            Placement::Mock => {
                vec![View::made(Message::user(&self.question)), block(Role::Assistant)]
            }
            Placement::Prefix | Placement::Own => vec![block(Role::User)],
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
        settings: &Summarise,
        head: &str,
        tokens: usize,
        has_model_summary: bool,
    ) -> Self {
        let counter = draft.history.counter();
        let available = tokens.saturating_sub(counter.text(head) + FRAME_TOKENS);
        // A model's summary may have lost values, so it always gets a ledger.
        let min_ledger = if has_model_summary { available / 6 } else { 0 };
        let ledger = draft.ledger_tokens(settings).max(min_ledger).min(available);
        // In a small block, text and ledger share what both want.
        let text = draft.marks.tokens(settings.max).min(available - ledger / 2);
        Self { available, text, ledger }
    }
}

/// The part of a block before the ledger.
struct BlockText {
    /// The digest or the model's summary.
    text: String,
    /// The open todos and approvals that the text does not contain.
    open: String,
}

impl BlockText {
    /// Writes the body. It may use what the ledger does not need: if there are few values to list,
    /// more of what the user wrote can stay.
    fn write(
        draft: &Draft<'_>,
        atoms: &[usize],
        summary: Option<&Summary>,
        lines: &[String],
        budget: &BlockBudget,
    ) -> Self {
        let counter = draft.history.counter();
        let write = |extra: usize| match summary {
            Some(summary) => with_digest_of_rest(draft, summary, atoms, budget.text + extra),
            None => digest::write(draft.history, atoms, budget.text, extra),
        };
        let first = write(0);
        let open_budget = budget.available.saturating_sub(counter.text(&first)) / 2;
        let open = missing_lines(lines, &first, counter, open_budget);
        let ledger = list_values(draft, &first, budget.ledger).text;
        let used = budget.text + counter.text(&ledger) + counter.text(&open);
        let unused = budget.available.saturating_sub(used);
        let text = if unused > MIN_TOKENS { write(unused) } else { first };
        Self { text, open }
    }
}

/// Returns the lines that `text` does not contain, as many as fit.
fn missing_lines(lines: &[String], text: &str, counter: &Counter, budget: usize) -> String {
    let mut open = String::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty() && !text.contains(line.as_str()))
    {
        let heading = if open.is_empty() { "\n\nOpen, verbatim:" } else { "" };
        let longer = format!("{open}{heading}\n- {line}");
        if counter.text(&longer) <= budget {
            open = longer;
        }
    }
    open
}

/// Returns the summary that covers most of these messages and no others. Empty summaries are
/// ignored.
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
    let text = reduce::clip_text(&quoted, history.counter(), budget).unwrap_or(quoted);
    let spent = history.counter().text(&text);
    let covered = |at: &usize| {
        history
            .atom(*at)
            .is_some_and(|atom| atom.messages.iter().all(|m| summary.sources.contains(m)))
    };
    let rest: Vec<usize> = atoms.iter().copied().filter(|at| !covered(at)).collect();
    let digest = digest::write(history, &rest, budget.saturating_sub(spent), 0);
    if digest.is_empty() { text } else { format!("{text}\n{digest}") }
}

/// Returns a text in which no line looks like the end of the block.
fn quoted(text: &str) -> String {
    let lines = text.trim().lines().map(|line| if line.trim() == "---" { "- - -" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the first lines of the block.
fn header(settings: &Summarise, history: &History, sources: &[usize]) -> String {
    let number = |index: &usize| history.number(*index).unwrap_or_default();
    let about = match sources {
        [] => "values from the texts truncated below".to_owned(),
        [only] => format!("summary of message {}, which is no longer shown", number(only)),
        [first, .., last] => format!(
            "summary of {} messages, {} to {}, that are no longer shown",
            sources.len(),
            number(first),
            number(last)
        ),
    };
    format!("{}\n[{about}; {REFERENCE_ONLY}]", settings.heading)
}

/// Returns whether a stage dropped the atom, although it could be sent.
fn is_folded(draft: &Draft<'_>, item: &Item) -> bool {
    item.treatment == Treatment::Omitted
        && draft
            .history
            .atom(item.atom)
            .is_some_and(|atom| atom.is_sendable() && atom.kind != AtomKind::System)
}

/// Returns the tokens of an atom that are not sent.
fn left_out(draft: &Draft<'_>, item: &Item) -> usize {
    let atom = draft.history.atom(item.atom).filter(|atom| atom.is_sendable());
    atom.filter(|atom| atom.kind != AtomKind::System)
        .map_or(0, |atom| atom.tokens.saturating_sub(item.tokens))
}

fn sources_of(draft: &Draft<'_>, atoms: &[usize]) -> Vec<usize> {
    let mut sources: Vec<usize> = atoms
        .iter()
        .filter_map(|&at| draft.history.atom(at))
        .flat_map(|atom| atom.messages.iter().copied())
        .collect();
    sources.sort_unstable();
    sources
}
