//! The files of the memory survive: a process is killed again and again while it writes them, a
//! second one writes at the same time, and a person changes a line in an editor. The writers are
//! this program, started again with a task in its environment.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests panic to fail; clippy exempts only `#[test]` functions, and these are not"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use waterline_memory::{Memory, Section};

/// The environment variable that makes this program a writer: `DIRECTORY NAME`.
const TASK: &str = "WATERLINE_TEST_MEMORY";

/// How often a writer is killed.
const KILLS: usize = 40;

/// How many facts the other writer adds at least.
const FACTS: usize = 40;

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        let (directory, name) = task.split_once(' ').unwrap();
        return write(Path::new(directory), name);
    }
    let arguments = Arguments::from_args();
    let trial = Trial::test("killed_writers_and_an_editor_lose_nothing", || {
        killed_writers_and_an_editor_lose_nothing();
        Ok(())
    });
    libtest_mimic::run(&arguments, vec![trial]).exit();
}

/// Writes facts and days until it is killed, and prints each one after it is written.
fn write(directory: &Path, name: &str) {
    let memory = Memory::new(directory);
    let mut out = std::io::stdout();
    for number in 0.. {
        let fact = fact(name, number);
        memory.remember(&fact, None).unwrap();
        writeln!(out, "{fact}").unwrap();
        memory.keep(Section::Trimmed, &format!("- the day of {fact}"), None).unwrap();
        writeln!(out, "- the day of {fact}").unwrap();
        out.flush().unwrap();
    }
}

/// Returns a fact that shares no word with any other.
fn fact(name: &str, number: usize) -> String {
    ["sees", "hears", "says"].map(|word| format!("{word}{name}x{number}")).join(" ")
}

/// What a writer reported as written.
#[derive(Clone, Default)]
struct Written {
    lines: Arc<Mutex<Vec<String>>>,
    count: Arc<AtomicUsize>,
}

impl Written {
    /// Starts a writer whose lines are added here.
    fn by_process(&self, directory: &Path, name: &str) -> (Child, std::thread::JoinHandle<()>) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(TASK, format!("{} {name}", directory.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let written = self.clone();
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            // The kill may cut the last line short.
            while out.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
                written.lines.lock().unwrap().push(line.trim_end().to_owned());
                written.count.fetch_add(1, Ordering::SeqCst);
                line.clear();
            }
        });
        (child, reader)
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

fn killed_writers_and_an_editor_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("MEMORY.md");
    std::fs::write(&file, mine(0)).unwrap();
    let (written, steady) = (Written::default(), Written::default());
    let day = new_day(directory.path());
    let (mut second, second_reader) = steady.by_process(directory.path(), "second");
    let done = Arc::new(AtomicBool::new(false));
    let [editor, day_editor] = [file, day].map(|file| {
        let done = Arc::clone(&done);
        std::thread::spawn(move || edit(&file, &done))
    });
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for kill in 0..KILLS {
        let before = written.count();
        let (mut child, reader) = written.by_process(directory.path(), &format!("first{kill}"));
        // Three in four are killed while they write, the others while they start.
        while kill % 4 > 0 && written.count() == before {
            std::thread::yield_now();
        }
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 50));
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
    }
    while steady.count() < 2 * FACTS {
        std::thread::yield_now();
    }
    done.store(true, Ordering::SeqCst);
    let saved = editor.join().unwrap();
    let saved_days = day_editor.join().unwrap();
    second.kill().unwrap();
    second.wait().unwrap();
    second_reader.join().unwrap();
    assert!(saved > 3 && saved_days > 3, "the person saved {saved} and {saved_days} times");
    check(directory.path(), &[written, steady], saved);
}

/// Creates the file of today with a line of the person.
fn new_day(directory: &Path) -> PathBuf {
    let today = jiff::Zoned::now().date();
    let file = directory.join(format!("memory/{today}.md"));
    std::fs::create_dir(directory.join("memory")).unwrap();
    std::fs::write(&file, format!("# Daily Memory: {today}\n\n- counter0 is mine\n")).unwrap();
    file
}

/// Returns what the person writes: a text of their own and a line that they change.
fn mine(number: usize) -> String {
    format!("# About me\n\nI live in Kiel.\n\n- counter{number} is mine\n")
}

fn counter(text: &str) -> usize {
    let line = text.lines().find(|line| line.starts_with("- counter"));
    let line = line.unwrap_or_else(|| panic!("the line of the person is gone:\n{text}"));
    line.trim_start_matches("- counter").split(' ').next().unwrap().parse().unwrap()
}

/// Changes the person's line again and again, as an editor does: it opens the file, and saves it
/// later with one change. Every other time it replaces the file, otherwise it writes into it.
/// Returns how often it saved.
fn edit(file: &Path, done: &AtomicBool) -> usize {
    let mut saved = 0;
    let wait = |known: &str, saved: usize| {
        let is_newer = |text: &str| text != known && !text.is_empty() && counter(text) == saved;
        while !is_newer(&std::fs::read_to_string(file).unwrap()) {
            std::thread::yield_now();
        }
    };
    while !done.load(Ordering::SeqCst) {
        let opened = std::fs::read_to_string(file).unwrap();
        assert_eq!(counter(&opened), saved, "what the person saved last");
        // The program writes while the file is open in the editor.
        wait(&opened, saved);
        let changed =
            opened.replace(&format!("- counter{saved} "), &format!("- counter{} ", saved + 1));
        saved += 1;
        if saved % 2 == 0 {
            let new = file.with_extension("editor");
            std::fs::write(&new, &changed).unwrap();
            std::fs::rename(&new, file).unwrap();
        } else {
            std::fs::write(file, &changed).unwrap();
        }
        // A person takes longer than the program, which restores what the editor dropped.
        wait(&changed, saved);
    }
    saved
}

fn check(directory: &Path, writers: &[Written], saved: usize) {
    let memory = Memory::new(directory);
    let notes: Vec<String> =
        memory.notes().list().unwrap().into_iter().map(|note| note.line.text).collect();
    let text = std::fs::read_to_string(memory.notes().path()).unwrap();
    assert!(text.starts_with("# About me\n\nI live in Kiel.\n"), "{text}");
    assert_eq!(counter(&text), saved);
    // Completes what the last process left half done.
    memory.newest(1).unwrap();
    let files = day_files(directory);
    let days: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    assert_eq!(days.matches("# Daily Memory").count(), files.len(), "{days}");
    for line in writers.iter().flat_map(|writer| writer.lines.lock().unwrap().clone()) {
        let count = match line.starts_with("- ") {
            true => days.lines().filter(|known| **known == line).count(),
            false => notes.iter().filter(|known| **known == line).count(),
        };
        assert_eq!(count, 1, "{line}\n{text}\n{days}");
    }
    let parses = |line: &str| {
        line.is_empty()
            || line.starts_with("# Daily")
            || line.starts_with("## Trimmed")
            || line.starts_with("- counter")
            || line.split('x').count() == 4
    };
    assert!(days.lines().all(parses), "{days}");
    let left: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!left.iter().any(|path| path.display().to_string().contains("swap")), "{left:?}");
}

/// Returns the files of the days; there are two if the test runs at midnight.
fn day_files(directory: &Path) -> Vec<PathBuf> {
    let days = std::fs::read_dir(directory.join("memory")).unwrap();
    let mut files: Vec<PathBuf> = days.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files
}
