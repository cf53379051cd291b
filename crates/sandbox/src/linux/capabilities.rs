//! Drops every capability, so that a command has none even if the host runs as root.

use rustix::io::Result;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Empties the bounding, ambient, permitted, effective and inheritable sets of this thread.
/// Programs that it executes start with empty sets too.
pub(super) fn drop_all() -> Result<()> {
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        // Without privileges the bounding set cannot be changed; then `no_new_privs` keeps
        // programs from gaining any. Numbers above the newest capability are refused.
        let _ = remove_capability_from_bounding_set(capability);
    }
    // Kernels before 4.3 have no ambient set.
    let _ = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
