//! `/allow-dir`: grants a directory, until the chat opens another session.

use std::path::{Path, PathBuf};

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_sandbox::workspace::Grant;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::environment::environment;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["allow-dir"],
    takes: "DIR[:ro]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let Ok(Grant { path, writable, .. }) = rest.parse::<Grant>() else {
        chat.screen.print_line(&text!("allow-dir-which"));
        return Ok(Next::Prompt);
    };
    let path = whole(&path, environment().home());
    let granted = Grant::new(&path, writable);
    chat.grant(|overrides| {
        // A grant of the same directory in another mode is replaced.
        overrides.allow_dirs.retain(|known| known.path != granted.path);
        overrides.allow_dirs.push(granted);
    })
    .await?;
    let path = path.display().to_string();
    chat.screen.print_line(&match writable {
        true => text!("allow-dir-write", path = path),
        false => text!("allow-dir-read", path = path),
    });
    Ok(Next::Prompt)
}

/// Returns a path as a shell would pass it: with the home directory for `~`, and absolute. Links
/// are resolved, so that equal directories have equal paths.
fn whole(path: &Path, home: Option<PathBuf>) -> PathBuf {
    let path = match (path.strip_prefix("~"), home) {
        (Ok(inside), Some(home)) => home.join(inside),
        _ => path.to_owned(),
    };
    // One that does not exist is reported when the session opens.
    path.canonicalize().or_else(|_| std::path::absolute(&path)).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_directory_may_be_a_tilde() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("notes")).unwrap();
        let whole = |path: &str| super::whole(Path::new(path), Some(home.clone()));
        assert_eq!(whole("~/notes"), home.join("notes"));
        assert_eq!(whole("~"), home);
        assert_eq!(whole("/no/such"), Path::new("/no/such"));
        assert!(whole("a").is_absolute());
    }
}
