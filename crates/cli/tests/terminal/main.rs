//! `waterline chat` in a terminal: sessions as transcripts.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails loudly"
)]

mod commands;
mod documentation;
mod files;
mod place;
mod pty;
#[path = "../screens/mod.rs"]
mod screens;
mod trust;
mod turns;
#[path = "../world/mod.rs"]
mod world;

use pty::Terminal;
use serde_json::json;
use waterline_testkit::script::{Line, calls, says};
use world::{World, until};

/// A call that needs approval.
fn risky() -> Line {
    calls("run_bash_command", json!({"command": "rm -r build"}))
}

#[test]
fn a_conversation_with_a_tool_and_an_answer_in_markdown() {
    let world = World::new(vec![
        calls("write_file", json!({"path": "outputs/tide.txt", "content": "4.2 m\n"})),
        says("# Tide\nIt is **4.2 m** high, see `tide.txt`:\n```\nlet x = 1;\n```\n- done"),
    ]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.sees("model m. /help lists the commands");
    terminal.play(
        "> how high is the tide?
         < ● write_file outputs/tide.txt
         < Tide
         < It is 4.2 m high, see tide.txt:
         < let x = 1;
         < • done
         > /unfold 1
         < Created outputs/tide.txt (6 bytes)
         > /quit",
    );
    assert!(
        !terminal.screen().contains("cache"),
        "the server reports no cache:\n{}",
        terminal.screen()
    );
    assert!(!terminal.screen().contains("**"), "{}", terminal.screen());
    assert!(terminal.ends());
}

#[test]
fn a_call_is_refused_approved_and_always_approved() {
    let world = World::new(vec![
        risky(),
        says("one"),
        risky(),
        says("two"),
        risky(),
        says("three"),
        risky(),
        says("four"),
    ]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> first
         < medium risk: it deletes directories
         < ? run_bash_command rm -r build [y/n] medium risk: it deletes directories
         ! 否
         < ✗ run_bash_command rm -r build → Denied by the user
         < one
         > second
         < [y]es, [n]o
         ! y
         < ✗ run_bash_command rm -r build
         < two
         > third
         < [y]es, [n]o, [a]lways allow this command, or type what to do instead
         ! a
         < three
         > fourth
         < four
         > /quit",
    );
    assert!(terminal.ends());
}

/// A draft from before a question is not an answer to it, and is not lost.
#[test]
fn a_draft_from_before_a_question_is_not_its_answer() {
    let wait =
        calls("run_bash_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"}));
    let world = World::new(vec![wait, risky(), says("not removed")]);
    let mut terminal = Terminal::start(&world, &["--session", "s"]);
    terminal.play("> tidy up");
    terminal.sees("run_bash_command while");
    terminal.keys("a");
    terminal.sees("» a");
    std::fs::write(world.path(".local/share/waterline/workspaces/s/go"), "").unwrap();
    terminal.sees("? run_bash_command rm -r build");
    assert!(!terminal.screen().contains("» a"), "{}", terminal.screen());
    terminal.keys("\r");
    terminal.keys("n\r");
    terminal.sees("Denied by the user");
    terminal.sees("not removed");
    terminal.sees("› a");
}

#[test]
fn a_question_is_answered_by_its_number() {
    let ask =
        calls("ask_human", json!({"question": "Which harbor?", "choices": ["north", "south"]}));
    let world = World::new(vec![ask, says("South it is.")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> plan it
         < Which harbor?
         < 2. south
         ! 2
         < South it is.",
    );
    assert!(world.last_request().last().unwrap().contains("south"));
}

#[test]
fn a_postponed_question_is_answered_by_the_next_message() {
    let ask = calls("ask_human", json!({"question": "Which harbor?"}));
    let world = World::new(vec![ask, says("North it is.")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> plan it
         < Answer (leave empty to answer later):",
    );
    terminal.keys("\r");
    terminal.sees("Your next message is the answer.");
    terminal.play(
        "> north
         < North it is.",
    );
    assert!(world.last_request().last().unwrap().contains("north"));
}

#[test]
fn ctrl_c_stops_the_turn_and_keeps_the_session() {
    let world = World::new(vec![Line::Hangs, says("here I am")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play("> are you there?");
    until("the request", || world.server.received().len() == 1);
    terminal.keys("\x03");
    terminal.sees("Stopped; all messages and results so far are kept");
    terminal.play(
        "> and now?
         < here I am",
    );
    let sent = world.last_request().join("\n");
    assert!(sent.contains("are you there?") && sent.contains("and now?"), "{sent}");
    terminal.is_ready();
    terminal.keys("\x04");
    assert!(terminal.ends());
}

/// Commands that wait for a turn to end are dropped if it is stopped.
#[test]
fn ctrl_c_drops_queued_commands() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"})),
        says("one"),
        Line::Hangs,
        says("here I am"),
    ]);
    world.write(
        ".waterline/skills/knots/SKILL.md",
        "---\nname: knots\ndescription: to tie them\n---\nover, under\n",
    );
    let mut terminal = Terminal::start(&world, &["--session", "s"]);
    terminal.play("> begin");
    terminal.sees("run_bash_command while");
    terminal.play("! /skill knots");
    terminal.play("! /skill knots");
    until("both wait", || terminal.screen().matches("↳ /skill knots").count() == 2);
    std::fs::write(world.path(".local/share/waterline/workspaces/s/go"), "").unwrap();
    until("the turn of the first command", || world.server.received().len() == 3);
    terminal.keys("\x03");
    terminal.sees("Stopped; all messages and results so far are kept");
    terminal.is_ready();
    assert_eq!(world.server.received().len(), 3, "the second command is dropped");
    terminal.play(
        "! and now?
         < here I am",
    );
}

/// On exit the command that resumes the session is shown, and after it the newest messages.
#[test]
fn a_session_is_resumed_with_the_command_shown_on_exit() {
    let world = World::new(vec![says("4.2 m")]);
    let mut terminal = Terminal::start(&world, &["--session", "tide"]);
    terminal.play(
        "> how high is it?
         < 4.2 m
         > help
         < List the commands
         > exit
         < Resume with: waterline chat --resume tide --db",
    );
    assert!(terminal.ends());
    let mut terminal = Terminal::start(&world, &["--resume", "tide"]);
    terminal.sees("user: how high is it?");
    terminal.sees("4.2 m");
    terminal.is_ready();
    terminal.keys("\x03");
    terminal.sees("Press Ctrl-C again to quit");
    terminal.is_ready();
    terminal.keys("\x03");
    assert!(terminal.ends(), "pressed twice");
}

#[test]
fn ctrl_o_shows_the_last_call_below_the_unfinished_line() {
    let world = World::new(vec![
        calls("write_file", json!({"path": "tide.txt", "content": "4.2 m\n"})),
        says("written"),
    ]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> write it down
         < ● write_file tide.txt
         < written",
    );
    terminal.is_ready();
    terminal.keys("half a");
    terminal.sees("› half a");
    terminal.keys("\x0f");
    until("the call", || terminal.screen().lines().any(|line| line.starts_with("write_file ")));
    until("the line again", || terminal.screen().matches("› half a").count() == 2);
}

#[test]
fn arguments_are_completed_and_an_empty_menu_is_hidden() {
    let world = World::new(vec![says("noted")]);
    let mut terminal = Terminal::start(&world, &["--session", "mill"]);
    terminal.play(
        "> remember the tide
         < noted",
    );
    terminal.is_ready();
    terminal.keys("/context p\t");
    terminal.sees("/context pin");
    terminal.keys("\x15/load mi\t");
    terminal.sees("/load mill");
    terminal.keys("\x15/xyz\t!");
    terminal.sees("/xyz!");
    assert!(!terminal.screen().contains("NO RECORDS"), "{}", terminal.screen());
    terminal.keys("\x15/hlep\r");
    terminal.sees("did you mean /help?");
}

#[test]
fn a_line_typed_while_a_turn_runs_steers_it() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"})),
        says("in UTC, then"),
    ]);
    let mut terminal = Terminal::start(&world, &["--session", "s"]);
    terminal.play("> what time is it?");
    let workspace = world.path(".local/share/waterline/workspaces/s");
    terminal.sees("run_bash_command while");
    terminal.play("! in UTC please");
    terminal.sees("in UTC please");
    std::fs::write(workspace.join("go"), "").unwrap();
    terminal.sees("in UTC, then");
    let last = world.last_request();
    assert!(last.last().unwrap().contains("in UTC please"), "{last:?}");
}

/// The same keys edit a line at the prompt and while a turn runs, and the same lines are recalled.
#[test]
fn a_line_is_edited_while_a_turn_runs_as_at_the_prompt() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"})),
        says("in UTC, then"),
    ]);
    let mut terminal = Terminal::start(&world, &["--session", "s"]);
    terminal.play("> what time is it?");
    terminal.sees("run_bash_command while");
    terminal.keys("\x1b[A");
    terminal.sees("» what time is it?▏");
    terminal.keys("\x15UTC now");
    terminal.sees("» UTC now▏");
    terminal.keys("\x17please\x1b[Hin ");
    terminal.sees("» in ▏UTC please");
    terminal.keys("\r");
    terminal.sees("↳ in UTC please");
    std::fs::write(world.path(".local/share/waterline/workspaces/s/go"), "").unwrap();
    terminal.sees("in UTC, then");
    let last = world.last_request();
    assert!(last.last().unwrap().contains("in UTC please"), "{last:?}");
}

#[test]
fn commands_names_and_files_are_completed_and_a_backslash_continues_a_line() {
    let world = World::new(vec![says("noted")]);
    world.write("notes.md", "tide");
    let mut terminal = Terminal::start(&world, &[]);
    terminal.is_ready();
    terminal.keys("/stat\t");
    terminal.sees("/status");
    terminal.keys("\r");
    terminal.sees("workspace");
    terminal.is_ready();
    terminal.keys("@read_a\t");
    terminal.sees("@read_artifact");
    terminal.keys("\x03");
    terminal.is_ready();
    terminal.keys("look at #not\t");
    terminal.sees("#notes.md");
    terminal.keys("\\\rand answer\r");
    terminal.sees("noted");
    let last = world.last_request();
    assert!(
        last.last().unwrap().contains("look at #notes.md")
            && last.last().unwrap().contains("\\nand answer"),
        "{last:?}"
    );
    assert!(last.last().unwrap().contains("[File: uploads/notes.md]\\ntide"), "{last:?}");
}

/// The list of commands opens with the slash and narrows; Enter runs what is typed, or the chosen
/// row.
#[test]
fn a_slash_lists_the_commands() {
    let world = World::new(Vec::new());
    let mut terminal = Terminal::start(&world, &[]);
    terminal.is_ready();
    terminal.keys("/");
    terminal.sees("List the commands and keys");
    terminal.keys("sta");
    terminal.sees("Show the status of the session");
    until("only one command", || !terminal.screen().contains("List the commands"));
    assert!(terminal.screen().contains("› /sta"), "{}", terminal.screen());
    assert!(!terminal.screen().contains('|'), "the prompt keeps its sign: {}", terminal.screen());
    terminal.keys("\x7f\x7f\x7f");
    terminal.sees("List the commands and keys");
    terminal.keys("tod");
    terminal.sees("Show the task list");
    terminal.keys("\x1b[B");
    terminal.sees("› /todos");
    terminal.keys("\r");
    terminal.sees("No open tasks");
    terminal.keys("a/b");
    terminal.sees("› a/b");
    assert!(!terminal.screen().contains("List the commands"), "{}", terminal.screen());
}

/// So does the list of files with the number sign; Enter inserts the chosen file.
#[test]
fn a_number_sign_lists_the_files() {
    let world = World::new(vec![says("noted")]);
    world.write("notes.md", "tide");
    world.write("novel.md", "mill");
    let mut terminal = Terminal::start(&world, &[]);
    terminal.is_ready();
    terminal.keys("look at #");
    terminal.sees("  #notes.md");
    terminal.sees("  #novel.md");
    terminal.keys("nov");
    until("only one file", || !terminal.screen().contains("#notes.md"));
    terminal.keys("\x1b[B");
    terminal.sees("› #novel.md");
    terminal.keys("\r");
    until("the list is closed", || !terminal.screen().contains("  #novel.md"));
    terminal.keys("please\r");
    terminal.sees("noted");
    assert!(world.last_request().last().unwrap().contains("look at #novel.md please"));
}

/// The server does not report a window, and the price is in the user's own table.
#[test]
fn a_guessed_window_and_a_price_are_shown() {
    let world = World::new(vec![says("noted")]);
    world.write(
        ".config/waterline/prices.toml",
        "[[vendor]]\nname = \"mine\"\nprices = [{ models = [\"m\"], input = 300.0, output = 900.0, \
         date = \"2026-11-16\" }]\n",
    );
    let mut terminal = Terminal::start(&world, &[]);
    terminal.sees("tokens for the prompt are a guess");
    terminal.play(
        "> /cost
         < price of m as of 2026-11-16",
    );
    assert!(!terminal.screen().contains("Price: unknown"), "{}", terminal.screen());
    terminal.play(
        "> remember the tide
         < noted
         > /cost
         < Price: $
         < price of m as of 2026-11-16
         < · $
         > /status
         < a guess; set it with --window
         > /quit
         < This session cost $",
    );
    assert!(terminal.ends());
    let mut terminal = Terminal::start(&world, &["--window", "5k"]);
    terminal.is_ready();
    assert!(!terminal.screen().contains("guess"), "{}", terminal.screen());
    assert!(terminal.screen().contains(" of 5.0k ›"), "{}", terminal.screen());
}

/// In a terminal, `run` shows a turn as the chat does.
#[test]
fn run_renders_markdown_and_calls_in_a_terminal() {
    let world = World::new(vec![
        calls("write_file", json!({"path": "outputs/tide.txt", "content": "4.2 m\n"})),
        risky(),
        says("It is **4.2 m**:\n```rust\nlet x = 1;\n```\nDone."),
    ]);
    let mut terminal = Terminal::of(&world, "run", &["how high is the tide?"]);
    terminal.sees("● write_file outputs/tide.txt");
    terminal.sees("[y]es, [n]o");
    terminal.keys("n\r");
    terminal.sees("It is 4.2 m:");
    terminal.sees("  let x = 1;");
    terminal.sees("Done.");
    assert!(!terminal.screen().contains("```"), "{}", terminal.screen());
    assert!(terminal.ends());
}

/// S2.35: the program's messages are in the user's language.
#[test]
fn s2_35_the_program_speaks_chinese() {
    let world = World::new(vec![says("你好")]);
    let mut terminal = Terminal::start(&world, &["--lang", "zh"]);
    terminal.play(
        "> /help
         < 列出命令
         > /nonsense
         < 没有命令 /nonsense
         > 你好吗
         < 你好
         > /quit",
    );
    assert!(terminal.ends());
}

/// An answer must not control the terminal.
#[test]
fn control_characters_of_an_answer_do_not_reach_the_terminal() {
    let world = World::new(vec![says("before\u{1b}[2J\u{1b}]0;owned\u{7}after")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> hello there
         < after",
    );
    assert!(
        terminal.screen().contains("hello there") && terminal.screen().contains("before"),
        "{}",
        terminal.screen()
    );
}
