//! The directory that the agent works in: the question about it, the first change, the command that
//! resumes the session.

use serde_json::json;
use waterline_log::Log;
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
    first.keys("what is here?\r");
    first.sees("Answer y or n");
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
    first.sees("it is the first change of a file in");
    first.sees("[a]lways in this directory");
    first.keys("a\r");
    first.sees("done");
    first.is_ready();
    first.keys("\x04");
    first.sees("--window 90000");
    first.sees(&format!("--memory '{}/my mem'", tide.display()));
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

/// Creates a git work tree. The projects share a log.
fn make_project(world: &World, project: &str) {
    std::fs::create_dir_all(world.path(project).join(".git")).unwrap();
    let log = world.path(project).join("log.db");
    std::os::unix::fs::symlink(world.path("log.db"), log).unwrap();
}

/// `--resume` without an id takes the latest session of the project, and a session works where it
/// worked.
#[test]
fn a_session_is_resumed_in_its_own_project() {
    let write = |path: &str| calls("write_file", json!({"path": path, "content": "low\n"}));
    let world = World::new(vec![write("a.txt"), says("one"), says("two"), says("three")]);
    ["mill", "weir", "lock"].iter().for_each(|project| make_project(&world, project));
    let run = |project: &str, more: &[&str]| {
        let mut command = world.command("run", more);
        World::ended(command.current_dir(world.path(project)))
    };
    assert_eq!(run("mill", &["build", "--yes", "--session", "of-mill"]).0, 0);
    assert_eq!(run("weir", &["look", "--session", "of-weir"]).0, 0);
    let (code, _, err) = run("lock", &["--resume"]);
    assert!(code == 2 && err.contains("no session has worked in") && err.contains("lock"), "{err}");
    let mut here = Terminal::at(&world, &world.path("mill"), "chat", &["--resume"]);
    here.sees("Session of-mill");
    here.play("> /quit");
    assert!(here.ends());
    let flags = ["--resume", "of-mill"];
    let mut there = Terminal::at(&world, &world.path("weir"), "chat", &flags);
    there.sees("This session works in");
    let mut second = Terminal::at(&world, &world.path("mill"), "chat", &flags);
    second.sees("Another chat has this session open");
    second.play("> /quit");
    assert!(second.ends());
    there.play(
        "> /undo
         < Removed
         > /quit",
    );
    assert!(there.ends() && !world.path("mill/a.txt").exists());
}

/// If the files cannot go back, the messages stay too.
#[test]
fn an_undo_whose_files_are_out_of_reach_has_no_effect() {
    let write = calls("write_file", json!({"path": "a.txt", "content": "low\n"}));
    let world = World::new(vec![write, says("written")]);
    ["mill", "weir"].iter().for_each(|project| make_project(&world, project));
    let mut command = world.command("run", &["build", "--yes", "--session", "s"]);
    assert_eq!(World::ended(command.current_dir(world.path("mill"))).0, 0);
    let flags = ["--session", "s", "--workspace", "here"];
    let mut terminal = Terminal::at(&world, &world.path("weir"), "chat", &flags);
    terminal.play(
        "> /undo
         < Cannot do that: this chat may not change
         > /current
         < Messages: 4
         > /quit",
    );
    let screen = terminal.screen();
    assert!(terminal.ends() && world.path("mill/a.txt").exists());
    let (_, shown, _) = world.plain(&["sessions", "show", "s", "--db", "log.db"]);
    assert!(shown.contains("written"), "{shown}\n{screen}");
}

/// The same for moves to later messages, and the state of the session stays too.
#[test]
fn a_move_forward_whose_files_are_out_of_reach_has_no_effect() {
    let world = World::new(vec![write("a.txt"), says("one"), write("b.txt"), says("two")]);
    ["mill", "weir"].iter().for_each(|project| make_project(&world, project));
    for _ in 0..2 {
        let mut command = world.command("run", &["go", "--yes", "--session", "s"]);
        assert_eq!(World::ended(command.current_dir(world.path("mill"))).0, 0);
    }
    let flags = ["--session", "s"];
    let mut terminal = Terminal::at(&world, &world.path("mill"), "chat", &flags);
    terminal.play(
        "> /undo
         < Removed
         > /quit",
    );
    assert!(terminal.ends() && !world.path("mill/b.txt").exists());
    let log = Log::open(world.path("log.db").to_str().unwrap()).unwrap();
    let mut before = log.session("s").unwrap();
    before.state.insert("todos".to_owned(), json!(["measure"]));
    log.save(&before).unwrap();
    let checkpoint = log.checkpoints("s").unwrap().pop().unwrap().checkpoint_id;
    let branch = log.branches("s").unwrap().pop().unwrap().id.unwrap();
    let flags = ["--session", "s", "--workspace", "here"];
    let mut terminal = Terminal::at(&world, &world.path("weir"), "chat", &flags);
    terminal.play(&format!(
        "> /restore {checkpoint}
         < Cannot do that: this chat may not change
         > /redo
         < Cannot do that: this chat may not change
         > /branches {branch}
         < Cannot do that: this chat may not change
         > /todos
         < measure
         > /current
         < Messages: 4
         > /quit"
    ));
    assert!(terminal.ends() && !world.path("mill/b.txt").exists());
    let after = log.session("s").unwrap();
    assert_eq!(after.tip, before.tip);
    assert_eq!(after.state["todos"][0]["content"], "measure", "{:?}", after.state);
}

/// A new session does not know where it works until its first message, and a fork neither.
#[test]
fn sessions_are_listed_with_those_of_the_directory_also_in_a_new_one() {
    let world = World::new(vec![says("one"), says("two")]);
    ["mill", "weir"].iter().for_each(|project| make_project(&world, project));
    for (project, text) in [("mill", "build the mill"), ("weir", "look at the weir")] {
        let mut command = world.command("run", &[text, "--session", &format!("of-{project}")]);
        assert_eq!(World::ended(command.current_dir(world.path(project))).0, 0);
    }
    let mut terminal = Terminal::at(&world, &world.path("mill"), "chat", &[]);
    let lists_here = |terminal: &mut Terminal, last: &str| {
        terminal.play("> /sessions");
        terminal.sees(last);
        let screen = terminal.screen();
        let (elsewhere, here) = screen.rsplit_once("Here:").unwrap();
        let elsewhere = elsewhere.rsplit_once("In other directories:").unwrap().1;
        assert!(elsewhere.contains("look at the weir"), "{screen}");
        assert!(!elsewhere.contains("build the mill"), "{screen}");
        assert!(here.contains("build the mill"), "{screen}");
    };
    lists_here(&mut terminal, "build the mill");
    terminal.play(
        "> /load of-mill
         < Loaded session
         > /fork
         < Now in the fork",
    );
    lists_here(&mut terminal, "[fork] build the mill");
    terminal.play("> /quit");
    assert!(terminal.ends());
    let mut again = Terminal::at(&world, &world.path("mill"), "chat", &["--resume"]);
    again.play("> /sessions");
    again.sees("* ");
    let screen = again.screen();
    let own = screen.lines().find(|line| line.trim_start().starts_with("* ")).unwrap();
    assert!(own.contains("[fork]"), "the fork was used last: {screen}");
    again.play("> /quit");
    assert!(again.ends());
}
