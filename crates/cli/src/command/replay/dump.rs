//! Writes every context of a replay as JSON lines while it runs: the contexts of a session may not
//! fit into memory.

use std::io::Write;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use waterline_provider::wire::{self, Rendered};
use waterline_replay::run::Context as Sent;

use crate::files::Output;
use crate::text;

/// The file that several threads write contexts to. Lines of several sessions may be mixed; each
/// has the id of its session.
pub struct Dump(Mutex<(Output, Option<std::io::Error>)>);

impl Dump {
    pub fn new(file: Output) -> Self {
        Self(Mutex::new((file, None)))
    }

    /// Writes one context. The first error is reported by [`Dump::finish`].
    pub fn write(&self, sent: &Sent<'_>) {
        let line = line(sent).map_err(std::io::Error::from);
        if let Ok(mut state) = self.0.lock()
            && state.1.is_none()
        {
            state.1 = line.and_then(|line| state.0.write_all(line.as_bytes())).err();
        }
    }

    pub fn finish(self) -> Result<()> {
        let (file, failed) =
            self.0.into_inner().map_err(|_| anyhow!(text!("replay-dump-thread")))?;
        match failed {
            Some(error) => Err(error).with_context(|| text!("replay-dump-failed")),
            None => file.finish(),
        }
    }
}

/// A context with the call that it was made for.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    call: usize,
    policy: &'a str,
    window: usize,
    #[serde(flatten)]
    context: &'a Rendered,
}

fn line(sent: &Sent<'_>) -> serde_json::Result<String> {
    let context = &wire::render(sent.wire, sent.messages);
    let &Sent { id, call, policy, window, .. } = sent;
    let line = serde_json::to_string(&Line { id, call, policy, window, context })?;
    Ok(line + "\n")
}
