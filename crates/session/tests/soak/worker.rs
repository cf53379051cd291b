//! A process that works in the session until it is done or killed. It writes each answer to a
//! journal before it continues.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use waterline::message::{Message, Role, Wire};
use waterline::policy::Policy;
use waterline_log::Log;
use waterline_provider::answer::Answer;
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::retry::Retry;
use waterline_provider::wire::{Tool, parse_stored};
use waterline_session::{LiveSession, ModelTarget, SessionConfig, SessionError};
use waterline_testkit::dice::Dice;

/// The environment variable with a worker's parameters.
pub(crate) const ORDER: &str = "WATERLINE_SOAK_WORKER";

pub(crate) fn order(
    url: &str,
    model: &str,
    wire: Wire,
    turns: u64,
    seed: u64,
    journal: &Path,
) -> String {
    [url, model, wire.name(), &turns.to_string(), &seed.to_string(), &journal.display().to_string()]
        .join("\n")
}

pub(crate) fn run(order: &str) {
    let fields: Vec<&str> = order.lines().collect();
    let wire = waterline_testkit::WIRES.into_iter().find(|wire| wire.name() == fields[2]).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(
        fields[0],
        fields[1],
        wire,
        fields[3].parse().unwrap(),
        fields[4].parse().unwrap(),
        fields[5],
    ));
}

async fn work(url: &str, model: &str, wire: Wire, turns: u64, seed: u64, journal: &str) {
    let mut journal = std::fs::OpenOptions::new().create(true).append(true).open(journal).unwrap();
    let log = Log::open(url).unwrap();
    let mut live = LiveSession::open(log.clone(), "soak", config(model, wire)).await.unwrap();
    let mut dice = Dice::new(seed);
    let entries = tokio::task::spawn_blocking(move || log.entries("soak").unwrap()).await.unwrap();
    let stored: Vec<Message> = entries.iter().map(|entry| entry.message(parse_stored)).collect();
    let mut turn = stored.iter().filter(|message| message.text().contains("<turn ")).count() as u64;
    // A killed process may leave the session anywhere: a question without an answer, calls without
    // results.
    let mut new = match stored.iter().rposition(|message| message.role != Role::Assistant) {
        _ if stored.is_empty() => next_turn(&mut turn, &mut dice),
        at => {
            let answer = &stored[at.map_or(0, |at| at + 1)..];
            let open: Vec<Message> =
                answer.iter().flat_map(|message| results(message, &mut dice)).collect();
            match (answer.is_empty(), open.is_empty()) {
                (true, _) => Vec::new(),
                (false, false) => open,
                (false, true) if turn < turns => next_turn(&mut turn, &mut dice),
                (false, true) => return,
            }
        }
    };
    loop {
        let answer = match live.call(new, |_| ()).await {
            Ok(answer) => answer,
            // All retries failed with a clear error; the caller tries again.
            Err(SessionError::Call(_)) => {
                new = Vec::new();
                continue;
            }
            Err(error) => {
                eprintln!("a call failed: {error}");
                std::process::exit(3)
            }
        };
        assert!(live.violations().is_empty(), "{:?}", live.violations());
        record(&mut journal, &answer);
        let open: Vec<Message> =
            answer.messages.iter().flat_map(|message| results(message, &mut dice)).collect();
        new = if !open.is_empty() {
            open
        } else if turn < turns {
            next_turn(&mut turn, &mut dice)
        } else {
            return;
        };
    }
}

fn config(model: &str, wire: Wire) -> SessionConfig {
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        first_token: Duration::from_millis(400),
        silence: Duration::from_millis(400),
    };
    let endpoint = Endpoint::new(wire, Some(model), None, timeouts).unwrap();
    let target = ModelTarget { window: Some(super::WINDOW), ..ModelTarget::new("m", endpoint) };
    let soon = vec![Duration::from_millis(1); 3];
    let retry =
        Retry { rate_limit: soon.clone(), transient: soon, longest: Duration::from_secs(1) };
    // On one wire a model writes the summaries, on the others only the digest is used.
    let mode = if wire == Wire::ANTHROPIC { "blocking" } else { "digest" };
    let policy =
        Policy::preset_with("auto", &[("summarise.mode".to_owned(), mode.to_owned())]).unwrap();
    let tool = Tool::new("look", "looks at a file", r#"{"type":"object"}"#);
    SessionConfig { retry, tools: vec![tool], ..SessionConfig::new(target, policy) }
}

/// Records the received answers by the number that the model gave them.
fn record(journal: &mut std::fs::File, answer: &Answer) {
    for text in answer.messages.iter().map(Message::text) {
        if let Some(number) = text.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
            writeln!(journal, "{}", number.0).unwrap();
        }
    }
}

fn next_turn(turn: &mut u64, dice: &mut Dice) -> Vec<Message> {
    let text = format!("<turn {turn}> please look at src/part_{turn}.rs {}", words(dice, 40));
    *turn += 1;
    let system = (*turn == 1).then(|| Message::system("You look at files. ".repeat(20)));
    system.into_iter().chain([Message::user(text)]).collect()
}

/// Returns the results of a message's calls. Most are small, some are larger than the window.
fn results(message: &Message, dice: &mut Dice) -> Vec<Message> {
    let calls: Vec<_> = message.calls().cloned().collect();
    let one = |call: waterline::message::ToolCall| {
        let length = match dice.throw(200) {
            0 => 12_000,
            1..4 => 2_000,
            4..20 => 300,
            _ => 30,
        };
        let text = words(dice, length);
        let failed = dice.percent(5);
        let mut result = if failed {
            Message::tool_error(call.id, text)
        } else {
            Message::tool_result(call.id, text)
        };
        for part in &mut result.parts {
            if let waterline::message::Body::Result(result) = &mut part.body {
                result.name = Some(call.name.clone());
            }
        }
        result
    };
    calls.into_iter().map(one).collect()
}

fn words(dice: &mut Dice, limit: u64) -> String {
    let word = |dice: &mut Dice| match dice.throw(8) {
        0 => format!("src/dir_{}/file_{}.rs", dice.throw(9), dice.throw(99)),
        1 => format!("{}", dice.throw(100_000)),
        2 => "数据库".to_owned(),
        3 => "\"quoted\"\n".to_owned(),
        n => ["lorem", "ipsum", "dolor", "sit"][usize::try_from(n - 4).unwrap_or(0)].to_owned(),
    };
    let count = limit / 2 + dice.throw(limit / 2 + 1);
    (0..count).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
}
