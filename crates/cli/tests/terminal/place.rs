//! The directory that the agent works in: the question about it, the first change, the command that
//! resumes the session.

use serde_json::json;
use waterline_testkit::script::{Line, calls, says};

use crate::pty::Terminal;
use crate::world::World;

fn write(path: &str) -> Line {
    calls("write_file", json!({"path": path, "content": "x"}))
}

#[test]
fn a_directory_is_asked_about_once() {
    let world = World::new(vec![says("hello")]);
    let notes = world.path("notes");
    std::fs::create_dir(&notes).unwrap();
    let shown = notes.canonicalize().unwrap().display().to_string();
    let mut first = Terminal::at(&world, &notes, "chat", &[]);
    first.sees("Let it work in this directory from now on? [y/n]");
    first.keys("y\r");
    first.sees(&format!("The agent works in {shown}"));
    first.play("> /quit");
    assert!(first.ends());
    let mut again = Terminal::at(&world, &notes, "chat", &[]);
    again.is_ready();
    assert!(!again.screen().contains("[y/n]"), "{}", again.screen());
    assert!(again.screen().contains(&shown), "{}", again.screen());
    again.keys("\x04");
    assert!(again.ends());
    // The home directory is never taken unless it is named.
    let mut home = Terminal::start(&world, &[]);
    home.is_ready();
    home.sees("The agent works in a private directory");
    home.keys("\x04");
    assert!(home.ends());
}

#[test]
fn the_first_change_asks_and_the_session_is_resumed_with_every_flag() {
    let world = World::new(vec![
        write("a.txt"),
        write("b.txt"),
        says("done"),
        write("c.txt"),
        says("more"),
    ]);
    let tide = world.path("tide");
    std::fs::create_dir_all(tide.join(".git")).unwrap();
    let flags = ["--window", "90000", "--memory", "my mem", "--allow-dir", "..:ro"];
    let mut refused = Terminal::at(&world, &tide, "chat", &flags);
    refused.is_ready();
    refused.keys("\x04");
    assert!(refused.ends());
    let flags = ["--window", "90000", "--memory", "my mem"];
    let mut first = Terminal::at(&world, &tide, "chat", &flags);
    first.play("> go");
    first.sees("it is the first change in");
    first.sees("[a]lways in this directory");
    first.keys("a\r");
    first.sees("done");
    first.is_ready();
    first.keys("\x04");
    first.sees("--window 90000");
    first.sees("--memory 'my mem'");
    assert!(first.ends());
    assert!(tide.join("a.txt").is_file() && tide.join("b.txt").is_file());
    let mut later = Terminal::at(&world, &tide, "chat", &[]);
    later.play(
        "> go
         < more
         > /quit",
    );
    assert!(later.ends() && tide.join("c.txt").is_file());
}

#[test]
fn a_declined_fold_says_so() {
    let world = World::new(vec![says("noted"); 8]);
    let mut terminal = Terminal::start(&world, &["--window", "9000"]);
    for _ in 0..6 {
        terminal.is_ready();
        terminal.keys(&format!("{}\r", "tide table ".repeat(60)));
    }
    terminal.is_ready();
    terminal.keys("/compact\r");
    terminal.sees("[y/n]");
    terminal.keys("n\r");
    terminal.sees("Nothing was folded");
    terminal.play("> /quit");
    assert!(terminal.ends());
}
