//! Who watches an agent, and has a word.

use futures_util::future::BoxFuture;

use crate::event::Event;
use crate::state::{Question, Request};

/// What somebody says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Do it.
    Yes,
    /// Do it, and do not ask about the same again in this session.
    Always,
    /// Do not, perhaps with a reason.
    No(Option<String>),
    /// Nobody said anything, with why: it is not run, and the turn goes on.
    Unanswered(String),
    /// Nobody is there now; the turn waits.
    Later,
}

impl Word {
    /// Reads an answer as people write it; none where it is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "y" | "yes" | "是" => Some(Self::Yes),
            "a" | "always" | "总是" => Some(Self::Always),
            "n" | "no" | "否" => Some(Self::No(None)),
            _ => None,
        }
    }
}

/// Who watches an agent.
pub trait Person: Send + Sync {
    /// Something happened.
    fn hear(&self, event: &Event);

    /// Has a word on a call.
    fn approve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Word>;

    /// Answers a question; none where nobody is there now.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>>;

    /// What was said meanwhile, to be heard before the next step.
    fn steering(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Nobody: refuses what must be agreed to, and answers nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Person for Nobody {
    fn hear(&self, _: &Event) {}

    fn approve<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Word> {
        Box::pin(async { Word::Unanswered("nobody is there to agree to it".to_owned()) })
    }

    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
