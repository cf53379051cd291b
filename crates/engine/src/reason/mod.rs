//! The reasons for what a plan does, as data: a program can show them in another language. Stages
//! of other crates may use any text.

mod old_text;
mod reasons;

pub use reasons::Reasons;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Writes the singular where a text of a reason counts one: `the last 1 turn`.
fn in_singular(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        let (before, word) = (words.get(at - 1).copied(), words.get(at).copied());
        let unit = word.and_then(|word| UNITS.iter().find(|unit| word == **unit));
        if let (Some("1"), Some(unit), Some(place)) = (before, unit, words.get_mut(at)) {
            *place = unit.strip_suffix('s').unwrap_or(unit);
        }
    }
    words.join(" ")
}

/// The units in the texts of reasons.
const UNITS: [&str; 5] = ["messages", "steps", "tokens", "turns", "results"];

/// Defines the reasons: each has an id, an English text, and the numbers in it.
macro_rules! reasons {
    ($($name:ident $({ $($field:ident),+ })? = $id:literal: $text:literal;)+) => {
        /// A reason for a fold, or for the treatment of a message. [`Reason::id`] names it; the
        /// display is the text.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "the texts below document them")]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $text] #[serde(rename = $id)] $name $({ $($field: usize),+ })?,)+
            /// A text of the user, of a model, or of a stage of another crate.
            #[serde(rename = "other")]
            Other(String),
        }

        impl fmt::Display for Reason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        f.write_str(&in_singular(&format!($text)))
                    })+
                    Self::Other(text) => f.write_str(text),
                }
            }
        }

        impl Reason {
            /// Returns its name, which does not change when the text does. It is also the name in
            /// stored data.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self {
                    $(Self::$name $({ $($field: _),+ })? => $id,)+
                    Self::Other(_) => "other",
                }
            }

            /// Returns the numbers in its text, by name.
            #[must_use]
            pub fn numbers(&self) -> Vec<(&'static str, usize)> {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        vec![$($((stringify!($field), *$field)),+)?]
                    })+
                    Self::Other(_) => Vec::new(),
                }
            }

            /// Returns the reason that has this text. Only [`old_text`] needs it.
            fn of_old_text(text: &str) -> Option<Self> {
                $(if let Some(_numbers) = old_text::numbers_in($text, text) {
                    let mut _next = _numbers.into_iter();
                    return Some(Self::$name $({ $($field: _next.next()?),+ })?);
                })+
                None
            }

            /// The ids of all reasons that have a text of their own, for catalogs of texts.
            pub const IDS: &'static [&'static str] = &[$($id),+];

            #[cfg(test)]
            const TEXTS: &'static [&'static str] = &[$($text),+];
        }
    };
}

reasons! {
    OverWindow { tokens, window } = "over-window":
        "the context has {tokens} tokens, more than the {window} available for the prompt";
    OverMargin { tokens, window, margin } = "over-margin":
        "the context has {tokens} tokens, more than the {window} available for the prompt less a \
         margin of {margin}";
    OverHighMarkCold { tokens, high } = "over-high-mark-cold":
        "the context has {tokens} tokens, over the high mark of {high}; the cache is cold, so a \
         fold costs little now";
    OverHighMark { tokens, high } = "over-high-mark":
        "the context has {tokens} tokens, over the high mark of {high}";
    ManyMessages { messages, max } = "many-messages":
        "{messages} messages, and the limit is {max}";
    ManyTurns { turns, max } = "many-turns": "{turns} turns, and the limit is {max}";
    EveryCall = "every-call": "the policy considers a fold with every call";
    EveryTurn = "every-turn": "the policy considers a fold at every turn";
    Requested = "requested": "the user asked for it";
    RequestedByModel = "requested-by-model": "requested by the model";
    OtherProgram = "other-program": "compacted by the original program";
    SummaryReady = "summary-ready": "the background summary is ready";
    Restarted = "restarted": "the conversation continues after a restart";
    Rejected { tokens, window } = "rejected":
        "the provider rejected {tokens} tokens; assuming a window of {window} tokens";
    Folded = "folded": "folded";
    FoldedHarder = "folded-harder": "folded; long texts were truncated and few turns kept";
    FoldedMost = "folded-most": "folded to the task, pins, summary and newest message";
    FoldedTurns = "folded-turns": "the latest turns stay, as request and answer";
    NotEnough = "not-enough": "earlier folds did not free enough, so";
    SystemPrompt = "system-prompt": "system prompt";
    WithSummary = "with-summary": "with the summary in front of it";
    ListedAgain = "listed-again":
        "values listed by an earlier fold, unchanged so that they stay cached";
    ListedForLater = "listed-for-later":
        "values that later folds list again, unchanged so that they stay cached";
    Task = "task": "the task";
    TaskTruncated = "task-truncated": "the task; truncated in the middle";
    Pinned = "pinned": "pinned";
    PinnedTruncated = "pinned-truncated":
        "pinned, but truncated: the context does not fit into the window";
    OpensTurn = "opens-turn": "opens the oldest turn that is kept in part";
    OpensTurnTruncated = "opens-turn-truncated":
        "opens the oldest turn that is kept in part; truncated in the middle";
    OverLowMark = "over-low-mark": "over the low mark";
    OlderThanTokens = "older-than-tokens": "older than the newest tokens that fit";
    OlderThanTurns { turns } = "older-than-turns": "older than the last {turns} turns";
    OlderThanRestart { turns } = "older-than-restart":
        "older than the last {turns} turns before the restart";
    OlderThanSteps { steps } = "older-than-steps": "older than the last {steps} steps";
    OlderThanMessages { messages } = "older-than-messages":
        "older than the last {messages} messages";
    StepsTooLong { steps, keep } = "steps-too-long":
        "the last {steps} steps are too long: {keep} of them stay";
    PartOfStep = "part-of-step": "only part of this step fits; truncated in the middle";
    OnlyUser = "only-user": "only messages of the user stay";
    OnlyNewest = "only-newest": "only the task, pins and the newest message stay";
    OldestHalf = "oldest-half": "the oldest half of the turns was dropped";
    RunningTurn = "running-turn": "the running turn is too long: its older steps were dropped";
    EarlierFold = "earlier-fold": "an earlier fold dropped it";
    StepOfTurn = "step-of-turn": "a step of an earlier turn; its request and answer stay";
    TextOfStep = "text-of-step": "the text of a step of an earlier turn, without its calls";
    DoesNotFit = "does-not-fit": "the context does not fit into the window";
    DoesNotFitTurns { turns } = "does-not-fit-turns":
        "the context does not fit into the window: only the last {turns} turns stay";
    DoesNotFitSystem = "does-not-fit-system":
        "the context does not fit into the window; only the system prompt stays";
    DoesNotFitTruncated = "does-not-fit-truncated":
        "truncated, because the context does not fit into the window";
    OverLimitTruncated { tokens } = "over-limit-truncated":
        "truncated, because the context is over the policy's limit of {tokens} tokens";
    TooLarge = "too-large": "larger than the window; truncated in the middle";
    MostOfWindow = "most-of-window": "takes most of the window; truncated in the middle";
    NoResult = "no-result": "a call in it has no result";
    Interrupted = "interrupted": "a call without a result is answered as interrupted";
    LateResult = "late-result": "arrived after its call was answered as interrupted";
    LatePart = "late-part": "arrived after the rest of its step was sent";
    Repaired = "repaired": "repaired, see the warnings";
    Orphan = "orphan": "a result without a matching call";
    OnlyThinking = "only-thinking": "thinking without an answer";
    Empty = "empty": "an empty message";
    Unread = "unread": "older than the messages that a fold reads";
    NoThinking = "no-thinking": "without its thinking";
    Preview = "preview": "a long result as a preview";
    Cleared = "cleared": "an old tool result was cleared";
    ImageSeen = "image-seen": "an image that was already seen was removed";
    ResultsTruncated { characters } = "results-truncated":
        "results over {characters} characters were truncated";
    OutputTruncated { tokens } = "output-truncated":
        "an output over {tokens} tokens was truncated in the middle";
    SameAs { message } = "same-as": "the same as message {message}";
    SameAsPrompt = "same-as-prompt": "the same as the system prompt";
    Quoted = "quoted": "quoted in the newest user message";
    RecalledOne = "recalled-one": "with 1 passage recalled";
    Recalled { passages } = "recalled": "with {passages} passages recalled";
    LedgerOnly { ledger } = "ledger-only":
        "a ledger of {ledger} tokens for texts that were truncated";
    LedgerOfOne { ledger } = "ledger-of-one": "1 message became a ledger of {ledger} tokens";
    Ledger { messages, ledger } = "ledger":
        "{messages} messages became a ledger of {ledger} tokens";
    DigestOfOne { tokens } = "digest-of-one": "1 message became a digest of {tokens} tokens";
    DigestOfOneLedger { tokens, ledger } = "digest-of-one-ledger":
        "1 message became a digest of {tokens} tokens and a ledger of {ledger}";
    Digest { messages, tokens } = "digest":
        "{messages} messages became a digest of {tokens} tokens";
    DigestLedger { messages, tokens, ledger } = "digest-ledger":
        "{messages} messages became a digest of {tokens} tokens and a ledger of {ledger}";
    SummaryOfOne { tokens } = "summary-of-one": "1 message became a summary of {tokens} tokens";
    SummaryOfOneLedger { tokens, ledger } = "summary-of-one-ledger":
        "1 message became a summary of {tokens} tokens and a ledger of {ledger}";
    Summary { messages, tokens } = "summary":
        "{messages} messages became a summary of {tokens} tokens";
    SummaryLedger { messages, tokens, ledger } = "summary-ledger":
        "{messages} messages became a summary of {tokens} tokens and a ledger of {ledger}";
}

impl Reason {
    /// Returns whether the next reason states the consequence of this one. If so, a colon separates
    /// them.
    #[must_use]
    pub const fn leads_to_next(&self) -> bool {
        matches!(
            self,
            Self::Rejected { .. } | Self::Restarted | Self::NotEnough | Self::RequestedByModel
        )
    }

    /// Returns the reason for messages that are replaced by a ledger and by a digest or a model's
    /// summary of `tokens` tokens. A small block may have space for the ledger only.
    pub(crate) const fn replaced(
        messages: usize,
        is_summary: bool,
        tokens: usize,
        ledger: usize,
    ) -> Self {
        match (messages, is_summary, ledger) {
            (0, _, ledger) => Self::LedgerOnly { ledger },
            (1, _, 1..) if tokens == 0 => Self::LedgerOfOne { ledger },
            (messages, _, 1..) if tokens == 0 => Self::Ledger { messages, ledger },
            (1, false, 0) => Self::DigestOfOne { tokens },
            (1, false, ledger) => Self::DigestOfOneLedger { tokens, ledger },
            (1, true, 0) => Self::SummaryOfOne { tokens },
            (1, true, ledger) => Self::SummaryOfOneLedger { tokens, ledger },
            (messages, false, 0) => Self::Digest { messages, tokens },
            (messages, false, ledger) => Self::DigestLedger { messages, tokens, ledger },
            (messages, true, 0) => Self::Summary { messages, tokens },
            (messages, true, ledger) => Self::SummaryLedger { messages, tokens, ledger },
        }
    }
}

/// A text that has no translation.
impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

/// A text that has no translation.
impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_a_digest_is_a_ledger() {
        assert_eq!(Reason::replaced(3, false, 0, 7), Reason::Ledger { messages: 3, ledger: 7 });
        assert_eq!(Reason::replaced(1, false, 0, 7), Reason::LedgerOfOne { ledger: 7 });
    }

    #[test]
    fn ids_are_different() {
        let mut ids = Reason::IDS.to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Reason::IDS.len());
    }
}
