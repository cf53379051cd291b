//! Stored request contexts, folds, summaries.

use waterline::history::{History, Past};
use waterline::message::{Message, Part, Role};
use waterline::model::Models;
use waterline::plan::{Action, Budget, Generation, Head, Input, extend, plan};
use waterline::policy::Policy;
use waterline_log::{
    ContextUpdate, Fold, Incoming, Log, LogError, Resumed, RewindTarget, Session, Summary, Tip,
    VERSIONS,
};

use crate::backend::{Backend, counter, freeze, parse, session, text_message};
use crate::cases;

cases![
    resume_sends_the_same_bytes,
    s4_33_v13_a_fold_leaves_the_log_unchanged,
    a_cleared_session_resumes_after_the_mark,
    a_session_without_calls_resumes_with_all_messages,
    a_fold_that_reads_recent_messages_keeps_what_a_whole_one_keeps,
    clearing_invalidates_the_request_context,
    concurrent_freezes_conflict,
    a_fold_can_be_undone,
    rewinding_before_a_fold_restores_the_earlier_context,
    a_fork_continues_with_its_parents_context,
    imported_folds_are_stored_once,
    s3_11_s3_13_summaries_keep_ten_versions,
    e17_rollback_before_a_summary_uses_the_newest_valid_one,
    c2_8_a_summary_without_its_target_is_invalid,
];

/// Returns the preset `auto` with sizes of its own, so that these tests fold at the same calls
/// however the preset is tuned.
fn policy() -> Policy {
    let settings = [
        ("fold.low", "\"88%\""),
        ("pin.max", "\"6%\""),
        ("trim.keep", "\"47%\""),
        ("window.tokens", "\"47%\""),
        ("window.tokens_min", "\"47%\""),
        ("summarise.max", "\"2%\""),
        ("summarise.ledger", "2000"),
        ("summarise.ledger_max", "\"25%\""),
        ("summarise.stable", "1100"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Policy::preset_with("auto", &settings).unwrap()
}

/// Plans each call of a session and stores the request context, as `waterline-session` does.
struct Runner<'a> {
    log: &'a Log,
    id: String,
    policy: Policy,
    history: History,
    generation: Generation,
    window: usize,
}

impl<'a> Runner<'a> {
    fn new(log: &'a Log, id: &str, window: usize) -> Self {
        log.create(Session::new(id)).unwrap();
        Self {
            log,
            id: id.to_owned(),
            policy: policy(),
            history: History::new(counter()),
            generation: Generation::new(),
            window,
        }
    }

    fn tip(&self) -> Tip {
        self.log.session(&self.id).unwrap().tip
    }

    fn append(&mut self, role: Role, text: &str) {
        let message = Message::new(role, vec![Part::text(text)]);
        self.log.append(&self.id, self.tip(), vec![Incoming::of(&message, &counter())]).unwrap();
        self.history.append(message);
    }

    /// Plans a call, stores its request context and returns the messages.
    fn call(&mut self) -> Vec<String> {
        let model = Models::builtin().unknown();
        let budget = Budget::of(self.window);
        let input = Input::new(&self.history, &self.generation, &self.policy, budget, &model);
        let planned = plan(&input);
        let fold = match &planned.action {
            Action::Fold { reasons, .. } => Some(Fold {
                reasons: reasons.clone(),
                tokens_before: planned.tokens.history,
                tokens_after: planned.tokens.context,
                ..Fold::default()
            }),
            _ => None,
        };
        let from = if fold.is_some() { 0 } else { self.generation.slots().len() };
        self.generation.freeze(&self.history, planned);
        let slots = self.generation.stored(&self.history, from);
        let sent = ContextUpdate {
            cleared: self.log.cleared(&self.id).unwrap(),
            head: self.generation.head(),
            past: self.history.past(),
            slots,
            fold,
        };
        let session = self.log.session(&self.id).unwrap();
        freeze(self.log, &session, sent).unwrap();
        self.sent()
    }

    /// Returns whether the next call needs no fold.
    fn extends(&self) -> bool {
        let model = Models::builtin().unknown();
        let budget = Budget::of(self.window);
        extend(&Input::new(&self.history, &self.generation, &self.policy, budget, &model)).is_some()
    }

    fn sent(&self) -> Vec<String> {
        self.generation
            .context(&self.history)
            .map(|message| serde_json::to_string(message).unwrap())
            .collect()
    }

    fn turns(&mut self, turns: std::ops::Range<usize>) {
        for turn in turns {
            self.append(
                Role::User,
                &format!("question {turn}: what about src/file_{turn}.rs? {}", "words ".repeat(40)),
            );
            self.call();
            self.append(Role::Assistant, &format!("answer {turn}: {}", "it is so ".repeat(40)));
        }
    }
}

/// Resumes a session and plans its next call. Returns the messages to send and how many messages
/// were loaded.
fn resumed(log: &Log, id: &str, window: usize) -> (Vec<String>, usize) {
    let Resumed { mut generation, history, .. } = log.resume(id, &counter(), parse).unwrap();
    let policy = policy();
    let model = Models::builtin().unknown();
    let input = Input::new(&history, &generation, &policy, Budget::of(window), &model);
    let planned = extend(&input).expect("an extension");
    generation.freeze(&history, planned);
    let loaded = (0..history.len()).filter(|&index| history.source(index).is_some()).count();
    (
        generation
            .context(&history)
            .map(|message| serde_json::to_string(message).unwrap())
            .collect(),
        loaded,
    )
}

fn resume_sends_the_same_bytes(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.append(Role::System, "be brief");
    runner.turns(0..40);
    assert!(runner.generation.number > 0);
    runner.append(Role::User, "and now?");
    if !runner.extends() {
        // The call folds. The one after it extends what the fold kept.
        runner.call();
        runner.append(Role::Assistant, "this");
        runner.append(Role::User, "and then?");
    }
    let (again, loaded) = resumed(&log, "s", 3_000);
    assert!(loaded < 6, "{loaded}");
    assert_eq!(runner.call(), again);
}

fn a_cleared_session_resumes_after_the_mark(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..5);
    log.clear("s").unwrap();
    runner.history = History::new(counter());
    runner.generation = Generation::new();
    runner.turns(5..43);
    assert!(runner.generation.number > 0);
    runner.append(Role::User, "and now?");
    let (again, _) = resumed(&log, "s", 3_000);
    assert_eq!(runner.call(), again);
    assert!(!again.concat().contains("question 3:"));
    assert_eq!(log.history("s", &counter(), parse).unwrap().len(), 77);
}

/// The indexes of the messages that are sent, and how; without the block that replaces the others.
fn kept(history: &History, generation: &Generation, window: usize) -> Vec<String> {
    let policy = policy();
    let model = Models::builtin().unknown();
    let input = Input::new(history, generation, &policy, Budget::of(window), &model);
    let planned = plan(&input);
    assert!(matches!(planned.action, Action::Fold { .. }));
    let mut sources: Vec<usize> =
        planned.slots.iter().flat_map(|slot| slot.sources.iter().copied()).collect();
    sources.sort_unstable();
    assert!(sources.into_iter().eq(0..history.len()), "every message is in one slot");
    let sent = planned.slots.iter().filter(|slot| {
        slot.treatment.is_sent() && slot.treatment != waterline::plan::Treatment::Summary
    });
    sent.map(|slot| {
        let texts = slot.views.iter().filter_map(|view| view.message(history)).map(Message::text);
        format!("{:?} {:?} {}", slot.sources, slot.treatment, texts.collect::<String>())
    })
    .collect()
}

fn a_fold_that_reads_recent_messages_keeps_what_a_whole_one_keeps(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.append(Role::System, "be brief");
    runner.turns(0..60);
    let shown: Vec<usize> = (runner.generation.slots().iter())
        .filter(|slot| slot.treatment.is_sent())
        .flat_map(|slot| slot.sources.iter().copied())
        .collect();
    let whole = log.history("s", &counter(), parse).unwrap();
    let recent = log.recent_history("s", &counter(), parse, 40, &shown).unwrap();
    let is_read = |index: &usize| recent.source(*index).is_some();
    let read = (0..whole.len()).filter(is_read).count();
    assert!(recent.has_unread() && (40..60).contains(&read), "{read}");
    for index in (0..whole.len()).filter(is_read) {
        assert_eq!(recent.source(index).unwrap().text(), whole.source(index).unwrap().text());
    }
    assert_eq!((recent.len(), recent.tokens()), (whole.len(), whole.tokens()));
    assert_eq!(recent.system_tokens(), whole.system_tokens());
    let window = 2_000;
    assert_eq!(kept(&recent, &runner.generation, window), kept(&whole, &runner.generation, window));
}

fn clearing_invalidates_the_request_context(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..5);
    log.clear("s").unwrap();
    runner.history = History::new(counter());
    runner.generation = Generation::new();
    runner.turns(5..8);
    // Without the mark, the stored context is invalid: it counts messages from the mark.
    log.undo_clear("s").unwrap();
    assert!(log.request_context("s").unwrap().is_none());
    let whole = log.resume("s", &counter(), parse).unwrap();
    assert_eq!((whole.history.len(), whole.cleared), (16, 0));
    // A call that was planned before the session was cleared is refused.
    let planned = log.session("s").unwrap();
    let sent = ContextUpdate {
        cleared: 0,
        head: Head::default(),
        past: Past::default(),
        slots: Vec::new(),
        fold: None,
    };
    log.clear("s").unwrap();
    assert!(matches!(freeze(&log, &planned, sent), Err(LogError::Conflict { .. })));
}

fn concurrent_freezes_conflict(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one"]);
    let planned = log.session("s").unwrap();
    let sent = || ContextUpdate {
        cleared: 0,
        head: Head::default(),
        past: Past::default(),
        slots: Vec::new(),
        fold: None,
    };
    let first = freeze(&log, &planned, sent()).unwrap();
    assert!(matches!(freeze(&log, &planned, sent()), Err(LogError::Conflict { .. })));
    // An append does not change the stored context.
    let tip = log.append("s", first.tip, vec![text_message(Role::User, "two")]).unwrap().tip;
    assert_eq!(log.session("s").unwrap().request_context, first.request_context);
    assert_eq!(tip.position(), 2);
}

fn a_session_without_calls_resumes_with_all_messages(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let (again, loaded) = resumed(&log, "s", 3_000);
    assert_eq!((again.len(), loaded <= 3), (3, true));
}

fn s4_33_v13_a_fold_leaves_the_log_unchanged(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..40);
    let entries = log.entries("s").unwrap();
    assert_eq!(entries.len(), 80);
    assert!(entries.iter().zip(0..).all(
        |(entry, at)| entry.message(parse).text() == runner.history.source(at).unwrap().text()
    ));
    let folds = log.generations("s").unwrap();
    assert_eq!(folds.len() as u64, runner.generation.number);
    assert!(
        folds.iter().all(|fold| fold.fold.tokens_after < fold.fold.tokens_before
            && !fold.fold.reasons.is_empty())
    );
    assert_eq!(folds.iter().filter(|fold| fold.is_current).count(), 1);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

fn a_fold_can_be_undone(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..40);
    let number = runner.generation.number;
    log.undo_fold("s").unwrap();
    let before = log.request_context("s").unwrap().unwrap();
    assert_eq!(before.head.number, number - 1);
    assert!(before.head.covered < runner.generation.covered());
    for _ in 1..number {
        log.undo_fold("s").unwrap();
    }
    assert_eq!(log.request_context("s").unwrap().unwrap().head.number, 0);
    assert!(matches!(log.undo_fold("s"), Err(LogError::Refused(_))));
    assert_eq!(log.session("s").unwrap().tip.position(), 80);
    assert_eq!(log.generations("s").unwrap().len() as u64, number);
}

fn rewinding_before_a_fold_restores_the_earlier_context(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..5);
    let early = log.request_context("s").unwrap().unwrap();
    runner.turns(5..42);
    log.rewind("s", RewindTarget::Position(10)).unwrap();
    let back = log.request_context("s").unwrap().unwrap();
    assert_eq!((back.head.clone(), back.slots.len()), (early.head, early.slots.len()));
    assert_eq!(back.head.number, 0);
    log.forward("s", None).unwrap();
    // Going forward restores the newest context.
    let again = log.request_context("s").unwrap().unwrap();
    assert_eq!(
        (again.head.number, again.head.covered),
        (runner.generation.number, runner.generation.covered())
    );
    assert_eq!(log.session("s").unwrap().tip.position(), 84);
    runner.append(Role::User, "and now?");
    let (sent, _) = resumed(&log, "s", 3_000);
    assert_eq!(runner.call(), sent);
}

fn a_fork_continues_with_its_parents_context(backend: &dyn Backend) {
    let log = backend.open();
    let mut runner = Runner::new(&log, "s", 3_000);
    runner.turns(0..42);
    let parent = log.request_context("s").unwrap().unwrap();
    let stats = log.stats().unwrap();
    let fork = log.fork("s", None, Some("f".into())).unwrap();
    let sent = log.request_context("f").unwrap().unwrap();
    assert_eq!((sent.head, sent.slots.len()), (parent.head, parent.slots.len()));
    assert_eq!(log.stats().unwrap().generations, stats.generations);
    log.append("f", fork.tip, vec![text_message(Role::User, "otherwise")]).unwrap();
    assert!(resumed(&log, "f", 3_000).0.last().unwrap().contains("otherwise"));
    // Later folds of the parent do not affect the fork.
    runner.turns(42..80);
    assert!(
        log.request_context("s").unwrap().unwrap().head.number
            > log.request_context("f").unwrap().unwrap().head.number
    );
}

fn imported_folds_are_stored_once(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["one", "two", "three"]);
    let fold =
        Fold { reasons: "auto".into(), tokens_before: 900, tokens_after: 100, ..Fold::default() };
    for _ in 0..2 {
        log.note_fold("s", 2, 1, fold.clone(), Some(5)).unwrap();
    }
    let noted = log.generations("s").unwrap();
    assert_eq!(noted.len(), 1);
    assert_eq!(
        (noted[0].position, noted[0].number, &noted[0].fold, noted[0].time),
        (2, 1, &fold, 5)
    );
    assert!(log.note_fold("s", 9, 1, fold, None).is_err());
}

fn summary(start: u64, until: u64, text: &str) -> Summary {
    Summary {
        version: 0,
        start,
        until,
        target: None,
        generation: None,
        text: text.to_owned(),
        tokens: 1_500,
        original_tokens: 12_000,
        time: 0,
    }
}

fn s3_11_s3_13_summaries_keep_ten_versions(backend: &dyn Backend) {
    let log = backend.open();
    let texts: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    session(&log, "s", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    for until in 1..=15 {
        let created = log.add_summary("s", summary(0, until, &format!("up to {until}"))).unwrap();
        assert_eq!((created.version, created.messages()), (until, until));
    }
    let current = log.summary("s").unwrap().unwrap();
    assert_eq!((current.text.as_str(), current.until, current.tokens), ("up to 15", 15, 1_500));
    assert!((current.compression_rate() - 0.875).abs() < 1e-9);
    let kept = log.summaries("s").unwrap();
    assert_eq!((kept.len() as u64, kept.last().unwrap().version), (VERSIONS, 6));
    // An identical summary is not a new version.
    assert_eq!(log.add_summary("s", summary(0, 15, "up to 15")).unwrap().version, 15);
    assert!(log.add_summary("s", summary(0, 31, "too far")).is_err());
    assert!(log.add_summary("s", summary(3, 3, "nothing")).is_err());
}

/// E.17: after a rollback to before the end of a summary, an older version is used.
fn e17_rollback_before_a_summary_uses_the_newest_valid_one(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["1", "2", "3", "4", "5", "6"]);
    log.add_summary("s", summary(0, 2, "up to 2")).unwrap();
    log.add_summary("s", summary(0, 4, "up to 4")).unwrap();
    let back = log.rewind("s", RewindTarget::Position(3)).unwrap();
    assert_eq!(log.summary("s").unwrap().unwrap().text, "up to 2");
    // Appending other messages does not make the newer one valid again.
    log.append("s", back.tip, vec![text_message(Role::User, "x"), text_message(Role::User, "y")])
        .unwrap();
    assert_eq!(log.summary("s").unwrap().unwrap().text, "up to 2");
    // A fork uses the valid summaries of its parent.
    assert_eq!(
        log.summary(&log.fork("s", Some(3), None).unwrap().id).unwrap().unwrap().text,
        "up to 2"
    );
    log.rewind("s", RewindTarget::Position(1)).unwrap();
    assert_eq!(log.summary("s").unwrap(), None);
    assert_eq!(log.summaries("s").unwrap().len(), 2);
}

fn c2_8_a_summary_without_its_target_is_invalid(backend: &dyn Backend) {
    let log = backend.open();
    session(&log, "s", &["1", "2", "3", "4"]);
    let target = log.entries("s").unwrap()[3].id;
    log.add_summary(
        "s",
        Summary { target: Some(target), generation: Some(2), ..summary(0, 2, "early") },
    )
    .unwrap();
    assert_eq!(log.summary("s").unwrap().unwrap().target, Some(target));
    log.rewind("s", RewindTarget::Position(3)).unwrap();
    assert_eq!(log.summary("s").unwrap(), None);
    log.forward("s", None).unwrap();
    assert_eq!(log.summary("s").unwrap().unwrap().generation, Some(2));
}
