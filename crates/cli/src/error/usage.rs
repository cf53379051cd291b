//! Errors in the arguments. The parser describes them in English; other languages have texts for
//! its usual ones.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fluent_bundle::FluentArgs;
use waterline_config::Lang;

use crate::foreign;
use crate::lang::{self, list_in};

/// Prints an error in the arguments, or the help that they ask for, and ends the program.
pub fn exit(error: &clap::Error) -> ! {
    let shown = match lang::lang() {
        Lang::Zh => in_chinese(error),
        Lang::En => with_known_cause(error),
    };
    match shown {
        Some(text) => {
            anstream::eprintln!("{text}");
            std::process::exit(error.exit_code())
        }
        None => error.exit(),
    }
}

/// Returns an error with the text for its cause, if another library describes that in terms of its
/// code.
fn with_known_cause(error: &clap::Error) -> Option<String> {
    let cause = std::error::Error::source(error)?.to_string();
    let known = foreign::find(&cause)?;
    Some(error.render().ansi().to_string().trim_end().replace(&cause, &known))
}

/// Returns an error in Chinese; `None` for help, versions and kinds without a text.
fn in_chinese(error: &clap::Error) -> Option<String> {
    let of = |kind: ContextKind| error.get(kind).map(shown).unwrap_or_default();
    let value = of(ContextKind::InvalidValue);
    let cause = std::error::Error::source(error).map(super::describe_error).unwrap_or_default();
    let kind = match error.kind() {
        ErrorKind::MissingRequiredArgument => "missing",
        ErrorKind::UnknownArgument => "unknown-argument",
        ErrorKind::InvalidSubcommand => "unknown-command",
        ErrorKind::MissingSubcommand => "missing-command",
        ErrorKind::InvalidValue if has_no_value(error) => "no-value",
        ErrorKind::InvalidValue => "value",
        // The cause is a sentence about the value.
        ErrorKind::ValueValidation if cause.contains(&format!("“{value}”")) => "sentence",
        ErrorKind::ValueValidation => "validation",
        ErrorKind::ArgumentConflict if is_repeated(error) => "repeated",
        ErrorKind::ArgumentConflict => "conflict",
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues => "count",
        _ => return None,
    };
    let argument = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => {
            of(ContextKind::InvalidSubcommand)
        }
        _ => of(ContextKind::InvalidArg),
    };
    let mut arguments = FluentArgs::new();
    arguments.set("kind", kind);
    arguments.set("argument", argument);
    arguments.set("value", value);
    arguments.set("known", of(ContextKind::ValidValue));
    arguments.set("other", of(ContextKind::PriorArg));
    arguments.set("cause", cause);
    let mut what = lang::find_in(Lang::Zh, "help-heading-error", &arguments)?;
    let suggested =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    if let Some(suggestion) = suggested.into_iter().map(of).find(|text| !text.is_empty()) {
        arguments.set("suggestion", suggestion);
        what += &lang::find_in(Lang::Zh, "help-heading-suggestion", &arguments)?;
    }
    let heading = lang::find_in(Lang::Zh, "help-heading-usage", &arguments)?;
    let usage = of(ContextKind::Usage).replace("Usage: ", &heading);
    let more = lang::find_in(Lang::Zh, "help-heading-more", &arguments)?;
    let paragraphs = [what.as_str(), usage.trim_end(), more.as_str()];
    Some(paragraphs.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

/// Returns whether an argument was given twice: the parser reports a conflict with itself.
fn is_repeated(error: &clap::Error) -> bool {
    error.get(ContextKind::PriorArg) == error.get(ContextKind::InvalidArg)
}

/// Returns whether an argument that takes a value was given without one.
fn has_no_value(error: &clap::Error) -> bool {
    error.get(ContextKind::InvalidValue).is_none_or(|value| shown(value).is_empty())
}

fn shown(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(several) => list_in(Lang::Zh, several),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Arguments;

    #[test]
    fn errors_in_arguments_have_chinese_texts() {
        let parsed = |line: &str| {
            let error = Arguments::command().try_get_matches_from(line.split(' ')).unwrap_err();
            in_chinese(&error)
        };
        let missing = parsed("waterline plan").unwrap();
        assert!(
            missing.contains("<FILE>") && missing.contains("用法：waterline plan"),
            "{missing}"
        );
        let unknown = parsed("waterline plan a b").unwrap();
        assert!(unknown.contains("“b”"), "{unknown}");
        assert!(parsed("waterline nothing").unwrap().contains("“nothing”"));
        let value = parsed("waterline plan a --from nothing").unwrap();
        assert!(value.contains("--from") && value.contains("nothing"), "{value}");
        let similar =
            |line: &str| parsed(line).unwrap().split("相近的有：").nth(1).map(str::to_owned);
        assert!(similar("waterline plann").unwrap().contains("plan"));
        assert!(similar("waterline plan a --windw 8k").unwrap().starts_with("--window"));
        let twice = parsed("waterline plan a --window 4k --window 5k").unwrap();
        assert!(twice.contains("参数 --window <N> 只能指定一次"), "{twice}");
        assert_eq!(parsed("waterline --help"), None);
    }

    #[test]
    fn the_cause_of_an_error_is_in_plain_words() {
        let line = "waterline plan a --at x";
        let error = Arguments::command().try_get_matches_from(line.split(' ')).unwrap_err();
        let shown = with_known_cause(&error).unwrap();
        assert!(shown.contains("--at") && shown.contains("not a number"), "{shown}");
        assert!(!shown.contains("digit"), "{shown}");
    }
}
