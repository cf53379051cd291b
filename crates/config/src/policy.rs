//! Loads policies by name or from a file.

use std::path::Path;

use waterline::policy::{Policy, Preset};
use waterline_sandbox::small_file;

use crate::config::Config;
use crate::error::ConfigError;
use crate::seed;

/// Loads a preset by its name, or a policy from a file, and applies `settings` to it. Seed values
/// set keys of their presets; `settings` win over them.
///
/// A file that only the project names must be in the project. An error quotes the content of a file
/// only if the user chose it: the project, or the session, may name any file of the user.
///
/// # Errors
/// When there is no such policy, or a key or a value does not fit it.
pub fn load(
    name: &str,
    settings: &[(String, String)],
    config: &Config,
) -> Result<Policy, ConfigError> {
    let is_own = config.own_policies.contains(name);
    let looks_like_file = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if looks_like_file || Preset::named(name).is_err() && Path::new(name).is_file() {
        let read = match !is_own && config.project_policies.contains(name) {
            true => small_file::read_inside(config.environment.directory(), Path::new(name)),
            false => small_file::read(Path::new(name)),
        };
        let text =
            read.map_err(|source| ConfigError::PolicyFile { name: name.to_owned(), source })?;
        return Policy::read(&text, settings).map_err(|source| match is_own {
            true => ConfigError::PolicyText { name: name.to_owned(), source },
            false => ConfigError::ForeignPolicy { name: name.to_owned() },
        });
    }
    let mut all = seed::settings(name, &config.settings.seeds)?;
    all.extend_from_slice(settings);
    Ok(Policy::preset_with(name, &all)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn a_project_cannot_make_an_error_show_a_file_of_the_user() {
        let temp = tempfile::tempdir().unwrap();
        let (home, project) = (temp.path().join("home"), temp.path().join("project"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        let secret = home.join("credentials");
        std::fs::write(&secret, "https://user:TOKEN123@host.example\n").unwrap();
        std::fs::write(project.join("secrets"), "https://user:TOKEN123@host.example\n").unwrap();
        std::fs::write(project.join("good.toml"), "stages = []\n").unwrap();
        std::os::unix::fs::symlink(&secret, project.join("link.toml")).unwrap();
        let absolute = secret.display().to_string();
        let outside = [absolute.as_str(), "../home/credentials", "./link.toml", "./secrets"];
        for name in outside {
            let texts = [format!("policy = {name:?}"), format!("[models.m]\npolicy = {name:?}")];
            for text in texts {
                std::fs::write(project.join("waterline.toml"), text).unwrap();
                let environment = Environment::new(&project, [("HOME", &home)]);
                let config = Config::load(Arc::new(environment)).unwrap();
                let error = load(name, &[], &config).unwrap_err().full_text();
                assert!(!error.contains("TOKEN") && !error.contains("host.example"), "{error}");
            }
        }
        let environment = Environment::new(&project, [("HOME", &home)]);
        let config = Config::empty(Arc::new(environment)).with_own_policy(Some(&absolute));
        let error = load(&absolute, &[], &config).unwrap_err().full_text();
        assert!(error.contains("host.example"), "the user's own choice is quoted: {error}");
    }
}
