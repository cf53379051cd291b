//! The reasons for what a plan does. A reason is stored and displayed as English text;
//! [`Reason::read`] finds the reason of a text again, so that a program can show it in another
//! language. Stages of other crates may use any text.

use std::fmt;

/// Defines the reasons: each has an id, an English text, and the numbers in it.
macro_rules! reasons {
    ($($name:ident $({ $($field:ident),+ })? = $id:literal: $text:literal;)+) => {
        /// A reason for a fold, or for the treatment of a message. [`Reason::id`] names it; the
        /// display is the text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the texts below document them")]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $text] $name $({ $($field: usize),+ })?,)+
        }

        impl fmt::Display for Reason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? => write!(f, $text),)+
                }
            }
        }

        impl Reason {
            /// Returns its name, which does not change when the text does.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self {
                    $(Self::$name $({ $($field: _),+ })? => $id,)+
                }
            }

            /// Returns the numbers in its text, by name.
            #[must_use]
            pub fn numbers(&self) -> Vec<(&'static str, usize)> {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        vec![$($((stringify!($field), *$field)),+)?]
                    })+
                }
            }

            /// Returns the reason that has this text.
            #[must_use]
            pub fn read(text: &str) -> Option<Self> {
                $(if let Some(_numbers) = numbers_in($text, text) {
                    let mut _next = _numbers.into_iter();
                    return Some(Self::$name $({ $($field: _next.next()?),+ })?);
                })+
                None
            }

            /// The ids of all reasons, for catalogs of texts.
            pub const IDS: &'static [&'static str] = &[$($id),+];
        }
    };
}

reasons! {
    OverWindow { tokens, window } = "over-window":
        "{tokens} tokens are more than the {window} available for the prompt";
    OverHighMarkCold { tokens, high } = "over-high-mark-cold":
        "{tokens} tokens are over the high mark of {high}; the cache is cold, so it costs little \
         now";
    OverHighMark { tokens, high } = "over-high-mark":
        "{tokens} tokens are over the high mark of {high}";
    ManyMessages { messages, max } = "many-messages": "{messages} messages are more than {max}";
    ManyTurns { turns, max } = "many-turns": "{turns} turns are more than {max}";
    EveryTurn = "every-turn": "the policy considers a fold at every turn";
    Requested = "requested": "the user asked for it";
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
    TooLarge = "too-large": "larger than the window; truncated in the middle";
    NoResult = "no-result": "a call in it has no result";
    Interrupted = "interrupted": "a call without a result is answered as interrupted";
    LateResult = "late-result": "arrived after its call was answered as interrupted";
    LatePart = "late-part": "arrived after the rest of its step was sent";
    Repaired = "repaired": "repaired, see the warnings";
    Orphan = "orphan": "a result without a matching call";
    OnlyThinking = "only-thinking": "thinking without an answer";
    Empty = "empty": "an empty message";
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
        "a ledger of {ledger} tokens for the texts truncated below";
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
    /// Returns the reason of messages that a digest or a model's summary of `tokens` tokens and a
    /// ledger replace. A small block may have space for the ledger only.
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

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.to_string()
    }
}

/// Returns the numbers of a text that follows a template such as `{turns} turns`.
fn numbers_in(template: &str, text: &str) -> Option<Vec<usize>> {
    let mut rest = text;
    let mut numbers = Vec::new();
    for (at, part) in template.split('{').enumerate() {
        let literal = if at == 0 {
            part
        } else {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at_checked(digits)?;
            numbers.push(number.parse().ok()?);
            rest = after;
            part.split_once('}')?.1
        };
        rest = rest.strip_prefix(literal)?;
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_found_by_its_text() {
        let reasons = [
            Reason::OverWindow { tokens: 154_371, window: 8_000 },
            Reason::OverHighMark { tokens: 12, high: 11 },
            Reason::OverHighMarkCold { tokens: 12, high: 11 },
            Reason::Task,
            Reason::TaskTruncated,
            Reason::replaced(3, false, 4, 5),
            Reason::replaced(1, true, 4, 0),
            Reason::replaced(0, true, 4, 7),
            Reason::replaced(1, false, 0, 7),
            Reason::replaced(3, false, 0, 7),
        ];
        for reason in reasons {
            assert_eq!(Reason::read(&reason.to_string()), Some(reason));
        }
        assert_eq!(Reason::read("a reason of someone else's stage"), None);
        assert_eq!(Reason::read("older than the last many turns"), None);
    }

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
