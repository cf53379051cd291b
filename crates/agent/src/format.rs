//! Answers that must have a form: JSON that fits a schema.

use serde_json::Value;

/// The schema in a response format, as the agents of the seeds and as OpenAI write it; none where any answer will do.
fn schema(format: &Value) -> Option<&Value> {
    if format.is_null() {
        return None;
    }
    let wrapped = format.pointer("/json_schema/schema").or_else(|| format.get("schema"));
    Some(wrapped.unwrap_or(format))
}

/// What the model is told about the form.
pub(crate) fn request(format: &Value) -> Option<String> {
    schema(format).map(|schema| format!("[Answer with nothing but JSON that fits this schema: {schema}]"))
}

/// Whether an answer has its form; if not, why.
pub(crate) fn check(format: &Value, answer: &str) -> Result<(), String> {
    let Some(schema) = schema(format) else { return Ok(()) };
    let value: Value = serde_json::from_str(bare(answer)).map_err(|error| format!("it is no JSON ({error})"))?;
    let validator = jsonschema::validator_for(schema).map_err(|error| format!("the schema cannot be used: {error}"))?;
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(3)
        .map(|error| {
            let at = error.instance_path().to_string();
            if at.is_empty() { error.to_string() } else { format!("{at}: {error}") }
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

/// The JSON of an answer, without the fence that models put around it.
pub(crate) fn bare(answer: &str) -> &str {
    let text = answer.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.map_or(text, |inner| inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_held_to_its_schema() {
        let format = json!({"type": "json_schema", "json_schema": {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}});
        assert_eq!(check(&format, "```json\n{\"n\": 4}\n```"), Ok(()));
        assert!(check(&format, "{\"n\": \"four\"}").unwrap_err().contains("/n"));
        assert!(check(&format, "four").unwrap_err().contains("no JSON"));
        assert_eq!(check(&Value::Null, "anything"), Ok(()));
        assert!(request(&format).unwrap().contains("\"required\":[\"n\"]"));
    }
}
