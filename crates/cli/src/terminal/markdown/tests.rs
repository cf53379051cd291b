//! Tests of streaming and of the rendered text.

use super::*;

const SIZE: Size = Size { columns: 80, rows: 24 };

/// Replaces style codes with readable tags.
fn readable(text: &str) -> String {
    [
        ("\x1b[0m", "</>"),
        ("\x1b[1m", "<b>"),
        ("\x1b[2m", "<dim>"),
        ("\x1b[3m", "<i>"),
        ("\x1b[9m", "<s>"),
        ("\x1b[36m", "<code>"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (code, tag)| text.replace(code, tag))
}

fn shown(text: &str) -> String {
    let mut markdown = Markdown::new(SIZE, true);
    readable(&(markdown.push(&format!("{text}\n")) + &markdown.finish()))
        .trim_end_matches('\n')
        .to_owned()
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(shown(text), *expected, "{text}");
    }
}

/// Returns the screen and the scrollback of a terminal with this many columns after the parts have
/// been pushed, with styles.
fn screen<'a>(columns: u16, parts: impl Iterator<Item = &'a str>) -> String {
    let mut terminal =
        vt100::Parser::new(24.try_into().unwrap(), columns.try_into().unwrap(), 1000);
    let mut markdown = Markdown::new(Size { columns: columns.into(), rows: 24 }, true);
    terminal.process(b"before\r\n");
    for part in parts {
        terminal.process(markdown.push(part).replace('\n', "\r\n").as_bytes());
    }
    terminal.process(markdown.finish().replace('\n', "\r\n").as_bytes());
    terminal.process(b"after");
    let above = terminal.screen().scrollback_len();
    let all = (0..=above).rev().fold(String::new(), |all, back| {
        terminal.screen_mut().set_scrollback(back);
        let rows = if back == 0 { 24 } else { 1 };
        all + &terminal
            .screen()
            .rows_formatted(0, columns)
            .take(rows)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    });
    // A line that was longer before its marks were removed may have scrolled the screen further.
    all.trim_end().to_owned()
}

#[track_caller]
fn check_streaming(text: &str) {
    for columns in [10, 13, 20, 80] {
        let whole = screen(columns, [text].into_iter());
        let single: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(screen(columns, single.iter().map(String::as_str)), whole, "{columns} columns");
        assert_eq!(screen(columns, text.split_inclusive(' ')), whole, "{columns} columns, words");
    }
}

#[test]
fn inline_elements_are_styled() {
    check(&[
        ("a **b** __c__ *d* _e_ ~~f~~", "a <b>b</> <b>c</> <i>d</> <i>e</> <s>f</>"),
        ("***both*** and **a *b* c**", "<b><i>both</> and <b>a </><b><i>b</><b> c</>"),
        ("中文**粗体。**中文", "中文<b>粗体。</>中文"),
        ("use `a*b*c` or `` a`b ``", "use <code>a*b*c</> or <code>a`b</>"),
        ("**see `x`**", "<b>see </><b><code>x</>"),
        (r"\*no\* \# 1\. \`no\` a\b", r"*no* # 1. `no` a\b"),
        ("[a *b*](http://c/d_(e)) f", "a <i>b</><dim> (http://c/d_(e))</> f"),
    ]);
}

#[test]
fn unmatched_marks_are_text() {
    for text in [
        "2 * 3 * 4, f(*args, **kwargs)",
        "snake_case_name and __dirname",
        "edit src/__init__.py, __init__.py, not __pycache__/ or _version_.py",
        "~/a ~b~ and ~~~~ and ****",
        "a ` b `` c",
        "a[1], [x](y, [ ] and [z]",
        "#hashtag, 1.5 and -1",
        "| a | b |",
        "[a]: b",
        "see [a] and [b][c]",
        "",
    ] {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn blocks_are_styled() {
    check(&[
        ("## A *b* ##", "<b>A </><b><i>b</>"),
        ("# C#", "<b>C#</>"),
        ("- a\n  * b\n+ [ ] **c**", "• a\n  • b\n• [ ] <b>c</>"),
        ("1. a\n12) *b*", "1. a\n12) <i>b</>"),
        ("> a\n>> **b**", "<dim>│ </>a\n<dim>│ │ </><b>b</>"),
        ("> - a", "<dim>│ </>• a"),
        ("* * *", &format!("<dim>{}</>", "─".repeat(40))),
    ]);
}

#[test]
fn lists_nest_and_keep_their_blank_lines() {
    check(&[
        ("1. a\n   - b\n     c\n\n2. d", "1. a\n   • b\n     c\n\n2. d"),
        ("- a\n    - b\n        - c", "• a\n  • b\n    • c"),
        ("- a\n\n  b\n\nc", "• a\n\n  b\n\nc"),
        ("> a\n>\n> b", "<dim>│ </>a\n<dim>│ </>\n<dim>│ </>b"),
        ("-\n- b", "• \n• b"),
    ]);
}

#[test]
fn emphasis_spans_lines_and_headings_may_be_underlined() {
    check(&[
        ("**a\nb** c", "<b>a</>\n<b>b</> c"),
        ("Title\n===\ntext", "<b>Title</>\ntext"),
        ("text\n- item", "text\n• item"),
        ("<http://a> ![tide](b.png)", "http://a tide<dim> (b.png)</>"),
    ]);
}

#[test]
fn code_blocks_have_no_other_styles() {
    check(&[
        ("```rust\n# *a*\n\n~~~\n```\n*b*", "<dim>  rust</>\n  # *a*\n\n  ~~~\n<i>b</>"),
        ("~~~~\n~~~\n~~~~~\n*b*", "  <code>~~~</>\n<i>b</>"),
        ("- ```\n  a\n  ```\n*b*", "• \n    <code>a</>\n<i>b</>"),
        ("> ```\n> *a*\n*b*", "<dim>│ </>\n<dim>│ </>  <code>*a*</>\n<i>b</>"),
        ("```a``` *b*", "<code>a</> <i>b</>"),
    ]);
}

#[test]
fn a_line_is_rewritten_only_if_its_styles_change() {
    let mut markdown = Markdown::new(Size { columns: 11, rows: 24 }, true);
    assert_eq!(markdown.push("plain"), "plain");
    assert_eq!(markdown.push(" text\n"), " text\n");
    assert_eq!(markdown.push("**one two thr"), "**one two\nthr");
    assert_eq!(
        readable(&markdown.push("ee**\n*a")),
        "\x1b[1A\r\x1b[J<b>one two</>\n<b>three</>\n*a"
    );
    assert_eq!(markdown.push(""), "");
    assert_eq!(markdown.finish(), "\n");
    assert_eq!(markdown.finish(), "");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let mut markdown = Markdown::new(SIZE, true);
    let text = "a\x1b[2Jb\x07\u{9b}\u{202e}\tc\r\n**d\x1b**";
    let written = markdown.push(text) + &markdown.finish();
    assert_eq!(readable(&written), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}    c\n<b>d\u{fffd}</>\n");
}

/// The parser decodes entities.
#[test]
fn encoded_control_characters_do_not_reach_the_terminal() {
    let shown = shown("a&#27;[2J&#x202e;b &amp; `&#27;` [c](d&#27;e)");
    assert_eq!(shown, "a\u{fffd}[2J\u{fffd}b & <code>&#27;</> c<dim> (d\u{fffd}e)</>");
}

#[test]
fn an_unfinished_underline_does_not_make_a_heading() {
    let mut markdown = Markdown::new(SIZE, true);
    assert_eq!(markdown.push("text\n-"), "text\n");
    assert_eq!(markdown.push(" item"), "• item");
}

#[test]
fn complete_blocks_are_not_rewritten() {
    let mut markdown = Markdown::new(Size { columns: 40, rows: 12 }, false);
    for text in
        ["para\n\n", "- a\n", "- b\n", "\n```\n", "code\n", "more\n", "```\n", "\nend **x**"]
    {
        let written = markdown.push(text);
        assert!(!written.contains('\x1b'), "{text:?}: {written:?}");
    }
    let mut long = Markdown::new(SIZE, false);
    long.push("```\n");
    for line in 0..10_000 {
        assert_eq!(long.push(&format!("line {line}\n")), format!("  line {line}\n"));
    }
}

#[test]
fn streaming_ends_with_the_same_screen() {
    check_streaming(&"long **lines** of `several` rows ".repeat(8));
    check_streaming(
        "**漢字かな交じり文**、`コード`です。a**漢字かな交じり文**\n\n- 한국어 *기울임*\n> e\u{301}**e\u{301}**",
    );
    check_streaming("```c\n/* one\n\ntwo */ int x;\n\n\n```\n\n~~~\na\n~~~\nend");
    check_streaming(
        "Intro:\n```rust\nfn main() { println!(\"*a*\"); }\n\n```\n# After\n---\n\n[a](b)",
    );
    check_streaming(
        "Title\n---\n\n1. one\n   - two **three\n     four**\n\n2. five\n\n> quote\n> - \
         item\n\nend",
    );
    check_streaming(
        "a\n| x | y |\n|---|---|\n| 漢 | b |\n\n- |c|d|\n  |-|-|\n  |e|f|\n\nend [l](m)",
    );
    // A line that is held back in part, on a screen that scrolls.
    check_streaming(&format!("a\n{}\nb *c*\n", "very **long** ".repeat(60)));
}

#[test]
fn full_rows_do_not_shift_lines() {
    for length in 1..=24 {
        check_streaming(&format!("a\n{}\n**b**", "*".repeat(3) + &"x".repeat(length) + "***"));
        check_streaming(&format!("a\n*{}*\nb\n{}\nc", "漢".repeat(length), "x".repeat(length)));
    }
}

#[test]
fn hostile_input_is_rendered_in_time() {
    for part in [
        "`",
        "` `` ",
        "*a ",
        "**a",
        "[",
        "[a](",
        "[a]((",
        "](",
        "> ",
        "- ",
        "_",
        "~~a",
        "\\",
        "# ",
        "a\n",
        "|a",
        "> a\n",
        "1. ",
        "<a",
        "&#27;",
        "![",
        "| a | b |\n|-|-|\n",
        "[a]: b\n",
    ] {
        let mut markdown = Markdown::new(SIZE, true);
        let text = part.repeat(100_000 / part.len());
        assert!(!(markdown.push(&text) + &markdown.finish()).is_empty());
    }
    let mut markdown = Markdown::new(SIZE, true);
    assert!(!(markdown.push(&"`".repeat(1_000_000)) + &markdown.finish()).is_empty());
    // The same as a stream, in one line and in one block.
    for part in ["word ", "**a", "word\n", "> a\n"] {
        let mut markdown = Markdown::new(SIZE, true);
        (0..10_000).for_each(|_| drop(markdown.push(part)));
        assert!(!markdown.finish().is_empty());
    }
}

#[test]
fn lines_are_wrapped_between_words_and_indented_below_their_item() {
    let mut markdown = Markdown::new(Size { columns: 20, rows: 24 }, false);
    let written = markdown.push("- the tide is **high** at noon\n> and low again at six\n");
    assert_eq!(written, "• the tide is high\n  at noon\n│ and low again at\n│ six\n");
}

#[test]
fn a_table_is_written_when_it_is_complete() {
    let mut markdown = Markdown::new(SIZE, false);
    assert_eq!(markdown.push("see:\n| a | b |\n|---|---|\n| c |"), "see:\n");
    assert!(markdown.holds_back());
    assert_eq!(markdown.push(" dd |\n"), "");
    assert_eq!(markdown.push("\nand so"), "a │ b\n──┼───\nc │ dd\n\nand so");
    assert!(!markdown.holds_back());
    assert_eq!(markdown.push("\n| no table |"), "\n");
    assert_eq!(markdown.finish(), "| no table |\n");
}

#[test]
fn after_a_resize_the_unfinished_line_is_written_again() {
    let wide = Size { columns: 11, rows: 24 };
    let mut markdown = Markdown::new(wide, true);
    assert_eq!(markdown.resize(Size { columns: 30, rows: 24 }), "", "nothing is on the screen yet");
    assert_eq!(markdown.resize(wide), "");
    assert_eq!(markdown.push("above\n**one two thr"), "above\n**one two\nthr");
    assert_eq!(markdown.resize(Size { columns: 11, rows: 20 }), "", "its rows are where they were");
    assert_eq!(markdown.resize(Size { columns: 30, rows: 20 }), "\n**one two thr");
    assert_eq!(markdown.column(), 13);
    assert_eq!(readable(&markdown.push("ee**\n")), "\r\x1b[J<b>one two three</>\n");
    assert_eq!(markdown.resize(wide), "", "there is no unfinished line");
    assert_eq!(markdown.push("end"), "end");
}

#[test]
fn a_lower_terminal_rewrites_only_rows_that_it_shows() {
    let mut markdown = Markdown::new(Size { columns: 11, rows: 24 }, false);
    markdown.push("one two three four five six seven");
    let low = Size { columns: 11, rows: 8 };
    assert_eq!(markdown.resize(low), "\none two\nthree four");
    assert_eq!(markdown.resize(low), "");
    assert_eq!(markdown.finish(), "\nfive six\nseven\n");
}
