//! Every command, as a user types it.

use serde_json::json;
use waterline_testkit::script::{calls, says};

use crate::pty::Terminal;
use crate::world::{World, until};

fn after_two_turns() -> (World, Terminal) {
    let world =
        World::new(vec![says("the tide is 4.2 m"), says("the wind is west"), says("noted")]);
    let mut terminal = Terminal::start(&world, &["--session", "first"]);
    terminal.play(
        "> how high is the tide?
         < the tide is 4.2 m
         > and the wind?
         < the wind is west",
    );
    (world, terminal)
}

/// S0.73, S2.30, S2.31: the session, what is in the context, and why.
#[test]
fn s2_30_s2_31_the_context_is_shown_explained_pinned_cleared_and_brought_back() {
    let (_world, mut terminal) = after_two_turns();
    terminal.play(
        "> /current
         < Session: first
         < Messages: 4
         < Workspace:
         > /status
         < last turn     finished
         < tokens for the prompt
         < confined by the kernel
         < network       blocked for commands
         < granted       –
         > /context
         < 4 messages: user 2, assistant 2, tool 0;
         < characters
         < system prompt
         < free
         < reserved for the answer
         < turn 1 [1] how high is the tide?
         < turn 2 [3] and the wind?
         > /context summary
         < No summary: nothing has been folded yet
         > /context why 1
         < user: how high is the tide?
         < verbatim
         > /context why 0
         < There is no message 0
         > /context why 99
         < There is no message 99
         > /context pin 1
         < Pinned message 1
         > /context clear
         < The context is empty
         > /context why 1
         < This message was cleared
         > /context
         < 0 messages: user 0
         > /context undo
         < Undid the last clear
         > /context
         < turn 2 [3] and the wind?
         > /context undo
         < Nothing to undo
         > /context frob
         < /context [summary | why N | pin N | clear | undo]
         > /context undo twice
         < /context [summary | why N | pin N | clear | undo]
         > /quit",
    );
    assert!(
        !terminal.screen().contains("provider rules violated"),
        "problems are shown only if there are any:\n{}",
        terminal.screen()
    );
    assert!(terminal.ends());
}

/// Plays three turns with long answers, and one with a short answer.
fn four_turns(terminal: &mut Terminal) {
    terminal.play(
        "> one
         < tide
         > two
         < tide
         > three
         < tide
         > four
         < short",
    );
}

#[test]
fn a_fold_is_previewed_confirmed_and_undone() {
    let long = "high tide\n".repeat(4) + &"tide ".repeat(700);
    let long = long.as_str();
    let world = World::new(vec![says(long), says(long), says(long), says("short")]);
    let mut terminal = Terminal::start(&world, &["--window", "100k"]);
    four_turns(&mut terminal);
    terminal.play(
        "> /compact
         < messages are unchanged, 3 omitted; nothing is deleted
         < Fold?
         > n
         > /compact tide
         < Fold?
         > y
         < folded from
         > /status
         < folds         1
         > /context undo
         < Undid the last fold
         > /status
         < folds         0
         > /quit",
    );
    assert!(terminal.ends());
}

/// The summary is shown before the fold and after it.
#[test]
fn the_summary_of_folded_messages_is_shown_before_and_after() {
    let long = "tide ".repeat(200);
    let long = long.as_str();
    let world = World::new(vec![says(long), says(long), says(long), says("short")]);
    let mut terminal = Terminal::start(&world, &["--window", "100k", "--set", "window.tokens=100"]);
    four_turns(&mut terminal);
    terminal.play(
        "> /compact
         < The model will read instead:
         < that are no longer shown
         < Fold?
         > y
         < folded from
         > /context summary
         < that are no longer shown
         > /context why 2
         < summary (
         > /quit",
    );
    assert!(terminal.ends());
}

/// After a clear the next message adds the system prompt again, so both count it.
#[test]
fn after_a_clear_the_prompt_and_context_agree() {
    let (_world, mut terminal) = after_two_turns();
    terminal.play(
        "> /clear
         < The context is empty
         > /context
         < 0 messages",
    );
    terminal.is_ready();
    let screen = terminal.screen();
    let row = |label: &str| screen.lines().rfind(|line| line.starts_with(label)).unwrap();
    let last = |line: &str| line.split_whitespace().last().unwrap().replace(',', "");
    assert_ne!(last(row("system prompt")), "0", "{screen}");
    let sum: usize = ["tool definitions", "system prompt", "messages"]
        .map(|it| last(row(it)).parse::<usize>().unwrap())
        .iter()
        .sum();
    let gauge = format!("{}.{}k of", sum / 1_000, sum % 1_000 / 100);
    assert!(screen.lines().last().unwrap().starts_with(&gauge), "{gauge}\n{screen}");
}

/// After a clear the numbers continue, and the summary names the same messages as the preview.
#[test]
fn numbers_continue_after_a_clear() {
    let long = "tide ".repeat(200);
    let long = long.as_str();
    let world = World::new(vec![says("calm"), says(long), says(long), says(long), says("short")]);
    let mut terminal = Terminal::start(&world, &["--window", "100k", "--set", "window.tokens=100"]);
    terminal.play(
        "> zero
         < calm
         > /clear
         < The context is empty",
    );
    four_turns(&mut terminal);
    terminal.play(
        "> /context
         < 8 messages: user 4, assistant 4, tool 0;
         < turn 1 [3] one
         < turn 4 [9] four
         > /compact
         < 4–8: summary
         < summary of 5 messages, 4 to 8, that are no longer shown
         < Fold?
         > y
         < folded from
         > /context why 4
         < summary (
         > /context why 2
         < This message was cleared
         > /sessions
         < 10
         > /quit",
    );
    assert!(terminal.ends());
}

/// S2.7, S2.32, S2.33: settings apply at once, and invalid ones are refused with the allowed range.
#[test]
fn s2_32_s2_33_settings_hold_at_once_and_wrong_ones_are_refused() {
    let (_world, mut terminal) = after_two_turns();
    terminal.play(
        "> /config agent_max_context_tokens 80000
         < belongs to the policy chat
         > /config policy chat
         < policy: auto → chat
         > /config agent_max_context_tokens 80000
         < agent_max_context_tokens: 50000 → 80000
         > /config agent_max_context_turns 30
         < agent_max_context_turns: 20 → 30
         > /config halve.turns
         < halve.turns = 30
         > /config halve.turns nonsense
         < a whole number from
         > /config agent_max_steps 0
         < from 1 to 1000
         > /config approval sometimes
         < expected all, selective, custom or none
         > /config approval all
         < approval: selective → all
         > /config nonsense
         < No setting is named nonsense
         > /config foo.bar
         < No key is named foo.bar
         > /config halve.trns 4
         < No key is named halve.trns; similar keys: halve.turns
         > /config
         < agent.steps = 15
         > /model
         < m (
         < At http://127.0.0.1:
         > /model n
         < Now using n
         > /model
         < n (
         > and now?
         < noted
         > /quit",
    );
    assert!(terminal.ends());
}

/// A flag may not fit another policy; then the session keeps its policy.
#[test]
fn a_policy_that_conflicts_with_the_flags_is_refused_and_nothing_changes() {
    let world = World::new(vec![says("noted")]);
    let flags = ["--session", "s", "--policy", "window", "--set", "window.messages=20"];
    let mut terminal = Terminal::start(&world, &flags);
    terminal.play(
        "> /config policy chat
         < is not among the stages
         > /config policy
         < policy = window
         > hi
         < noted
         > /quit",
    );
    assert!(terminal.ends());
    let (_, shown, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    assert!(shown.contains("policy window"), "{shown}");
}

/// S0.63, section G: sessions are listed, loaded, forked and rewound.
#[test]
fn s0_63_sessions_are_loaded_forked_and_rewound() {
    let (world, mut terminal) = after_two_turns();
    terminal.play(
        "> /undo
         < 4 → 2
         < Undone: and the wind?
         < /redo restores the messages and the files
         > /undo
         < 2 → 0
         > /redo
         < 0 → 2
         > /redo
         < 2 → 4
         > /redo
         < Nothing to redo
         > /undo 2
         < 4 → 0
         < how high is the tide?
         > /branches
         < 4 messages (0 shared)  assistant: the wind is west
         > /redo
         < 0 → 4
         > /undo 99
         < This session has only 2 turns; cannot undo 99
         > /undo two
         < Usage: /undo, /rewind [N]
         > /fork 2
         < Now in the fork
         > /current
         < Messages: 2
         > /reset
         < New session
         > /sessions
         < title
         < how high is the tide?
         > /load
         < Which session?
         > /load zzz
         < There is no session zzz
         > /LOAD fir
         < Loaded session: first
         < Messages: 4
         < user: and the wind?
         < the wind is west
         > /recall tide
         < how high is the tide?
         > /recall zebra
         < No matches in this session
         > /cost
         < Calls: 2
         < Price: unknown
         > /export kept.jsonl
         < kept.jsonl: 4 messages
         > /export kept.jsonl
         < kept.jsonl exists; choose another name
         > /export kept.md
         < kept.md: 4 messages
         > /export nowhere/kept.md
         < Cannot write nowhere/kept.md: the directory does not exist
         > /quit",
    );
    assert!(!terminal.screen().contains("nowhere/.tmp"), "{}", terminal.screen());
    assert!(terminal.ends());
    let kept = std::fs::read_to_string(world.path("kept.md")).unwrap();
    assert!(kept.starts_with("# how high is the tide?\n") && !kept.contains("directory"), "{kept}");
    assert!(
        kept.contains("## User\n\nhow high is the tide?\n\n## Assistant\n\nthe tide is 4.2 m\n"),
        "{kept}"
    );
}

/// The calls of sub-agents are part of the totals.
#[test]
fn the_cost_includes_sub_agents() {
    let task = json!({"task": "count the boats"});
    let world = World::new(vec![
        calls("call_subagent", task),
        says("seven"),
        says("there are seven boats"),
    ]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> how many boats?
         < there are seven boats
         > /cost
         < Calls: 3
         < Of these, sub-agents: 1 call,
         > /quit",
    );
    assert!(terminal.ends());
}

/// The effect of a `@name` or `#file` is shown. A skill that is only mentioned does not stay on.
#[test]
fn mentions_are_acknowledged() {
    let world = World::new(vec![says("one"), says("two"), says("three")]);
    world.write(
        ".waterline/skills/knots/SKILL.md",
        "---\nname: knots\ndescription: how to tie them\n---\nover, under\n",
    );
    world.write("docs/b c.md", "tide");
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> @knots please
         < The skill knots is on for this message only
         < one
         > /status
         < skill         –
         > @fetch_url too
         < The tool fetch_url is allowed in this session
         < two
         > read #\"docs/b c.md\"
         < Attached: docs/b c.md (4 B)
         < three
         > /quit",
    );
    assert!(terminal.ends());
    assert!(world.last_request().last().unwrap().contains("[File: uploads/docs/b c.md]"));
}

#[test]
fn tools_todos_skills_and_the_rest() {
    let todos = json!({"todos": [{"content": "buy rope", "status": "in_progress"}]});
    let world = World::new(vec![calls("todo_write", todos), says("noted"), says("it is a skill")]);
    world.write(
        ".waterline/skills/knots/SKILL.md",
        "---\nname: knots\ndescription: how to tie them\n---\nover, under\n",
    );
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> /todos
         < No open tasks
         > /unfold
         < No calls yet
         > remember the rope
         < [>] buy rope
         < noted
         > /todos
         < [>] buy rope
         > /tools
         < fetch_url                 discovered
         < run_bash_command          visible
         < discovered: off until mentioned
         > /skill
         < knots  how to tie them
         > /skill sails
         < There is no skill sails
         > /skill knots
         < it is a skill
         > /skill off
         < The skill knots is off
         > /skill off
         < No skill is on
         > /memory
         < The memory is empty
         > /clean
         < Nothing to clean
         > /clear
         < The context is empty
         > /cancel
         < Nothing is running
         > /steer
         < Nothing to send
         > /resume
         < Nothing to resume
         > /unfold 99
         < There is no call 99;
         > /exit",
    );
    assert!(
        world
            .last_request()
            .iter()
            .any(|message| message.contains("Read skills/knots/SKILL.md and follow it"))
    );
    assert!(terminal.ends());
}

#[test]
fn a_misspelled_or_misused_command_is_explained() {
    let world = World::new(Vec::new());
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> /unfold abc
         < Usage: /unfold [N]
         > /undo 0
         < Usage: /undo, /rewind [N]
         > /todos all
         < Usage: /todos
         > /cancel now
         < Usage: /cancel
         > /quit now
         < Usage: /quit, /exit
         > /frobnicate
         < Unknown command /frobnicate; /help lists the commands
         > /hlep
         < did you mean /help?
         > /help undo
         < Undo the last turn
         > /help
         < /skill, /skills [NAME | off]
         < Ctrl-R
         > /exit",
    );
    assert!(terminal.ends());
}

/// What the agent may access can be extended without leaving the chat.
#[test]
fn directories_and_hosts_are_granted_for_the_session() {
    let read = |path: &str| calls("read_file", json!({"path": path}));
    let world = World::with(|path| {
        let path = path("data/a.txt");
        vec![read(&path), says("no"), read(&path), says("yes"), says("a path"), says("other")]
    });
    world.write("data/a.txt", "the tide is high\n");
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> look
         < data/a.txt is outside
         < /allow-dir
         < no
         > /allow-dir data:ro
         < In this session the agent may read
         > look again
         < read_file
         < yes
         > /allow-dir nowhere
         < Cannot grant access
         > /allow-host crates.io
         < In this session commands may reach crates.io
         > /allow-hosts crates.io
         < Unknown command /allow-hosts; did you mean /allow-host?
         > /add-dir ../x
         < Unknown command /add-dir
         > /usr/bin/x is slow
         < a path
         > /reset
         < New session
         > hello
         < other
         > /quit",
    );
    let requests = world.last_request();
    assert!(!requests.iter().any(|text| text.contains("Granted directories")), "{requests:?}");
    assert!(terminal.ends());
}

#[test]
fn the_memory_is_shown_and_searched() {
    let world = World::new(Vec::new());
    world.write(".config/waterline/config.toml", "memory = \"~/notes\"\n");
    world.write(
        "notes/2026-11-15.md",
        "# Daily Memory: 2026-11-15\n\n## Session Notes (09:05)\n\nthe user likes tea\n",
    );
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> /memory
         < /notes
         < 2026-11-15: the user likes tea
         > /memory coffee
         < No matches in the memory
         > /memory TEA
         < 2026-11-15: the user likes tea
         > /memory add The API is on port 8080.
         < Added
         > /memory add the API is on port 8080
         < This is already in the memory
         > /memory edit 1 The API is on port 8081.
         < Replaced: The API is on port 8080.
         > /memory forget 2
         < There is no fact 2
         > /memory forget 1
         < Forgotten: The API is on port 8081.
         > /memory add the password is hunter2hunter2
         < Not written to memory
         > /quit",
    );
    assert!(terminal.ends());
}

#[test]
fn a_rule_is_shown_when_it_is_recognized_and_at_the_end() {
    let world = World::new(vec![says("d'accord"), says("bonjour")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> From now on always answer in French.
         < Remembered for later sessions
         < d'accord
         > /quit
         < Learned in this session
         < From now on always answer in French.",
    );
    assert!(terminal.ends());
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "< 1 remembered fact
         > hello
         < bonjour
         > /quit",
    );
    assert!(terminal.ends());
    assert!(world.last_request().concat().contains("From now on always answer in French."));
}

/// S2.13, S2.34: the preset `chat` has a memory by default, which is still found after the context
/// is cleared; so are the messages. `memory = false` switches it off.
#[test]
fn s2_13_s2_34_a_chat_has_a_memory_that_survives_clearing() {
    let world = World::new(vec![says("oak it is")]);
    world.write(
        ".local/share/waterline/memory/2026-11-15.md",
        "# Daily Memory: 2026-11-15\n\n## Trimmed Context (09:05)\n\nthe user likes tea\n",
    );
    let mut terminal = Terminal::start(&world, &["--policy", "chat"]);
    terminal.play(
        "> which wood?
         < oak it is
         > /context clear
         < The context is empty
         > /memory TEA
         < 2026-11-15: the user likes tea
         > /recall oak
         < oak it is
         > /quit",
    );
    assert!(terminal.ends());
    world.write(".config/waterline/config.toml", "memory = false\n");
    let mut terminal = Terminal::start(&world, &["--policy", "chat"]);
    terminal.play(
        "> /memory
         < Memory is off
         > /quit",
    );
    assert!(terminal.ends());
}

/// S0.73, S0.74, C0.7: the number of messages without the system prompt, the number that the policy
/// keeps, and the number sent once some were dropped.
#[test]
fn s0_73_s0_74_c0_7_the_window_of_messages_is_near_full_and_over() {
    let world = World::new(Vec::new());
    let mut terminal =
        Terminal::start(&world, &["--policy", "window", "--set", "window.messages=10"]);
    terminal.play(
        "> one
         < done
         > two
         < done
         > three
         < done
         > four
         < done
         > /current
         < Messages: 8 / 10 (near the limit)
         > five
         < done
         > /current
         < Messages: 10 / 10 (near the limit)
         > six
         < done
         > /current
         < Messages: 12 / 10 (trimming active, 9 sent)
         > /quit",
    );
    assert!(terminal.ends());
}

/// When the terminal is closed, the kernel sends a signal, and the program ends.
#[test]
fn a_hangup_ends_the_program() {
    let world = World::new(vec![says("hello")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> hello
         < hello",
    );
    terminal.is_ready();
    let pid = rustix::process::Pid::from_raw(i32::try_from(terminal.process()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    assert!(!terminal.ends(), "the exit status is a failure");
}

/// S0.64, S4.41: a checkpoint is restored by command, with its messages and its todos.
#[test]
fn s0_64_a_checkpoint_is_restored_by_command() {
    let todos = |content: &str| {
        calls("todo_write", json!({"todos": [{"content": content, "status": "in_progress"}]}))
    };
    let world =
        World::new(vec![todos("buy rope"), says("noted"), todos("sell rope"), says("changed")]);
    let mut terminal = Terminal::start(&world, &["--session", "s"]);
    terminal.play(
        "> remember the rope
         < noted
         > sell it
         < changed
         > /todos
         < [>] sell rope
         > /checkpoints
         < 3  4 messages, after a model call
         < 6  8 messages, after a model call
         > /restore
         < Usage: /restore N
         > /restore 99
         < No checkpoint 99
         > /restore 3
         < 8 → 4
         > /todos
         < [>] buy rope
         > /redo
         < 4 → 8
         > /quit",
    );
    assert!(terminal.ends());
    let command = |arguments: &[&str]| world.plain(&[arguments, &["--db", "log.db"]].concat());
    let (_, listed, _) = command(&["sessions", "checkpoints", "s", "--json"]);
    let runs: std::collections::BTreeSet<String> = listed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|checkpoint| Some(checkpoint["metadata"]["run_id"].as_str()?.to_owned()))
        .collect();
    assert_eq!(runs.len(), 2, "one run per turn: {listed}");
    let (code, restored, err) = command(&["sessions", "restore", "s", "3"]);
    assert!(code == 0 && restored.contains("8 → 4 messages"), "{restored}{err}");
    let (_, shown, _) = command(&["sessions", "show", "s", "--json"]);
    assert!(shown.contains("buy rope") && shown.contains("\"is_summarizing\":false"), "{shown}");
}

/// Opens the log with a clock that is forty days slow.
fn forty_days_ago(world: &World) -> waterline_log::Log {
    let clock = || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        i64::try_from(now.as_millis()).unwrap() - 40 * 86_400_000
    };
    let options = waterline_log::Options::default().with_clock(clock);
    waterline_log::Log::open_with(&world.path("log.db").display().to_string(), &options).unwrap()
}

/// S2.29: sessions of a month ago are deleted, but only if the user agrees. The answer holds for a
/// month.
#[test]
fn s2_29_old_sessions_are_deleted_if_the_user_agrees() {
    let world = World::new(Vec::new());
    let log = forty_days_ago(&world);
    for id in ["old", "older"] {
        let title = format!("the tide of {id}");
        log.create(waterline_log::Session { title, ..waterline_log::Session::new(id) }).unwrap();
    }
    let exists = || log.lookup("old").unwrap().is_some();
    let mut asked = Terminal::start(&world, &[]);
    asked.sees("the tide of older");
    asked.sees("2 sessions have not been used for 30 days. Delete? [y/N/never]");
    asked.keys("n\r");
    asked.play("> /quit");
    assert!(asked.ends() && exists());
    let mut again = Terminal::start(&world, &[]);
    again.play("> /quit");
    assert!(!again.screen().contains("Delete?"), "{}", again.screen());
    assert!(again.ends() && exists());
    log.set_preference("", "clean_up", None).unwrap();
    let mut agreed = Terminal::start(&world, &[]);
    agreed.sees("[y/N/never]");
    agreed.keys("y\r");
    agreed.sees("Deleted");
    agreed.play("> /quit");
    assert!(agreed.ends() && !exists());
}

/// What is typed before the program asks anything decides nothing, even if it reads like an answer.
#[test]
fn what_was_typed_ahead_deletes_no_sessions() {
    let world = World::new(vec![says("4.2 m")]);
    let log = forty_days_ago(&world);
    log.create(waterline_log::Session::new("old")).unwrap();
    let mut terminal = Terminal::start(&world, &[]);
    terminal.keys("y\r");
    terminal.sees("4.2 m");
    terminal.play("> /quit");
    let screen = terminal.screen();
    assert!(terminal.ends() && log.lookup("old").unwrap().is_some(), "{screen}");
}

/// Keys that come in one piece with a command do not answer the question that it asks.
#[test]
fn what_was_typed_with_a_command_does_not_answer_its_question() {
    let world = World::new(Vec::new());
    let log = forty_days_ago(&world);
    log.create(waterline_log::Session::new("old")).unwrap();
    log.set_preference("", "clean_up", Some("never")).unwrap();
    let mut terminal = Terminal::start(&world, &[]);
    terminal.is_ready();
    terminal.keys("/clean\ry\r");
    terminal.sees("[y/n]");
    terminal.keys("n\r");
    terminal.play("> /quit");
    assert!(terminal.ends() && log.lookup("old").unwrap().is_some());
}

/// A message that was typed before the question appeared is sent, and decides nothing.
#[test]
fn a_message_typed_at_the_clean_up_question_is_sent() {
    let world = World::new(vec![says("4.2 m")]);
    let log = forty_days_ago(&world);
    log.create(waterline_log::Session::new("old")).unwrap();
    let mut terminal = Terminal::start(&world, &[]);
    terminal.sees("[y/N/never]");
    terminal.keys("how high is the tide?\r");
    terminal.sees("» how high is the tide?");
    terminal.sees("4.2 m");
    terminal.play("> /quit");
    assert!(terminal.ends() && log.lookup("old").unwrap().is_some());
    let mut again = Terminal::start(&world, &[]);
    again.sees("[y/N/never]");
    again.keys("n\r");
    again.play("> /quit");
    assert!(again.ends());
}

/// S0.70: `/clean` deletes what was not used for a long time, if the user agrees.
#[test]
fn s0_70_clean_deletes_old_sessions_and_workspaces() {
    let world = World::new(Vec::new());
    world.write(".config/waterline/config.toml", "[agent]\nworkspace_days = 100\n");
    let log = forty_days_ago(&world);
    let workspace = world.path(".local/share/waterline/workspaces/old");
    world.write(".local/share/waterline/workspaces/old/temp/a.txt", "a");
    let mut session = waterline_log::Session::new("old");
    session.workspace = Some(workspace.display().to_string());
    log.create(session).unwrap();
    log.set_preference("", "clean_up", Some("never")).unwrap();
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play("> /clean");
    terminal.sees("[y/n]");
    terminal.keys("n\r");
    terminal.is_ready();
    assert!(workspace.exists() && log.lookup("old").unwrap().is_some());
    terminal.keys("/clean\r");
    until("the second question", || terminal.screen().matches("[y/n]").count() == 2);
    terminal.keys("what is old?\r");
    terminal.sees("Answer y or n");
    until("the question again", || terminal.screen().matches("[y/n]").count() == 3);
    terminal.keys("y\r");
    terminal.sees("Deleted");
    terminal.play("> /quit");
    assert!(terminal.ends());
    assert!(!workspace.exists() && log.lookup("old").unwrap().is_none());
}
