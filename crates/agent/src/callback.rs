//! Callbacks: a method for each thing that can happen, for code that wants to be told and has no say.

use serde_json::Value;
use waterline_provider::answer::Delta;
use waterline_session::Event as CallEvent;

use crate::event::Event;

/// Is told what happens. Every method does nothing unless it is written.
pub trait Callback: Send + Sync {
    /// A turn begins.
    fn chain_start(&self) {}
    /// A turn ended.
    fn chain_end(&self) {}
    /// A turn failed.
    fn chain_error(&self, _why: &str) {}
    /// The model is asked.
    fn llm_start(&self, _step: usize) {}
    /// More of the answer.
    fn llm_token(&self, _text: &str) {}
    /// The model answered.
    fn llm_end(&self, _prompt: usize, _output: usize) {}
    /// The model could not be asked.
    fn llm_error(&self, _why: &str) {}
    /// A call is made again.
    fn retry(&self, _why: &str) {}
    /// The agent decided on a call.
    fn agent_action(&self, _tool: &str, _arguments: &str) {}
    /// The agent has its answer.
    fn agent_finish(&self) {}
    /// A tool begins.
    fn tool_start(&self, _tool: &str, _arguments: &str) {}
    /// A tool is done.
    fn tool_end(&self, _tool: &str, _text: &str) {}
    /// A tool failed.
    fn tool_error(&self, _tool: &str, _why: &str) {}
    /// Something is searched for.
    fn retriever_start(&self, _query: &str) {}
    /// Something was found.
    fn retriever_end(&self, _text: &str) {}
    /// Nothing could be searched.
    fn retriever_error(&self, _why: &str) {}
    /// A plain word.
    fn text(&self, _text: &str) {}
    /// Anything else, under a name.
    fn custom(&self, _name: &str, _value: &Value) {}
}

/// Tools that search.
const RETRIEVERS: [&str; 2] = ["recall", "search_files"];

/// Tells a callback of an event.
pub(crate) fn tell(callback: &dyn Callback, event: &Event) {
    match event {
        Event::Begins => callback.chain_start(),
        Event::Ends => {
            callback.agent_finish();
            callback.chain_end();
        }
        Event::Asks(step) => callback.llm_start(*step),
        Event::Answered { usage, .. } => callback.llm_end(usage.prompt(), usage.output),
        Event::Failed(why) => {
            callback.llm_error(why);
            callback.chain_error(why);
        }
        Event::Call(CallEvent::Delta(Delta::Text(text))) => callback.llm_token(text),
        Event::Call(CallEvent::Delta(_)) => {}
        Event::Call(CallEvent::Again { why, .. }) => callback.retry(why),
        Event::Call(CallEvent::Notice(text)) | Event::Notice(text) => callback.text(text),
        Event::Call(other) => callback.custom("call", &Value::from(format!("{other:?}"))),
        Event::ToolBegins { name, arguments, .. } => {
            callback.agent_action(name, arguments);
            callback.tool_start(name, arguments);
            if RETRIEVERS.contains(&name.as_str()) {
                callback.retriever_start(arguments);
            }
        }
        Event::ToolEnds { name, text, failed, .. } => {
            let retrieves = RETRIEVERS.contains(&name.as_str());
            match failed {
                true => callback.tool_error(name, text),
                false => callback.tool_end(name, text),
            }
            match failed {
                true if retrieves => callback.retriever_error(text),
                false if retrieves => callback.retriever_end(text),
                _ => {}
            }
        }
        Event::Todos(todos) => callback.custom("todos", &serde_json::to_value(todos).unwrap_or_default()),
        Event::Steered(text) => callback.custom("steered", &Value::from(text.as_str())),
        Event::HookFailed { middleware, hook, why } => {
            callback.custom("hook_failed", &serde_json::json!({"middleware": middleware, "hook": hook, "why": why}));
        }
        // A sub-agent tells the callbacks itself.
        Event::Below { .. } => {}
    }
}
