//! The screens of the chat in the README and the guide are real.

use crate::pty::Terminal;
use crate::screens::{Block, assert_shown, blocks, language};
use crate::world::World;

const PAGES: [&str; 4] = ["README.md", "README.zh.md", "docs/guide.md", "docs/guide.zh.md"];

/// The screens of the documentation have this width.
const COLUMNS: u16 = 100;

/// Returns the blocks whose first prompt has this text.
fn blocks_with(typed: &str, wanted: &str) -> Vec<Block> {
    let prompt = format!("› {typed}");
    let of_language = PAGES.into_iter().filter(|page| language(page) == wanted);
    let blocks: Vec<Block> = of_language
        .flat_map(blocks)
        .filter(|block| {
            block
                .lines
                .iter()
                .find(|line| line.contains('›'))
                .is_some_and(|line| line.ends_with(&prompt))
        })
        .collect();
    assert!(!blocks.is_empty(), "no page shows {typed} ({wanted})");
    blocks
}

/// Starts a chat without any configuration, as a new user does.
fn start(world: &World, language: &str, more: &[&str]) -> Terminal {
    let arguments = [&["chat", "--lang", language], more].concat();
    Terminal::new(world, world.home.path(), COLUMNS, &arguments)
}

fn compare(typed: &str, language: &str, terminal: &mut Terminal) {
    terminal.is_ready();
    let screen = terminal.screen();
    for block in blocks_with(typed, language) {
        let lines: Vec<String> =
            block.lines.into_iter().filter(|line| !line.starts_with("$ ")).collect();
        assert_shown(block.page, &lines, &screen);
    }
}

#[test]
fn the_first_screens_of_the_documentation_are_real() {
    for (language, list) in [("en", "list files"), ("zh", "列出文件")] {
        let world = World::new(Vec::new());
        let mut terminal = start(&world, language, &[]);
        terminal.play(&format!("> {list}\n< list_files"));
        compare(list, language, &mut terminal);
    }
    let world = World::new(Vec::new());
    let mut terminal = start(&world, "en", &[]);
    terminal.play("> The door code of the mill is 4711");
    compare("The door code of the mill is 4711", "en", &mut terminal);
}

#[test]
fn the_folds_of_the_documentation_are_real() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/long-session.jsonl");
    for language in ["en", "zh"] {
        let world = World::new(Vec::new());
        let (code, _, error) = world.plain(&["sessions", "import", example]);
        assert_eq!(code, 0, "{error}");
        let mut terminal = start(&world, language, &["--session", "long-session"]);
        terminal.play(
            "> /context
             > /compact
             < [y/n]
             ! y
             < 10k
             > /context why 11
             > /context undo",
        );
        compare("/context", language, &mut terminal);
        for block in blocks_with("/compact", language) {
            assert_shown(block.page, &block.lines, &terminal.screen());
        }
    }
}
