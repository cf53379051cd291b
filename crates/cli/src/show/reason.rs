//! The reasons of plans in the chosen language.

use fluent_bundle::FluentArgs;
use waterline::reason::{Reason, Reasons};
use waterline_config::Lang;

use crate::lang;

/// Returns reasons in the chosen language, joined.
pub fn reasons(reasons: &Reasons) -> String {
    let mut joined = String::new();
    let mut joint = String::new();
    for reason in reasons {
        joined.push_str(&joint);
        joined.push_str(&text(reason));
        joint = joint_after(reason);
    }
    joined
}

/// Returns a reason in the chosen language; a text of the user or of a model as it is.
fn text(reason: &Reason) -> String {
    let mut arguments = FluentArgs::new();
    for (name, number) in reason.numbers() {
        arguments.set(name, number);
    }
    let translated = match reason {
        Reason::Other(_) => None,
        known => lang::find(&format!("reason-{}", known.id()), &arguments),
    };
    translated.unwrap_or_else(|| reason.to_string())
}

/// Returns what separates a reason from the next one.
fn joint_after(reason: &Reason) -> String {
    let (id, english) = match reason.leads_to_next() {
        true => ("reason-then", ": "),
        false => ("reason-and", "; "),
    };
    // A text does not start or end with white space, so the spaces are in the code.
    match lang::lang() {
        Lang::En => english.to_owned(),
        Lang::Zh => lang::find(id, &FluentArgs::new()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_joined() {
        let rejected = Reason::Rejected { tokens: 9_000, window: 8_192 };
        let several = Reasons::from(rejected).and(Reason::Folded).and("12,300 of my own");
        assert_eq!(
            reasons(&several),
            "the provider rejected 9,000 tokens; assuming a window of 8,192 tokens: folded; \
             12,300 of my own"
        );
    }

    /// Every reason has a text in both languages.
    #[test]
    fn every_reason_is_in_the_catalogs() {
        for id in Reason::IDS {
            for lang in [Lang::En, Lang::Zh] {
                let found = lang::find_in(lang, &format!("reason-{id}"), &FluentArgs::new());
                assert!(found.is_some(), "reason-{id}");
            }
        }
    }
}
