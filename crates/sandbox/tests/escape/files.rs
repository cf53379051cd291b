//! Access to workspace files: paths, links, pipes and grants.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use waterline_sandbox::{SandboxError, Workspace};

use crate::yard::{SECRET, Yard, in_time, pipe};

pub(crate) fn trials() -> Vec<Trial> {
    trials!["files":
        parent_components_do_not_lead_out,
        absolute_path_does_not_lead_out,
        link_to_a_file_outside_is_refused,
        link_to_a_directory_outside_is_refused,
        chain_of_links_is_followed_only_inside,
        write_through_a_dangling_link_creates_nothing_outside,
        link_in_the_middle_of_a_path_is_refused,
        link_that_stays_inside_is_followed,
        write_never_follows_a_directory_swapped_for_a_link,
        read_never_follows_a_directory_swapped_for_a_link,
        write_never_follows_a_file_swapped_for_a_link,
        link_at_the_temporary_path_is_not_written_through,
        nul_byte_does_not_truncate_a_path,
        proc_files_of_the_host_cannot_be_accessed,
        very_long_path_does_not_lead_out,
        reading_a_pipe_does_not_block,
        writing_through_a_link_to_a_pipe_does_not_block,
        read_only_grant_cannot_be_changed,
        paths_and_links_do_not_lead_out_of_a_grant,
        directory_with_a_grants_name_as_prefix_is_outside,
        read_only_grant_inside_the_workspace_stays_read_only,
        read_only_grant_inside_another_grant_stays_read_only,
        workspace_file_cannot_be_overwritten,
        workspace_file_as_dangling_link_creates_nothing_outside,
        workspace_file_as_link_overwrites_nothing_outside,
        workspace_file_as_pipe_does_not_block,
        write_to_a_hard_link_leaves_the_file_outside_unchanged,
        link_to_a_protected_path_of_a_grant_is_refused,
    ]
}

/// A call is approved by the path it names, so a link must not lead to a protected path.
fn link_to_a_protected_path_of_a_grant_is_refused(yard: &Yard) {
    std::fs::create_dir_all(yard.granted(".git/hooks")).unwrap();
    symlink(".git/hooks/pre-commit", yard.granted("notes")).unwrap();
    symlink(".git/hooks/post-commit", yard.granted("dangling")).unwrap();
    symlink(".git", yard.granted("dir")).unwrap();
    std::fs::write(yard.granted(".git/hooks/pre-commit"), "old").unwrap();
    let workspace = yard.workspace(&[yard.grant("granted", "")]);
    let at = |name: &str| yard.granted(name).display().to_string();
    for name in ["notes", ".git/../notes", "dir/hooks/new", "dir/config", "dangling"] {
        refused(name, workspace.write(&at(name), b"evil"));
    }
    assert_eq!(std::fs::read(yard.granted(".git/hooks/pre-commit")).unwrap(), b"old");
    assert!(!yard.granted(".git/hooks/new").exists() && !yard.granted(".git/config").exists());
    // Named as such, the caller has approved it.
    workspace.write(&at(".git/hooks/pre-commit"), b"new").unwrap();
    workspace.write(&at("other/file"), b"new").unwrap();
}

#[track_caller]
fn refused<T>(path: &str, result: Result<T, SandboxError>) {
    match result {
        Ok(_) => panic!("{path:.100} was not refused"),
        Err(error) => assert!(!error.to_string().contains(SECRET), "{error}"),
    }
}

/// Checks that a path can be neither read, written nor listed.
#[track_caller]
fn refuses(workspace: &Workspace, path: &str) {
    refused(path, workspace.read(path));
    refused(path, workspace.read_text(path));
    refused(path, workspace.write(path, b"changed"));
    refused(path, workspace.entries(path));
}

#[track_caller]
fn text(workspace: &Workspace, path: &str) -> String {
    workspace.read_text(path).unwrap().text
}

fn parent_components_do_not_lead_out(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    for path in [
        "..",
        "../outside/secret.txt",
        "./../outside/secret.txt",
        "uploads/../../outside/secret.txt",
        "uploads//..//..//outside//secret.txt",
        "uploads/../../../../../../../../etc/passwd",
        "nowhere/../../outside/secret.txt",
    ] {
        refuses(&workspace, path);
    }
    assert_eq!(text(&workspace, "uploads/../note.txt"), "inside\n");
}

fn absolute_path_does_not_lead_out(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    let root = yard.ws().display().to_string();
    refuses(&workspace, "/");
    refuses(&workspace, "/etc/passwd");
    refuses(&workspace, &yard.secret());
    refuses(&workspace, &format!("/{}", yard.secret()));
    refuses(&workspace, &format!("{root}/../outside/secret.txt"));
    refuses(&workspace, &format!("{root}/uploads/../../outside/secret.txt"));
    assert_eq!(text(&workspace, &format!("{root}/note.txt")), "inside\n");
}

fn link_to_a_file_outside_is_refused(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("absolute", yard.outside("secret.txt"));
    yard.link("relative", "../outside/secret.txt");
    refuses(&workspace, "absolute");
    refuses(&workspace, "relative");
    yard.link("mine", "note.txt");
    workspace.write("mine", b"changed").unwrap();
    assert_eq!(text(&workspace, "note.txt"), "changed");
}

fn link_to_a_directory_outside_is_refused(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("absolute", yard.outside(""));
    yard.link("relative", "../outside");
    for link in ["absolute", "relative"] {
        refused(link, workspace.entries(link));
        refuses(&workspace, &format!("{link}/secret.txt"));
        refuses(&workspace, &format!("{link}/deep/hidden.txt"));
        refuses(&workspace, &format!("{link}/new/dir/f.txt"));
    }
    yard.link("mine", "uploads");
    workspace.write("mine/f.txt", b"here").unwrap();
    assert_eq!(text(&workspace, "uploads/f.txt"), "here");
}

fn chain_of_links_is_followed_only_inside(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    for (name, to) in [
        ("a", "b"),
        ("b", "uploads/c"),
        ("round", "about"),
        ("about", "round"),
        ("x", "y"),
        ("y", "z"),
    ] {
        yard.link(name, to);
    }
    yard.link("uploads/c", yard.outside("secret.txt"));
    yard.link("z", "note.txt");
    refuses(&workspace, "a");
    refuses(&workspace, "round");
    assert_eq!(text(&workspace, "x"), "inside\n");
}

fn write_through_a_dangling_link_creates_nothing_outside(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("file", yard.outside("new.txt"));
    yard.link("relative", "../outside/new.txt");
    yard.link("dir", yard.outside("new"));
    for path in ["file", "relative", "dir/f.txt", "dir/deeper/f.txt"] {
        refuses(&workspace, path);
    }
    assert!(workspace.write("new.txt", b"new").unwrap());
    assert_eq!(text(&workspace, "new.txt"), "new");
}

fn link_in_the_middle_of_a_path_is_refused(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("uploads/mid", yard.outside("deep"));
    yard.link("uploads/near", "../../outside/deep");
    for path in
        ["uploads/mid/hidden.txt", "uploads/mid/../secret.txt", "uploads/near/../secret.txt"]
    {
        refuses(&workspace, path);
    }
    workspace.write("uploads/real/f.txt", b"here").unwrap();
    assert_eq!(text(&workspace, "uploads/real/../real/f.txt"), "here");
}

/// The counterpart of the links that are refused.
fn link_that_stays_inside_is_followed(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("uploads/up", "../note.txt");
    assert_eq!(text(&workspace, "uploads/up"), "inside\n");
    workspace.write("uploads/up", b"changed").unwrap();
    assert_eq!(text(&workspace, "note.txt"), "changed");
}

/// Stops the swapping thread, also when an attempt panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `attempt` repeatedly while another thread runs `swap`, until both outcomes of `attempt`
/// have been seen many times.
fn race(swap: impl Fn() + Sync, mut attempt: impl FnMut() -> bool) {
    let stop = AtomicBool::new(false);
    let mut succeeded = 0;
    let mut failed = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap();
            }
        });
        let _stop = Stop(&stop);
        let deadline = Instant::now() + Duration::from_secs(4);
        while (succeeded < 500 || failed < 500) && Instant::now() < deadline {
            let count = if attempt() { &mut succeeded } else { &mut failed };
            *count += 1;
        }
    });
    assert!(succeeded > 0 && failed > 0, "{succeeded} succeeded, {failed} failed");
}

fn exchange(left: &Path, right: &Path) {
    renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).unwrap();
}

fn write_never_follows_a_directory_swapped_for_a_link(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    std::fs::create_dir(yard.inside("d")).unwrap();
    yard.link("other", yard.outside(""));
    let here = yard.inside("d");
    let there = yard.inside("other");
    race(|| exchange(&here, &there), || workspace.write("d/f.txt", b"mine").is_ok());
    assert!(
        ["d/f.txt", "other/f.txt"]
            .iter()
            .any(|path| workspace.read(path).is_ok_and(|bytes| bytes == b"mine"))
    );
}

fn read_never_follows_a_directory_swapped_for_a_link(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    workspace.write("d/secret.txt", b"mine").unwrap();
    yard.link("other", yard.outside(""));
    let here = yard.inside("d");
    let there = yard.inside("other");
    let attempt = || {
        let names = workspace.entries("d").map_or(1, |entries| entries.len());
        assert_eq!(names, 1, "the directory has one file; outside there are more");
        workspace.read("d/secret.txt").is_ok_and(|bytes| {
            assert_eq!(bytes, b"mine");
            true
        })
    };
    race(|| exchange(&here, &there), attempt);
}

fn write_never_follows_a_file_swapped_for_a_link(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    let file = yard.inside("f.txt");
    let secret = yard.outside("secret.txt");
    // If the write has created the file again in between, the link fails in this round.
    let swap = || {
        drop(std::fs::remove_file(&file));
        drop(symlink(&secret, &file));
    };
    race(swap, || workspace.write("f.txt", b"mine").is_ok());
    drop(std::fs::remove_file(&file));
    workspace.write("f.txt", b"mine").unwrap();
    assert_eq!(text(&workspace, "f.txt"), "mine");
}

fn link_at_the_temporary_path_is_not_written_through(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link(&format!(".note.txt.{}", std::process::id()), yard.outside("secret.txt"));
    yard.link(&format!(".new.txt.{}", std::process::id()), yard.outside("new.txt"));
    drop(workspace.write("note.txt", b"changed"));
    drop(workspace.write("new.txt", b"changed"));
    workspace.write("other.txt", b"other").unwrap();
    assert_eq!(text(&workspace, "other.txt"), "other");
}

fn nul_byte_does_not_truncate_a_path(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    refuses(&workspace, "note.txt\0.png");
    refuses(&workspace, &format!("{}\0/note.txt", yard.secret()));
    workspace.write("note.txt.png", b"other").unwrap();
    assert_eq!(text(&workspace, "note.txt"), "inside\n");
}

fn proc_files_of_the_host_cannot_be_accessed(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    yard.link("environ", "/proc/self/environ");
    yard.link("root", "/proc/self/root");
    yard.link("held", "/proc/self/fd");
    for path in
        ["/proc/self/environ", "/proc/self/cwd/Cargo.toml", "environ", "root/etc/passwd", "held/0"]
    {
        refuses(&workspace, path);
    }
    refuses(&workspace, &format!("/proc/self/root{}", yard.secret()));
    refuses(&workspace, &format!("root{}", yard.secret()));
    workspace.write("proc/self/environ", b"mine").unwrap();
    assert_eq!(text(&workspace, "proc/self/environ"), "mine");
}

fn very_long_path_does_not_lead_out(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    refuses(&workspace, &format!("{}etc/passwd", "../".repeat(2_000)));
    refuses(&workspace, &format!("{}{}outside/secret.txt", "a/".repeat(500), "../".repeat(501)));
    refuses(&workspace, &format!("{}f.txt", "a/".repeat(3_000)));
    refuses(&workspace, &"n".repeat(300));
    assert!(!yard.inside("a").exists());
    let deep = format!("{}f.txt", "b/".repeat(40));
    workspace.write(&deep, b"deep").unwrap();
    assert_eq!(text(&workspace, &deep), "deep");
}

fn reading_a_pipe_does_not_block(yard: &Yard) {
    let workspace = Arc::new(yard.workspace(&[]));
    pipe(&yard.inside("pipe"));
    yard.link("link", "pipe");
    let reader = Arc::clone(&workspace);
    assert_eq!(
        in_time(move || ["pipe", "link"].map(|path| reader.read(path).is_err())),
        Some([true, true])
    );
    assert_eq!(text(&workspace, "note.txt"), "inside\n");
}

fn writing_through_a_link_to_a_pipe_does_not_block(yard: &Yard) {
    let workspace = Arc::new(yard.workspace(&[]));
    pipe(&yard.inside("pipe"));
    yard.link("link", "pipe");
    workspace.write("note.txt", b"changed").unwrap();
    let writer = Arc::clone(&workspace);
    assert!(in_time(move || drop(writer.write("link", b"changed"))).is_some(), "the write hangs");
    assert_eq!(text(&workspace, "note.txt"), "changed");
}

fn read_only_grant_cannot_be_changed(yard: &Yard) {
    let workspace = yard.workspace(&[yard.grant("granted", ":ro")]);
    let existing = yard.granted("g.txt").display().to_string();
    let new = yard.granted("new/f.txt").display().to_string();
    refused(&existing, workspace.write(&existing, b"changed"));
    refused(&new, workspace.write(&new, b"changed"));
    assert_eq!(text(&workspace, &existing), "granted\n");
    assert_eq!(workspace.entries(&yard.granted("").display().to_string()).unwrap().len(), 1);
    let writable = yard.workspace(&[yard.grant("granted", "")]);
    writable.write(&existing, b"changed").unwrap();
    assert_eq!(text(&writable, &existing), "changed");
}

fn paths_and_links_do_not_lead_out_of_a_grant(yard: &Yard) {
    let workspace = yard.workspace(&[yard.grant("granted", "")]);
    symlink(yard.outside("secret.txt"), yard.granted("file")).unwrap();
    symlink("../outside", yard.granted("dir")).unwrap();
    for path in [
        "../outside/secret.txt",
        "../ws/../outside/secret.txt",
        "file",
        "dir/secret.txt",
        "dir/new.txt",
    ] {
        refuses(&workspace, &yard.granted(path).display().to_string());
    }
    let new = yard.granted("new.txt").display().to_string();
    workspace.write(&new, b"new").unwrap();
    assert_eq!(text(&workspace, &new), "new");
}

fn directory_with_a_grants_name_as_prefix_is_outside(yard: &Yard) {
    let workspace = yard.workspace(&[yard.grant("granted", "")]);
    let granted = yard.granted("").display().to_string();
    let granted = granted.trim_end_matches('/');
    refuses(&workspace, &format!("{granted}-evil/e.txt"));
    refuses(&workspace, &format!("{granted}-evil/new.txt"));
    refuses(&workspace, &format!("{granted}/../granted-evil/e.txt"));
    assert_eq!(text(&workspace, &format!("{granted}/g.txt")), "granted\n");
}

/// Rejecting such a grant is correct too.
fn read_only_grant_inside_the_workspace_stays_read_only(yard: &Yard) {
    yard.workspace(&[]).write("sealed/f.txt", b"sealed").unwrap();
    yard.link("link", "sealed");
    if let Ok(workspace) = Workspace::open(&yard.ws(), "s", &[yard.grant("ws/sealed", ":ro")]) {
        let absolute = yard.inside("sealed/f.txt").display().to_string();
        for path in [
            absolute.as_str(),
            "sealed/f.txt",
            "./sealed/f.txt",
            "uploads/../sealed/f.txt",
            "link/f.txt",
        ] {
            refused(path, workspace.write(path, b"changed"));
        }
        workspace.write("note.txt", b"changed").unwrap();
    }
    assert_eq!(text(&yard.workspace(&[]), "sealed/f.txt"), "sealed");
}

/// Rejecting such grants is correct too.
fn read_only_grant_inside_another_grant_stays_read_only(yard: &Yard) {
    std::fs::create_dir_all(yard.granted("sealed")).unwrap();
    std::fs::create_dir_all(yard.granted("open")).unwrap();
    std::fs::write(yard.granted("sealed/f.txt"), "sealed").unwrap();
    symlink("sealed", yard.granted("link")).unwrap();
    let grants = [yard.grant("granted", ""), yard.grant("granted/sealed", ":ro")];
    if let Ok(workspace) = Workspace::open(&yard.ws(), "s", &grants) {
        for path in ["sealed/f.txt", "./sealed/f.txt", "open/../sealed/f.txt", "link/f.txt"] {
            let path = yard.granted(path).display().to_string();
            refused(&path, workspace.write(&path, b"changed"));
        }
        workspace.write(&yard.granted("open/f.txt").display().to_string(), b"changed").unwrap();
    }
    assert_eq!(std::fs::read_to_string(yard.granted("sealed/f.txt")).unwrap(), "sealed");
}

fn workspace_file_cannot_be_overwritten(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    let root = yard.ws().display().to_string();
    let before = text(&workspace, "workspace.json");
    yard.link("link", "workspace.json");
    let paths = [
        "workspace.json",
        "workspace.json/",
        "./workspace.json",
        "uploads/../workspace.json",
        "link",
    ];
    let absolute = [format!("{root}/workspace.json"), format!("{root}/uploads/../workspace.json")];
    for path in paths.into_iter().chain(absolute.iter().map(String::as_str)) {
        refused(path, workspace.write(path, b"{}"));
    }
    assert_eq!(text(&workspace, "workspace.json"), before);
    workspace.write("outputs/workspace.json", b"{}").unwrap();
}

/// A command can replace the file with a link before the session is resumed.
fn workspace_file_as_dangling_link_creates_nothing_outside(yard: &Yard) {
    yard.link("workspace.json", yard.outside("new.json"));
    drop(Workspace::open(&yard.ws(), "s", &[]));
    yard.check();
    Workspace::open(&yard.spare("fresh"), "s", &[]).unwrap();
    assert!(yard.spare("fresh/workspace.json").is_file());
}

fn workspace_file_as_link_overwrites_nothing_outside(yard: &Yard) {
    yard.link("workspace.json", yard.outside("keys.bin"));
    drop(Workspace::open(&yard.ws(), "s", &[]));
    yard.check();
    drop(std::fs::remove_file(yard.inside("workspace.json")));
    assert_eq!(text(&yard.workspace(&[]), "note.txt"), "inside\n");
}

fn workspace_file_as_pipe_does_not_block(yard: &Yard) {
    pipe(&yard.inside("workspace.json"));
    let path = yard.ws();
    assert!(
        in_time(move || drop(Workspace::open(&path, "s", &[]))).is_some(),
        "opening the workspace hangs"
    );
    Workspace::open(&yard.spare("fresh"), "s", &[]).unwrap();
}

fn write_to_a_hard_link_leaves_the_file_outside_unchanged(yard: &Yard) {
    let workspace = yard.workspace(&[]);
    // Some systems do not allow this hard link.
    if std::fs::hard_link(yard.outside("secret.txt"), yard.inside("hard.txt")).is_ok() {
        workspace.write("hard.txt", b"changed").unwrap();
        assert_eq!(text(&workspace, "hard.txt"), "changed");
    }
    workspace.write("note.txt", b"changed").unwrap();
    assert_eq!(text(&workspace, "note.txt"), "changed");
}
