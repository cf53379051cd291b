//! Structured output: answers that must match a JSON schema. The schema is part of the session's
//! state, so that it survives a restart; it applies until its turn ends.

use std::error::Error;
use std::fmt;

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::{Value, json};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_provider::wire::Shape;

use crate::error::AgentError;

/// How many characters of an invalid schema an error shows.
const SHOWN_CHARS: usize = 60;

/// The schema that an answer must match.
#[derive(Debug)]
pub struct AnswerSchema {
    shape: Shape,
    validator: Validator,
}

/// Parses a schema: a plain JSON schema, or one wrapped as OpenAI and other agents write it.
/// Returns `None` if any answer is allowed.
///
/// # Errors
/// When the schema is invalid.
pub fn read(given: &Value) -> Result<Option<AnswerSchema>, AgentError> {
    if given.is_null() {
        return Ok(None);
    }
    let wrapped = given.pointer("/json_schema/schema").or_else(|| given.get("schema"));
    let schema = match (given.get("type").and_then(Value::as_str), wrapped) {
        (Some("text"), _) => return Ok(None),
        (_, Some(schema)) => schema,
        (Some("json_object" | "json"), None) => {
            let validator = validator(&json!({"type": "object"}))?;
            return Ok(Some(AnswerSchema { shape: Shape::Object, validator }));
        }
        (Some("json_schema"), None) => {
            return Err(invalid(phrase!(
                "schema-missing",
                "the type json_schema requires a schema"
            )));
        }
        (_, None) => given,
    };
    if !schema.is_object() {
        let shown: String = schema.to_string().chars().take(SHOWN_CHARS).collect();
        return Err(invalid(phrase!(
            "schema-not-one",
            "{shown} is not a JSON schema",
            shown = shown
        )));
    }
    let validator = validator(schema)?;
    let strict = given
        .pointer("/json_schema/strict")
        .or_else(|| given.get("strict"))
        .and_then(Value::as_bool);
    Ok(Some(AnswerSchema {
        shape: Shape::Schema { schema: schema.to_string(), strict },
        validator,
    }))
}

impl AnswerSchema {
    /// Returns the instruction for the model. It stays in the history, so it says that it applies
    /// to one answer only.
    pub(crate) fn request(&self) -> String {
        let what = match &self.shape {
            Shape::Object => "a JSON object".to_owned(),
            Shape::Schema { schema, .. } => format!("JSON that matches this schema: {schema}"),
        };
        format!("[For the answer to this message only: reply with nothing but {what}]")
    }

    /// Returns the schema in the form that is sent with the request.
    pub(crate) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Checks an answer; the error says why it does not match.
    pub(crate) fn check(&self, answer: &str) -> Result<(), Phrase> {
        let value: Value =
            serde_json::from_str(bare(answer)).map_err(|error| answer_not_json(&error))?;
        let mut errors = self.validator.errors(&value);
        errors.truncate(3);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ").into()) }
    }
}

fn answer_not_json(error: &serde_json::Error) -> Phrase {
    let error = Phrase::from(error.to_string());
    phrase!("answer-not-json", "it is not valid JSON ({error})", error = error)
}

/// Returns the JSON of an answer, without the code fence that models put around it.
pub(crate) fn bare(answer: &str) -> &str {
    let text = answer.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.map_or(text, |inner| inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}

/// A compiled schema.
struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

impl Validator {
    /// Returns the mismatches, each with its path in the value.
    fn errors(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.root) {
            collect(&error, &mut found);
        }
        found
    }
}

/// Refuses to load other documents: a schema must not make the program read files.
struct NoDocuments;

impl UrlLoader for NoDocuments {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is outside the schema").into())
    }
}

fn validator(schema: &Value) -> Result<Validator, AgentError> {
    const NAME: &str = "schema:answer";
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoDocuments));
    let mut schemas = Schemas::new();
    compiler
        .add_resource(NAME, schema.clone())
        .map_err(|error| invalid(error.to_string().into()))?;
    let root =
        compiler.compile(NAME, &mut schemas).map_err(|error| invalid(error.to_string().into()))?;
    Ok(Validator { schemas, root })
}

/// Collects the innermost errors: those around them only say that something below does not fit.
fn collect(error: &ValidationError<'_, '_>, found: &mut Vec<String>) {
    if error.causes.is_empty() {
        let at = error.instance_location.to_string();
        let text = error.kind.to_string();
        found.push(if at.is_empty() { text } else { format!("{at}: {text}") });
    }
    error.causes.iter().for_each(|cause| collect(cause, found));
}

fn invalid(why: Phrase) -> AgentError {
    AgentError::Setting(phrase!(
        "setting-schema",
        "invalid answer schema: {why}; expected a JSON schema, or {{\"type\": \"json_object\"}} \
         for any object",
        why = why
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_of(given: &Value) -> AnswerSchema {
        read(given).unwrap().unwrap()
    }

    #[test]
    fn answers_are_checked_against_the_schema() {
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        for given in [
            schema.clone(),
            json!({"schema": schema}),
            json!({"type": "json_schema", "name": "n", "schema": schema}),
            json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}),
        ] {
            let read = schema_of(&given);
            assert_eq!(read.check("```json\n{\"n\": 4}\n```"), Ok(()), "{given}");
            assert!(
                read.check("{\"n\": \"four\"}").unwrap_err().as_str().contains("/n"),
                "{given}"
            );
            assert!(read.check("four").unwrap_err().as_str().contains("not valid JSON"), "{given}");
            assert!(read.request().contains("\"required\":[\"n\"]"), "{given}");
            assert_eq!(
                *read.shape(),
                Shape::Schema { schema: schema.to_string(), strict: None },
                "{given}"
            );
        }
        let strict =
            json!({"type": "json_schema", "json_schema": {"strict": true, "schema": schema}});
        assert_eq!(
            *schema_of(&strict).shape(),
            Shape::Schema { schema: schema.to_string(), strict: Some(true) }
        );
    }

    #[test]
    fn any_object_or_any_answer_can_be_requested() {
        let object = schema_of(&json!({"type": "json_object"}));
        assert_eq!((object.check("{}"), object.shape()), (Ok(()), &Shape::Object));
        assert!(object.check("[]").is_err() && object.request().contains("a JSON object"));
        for any in [Value::Null, json!({"type": "text"})] {
            assert!(read(&any).unwrap().is_none(), "{any}");
        }
    }

    #[test]
    fn invalid_schemas_are_rejected() {
        for wrong in [
            json!({"type": 12}),
            json!("x"),
            json!([]),
            json!(true),
            json!({"type": "json_schema"}),
            json!({"type": "json_schema", "json_schema": {"schema": {"type": "objekt"}}}),
            json!({"$ref": "#/$defs/nowhere"}),
            json!({"$ref": "file:///etc/hostname"}),
        ] {
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains("invalid answer schema"), "{wrong}: {error}");
        }
    }

    #[test]
    fn code_fences_are_not_part_of_the_answer() {
        for answer in [
            "{\"n\": 4}",
            " {\"n\": 4}\n",
            "```\n{\"n\": 4}\n```",
            "```json\n{\"n\": 4}\n```\n",
            "```json{\"n\": 4}```",
        ] {
            assert_eq!(bare(answer), "{\"n\": 4}", "{answer}");
        }
    }
}
