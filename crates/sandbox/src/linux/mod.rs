//! Confines the calling thread: Landlock restricts files, ports and signals; seccomp refuses
//! syscalls; all capabilities are dropped.

mod capabilities;
mod file_rules;
pub(crate) mod first_killed;
pub(crate) mod limits;
pub(crate) mod mounts;
pub(crate) mod namespace;
mod syscalls;

use crate::reason::Unsupported;
use crate::rules::Rules;

/// Confines this thread and everything it starts, irrevocably. Files are confined only if
/// `confine_files` is set. `proxy` is the TCP port of the proxy that reaches the listed hosts.
pub(crate) fn confine(
    rules: &Rules,
    confine_files: bool,
    proxy: Option<u16>,
) -> Result<(), Unsupported> {
    if confine_files {
        file_rules::restrict(rules, proxy)?;
    }
    capabilities::drop_all().map_err(|error| Unsupported::failed("capabilities", error))?;
    let seccomp = |error: &dyn std::fmt::Display| Unsupported::failed("seccomp", error);
    for filter in syscalls::filters(&rules.network).map_err(|error| seccomp(&error))? {
        seccompiler::apply_filter(&filter).map_err(|error| seccomp(&error))?;
    }
    Ok(())
}
