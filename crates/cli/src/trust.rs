//! Addresses that come with a folder. Its `waterline.toml`, perhaps from somebody else, may say where models answer, and all that is
//! said in a conversation goes there: each address is named when the program starts, and somebody agrees to it once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use waterline_agent::Word;
use waterline_provider::address::is_local;
use waterline_sandbox::small_file;

use crate::config::Config;
use crate::db;
use crate::files::Output;
use crate::lang::say;
use crate::show::plain;
use crate::terminal::forget_typed;

/// The file in the data folder that remembers what was agreed to.
const FILE: &str = "trusted.json";

/// What was agreed to: addresses, by the folder whose file names them.
type Agreed = BTreeMap<String, BTreeSet<String>>;

/// Leaves models out of a project's `fallback` and `summariser` that only its own file says how to reach: nobody chose them. A server
/// on this machine is the user's own. Gives what was left out, in two languages.
pub fn leave_out_strangers(project: &mut Config, user: &Config) -> Vec<(String, String)> {
    let models = &project.models;
    let is_stranger = |name: &str| {
        let address = models.get(name).and_then(|model| model.base_url.as_deref());
        address.is_some_and(|address| !is_local(address)) && !user.models.contains_key(name)
    };
    let mut notices = Vec::new();
    let mut keeps = |key: &str, name: &str| {
        let keeps = !is_stranger(name);
        if !keeps {
            notices.push((
                format!("the {key} {name:?} of waterline.toml is left out: only that file says where it answers"),
                format!("已忽略 waterline.toml 中的 {key} {name:?}：只有该文件说明其地址"),
            ));
        }
        keeps
    };
    if let Some(names) = &mut project.fallback {
        names.retain(|name| keeps("fallback", name));
    }
    project.summariser = project.summariser.take().filter(|name| keeps("summariser", name));
    // A list of which nothing is left does not stand in the place of the user's.
    project.fallback = project.fallback.take().filter(|names| !names.is_empty());
    notices
}

/// The addresses that come from the project's file.
fn addresses(config: &Config) -> BTreeSet<&str> {
    let own = config.base_url.as_deref().filter(|_| config.is_foreign);
    let of_models =
        config.models.values().filter(|model| model.is_foreign).filter_map(|model| model.base_url.as_deref());
    own.into_iter().chain(of_models).collect()
}

/// What somebody should know about the folder's settings before anything is said.
pub fn notices(config: &Config) -> Vec<String> {
    let named = addresses(config).into_iter().map(|address| sends(&plain(address)));
    config.notices.iter().map(|(en, zh)| say(en, zh).clone()).chain(named).collect()
}

fn sends(addresses: &str) -> String {
    say(
        format!("waterline.toml of this folder may send the conversation to {addresses}"),
        format!("此目录的 waterline.toml 可能将对话发送到 {addresses}"),
    )
}

/// The addresses that come with the folder and that nobody agreed to yet. One of this machine needs no word.
pub fn not_agreed(config: &Config) -> Result<Vec<&str>> {
    let foreign: Vec<&str> = addresses(config).into_iter().filter(|address| !is_local(address)).collect();
    if foreign.is_empty() {
        return Ok(foreign);
    }
    let folder = here()?;
    let agreed = file().as_deref().map(read).unwrap_or_default();
    // A folder whose name is no text is asked about each time: it could be taken for another.
    let known = folder.to_str().and_then(|folder| agreed.get(folder)).cloned().unwrap_or_default();
    Ok(foreign.into_iter().filter(|address| !known.contains(*address)).collect())
}

/// Addresses for a person, one behind the other.
pub fn listed(addresses: &[&str]) -> String {
    addresses.iter().map(|address| plain(address)).collect::<Vec<_>>().join(", ")
}

/// Makes sure that somebody agreed to each address that comes with the folder, before anything is sent. `is_trusted` agrees for
/// this run; where nobody can be asked, it is refused.
pub fn check(config: &Config, is_trusted: bool, may_ask: bool) -> Result<()> {
    if is_trusted {
        return Ok(());
    }
    let new = not_agreed(config)?;
    if new.is_empty() {
        return Ok(());
    }
    let shown = listed(&new);
    if !(may_ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let how = say(
            "nobody agreed to that; start it in a terminal to be asked, or agree for this run with --trust-project",
            "尚未有人同意；请在终端中启动以确认，或用 --trust-project 仅为本次同意",
        );
        bail!("{}: {how}", sends(&shown));
    }
    if !agrees(&shown)? {
        bail!(say(
            "not agreed to; take the address out of waterline.toml, or start in another folder",
            "未同意；请从 waterline.toml 中删除该地址，或在其他目录启动",
        ));
    }
    // The word was given for now in any case.
    if let Err(error) = remember(&new) {
        anstream::eprintln!("waterline: {}", crate::show::lines(&format!("{error:#}; you will be asked again")));
    }
    Ok(())
}

/// Where the program runs: what is agreed to holds for this folder.
fn here() -> Result<PathBuf> {
    std::fs::canonicalize(".").context("where this folder is cannot be told")
}

/// The file that remembers; without a data folder there is none.
fn file() -> Option<PathBuf> {
    db::data_folder().ok().map(|folder| folder.join(FILE))
}

/// Remembers addresses as agreed to for this folder, as far as there is a place for that.
fn remember(addresses: &[&str]) -> Result<()> {
    let folder = here()?;
    let (Some(file), Some(folder)) = (file(), folder.to_str()) else { return Ok(()) };
    let mut agreed = read(&file);
    agreed.entry(folder.to_owned()).or_default().extend(addresses.iter().map(|address| (*address).to_owned()));
    write(&file, &agreed)
}

/// Asks on the terminal.
fn agrees(addresses: &str) -> Result<bool> {
    let question = say(
        "All that you say and all that it reads goes there. Agree, for this folder from now on? [y/n]",
        "您所说的和它所读取的内容都会发送到那里。同意吗（此后对此目录有效）？[y/n]",
    );
    forget_typed();
    anstream::eprint!("{}\n{question} ", sends(addresses));
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("the answer cannot be read")?;
    Ok(Word::read(&line) == Some(Word::Yes))
}

/// What was agreed to. A file that cannot be read agrees to nothing.
fn read(file: &Path) -> Agreed {
    small_file::read(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Remembers what was agreed to, for nobody else to read or to change.
fn write(file: &Path, agreed: &Agreed) -> Result<()> {
    if let Some(folder) = file.parent() {
        db::make_private(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut output = Output::private(file)?;
    output.write_all(serde_json::to_string_pretty(agreed)?.as_bytes())?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_of_this_machine_is_the_users_own() {
        for local in
            ["http://127.0.0.1:8080", "http://127.9.9.9", "http://localhost:1/v1", "https://[::1]", "HTTP://LOCALHOST"]
        {
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
    fn what_was_agreed_to_is_remembered_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("data").join(FILE);
        assert!(read(&file).is_empty());
        let agreed = Agreed::from([("/srv/tide".to_owned(), BTreeSet::from(["https://models.example".to_owned()]))]);
        write(&file, &agreed).unwrap();
        assert_eq!(read(&file), agreed);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "not json").unwrap();
        assert!(read(&file).is_empty());
    }
}
