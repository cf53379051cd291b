//! Texts of the libraries in the chosen language. The libraries display them in English, also in
//! JSON.

use fluent_bundle::FluentArgs;
use waterline::phrase::{Phrase, Value};

use crate::foreign::foreign;
use crate::lang::{self, relist};
use crate::printable::plain;

/// The values that are lists.
const LISTS: [&str; 3] = ["ids", "known", "names"];

/// Returns a text of a library in the chosen language; one without a translation is returned as it
/// is.
pub fn phrase(phrase: &Phrase) -> String {
    let mut arguments = FluentArgs::new();
    for (name, value) in phrase.values() {
        match value {
            Value::Number(number) => arguments.set(*name, *number),
            Value::Phrase(inner) => arguments.set(*name, self::phrase(inner)),
            list if LISTS.contains(name) => arguments.set(*name, plain(&relist(&list.to_string()))),
            other => arguments.set(*name, plain(&other.to_string())),
        }
    }
    let translated = (!phrase.id().is_empty()).then(|| lang::find(phrase.id(), &arguments));
    translated.flatten().unwrap_or_else(|| plain(&foreign(phrase.as_str())))
}
