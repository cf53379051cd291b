//! Every context of a replay as JSON lines, written while it runs: a session may have more contexts
//! than memory holds.

use std::io::Write;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use waterline::json::one_line;
use waterline_provider::wire;
use waterline_replay::run::Context as Sent;

use crate::files::Output;

/// The file that contexts are written to, by several threads; sessions may be mixed, each line says
/// whose it is.
pub struct Dump(Mutex<(Output, Option<std::io::Error>)>);

impl Dump {
    pub fn new(file: Output) -> Self {
        Self(Mutex::new((file, None)))
    }

    /// Writes one context. The first failure is kept for the end.
    pub fn write(&self, sent: &Sent<'_>) {
        let line = line(sent);
        if let Ok(mut state) = self.0.lock()
            && state.1.is_none()
        {
            state.1 = state.0.write_all(line.as_bytes()).err();
        }
    }

    pub fn finish(self) -> Result<()> {
        let (file, failed) = self
            .0
            .into_inner()
            .map_err(|_| anyhow!("a thread died while it wrote the contexts"))?;
        match failed {
            Some(error) => Err(error).context("cannot write the contexts"),
            None => file.finish(),
        }
    }
}

fn line(sent: &Sent<'_>) -> String {
    let rendered = wire::render(sent.wire, sent.messages);
    let head = serde_json::json!({"id": sent.id, "call": sent.call, "policy": sent.policy, "window": sent.window});
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
