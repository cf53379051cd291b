//! Approval of addresses that come with a project. Its `waterline.toml`, perhaps from someone else,
//! may set the address of a model, and the whole conversation is sent there. Each address is shown,
//! and the user approves it once per directory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use waterline_sandbox::small_file;

use crate::config::Config;
use crate::error::ConfigError;
use crate::notice::Notice;

/// The file in the data directory that stores the approved addresses.
const FILE: &str = "trusted.json";

/// The approved addresses, by project directory.
type Approved = BTreeMap<String, BTreeSet<String>>;

/// Returns the addresses that come from the project's file.
fn addresses(config: &Config) -> BTreeSet<&str> {
    let settings = &config.settings;
    let main = settings.base_url.as_deref().filter(|_| settings.is_untrusted);
    let of_models = settings
        .models
        .values()
        .filter(|model| model.is_untrusted)
        .filter_map(|model| model.base_url.as_deref());
    main.into_iter().chain(of_models).collect()
}

/// Returns the notices that the user should see before anything is sent: settings that do not take
/// effect, and each address that comes from the project's file.
#[must_use]
pub fn notices(config: &Config) -> Vec<Notice> {
    let named =
        addresses(config).into_iter().map(|address| Notice::ProjectAddress(address.to_owned()));
    config.notices.iter().cloned().chain(named).collect()
}

/// Returns the addresses of the project's file that the user has not approved for this directory.
/// Addresses on this machine need approval too: any program may listen there.
///
/// # Errors
/// When the working directory cannot be resolved.
pub fn unapproved(config: &Config) -> Result<Vec<&str>, ConfigError> {
    let named: Vec<&str> = addresses(config).into_iter().collect();
    if named.is_empty() {
        return Ok(named);
    }
    let directory = std::fs::canonicalize(config.environment.directory())?;
    let all = file(config).as_deref().map(approved).unwrap_or_default();
    // Nothing is stored for a directory whose name is not UTF-8: it could be mistaken for another.
    let known =
        directory.to_str().and_then(|directory| all.get(directory)).cloned().unwrap_or_default();
    Ok(named.into_iter().filter(|address| !known.contains(*address)).collect())
}

/// Stores addresses as approved for this directory. Does nothing without a data directory.
///
/// # Errors
/// When the file of approved addresses cannot be written.
pub fn approve(config: &Config, addresses: &[&str]) -> Result<(), ConfigError> {
    let directory = std::fs::canonicalize(config.environment.directory())?;
    let (Some(file), Some(directory)) = (file(config), directory.to_str()) else { return Ok(()) };
    let mut all = approved(&file);
    all.entry(directory.to_owned())
        .or_default()
        .extend(addresses.iter().map(|address| (*address).to_owned()));
    write_private(&file, &all).map_err(|source| ConfigError::Approvals { path: file, source })
}

/// Returns the path of the file of approved addresses, if there is a data directory.
fn file(config: &Config) -> Option<PathBuf> {
    config.environment.data_directory().ok().map(|directory| directory.join(FILE))
}

/// Reads the approved addresses. A file that cannot be read approves nothing.
fn approved(file: &Path) -> Approved {
    small_file::read(file)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Writes a value as JSON, atomically and readable only by the owner.
pub(crate) fn write_private(file: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    make_private(directory)?;
    let mut draft = tempfile::NamedTempFile::new_in(directory)?;
    draft.write_all(serde_json::to_string_pretty(value)?.as_bytes())?;
    draft.persist(file)?;
    Ok(())
}

/// Creates a directory that only its owner can read.
///
/// # Errors
/// When it cannot be created.
pub fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use waterline_provider::address::is_local;

    use super::*;

    #[test]
    fn only_loopback_addresses_are_local() {
        for local in [
            "http://127.0.0.1:8080",
            "http://127.9.9.9",
            "http://localhost:1/v1",
            "https://[::1]",
            "HTTP://LOCALHOST",
        ] {
            assert!(is_local(local), "{local}");
        }
        for other in [
            "https://models.example",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1@evil.example",
            "http://evil.example#127.0.0.1",
            "http://192.168.0.1",
            "http://0.0.0.0",
            "http://[::ffff:10.0.0.1]",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn approvals_are_stored_for_the_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("data").join(FILE);
        assert!(approved(&file).is_empty());
        let all = Approved::from([(
            "/srv/tide".to_owned(),
            BTreeSet::from(["https://models.example".to_owned()]),
        )]);
        write_private(&file, &all).unwrap();
        assert_eq!(approved(&file), all);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "not json").unwrap();
        assert!(approved(&file).is_empty());
    }
}
