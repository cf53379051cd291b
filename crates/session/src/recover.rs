//! What to do about a call that failed: an overflow teaches the window and is folded harder, a
//! shape that is not taken is left out, what may pass is waited for, then another model is asked;
//! everything else is the caller's to hear, in the provider's own words.

use std::time::Duration;

use waterline::message::{Body, Message, Role};
use waterline::plan::FoldLevel;
use waterline_provider::CallError;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::overflow::Overflow;

use crate::between_calls::Reported;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::memory::Section;
use crate::trace;

/// How often an overflow is planned again.
const OVERFLOWS: usize = 2;

/// Where a provider gives no numbers, the next prompt may take so much of what this one took, in
/// percent.
const SMALLER: usize = 60;

/// Of a first prompt a provider must report so much at least, in percent of what was counted, or it
/// has cut it.
const CUT_AT_FIRST: usize = 25;

/// Of what a prompt grew by since the call before, it must report so much.
const CUT_OF_GROWTH: usize = 25;

/// What is less than this is no report about a prompt.
const CUT_LEAST: usize = 1_000;

/// Growth by less than this tells nothing.
const GROWTH: usize = 100;

/// What was tried so far for one call.
#[derive(Debug, Default)]
pub(crate) struct RetryState {
    overflows: usize,
    failures: usize,
    /// A prompt was taken to be cut by the provider.
    cut: bool,
}

impl LiveSession {
    /// Makes another try worth while, or gives up with the error itself.
    pub(crate) async fn recover(
        &mut self,
        error: CallError,
        trouble: &mut RetryState,
        emit: &mut impl FnMut(Event),
    ) -> Result<(), SessionError> {
        if let Some(partial) = error.partial() {
            self.keep_aside(&partial.messages.clone()).await?;
        }
        if let Some(overflow) = error.overflow() {
            if trouble.overflows >= OVERFLOWS {
                return Err(error.into());
            }
            emit(Event::Again { why: error.to_string(), wait: Duration::ZERO });
            let taught = match overflow.window {
                Some(window) => WindowHint::Said(window),
                None if says_something(&error) => WindowHint::Refused,
                None => WindowHint::Nothing,
            };
            return self.fold_harder(overflow, taught, trouble).await;
        }
        if self.gives_up_shape(&error, emit) {
            return Ok(());
        }
        trouble.failures += 1;
        if let Some(wait) = self.config.retry.wait(&error, trouble.failures, jitter()) {
            trace::again(self, &error, wait);
            emit(Event::Again { why: error.to_string(), wait });
            tokio::time::sleep(wait).await;
            return Ok(());
        }
        if !may_go_elsewhere(&error) || self.at >= self.config.fallback.len() {
            if self.at > 0 {
                self.rest().await?;
            }
            return Err(error.into());
        }
        self.rest().await?;
        self.use_model(self.at + 1);
        self.budget.cold = true;
        trouble.failures = 0;
        trace::again(self, &error, Duration::ZERO);
        emit(Event::Again { why: error.to_string(), wait: Duration::ZERO });
        emit(Event::Model(self.model().name.clone()));
        Ok(())
    }

    /// Whether an answer was given to less than was sent: the window was full, or the provider cut
    /// the prompt without a word. Then the answer is kept aside, and the call is made again with a
    /// smaller context.
    pub(crate) async fn must_fold_for(
        &mut self,
        answer: &Answer,
        trouble: &mut RetryState,
        emit: &mut impl FnMut(Event),
    ) -> Result<bool, SessionError> {
        if trouble.overflows >= OVERFLOWS {
            return Ok(false);
        }
        let (overflow, taught) = if answer.stop == Stop::Window {
            let prompt = Some(answer.usage.prompt()).filter(|&prompt| prompt > 0);
            (Overflow { window: None, prompt }, WindowHint::Nothing)
        } else {
            if trouble.cut || !self.was_cut(answer) {
                return Ok(false);
            }
            trouble.cut = true;
            (Overflow::default(), WindowHint::Cut(answer.usage.prompt()))
        };
        self.keep_aside(&answer.messages.clone()).await?;
        let why = match answer.stop {
            Stop::Window => "the answer filled the window",
            _ => "the provider read only a part of the prompt",
        };
        emit(Event::Again { why: why.to_owned(), wait: Duration::ZERO });
        self.fold_harder(overflow, taught, trouble).await?;
        Ok(true)
    }

    /// The ladder: what is known goes to the memory, the window is what the provider says, and the
    /// next context is folded harder than the one before.
    async fn fold_harder(
        &mut self,
        overflow: Overflow,
        taught: WindowHint,
        trouble: &mut RetryState,
    ) -> Result<(), SessionError> {
        let refused = self.prompt_tokens();
        trouble.overflows += 1;
        if trouble.overflows == 1 {
            self.load_whole().await?;
            let slots = self.generation.slots().iter().filter(|slot| slot.treatment.is_sent());
            let shown: Vec<usize> = slots.flat_map(|slot| slot.sources.iter().copied()).collect();
            self.flush(Section::Overflow, &shown).await;
        }
        self.learn(overflow, taught).await?;
        let rung = if trouble.overflows == 1 { FoldLevel::Fold } else { FoldLevel::Minimal };
        let reason = format!(
            "the provider refused {refused} tokens; its window is taken to be {}",
            self.budget.window
        );
        trace::overflow(self, refused);
        self.forced = Some((rung, format!("{reason}: {}", rung.about())));
        Ok(())
    }

    /// The window is what the provider says it is, from now on; and what it says about the prompt
    /// corrects the counter.
    async fn learn(&mut self, overflow: Overflow, taught: WindowHint) -> Result<(), SessionError> {
        let sent = self.generation.tokens() + self.budget.tools;
        if let Some(prompt) = overflow.prompt {
            self.budget.calibration.observe(sent, prompt);
        }
        let refused = self.budget.calibration.correct(sent);
        let window = match taught {
            WindowHint::Said(window) => {
                self.learn_window(window, true).await?;
                self.prompt_window(window)
            }
            WindowHint::Cut(read) => {
                // What it read fitted, with the answer: so much prompt is safe in this session.
                self.learn_window(read * 4 / 3, false).await?;
                read
            }
            WindowHint::Refused => {
                self.learn_window(refused, false).await?;
                refused * SMALLER / 100
            }
            WindowHint::Nothing => refused * SMALLER / 100,
        };
        self.budget.window = self.budget.window.min(window).max(1);
        Ok(())
    }

    /// Whether the provider read less than was sent, by its own report: a prompt that goes on from
    /// the one before cannot be as short as that one was. Only what was said to the model counts;
    /// of its own words providers may drop the thinking.
    fn was_cut(&self, answer: &Answer) -> bool {
        let real = answer.usage.prompt();
        let correct = |tokens| self.budget.calibration.correct(tokens);
        if real < CUT_LEAST {
            return false;
        }
        let is_short = match self
            .reported
            .filter(|known| known.at == (self.at, self.generation.number))
        {
            Some(known) => {
                let said = (known.messages..self.history.len()).filter(|&index| {
                    self.history
                        .message(index)
                        .is_some_and(|message| message.role != Role::Assistant)
                });
                let growth = correct(said.map(|index| self.history.message_tokens(index)).sum());
                growth >= GROWTH && real < known.real + growth * CUT_OF_GROWTH / 100
            }
            None => {
                real * 100 < correct(self.generation.tokens() + self.budget.tools) * CUT_AT_FIRST
            }
        };
        is_short && !self.generation.context(&self.history).any(thinks)
    }

    /// Remembers what the provider says about the prompt, to know what to expect of the next.
    pub(crate) fn note_prompt(&mut self, answer: &Answer) {
        let real = answer.usage.prompt();
        let at = (self.at, self.generation.number);
        self.reported = (real > 0).then_some(Reported { at, messages: self.history.len(), real });
    }
}

/// What an overflow teaches about the window.
#[derive(Clone, Copy, Debug)]
enum WindowHint {
    /// The provider named it.
    Said(usize),
    /// The provider read so much and no more.
    Cut(usize),
    /// The provider said that the prompt is too long for it.
    Refused,
    /// It may have been too long: good for a guess.
    Nothing,
}

fn thinks(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.body, Body::Thinking(_)))
}

/// Whether a provider said in words that the prompt is too long. A body that is too large may be so
/// for its pictures.
fn says_something(error: &CallError) -> bool {
    match error {
        CallError::Refused(refused) => refused.status != 413 && !refused.body.trim().is_empty(),
        _ => true,
    }
}

/// Whether another model may do better: a request that is wrong is wrong everywhere.
fn may_go_elsewhere(error: &CallError) -> bool {
    match error {
        CallError::Refused(refused) => !matches!(refused.status, 400 | 413 | 422),
        _ => true,
    }
}

/// A number from 0 to 1 that differs between processes and calls; nothing hangs on how random it
/// is.
fn jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let share = bits as f64 / (1_u64 << 53) as f64;
    share
}
