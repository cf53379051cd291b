//! What a person sees of changed files: diffs, approvals, and going back with the files.

use serde_json::json;
use waterline_testkit::script::{Line, calls, says};

use crate::pty::Terminal;
use crate::world::World;

fn edit(path: &str, old: &str, new: &str) -> Line {
    calls("edit_file", json!({"path": path, "old": old, "new": new}))
}

fn write(path: &str, content: &str) -> Line {
    calls("write_file", json!({"path": path, "content": content}))
}

/// Starts a chat that may change the project directory.
fn start(world: &World, more: &[&str]) -> Terminal {
    Terminal::start(
        world,
        &[&["--session", "s", "--allow-dir", "project", "--approval", "none"], more].concat(),
    )
}

#[test]
fn an_edit_shows_its_diff_and_undo_takes_it_back() {
    let world = World::with(|path| {
        vec![
            edit(&path("project/calc.py"), "return a - b", "return a + b\n    # fixed"),
            write(&path("project/test_calc.py"), "assert add(1, 1) == 2\n"),
            says("fixed"),
        ]
    });
    world.write("project/calc.py", "def add(a, b):\n    return a - b\n");
    let mut terminal = start(&world, &[]);
    terminal.play(
        "> fix it
         < project/calc.py → Edited
         < +2 −1
         < def add(a, b):
         < -     return a - b
         < +     return a + b
         < +     # fixed
         < project/test_calc.py → Created
         < +1 −0
         < + assert add(1, 1) == 2
         < fixed
         > /unfold 1
         < calc.py +2 −1
         < -     return a - b
         < Edited
         > /undo
         < Restored project/calc.py
         < Removed project/test_calc.py
         < /redo restores the messages and the files",
    );
    assert!(!terminal.screen().contains("\\n"), "no JSON:\n{}", terminal.screen());
    let read = |name: &str| std::fs::read_to_string(world.path(name)).ok();
    assert_eq!(read("project/calc.py").unwrap(), "def add(a, b):\n    return a - b\n");
    assert_eq!(read("project/test_calc.py"), None);
    terminal.play(
        "> /redo
         < Restored project/calc.py, project/test_calc.py",
    );
    assert!(read("project/test_calc.py").is_some());
    std::fs::write(world.path("project/calc.py"), "mine\n").unwrap();
    terminal.play(
        "> /undo
         < project/calc.py +2 −1
         < - mine
         < +     return a - b
         < You changed project/calc.py after the agent did. Overwrite your change? [y/n]
         ! n
         < Removed project/test_calc.py
         < Kept as changed outside this session: project/calc.py
         > /quit",
    );
    assert_eq!(read("project/calc.py").unwrap(), "mine\n");
    assert!(terminal.ends());
}

#[test]
fn an_undo_says_that_it_would_delete_and_offers_all_files() {
    let world = World::with(|path| {
        vec![
            write(&path("project/a.txt"), "a\n"),
            write(&path("project/b.txt"), "b\n"),
            says("written"),
        ]
    });
    world.write("project/c.txt", "c\n");
    let mut terminal = start(&world, &[]);
    terminal.play(
        "> write them
         < written",
    );
    ["a", "b"].iter().for_each(|name| world.write(&format!("project/{name}.txt"), "mine\n"));
    terminal.play(
        "> /undo
         < - mine
         < You changed project/a.txt after the agent created it. Delete it with your change? [y/n/all]
         ! all
         < Removed project/a.txt, project/b.txt
         > /quit",
    );
    assert!(!world.path("project/a.txt").exists() && !world.path("project/b.txt").exists());
    assert!(terminal.ends());
}

/// A payload far down in a file can be seen before the call is approved.
#[test]
fn a_long_file_can_be_viewed_before_it_is_approved() {
    let content: String = (1..=90).map(|line| format!("line {line}\n")).collect();
    let world = World::new(vec![write("outputs/a.txt", &content), says("done")]);
    let mut terminal = Terminal::start(&world, &["--approval", "all"]);
    terminal.play(
        "> write it
         < write_file outputs/a.txt +90 −0
         < + line 30
         < … 60 more lines; v shows them",
    );
    assert!(!terminal.screen().contains("line 31"), "{}", terminal.screen());
    terminal.play(
        "! v
         < + line 90
         ! y
         < ● write_file outputs/a.txt → Created outputs/a.txt
         < done",
    );
    assert_eq!(terminal.screen().matches("+ line 90").count(), 1, "not shown again afterwards");
}

/// The terminal has 120 columns.
#[test]
fn names_of_changed_files_are_wrapped_between_words() {
    let names: Vec<String> = (1..=7).map(|n| format!("outputs/harbour-{n}-tables.txt")).collect();
    let command = format!("cd outputs; touch {}", names.join(" ").replace("outputs/", ""));
    let world =
        World::new(vec![calls("run_bash_command", json!({"command": command})), says("done")]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> make them
         < Changed:
         < done",
    );
    let screen = terminal.screen();
    let found =
        |name: &String| screen.split_whitespace().any(|word| word.trim_end_matches(',') == name);
    assert!(names.iter().all(found), "{screen}");
}

#[test]
fn a_long_diff_is_folded_and_unfolded() {
    let content: String = (1..=82).map(|line| format!("line {line}\n")).collect();
    let world = World::new(vec![
        write("outputs/a.txt", &content),
        calls("run_bash_command", json!({"command": "sed -i s/7$/seven/ outputs/a.txt; seq 9000"})),
        says("done"),
    ]);
    let mut terminal = Terminal::start(&world, &[]);
    terminal.play(
        "> write it
         < + line 30
         < … 52 more lines, /unfold 1 shows all
         < (+8999)
         < Changed: outputs/a.txt +8 −8
         < done
         > /unfold 1
         < + line 82
         > /artifact
         < bytes  1",
    );
    let screen = terminal.screen();
    let listed = screen.lines().rfind(|line| line.contains(" bytes  1")).unwrap();
    let id = listed.split_whitespace().next().unwrap().to_owned();
    terminal.play(&format!(
        "> /artifact {id} 8990
         < 8990
         < 9000
         > /artifact {id}
         < … 8,800 more lines; /artifact {id} 201 continues
         > /artifact zzz
         < zzz matches no artifact of this session, or more than one
         > /quit"
    ));
    assert!(terminal.ends());
}

/// Without a terminal no one is asked, and the change of a person is kept.
#[test]
fn sessions_rewind_moves_files_only_if_asked() {
    let world = World::with(|path| {
        vec![
            edit(&path("project/a.txt"), "1", "2"),
            edit(&path("project/b.txt"), "1", "2"),
            says("done"),
        ]
    });
    world.write("project/a.txt", "1\n");
    world.write("project/b.txt", "1\n");
    let flags = ["--session", "s", "--allow-dir", "project", "--approval", "none", "--json", "go"];
    let (code, out, err) = world.run("run", &flags);
    assert_eq!(code, 0, "{err}");
    let result = out.lines().find(|line| line.contains("\"event\":\"result\"")).unwrap();
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    assert_eq!(result["changes"][0]["added"], 1);
    assert_eq!(result["changes"][0]["diff"], "@@ -1,1 +1,1 @@\n-1\n+2\n");
    let command = |more: &[&str]| world.plain(&[&["sessions"], more, &["--db", "log.db"]].concat());
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let (_, _, err) = command(&["rewind", "s", "--turns", "1"]);
    assert!(err.contains("The files were not changed; to restore them too, use --files"), "{err}");
    assert_eq!(read("project/a.txt"), "2\n");
    command(&["redo", "s"]);
    world.write("project/b.txt", "mine\n");
    let (code, out, err) =
        command(&["rewind", "s", "--turns", "1", "--files", "--allow-dir", "project"]);
    assert!(code == 0 && out.contains("6 → 0 messages"), "{out}{err}");
    assert!(err.contains("Restored project/a.txt"), "{err}");
    assert!(err.contains("Kept as changed outside this session: project/b.txt"), "{err}");
    assert_eq!((read("project/a.txt"), read("project/b.txt")), ("1\n".into(), "mine\n".into()));
}
