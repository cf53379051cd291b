//! Why a call needs approval, in the chosen language.

use std::path::PathBuf;

use fluent_bundle::FluentArgs;
use waterline_agent::{ApprovalReason, RiskCause};

use crate::lang::{self, list};
use crate::text;

/// Returns the reason why a call needs approval.
pub fn approval_reason(reason: &ApprovalReason) -> String {
    match reason {
        ApprovalReason::EveryCall => text!("approval-every-call"),
        ApprovalReason::Rule => text!("approval-rule"),
        ApprovalReason::Risk { level, cause } => {
            text!("approval-risk", level = level.name(), why = risk_cause(cause))
        }
        ApprovalReason::FirstChange(paths) => text!("approval-first-change", paths = join(paths)),
        ApprovalReason::CommandChange(paths) => {
            text!("approval-command-change", paths = join(paths))
        }
        other => other.to_string(),
    }
}

fn risk_cause(cause: &RiskCause) -> String {
    match cause {
        RiskCause::Pattern { id, about } => {
            let known = lang::find(&format!("risk-{id}"), &FluentArgs::new());
            known.unwrap_or_else(|| about.clone())
        }
        RiskCause::Unparsed => text!("approval-unparsed"),
        RiskCause::Unsandboxed => text!("approval-unsandboxed"),
        RiskCause::Repository => text!("approval-repository"),
        RiskCause::Protected(paths) => text!("approval-protected", paths = list(paths)),
        RiskCause::OwnDirectories => text!("approval-own-directories"),
        RiskCause::Sandboxed => text!("approval-sandboxed"),
        RiskCause::Network => text!("approval-network"),
        RiskCause::HandOff => text!("approval-hand-off"),
        RiskCause::AsksUser => text!("approval-asks-user"),
        RiskCause::Delegates => text!("approval-delegates"),
        other => other.to_string(),
    }
}

fn join(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    list(&shown)
}

#[cfg(test)]
mod tests {
    use waterline_agent::Risk;
    use waterline_config::Lang;

    use super::*;

    /// The English texts of the catalog are those of the library.
    #[test]
    fn reasons_are_the_same_in_the_library_and_the_catalog() {
        let medium = |cause: RiskCause| ApprovalReason::Risk { level: Risk::Medium, cause };
        let reasons = [
            ApprovalReason::EveryCall,
            ApprovalReason::Rule,
            ApprovalReason::FirstChange(vec!["/srv/tide".into(), "/srv/ebb".into()]),
            ApprovalReason::CommandChange(vec!["/srv/tide".into()]),
            "it is mine: really".into(),
            medium(RiskCause::Unparsed),
            medium(RiskCause::Unsandboxed),
            medium(RiskCause::Protected(vec![".git".to_owned()])),
            medium(RiskCause::Repository),
            medium(RiskCause::OwnDirectories),
            medium(RiskCause::Sandboxed),
            medium(RiskCause::Network),
            medium(RiskCause::HandOff),
            medium(RiskCause::AsksUser),
            medium(RiskCause::Delegates),
        ];
        for reason in reasons {
            assert_eq!(approval_reason(&reason), reason.to_string());
        }
    }

    #[test]
    fn every_risk_is_in_the_catalogs() {
        let patterns = waterline_agent::Approval::default().patterns;
        assert!(patterns.len() > 20, "{}", patterns.len());
        for pattern in &patterns {
            let key = format!("risk-{}", pattern.id);
            let found = |lang| lang::find_in(lang, &key, &FluentArgs::new());
            assert_eq!(found(Lang::En).as_ref(), Some(&pattern.about), "{key}");
            assert!(found(Lang::Zh).is_some(), "{key}");
        }
    }
}
