//! Errors in the arguments. The parser describes them in English; other languages have texts for
//! its usual ones.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fluent_bundle::FluentArgs;
use waterline_config::Lang;

use crate::lang;

/// Prints an error in the arguments, or the help that they ask for, and ends the program.
pub fn exit(error: &clap::Error) -> ! {
    match in_chinese(error).filter(|_| lang::lang() == Lang::Zh) {
        Some(text) => {
            anstream::eprintln!("{text}");
            std::process::exit(error.exit_code())
        }
        None => error.exit(),
    }
}

/// Returns an error in Chinese; `None` for help, versions and kinds without a text.
fn in_chinese(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::MissingRequiredArgument => "missing",
        ErrorKind::UnknownArgument => "unknown-argument",
        ErrorKind::InvalidSubcommand => "unknown-command",
        ErrorKind::MissingSubcommand => "missing-command",
        ErrorKind::InvalidValue => "value",
        ErrorKind::ValueValidation => "validation",
        ErrorKind::ArgumentConflict => "conflict",
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues => "count",
        _ => return None,
    };
    let of = |kind: ContextKind| error.get(kind).map(shown).unwrap_or_default();
    let argument = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => {
            of(ContextKind::InvalidSubcommand)
        }
        _ => of(ContextKind::InvalidArg),
    };
    let mut arguments = FluentArgs::new();
    arguments.set("kind", kind);
    arguments.set("argument", argument);
    arguments.set("value", of(ContextKind::InvalidValue));
    arguments.set("known", of(ContextKind::ValidValue));
    arguments.set("other", of(ContextKind::PriorArg));
    let cause = std::error::Error::source(error).map(ToString::to_string);
    arguments.set("cause", cause.unwrap_or_default());
    let what = lang::find_in(Lang::Zh, "help-heading-error", &arguments)?;
    let heading = lang::find_in(Lang::Zh, "help-heading-usage", &arguments)?;
    let usage = of(ContextKind::Usage).replace("Usage:", &heading);
    let more = lang::find_in(Lang::Zh, "help-heading-more", &arguments)?;
    let paragraphs = [what.as_str(), usage.trim_end(), more.as_str()];
    Some(paragraphs.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

fn shown(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(several) => several.join(", "),
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
            missing.contains("<FILE>") && missing.contains("用法: waterline plan"),
            "{missing}"
        );
        let unknown = parsed("waterline plan a b").unwrap();
        assert!(unknown.contains("“b”"), "{unknown}");
        assert!(parsed("waterline nothing").unwrap().contains("“nothing”"));
        let value = parsed("waterline plan a --from nothing").unwrap();
        assert!(value.contains("--from") && value.contains("nothing"), "{value}");
        assert_eq!(parsed("waterline --help"), None);
    }
}
