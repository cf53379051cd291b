//! Search, verification, erasing, statistics, artifacts.

use serde_json::json;
use waterline::message::Role;
use waterline_log::{EraseReport, EraseTarget, LogError, RewindTarget, Session, Usage};

use crate::backend::{Backend, parse, record_usage, session, text_message, texts};
use crate::cases;

cases![
    search_finds_words,
    search_finds_chinese_japanese_and_korean,
    a_chinese_question_finds_the_statement,
    artifacts_are_searched,
    search_finds_identifiers_and_their_parts,
    search_can_be_limited_to_a_session,
    search_of_a_user_is_not_crowded_out_by_others,
    odd_queries_do_not_fail,
    erasing_a_session_deletes_all_its_data,
    erasing_keeps_messages_that_a_fork_shares,
    a_blank_session_is_erased_and_one_with_messages_is_not,
    s2_29_c0_10_idle_sessions_are_erased,
    erasing_a_user_deletes_all_their_data,
    a_session_with_an_active_sub_agent_is_not_idle,
    a_dry_run_deletes_nothing,
    stats_count_everything,
    artifacts_are_stored_once_and_in_full,
];

fn found(log: &waterline_log::Log, query: &str) -> Vec<String> {
    let hits = log.search(query, None, 10).unwrap();
    hits.iter()
        .map(|hit| format!("{}/{}", hit.session.as_deref().unwrap_or("-"), hit.entry.position))
        .collect()
}

fn search_finds_words(backend: &dyn Backend) {
    let log = backend.open();
    session(
        &log,
        "s",
        &["the build fails with error E0382", "a value was moved", "The Build is green"],
    );
    assert_eq!(found(&log, "build"), ["s/3", "s/1"]);
    // All terms before some of them.
    assert_eq!(found(&log, "BUILD fails"), ["s/1", "s/3"]);
    assert_eq!(found(&log, "e0382"), ["s/1"]);
    assert_eq!(found(&log, "moved quickly"), ["s/2"]);
    assert_eq!(found(&log, "nowhere"), Vec::<String>::new());
    assert_eq!(found(&log, "fail*"), ["s/1"]);
}

fn search_finds_chinese_japanese_and_korean(backend: &dyn Backend) {
    let log = backend.open();
    session(
        &log,
        "s",
        &[
            "请升级数据库的索引",
            "データベースを更新する",
            "데이터베이스를 갱신",
            "二叉树",
            "据此入库，另有数字",
        ],
    );
    assert_eq!(found(&log, "数据库"), ["s/1"]);
    assert_eq!(found(&log, "树"), ["s/4"]);
    assert_eq!(found(&log, "索引"), ["s/1"]);
    assert_eq!(found(&log, "更新"), ["s/2"]);
    assert_eq!(found(&log, "データ"), ["s/2"]);
    assert_eq!(found(&log, "데이터"), ["s/3"]);
    assert_eq!(found(&log, "数据库 索引"), ["s/1"]);
}

/// A question shares words with the answer, not whole phrases.
fn a_chinese_question_finds_the_statement(backend: &dyn Backend) {
    let log = backend.open();
    let texts = ["记住：大门密码是4711", "好的，今天天气不错", "大门密码是多少？"];
    session(&log, "s", &texts);
    assert_eq!(found(&log, "大门密码是多少？"), ["s/3", "s/1"]);
    assert_eq!(found(&log, "密码")[..1], ["s/3"]);
    let escaped = json!({"role": "user", "content": "x"}).to_string();
    let escaped = escaped.replace('x', "\\u5927\\u95e8\\u94a5\\u5319");
    let mut incoming = text_message(Role::User, "大门钥匙");
    incoming.encoding = waterline_log::Encoding::Wire(waterline::message::Wire::OPENAI_CHAT);
    incoming.bytes = escaped.into_bytes();
    let tip = log.session("s").unwrap().tip;
    log.append("s", tip, vec![incoming]).unwrap();
    assert_eq!(found(&log, "大门钥匙")[..1], ["s/4"]);
}

fn artifacts_are_searched(backend: &dyn Backend) {
    let log = backend.open();
    let text = (0..200).map(|n| format!("module_{n} compiled\n")).collect::<String>();
    let name = waterline::truncate::artifact_id(&text);
    let result = format!("module_0 compiled\n[... full text in artifact {name} ...]");
    session(&log, "s", &["compile it", &result, "thanks"]);
    session(&log, "other", &["hello"]);
    let stored = log.put_artifact("s", "text/plain", "module_0", text.into_bytes()).unwrap();
    log.put_artifact("other", "application/gzip", "", vec![0xff, 0xfe, 0x00]).unwrap();
    let hits = log.search("module_133", Some("s"), 5).unwrap();
    assert_eq!((hits.len(), hits[0].entry.position), (1, 2));
    assert_eq!(hits[0].artifact.as_ref().unwrap().hash, stored.hash);
    let shown = hits[0].passage("module_133", 40, parse);
    assert!(shown.contains("module_133 compiled"), "{shown}");
    assert_eq!(found(&log, "module_133"), ["s/2"]);
    assert_eq!(log.search("module_133", Some("other"), 5).unwrap().len(), 0);
    // Newer artifacts of other sessions do not hide it.
    for number in 0..60 {
        let text = format!("module_133 again, {number}");
        log.put_artifact("other", "text/plain", "", text.into_bytes()).unwrap();
    }
    assert_eq!(log.search("module_133", Some("s"), 5).unwrap().len(), 1);
    // The message itself is the better hit if it has the words.
    assert!(log.search("module_0", None, 5).unwrap()[0].artifact.is_none());
    log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert_eq!(found(&log, "module_133"), Vec::<String>::new());
}

fn search_finds_identifiers_and_their_parts(backend: &dyn Backend) {
    let log = backend.open();
    session(
        &log,
        "s",
        &["call get_user_by_id(7)", "class HttpServerError", "src/tokens/estimate.rs:73"],
    );
    assert_eq!(found(&log, "get_user_by_id"), ["s/1"]);
    assert_eq!(found(&log, "user"), ["s/1"]);
    assert_eq!(found(&log, "server error"), ["s/2"]);
    assert_eq!(found(&log, "httpservererror"), ["s/2"]);
    assert_eq!(found(&log, "tokens/estimate.rs"), ["s/3"]);
    assert_eq!(found(&log, "get_user_by_name"), Vec::<String>::new());
}

fn search_can_be_limited_to_a_session(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "a", &["common start", "needle in a"]);
    session(&log, "b", &["common start", "needle in b"]);
    let hits = log.search("needle", Some("b"), 10).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].entry.position, 2);
    assert_eq!(log.search("common", Some("a"), 10).unwrap().len(), 1);
    log.rewind("b", RewindTarget::Position(1)).unwrap();
    assert_eq!(log.search("needle", Some("b"), 10).unwrap().len(), 0);
    assert_eq!(found(&log, "needle").len(), 2);
    assert!(matches!(log.search("needle", Some("c"), 1), Err(LogError::NoSession { .. })));
}

fn search_of_a_user_is_not_crowded_out_by_others(backend: &dyn Backend) {
    let log = backend.open();
    let of = |id: &str, user: Option<&str>| {
        log.create(Session { user: user.map(str::to_owned), ..Session::new(id) }).unwrap()
    };
    let say = |id: &str, texts: &[String]| {
        let tip = log.session(id).unwrap().tip;
        log.append(id, tip, texts.iter().map(|text| text_message(Role::User, text)).collect())
            .unwrap();
    };
    of("ada", Some("ada"));
    say("ada", &["common start".to_owned(), "the needle of ada".to_owned()]);
    of("none", None);
    say("none", &["common start".to_owned(), "the needle of all".to_owned()]);
    // More than are scored, and newer.
    of("eve", Some("eve"));
    say("eve", &(0..500).map(|n| format!("the needle {n} of eve")).collect::<Vec<_>>());
    let found = |user: Option<&str>, query: &str| -> Vec<String> {
        let hits = log.search_of_user(query, user, 10).unwrap();
        hits.iter()
            .map(|hit| format!("{}/{}", hit.session.as_deref().unwrap_or("-"), hit.entry.position))
            .collect()
    };
    assert_eq!(found(Some("ada"), "the needle"), ["ada/2"]);
    assert_eq!(found(None, "the needle"), ["none/2"]);
    assert_eq!(found(Some("ada"), "common"), ["ada/1"], "both have the same message");
    assert_eq!(found(None, "common"), ["none/1"]);
    assert!(found(Some("stranger"), "needle").is_empty());
    // A fork has the messages up to its start.
    let fork = log.fork("ada", Some(1), None).unwrap();
    log.erase(&EraseTarget::Session("ada".into())).unwrap();
    assert_eq!(found(Some("ada"), "common"), [format!("{}/1", fork.id)]);
    assert!(found(Some("ada"), "needle").is_empty());
}

fn odd_queries_do_not_fail(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["it's \"quoted\" AND OR NOT NEAR"]);
    for odd in
        ["", "   ", "\"", "'", "*", "a*", ":", "-", "(", "\\", "' OR 1=1 --", "\0", "&|!", "<->"]
    {
        log.search(odd, None, 5).unwrap();
    }
    assert_eq!(found(&log, "\"quoted\""), ["s/1"]);
    assert_eq!(found(&log, "NEAR"), ["s/1"]);
}

fn erasing_a_session_deletes_all_its_data(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "keep", &["hello", "stays"]);
    let tip = session(&log, "s", &["hello", "secretword", "more"]).tip;
    log.checkpoint("s", json!({})).unwrap();
    record_usage(&log, "s", Usage::default()).unwrap();
    log.put_artifact("s", "text/plain", "p", b"artifact".to_vec()).unwrap();
    log.replace_jobs("summary", "s", "{}").unwrap();
    log.rewind("s", RewindTarget::Position(2)).unwrap();
    let child = log.create_sub_agent("s").unwrap();
    log.append(&child.id, child.tip, vec![text_message(Role::User, "secretword of the child")])
        .unwrap();
    assert_eq!(tip.position(), 3);

    let erased = log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert_eq!(
        erased.sessions,
        [child.id.clone(), "s".into()]
            .iter()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
    assert_eq!((erased.messages, erased.shared), (3, 1));
    assert_eq!(erased.rows["checkpoint"], 1);
    assert!(matches!(log.session("s"), Err(LogError::NoSession { .. })));
    assert!(matches!(log.session(&child.id), Err(LogError::NoSession { .. })));
    assert_eq!(log.search("secretword", None, 5).unwrap().len(), 0);
    assert_eq!(texts(&log, "keep"), ["hello", "stays"]);
    let stats = log.stats().unwrap();
    assert_eq!(
        (
            stats.messages,
            stats.contents,
            stats.artifacts,
            stats.jobs,
            stats.calls,
            stats.checkpoints
        ),
        (2, 2, 0, 0, 0, 0)
    );
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    assert!(erased.is_clean);
    assert!(log.erase(&EraseTarget::Session("s".into())).is_err());
}

fn erasing_keeps_messages_that_a_fork_shares(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three", "four"]);
    let fork = log.fork("s", Some(2), Some("f".into())).unwrap();
    log.append("f", fork.tip, vec![text_message(Role::User, "other")]).unwrap();
    let erased = log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert_eq!((erased.messages, erased.shared), (2, 2));
    assert_eq!(texts(&log, "f"), ["one", "two", "other"]);
    assert_eq!(log.session("f").unwrap().parent, None);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    // The erased messages can be appended again.
    session(&log, "s", &["one", "two", "three", "four"]);
    assert_eq!(texts(&log, "s"), ["one", "two", "three", "four"]);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
    let rest = log.erase(&EraseTarget::Session("f".into())).unwrap();
    assert_eq!(rest.messages, 1);
    log.erase(&EraseTarget::Session("s".into())).unwrap();
    let stats = log.stats().unwrap();
    assert_eq!((stats.messages, stats.contents, stats.branches), (0, 0, 0));
}

fn a_blank_session_is_erased_and_one_with_messages_is_not(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "talked", &["one", "two"]);
    let blank = log.create(Session::new("blank")).unwrap();
    log.append("blank", blank.tip, vec![text_message(Role::System, "help")]).unwrap();
    assert!(log.erase_blank("blank").unwrap() && log.lookup("blank").unwrap().is_none());
    assert!(!log.erase_blank("talked").unwrap());
    assert_eq!(texts(&log, "talked"), ["one", "two"]);
    assert_eq!(
        (log.stats().unwrap().messages, log.verify(|_, _| ()).unwrap().problems),
        (2, vec![])
    );
}

/// S2.29: sessions unused for thirty days are erased; C0.10: with all their data.
fn s2_29_c0_10_idle_sessions_are_erased(backend: &dyn Backend) {
    let log = backend.open();
    let mut old = session(&log, "old", &["one"]);
    old.workspace = Some("/w/old".into());
    log.save(&old).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let limit = log.now();
    std::thread::sleep(std::time::Duration::from_millis(5));
    session(&log, "new", &["two"]);
    let would = log.would_erase(&EraseTarget::IdleSince(limit)).unwrap();
    assert_eq!(
        (would.sessions.as_slice(), would.workspaces.as_slice()),
        (["old".to_owned()].as_slice(), ["/w/old".to_owned()].as_slice())
    );
    let erased = log.erase(&EraseTarget::IdleSince(limit)).unwrap();
    assert_eq!(EraseReport { is_clean: would.is_clean, ..erased }, would);
    assert_eq!(log.sessions(&Default::default()).unwrap().len(), 1);
    assert_eq!(log.erase(&EraseTarget::IdleSince(limit)).unwrap().sessions.len(), 0);
}

fn erasing_a_user_deletes_all_their_data(backend: &dyn Backend) {
    let log = backend.open();
    for (id, user) in [("a", "u"), ("b", "u"), ("c", "v")] {
        let created = log.create(Session { user: Some(user.into()), ..Session::new(id) }).unwrap();
        log.append(
            id,
            created.tip,
            vec![text_message(Role::User, "the same"), text_message(Role::Assistant, id)],
        )
        .unwrap();
    }
    log.set_preference("u", "policy", Some("chat")).unwrap();
    log.set_preference("w", "policy", Some("chat")).unwrap();
    assert_eq!(log.erase(&EraseTarget::User("w".into())).unwrap().rows["preference"], 1);
    let erased = log.erase(&EraseTarget::User("u".into())).unwrap();
    assert_eq!(
        (erased.sessions.as_slice(), erased.messages),
        (["a".to_owned(), "b".to_owned()].as_slice(), 2)
    );
    assert_eq!(log.preferences("u").unwrap().len(), 0);
    assert_eq!(texts(&log, "c"), ["the same", "c"]);
    assert!(matches!(log.erase(&EraseTarget::User("u".into())), Err(LogError::Missing { .. })));
}

fn a_session_with_an_active_sub_agent_is_not_idle(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    let child = log.create_sub_agent("s").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let limit = log.now();
    std::thread::sleep(std::time::Duration::from_millis(5));
    log.append(&child.id, child.tip, vec![text_message(Role::User, "task")]).unwrap();
    assert_eq!(log.would_erase(&EraseTarget::IdleSince(limit)).unwrap().sessions.len(), 0);
    assert_eq!(log.would_erase(&EraseTarget::IdleSince(i64::MAX)).unwrap().sessions.len(), 2);
}

fn a_dry_run_deletes_nothing(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    let would = log.would_erase(&EraseTarget::Session("s".into())).unwrap();
    assert_eq!((would.messages, would.sessions.len()), (2, 1));
    assert_eq!(texts(&log, "s"), ["one", "two"]);
}

fn stats_count_everything(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two"]);
    let call = Usage {
        model: "m".into(),
        input: 10,
        cache_read: 90,
        cache_write: 5,
        output: 7,
        price: Some(123),
        latency: Some(900),
        ..Usage::default()
    };
    record_usage(&log, "s", call.clone()).unwrap();
    record_usage(&log, "s", call.clone()).unwrap();
    let stats = log.stats().unwrap();
    assert_eq!((stats.calls, stats.prompt, stats.output, stats.price), (2, [20, 180, 10], 14, 246));
    assert_eq!((stats.sessions, stats.messages, stats.tokens > 0), (1, 2, true));
    assert!(stats.database_bytes > 0 && stats.message_bytes > 0);
    let calls = log.usage("s").unwrap();
    assert_eq!((calls.len(), &calls[0].model, calls[0].latency), (2, &call.model, Some(900)));
    assert!(record_usage(&log, "missing", call).is_err());
}

fn artifacts_are_stored_once_and_in_full(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    session(&log, "t", &["one"]);
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(|n| (n % 251).to_le_bytes()).collect();
    let put = log.put_artifact("s", "application/octet-stream", "800 kB", bytes.clone()).unwrap();
    let again = log.put_artifact("t", "application/octet-stream", "800 kB", bytes.clone()).unwrap();
    assert_eq!(put.hash, again.hash);
    assert!(log.artifact(&put.hash).unwrap() == bytes);
    assert_eq!(log.stats().unwrap().artifacts, 1);
    assert_eq!(log.artifacts("t").unwrap()[0].preview, "800 kB");
    log.erase(&EraseTarget::Session("s".into())).unwrap();
    assert!(log.artifact(&put.hash).unwrap() == bytes);
    assert!(log.put_artifact("missing", "", "", vec![1]).is_err());
}
