//! The seam to a model: what a session needs of one, whoever it is. [`crate::http::Endpoint`] is a
//! model behind HTTP; an application can implement the trait for a cloud SDK, a router or a mock.

use std::any::Any;
use std::fmt;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use waterline::message::{Message, Wire};

use crate::answer::{Answer, Delta};
use crate::error::CallError;
use crate::stream::{Event, EventStream};
use crate::wire::{self, Options, Rendered, Tool};

/// A model that can be called. Only [`Model::call`] must be written.
///
/// ```
/// use waterline::message::Message;
/// use waterline_provider::answer::{Answer, Stop};
/// use waterline_provider::{Event, EventStream, Model, Request};
///
/// /// Repeats the newest message.
/// struct Echo;
///
/// impl Model for Echo {
///     fn call(&self, request: Request<'_>) -> EventStream {
///         let text = request.messages.last().map(|message| message.text()).unwrap_or_default();
///         let messages = vec![Message::assistant(text)];
///         let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
///         Box::pin(futures_util::stream::iter([Ok(Event::Answer(answer))]))
///     }
/// }
/// ```
pub trait Model: Any + Send + Sync {
    /// Calls the model. What it needs of the request it takes before it returns; the call itself is
    /// made as the stream is polled. The last event is [`Event::Answer`] or an error.
    fn call(&self, request: Request<'_>) -> EventStream;

    /// The wire that contexts are rendered for, and that raw events are written in.
    fn wire(&self) -> Wire {
        Wire::OPENAI_CHAT
    }

    /// Its address, for people, traces and the experience kept with it. It holds no secret; empty
    /// for a model in this process.
    fn address(&self) -> &str {
        ""
    }

    /// The name of its provider, as OpenTelemetry's conventions for generative AI write it.
    fn provider(&self) -> &str {
        "waterline"
    }

    /// Whether [`Options::shape`] can go with a call. `with_tools` says that the model must also be
    /// able to call tools.
    fn takes_shape(&self, with_tools: bool) -> bool {
        let _ = with_tools;
        false
    }

    /// Whether it can follow the instructions of a summary request. Where it cannot, a digest made
    /// without a model serves.
    fn can_summarise(&self) -> bool {
        true
    }

    /// What its server reports about itself, where there is one and it says something.
    fn report(&self) -> BoxFuture<'_, Report> {
        Box::pin(std::future::ready(Report::default()))
    }
}

/// What a model server reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The models it offers.
    pub models: Vec<String>,
}

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({} {})", self.wire(), self.address())
    }
}

static NO_OPTIONS: Options = Options::NONE;

/// One call, as it is asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The model, by the provider's name.
    pub model: &'a str,
    /// The context, message by message.
    pub messages: &'a [&'a Message],
    /// The same context as the model's wire writes it.
    pub context: &'a Rendered,
    /// The tool definitions.
    pub tools: &'a [Tool],
    /// Everything else.
    pub options: &'a Options,
    /// The session that asks, if one does.
    pub session: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A request without tools and options.
    #[must_use]
    pub const fn new(model: &'a str, messages: &'a [&'a Message], context: &'a Rendered) -> Self {
        Self { model, messages, context, tools: &[], options: &NO_OPTIONS, session: None }
    }

    /// The same with tools.
    #[must_use]
    pub const fn tools(mut self, tools: &'a [Tool]) -> Self {
        self.tools = tools;
        self
    }

    /// The same with options.
    #[must_use]
    pub const fn options(mut self, options: &'a Options) -> Self {
        self.options = options;
        self
    }

    /// The same in a session.
    #[must_use]
    pub const fn session(mut self, session: &'a str) -> Self {
        self.session = Some(session);
        self
    }

    /// The body that the wire sends for it: the context must have been rendered for that wire.
    #[must_use]
    pub fn body(&self, wire: Wire) -> String {
        wire::request(wire, self.model, self.options, self.tools, self.context)
    }
}

/// Calls a model and waits for the whole answer. `hear` gets each delta as it comes.
///
/// # Errors
/// When there is no answer, or it breaks off; then the error holds what came.
pub async fn ask(
    model: &dyn Model,
    request: Request<'_>,
    mut hear: impl FnMut(Delta),
) -> Result<Answer, CallError> {
    let mut events = model.call(request);
    while let Some(event) = events.next().await {
        match event? {
            Event::Delta(delta) => hear(delta),
            Event::Answer(answer) => return Ok(answer),
            Event::Raw(_) => {}
        }
    }
    Err(CallError::Broken {
        text: "the stream ended without an answer".to_owned(),
        answer: Box::default(),
    })
}
