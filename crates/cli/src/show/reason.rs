//! Reasons in the chosen language. The libraries write them in English, also into the log.

use fluent_bundle::FluentArgs;
use waterline::reason::Reason;
use waterline_config::Lang;

use crate::lang;

/// What joins two reasons.
const JOINTS: [&str; 2] = ["; ", ": "];

/// Returns a reason in the chosen language; one that is not known is returned as it is.
pub fn reason(text: &str) -> String {
    known(text).unwrap_or_else(|| text.to_owned())
}

/// Returns a reason, or several that are joined.
fn known(text: &str) -> Option<String> {
    if let Some(reason) = Reason::read(text) {
        let mut arguments = FluentArgs::new();
        for (name, number) in reason.numbers() {
            arguments.set(name, number);
        }
        return lang::find(&format!("reason-{}", reason.id()), &arguments);
    }
    JOINTS.iter().find_map(|joint| {
        text.match_indices(joint).find_map(|(at, _)| {
            let (first, rest) = (text.get(..at)?, text.get(at + joint.len()..)?);
            Some(format!("{}{}{}", known(first)?, joint_of(joint), known(rest)?))
        })
    })
}

fn joint_of(joint: &str) -> String {
    let id = if joint == "; " { "reason-and" } else { "reason-then" };
    // A text does not start or end with white space, so the spaces are in the code.
    match lang::lang() {
        Lang::En => joint.to_owned(),
        Lang::Zh => lang::find(id, &FluentArgs::new()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_reasons_are_found() {
        let texts = [
            "12,300 messages of someone else",
            "the task; truncated in the middle",
            "the provider rejected 9000 tokens; assuming a window of 8192 tokens: folded",
        ];
        let expected = [
            "12,300 messages of someone else",
            "the task; truncated in the middle",
            "the provider rejected 9,000 tokens; assuming a window of 8,192 tokens: folded",
        ];
        assert_eq!(texts.map(reason), expected.map(str::to_owned));
    }

    /// Every reason has a text in both languages.
    #[test]
    fn every_reason_is_in_the_catalogues() {
        for id in Reason::IDS {
            for lang in [Lang::En, Lang::Zh] {
                let found = lang::find_in(lang, &format!("reason-{id}"), &FluentArgs::new());
                assert!(found.is_some(), "reason-{id}");
            }
        }
    }
}
