//! Writes every context of a replay as JSON lines while it runs: the contexts of a session may not
//! fit into memory.

use std::io::Write;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use waterline::json::one_line;
use waterline_provider::wire;
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
        let line = line(sent);
        if let Ok(mut state) = self.0.lock()
            && state.1.is_none()
        {
            state.1 = state.0.write_all(line.as_bytes()).err();
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

fn line(sent: &Sent<'_>) -> String {
    let rendered = wire::render(sent.wire, sent.messages);
    let head = serde_json::json!({
        "id": sent.id,
        "call": sent.call,
        "policy": sent.policy,
        "window": sent.window,
    });
    let mut line = head.to_string();
    line.pop();
    if let Some(system) = &rendered.system {
        line.push_str(",\"system\":");
        line.push_str(&one_line(system.as_str()));
    }
    line.push_str(",\"messages\":[");
    for (at, message) in rendered.texts().into_iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        line.push_str(&one_line(message));
    }
    line.push_str("]}\n");
    line
}
