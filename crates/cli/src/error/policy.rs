//! Errors of policies.

use waterline::policy::PolicyError;

use super::syntax::toml_error;
use crate::lang::relist;
use crate::phrase::phrase;
use crate::text;

pub(super) fn describe(error: &PolicyError) -> Option<String> {
    Some(match error {
        PolicyError::Syntax(cause) => text!("error-policy-syntax", cause = toml_error(cause)),
        PolicyError::UnknownPreset { name, known } => {
            text!("error-policy-preset", name = name.as_str(), known = relist(known))
        }
        PolicyError::UnknownStage { name, known } => {
            text!("error-policy-stage", name = name.as_str(), known = relist(known))
        }
        PolicyError::UnknownKey { key, known } => {
            text!("error-policy-key", key = key.as_str(), known = relist(known))
        }
        PolicyError::MissingKey { key, allowed } => {
            text!("error-policy-missing-key", key = key.as_str(), allowed = phrase(allowed))
        }
        PolicyError::BadValue { key, value, allowed } => text!(
            "error-policy-value",
            key = key.as_str(),
            value = value.as_str(),
            allowed = phrase(allowed)
        ),
        PolicyError::Contradiction(text) => phrase(text),
        _ => return None,
    })
}
