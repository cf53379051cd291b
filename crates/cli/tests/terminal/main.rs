//! `waterline chat` in a terminal: sessions as transcripts.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails loudly"
)]

mod commands;
mod pty;
mod trust;
#[path = "../world/mod.rs"]
mod world;

use pty::Terminal;
use serde_json::json;
use waterline_testkit::script::{Line, calls, says};
use world::{World, until};

/// Numbers that a model may call, so that somebody is asked.
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
        terminal.screen().contains("%"),
        "the gauge tells what the cache served:\n{}",
        terminal.screen()
    );
    assert!(!terminal.screen().contains("**"), "{}", terminal.screen());
    assert!(terminal.ends());
}

#[test]
fn a_call_is_agreed_to_refused_and_agreed_to_once_and_for_all() {
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
         < [y]es / [n]o
         ! y
         < ✗ run_bash_command rm -r build
         < two
         > third
         < [y]es / [n]o / [a]lways this command; else: a no with that reason
         ! a
         < three
         > fourth
         < four
         > /quit",
    );
    assert!(terminal.ends());
}

/// What somebody began before they could see a question is no answer to it, and is not lost.
#[test]
fn what_was_begun_before_a_question_is_no_word_on_it() {
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
        calls("ask_human", json!({"question": "Which harbour?", "choices": ["north", "south"]}));
    let world = World::new(vec![ask, says("South it is.")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> plan it
         < Which harbour?
         < 2. south
         ! 2
         < South it is.",
    );
    assert!(world.last_request().last().unwrap().contains("south"));
}

#[test]
fn a_question_that_is_left_for_later_is_answered_by_the_next_line() {
    let ask = calls("ask_human", json!({"question": "Which harbour?"}));
    let world = World::new(vec![ask, says("North it is.")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> plan it
         < answer (empty: later):",
    );
    terminal.keys("\r");
    terminal.sees("what you write next is the answer");
    terminal.play(
        "> north
         < North it is.",
    );
    assert!(world.last_request().last().unwrap().contains("north"));
}

#[test]
fn ctrl_c_ends_the_turn_and_keeps_the_session() {
    let world = World::new(vec![Line::Hangs, says("here I am")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play("> are you there?");
    until("the request", || world.server.received().len() == 1);
    terminal.keys("\x03");
    terminal.sees("stopped; what was said and done is kept");
    terminal.play(
        "> and now?
         < here I am",
    );
    let said = world.last_request().join("\n");
    assert!(said.contains("are you there?") && said.contains("and now?"), "{said}");
    terminal.is_ready();
    terminal.keys("\x04");
    assert!(terminal.ends());
}

/// What waits behind a turn that is stopped is not carried out.
#[test]
fn ctrl_c_forgets_what_was_typed_meanwhile() {
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
    until("the turn of the first", || world.server.received().len() == 3);
    terminal.keys("\x03");
    terminal.sees("stopped; what was said and done is kept");
    terminal.is_ready();
    assert_eq!(world.server.received().len(), 3, "the second is forgotten");
    terminal.play(
        "! and now?
         < here I am",
    );
}

/// Whoever leaves is told how to come back, and whoever comes back where they were.
#[test]
fn leaving_says_how_to_come_back() {
    let world = World::new(vec![says("4.2 m")]);
    let mut terminal = Terminal::start(&world, &["--session", "tide"]);
    terminal.play(
        "> how high is it?
         < 4.2 m
         > help
         < list the commands
         > exit
         < resume with: waterline chat --resume tide --db",
    );
    assert!(terminal.ends());
    let mut terminal = Terminal::start(&world, &["--resume", "tide"]);
    terminal.sees("user: how high is it?");
    terminal.sees("assistant: 4.2 m");
    terminal.is_ready();
    terminal.keys("\x03");
    terminal.sees("Ctrl-C once more");
    terminal.is_ready();
    terminal.keys("\x03");
    assert!(terminal.ends(), "pressed twice");
}

#[test]
fn ctrl_o_shows_the_last_call_below_the_line_that_is_being_written() {
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
fn what_a_command_takes_is_completed_and_where_nothing_fits_nothing_is_said() {
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
fn what_is_typed_while_a_turn_runs_steers_it() {
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
fn commands_names_and_files_are_completed_and_lines_go_on() {
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

/// S2.35: what the program says is said in the user's language.
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

/// What a model says must not steer the terminal.
#[test]
fn control_characters_of_an_answer_are_shown_and_not_obeyed() {
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
