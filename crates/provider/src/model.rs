//! The [`Model`] trait that sessions call. [`crate::http::Endpoint`] implements it over HTTP; an
//! application can implement it for a cloud SDK, a router or a mock.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use waterline::message::{Message, Wire};

use crate::answer::{Answer, Delta};
use crate::error::CallError;
use crate::facts::ModelFacts;
use crate::stream::{Event, EventStream};
use crate::wire::{self, Options, Rendered, Tool};

/// A model that can be called. Only [`Model::call`] is required.
///
/// ```
/// use waterline::Message;
/// use waterline_provider::{Answer, Event, EventStream, Model, Request, Stop};
///
/// /// Echoes the newest message.
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
pub trait Model: Send + Sync {
    /// Calls the model. The returned stream owns what it needs of the request, and makes the call
    /// when polled. Its last event is [`Event::Answer`] or an error.
    fn call(&self, request: Request<'_>) -> EventStream;

    /// The wire that contexts are rendered for and that raw events use.
    fn wire(&self) -> Wire {
        Wire::OPENAI_CHAT
    }

    /// The model's address, for display, traces and its statistics. Contains no secret; empty for a
    /// model in this process.
    fn address(&self) -> &str {
        ""
    }

    /// The provider's name in OpenTelemetry's conventions for generative AI.
    fn provider(&self) -> &str {
        "waterline"
    }

    /// Whether a call may set [`Options::shape`]. With `with_tools`, the model must also be able to
    /// call tools.
    fn takes_shape(&self, with_tools: bool) -> bool {
        let _ = with_tools;
        false
    }

    /// Whether it can follow the instructions of a summary request. If not, a digest made without a
    /// model is used.
    fn can_summarize(&self) -> bool {
        true
    }

    /// Asks the model's server, if there is one, what it knows about a model.
    fn facts<'a>(&'a self, model: &'a str) -> BoxFuture<'a, ModelFacts> {
        let _ = model;
        Box::pin(std::future::ready(ModelFacts::default()))
    }
}

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({} {})", self.wire(), self.address())
    }
}

/// Forwards every method to the model that a pointer points to.
macro_rules! forward {
    ($pointer:ident) => {
        impl<M: Model + ?Sized> Model for $pointer<M> {
            fn call(&self, request: Request<'_>) -> EventStream {
                (**self).call(request)
            }

            fn wire(&self) -> Wire {
                (**self).wire()
            }

            fn address(&self) -> &str {
                (**self).address()
            }

            fn provider(&self) -> &str {
                (**self).provider()
            }

            fn takes_shape(&self, with_tools: bool) -> bool {
                (**self).takes_shape(with_tools)
            }

            fn can_summarize(&self) -> bool {
                (**self).can_summarize()
            }

            fn facts<'a>(&'a self, model: &'a str) -> BoxFuture<'a, ModelFacts> {
                (**self).facts(model)
            }
        }
    };
}

forward!(Arc);
forward!(Box);

static NO_OPTIONS: Options = Options::NONE;

/// A request for one model call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The messages of the context.
    pub messages: &'a [&'a Message],
    /// The same context rendered for the model's wire.
    pub context: &'a Rendered,
    /// The tools that the model may call.
    pub tools: &'a [Tool],
    /// Other settings of the call.
    pub options: &'a Options,
    /// The session that makes the call, if any.
    pub session: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// Creates a request without tools and options.
    #[must_use]
    pub const fn new(model: &'a str, messages: &'a [&'a Message], context: &'a Rendered) -> Self {
        Self { model, messages, context, tools: &[], options: &NO_OPTIONS, session: None }
    }

    /// Sets the tool definitions.
    #[must_use]
    pub const fn tools(mut self, tools: &'a [Tool]) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the options.
    #[must_use]
    pub const fn options(mut self, options: &'a Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the session.
    #[must_use]
    pub const fn session(mut self, session: &'a str) -> Self {
        self.session = Some(session);
        self
    }

    /// Returns the request body. The context must have been rendered for the same wire.
    #[must_use]
    pub fn body(&self, wire: Wire) -> String {
        wire::request(wire, self.model, self.options, self.tools, self.context)
    }
}

/// Calls a model and waits for the whole answer. `on_delta` gets each delta as it arrives.
///
/// # Errors
/// If the call fails or the stream is interrupted; the error then holds the partial answer.
pub async fn ask(
    model: &dyn Model,
    request: Request<'_>,
    mut on_delta: impl FnMut(Delta),
) -> Result<Answer, CallError> {
    let mut events = model.call(request);
    let mut text = String::new();
    while let Some(event) = events.next().await {
        match event? {
            Event::Delta(delta) => {
                if let Delta::Text(more) = &delta {
                    text.push_str(more);
                }
                on_delta(delta);
            }
            Event::Answer(answer) => return Ok(answer),
            Event::Raw(_) => {}
        }
    }
    Err(CallError::no_answer(text))
}
