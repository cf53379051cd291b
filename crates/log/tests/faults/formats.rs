//! Databases of other formats and of other programs.

use std::path::{Path, PathBuf};

use waterline_log::{Log, LogError};

use crate::writer::{filled, message, texts};

pub(crate) fn files_that_are_no_logs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let refused = Log::open(&path.display().to_string());
    assert!(matches!(refused, Err(LogError::Foreign { .. })), "{refused:?}");
    let before = std::fs::read(&path).unwrap();
    assert!(Log::open(&path.display().to_string()).is_err());
    assert!(std::fs::read(&path).unwrap() == before, "it is left as it was");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "these are my notes, and they are longer than a page\n".repeat(200)).unwrap();
    assert!(matches!(Log::open(&text.display().to_string()), Err(LogError::Foreign { .. })));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("these are my notes"));
    assert!(matches!(Log::open(&folder.path().display().to_string()), Err(LogError::Open { .. })));
    assert!(matches!(Log::open("mysql://host/db"), Err(LogError::Address { .. })));
    assert!(matches!(Log::open(""), Err(LogError::Address { .. })));
    let settings = Log::open("host=h password=secret-word").unwrap_err();
    assert!(matches!(settings, LogError::Address { .. }) && !settings.to_string().contains("secret-word"));
    let missing = folder.path().join("no").join("such.db");
    assert!(matches!(Log::open(&missing.display().to_string()), Err(LogError::Open { .. })));
}

pub(crate) fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(filled(&path, 1, 3));
    rusqlite::Connection::open(&path).unwrap().execute_batch("UPDATE format SET version = 99").unwrap();
    let refused = Log::open(&path.display().to_string()).unwrap_err().to_string();
    assert!(refused.contains("format 99") && refused.contains("newer waterline"), "{refused}");
}

/// The databases that are kept, one a format: `tests/formats/1.db` and so on.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("formats")
}

pub(crate) fn a_file_of_every_format_opens() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for number in 1.. {
        let file = kept().join(format!("{number}.db"));
        if !file.exists() {
            break;
        }
        count += 1;
        let copy = folder.path().join(format!("{number}.db"));
        std::fs::copy(&file, &copy).unwrap();
        check(&Log::open(&copy.display().to_string()).unwrap());
    }
    assert_eq!(count, 1, "a database of every format is kept");
}

/// What every kept database holds: made by `cargo run -p waterline-log --example format`.
pub(crate) fn check(log: &Log) {
    assert_eq!(texts(log, "main").unwrap(), ["Why does the build fail?", "A value was moved.", "数据库呢？"]);
    assert_eq!(texts(log, "fork").unwrap(), ["Why does the build fail?", "Because of E0382."]);
    assert_eq!(log.session("main").unwrap().state.todos.len(), 1);
    assert_eq!(log.summary("main").unwrap().unwrap().text, "The build fails.");
    assert_eq!(log.generations("main").unwrap().len(), 1);
    assert_eq!(log.checkpoints("main").unwrap().len(), 1);
    assert_eq!(log.usage("main").unwrap()[0].input, 120);
    assert_eq!(log.artifact(&log.artifacts("main").unwrap()[0].hash).unwrap(), b"a large output");
    assert_eq!(log.jobs(None).unwrap().len(), 1);
    assert_eq!(log.preferences("ada").unwrap()["policy"], "chat");
    assert_eq!(log.search("数据", None, 5).unwrap().len(), 1);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
    let tip = log.session("main").unwrap().tip;
    log.append("main", tip, vec![message("it goes on")]).unwrap();
    assert_eq!(texts(log, "main").unwrap().len(), 4);
}
