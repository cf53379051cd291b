//! A writer process that prints which appends were acknowledged.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use waterline::message::Message;
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, LogError, Session};

/// The environment variable that makes this program a writer, such as `append FILE SESSION…`.
pub(crate) const TASK: &str = "WATERLINE_TEST_TASK";

pub(crate) fn message(text: &str) -> Incoming {
    Incoming::of(&Message::user(text), &Counter::new(Method::Chars4, 1_000))
}

/// Returns the texts of a session's messages.
pub(crate) fn texts(log: &Log, id: &str) -> Result<Vec<String>, LogError> {
    Ok(log.entries(id)?.iter().map(|entry| entry.message(|_, _, _| None).text()).collect())
}

/// Creates a log with this number of sessions, each with this number of messages.
pub(crate) fn filled(path: &Path, sessions: usize, messages: usize) -> Log {
    let log = Log::open(&path.display().to_string()).unwrap();
    for session in 0..sessions {
        let created = log.create(Session::new(format!("s{session}"))).unwrap();
        let incoming = (0..messages).map(|n| message(&message_text(session, n))).collect();
        log.append(&created.id, created.tip, incoming).unwrap();
    }
    log
}

pub(crate) fn message_text(session: usize, number: usize) -> String {
    format!(
        "session {session} message {number} {:x}",
        (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    )
}

/// Returns the command that runs this program as a writer.
pub(crate) fn command(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(TASK, task).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(task: &str) {
    let mut arguments = task.split(' ');
    let kind = arguments.next().unwrap();
    let file = arguments.next().unwrap();
    let sessions: Vec<String> = arguments.map(str::to_owned).collect();
    match kind {
        "append" => append(file, &sessions),
        "until-it-fails" => until_it_fails(file),
        "read-and-write" => read_and_write(file, &sessions[0]),
        other => panic!("unknown task {other}"),
    }
}

/// Appends numbers to sessions, one thread per session, and prints each number once it is
/// acknowledged.
fn append(file: &str, sessions: &[String]) {
    let log = Log::open(file).unwrap();
    let out = Arc::new(Mutex::new(std::io::stdout()));
    let threads: Vec<_> = sessions
        .iter()
        .cloned()
        .map(|id| {
            let log = log.clone();
            let out = Arc::clone(&out);
            std::thread::spawn(move || {
                let mut tip = match log.create(Session::new(&id)) {
                    Ok(created) => created.tip,
                    Err(_) => log.session(&id).unwrap().tip,
                };
                while tip.position() < 1_000_000 {
                    let number = tip.position() + 1;
                    tip =
                        log.append(&id, tip, vec![message(&format!("{id} {number}"))]).unwrap().tip;
                    if number % 3 == 0 {
                        log.checkpoint(&id, serde_json::json!({"step": number})).unwrap();
                    }
                    let mut out = out.lock().unwrap();
                    // The reader has closed the pipe: exit.
                    if writeln!(out, "{id} {number}").and_then(|()| out.flush()).is_err() {
                        std::process::exit(0);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Appends until an append fails, prints the error, and tries once more.
fn until_it_fails(file: &str) {
    let log = Log::open(file).unwrap();
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    let mut count = 0;
    let error = loop {
        let text: String = (0..400).map(|n| message_text(count, n)).collect();
        match log.append("s", tip, vec![message(&text)]) {
            Ok(appended) => tip = appended.tip,
            Err(error) => break error,
        }
        count += 1;
    };
    println!("{count}");
    println!("{error}");
    println!(
        "{}",
        log.append("s", tip, vec![message("small")])
            .map_or_else(|error| error.to_string(), |_| "written".into())
    );
    println!("{}", texts(&log, "s").unwrap().len());
}

fn read_and_write(file: &str, id: &str) {
    match Log::open(file) {
        Err(error) => println!("{error}"),
        Ok(log) => {
            println!("{}", texts(&log, id).unwrap().len());
            let tip = log.session(id).unwrap().tip;
            println!(
                "{}",
                log.append(id, tip, vec![message("x")])
                    .map_or_else(|error| error.to_string(), |_| "written".into())
            );
        }
    }
}
