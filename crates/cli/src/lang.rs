//! The language of what a person reads: English or Chinese, from `--lang`, the config, or the
//! locale. The texts are in `locales/`, in Fluent's format; `text!` looks one up.

use std::ffi::OsString;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;
use waterline_config::Lang;

use crate::environment::environment;
use crate::number::number;

/// The catalogs, one file per part of the program. English help texts are the doc comments of the
/// arguments.
const ENGLISH: &[&str] = &[
    include_str!("../locales/en/chat.ftl"),
    include_str!("../locales/en/terminal.ftl"),
    include_str!("../locales/en/program.ftl"),
    include_str!("../locales/en/sessions.ftl"),
    include_str!("../locales/en/replay.ftl"),
    include_str!("../locales/en/bench.ftl"),
    include_str!("../locales/en/models.ftl"),
    include_str!("../locales/en/doctor.ftl"),
    include_str!("../locales/en/errors.ftl"),
    include_str!("../locales/en/reasons.ftl"),
    include_str!("../locales/en/phrases.ftl"),
    include_str!("../locales/en/foreign.ftl"),
];
const CHINESE: &[&str] = &[
    include_str!("../locales/zh/chat.ftl"),
    include_str!("../locales/zh/terminal.ftl"),
    include_str!("../locales/zh/program.ftl"),
    include_str!("../locales/zh/sessions.ftl"),
    include_str!("../locales/zh/replay.ftl"),
    include_str!("../locales/zh/bench.ftl"),
    include_str!("../locales/zh/models.ftl"),
    include_str!("../locales/zh/doctor.ftl"),
    include_str!("../locales/zh/errors.ftl"),
    include_str!("../locales/zh/reasons.ftl"),
    include_str!("../locales/zh/phrases.ftl"),
    include_str!("../locales/zh/foreign.ftl"),
    include_str!("../locales/zh/help.ftl"),
    include_str!("../locales/zh/policies.ftl"),
];

/// The texts of one file, parsed when one of them is first needed: all of them take a megabyte.
struct Catalog {
    source: &'static str,
    bundle: OnceLock<FluentBundle<FluentResource>>,
}

impl Catalog {
    /// Returns the parsed texts, if the file defines this id.
    fn defining(&self, lang: Lang, id: &str) -> Option<&FluentBundle<FluentResource>> {
        let is_start = |at: usize| at == 0 || self.source.as_bytes().get(at - 1) == Some(&b'\n');
        let has =
            |at: usize| self.source.get(at + id.len()..).is_some_and(|rest| rest.starts_with(" ="));
        let mut found = self.source.match_indices(id).map(|(at, _)| at);
        found
            .any(|at| is_start(at) && has(at))
            .then(|| self.bundle.get_or_init(|| load(self.source, lang)))
    }
}

static CHOSEN: OnceLock<Lang> = OnceLock::new();

/// Returns the text with this id in the chosen language: `text!("count-messages", count = 12)`.
///
/// A number selects a plural form and is printed with thousands separators; pass a string to print
/// it as it is.
#[macro_export]
macro_rules! text {
    ($id:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        #[allow(unused_mut, reason = "a text without variables sets none")]
        let mut arguments = fluent_bundle::FluentArgs::new();
        $(arguments.set(stringify!($name), $value);)*
        $crate::lang::format($id, &arguments)
    }};
}

/// Chooses the language, once. A flag wins over the config with its variable, and those win over
/// the locale.
pub fn choose(flag: Option<Lang>, config: Option<Lang>) {
    // A second choice changes nothing.
    let _ = CHOSEN.set(flag.or(config).unwrap_or_else(of_locale));
}

/// Returns the language that `--lang` names. Help is printed while the arguments are parsed, so the
/// language must be known before. An invalid name is left to the parser.
pub fn flag(arguments: impl IntoIterator<Item = OsString>) -> Option<Lang> {
    let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
    let name = arguments.find_map(|argument| {
        let argument = argument.into_string().ok()?;
        match argument.strip_prefix("--lang")? {
            "" => Some(None),
            value => Some(Some(value.strip_prefix('=')?.to_owned())),
        }
    })?;
    let name = name.or_else(|| arguments.next()?.into_string().ok());
    name?.parse().ok()
}

fn of_locale() -> Lang {
    environment().locale().map(|(lang, _)| lang).unwrap_or_default()
}

/// Returns the chosen language.
pub fn lang() -> Lang {
    *CHOSEN.get_or_init(of_locale)
}

/// Joins the items of a list, in the chosen language.
pub fn list<S: AsRef<str>>(items: &[S]) -> String {
    list_in(lang(), items)
}

/// Joins the items of a list that a library wrote in English.
pub fn relist(list: &str) -> String {
    relist_in(lang(), list)
}

/// Joins the items of a list that a library wrote in English, in one language.
pub fn relist_in(lang: Lang, list: &str) -> String {
    list_in(lang, &list.split(", ").collect::<Vec<_>>())
}

/// Joins the items of a list, in one language.
pub fn list_in<S: AsRef<str>>(lang: Lang, items: &[S]) -> String {
    let separator = match lang {
        Lang::En => ", ",
        Lang::Zh => "\u{3001}",
    };
    items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(separator)
}

/// Formats the text with this id; `text!` calls it. A test checks that every id exists in both
/// languages, so the fallbacks are never seen.
pub fn format(id: &str, arguments: &FluentArgs<'_>) -> String {
    find(id, arguments).unwrap_or_else(|| id.to_owned())
}

/// Formats the text with this id, if there is one. For ids that are made from names.
pub fn find(id: &str, arguments: &FluentArgs<'_>) -> Option<String> {
    find_in(lang(), id, arguments)
}

/// Formats the text with this id in one language, if there is one.
pub fn find_in(lang: Lang, id: &str, arguments: &FluentArgs<'_>) -> Option<String> {
    let bundle = catalogs(lang).iter().find_map(|catalog| catalog.defining(lang, id))?;
    let pattern = bundle.get_message(id)?.value()?;
    Some(bundle.format_pattern(pattern, Some(arguments), &mut Vec::new()).into_owned())
}

fn catalogs(lang: Lang) -> &'static [Catalog] {
    static EN: OnceLock<Vec<Catalog>> = OnceLock::new();
    static ZH: OnceLock<Vec<Catalog>> = OnceLock::new();
    let unparsed = |files: &[&'static str]| {
        files.iter().map(|source| Catalog { source, bundle: OnceLock::new() }).collect()
    };
    match lang {
        Lang::En => EN.get_or_init(|| unparsed(ENGLISH)),
        Lang::Zh => ZH.get_or_init(|| unparsed(CHINESE)),
    }
}

fn load(file: &str, lang: Lang) -> FluentBundle<FluentResource> {
    let locale: LanguageIdentifier = lang.name().parse().unwrap_or_default();
    let mut bundle = FluentBundle::new_concurrent(vec![locale]);
    // Both languages are written from left to right, and terminals show the isolation marks as
    // boxes.
    bundle.set_use_isolating(false);
    bundle.set_formatter(Some(|value, _| match value {
        FluentValue::Number(count) if count.value >= 1000.0 => {
            count.as_string().parse().ok().map(number)
        }
        _ => None,
    }));
    let resource =
        FluentResource::try_new(file.to_owned()).unwrap_or_else(|(resource, _)| resource);
    bundle.add_resource_overriding(resource);
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_found_in_raw_arguments() {
        let flag = |line: &str| flag(line.split(' ').map(OsString::from));
        assert_eq!(flag("waterline --lang zh --help"), Some(Lang::Zh));
        assert_eq!(flag("waterline chat --lang=en"), Some(Lang::En));
        for line in ["waterline run hi", "waterline --lang", "waterline --lang de"] {
            assert_eq!(flag(line), None, "{line}");
        }
        assert_eq!(flag("waterline run -- --lang zh"), None);
    }

    #[test]
    fn every_catalog_parses() {
        for file in ENGLISH.iter().chain(CHINESE) {
            let errors = FluentResource::try_new((*file).to_owned()).err();
            assert!(errors.is_none(), "{:?}", errors.map(|(_, errors)| errors));
        }
    }

    #[test]
    fn numbers_choose_plurals_and_get_separators() {
        let shown = |count: u64| {
            let mut arguments = FluentArgs::new();
            arguments.set("count", count);
            find_in(Lang::En, "count-messages", &arguments).unwrap()
        };
        assert_eq!(shown(1), "1 message");
        assert_eq!(shown(1_200), "1,200 messages");
    }
}
