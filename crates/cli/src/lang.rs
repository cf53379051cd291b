//! The language of what is shown: English or Chinese, from `--lang`, the config, or the locale.

use std::sync::OnceLock;

use waterline_config::Lang;

use crate::environment::environment;

static CHOSEN: OnceLock<Lang> = OnceLock::new();

/// Chooses the language, once: what a flag says, else the config with its variable, else the locale.
pub fn choose(flag: Option<Lang>, config: Option<Lang>) {
    // A second choice changes nothing.
    let _ = CHOSEN.set(flag.or(config).unwrap_or_else(of_locale));
}

fn of_locale() -> Lang {
    environment().locale().map(|(lang, _)| lang).unwrap_or_default()
}

/// The language that was chosen.
pub fn lang() -> Lang {
    *CHOSEN.get_or_init(of_locale)
}

/// One of two texts: the English one or the Chinese one.
pub fn say<T>(en: T, zh: T) -> T {
    match lang() {
        Lang::En => en,
        Lang::Zh => zh,
    }
}
