//! Deterministic simulation: two agents share a session in one log, and either may crash at any
//! await. A seed decides which agent runs next and where one crashes, so a failure can be repeated.
//!
//! Only one agent runs at a time: after each poll the scheduler waits until the polled agent can
//! continue, so that the work of the log's threads is done before the next decision. A crash drops
//! the agent between two polls. It leaves its lease in the log, as a process that was killed does.
//!
//! The agents run on one machine, with or without a common directory of workspaces, or on two
//! machines: then only the lease in the log keeps them apart, and neither can see that the other
//! has ended. Each agent has its own clock, and the seed lets a clock jump. A lease then expires
//! although its holder lives and continues, and the other agent takes it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use test_bed::{TestBed, Watcher, sent};
use tokio::sync::Notify;
use waterline::message::{Message, Role, Wire};
use waterline_agent::environment::without_notes;
use waterline_agent::tool::{Callable, Capability, Failure, Output, ToolContext};
use waterline_agent::{Agent, AgentConfig, AgentError, Event, UserInput};
use waterline_log::{Log, LogError, Options};
use waterline_provider::wire;
use waterline_testkit::dice::Dice;
use waterline_testkit::effort;
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};
use waterline_testkit::spoken::Spoken;

/// The user messages of each agent.
const INPUTS: usize = 2;

/// The tool calls that the model makes for each user message.
const CALLS: usize = 2;

/// How often an agent may be polled in one schedule. More means that it makes no progress.
const MAX_POLLS: usize = 20_000;

/// How far the clock of each agent is ahead of the system's, in milliseconds. A log takes its clock
/// as a function, so the tests of this file share these and run one after the other.
static AHEAD: [AtomicI64; 2] = [AtomicI64::new(0), AtomicI64::new(0)];

static ONE_TEST: Mutex<()> = Mutex::new(());

/// Longer than a lease.
const JUMP: i64 = 10 * 60 * 1_000;

fn clock(agent: usize) -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap() + AHEAD[agent].load(Ordering::SeqCst)
}

fn first_clock() -> i64 {
    clock(0)
}

fn second_clock() -> i64 {
    clock(1)
}

/// Lets time pass for both agents, or sets the clock of one.
fn jump(dice: &mut Dice) {
    let by = match dice.throw(4) {
        0 => [JUMP, 0],
        1 => [0, JUMP],
        2 => [-JUMP, 0],
        _ => [JUMP, JUMP],
    };
    for (ahead, by) in AHEAD.iter().zip(by) {
        ahead.fetch_add(by, Ordering::SeqCst);
    }
}

/// What happened, as the agents' users saw it. It survives crashes.
#[derive(Default)]
struct Witness {
    /// How often each call ran, by its id.
    runs: Mutex<BTreeMap<String, usize>>,
    /// Calls whose result was announced.
    results: Mutex<BTreeSet<String>>,
    /// User messages whose turn has ended.
    answered: Mutex<BTreeSet<String>>,
    /// The inputs whose turn ended with an answer that the agent saw.
    replied: Mutex<BTreeSet<String>>,
}

/// A tool that counts its runs and awaits several times.
struct Note(Arc<Witness>);

impl Callable for Note {
    fn name(&self) -> &str {
        "note"
    }

    fn about(&self) -> &str {
        "Takes a note."
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn capability(&self) -> Capability {
        // Like a command: its effects outside the log cannot be seen there.
        Capability::Execute
    }

    fn call<'a>(
        &'a self,
        _: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            *self.0.runs.lock().unwrap().entry(context.call_id.clone()).or_default() += 1;
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            Ok(Output::text(format!("noted {}", context.call_id)))
        })
    }
}

/// A model without state: its answer depends only on the conversation. For each user message it
/// makes some calls, the first two at once, and then answers.
fn model() -> Scripted {
    Scripted::new(|received: &Received| {
        let messages = sent(received);
        let is_input = |message: &Value| message["role"] == "user";
        let at = messages.iter().rposition(is_input).unwrap();
        let input = without_notes(messages[at]["content"].as_str().unwrap()).to_owned();
        let done = messages[at..].iter().filter(|message| message["role"] == "tool").count();
        let prompt = received.body.len() / 4;
        let call = |number: usize| (format!("{input}-{number}"), "note".to_owned(), json!({}));
        let spoken = match done {
            0 => Spoken { calls: (0..CALLS).map(call).collect(), prompt, ..Spoken::default() },
            CALLS => Spoken { calls: vec![call(CALLS)], prompt, ..Spoken::default() },
            _ => Spoken::text(format!("answer to {input}"), prompt),
        };
        Reply::Stream { events: spoken.events(Wire::OPENAI_CHAT), piece: 0 }
    })
}

/// One of the two agents: a process that is started again after a crash.
struct Process {
    future: Option<Pin<Box<dyn Future<Output = bool>>>>,
    woken: Arc<Woken>,
    polls: usize,
}

#[derive(Default)]
struct Woken {
    flag: AtomicBool,
    notify: Notify,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.flag.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }
}

impl Woken {
    async fn wait(&self) {
        while !self.flag.swap(false, Ordering::SeqCst) {
            self.notify.notified().await;
        }
    }
}

/// Where the two agents run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// On one machine, with one directory of workspaces.
    Together,
    /// On one machine, each with its own directory of workspaces.
    TwoDirectories,
    /// On two machines.
    TwoMachines,
}

const PLACES: [Places; 3] = [Places::Together, Places::TwoDirectories, Places::TwoMachines];

struct World {
    bed: TestBed,
    server: Scripted,
    witness: Arc<Witness>,
    places: Places,
}

impl World {
    fn new(places: Places) -> Self {
        let world = Self { bed: TestBed::new(), server: model(), witness: Arc::default(), places };
        // The session exists before either agent starts, with a workspace that both can use.
        std::fs::create_dir_all(world.bed.directory.path().join("workspaces")).unwrap();
        world
    }

    fn config(&self, agent: usize) -> AgentConfig {
        let mut config = self.bed.config(&self.server);
        config.clock = false;
        config.approval.mode = waterline_agent::approval::Mode::None;
        config.approval.confined = true;
        config.toolbox.add(Arc::new(Note(Arc::clone(&self.witness)))).unwrap();
        if self.places != Places::Together {
            config.workspaces = self.bed.directory.path().join(format!("workspaces-{agent}"));
        }
        if self.places == Places::TwoMachines {
            config.machine = Some(format!("machine-{agent}"));
        }
        config.apply_settings().unwrap();
        config
    }

    /// Starts a process. It resumes an interrupted turn, or submits the next message of its user
    /// that has no answer yet. Returns whether its user has nothing left to do.
    fn start(&self, agent: usize) -> Process {
        let config = self.config(agent);
        let witness = Arc::clone(&self.witness);
        let clock = [first_clock, second_clock][agent];
        let file = self.bed.directory.path().join("log.db").display().to_string();
        let log = Log::open_with(&file, &Options::default().with_clock(clock)).unwrap();
        let future = async move {
            match step(agent, log, config, &witness).await {
                Ok(done) => done,
                // The other agent works in the session, or has just continued it.
                Err(AgentError::InUse { .. } | AgentError::NothingToResume) => false,
                Err(AgentError::Session(waterline_session::SessionError::Log(
                    LogError::Conflict { .. }
                    | LogError::LeaseLost { .. }
                    | LogError::Locked { .. },
                ))) => false,
                Err(error) => unreachable!("agent {agent}: {error}"),
            }
        };
        Process { future: Some(Box::pin(future)), woken: Arc::default(), polls: 0 }
    }
}

async fn step(
    agent: usize,
    log: Log,
    config: AgentConfig,
    witness: &Arc<Witness>,
) -> Result<bool, AgentError> {
    let watcher = Arc::new(Watcher::default());
    let recorder = Arc::new(Recorder { witness: Arc::clone(witness) });
    let mut config = config;
    config.observers.push(recorder);
    let mut running = Agent::open(log, "s", config, watcher).await?;
    if running.is_open()? {
        running.resume().await.map(drop)?;
        return Ok(false);
    }
    let answered: BTreeSet<String> = witness.answered.lock().unwrap().clone();
    let inputs = (0..INPUTS).map(|number| format!("input {agent}.{number}"));
    let Some(input) = inputs.clone().find(|input| !answered.contains(input)) else {
        return Ok(true);
    };
    // A message that was stored before a crash is not submitted again.
    let is_stored =
        |message: &Message| message.role == Role::User && without_notes(&message.text()) == input;
    let history = running.live_mut().whole().await?;
    if !(0..history.len()).filter_map(|at| history.message(at)).any(is_stored) {
        running.turn(UserInput::new(&input)).await?;
        witness.replied.lock().unwrap().insert(input.clone());
    }
    witness.answered.lock().unwrap().insert(input);
    Ok(false)
}

/// Records the results that were announced.
struct Recorder {
    witness: Arc<Witness>,
}

impl waterline_agent::Observer for Recorder {
    fn on_event(&self, _: &waterline_agent::Source, event: &Event) {
        if let Event::ToolEnds { id, .. } = event {
            self.witness.results.lock().unwrap().insert(id.clone());
        }
    }
}

/// Runs one schedule. `crash_at` is the poll at which the first agent crashes for the first time;
/// later crashes are random. Returns how often the first agent was polled.
async fn run(seed: u64, places: Places, crash_at: Option<usize>) -> usize {
    let mut dice = Dice::new(seed);
    let world = World::new(places);
    let crash_percent = dice.throw(3);
    AHEAD.iter().for_each(|ahead| ahead.store(0, Ordering::SeqCst));
    let jump_percent = if dice.percent(50) { dice.throw(20) } else { 0 };
    let mut processes = [world.start(0), world.start(1)];
    let mut done = [false, false];
    let mut crash_at = crash_at;
    let mut first_polls = 0;
    while done.contains(&false) {
        let at = if done[0] {
            1
        } else if done[1] {
            0
        } else {
            usize::from(dice.percent(50))
        };
        if dice.throw(100) < jump_percent {
            jump(&mut dice);
        }
        // An agent runs for a few polls, so that schedules differ in their length too.
        for _ in 0..=dice.throw(12) {
            let process = &mut processes[at];
            let is_due = at == 0 && crash_at == Some(first_polls);
            if is_due || dice.throw(100) < crash_percent / 2 && process.polls > 0 {
                crash_at = crash_at.filter(|_| !is_due);
                crash(&world, process).await;
                processes[at] = world.start(at);
                break;
            }
            first_polls += usize::from(at == 0);
            process.polls += 1;
            assert!(process.polls < MAX_POLLS, "agent {at} makes no progress");
            match poll(process).await {
                None => {}
                Some(has_finished) => {
                    done[at] = has_finished;
                    processes[at] = world.start(at);
                    break;
                }
            }
        }
    }
    drop(processes);
    check(&world, seed);
    first_polls
}

/// Polls a process once, and waits until it can continue.
async fn poll(process: &mut Process) -> Option<bool> {
    let waker = Waker::from(Arc::clone(&process.woken));
    let polled = process.future.as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker));
    match polled {
        Poll::Ready(done) => {
            process.future = None;
            Some(done)
        }
        Poll::Pending => {
            let woken = tokio::time::timeout(Duration::from_secs(30), process.woken.wait()).await;
            assert!(woken.is_ok(), "an agent waits without end");
            None
        }
    }
}

/// Ends a process as a kill does: it releases nothing in the log.
async fn crash(world: &World, process: &mut Process) {
    let log = world.bed.log();
    let probe = log.take_lease("s", "probe", Duration::from_secs(30));
    process.future = None;
    // Ends the task that renews the lease.
    tokio::task::yield_now().await;
    match probe {
        Err(LogError::Leased { holder, .. }) => {
            drop(log.take_lease("s", &holder, Duration::from_secs(30)));
        }
        Ok(probe) => log.release_lease(&probe).unwrap(),
        Err(error) => unreachable!("{error}"),
    }
}

fn check(world: &World, seed: u64) {
    let log = world.bed.log();
    assert!(log.verify(|_, _| ()).unwrap().problems.is_empty());
    let messages = world.bed.messages("s");
    let story = format!("seed {seed}, {:?}\n{}", world.places, world.bed.story("s").join("\n"));
    for (call, runs) in &*world.witness.runs.lock().unwrap() {
        assert_eq!(*runs, 1, "{call} ran {runs} times\n{story}");
    }
    let calls: Vec<String> =
        messages.iter().flat_map(|message| message.calls().map(|call| call.id.clone())).collect();
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len(), "{story}");
    for call in &calls {
        let results: Vec<String> = messages
            .iter()
            .flat_map(Message::results)
            .filter(|result| result.call_id == *call)
            .map(|result| result.text().to_string())
            .collect();
        assert_eq!(results.len(), 1, "{call} has {} results\n{story}", results.len());
        if world.witness.results.lock().unwrap().contains(call) {
            assert_eq!(results[0], format!("noted {call}"), "{story}");
        }
    }
    for input in &*world.witness.answered.lock().unwrap() {
        let is_input = |message: &&Message| without_notes(&message.text()) == *input;
        let count = messages.iter().filter(is_input).count();
        assert_eq!(count, 1, "{input}\n{story}");
    }
    // A crash may interrupt a turn, and a message of the other agent may end it. What an agent saw
    // is not lost.
    for input in &*world.witness.replied.lock().unwrap() {
        let answer = format!("answer to {input}");
        assert!(messages.iter().any(|message| message.text() == answer), "{input}\n{story}");
    }
    for wire in waterline_testkit::WIRES {
        let rendered = wire::render(wire, &messages.iter().collect::<Vec<_>>());
        let violations = wire::check(wire, &rendered.texts());
        assert!(violations.is_empty(), "{wire}: {violations:?}\n{story}");
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let _one = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Crashes at each await of a turn in turn, while the other agent waits for its chance.
#[test]
fn a_crash_at_any_await_loses_nothing_and_repeats_nothing() {
    for places in PLACES {
        let whole = block_on(run(1, places, None));
        let step = effort(whole.div_ceil(30), 1);
        for at in (0..whole).step_by(step) {
            block_on(run(1, places, Some(at)));
        }
    }
}

/// Random schedules with random crashes. `WATERLINE_SCHEDULES` sets their number.
#[test]
fn random_schedules_lose_nothing_and_repeat_nothing() {
    let count = std::env::var("WATERLINE_SCHEDULES")
        .map_or(effort(40, 300), |count| count.parse().unwrap());
    for (seed, places) in (0..count).zip(PLACES.into_iter().cycle()) {
        block_on(run(seed, places, None));
    }
}
