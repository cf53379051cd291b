//! `/help`: lists the commands and the keys, wrapped to the width of the terminal.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{ALL, Next, Spec};
use crate::chat::Chat;
use crate::lang::list;
use crate::show::{pad, room, size, width, wrap};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["help"],
    takes: "[COMMAND]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// The width of the column with the names.
const LEFT: usize = 21;

/// Descriptions narrower than this are below the names instead.
const NARROW: usize = 30;

/// The indentation of a description below its name.
const BELOW: usize = 4;

/// Returns the keys, each with what it does.
fn keys() -> [(String, String); 6] {
    [
        ("Tab".to_owned(), text!("help-key-tab")),
        ("Alt-Enter".to_owned(), text!("help-key-alt-enter")),
        (list(&["↑", "Ctrl-R"]), text!("help-key-history")),
        ("Ctrl-O".to_owned(), text!("help-key-ctrl-o")),
        ("Ctrl-C".to_owned(), text!("help-key-ctrl-c")),
        ("Ctrl-D".to_owned(), text!("help-key-ctrl-d")),
    ]
}

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let name = rest.trim_start_matches('/');
    match super::find(name) {
        _ if name.is_empty() => all(chat),
        Some(spec) => print(chat, &spec.synopsis(), &spec.about()),
        None => chat.screen.print_line(&super::unknown(name)),
    }
    Ok(Next::Prompt)
}

fn all(chat: &Chat) {
    for spec in ALL {
        print(chat, &spec.synopsis(), &spec.about());
    }
    chat.screen.print_note(&text!("help-keys"));
    for (key, about) in keys() {
        print(chat, &key, &about);
    }
    wrap(&text!("help-mentions"), columns()).iter().for_each(|line| chat.screen.print_note(line));
}

fn print(chat: &Chat, name: &str, about: &str) {
    lines(name, about, columns()).iter().for_each(|line| chat.screen.print_line(line));
}

/// Returns the columns of a line, also in a terminal narrower than is usual.
fn columns() -> usize {
    size().map_or_else(|| room(1), |(columns, _)| columns.saturating_sub(1).min(room(1)))
}

/// Formats a name with its description to the right of it. A name that is too long for the column
/// is on a separate line.
fn lines(name: &str, about: &str, columns: usize) -> Vec<String> {
    let mut left = name;
    let mut lines = Vec::new();
    if columns < LEFT + NARROW {
        let below = wrap(about, columns.saturating_sub(BELOW).max(1));
        lines.extend(wrap(name, columns));
        lines.extend(below.iter().map(|line| format!("{}{line}", " ".repeat(BELOW))));
        return lines;
    }
    if width(name) + 1 >= LEFT {
        lines.push(name.to_owned());
        left = "";
    }
    for line in wrap(about, columns.saturating_sub(LEFT)) {
        lines.push(format!("{}{line}", pad(left, LEFT)));
        left = "";
    }
    lines
}

#[cfg(test)]
mod tests {
    use fluent_bundle::{FluentBundle, FluentResource};

    use super::*;

    /// Returns the names and the description of each command in one language.
    fn commands(catalog: &str) -> Vec<(String, String)> {
        let resource = FluentResource::try_new(catalog.to_owned()).unwrap();
        let mut bundle = FluentBundle::new(Vec::new());
        bundle.add_resource(resource).unwrap();
        let about = |spec: &Spec| {
            let message = bundle.get_message(&format!("command-{}", spec.name())).unwrap();
            let pattern = message.value().unwrap();
            bundle.format_pattern(pattern, None, &mut Vec::new()).into_owned()
        };
        ALL.iter().map(|spec| (spec.synopsis(), about(spec))).collect()
    }

    #[test]
    fn every_command_has_a_description_that_fits_into_eighty_columns() {
        let english = commands(include_str!("../../../locales/en/chat.ftl"));
        let chinese = commands(include_str!("../../../locales/zh/chat.ftl"));
        for (name, about) in english.into_iter().chain(chinese) {
            for line in lines(&name, &about, 79) {
                assert!(width(&line) <= 79, "{line}");
            }
        }
    }

    #[test]
    fn a_long_name_is_on_a_separate_line() {
        assert_eq!(lines("/undo [N]", "undo it", 79), ["/undo [N]            undo it"]);
        let long = lines("/skill, /skills [NAME | off]", "list them", 79);
        assert_eq!(long, ["/skill, /skills [NAME | off]", "                     list them"]);
        assert_eq!(lines("/undo [N]", "undo it", 40), ["/undo [N]", "    undo it"]);
    }
}
