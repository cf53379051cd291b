//! The help texts in Chinese. The English ones are the doc comments of the arguments.
//!
//! The id of a text is made from the command path and the argument: `help-sessions-search` and
//! `help-sessions-search--limit`. An argument without a text for its command has one that commands
//! share, `help--model`. `-long` marks a text that only `--help` shows.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};
use fluent_bundle::FluentArgs;
use waterline_config::Lang;

use crate::lang::{self, list_in};

/// The headings of a manual page, and the ids of their Chinese texts.
const MANUAL: [(&str, &str); 6] = [
    ("NAME", "help-heading-name"),
    ("SYNOPSIS", "help-heading-synopsis"),
    ("DESCRIPTION", "help-heading-description"),
    ("OPTIONS", "help-heading-options"),
    ("SUBCOMMANDS", "help-heading-subcommands"),
    ("VERSION", "help-heading-version-number"),
];

/// Returns the command with help texts in the chosen language.
pub fn translated(command: Command) -> Command {
    match lang::lang() {
        Lang::En => command,
        Lang::Zh => in_chinese(command),
    }
}

/// Returns the command with texts in the chosen language, for manual pages: they make the synopsis
/// themselves, and have no page for the subcommand `help`.
pub fn for_manual(command: Command) -> Command {
    let command = command.disable_help_subcommand(true);
    match lang::lang() {
        Lang::En => command,
        Lang::Zh => translate(command, "help", chinese("help-heading-commands").leak()),
    }
}

/// Returns a manual page with headings in the chosen language.
pub fn manual_page(page: String) -> String {
    match lang::lang() {
        Lang::En => page,
        Lang::Zh => MANUAL.iter().fold(page, |page, (english, id)| {
            page.replace(&format!(".SH {english}\n"), &format!(".SH {}\n", chinese(id)))
        }),
    }
}

fn in_chinese(command: Command) -> Command {
    let mut command = translate(command, "help", chinese("help-heading-commands").leak());
    // clap adds the subcommand `help` when it builds the command.
    command.build();
    describe_help(command, &chinese("help-heading-help-command"))
}

fn describe_help(command: Command, about: &str) -> Command {
    let is_help = command.get_name() == "help";
    let mut command = if is_help { command.about(about.to_owned()) } else { command };
    // clap has no setting for this part of a usage line.
    let english = command.render_usage().to_string();
    let usage = english.strip_prefix("Usage: ").unwrap_or(&english);
    let translated_usage = usage.replace("[OPTIONS]", &chinese("help-heading-any-option"));
    command.override_usage(translated_usage).mut_subcommands(|below| describe_help(below, about))
}

/// Returns the layout of a command's help. clap ends its own headings with an ASCII colon.
fn template(command: &Command) -> String {
    let [usage, header] = [command.get_styles().get_usage(), command.get_styles().get_header()];
    let heading = chinese("help-heading-usage");
    let mut template = format!("{{about-with-newline}}\n{usage}{heading}{usage:#}{{usage}}");
    let has_positionals = command.get_positionals().any(|argument| !argument.is_hide_set());
    let sections = [
        (command.has_subcommands(), "help-heading-commands", "subcommands"),
        (has_positionals, "help-heading-arguments", "positionals"),
        (true, "help-heading-options", "options"),
    ];
    for (_, id, tag) in sections.into_iter().filter(|(has, ..)| *has) {
        // Writing to a string cannot fail.
        let _ = write!(template, "\n\n{header}{}：{header:#}\n{{{tag}}}", chinese(id));
    }
    template + "{after-help}"
}

/// Translates a command and its subcommands. `commands` stands for a subcommand in a usage line,
/// which clap keeps as a static string.
fn translate(command: Command, id: &str, commands: &'static str) -> Command {
    let template = template(&command);
    let mut command = command
        .help_template(template)
        .subcommand_value_name(commands)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(|argument| translate_argument(argument, id));
    if let Some(about) = find(id) {
        if let Some(long) = find(&format!("{id}-long")) {
            command = command.long_about(format!("{about}\n\n{long}"));
        }
        command = command.about(about);
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    command
        .arg(help.help(chinese("help-heading-help")))
        .arg(version.help(chinese("help-heading-version")))
        .mut_subcommands(|below| {
            let id = format!("{id}-{}", below.get_name());
            translate(below, &id, commands)
        })
}

fn translate_argument(argument: Arg, command: &str) -> Arg {
    let [own, shared] = argument_ids(&argument, command);
    let Some(mut help) = find(&own).or_else(|| find(&shared)) else { return argument };
    if argument.get_action().takes_values() {
        let possible = argument.get_possible_values();
        let values: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
        if !values.is_empty() {
            help += &with("help-heading-values", "values", list_in(Lang::Zh, &values));
        }
        let raw_defaults = argument.get_default_values().iter();
        let defaults: Vec<_> = raw_defaults.map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            help += &with("help-heading-default", "value", list_in(Lang::Zh, &defaults));
        }
        if let Some(name) = argument.get_env() {
            help += &with("help-heading-env", "name", name.to_string_lossy().into_owned());
        }
    }
    let argument = argument.help(help);
    if argument.get_action().takes_values() {
        argument.hide_possible_values(true).hide_default_value(true).hide_env(true)
    } else {
        argument
    }
}

/// Returns the id of an argument's text in its command, and the id that commands share.
fn argument_ids(argument: &Arg, command: &str) -> [String; 2] {
    let name = argument.get_id().as_str().replace('_', "-");
    [format!("{command}--{name}"), format!("help--{name}")]
}

/// Returns the description of a preset, a stage, a key of a policy or a feature of the ledger. The
/// English one is the library's.
pub fn about(section: &str, name: &str, english: &str) -> String {
    match lang::lang() {
        Lang::En => english.to_owned(),
        Lang::Zh => find(&about_id(section, name)).unwrap_or_else(|| english.to_owned()),
    }
}

fn about_id(section: &str, name: &str) -> String {
    format!("help-about-{section}-{name}").replace('_', "-")
}

fn find(id: &str) -> Option<String> {
    lang::find_in(Lang::Zh, id, &FluentArgs::new())
}

/// Returns a text that is always there.
fn chinese(id: &str) -> String {
    find(id).unwrap_or_default()
}

fn with(id: &str, name: &str, value: String) -> String {
    let mut arguments = FluentArgs::new();
    arguments.set(name, value);
    lang::find_in(Lang::Zh, id, &arguments).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;
    use waterline::ledger::FEATURES;
    use waterline::policy::{FOLD_KEYS, PRESETS};
    use waterline::stage::STAGES;

    use super::*;
    use crate::Arguments;

    /// The ids that a command tree uses, and those it misses.
    #[derive(Default)]
    struct Walk {
        used: BTreeSet<String>,
        missing: Vec<String>,
    }

    impl Walk {
        fn visit(&mut self, command: &Command, id: &str) {
            self.need(&[id.to_owned()]);
            if command.get_long_about().is_some() {
                self.need(&[format!("{id}-long")]);
            }
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                self.need(&argument_ids(argument, id));
            }
            for below in command.get_subcommands() {
                self.visit(below, &format!("{id}-{}", below.get_name()));
            }
        }

        fn need(&mut self, ids: &[String]) {
            match ids.iter().find(|id| find(id).is_some()) {
                Some(id) => drop(self.used.insert(id.clone())),
                None => self.missing.extend(ids.first().cloned()),
            }
        }
    }

    #[test]
    fn every_command_and_argument_has_a_chinese_text_and_no_text_is_left_over() {
        let mut walk = Walk::default();
        walk.visit(&Arguments::command(), "help");
        assert!(walk.missing.is_empty(), "not in locales/zh/help.ftl: {:#?}", walk.missing);
        let texts = include_str!("../locales/zh/help.ftl").lines();
        let ids = texts.filter(|line| line.starts_with("help"));
        let ids = ids.filter_map(|line| line.split_once(" =").map(|(id, _)| id));
        let unused: Vec<&str> =
            ids.filter(|id| !id.starts_with("help-heading-") && !walk.used.contains(*id)).collect();
        assert!(unused.is_empty(), "no command uses {unused:#?}");
    }

    #[test]
    fn every_preset_stage_key_and_feature_has_a_chinese_text_and_no_text_is_left_over() {
        let presets = PRESETS.iter().map(|preset| about_id("policy", preset.name));
        let stages = STAGES.iter().map(|stage| about_id("stage", stage.name));
        let sections = STAGES.iter().map(|stage| (stage.name, stage.keys));
        let keys = sections
            .chain([("fold", FOLD_KEYS)])
            .flat_map(|(section, keys)| keys.iter().map(move |key| about_id(section, key.name)));
        let features = FEATURES.iter().map(|(name, _)| about_id("feature", name));
        let wanted: BTreeSet<String> = presets.chain(stages).chain(keys).chain(features).collect();
        let texts = include_str!("../locales/zh/policies.ftl").lines();
        let known: BTreeSet<String> = texts
            .filter_map(|line| Some(line.split_once(" =")?.0.to_owned()))
            .filter(|id| id.starts_with("help-"))
            .collect();
        assert_eq!(wanted, known);
    }

    #[test]
    fn help_is_printed_in_chinese() {
        in_chinese(Arguments::command()).debug_assert();
        let mut command = in_chinese(Arguments::command());
        let help = command.render_long_help().to_string();
        assert!(help.contains("用法：waterline") && help.contains("命令："), "{help}");
        command.build();
        let sessions = command.find_subcommand_mut("sessions").unwrap();
        let search = sessions.find_subcommand_mut("search").unwrap();
        let help = search.render_help().to_string();
        assert!(help.contains("参数：\n") && help.contains("选项：\n"), "{help}");
        assert!(help.contains("--limit") && !help.contains("选项:"), "{help}");
        assert!(help.contains("（默认：10）") && help.contains("search [选项] "), "{help}");
        let chat = command.find_subcommand_mut("chat").unwrap().render_help().to_string();
        assert!(chat.contains("（环境变量：WATERLINE_LOG）"), "{chat}");
        assert!(!chat.contains("[OPTIONS]") && !chat.contains("[env:"), "{chat}");
    }
}
