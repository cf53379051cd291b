//! Servers that are not there, go away, or have another format.

use std::time::Duration;

use waterline_log::{Log, LogError, Options, Session};

use crate::formats;
use crate::writer::{message, texts};

fn url(schema: &str) -> String {
    let url = std::env::var("WATERLINE_TEST_POSTGRES").unwrap();
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}schema={schema}&application_name={schema}")
}

fn client() -> postgres::Client {
    postgres::Client::connect(&std::env::var("WATERLINE_TEST_POSTGRES").unwrap(), postgres::NoTls)
        .unwrap()
}

fn fresh(name: &str) -> String {
    let schema = format!("{name}_{}", std::process::id());
    client().batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).unwrap();
    schema
}

fn gone(schema: &str) {
    client().batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
}

pub(crate) fn a_server_that_is_not_there_is_told() {
    let options = Options::default().with_wait(Duration::from_secs(2));
    let refused =
        Log::open_with("postgres://user:secret-word@127.0.0.1:1/db", &options).unwrap_err();
    let text = refused.to_string();
    assert!(
        matches!(refused, LogError::Connection { .. }) && text.contains("is the server running"),
        "{text}"
    );
    assert!(!text.contains("secret-word"), "{text}");
    let odd = Log::open_with("postgres://user:secret-word@host:not-a-port/db", &options)
        .unwrap_err()
        .to_string();
    assert!(!odd.contains("secret-word"), "{odd}");
}

/// A server that takes the call and never answers.
pub(crate) fn a_server_that_hangs_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://user@{}/db", listener.local_addr().unwrap());
    let options = Options::default().with_wait(Duration::from_millis(300));
    let refused = Log::open_with(&url, &options).unwrap_err().to_string();
    assert!(
        refused.contains("has said nothing") && refused.contains("is the server running"),
        "{refused}"
    );
    drop(listener);
}

pub(crate) fn a_lost_connection_is_told_and_comes_back() {
    let schema = fresh("lost");
    let log = Log::open(&url(&schema)).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    let mut killer = client();
    let mut told = 0;
    for round in 0..40 {
        let writer = {
            let (log, text) = (log.clone(), format!("m{round}"));
            std::thread::spawn(move || log.append("s", tip, vec![message(&text)]))
        };
        // At some moment of the append: before it, in the middle, or after.
        std::thread::sleep(Duration::from_micros(round * 150));
        let sql =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        killer.execute(sql, &[&schema]).unwrap();
        match writer.join().unwrap() {
            Ok(appended) => tip = appended.tip,
            Err(error) => {
                assert!(matches!(error, LogError::Connection { .. }), "{error}");
                told += 1;
                // Whether it was stored is not known: the session says so, and saying it again is
                // safe.
                let now = log.session("s").unwrap().tip;
                tip = if now == tip {
                    log.append("s", tip, vec![message(&format!("m{round}"))]).unwrap().tip
                } else {
                    now
                };
            }
        }
    }
    let expected: Vec<String> = (0..40).map(|n| format!("m{n}")).collect();
    assert_eq!(texts(&log, "s").unwrap(), expected);
    assert!(told > 0, "no append was hit");
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
    drop(log);
    gone(&schema);
}

pub(crate) fn a_newer_format_on_a_server_is_refused() {
    let schema = fresh("newer");
    drop(Log::open(&url(&schema)).unwrap());
    client().batch_execute(&format!("UPDATE {schema}.format SET version = 99")).unwrap();
    let refused = Log::open(&url(&schema)).unwrap_err().to_string();
    assert!(refused.contains("format 99") && refused.contains("newer waterline"), "{refused}");
    gone(&schema);
}

pub(crate) fn a_schema_of_every_format_opens() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    for (name, is_working) in [("1", false), ("1-agent", true), ("3", true)] {
        let sql = std::fs::read_to_string(folder.join(format!("{name}.postgres.sql"))).unwrap();
        let schema = fresh("kept");
        client().batch_execute(&sql.replace("kept_format", &schema)).unwrap();
        let log = Log::open(&url(&schema)).unwrap();
        formats::check(&log);
        if is_working {
            formats::check_working(&log);
        }
        drop(log);
        gone(&schema);
    }
}
