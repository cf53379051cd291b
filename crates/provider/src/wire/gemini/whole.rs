//! Splits a whole response into the events of a stream.

use waterline::json::{self, Fields};

/// Returns the response, which has the form of an event, or the responses of a list: without
/// `alt=sse`, Gemini streams a JSON array.
pub(super) fn events(body: &str) -> Vec<String> {
    let list = json::elements(body).unwrap_or_else(|| vec![body]);
    let is_response = |json: &&str| {
        let names = ["candidates", "promptFeedback"];
        Fields::parse(json)
            .is_some_and(|fields| names.iter().any(|name| fields.get(name).is_some()))
    };
    if !list.iter().all(is_response) {
        return Vec::new();
    }
    list.into_iter().map(str::to_owned).collect()
}
