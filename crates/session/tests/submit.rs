//! Clients that send their whole conversation with each call: it finds its session, forks it or
//! starts one. Runs on SQLite, and on PostgreSQL if WATERLINE_TEST_POSTGRES names a server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use test_bed::{config, newest, policy, silent, whole};
use waterline::message::{Message, Part, Role};
use waterline_log::{Incoming, Log, Session, Tip};
use waterline_provider::wire::parse_stored;
use waterline_session::{Event, SessionConfig, Sessions, SubmitOutcome, Submitted};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::Received;

/// A fresh log on each database.
fn logs(directory: &tempfile::TempDir) -> Vec<String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let mut urls = vec![directory.path().join("log.db").display().to_string()];
    if let Ok(server) = std::env::var("WATERLINE_TEST_POSTGRES") {
        let separator = if server.contains('?') { '&' } else { '?' };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        urls.push(format!("{server}{separator}schema=submit_{}_{number}", std::process::id()));
    }
    urls
}

/// A model that echoes the newest message.
fn server() -> Scripted {
    Scripted::new(|received: &Received| whole(&format!("re: {}", newest(received)), 10))
}

fn test_config(server: &Scripted) -> SessionConfig {
    config(server, 100_000, policy("auto", &[]))
}

fn sessions(url: &str, capacity: usize) -> Sessions {
    Sessions::new(Log::open(url).unwrap(), capacity, Duration::from_secs(600))
}

/// Messages as a client sends them: an optional system prompt, then user and assistant in turn.
fn list(prompt: Option<&str>, texts: &[&str]) -> Vec<Message> {
    let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let turns =
        texts.iter().enumerate().map(|(at, text)| Message::new(role(at), vec![Part::text(*text)]));
    prompt.map(Message::system).into_iter().chain(turns).collect()
}

async fn submit(
    sessions: &Sessions,
    user: &str,
    list: Vec<Message>,
    server: &Scripted,
) -> Submitted {
    sessions.submit(Some(user), list, test_config(server)).await.unwrap()
}

/// Submits and calls. Returns the session, how it was found, the number of new messages, and the
/// answer.
async fn call(
    sessions: &Sessions,
    list: Vec<Message>,
    server: &Scripted,
) -> (String, SubmitOutcome, usize, String) {
    let Submitted { mut live, new, how, .. } = submit(sessions, "ada", list, server).await;
    let count = new.len();
    let answer = live.call(new, silent).await.unwrap();
    (live.session().id.clone(), how, count, answer.messages[0].text())
}

async fn texts(sessions: &Sessions, id: &str) -> Vec<String> {
    let id = id.to_owned();
    let entries = sessions.log().run(move |log| log.entries(&id)).await.unwrap();
    entries.iter().map(|entry| entry.message(parse_stored).text()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_continues_in_its_session_even_after_a_restart() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let mut turns = vec!["one".to_owned()];
        let mut known = None;
        for round in 0..5 {
            // A new process each time. The client sends the answers back in its own format, not in
            // the provider's.
            let sessions = sessions(&url, 10);
            let texts_so_far: Vec<&str> = turns.iter().map(String::as_str).collect();
            let (id, how, new, answer) =
                call(&sessions, list(Some("be brief"), &texts_so_far), &server).await;
            assert_eq!(
                how,
                if round == 0 { SubmitOutcome::Created } else { SubmitOutcome::Continued },
                "round {round}"
            );
            assert_eq!(new, if round == 0 { 2 } else { 1 }, "only new messages are added");
            assert_eq!(*known.get_or_insert(id.clone()), id);
            turns.push(answer);
            assert_eq!(texts(&sessions, &id).await[1..], turns[..]);
            turns.push(format!("and {round}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_list_adds_nothing() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 10);
        let mut first = submit(&sessions, "ada", list(None, &["one"]), &server).await;
        let id = first.live.session().id.clone();
        let new = std::mem::take(&mut first.new);
        first.live.say(new).await.unwrap();
        drop(first);
        for _ in 0..3 {
            let again = submit(&sessions, "ada", list(None, &["one"]), &server).await;
            assert_eq!(
                (again.live.session().id.as_str(), again.how, again.new.len()),
                (id.as_str(), SubmitOutcome::Continued, 0)
            );
        }
        assert_eq!(texts(&sessions, &id).await, ["one"]);
        // After an answer, the same list asks for another one. The first answer stays in its
        // session.
        let (_, _, _, answer) = call(&sessions, list(None, &["one"]), &server).await;
        let (other, how, new, _) = call(&sessions, list(None, &["one"]), &server).await;
        assert_eq!((how, new), (SubmitOutcome::Forked, 0));
        assert_ne!(other, id);
        assert_eq!(texts(&sessions, &id).await, ["one", answer.as_str()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_or_truncated_history_becomes_a_fork() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 10);
        let (id, ..) = call(&sessions, list(Some("s"), &["one"]), &server).await;
        call(&sessions, list(Some("s"), &["one", "re: one", "two"]), &server).await;
        let edited = list(Some("s"), &["one", "re: one", "other"]);
        let (fork, how, new, _) = call(&sessions, edited, &server).await;
        assert_eq!((how, new), (SubmitOutcome::Forked, 1));
        assert_eq!(texts(&sessions, &fork).await, ["s", "one", "re: one", "other", "re: other"]);
        assert_eq!(texts(&sessions, &id).await, ["s", "one", "re: one", "two", "re: two"]);
        let truncated = list(Some("s"), &["one", "re: one"]);
        assert_eq!(submit(&sessions, "ada", truncated, &server).await.how, SubmitOutcome::Forked);
        // The fork continues as a separate session.
        let (same, how, ..) = call(
            &sessions,
            list(Some("s"), &["one", "re: one", "other", "re: other", "x"]),
            &server,
        )
        .await;
        assert_eq!((same, how), (fork, SubmitOutcome::Continued));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_and_other_first_messages_get_new_sessions() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 10);
        let (id, ..) = call(&sessions, list(Some("s"), &["one"]), &server).await;
        let other =
            submit(&sessions, "bob", list(Some("s"), &["one", "re: one", "two"]), &server).await;
        assert_eq!((other.how, other.new.len()), (SubmitOutcome::Created, 4));
        assert_ne!(other.live.session().id, id);
        // Many conversations start with the same system prompt.
        let (another, how, ..) =
            call(&sessions, list(Some("s"), &["something else"]), &server).await;
        assert_eq!(how, SubmitOutcome::Created);
        assert_ne!(another, id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_system_prompt_moves_the_session() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 10);
        let (id, ..) = call(&sessions, list(Some("it is ten"), &["one"]), &server).await;
        let next = list(Some("it is eleven"), &["one", "re: one", "two"]);
        let (same, how, _, _) = call(&sessions, next, &server).await;
        assert_eq!((same, how), (id.clone(), SubmitOutcome::Moved));
        assert_eq!(
            texts(&sessions, &id).await,
            ["it is eleven", "one", "re: one", "two", "re: two"]
        );
        let sent = server.received().pop().unwrap().body;
        assert!(sent.contains("it is eleven") && !sent.contains("it is ten"), "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_session_is_found_by_its_message_ids() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 10);
        let model = waterline::Models::builtin().find("gpt-4o").unwrap();
        let stored: Vec<Incoming> = list(Some("s"), &["one", "two"])
            .iter()
            .map(|message| Incoming::of(message, &model.counter()))
            .collect();
        let session = Session { user: Some("ada".to_owned()), ..Session::new("imported") };
        let created = sessions.log().write(move |log| {
            log.create(session.clone())?;
            log.append("imported", Tip::EMPTY, stored.clone())
        });
        created.await.unwrap();
        let (id, how, new, _) =
            call(&sessions, list(Some("s"), &["one", "two", "three"]), &server).await;
        assert_eq!((id.as_str(), how, new), ("imported", SubmitOutcome::Continued, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_clients_lose_nothing() {
    let server = Arc::new(server());
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 4);
        let (id, ..) = call(&sessions, list(None, &["one"]), &server).await;
        let clients: Vec<_> = (0..24)
            .map(|n| {
                let sessions = sessions.clone();
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    // A third continue one session, each with a different message; the others
                    // start new conversations.
                    let text = format!("client {n}");
                    let turns = if n % 3 == 0 {
                        vec!["one", "re: one", &text]
                    } else {
                        vec![text.as_str()]
                    };
                    let (session, how, ..) = call(&sessions, list(None, &turns), &server).await;
                    assert_eq!(
                        texts(&sessions, &session).await.last().unwrap(),
                        &format!("re: {text}")
                    );
                    (n, session, how)
                })
            })
            .collect();
        let mut continued = 0;
        for client in clients {
            let (n, session, how) = client.await.unwrap();
            continued += usize::from(how == SubmitOutcome::Continued);
            assert_eq!(how == SubmitOutcome::Created, n % 3 != 0, "client {n}");
            assert_eq!(how == SubmitOutcome::Continued, session == id, "client {n}");
        }
        assert_eq!(continued, 1, "one client continues the session, the others fork it");
        sessions.sweep();
        assert!(sessions.len() <= 4, "{sessions:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_conversation_is_found() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let sessions = sessions(&url, 4);
        let numbered: Vec<String> = (0..10_000).map(|n| format!("message {n}")).collect();
        let mut turns: Vec<&str> = numbered.iter().map(String::as_str).collect();
        turns.pop();
        let mut first = submit(&sessions, "ada", list(None, &turns), &server).await;
        let new = std::mem::take(&mut first.new);
        first.live.say(new).await.unwrap();
        drop(first);
        turns.extend(["answer", "and now?"]);
        let next = submit(&sessions, "ada", list(None, &turns), &server).await;
        assert_eq!((next.how, next.new.len()), (SubmitOutcome::Continued, 2));
    }
}

#[tokio::test]
async fn session_has_one_caller_at_a_time() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let sessions = sessions(&logs(&directory)[0], 10);
    sessions.log().write(|log| log.create(Session::new("s"))).await.unwrap();
    let first = sessions.enter("s", test_config(&server)).await.unwrap();
    assert!(sessions.try_enter("s", test_config(&server)).await.unwrap().is_none());
    let fork = sessions.enter_or_fork("s", test_config(&server)).await.unwrap();
    assert_ne!(fork.session().id, "s");
    let waiting = tokio::spawn({
        let sessions = sessions.clone();
        let config = test_config(&server);
        async move { sessions.enter("s", config).await.unwrap().session().id.clone() }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(first);
    assert_eq!(waiting.await.unwrap(), "s");
}

#[tokio::test]
async fn idle_sessions_are_dropped_and_resumed() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(&logs(&directory)[0]).unwrap();
    let sessions = Sessions::new(log, 2, Duration::from_secs(600));
    for id in ["a", "b", "c", "d"] {
        sessions.log().write(move |log| log.create(Session::new(id))).await.unwrap();
        let mut live = sessions.enter(id, test_config(&server)).await.unwrap();
        live.call(test_bed::user("hello"), silent).await.unwrap();
    }
    assert_eq!(sessions.len(), 2);
    let again = sessions.enter("a", test_config(&server)).await.unwrap();
    assert_eq!(again.session().tip.position(), 2);
    drop(again);
    let brief = Sessions::new(sessions.log().clone(), 2, Duration::ZERO);
    drop(brief.enter("a", test_config(&server)).await.unwrap());
    brief.sweep();
    assert!(brief.is_empty());
}

/// Two servers on one log: the second waits until the first has left the session, and then
/// continues from what it stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_used_by_one_server_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    for url in logs(&directory) {
        let server = server();
        let (first, second) = (sessions(&url, 4), sessions(&url, 4));
        first.log().run(|log| log.create(Session::new("shared"))).await.unwrap();
        let mut held = first.enter("shared", test_config(&server)).await.unwrap();
        assert!(second.try_enter("shared", test_config(&server)).await.unwrap().is_none());
        let fork = second.enter_or_fork("shared", test_config(&server)).await.unwrap();
        assert_ne!(fork.session().id, "shared");
        let waiting = {
            let second = second.clone();
            let config = test_config(&server);
            tokio::spawn(async move { second.enter("shared", config).await })
        };
        held.call(test_bed::user("one"), silent).await.unwrap();
        assert!(!waiting.is_finished());
        drop(held);
        let mut next = waiting.await.unwrap().unwrap();
        assert_eq!(next.session().tip.position(), 2);
        next.call(test_bed::user("two"), silent).await.unwrap();
        drop(next);
        // The lease of this server is free again at once, even if it was not released yet.
        let again = second.enter("shared", test_config(&server)).await.unwrap();
        assert_eq!(again.session().tip.position(), 4);
        drop(again);
        assert_eq!(texts(&first, "shared").await, ["one", "re: one", "two", "re: two"]);
    }
}

/// What one caller set for its next call does not reach the call of another one.
#[tokio::test]
async fn next_caller_inherits_nothing() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let sessions = sessions(&logs(&directory)[0], 10);
    sessions.log().write(|log| log.create(Session::new("s"))).await.unwrap();
    let mut first = sessions.enter("s", test_config(&server)).await.unwrap();
    first.add_ephemeral("only for the first caller");
    first.emit_raw_events(true);
    first.add_messages(test_bed::user("added, not stored")).await.unwrap();
    drop(first);
    let mut second = sessions.enter("s", test_config(&server)).await.unwrap();
    let mut raw = 0;
    let count = |event| raw += usize::from(matches!(event, Event::Raw { .. }));
    second.call(test_bed::user("hello"), count).await.unwrap();
    drop(second);
    let request = server.received().pop().unwrap();
    assert!(!request.body.contains("first caller") && !request.body.contains("not stored"));
    assert_eq!(raw, 0);
    assert_eq!(texts(&sessions, "s").await, ["hello", "re: hello"]);
}

#[tokio::test]
async fn unknown_sessions_evict_none() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let sessions = sessions(&logs(&directory)[0], 2);
    for id in ["a", "b"] {
        sessions.log().write(move |log| log.create(Session::new(id))).await.unwrap();
        drop(sessions.enter(id, test_config(&server)).await.unwrap());
    }
    for n in 0..5 {
        let id = format!("unknown {n}");
        assert!(sessions.enter(&id, test_config(&server)).await.is_err());
        assert!(sessions.try_enter(&id, test_config(&server)).await.is_err());
        assert!(sessions.enter_or_fork(&id, test_config(&server)).await.is_err());
        assert_eq!(sessions.len(), 2, "{sessions:?}");
    }
}

/// A full registry: `try_enter` does not wait, and callers that wait for one session do not keep
/// others from theirs.
#[tokio::test]
async fn waiting_callers_take_no_place() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let sessions = sessions(&logs(&directory)[0], 2);
    for id in ["a", "b", "c"] {
        sessions.log().write(move |log| log.create(Session::new(id))).await.unwrap();
    }
    let first = sessions.enter("a", test_config(&server)).await.unwrap();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let sessions = sessions.clone();
            let config = test_config(&server);
            tokio::spawn(async move { sessions.enter("a", config).await.map(drop) })
        })
        .collect();
    tokio::task::yield_now().await;
    let enter = sessions.enter("b", test_config(&server));
    let second = tokio::time::timeout(Duration::from_secs(10), enter).await.unwrap().unwrap();
    let third = sessions.try_enter("c", test_config(&server));
    let third = tokio::time::timeout(Duration::from_secs(10), third).await.unwrap().unwrap();
    assert!(third.is_none());
    drop((first, second));
    for caller in waiting {
        caller.await.unwrap().unwrap();
    }
    assert!(sessions.try_enter("c", test_config(&server)).await.unwrap().is_some());
}
