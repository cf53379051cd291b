//! One turn of the conversation, and what the user types while it runs.

use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use waterline_agent::{AgentError, Outcome, UserInput};

use super::{Chat, LineOutcome, command_of, commands, ending};
use crate::error::{describe, describe_error};
use crate::signals::interrupted;
use crate::terminal::{Keyboard, Screen, Typed};
use crate::text;

impl Chat {
    /// Runs one turn. Ctrl-C stops it, and lines that are typed meanwhile steer it.
    pub(super) fn turn(&mut self, runtime: &Runtime, input: Option<UserInput>) -> LineOutcome {
        self.empty_session.set(None);
        self.screen.set_history(self.input.recent());
        let outcome = runtime.block_on(async {
            let screen = Arc::clone(&self.screen);
            tokio::select! {
                outcome = self.runner.turn(input) => Some(outcome),
                () = interrupted() => None,
                () = listen(&screen, self.input.is_terminal()) => None,
                () = screen.animate() => None,
            }
        });
        let draft = self.screen.end_turn();
        let stopped = outcome.is_none();
        let queued = if stopped { self.screen.take_queued().concat() } else { Vec::new() };
        // What was typed in the meantime continues the work too, and does not answer the question.
        let may_ask = self.input.is_terminal() && draft.is_empty() && !self.screen.has_queued();
        let ended = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
        let question = ended.and_then(ending::question).filter(|_| may_ask);
        self.input.prefill(&returned(queued, draft));
        let failed = match question {
            Some(_) => false,
            None => self.show_outcome(runtime, outcome),
        };
        if let Err(error) = runtime.block_on(self.runner.agent.live_mut().reload_if_interrupted()) {
            self.screen.print_error(&describe_error(&error));
        }
        if failed && self.runner.agent.is_open().is_ok_and(|is_open| is_open) {
            self.screen.print_note(&text!("chat-retry"));
        }
        if let Some(question) = question
            && self.continues(&question)
        {
            return self.turn(runtime, Some(UserInput::new(text!("ending-continue"))));
        }
        if stopped { LineOutcome::Stopped } else { LineOutcome::Done }
    }

    /// Shows how a turn ended; without an outcome, the user stopped it. Returns whether it failed.
    fn show_outcome(
        &mut self,
        runtime: &Runtime,
        outcome: Option<Result<Outcome, AgentError>>,
    ) -> bool {
        match outcome {
            Some(Ok(outcome)) => {
                if let Some(note) = ending::note(&outcome, &self.session().id) {
                    self.screen.print_note(&note);
                }
            }
            Some(Err(AgentError::NothingToResume)) => {
                self.screen.print_note(&text!("resume-nothing"));
            }
            Some(Err(error)) => {
                self.screen.print_error(&describe(&anyhow::Error::from(error)));
                return true;
            }
            None => {
                self.screen.print_note(&text!("chat-stopped"));
                if let Err(error) = runtime.block_on(self.runner.agent.stop()) {
                    self.screen.print_error(&describe_error(&error));
                }
            }
        }
        false
    }
}

/// Returns what goes back to the prompt after a turn: the messages that were queued for a stopped
/// turn, each on its own line, then the draft. Queued commands are dropped: they were meant for
/// after the turn.
fn returned(queued: Vec<String>, draft: String) -> String {
    let messages = queued.into_iter().filter(|text| !text.starts_with('/'));
    let texts: Vec<String> = messages.chain([draft]).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Handles what is typed while the agent works. Returns when the user types `/cancel`.
async fn listen(screen: &Arc<Screen>, is_terminal: bool) {
    if !is_terminal {
        // Lines from a pipe are read one at a time, each after the turn before it.
        return std::future::pending().await;
    }
    let cancel = Arc::new(Notify::new());
    let cancelled = Arc::clone(&cancel);
    let screen = Arc::clone(screen);
    let _keyboard =
        Keyboard::listen(screen.has_footer(), screen.typing(), move |typed| match typed {
            Typed::Draft(_) => screen.draft_changed(),
            Typed::Line(line) if line == "/cancel" => cancelled.notify_one(),
            Typed::Line(line) => handle_line(&screen, &line),
            // No more answers can come; the turn continues.
            Typed::End => screen.close_input(),
        });
    cancel.notified().await;
}

fn handle_line(screen: &Screen, line: &str) {
    // While a question is open, a bare word such as `exit` is the answer.
    let line = if screen.has_question() { line } else { command_of(line) };
    match line.strip_prefix("/steer ") {
        Some(text) => screen.steer(text.trim()),
        None if commands::is_command(line) => screen.queue_command(line),
        None => screen.submit(line),
    }
}

#[cfg(test)]
mod tests {
    use super::returned;

    #[test]
    fn queued_messages_return_before_the_draft() {
        let queued =
            || vec!["hello @tidy".to_owned(), "/status".to_owned(), "and short".to_owned()];
        assert_eq!(returned(queued(), "/load ".to_owned()), "hello @tidy\nand short\n/load ");
        assert_eq!(returned(queued(), String::new()), "hello @tidy\nand short");
        assert_eq!(returned(Vec::new(), "/load ".to_owned()), "/load ");
    }
}
