//! What the screen shows of the calls of a turn, and how a turn ends.

use serde_json::json;
use waterline_testkit::script::{Line, calls, says};

use crate::pty::Terminal;
use crate::world::{World, until};

fn bash(command: &str) -> Line {
    calls("run_bash_command", json!({"command": command}))
}

/// A turn that reached its limit continues if the user agrees.
#[test]
fn a_turn_that_reaches_its_limit_can_be_continued() {
    let read = |n: usize| calls("list_files", json!({"path": ".", "n": n}));
    let world = World::new(vec![
        read(1),
        says("halfway"),
        says("finished"),
        read(2),
        says("again halfway"),
        says("something else"),
    ]);
    world.write(".config/waterline/config.toml", "[agent]\nsteps = 1\n");
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> work
         < halfway
         < the limit of 1 model call per turn was reached (agent.steps). Continue? [y/n]
         ! y
         < finished
         > more
         < again halfway
         < Continue? [y/n]
         ! do something else
         < something else",
    );
    // The typed line is on the screen before it is sent.
    until("the message", || world.last_request().last().unwrap().contains("do something else"));
    terminal.is_ready();
    let screen = terminal.screen();
    assert_eq!(screen.matches("Continue? [y/n]").count(), 2, "{screen}");
}

/// A compiler prints its error last.
#[test]
fn the_end_of_a_failed_command_is_shown() {
    let world = World::new(vec![bash("seq 1 30; echo the cause; exit 3"), says("it failed")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> build it
         < it failed",
    );
    let screen = terminal.screen();
    assert!(screen.contains("→ command exited with status 3 (+23)"), "{screen}");
    assert!(screen.contains("  the cause\n") && screen.contains("  24\n"), "{screen}");
    assert!(!screen.contains("  23\n"), "{screen}");
}

/// Colors and progress bars are for terminals; neither the user nor the model reads them.
#[test]
fn colors_and_overwritten_lines_are_left_out() {
    let command = r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n'; exit 1";
    let world = World::new(vec![bash(command), says("done")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> try it
         < done",
    );
    let screen = terminal.screen();
    assert!(screen.contains("  red\n  100%\n"), "{screen}");
    let result = world.last_request().pop().unwrap();
    assert!(result.contains("red\\n100%\\n[command exited"), "{result}");
}

/// While a command runs its last line is shown; if it is stopped, the call stays on the screen.
#[test]
fn a_running_command_shows_its_output_and_a_stopped_one_stays() {
    let world = World::new(vec![bash("echo one; echo two; sleep 60"), says("later")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play("> build it");
    terminal.sees("\n  two");
    assert!(!terminal.screen().contains("\n  one"), "{}", terminal.screen());
    terminal.keys("\x03");
    terminal.sees("✗ run_bash_command echo one; echo two; sleep 60 → cancelled");
    assert!(terminal.screen().contains("s [1]"), "{}", terminal.screen());
    assert!(!terminal.screen().contains("\n  two"), "{}", terminal.screen());
}

/// Without the file the message makes little sense.
#[test]
fn a_message_whose_file_is_too_large_is_not_sent_unasked() {
    let world = World::new(vec![says("read")]);
    world.write("big.log", &"x".repeat(20_000_001));
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> read #big.log
         < file too large
         < Send the message without the file? [y/n]
         ! n",
    );
    terminal.sees("› read #big.log");
    assert!(world.server.received().is_empty());
    terminal.keys("\r");
    until("the question again", || terminal.screen().matches("[y/n]").count() == 2);
    terminal.keys("y\r");
    terminal.sees("read");
    until("the request", || world.server.received().len() == 1);
}

/// A question is on the screen once.
#[test]
fn a_question_is_shown_once() {
    let ask = calls("ask_human", json!({"question": "Which harbor?"}));
    let world = World::new(vec![ask, says("North it is.")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> plan it
         < Answer (leave empty to answer later):",
    );
    assert_eq!(terminal.screen().matches("Which harbor?").count(), 1, "{}", terminal.screen());
    terminal.keys("\r");
    terminal.sees("Your next message is the answer.");
    assert_eq!(terminal.screen().matches("Which harbor?").count(), 1, "{}", terminal.screen());
}

/// A resumed session shows its last exchange, and its calls have the numbers that they had.
#[test]
fn unfold_shows_the_calls_of_earlier_processes() {
    let list = |path: &str| calls("list_files", json!({"path": path}));
    let answer = "## Result\n\nfirst line\n\nlast line";
    let world = World::new(vec![list("outputs"), list("uploads"), says(answer), list("temp")]);
    let flags = ["look around", "--session", "s"];
    assert_eq!(world.run("run", &flags).0, 0);
    let mut terminal = Terminal::start(&world, &["--resume", "s"]);
    terminal.sees("user: look around");
    terminal.sees("2 calls; /unfold N shows call N in full");
    terminal.sees("first line");
    terminal.sees("last line");
    terminal.play(
        "> /unfold 1
         < list_files
         < outputs
         > /unfold 2
         < uploads
         > /unfold 3
         < There is no call 3
         > go on
         < [3]
         > /quit",
    );
    assert!(terminal.ends());
}
