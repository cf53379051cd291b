//! The directories that agents use: workspaces, skills and roles of the user and of the project.

use std::path::PathBuf;

use waterline_agent::role::{self, Role};
use waterline_sandbox::small_file::Directory;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::notice::Notice;

/// The directory in a project that holds skills and roles.
const PROJECT_DIRECTORY: &str = ".waterline";

/// Returns the directory of the workspaces.
///
/// # Errors
/// When neither it nor a data directory is set.
pub fn workspaces(config: &Config) -> Result<PathBuf, ConfigError> {
    match &config.settings.agent.workspaces {
        Some(directory) => Ok(directory.clone()),
        None => Ok(config.environment.data_directory()?.join("workspaces")),
    }
}

/// Returns the directories of skills: the user's, then the project's.
#[must_use]
pub fn skill_directories(environment: &Environment) -> Vec<Directory> {
    let user =
        environment.user_directory().map(|directory| Directory::own(directory.join("skills")));
    user.into_iter().chain([project_directory("skills", environment)]).collect()
}

/// Returns the project's directory of skills or roles.
fn project_directory(kind: &str, environment: &Environment) -> Directory {
    Directory::of_project(environment.directory(), PathBuf::from(PROJECT_DIRECTORY).join(kind))
}

/// Returns the built-in roles, the user's roles, and those roles of the project whose names are
/// free. A project, perhaps from someone else, cannot replace a role of the user.
///
/// # Errors
/// When one of the user's roles is invalid.
pub fn roles(environment: &Environment) -> Result<(Vec<Role>, Vec<Notice>), ConfigError> {
    let mut notices = Vec::new();
    let user = environment.user_directory().map(|directory| directory.join("roles"));
    let mut all = role::find(user.as_slice())?;
    let project = match role::read(&project_directory("roles", environment)) {
        Ok(project) => project,
        Err(error) => {
            notices.push(Notice::Roles(error.into()));
            Vec::new()
        }
    };
    for role in project {
        if all.iter().any(|known| known.name == role.name) {
            notices.push(Notice::RoleTaken(role.name));
        } else {
            all.push(role);
        }
    }
    Ok((all, notices))
}
