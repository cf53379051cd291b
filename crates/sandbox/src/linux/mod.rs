//! Confines the calling thread: Landlock restricts files, ports and signals; seccomp refuses
//! syscalls; all capabilities are dropped.

mod capabilities;
mod file_rules;
pub(crate) mod limits;
pub(crate) mod namespace;
mod syscalls;

use crate::rules::Rules;

/// Confines this thread and everything it starts, irrevocably. Files are confined only if
/// `confine_files` is set. `proxy` is the TCP port of the proxy that reaches the listed hosts.
pub(crate) fn confine(
    rules: &Rules,
    confine_files: bool,
    proxy: Option<u16>,
) -> Result<(), String> {
    if confine_files {
        file_rules::restrict(rules, proxy).map_err(|error| format!("Landlock: {error}"))?;
    }
    capabilities::drop_all().map_err(|error| format!("capabilities: {error}"))?;
    let filters = syscalls::filters(&rules.network).map_err(|error| format!("seccomp: {error}"))?;
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}
