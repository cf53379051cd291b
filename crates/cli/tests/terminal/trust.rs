//! Questions outside a chat: about the addresses of a directory, and those of `run`.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use waterline_testkit::script::{calls, says};

use crate::pty::Terminal;
use crate::world::{World, until};

#[test]
fn an_address_of_the_directory_is_approved_once() {
    let world = World::new(vec![says("hello")]);
    let name = |address: &str| world.write("waterline.toml", &format!("base_url = \"{address}\""));
    name("https://models.example.invalid");
    let mut refused = Terminal::start(&world, &[]);
    refused.sees("may send the conversation to https://models.example.invalid");
    refused.sees("[y/n]");
    refused.keys("n\r");
    assert!(!refused.ends());
    assert!(world.server.received().is_empty());

    let mut agreed = Terminal::start(&world, &[]);
    agreed.sees("[y/n]");
    agreed.keys("y\r");
    agreed.play(
        "> hi
         < hello
         > /quit",
    );
    assert!(agreed.ends());
    let file = world.path(".local/share/waterline/trusted.json");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);

    let mut known = Terminal::start(&world, &[]);
    known.is_ready();
    assert!(!known.screen().contains("[y/n]"), "{}", known.screen());
    assert!(known.screen().contains("may send the conversation to"), "{}", known.screen());
    known.keys("\x04");
    assert!(known.ends());

    name("https://other.example.invalid");
    let mut another = Terminal::start(&world, &[]);
    another.sees("[y/n]");
    another.keys("\r");
    assert!(!another.ends());
}

/// A model may write a question into its answer, so that the user types `y` before anything needs
/// approval.
#[test]
fn text_typed_before_an_approval_request_is_not_its_reply() {
    let world = World::new(vec![
        calls("run_bash_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"})),
        calls("run_bash_command", json!({"command": "rm -r build"})),
        says("not removed"),
    ]);
    let mut terminal = Terminal::of(&world, "run", &["--session", "s", "tidy up"]);
    terminal.sees("while [ ! -e go ]");
    terminal.keys("y\r");
    until("the typed text", || terminal.screen().contains("↳ y"));
    std::fs::write(world.path(".local/share/waterline/workspaces/s/go"), "").unwrap();
    terminal.sees("[a]lways allow this command");
    terminal.keys("n\r");
    terminal.sees("not removed");
    let last = world.last_request();
    assert!(last.last().unwrap().contains("Denied by the user"), "{last:?}");
    assert!(terminal.ends());
}

#[test]
fn a_question_of_run_is_answered_by_its_number() {
    let ask =
        calls("ask_human", json!({"question": "Which harbor?", "choices": ["north", "south"]}));
    let world = World::new(vec![ask, says("South it is.")]);
    let mut terminal = Terminal::of(&world, "run", &["plan it"]);
    terminal.sees("2. south");
    terminal.sees("Answer (leave empty to answer later)");
    terminal.keys("2\r");
    terminal.sees("South it is.");
    assert!(world.last_request().last().unwrap().contains("south"));
    assert!(terminal.ends());
}

/// A structured answer is printed once, when it is complete; it must not control a terminal either.
#[test]
fn a_structured_answer_does_not_control_the_terminal() {
    let world = World::new(vec![says("{\"tide\": \"before\u{9b}2Jafter\"}")]);
    world.write("schema.json", r#"{"type": "object", "required": ["tide"]}"#);
    let terminal = Terminal::of(&world, "run", &["--schema", "schema.json", "how high?"]);
    // This terminal does not show the replacement character; the code itself would have erased
    // "before".
    terminal.sees("before2Jafter");
    assert!(terminal.ends());
}
