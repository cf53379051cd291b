//! [`RefusedHosts`]: the hosts that a proxy refused.

use std::sync::{Arc, Mutex, PoisonError};

use super::Host;

/// Maximum number of hosts that are kept.
const MAX_HOSTS: usize = 10;

/// The hosts that a proxy refused, each as the list of allowed hosts would name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedHosts(Arc<Mutex<Vec<String>>>);

impl RefusedHosts {
    /// Adds a host.
    pub(super) fn add(&self, host: &Host) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let host = host.to_string();
        if hosts.len() < MAX_HOSTS && !hosts.contains(&host) {
            hosts.push(host);
        }
    }

    /// Takes the hosts, in the order of their first requests.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
