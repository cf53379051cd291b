//! Roles and hand-offs between them; mentioned files and names.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use serde_json::{Value, json};
use test_bed::{TestBed, calls, model, says, tools};
use waterline::message::{Body, Role as Speaker};
use waterline_agent::mention::attach;
use waterline_agent::role::{Role, find, named, transfer};
use waterline_agent::state::Upload;
use waterline_agent::{Agent, ApprovalReply, Ending, UserInput};
use waterline_sandbox::Workspace;

fn hand_off(to: &str) -> test_bed::Line {
    calls("hand_off", json!({"to": to, "summary": "build it", "paths": ["outputs/design.md"]}))
}

/// S1.39, section G: a package of paths in a tag; the session of a role is reused when work comes
/// back.
#[tokio::test]
async fn s1_39_work_goes_from_role_to_role_and_back() {
    let bed = TestBed::new();
    let server = model(vec![hand_off("execute"), hand_off("init")]);
    let mut config = bed.config(&server);
    config.roles = find(&[]).unwrap();
    let config_of = |role: &Role| config.of_role(role).unwrap();
    let init = named(&config.roles, "init").unwrap();
    let mut session = bed.log().session("s").unwrap();
    session.state.insert("role".to_owned(), Value::from("init"));
    bed.log().save(&session).unwrap();
    bed.watcher.replies.lock().unwrap().extend([ApprovalReply::Allow, ApprovalReply::Allow]);
    let mut agent = bed.open(config_of(init)).await;
    assert_eq!(agent.live().window(), 200_000, "the window of its role");
    let outcome = agent.turn(UserInput::new("design it")).await.unwrap();
    let Ending::HandOff { to, package } = outcome.ending else { panic!("{outcome:?}") };
    assert_eq!(
        (to.as_str(), &package["handoff_type"], &package["version"]),
        ("execute", &json!("init_to_execute"), &json!(1))
    );
    assert!(
        bed.watcher.requests.lock().unwrap()[0].tool == "hand_off",
        "each transfer needs approval"
    );

    let there = transfer(&bed.log(), agent.live().session(), &to, &package).unwrap();
    assert!(
        there.text.starts_with("<init_to_execute_context>")
            && there.text.contains("outputs/design.md"),
        "{}",
        there.text
    );
    let mut own = config_of(named(&config.roles, "execute").unwrap());
    own.apply_settings().unwrap();
    let mut other =
        Agent::open(bed.log(), &there.session.id, own, bed.watcher.clone()).await.unwrap();
    assert_eq!(other.workspace().path(), agent.workspace().path(), "both work on the same files");
    let outcome =
        other.turn(UserInput { handed: true, ..UserInput::new(there.text) }).await.unwrap();
    let Ending::HandOff { to, package } = outcome.ending else { panic!("{outcome:?}") };
    let back = transfer(&bed.log(), other.live().session(), &to, &package).unwrap();
    assert_eq!(
        (back.session.id.as_str(), back.session.state["transfers"].as_u64()),
        ("s", Some(2))
    );
    assert!(back.text.starts_with("<execute_to_init_context>"));
}

#[tokio::test]
async fn hand_offs_are_limited_to_five_and_to_allowed_roles() {
    let bed = TestBed::new();
    let server = model(vec![hand_off("chef"), hand_off("execute"), says("then I finish it")]);
    let mut config = bed.config(&server);
    config.roles = find(&[]).unwrap();
    config.approval.mode = waterline_agent::approval::Mode::None;
    let mut session = bed.log().session("s").unwrap();
    session.state.extend([("role".to_owned(), json!("init")), ("transfers".to_owned(), json!(5))]);
    bed.log().save(&session).unwrap();
    let own = config.of_role(named(&config.roles, "init").unwrap()).unwrap();
    let outcome =
        bed.open(own).await.turn(UserInput { handed: true, ..UserInput::new("go") }).await.unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    let story = bed.story("s").join("\n");
    assert!(
        story.contains("Cannot hand off to \"chef\"; allowed roles: execute.")
            && story.contains("limit of 5 hand-offs"),
        "{story}"
    );
    assert!(tools(&server.received()[0]).contains(&"hand_off".to_owned()));
}

/// Section G: files are copied, and short texts and images are added to the message.
#[test]
fn mentioned_files_are_attached() {
    let bed = tempfile::tempdir().unwrap();
    let base = bed.path().join("project");
    for (path, bytes) in [
        ("notes.md", &b"tide 4.2 m"[..]),
        ("docs/a.md", b"a"),
        ("docs/deep/b.md", b"b"),
        ("pic.png", b"\x89PNG"),
        ("x.bin", b"\xff\x00"),
    ] {
        std::fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
        std::fs::write(base.join(path), bytes).unwrap();
    }
    std::fs::write(base.join("long.txt"), "x".repeat(30_000)).unwrap();
    std::fs::write(bed.path().join("secret.txt"), "hidden").unwrap();
    for link in ["innocent.md", "spec..md"] {
        std::os::unix::fs::symlink(bed.path().join("secret.txt"), base.join(link)).unwrap();
    }
    let workspace = Workspace::open(&bed.path().join("w"), "s", &[]).unwrap();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let taken = attach(
        &workspace,
        &base,
        &names(&["notes.md", "docs/", "**/*.md", "pic.png", "x.bin", "long.txt", "gone.md"]),
        true,
    );
    let texts: Vec<String> = taken
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts[0], "[File: uploads/notes.md]\ntide 4.2 m");
    assert!(
        texts.contains(&"[File: uploads/docs/a.md]\na".to_owned())
            && texts.contains(&"[File: uploads/docs/deep/b.md]\nb".to_owned()),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("[File: uploads/long.txt, 30000 bytes; use read_file")),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text.contains("x.bin, 2 bytes, binary")));
    assert_eq!(taken.parts.iter().filter(|part| matches!(part.body, Body::Image(_))).count(), 1);
    assert!(
        taken.problems.iter().any(|found| found.to_string() == "#gone.md: file not found"),
        "{:?}",
        taken.problems
    );
    assert!(workspace.read_text("uploads/docs/deep/b.md").is_ok());
    let without_images = attach(&workspace, &base, &names(&["pic.png"]), false);
    assert!(without_images.parts.iter().all(|part| !matches!(part.body, Body::Image(_))));
    assert!(
        without_images.problems[0].to_string().contains("the model does not accept images"),
        "{:?}",
        without_images.problems
    );
    for link in ["innocent.md", "spec..md"] {
        let link = attach(&workspace, &base, &names(&[link]), false);
        assert!(
            link.parts.is_empty() && link.problems[0].to_string().contains("it is a link to"),
            "{:?}",
            link.problems
        );
    }
    let explicit = attach(&workspace, &base, &names(&["../secret.txt"]), false);
    assert!(explicit.problems.is_empty() && !explicit.parts.is_empty(), "{:?}", explicit.problems);
}

/// A pattern matches hidden files only if it names them; a name may contain spaces.
#[test]
fn hidden_files_and_directories_are_attached_only_by_name() {
    let bed = tempfile::tempdir().unwrap();
    let base = bed.path().join("project");
    for path in ["a.md", "b c.md", ".env.md", ".cache/d.md", ".git/e.md", "docs/.notes/f.md"] {
        std::fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
        std::fs::write(base.join(path), "x").unwrap();
    }
    let workspace = Workspace::open(&bed.path().join("w"), "s", &[]).unwrap();
    let taken = |name: &str| {
        let attached = attach(&workspace, &base, &[name.to_owned()], true);
        let path = |file: &Upload| file.path.trim_start_matches("uploads/").to_owned();
        attached.files.iter().map(path).collect::<Vec<_>>()
    };
    assert_eq!(taken("**/*.md"), ["a.md", "b c.md"]);
    assert_eq!(taken("b c.md"), ["b c.md"]);
    assert_eq!(taken(".cache/*.md"), [".cache/d.md"]);
    assert_eq!(taken("**/.notes/*.md"), ["docs/.notes/f.md"]);
}

/// S0.11, S0.68: attached files are recorded in the state. A mentioned skill applies to that
/// message only.
#[tokio::test]
async fn s0_25_uploads_are_tracked_in_the_state() {
    let bed = TestBed::new();
    let server = model(vec![says("seen")]);
    let mut agent = bed.agent(&server).await;
    let input = UserInput {
        files: vec![Upload { path: "uploads/a.md".to_owned(), ..Upload::default() }],
        mentioned: vec!["pdf".to_owned()],
        skill: Some("pdf".to_owned()),
        ..UserInput::new("look @pdf")
    };
    agent.turn(input).await.unwrap();
    let state = bed.state("s");
    assert_eq!(
        (state.uploads.len(), state.mentioned, state.active_skill.as_deref()),
        (1, vec!["pdf".to_owned()], None)
    );
    assert_eq!(bed.messages("s")[0].role, Speaker::System);
}
