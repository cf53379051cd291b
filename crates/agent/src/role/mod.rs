//! Roles: an agent with a model, a policy, a prompt and tools of its own, as TOML; and the hand-off
//! of work from one to another.

mod hand_off;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use waterline::policy::Policy;

pub use hand_off::{Transfer, transfer};

use crate::error::AgentError;
use waterline_sandbox::small_file::Folder;

/// The shipped roles.
const SHIPPED: [&str; 2] = [
    include_str!("../../presets/roles/init.toml"),
    include_str!("../../presets/roles/execute.toml"),
];

/// A role.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// Its model; the one that is asked anyway if none is named.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens its prompts may take.
    #[serde(default)]
    pub window: Option<usize>,
    /// Its policy.
    #[serde(default)]
    policy: Option<String>,
    /// Keys of the policy that are set otherwise, its summary's schema for example.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// Its system prompt.
    #[serde(default)]
    pub prompt: String,
    /// Its tools; all if none are named.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// The roles it can hand its work to.
    #[serde(default)]
    pub hands_to: Vec<String>,
}

impl Role {
    /// Reads a role.
    ///
    /// # Errors
    /// When it is not one.
    pub fn read(text: &str) -> Result<Self, AgentError> {
        let role: Self = toml::from_str(text)
            .map_err(|error| AgentError::Setting(format!("a role cannot be used: {error}")))?;
        role.policy()?;
        Ok(role)
    }

    /// Its policy, if it has one.
    ///
    /// # Errors
    /// When there is no such policy, or a key does not fit.
    pub fn policy(&self) -> Result<Option<Policy>, AgentError> {
        if self.policy.is_none() && self.set.is_empty() {
            return Ok(None);
        }
        let settings: Vec<(String, String)> =
            self.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let policy = Policy::preset_with(self.policy.as_deref().unwrap_or("auto"), &settings);
        policy
            .map(Some)
            .map_err(|error| AgentError::Setting(format!("role {}: {error}", self.name)))
    }
}

/// The shipped roles and those in folders of the user's own; one of a later folder replaces an
/// earlier one of its name.
///
/// # Errors
/// When a file is no role.
pub fn find(folders: &[PathBuf]) -> Result<Vec<Role>, AgentError> {
    let mut roles = SHIPPED.iter().map(|text| Role::read(text)).collect::<Result<Vec<_>, _>>()?;
    for folder in folders {
        for role in read(&Folder::own(folder))? {
            roles.retain(|known| known.name != role.name);
            roles.push(role);
        }
    }
    Ok(roles)
}

/// The roles in one folder.
///
/// # Errors
/// When a file is no role.
pub fn read(folder: &Folder) -> Result<Vec<Role>, AgentError> {
    let mut paths = folder.entries();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    let role = |path: &PathBuf| {
        let text = folder.read(path).map_err(|error| AgentError::Setting(error.to_string()))?;
        Role::read(&text)
            .map_err(|error| AgentError::Setting(format!("{}: {error}", path.display())))
    };
    paths.iter().map(role).collect()
}

/// The role of a name.
///
/// # Errors
/// When there is none; the message names those there are.
pub fn named<'a>(roles: &'a [Role], name: &str) -> Result<&'a Role, AgentError> {
    roles.iter().find(|role| role.name == name).ok_or_else(|| {
        let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
        AgentError::Setting(format!("no role is called {name:?}; there are {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1.2 to S1.5: two roles, one mechanism, other numbers.
    #[test]
    fn s1_1_the_shipped_roles_differ_in_their_settings_only() {
        let roles = find(&[]).unwrap();
        let (init, execute) = (named(&roles, "init").unwrap(), named(&roles, "execute").unwrap());
        assert_eq!((init.window, execute.window), (Some(200_000), Some(1_000_000)));
        assert_eq!(init.policy().unwrap().unwrap().name, "init");
        assert_eq!(execute.policy().unwrap().unwrap().name, "execute");
        assert_eq!(
            (init.hands_to.as_slice(), execute.hands_to.as_slice()),
            (&["execute".to_owned()][..], &["init".to_owned()][..])
        );
        assert!(named(&roles, "chef").unwrap_err().to_string().contains("init, execute"));
    }
}
