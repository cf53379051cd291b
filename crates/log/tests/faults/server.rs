//! Servers that are unreachable, drop connections, or have another format.

use std::time::Duration;

use waterline_log::{Log, LogError, Options, Session};

use crate::flips;
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

fn new_schema(name: &str) -> String {
    let schema = format!("{name}_{}", std::process::id());
    client().batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).unwrap();
    schema
}

fn drop_schema(schema: &str) {
    client().batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
}

pub(crate) fn an_unreachable_server_is_reported() {
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

/// The server accepts the connection and never answers.
pub(crate) fn connecting_to_a_hanging_server_times_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://user@{}/db", listener.local_addr().unwrap());
    let options = Options::default().with_wait(Duration::from_millis(300));
    let refused = Log::open_with(&url, &options).unwrap_err().to_string();
    assert!(
        refused.contains("timed out") && refused.contains("is the server running"),
        "{refused}"
    );
    drop(listener);
}

/// Drops every connection of the log.
fn drop_connections(client: &mut postgres::Client, schema: &str) {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    client.execute(sql, &[&schema]).unwrap();
}

/// Drops the connection of an append in the middle of its transaction: the append waits for a lock
/// that the test holds.
fn drop_connection_of_append(client: &mut postgres::Client, schema: &str) {
    let waiting =
        "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
    let mut observer = self::client();
    while observer.query(waiting, &[&schema]).unwrap().is_empty() {
        std::thread::yield_now();
    }
    drop_connections(&mut observer, schema);
    client.batch_execute("ROLLBACK").unwrap();
}

pub(crate) fn a_lost_connection_is_reported_and_recovers() {
    let schema = new_schema("lost");
    let log = Log::open(&url(&schema)).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    let mut killer = client();
    for round in 0..40 {
        let is_locked = round % 4 == 0;
        if is_locked {
            let lock = format!("BEGIN; LOCK TABLE {schema}.message IN ACCESS EXCLUSIVE MODE");
            killer.batch_execute(&lock).unwrap();
        }
        let writer = {
            let log = log.clone();
            let text = format!("m{round}");
            std::thread::spawn(move || log.append("s", tip, vec![message(&text)]))
        };
        if is_locked {
            drop_connection_of_append(&mut killer, &schema);
        } else {
            // Before, during or after the append.
            std::thread::sleep(Duration::from_micros(round * 150));
            drop_connections(&mut killer, &schema);
        }
        match writer.join().unwrap() {
            Ok(appended) => {
                assert!(!is_locked, "the connection was dropped before the append could finish");
                tip = appended.tip;
            }
            Err(error) => {
                assert!(matches!(error, LogError::Connection { .. }), "{error}");
                // The append may or may not be stored: reload the session. Repeating it is safe.
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
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    drop(log);
    drop_schema(&schema);
}

pub(crate) fn a_newer_format_on_a_server_is_refused() {
    let schema = new_schema("newer");
    drop(Log::open(&url(&schema)).unwrap());
    client().batch_execute(&format!("UPDATE {schema}.format SET version = 99")).unwrap();
    let refused = Log::open(&url(&schema)).unwrap_err().to_string();
    assert!(refused.contains("format 99") && refused.contains("newer waterline"), "{refused}");
    drop_schema(&schema);
}

pub(crate) fn a_schema_of_every_format_opens() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    for (name, is_working) in
        ["1", "1-agent", "2", "3", "4", "5", "6", "7"].map(|name| (name, name != "1"))
    {
        let sql = std::fs::read_to_string(directory.join(format!("{name}.postgres.sql"))).unwrap();
        let schema = new_schema("kept");
        client().batch_execute(&sql.replace("kept_format", &schema)).unwrap();
        let log = Log::open(&url(&schema)).unwrap();
        formats::check(&log);
        if is_working {
            formats::check_working(&log);
        }
        match name {
            "5" => formats::check_vectors(&log),
            "6" | "7" => formats::check_note_vectors(&log),
            _ => {}
        }
        drop(log);
        drop_schema(&schema);
    }
}

/// The rows of the index have no checksum of their own.
pub(crate) fn a_damaged_index_on_a_server_is_found() {
    let schema = new_schema("index");
    let log = Log::open(&url(&schema)).unwrap();
    let session = log.create(Session::new("s")).unwrap();
    log.append("s", session.tip, vec![message("one"), message("the zebraquagga")]).unwrap();
    log.put_artifact("s", "text/plain", "…", b"a hippogriff".to_vec()).unwrap();
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    let damage = |table: &str, term: &str| {
        let sql = format!(
            "UPDATE {schema}.{table} SET words = array_to_tsvector(array_replace(\
             tsvector_to_array(words), '{term}', 'zebra'))"
        );
        client().batch_execute(&sql).unwrap();
    };
    damage("search", "zebraquagga");
    damage("artifact_search", "hippogriff");
    let problems = log.verify(|_, _| ()).unwrap().problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].as_str().contains("message 2") && problems[1].as_str().contains("artifact"),
        "{problems:?}"
    );
    drop(log);
    drop_schema(&schema);
}

/// Changes one value of each column that a checksum covers.
pub(crate) fn a_changed_value_on_a_server_is_found() {
    let schema = new_schema("changed");
    let log = Log::open(&url(&schema)).unwrap();
    flips::fill(&log);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    let mut client = client();
    // No foreign key refuses a change, and the database does not compute the checksums again.
    let prepare = format!("SET search_path TO {schema}; SET session_replication_role = replica");
    client.batch_execute(&prepare).unwrap();
    let tables = "SELECT table_name::text FROM information_schema.columns \
                  WHERE table_schema = $1 AND column_name = 'checksum' AND is_generated = 'ALWAYS'";
    let tables: Vec<String> =
        client.query(tables, &[&schema]).unwrap().iter().map(|row| row.get(0)).collect();
    let mut changed = 0;
    for table in &tables {
        let drop = format!("ALTER TABLE {table} ALTER COLUMN checksum DROP EXPRESSION");
        client.batch_execute(&drop).unwrap();
        let columns = "SELECT column_name::text, udt_name::text FROM information_schema.columns \
                       WHERE table_schema = $1 AND table_name = $2 AND column_name <> 'checksum'";
        for column in client.query(columns, &[&schema, table]).unwrap() {
            let (name, kind): (String, String) = (column.get(0), column.get(1));
            changed += usize::from(is_change_found(&log, &mut client, table, &name, &kind));
        }
    }
    assert!(tables.len() > 20 && changed > 100, "{changed} values of {tables:?}");
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    drop(log);
    drop_schema(&schema);
}

/// Changes a value of a column and changes it back. Panics if `verify` does not see it; returns
/// false if the column has no values.
fn is_change_found(
    log: &Log,
    client: &mut postgres::Client,
    table: &str,
    column: &str,
    kind: &str,
) -> bool {
    let (change, back) = match kind {
        "text" => (format!("{column} || 'x'"), format!("left({column}, -1)")),
        "bytea" => (
            format!("{column} || '\\x00'::bytea"),
            format!("substr({column}, 1, length({column}) - 1)"),
        ),
        "bool" => (format!("NOT {column}"), format!("NOT {column}")),
        // Large enough that no key becomes that of another row.
        _ => (format!("{column} + 9999"), format!("{column} - 9999")),
    };
    let sql = format!(
        "UPDATE {table} SET {column} = {change} WHERE ctid = (SELECT ctid FROM {table} \
         WHERE {column} IS NOT NULL LIMIT 1) RETURNING ctid::text"
    );
    let Some(row) = client.query_opt(&sql, &[]).unwrap() else { return false };
    let place: String = row.get(0);
    let problems = log.verify(|_, _| ()).unwrap().problems;
    assert!(!problems.is_empty(), "a changed {column} of {table} is not reported");
    let sql = format!("UPDATE {table} SET {column} = {back} WHERE ctid = '{place}'::tid");
    assert_eq!(client.execute(&sql, &[]).unwrap(), 1, "{column} of {table}");
    true
}
