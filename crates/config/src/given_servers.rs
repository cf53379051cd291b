//! The addresses of model servers that the user of this machine gave. A log may come from someone
//! else, or be shared: an address in one of its sessions counts only if it is among these. They
//! are stored in the data directory.

use std::path::PathBuf;

use waterline_sandbox::small_file;

use crate::environment::Environment;
use crate::trust::write_private;

/// The file in the data directory that stores the addresses.
const FILE: &str = "servers.json";

/// The number of addresses that are stored, the newest: servers for tests may have any port.
const MOST: usize = 200;

/// Returns whether the user gave an address before.
pub(crate) fn is_given(environment: &Environment, address: &str) -> bool {
    read(environment).iter().any(|given| given == address)
}

/// Stores an address that the user gave. If that is not possible, sessions do not continue there by
/// themselves.
pub(crate) fn store(environment: &Environment, address: &str) {
    let Some(file) = file(environment) else { return };
    let mut all = read(environment);
    if all.iter().any(|given| given == address) {
        return;
    }
    all.push(address.to_owned());
    let newest = all.split_off(all.len().saturating_sub(MOST));
    drop(write_private(&file, &newest));
}

fn file(environment: &Environment) -> Option<PathBuf> {
    environment.data_directory().ok().map(|directory| directory.join(FILE))
}

/// Reads the addresses. A file that cannot be read has none.
fn read(environment: &Environment) -> Vec<String> {
    let text = file(environment).and_then(|file| small_file::read(&file).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_addresses_are_stored() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::new("/srv/tide", [("HOME", home.path())]);
        let address = |port: usize| format!("http://127.0.0.1:{port}");
        assert!(!is_given(&environment, &address(0)));
        for port in [0, 0].into_iter().chain(1..=MOST) {
            store(&environment, &address(port));
        }
        assert!(!is_given(&environment, &address(0)), "the oldest was dropped");
        assert!(is_given(&environment, &address(1)) && is_given(&environment, &address(MOST)));
    }
}
