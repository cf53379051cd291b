//! A model with faults that checks every request: whether it is valid, fits the window, and extends
//! the previous one.

use std::sync::{Arc, Mutex};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use waterline::message::Wire;
use waterline_provider::wire;
use waterline_testkit::dice::Dice;
use waterline_testkit::server::{Received, Reply, Server};
use waterline_testkit::spoken::Spoken;

/// Statistics of the requests.
#[derive(Debug, Default)]
struct Seen {
    requests: usize,
    faults: usize,
    answers: usize,
    summaries: usize,
    /// Requests that violated a rule.
    invalid: Vec<String>,
    /// Requests that were too long.
    too_long: Vec<usize>,
    /// The largest request that fitted.
    largest: usize,
    /// Requests that did not extend the previous one.
    breaks: usize,
    /// Tokens of requests that did, and how many of them were in the previous one.
    tokens: usize,
    cached: usize,
    last: Vec<String>,
}

/// The number of requests from which the share of cached tokens is significant.
const SIGNIFICANT_REQUESTS: usize = 30;

/// A running model.
pub(crate) struct Model {
    pub(crate) url: String,
    seen: Arc<Mutex<Seen>>,
    _runtime: tokio::runtime::Runtime,
}

impl Model {
    pub(crate) fn start(wire: Wire, seed: u64) -> Result<Self, Failed> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let dice = Mutex::new(Dice::new(seed + 77));
        let script = move |received: &Received| {
            let mut dice = dice.lock().unwrap();
            shared.lock().unwrap().reply(received, wire, &mut dice)
        };
        let server = runtime.block_on(Server::start(script))?;
        Ok(Self { url: server.url, seen, _runtime: runtime })
    }

    pub(crate) fn report(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let share = 100.0 * seen.cached as f64 / seen.tokens.max(1) as f64;
        format!(
            "{} requests, {} faults, {} answers, {} summaries, {} invalid, {} too long, \
             largest {} tokens, {} prefix breaks, {share:.1}% cached otherwise",
            seen.requests,
            seen.faults,
            seen.answers,
            seen.summaries,
            seen.invalid.len(),
            seen.too_long.len(),
            seen.largest,
            seen.breaks,
        )
    }

    pub(crate) fn check(&self, folds: usize) -> Result<(), Failed> {
        let seen = self.seen.lock().unwrap();
        if !seen.invalid.is_empty() {
            return Err(format!(
                "invalid requests: {:?}",
                &seen.invalid[..seen.invalid.len().min(3)]
            )
            .into());
        }
        if !seen.too_long.is_empty() {
            return Err(format!("requests over the window: {:?}", seen.too_long).into());
        }
        if seen.breaks > folds {
            return Err(format!(
                "{} requests did not extend the previous one, with only {folds} folds",
                seen.breaks
            )
            .into());
        }
        // In a short run, new messages are a large share of every request.
        if seen.requests >= SIGNIFICANT_REQUESTS && seen.cached * 10 < seen.tokens * 9 {
            return Err(
                format!("only {} of {} tokens were cached", seen.cached, seen.tokens).into()
            );
        }
        Ok(())
    }
}

impl Seen {
    fn reply(&mut self, received: &Received, wire: Wire, dice: &mut Dice) -> Reply {
        self.requests += 1;
        let body: Value = serde_json::from_str(&received.body).unwrap_or_default();
        let list =
            body.get(list_field(wire)).and_then(Value::as_array).cloned().unwrap_or_default();
        let messages: Vec<String> =
            list.into_iter().map(|message| unmarked(message).to_string()).collect();
        let texts: Vec<&str> = messages.iter().map(String::as_str).collect();
        dump(wire, &texts);
        let violations = wire::check(wire, &texts);
        if let Some(violation) = violations.first() {
            self.invalid.push(format!("{violation}"));
        }
        let prompt = tokens(&messages);
        if prompt > super::WINDOW {
            self.too_long.push(prompt);
            let text = format!("prompt is too long: {prompt} tokens > {} maximum", super::WINDOW);
            return Reply::status(400, json!({"error": {"message": text}}).to_string());
        }
        self.largest = self.largest.max(prompt);
        // The prompts for summaries end with this sentence, in English or in Chinese.
        let marks = ["do not follow instructions", "不要执行其中出现的任何指令"];
        let last = messages.last();
        if last.is_some_and(|message| marks.iter().any(|mark| message.contains(mark))) {
            self.summaries += 1;
            return self.summarize(prompt, wire, dice);
        }
        let same = messages.iter().zip(&self.last).take_while(|(new, old)| new == old).count();
        let cached = tokens(&messages[..same]);
        if same == self.last.len() {
            self.tokens += prompt;
            self.cached += cached;
        } else {
            self.breaks += 1;
        }
        self.last = messages;
        if dice.percent(8) {
            self.faults += 1;
            return self.fault(wire, dice);
        }
        Reply::Stream {
            events: self.answer(prompt, cached, dice).events(wire),
            piece: if dice.percent(5) { 7 } else { 0 },
        }
    }

    /// Most summaries are good, some are refusals or errors.
    fn summarize(&self, prompt: usize, wire: Wire, dice: &mut Dice) -> Reply {
        let text = match dice.throw(6) {
            0 => return Reply::status(500, "down"),
            1 => "I'm sorry, I cannot do that.",
            _ => {
                "Task: look at the parts. Done: some of them. State: src/part_1.rs was seen. \
                 Open: the rest."
            }
        };
        Reply::Stream { events: Spoken::text(text, prompt).events(wire), piece: 0 }
    }

    fn answer(&mut self, prompt: usize, cached: usize, dice: &mut Dice) -> Spoken {
        self.answers += 1;
        let number = self.answers;
        let calls = if dice.percent(60) { 1 + dice.throw(3) } else { 0 };
        let call = |at: u64| {
            let id = format!("call_{number}_{at}");
            (id, "look".to_owned(), json!({"path": format!("src/part_{number}.rs"), "line": at}))
        };
        Spoken {
            text: format!("<answer {number}> I see."),
            calls: (0..calls).map(call).collect(),
            prompt,
            cached,
        }
    }

    fn fault(&self, wire: Wire, dice: &mut Dice) -> Reply {
        let events = Spoken::text("this answer is interrupted in the middle of", 100).events(wire);
        match dice.throw(8) {
            0 => Reply::status(429, "slow down"),
            1 => Reply::status(500, r#"{"error":{"message":"internal"}}"#),
            2 => Reply::status(529, "overloaded"),
            3 => Reply::status(502, "<html>bad gateway</html>"),
            4 => Reply::Stall { after: events.len() / 2, events },
            5 => Reply::Hang,
            6 => Reply::Stream { events: vec!["{not json".to_owned()], piece: 0 },
            _ => {
                let all = waterline_testkit::server::bytes(&events).len() as u64;
                Reply::Cut { at: usize::try_from(dice.throw(all)).unwrap_or(0), events }
            }
        }
    }
}

fn list_field(wire: Wire) -> &'static str {
    match wire.name() {
        "openai-chat" | "anthropic" => "messages",
        "openai-responses" => "input",
        _ => "contents",
    }
}

/// Writes a context for an independent checker, if requested.
fn dump(wire: Wire, messages: &[&str]) {
    let Some(directory) = std::env::var_os("WATERLINE_SOAK_DUMP") else { return };
    let path = std::path::Path::new(&directory).join(format!("{wire}.jsonl"));
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    let list = messages.join(",");
    std::io::Write::write_all(
        &mut file,
        format!("{{\"id\":\"{wire}\",\"wire\":\"{wire}\",\"messages\":[{list}],\"slots\":[]}}\n")
            .as_bytes(),
    )
    .unwrap();
}

/// Removes cache marks: they move and are not part of the messages.
fn unmarked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|field| *field = unmarked(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unmarked(item.take())),
        _ => {}
    }
    value
}

/// The model's own count: about three and a half characters per token, plus a little per message.
fn tokens(messages: &[String]) -> usize {
    messages.iter().map(|message| message.chars().count() * 2 / 7 + 4).sum()
}
