//! Restricts the files, TCP ports and signals of the calling thread with Landlock.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::reason::Unsupported;
use crate::rules::{Network, Rules};

/// The newest Landlock ABI that is used; an older kernel enforces what it supports.
const ABI: landlock::ABI = ABI::V6;

/// The oldest Landlock ABI that suffices: before it, a file outside could still be truncated.
const MINIMUM_ABI: landlock::ABI = ABI::V3;

/// The directories of the system's programs and libraries.
const SYSTEM_DIRECTORIES: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/snap"];

/// Other files and directories that programs need. Not all of `/etc` and `/proc`: they hold
/// secrets.
const SYSTEM_FILES: [&str; 36] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/environment",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/profile",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
];

/// Harmless devices.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Restricts this thread to the files of the rules. With a list of hosts it may connect only to the
/// port of the proxy.
pub(super) fn restrict(rules: &Rules, proxy: Option<u16>) -> Result<(), Unsupported> {
    let required = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(MINIMUM_ABI))
        .map_err(|_| Unsupported::NoLandlock)?;
    let mut handled = required
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI))
        .map_err(failed)?;
    if proxy.is_some() {
        // Without this ABI the kernel could not enforce the list of hosts.
        handled = handled
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessNet::from_all(ABI))
            .map_err(|_| Unsupported::NoHostList)?
            .set_compatibility(CompatLevel::BestEffort);
    } else if rules.network != Network::Any {
        handled = handled.handle_access(AccessNet::from_all(ABI)).map_err(failed)?;
    }
    let mut ruleset =
        handled.scope(Scope::from_all(ABI)).map_err(failed)?.create().map_err(failed)?;
    if let Some(port) = proxy {
        let rule = NetPort::new(port, AccessNet::ConnectTcp);
        ruleset = ruleset.add_rule(rule).map_err(failed)?;
    }
    let read = AccessFs::from_read(ABI);
    for path in SYSTEM_DIRECTORIES.iter().chain(&SYSTEM_FILES).map(Path::new) {
        ruleset = allow(ruleset, path, read, ResolveFlags::empty())?;
    }
    for entry in std::fs::read_dir("/etc").into_iter().flatten().flatten() {
        if is_public(entry.file_name().as_encoded_bytes()) {
            ruleset = allow(ruleset, &entry.path(), read, ResolveFlags::empty())?;
        }
    }
    for path in DEVICES.iter().map(Path::new) {
        ruleset =
            allow(ruleset, path, AccessFs::ReadFile | AccessFs::WriteFile, ResolveFlags::empty())?;
    }
    // The paths had no links when they were granted, so a link was put there by a command.
    for path in &rules.read {
        ruleset = allow(ruleset, path, read, ResolveFlags::NO_SYMLINKS)?;
    }
    let write = AccessFs::from_all(ABI) & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    for path in &rules.write {
        ruleset = allow(ruleset, path, write, ResolveFlags::NO_SYMLINKS)?;
    }
    match ruleset.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::NotEnforced => Err(Unsupported::NoLandlock),
        _ => Ok(()),
    }
}

/// Returns whether a name in `/etc` is that of something that programs read and that holds no
/// secrets: the release of the system (`debian_version`, `lsb-release`, `redhat-release`), which
/// pip reads, or a part of Java's installation, which has a directory for each version.
fn is_public(name: &[u8]) -> bool {
    let ends = ["-release", "_release", "-version", "_version"];
    name.starts_with(b"java-") || ends.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Allows access below a path. A path that does not exist needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    resolve: ResolveFlags,
) -> Result<RulesetCreated, Unsupported> {
    let Ok(handle) = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
    else {
        return Ok(ruleset);
    };
    // Rights such as creating or listing entries do not apply to a file.
    let is_directory = fstat(&handle)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if is_directory { access } else { access & AccessFs::from_file(ABI) };
    ruleset
        .add_rule(PathBeneath::new(handle, access))
        .map_err(|error| failed(format!("{}: {error}", path.display())))
}

fn failed(error: impl std::fmt::Display) -> Unsupported {
    Unsupported::failed("Landlock", error)
}
