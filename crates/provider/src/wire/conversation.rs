//! Reads a whole conversation: a list of messages, or a request body that contains one.

use std::sync::Arc;

use serde_json::value::RawValue;
use waterline::json::{self, Fields};
use waterline::message::{Form, Message, Raw, Role, Wire};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::warning::{Warning, WarningKind};

use super::Tool;
use super::detect;
use super::error::ParseError;
use super::format::Format;
use super::list::format;
use super::read::Reader;
use super::rendered::Rendered;

/// A parsed conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conversation {
    /// The conversation's wire.
    pub wire: Wire,
    /// The conversation's id, if the body has one.
    pub id: Option<String>,
    /// The model that the body names, if any.
    pub model: Option<String>,
    /// The messages. Those from outside the list come first.
    pub messages: Vec<Message>,
    /// How many of them came from outside the list, such as a separate system prompt.
    pub outside: usize,
    /// The tools that the request offers.
    pub tools: Vec<Tool>,
    /// Warnings about malformed input, with the index of the message.
    pub warnings: Vec<Warning>,
}

/// Parses a conversation: a JSON list of messages, or an object that contains one. The wire is
/// detected from the content unless given.
///
/// # Errors
/// If the text is not JSON or not a conversation, with line and column.
pub fn parse(text: &Arc<String>, wire: Option<Wire>) -> Result<Conversation, ParseError> {
    let value: &RawValue =
        serde_json::from_str(text).map_err(|error| ParseError::of_json(text, &error))?;
    let source = Source { text };
    match value.get().as_bytes().first() {
        Some(b'[') => source.bare_list(value.get(), wire),
        Some(b'{') => source.body(value.get(), wire),
        _ => Err(source.error(
            value.get(),
            phrase!(
                "parse-no-conversation",
                "not a conversation: expected a list of messages or a request body"
            ),
        )),
    }
}

/// Renders tool definitions for a wire; `None` if there are none.
#[must_use]
pub fn tools(wire: Wire, tools: &[Tool]) -> Option<String> {
    (!tools.is_empty()).then(|| format(wire).write_tools(tools))
}

/// Builds a request body from fields, a context and tool definitions.
#[must_use]
pub fn body<'a>(
    wire: Wire,
    fields: impl IntoIterator<Item = (&'a str, String)>,
    tools: &[Tool],
    context: &Rendered,
) -> String {
    let target = format(wire);
    let system = context
        .system
        .as_ref()
        .zip(target.system_fields().first())
        .map(|(json, name)| (*name, json.as_str().to_owned()));
    let list = [(target.list_field(), json::array(context.texts()))];
    let tools = self::tools(wire, tools).map(|tools| ("tools", tools));
    json::object(fields.into_iter().chain(system).chain(list).chain(tools))
}

/// Parses one message of a wire, without keeping its original bytes.
///
/// # Errors
/// If it is not a message of that wire, with the reason.
pub fn message(json: &str, wire: Wire) -> Result<Message, Phrase> {
    let mut message =
        format(wire).message(json, &mut Reader::default()).map_err(|refusal| refusal.0)?;
    message.form = Form::Changed;
    // The bytes are not kept, but the wire is: thinking is sent back only to the wire it came from.
    message.raw = Raw::new(format(wire).wire(), Arc::default(), 0..0);
    Ok(message)
}

/// Parses a message that was stored with its original bytes. The role tells whether it is a system
/// prompt from outside the message list.
#[must_use]
pub fn parse_stored(text: Arc<String>, wire: Wire, role: Role) -> Option<Message> {
    let format = format(wire);
    let listed =
        format.message(&text, &mut Reader::default()).ok().filter(|message| message.role == role);
    let mut message = match role {
        Role::System => listed.or_else(|| format.system(&text, &mut Reader::default()))?,
        _ => listed?,
    };
    let length = text.len();
    message.raw = Raw::new(wire, text, 0..length);
    Some(message)
}

struct Source<'a> {
    text: &'a Arc<String>,
}

impl Source<'_> {
    /// Returns the byte offset of a piece of the text.
    fn offset(&self, piece: &str) -> usize {
        (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn error(&self, piece: &str, text: Phrase) -> ParseError {
        ParseError::at(self.text, self.offset(piece), text)
    }

    fn raw(&self, wire: Wire, piece: &str) -> Option<Raw> {
        let start = self.offset(piece);
        Raw::new(wire, Arc::clone(self.text), start..start + piece.len())
    }

    fn bare_list(&self, list: &str, wire: Option<Wire>) -> Result<Conversation, ParseError> {
        let elements = json::elements(list).ok_or_else(|| {
            self.error(
                list,
                phrase!("parse-no-list", "not a conversation: expected a list of messages"),
            )
        })?;
        let wire = wire.unwrap_or_else(|| detect::list(&elements));
        let mut conversation = Conversation::empty(wire);
        self.read_list(&mut conversation, &elements)?;
        Ok(conversation)
    }

    fn body(&self, body: &str, wire: Option<Wire>) -> Result<Conversation, ParseError> {
        let fields = Fields::parse(body).unwrap_or_default();
        let wire = wire.or_else(|| detect::body(&fields)).ok_or_else(|| {
            self.error(
                body,
                phrase!(
                    "parse-no-field",
                    "not a conversation: no field \"messages\", \"input\" or \"contents\""
                ),
            )
        })?;
        let format = format(wire);
        let name = format.list_field();
        let list = fields.get(name).ok_or_else(|| {
            self.error(
                body,
                phrase!(
                    "parse-no-field-of-wire",
                    "not a conversation: no field {name:?}, which holds the messages of {wire}",
                    name = name,
                    wire = wire.name()
                ),
            )
        })?;
        let mut conversation = Conversation::empty(wire);
        let string = |name: &str| fields.get(name).and_then(json::string).map(|lossy| lossy.text);
        let number = || {
            fields
                .get("id")
                .filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
                .map(str::to_owned)
        };
        conversation.id = string("id").or_else(number).or_else(|| string("session_id"));
        conversation.model = string("model");
        self.read_system(&mut conversation, format, &fields);
        let tools = fields.get("tools").and_then(json::elements).unwrap_or_default();
        conversation.tools = tools
            .into_iter()
            .filter_map(Fields::parse)
            .flat_map(|entry| format.tools(&entry))
            .collect();
        self.read_list(&mut conversation, &self.messages_of(list, format)?)?;
        if ["previous_response_id", "conversation"]
            .iter()
            .any(|name| fields.get(name).is_some_and(|v| !json::is_null(v)))
        {
            let text = phrase!(
                "warning-stored-elsewhere",
                "the request continues a conversation stored by the provider; its earlier messages \
                 are not available here"
            );
            conversation.warnings.push(Warning::new(WarningKind::OrphanResult, text));
        }
        Ok(conversation)
    }

    /// Splits the value of the field that holds the messages.
    fn messages_of<'b>(
        &self,
        list: &'b str,
        format: &dyn Format,
    ) -> Result<Vec<&'b str>, ParseError> {
        match json::elements(list) {
            Some(elements) => Ok(elements),
            None if format.takes_text_for_list() && json::string(list).is_some() => Ok(vec![list]),
            None => Err(self.error(
                list,
                phrase!(
                    "parse-field-no-list",
                    "not a conversation: {name:?} is not a list of messages",
                    name = format.list_field()
                ),
            )),
        }
    }

    fn read_system(
        &self,
        conversation: &mut Conversation,
        format: &dyn Format,
        fields: &Fields<'_>,
    ) {
        let found = format.system_fields().iter().find_map(|name| fields.get(name));
        let Some(value) = found.filter(|value| !json::is_null(value)) else { return };
        let mut reader = Reader::default();
        if let Some(mut message) = format.system(value, &mut reader) {
            message.raw = self.raw(conversation.wire, value);
            conversation.push(message, reader);
            conversation.outside = 1;
        }
    }

    fn read_list(
        &self,
        conversation: &mut Conversation,
        elements: &[&str],
    ) -> Result<(), ParseError> {
        conversation.messages.reserve_exact(elements.len());
        let format = format(conversation.wire);
        for (at, element) in elements.iter().enumerate() {
            let mut reader = Reader::default();
            let mut message = format.message(element, &mut reader).map_err(|refusal| {
                let text = phrase!(
                    "parse-message",
                    "not a conversation: message {number}: {cause}",
                    number = (at + 1).to_string(),
                    cause = refusal.0
                );
                self.error(element, text)
            })?;
            message.raw = self.raw(conversation.wire, element);
            conversation.push(message, reader);
        }
        Ok(())
    }
}

impl Conversation {
    const fn empty(wire: Wire) -> Self {
        Self {
            wire,
            id: None,
            model: None,
            messages: Vec::new(),
            outside: 0,
            tools: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Creates a conversation that was not parsed from the JSON of a wire.
    #[must_use]
    pub fn of(
        wire: Wire,
        id: String,
        model: Option<String>,
        messages: Vec<Message>,
        tools: Vec<Tool>,
    ) -> Self {
        Self { id: Some(id), model, messages, tools, ..Self::empty(wire) }
    }

    fn push(&mut self, message: Message, reader: Reader) {
        let at = self.messages.len();
        self.warnings.extend(
            reader.irregularities.into_iter().map(|(kind, text)| Warning::at(at, kind, text)),
        );
        self.messages.push(message);
    }

    /// Iterates over the messages of the list as JSON text.
    pub fn list(&self) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .skip(self.outside)
            .filter_map(|message| message.raw.as_ref())
            .map(Raw::as_str)
    }
}
