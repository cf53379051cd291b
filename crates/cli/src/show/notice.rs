//! Notices about settings and sessions.

use waterline_agent::StartNotice;
use waterline_config::Notice;
use waterline_session::{LiveSession, WindowSource};

use super::plain;
use crate::text;

/// Returns the text of a notice about settings.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Narrowed { key, file, wanted, allowed } => text!(
            "notice-narrowed",
            key = key.as_str(),
            file = *file,
            wanted = wanted.as_str(),
            allowed = allowed.as_str()
        ),
        Notice::UntrustedModel { key, model } => {
            text!("notice-untrusted-model", key = *key, model = model.as_str())
        }
        Notice::ProjectAddress(address) => {
            text!("notice-project-address", address = plain(address))
        }
        Notice::KeyFromEnvFile(name) => text!("notice-key-from-env", name = *name),
        Notice::UnusedVariable { variable, preset, policy } => text!(
            "notice-unused-variable",
            variable = *variable,
            preset = preset.as_str(),
            policy = policy.as_str()
        ),
        Notice::Fallback { model, why } => {
            text!("notice-fallback", model = model.as_str(), why = why.as_str())
        }
        Notice::Unconfined(why) => text!("notice-unconfined", why = why.as_str()),
        Notice::RoleTaken(name) => text!("notice-role-taken", name = name.as_str()),
        other => other.to_string(),
    }
}

/// Returns the notice that the window of a session's model is a guess, if it is.
pub fn window_guess(live: &LiveSession) -> Option<String> {
    let model = live.model();
    let name = model.name.as_str();
    (model.window_source == WindowSource::Guess)
        .then(|| text!("window-guess", model = name, window = live.window()))
}

/// Returns the text of a notice that a session keeps something other than the flags ask for.
pub fn kept(kept: &StartNotice) -> String {
    match kept {
        StartNotice::Prompt => text!("kept-prompt"),
        StartNotice::Role { own, asked } => {
            text!("kept-role", own = own.as_str(), asked = asked.as_str())
        }
        StartNotice::PromptInRole(role) => text!("kept-prompt-in-role", role = role.as_str()),
        StartNotice::Model { before, now } => {
            text!("kept-model", before = before.as_str(), now = now.as_str())
        }
        other => other.to_string(),
    }
}
