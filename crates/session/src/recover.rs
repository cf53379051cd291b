//! Recovers from a failed call. An overflow updates the window and folds harder; a rejected shape
//! is dropped; a transient error is retried, then the next model is called. Every other error goes
//! to the caller, with the provider's own text.

use std::time::Duration;

use waterline::message::{Body, Message, Role};
use waterline::plan::{FoldLevel, Slot};
use waterline::reason::{Reason, Reasons};
use waterline_provider::CallError;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::overflow::Overflow;

use crate::between_calls::Reported;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::notice::RetryReason;
use crate::trace;

/// How often one call is folded again after an overflow: as the policy folds, with long texts
/// truncated and few turns, and to the newest message.
const MAX_OVERFLOWS: usize = 3;

/// The size of the next prompt, in percent of the rejected one, if the provider gives no numbers.
const SHRINK_PERCENT: usize = 60;

/// If the provider reports less than this percentage of the tokens counted for a first prompt, it
/// has truncated the prompt.
const FIRST_PROMPT_PERCENT: usize = 25;

/// If the provider reports less than this percentage of the tokens that a prompt grew by since the
/// previous call, it has truncated the prompt.
const GROWTH_PERCENT: usize = 25;

/// Smaller reports are ignored: they are not about the whole prompt.
const MIN_REPORTED_TOKENS: usize = 1_000;

/// Smaller growth is not significant.
const MIN_GROWTH_TOKENS: usize = 100;

/// The message to a model whose tool call the server could not parse.
const UNPARSED_CALL: &str = "[The server could not parse your last tool call, so it was not run. \
Write each tool call exactly in the required format, with its arguments as one valid JSON object. \
If a long argument is the problem, split the work into several smaller calls.]";

/// The recovery attempts of one call so far.
#[derive(Debug, Default)]
pub(crate) struct RetryState {
    overflows: usize,
    failures: usize,
    /// The number of ephemeral messages before [`UNPARSED_CALL`] was added.
    explained: Option<usize>,
    /// The provider seems to have truncated a prompt.
    truncated: bool,
}

impl LiveSession {
    /// Prepares a retry, or returns the error if there is no way to recover.
    pub(crate) async fn recover(
        &mut self,
        error: CallError,
        retry: &mut RetryState,
        emit: &mut impl FnMut(Event),
    ) -> Result<(), SessionError> {
        if let Some(overflow) = error.overflow() {
            if retry.overflows >= MAX_OVERFLOWS {
                return Err(error.into());
            }
            let why = RetryReason::Failed(error.clone());
            emit(Event::Retry { why, wait: Duration::ZERO });
            let hint = match overflow.window {
                Some(window) => WindowHint::Exact(window),
                None if names_overflow(&error) => WindowHint::Refused,
                None => WindowHint::Unknown,
            };
            return self.fold_harder(overflow, hint, retry).await;
        }
        if self.drop_refused_shape(&error, emit) {
            return Ok(());
        }
        retry.failures += 1;
        // The first retry is the same request: the model may write the call differently by itself.
        if error.is_unparsed_call() && retry.failures > 1 && retry.explained.is_none() {
            retry.explained = Some(self.ephemeral.len());
            self.add_ephemeral(UNPARSED_CALL);
        }
        if let Some(wait) = self.config.retry.wait(&error, retry.failures, jitter()) {
            trace::retrying(self, &error, wait);
            emit(Event::Retry { why: RetryReason::Failed(error), wait });
            tokio::time::sleep(wait).await;
            return Ok(());
        }
        // The explanation is only for the model that wrote the call, in this turn.
        if let Some(before) = retry.explained.take() {
            self.ephemeral.truncate(before);
        }
        if !may_succeed_elsewhere(&error) || self.at >= self.config.fallback.len() {
            if self.at > 0 {
                self.cool_down().await?;
            }
            return Err(error.into());
        }
        self.cool_down().await?;
        self.use_model(self.at + 1);
        self.budget.cold = true;
        retry.failures = 0;
        trace::retrying(self, &error, Duration::ZERO);
        emit(Event::Retry { why: RetryReason::Failed(error), wait: Duration::ZERO });
        emit(Event::Model(self.model().name.clone()));
        Ok(())
    }

    /// Checks whether the answer is based on less than was sent: the window was full, or the
    /// provider silently truncated the prompt. If so, the answer is kept on a side branch, its
    /// usage is recorded, the next plan folds harder, and the call must be made again. Returns
    /// whether it must.
    pub(crate) async fn reject_if_overflowed(
        &mut self,
        answer: &Answer,
        took: Duration,
        retry: &mut RetryState,
        emit: &mut impl FnMut(Event),
    ) -> Result<bool, SessionError> {
        if retry.overflows >= MAX_OVERFLOWS {
            return Ok(false);
        }
        let (overflow, hint) = if answer.stop == Stop::Window {
            let prompt = Some(answer.usage.prompt()).filter(|&prompt| prompt > 0);
            (Overflow { window: None, prompt }, WindowHint::Unknown)
        } else {
            if retry.truncated || !self.was_truncated(answer) {
                return Ok(false);
            }
            retry.truncated = true;
            (Overflow::default(), WindowHint::Truncated(answer.usage.prompt()))
        };
        self.keep_on_side_branch(&answer.messages).await?;
        self.record_usage_only(answer, took).await?;
        let why = match answer.stop {
            Stop::Window => RetryReason::WindowFull,
            _ => RetryReason::PromptTruncated,
        };
        emit(Event::Retry { why, wait: Duration::ZERO });
        self.fold_harder(overflow, hint, retry).await?;
        Ok(true)
    }

    /// Makes the next plan fold harder than the last one. Before the first time, a summary of the
    /// context is written to the memory.
    async fn fold_harder(
        &mut self,
        overflow: Overflow,
        hint: WindowHint,
        retry: &mut RetryState,
    ) -> Result<(), SessionError> {
        let refused = self.prompt_tokens();
        retry.overflows += 1;
        if retry.overflows == 1 {
            self.load_history().await?;
            let slots = self.generation.slots().iter().filter(|slot| slot.treatment.is_sent());
            let shown: Vec<usize> = slots.flat_map(|slot| slot.sources.iter().copied()).collect();
            self.remember(&shown).await;
            self.in_memory = shown.iter().map(|&source| self.position(source)).collect();
        }
        self.learn(overflow, hint).await?;
        let level = match retry.overflows {
            1 => FoldLevel::ByPolicy,
            2 => FoldLevel::Harder,
            _ => FoldLevel::Minimal,
        };
        let reason = Reason::Rejected { tokens: refused, window: self.budget.window };
        trace::overflow(self, refused);
        self.requested = Some((level, Reasons::from(reason).and(level.reason())));
        Ok(())
    }

    /// Updates the window from the provider's error, and corrects the token counter by the reported
    /// size of the prompt.
    async fn learn(&mut self, overflow: Overflow, hint: WindowHint) -> Result<(), SessionError> {
        let sent = self.generation.tokens() + self.budget.tools;
        if let Some(prompt) = overflow.prompt {
            self.budget.calibration.observe(sent, prompt);
        }
        let refused = self.budget.calibration.to_provider_tokens(sent);
        let window = match hint {
            WindowHint::Exact(window) => {
                self.learn_window(window, true).await?;
                self.prompt_window(window)
            }
            WindowHint::Truncated(read) => {
                // This much prompt fitted together with the answer, so it is safe in this session.
                self.learn_window(read * 4 / 3, false).await?;
                read
            }
            WindowHint::Refused => {
                self.learn_window(refused, false).await?;
                refused * SHRINK_PERCENT / 100
            }
            WindowHint::Unknown => refused * SHRINK_PERCENT / 100,
        };
        self.budget.window = self.budget.window.min(window).max(1);
        Ok(())
    }

    /// Whether the provider's usage report shows that it read less than was sent: a prompt that
    /// extends the previous one cannot be as short as that one. Only messages to the model count,
    /// because providers may drop the thinking from its own messages.
    fn was_truncated(&self, answer: &Answer) -> bool {
        let real = answer.usage.prompt();
        let correct = |tokens| self.budget.calibration.to_provider_tokens(tokens);
        if real < MIN_REPORTED_TOKENS {
            return false;
        }
        let is_short =
            match self.reported.filter(|known| known.at == (self.at, self.generation.number)) {
                Some(known) => {
                    let growth = correct(self.added_tokens(known.messages));
                    growth >= MIN_GROWTH_TOKENS
                        && real < known.prompt_tokens + growth * GROWTH_PERCENT / 100
                }
                None => {
                    let expected = correct(self.generation.tokens() + self.budget.tools);
                    real * 100 < expected * FIRST_PROMPT_PERCENT
                }
            };
        is_short && !self.generation.context(&self.history).any(has_thinking)
    }

    /// Returns the tokens sent for messages to the model from this index on: a long result may have
    /// been truncated when it arrived.
    fn added_tokens(&self, from: usize) -> usize {
        let is_new = |slot: &&Slot| slot.sources.iter().all(|&source| source >= from);
        let slots = self.generation.slots().iter().rev().take_while(is_new);
        let views = slots.flat_map(|slot| &slot.views).filter(|view| {
            view.message(&self.history).is_some_and(|message| message.role != Role::Assistant)
        });
        views.map(|view| view.tokens(&self.history)).sum()
    }

    /// Records the reported size of the prompt, to compare the next one with it.
    pub(crate) fn remember_prompt_size(&mut self, answer: &Answer) {
        let real = answer.usage.prompt();
        let at = (self.at, self.generation.number);
        let messages = self.history.len();
        self.reported = (real > 0).then_some(Reported { at, messages, prompt_tokens: real });
    }
}

/// What an overflow reveals about the window.
#[derive(Clone, Copy, Debug)]
enum WindowHint {
    /// The provider reported the window.
    Exact(usize),
    /// The provider read only this many tokens of the prompt.
    Truncated(usize),
    /// The provider reported that the prompt is too long, without a number.
    Refused,
    /// The prompt may have been too long: only good for a guess.
    Unknown,
}

fn has_thinking(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.body, Body::Thinking(_)))
}

/// Whether the error text says that the prompt is too long. A 413 may be caused by images, and an
/// empty body says nothing.
fn names_overflow(error: &CallError) -> bool {
    match error {
        CallError::Refused(refused) => refused.status != 413 && !refused.body.trim().is_empty(),
        _ => true,
    }
}

/// Whether another model may succeed: an invalid request fails everywhere.
fn may_succeed_elsewhere(error: &CallError) -> bool {
    match error {
        _ if error.is_unparsed_call() => true,
        CallError::Refused(refused) => !matches!(refused.status, 400 | 413 | 422),
        _ => true,
    }
}

/// Returns a number from 0 to 1 that differs between processes and calls. It need not be uniform.
fn jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let share = bits as f64 / (1_u64 << 53) as f64;
    share
}
