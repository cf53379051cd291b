//! Middlewares: the order of the hooks, the effect of each verdict, and the built-in list.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use test_bed::{Line, TestBed, bash, calls, model, says, sent, tools};
use waterline_agent::middleware::{HookContext, Hooked, Middleware, To, Verdict};
use waterline_agent::{
    ApprovalReply, ApprovalRequest, EndReason, Ending, Event, FailureKind, Observer, Source,
    UserInput,
};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

/// Records when it is called, and returns a prepared verdict.
struct Spy {
    name: &'static str,
    priority: i32,
    called: Arc<Mutex<Vec<String>>>,
    verdict: fn(&str) -> Hooked,
}

impl Spy {
    fn record(&self, hook: &str) -> Hooked {
        self.called.lock().unwrap().push(format!("{} {hook}", self.name));
        (self.verdict)(hook)
    }
}

impl Middleware for Spy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn before_agent(&self, _: &mut HookContext<'_>) -> Hooked {
        self.record("before_agent")
    }

    fn after_agent(&self, _: &mut HookContext<'_>) -> Hooked {
        self.record("after_agent")
    }

    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        context.state.other.insert("seen".to_owned(), json!(true));
        self.record("before_model")
    }

    fn after_model(&self, _: &mut HookContext<'_>) -> Hooked {
        self.record("after_model")
    }

    fn before_tools(&self, _: &mut HookContext<'_>) -> Hooked {
        self.record("before_tools")
    }

    fn after_tools(&self, _: &mut HookContext<'_>) -> Hooked {
        self.record("after_tools")
    }
}

/// Requires approval at one hook.
struct Asks(&'static str);

impl Asks {
    /// Requires approval for the first call, or for the hook itself if there is no call.
    fn ask(&self, hook: &str, context: &HookContext<'_>) -> Hooked {
        let call_id = context.calls.first().map_or_else(|| hook.to_owned(), |call| call.id.clone());
        let mut request = ApprovalRequest::new(call_id, "now", "{}", "the test requires it");
        request.may_always = true;
        request.in_advance = true;
        Ok(if hook == self.0 { Verdict::Interrupt(request) } else { Verdict::Ok })
    }
}

impl Middleware for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn priority(&self) -> i32 {
        1
    }

    fn before_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("before_agent", context)
    }

    fn after_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("after_agent", context)
    }

    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("before_model", context)
    }

    fn after_model(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("after_model", context)
    }

    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("before_tools", context)
    }

    fn after_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        self.ask("after_tools", context)
    }
}

fn spy(
    name: &'static str,
    priority: i32,
    called: &Arc<Mutex<Vec<String>>>,
    verdict: fn(&str) -> Hooked,
) -> Arc<dyn Middleware> {
    Arc::new(Spy { name, priority, called: Arc::clone(called), verdict })
}

/// S4.11, section G: six hooks, lowest priority first.
#[tokio::test]
async fn s4_11_hooks_are_called_in_order() {
    let bed = TestBed::new();
    let server = model(vec![calls("now", json!({})), says("noon")]);
    let called = Arc::default();
    let mut config = bed.config(&server);
    config.middleware = vec![
        spy("late", 200, &called, |_| Ok(Verdict::Ok)),
        spy("early", 5, &called, |_| Ok(Verdict::Ok)),
    ];
    bed.open(config).await.turn(UserInput::new("time?")).await.unwrap();
    let hooks = [
        "before_agent",
        "before_model",
        "after_model",
        "before_tools",
        "after_tools",
        "before_model",
        "after_model",
        "after_agent",
    ];
    let expected: Vec<String> =
        hooks.iter().flat_map(|hook| [format!("early {hook}"), format!("late {hook}")]).collect();
    assert_eq!(*called.lock().unwrap(), expected);
}

/// Section G: a failing hook is visible, and nothing else fails with it.
#[tokio::test]
async fn a_failing_hook_is_reported_and_counted() {
    let bed = TestBed::new();
    let server = model(vec![says("noon")]);
    let called = Arc::default();
    let mut config = bed.config(&server);
    config.middleware = vec![spy("broken", 5, &called, |hook| {
        if hook == "before_model" { Err("it broke".to_owned()) } else { Ok(Verdict::Ok) }
    })];
    let mut agent = bed.open(config).await;
    let outcome = agent.turn(UserInput::new("time?")).await.unwrap();
    assert_eq!((outcome.text.as_str(), agent.hook_failures()), ("noon", 1));
    assert!(
        bed.watcher
            .event_lines()
            .iter()
            .any(|event| event.contains("HookFailed") && event.contains("it broke"))
    );
}

#[tokio::test]
async fn verdicts_halt_jump_and_store_the_state() {
    let bed = TestBed::new();
    let server = model(vec![calls("now", json!({}))]);
    let called = Arc::default();
    let mut config = bed.config(&server);
    config.middleware = vec![spy("m", 5, &called, |hook| match hook {
        "before_model" => Ok(Verdict::Update),
        "before_tools" => Ok(Verdict::Halt("enough".into())),
        _ => Ok(Verdict::Ok),
    })];
    let outcome = bed.open(config).await.turn(UserInput::new("time?")).await.unwrap();
    assert_eq!(outcome.ending, Ending::Halted("enough".into()));
    assert_eq!(bed.log().session("s").unwrap().state["seen"], true, "an update is stored");

    let bed = TestBed::new();
    let server = model(vec![says("never said")]);
    let mut config = bed.config(&server);
    config.middleware = vec![spy("m", 5, &called, |hook| {
        if hook == "before_model" { Ok(Verdict::Goto(To::End)) } else { Ok(Verdict::Ok) }
    })];
    let outcome = bed.open(config).await.turn(UserInput::new("time?")).await.unwrap();
    assert_eq!((outcome.ending, server.received().len()), (Ending::Done, 0));
}

/// A middleware that requires approval gets it once, and the later middlewares are still called.
#[tokio::test]
async fn approval_can_be_required_at_every_hook() {
    for hook in [
        "before_agent",
        "before_model",
        "after_model",
        "before_tools",
        "after_tools",
        "after_agent",
    ] {
        for (reply, ending) in [
            (ApprovalReply::Allow, Ending::Done),
            (ApprovalReply::Deny(None), Ending::Halted("".into())),
        ] {
            let bed = TestBed::new();
            let server = model(vec![calls("now", json!({})), says("noon")]);
            let later = Arc::default();
            let mut config = bed.config(&server);
            let asking: Arc<dyn Middleware> = Arc::new(Asks(hook));
            config.middleware = vec![asking, spy("later", 200, &later, |_| Ok(Verdict::Ok))];
            bed.watcher.replies.lock().unwrap().extend(vec![reply.clone(); 3]);
            let outcome = bed.open(config).await.turn(UserInput::new("time?")).await.unwrap();
            // Before tools, a denial is a result of the call, and the turn continues.
            let expected = if hook == "before_tools" { Ending::Done } else { ending };
            assert_eq!(
                std::mem::discriminant(&outcome.ending),
                std::mem::discriminant(&expected),
                "{hook}: {outcome:?}"
            );
            // Asked once, although the model hooks run again for the second model call.
            assert_eq!(bed.watcher.requests.lock().unwrap().len(), 1, "{hook}");
            if hook == "before_tools" {
                let denied = bed.story("s")[2].contains("failed: Denied by the user");
                assert_eq!(denied, reply != ApprovalReply::Allow, "{:?}", bed.story("s"));
            }
            if reply == ApprovalReply::Allow {
                assert!(later.lock().unwrap().contains(&format!("later {hook}")), "{hook}");
            }
        }
    }
}

/// Requires approval for each call.
struct AsksAboutCalls;

impl Middleware for AsksAboutCalls {
    fn name(&self) -> &'static str {
        "asks_about_calls"
    }

    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        let Some(call) = context.calls.iter().find(|call| !context.replies.contains_key(&call.id))
        else {
            return Ok(Verdict::Ok);
        };
        let mut request =
            ApprovalRequest::new(&call.id, &call.name, &call.arguments, "the test requires it");
        request.may_always = true;
        request.in_advance = true;
        Ok(Verdict::Interrupt(request))
    }
}

/// An approval for a middleware does not cover a risky call.
#[tokio::test]
async fn a_risky_call_needs_approval_even_after_one_for_a_middleware() {
    let bed = TestBed::new();
    let server = model(vec![bash("rm -rf /"), says("not done")]);
    let mut config = bed.config(&server);
    config.middleware = vec![Arc::new(AsksAboutCalls)];
    bed.watcher
        .replies
        .lock()
        .unwrap()
        .extend([ApprovalReply::AllowAlways, ApprovalReply::Deny(None)]);
    bed.open(config).await.turn(UserInput::new("clean up")).await.unwrap();
    let reasons: Vec<String> = bed
        .watcher
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.reason.to_string())
        .collect();
    assert!(reasons.len() == 2 && reasons[1].contains("critical risk"), "{reasons:?}");
    assert!(bed.story("s")[2].contains("Denied by the user"), "{:?}", bed.story("s"));
}

#[tokio::test]
async fn call_limit_halts_the_turn() {
    let bed = TestBed::new();
    let server =
        model((0..9).map(|n| calls("read_file", json!({"path": format!("f{n}")}))).collect());
    let mut config = bed.config(&server);
    config.add("call_limit", &json!({"turn": 2})).unwrap();
    let outcome = bed.open(config).await.turn(UserInput::new("read")).await.unwrap();
    assert!(matches!(&outcome.ending, Ending::Halted(EndReason::TurnCalls(2))), "{outcome:?}");
}

#[tokio::test]
async fn pii_is_removed_from_input_and_results_before_they_are_stored() {
    let bed = TestBed::new();
    let server = model(vec![bash("echo ann@$(echo example).org"), says("done")]);
    let mut config = bed.config(&server);
    config.add("pii", &json!({})).unwrap();
    bed.open(config).await.turn(UserInput::new("mail bob@example.org")).await.unwrap();
    assert_eq!(
        (bed.story("s")[0].as_str(), bed.story("s")[2].as_str()),
        ("user: mail [EMAIL]", "tool: [EMAIL]")
    );
    assert!(!server.received().iter().any(|request| request.body.contains("example.org")));
}

#[tokio::test]
async fn tools_are_emulated_retried_and_selected() {
    let bed = TestBed::new();
    let server = model(vec![bash("rm -rf /"), says("pretended")]);
    let mut config = bed.config(&server);
    config.add("tool_emulator", &json!({"results": {"run_bash_command": "as if"}})).unwrap();
    config.add("tool_selector", &json!({"max_tools": 3, "always": ["run_bash_command"]})).unwrap();
    bed.open(config).await.turn(UserInput::new("wipe it")).await.unwrap();
    assert_eq!(bed.story("s")[2], "tool: as if");
    assert_eq!(bed.watcher.requests.lock().unwrap().len(), 0, "an emulated call needs no approval");
    let listed = tools(&server.received()[0]);
    assert_eq!(listed, ["read_file", "write_file", "run_bash_command", "call_tool"]);
    let prompt = sent(&server.received()[0])[0]["content"].to_string();
    assert!(
        prompt.contains("More tools, available through call_tool")
            && prompt.contains("- todo_write:"),
        "{prompt}"
    );
    let mut config = bed.config(&server);
    // The tool of a server may be unavailable; a missing built-in tool is misspelled.
    config.add("tool_selector", &json!({"always": ["tide__level", "run_bash"]})).unwrap();
    let error = config.apply_settings().unwrap_err().to_string();
    assert!(
        error.contains("unknown tool \"run_bash\"") && error.contains("run_bash_command"),
        "{error}"
    );
}

/// A tool of a server, with a long description.
struct Many(String);

impl waterline_agent::tool::Callable for Many {
    fn name(&self) -> &str {
        &self.0
    }

    fn about(&self) -> &str {
        "Reads a tide gauge.\nIt returns the level in metres above the zero of the chart."
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {"gauge": {"description": "x ".repeat(200)}}})
    }

    fn capability(&self) -> waterline_agent::tool::Capability {
        waterline_agent::tool::Capability::Read
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a waterline_agent::tool::ToolContext,
    ) -> futures_util::future::BoxFuture<
        'a,
        Result<waterline_agent::tool::Output, waterline_agent::tool::Failure>,
    > {
        Box::pin(async { Ok(waterline_agent::tool::Output::text("4.2 m")) })
    }
}

/// The definitions of servers' tools take at most a fifth of the window. The others are named in
/// the system prompt, can be described, and are reached through `call_tool`.
#[tokio::test]
async fn many_tools_of_servers_are_listed_in_short() {
    let bed = TestBed::new();
    let server = model(vec![
        calls("describe_tool", json!({"name": "tide__199"})),
        calls("call_tool", json!({"name": "tide__199", "arguments": {"gauge": "a"}})),
        says("4.2 m"),
    ]);
    let mut config = bed.config(&server);
    for number in 0..200 {
        config.toolbox.add(std::sync::Arc::new(Many(format!("tide__{number}")))).unwrap();
    }
    let mut agent = bed.open(config).await;
    assert!(
        agent.config().notices[0].to_string().contains("1/5 of the window"),
        "{:?}",
        agent.config().notices
    );
    agent.turn(UserInput::new("how high?")).await.unwrap();
    let request = &server.received()[0];
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let definitions = body["tools"].to_string().len() / 4;
    assert!(definitions <= 22_000, "{definitions} of 100,000 tokens");
    let prompt = sent(request)[0]["content"].to_string();
    assert!(prompt.contains("- tide__199: Reads a tide gauge. (call describe_tool"), "{prompt}");
    assert!(request.body.len() / 4 < 30_000, "{} tokens", request.body.len() / 4);
    let story = bed.story("s");
    assert!(story[2].contains("It returns the level in metres"), "{story:?}");
    assert_eq!(story[4], "tool: 4.2 m");
}

/// S4.38, S4.39, C4.4: the seed's window, with its numbers, as a setting with options.
#[tokio::test]
async fn s4_39_summarization_and_context_editing_set_the_policy() {
    let bed = TestBed::new();
    let server = model(vec![]);
    for (name, settings, key, value) in [
        (
            "summarization",
            json!({"window_size": 12, "compress_threshold": 24}),
            "window.messages",
            12,
        ),
        ("context_editing", json!({"keep": 5}), "clear.keep", 5),
    ] {
        let mut config = bed.config(&server);
        config.add(name, &settings).unwrap();
        config.apply_settings().unwrap();
        assert_eq!(
            config.policies.made.as_ref().unwrap().setting(key).and_then(|set| set.as_integer()),
            Some(value),
            "{name}"
        );
    }
    let mut config = bed.config(&server);
    config.add("summarization", &json!({"summarize": true})).unwrap();
    config.apply_settings().unwrap();
    assert_eq!(
        config
            .policies
            .made
            .as_ref()
            .unwrap()
            .setting("summarise.on")
            .and_then(|set| set.as_bool()),
        Some(true)
    );
    let mut config = bed.config(&server);
    config.add("summarization", &json!({"token_threshold": 10})).unwrap();
    config.apply_settings().unwrap();
    assert!(
        config.notices[0].to_string().contains("token_threshold 10 is below max_tokens"),
        "{:?}",
        config.notices
    );
}

/// Records the names of all events.
#[derive(Default)]
struct EventNames(Mutex<Vec<String>>);

impl Observer for EventNames {
    fn on_event(&self, _: &Source, event: &Event) {
        let line = serde_json::to_value(event).unwrap();
        self.0.lock().unwrap().push(line["event"].as_str().unwrap().to_owned());
    }
}

/// S4.10: every observer receives every event.
#[tokio::test]
async fn s4_10_every_observer_receives_every_event() {
    let bed = TestBed::new();
    let server = model(vec![calls("now", json!({})), says("noon")]);
    let observers = [Arc::new(EventNames::default()), Arc::new(EventNames::default())];
    let mut session = bed.log().session("s").unwrap();
    session.state.insert("buffer_config".to_owned(), json!({"window_size": 17}));
    bed.log().save(&session).unwrap();
    let mut config = bed.config(&server);
    config.add("summarization", &json!({})).unwrap();
    config
        .observers
        .extend(observers.iter().map(|observer| Arc::clone(observer) as Arc<dyn Observer>));
    bed.open(config).await.turn(UserInput::new("time?")).await.unwrap();
    let seen = observers[0].0.lock().unwrap().clone();
    let count = |name: &str| seen.iter().filter(|seen| *seen == name).count();
    // The notice comes from opening the agent.
    assert_eq!(
        ["notice", "begins", "asks", "tool", "result", "ends"].map(count),
        [1, 1, 2, 1, 1, 1],
        "{seen:?}"
    );
    assert!(count("text") >= 1, "{seen:?}");
    assert_eq!(*observers[1].0.lock().unwrap(), seen);
    assert_eq!(bed.watcher.events.lock().unwrap().len(), seen.len());
}

/// A full disk is not a failure of the model.
#[tokio::test]
async fn a_failed_turn_reports_what_failed() {
    let bed = TestBed::new();
    let server = Scripted::new(|_: &Received| Reply::status(401, "{}"));
    bed.agent(&server).await.turn(UserInput::new("time?")).await.unwrap_err();
    let events = bed.watcher.events.lock().unwrap();
    let failed = |event: &Event| matches!(event, Event::Failed { kind: FailureKind::Model, .. });
    assert!(events.iter().any(failed), "{events:?}");
}

#[tokio::test]
async fn approval_modes_decide_which_calls_need_approval() {
    use waterline_agent::approval::{Mode, Ruling, rule};
    for (mode, asked) in [(Mode::All, 2), (Mode::Selective, 1), (Mode::Custom, 1), (Mode::None, 1)]
    {
        let bed = TestBed::new();
        let server = model(vec![
            Line::Calls(vec![
                ("now", json!({})),
                ("run_bash_command", json!({"command": "git push"})),
            ]),
            says("done"),
        ]);
        let mut config = bed.config(&server);
        config.approval.mode = mode;
        if matches!(mode, Mode::Custom | Mode::None) {
            config.approval.rules = vec![
                rule("now", "", Ruling::Ask).unwrap(),
                rule("run_bash_command", "push", Ruling::Deny).unwrap(),
            ];
        }
        bed.watcher.replies.lock().unwrap().extend([ApprovalReply::Allow, ApprovalReply::Allow]);
        bed.open(config).await.turn(UserInput::new("go")).await.unwrap();
        assert_eq!(bed.watcher.requests.lock().unwrap().len(), asked, "{mode:?}");
        if matches!(mode, Mode::Custom | Mode::None) {
            assert!(
                bed.story("s")[3].contains("one of the user's rules denies it"),
                "{:?}",
                bed.story("s")
            );
        }
        assert!(
            bed.watcher.events.lock().unwrap().iter().any(|event| matches!(event, Event::Ends))
        );
    }
}

/// Approval does not depend on any middleware.
#[tokio::test]
async fn approval_is_needed_without_any_middleware() {
    let bed = TestBed::new();
    let server = model(vec![bash("git push"), says("not pushed")]);
    let mut config = bed.config(&server);
    config.middleware = Vec::new();
    bed.watcher.replies.lock().unwrap().push_back(waterline_agent::ApprovalReply::Deny(None));
    bed.open(config).await.turn(UserInput::new("publish")).await.unwrap();
    assert_eq!(bed.watcher.requests.lock().unwrap().len(), 1);
    assert!(bed.story("s")[2].contains("Denied by the user"));
}

/// S4.40, C4.4: the older `buffer_config` is used, unless the setting `summarization` overrides it,
/// which is reported.
#[tokio::test]
async fn s4_40_c4_4_buffer_config_is_used_unless_summarization_is_set() {
    let bed = TestBed::new();
    let server = model(vec![]);
    let mut session = bed.log().session("s").unwrap();
    session.state.insert("buffer_config".to_owned(), json!({"window_size": 17}));
    bed.log().save(&session).unwrap();
    let agent = bed.agent(&server).await;
    assert_eq!(
        agent.live().policy().setting("window.messages").and_then(|set| set.as_integer()),
        Some(17)
    );
    let mut config = bed.config(&server);
    config.add("summarization", &json!({"window_size": 12})).unwrap();
    let agent = bed.open(config).await;
    assert_eq!(
        agent.live().policy().setting("window.messages").and_then(|set| set.as_integer()),
        Some(12)
    );
    assert!(
        bed.watcher
            .event_lines()
            .iter()
            .any(|event| event.contains("the setting summarization overrides it"))
    );
}
