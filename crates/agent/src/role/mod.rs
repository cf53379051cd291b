//! Roles: TOML files that give an agent its own model, policy, prompt and tools; and hand-offs
//! between them.

mod hand_off;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use waterline::policy::Policy;

pub use hand_off::{Transfer, transfer};

use crate::error::AgentError;
use crate::policy::{DEFAULT_POLICY, LoadPolicy, Policies};
use waterline::phrase;
use waterline_sandbox::small_file::Directory;

/// The files of the built-in roles.
const BUILT_IN: [&str; 2] = [
    include_str!("../../presets/roles/init.toml"),
    include_str!("../../presets/roles/execute.toml"),
];

/// A role of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The name that `--role`, mentions and hand-offs use.
    pub name: String,
    /// What the role is for.
    #[serde(default)]
    pub about: String,
    /// The model; `None` means the configured model.
    #[serde(default)]
    pub model: Option<String>,
    /// The window in tokens.
    #[serde(default)]
    pub window: Option<usize>,
    #[serde(default)]
    policy: Option<String>,
    /// Keys of the policy to override, for example the schema of its summary.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// The system prompt of the role; if empty, that of the configuration applies.
    #[serde(default)]
    pub prompt: String,
    /// The tools; `None` means all.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// The roles that this role may hand its work to.
    #[serde(default)]
    pub hands_to: Vec<String>,
}

impl Role {
    /// Parses a role.
    ///
    /// # Errors
    /// When the text is not a valid role.
    pub fn read(text: &str) -> Result<Self, AgentError> {
        let role: Self = toml::from_str(text).map_err(|error| AgentError::InvalidSetting {
            place: phrase!("setting-role", "invalid role"),
            cause: error.into(),
        })?;
        role.policy()?;
        Ok(role)
    }

    /// Returns the policy, if the role has one.
    ///
    /// # Errors
    /// When the policy does not exist, or a key is invalid.
    pub fn policy(&self) -> Result<Option<Policy>, AgentError> {
        self.policy_by(&Policies::default().load)
    }

    /// Returns the policy as `load` reads it, if the role has one.
    ///
    /// # Errors
    /// When the policy does not exist, or a key is invalid.
    pub fn policy_by(&self, load: &LoadPolicy) -> Result<Option<Policy>, AgentError> {
        if self.policy.is_none() && self.set.is_empty() {
            return Ok(None);
        }
        let settings: Vec<(String, String)> =
            self.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        load(self.policy.as_deref().unwrap_or(DEFAULT_POLICY), &settings).map(Some).map_err(
            |cause| AgentError::InvalidSetting {
                place: phrase!("setting-of-role", "role {name}", name = &self.name),
                cause,
            },
        )
    }
}

/// Returns the built-in roles and those in the given directories. A later role replaces an earlier
/// one of the same name.
///
/// # Errors
/// When a file is not a valid role.
pub fn find(directories: &[PathBuf]) -> Result<Vec<Role>, AgentError> {
    let mut roles = BUILT_IN.iter().map(|text| Role::read(text)).collect::<Result<Vec<_>, _>>()?;
    for directory in directories {
        for role in read(&Directory::own(directory))? {
            roles.retain(|known| known.name != role.name);
            roles.push(role);
        }
    }
    Ok(roles)
}

/// Returns the roles in a directory.
///
/// # Errors
/// When a file is not a valid role.
pub fn read(directory: &Directory) -> Result<Vec<Role>, AgentError> {
    let mut paths = directory.entries();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    let role = |path: &PathBuf| {
        let text = directory.read(path).map_err(|error| AgentError::Unusable(error.into()))?;
        Role::read(&text).map_err(|error| AgentError::InvalidSetting {
            place: path.display().to_string().into(),
            cause: error.into(),
        })
    };
    paths.iter().map(role).collect()
}

/// Returns the role with a name.
///
/// # Errors
/// When it does not exist; the message lists the known roles.
pub fn named<'a>(roles: &'a [Role], name: &str) -> Result<&'a Role, AgentError> {
    roles.iter().find(|role| role.name == name).ok_or_else(|| {
        let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
        AgentError::UnknownRole { name: name.to_owned(), known: names.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1.2 to S1.5: two roles with the same mechanism and different numbers.
    #[test]
    fn s1_1_the_shipped_roles_differ_only_in_their_settings() {
        let roles = find(&[]).unwrap();
        let init = named(&roles, "init").unwrap();
        let execute = named(&roles, "execute").unwrap();
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
