//! The level of context usage.

use std::fmt;

/// How full the context window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Less than 60 percent is used.
    #[default]
    Normal,
    /// At least 60 percent is used.
    Info,
    /// At least 80 percent is used: a fold is near.
    Warning,
    /// At least 95 percent is used: the next message may not fit.
    Critical,
}

impl Level {
    /// Returns the level for a number of tokens in a window.
    #[must_use]
    pub const fn of(tokens: usize, window: usize) -> Self {
        match tokens.saturating_mul(100) {
            share if share >= window.saturating_mul(95) => Self::Critical,
            share if share >= window.saturating_mul(80) => Self::Warning,
            share if share >= window.saturating_mul(60) => Self::Info,
            _ => Self::Normal,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Normal => "normal",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_start_at_60_80_and_95_percent() {
        let levels: Vec<String> = [0, 59, 60, 79, 80, 94, 95, 120]
            .map(|tokens| Level::of(tokens, 100).to_string())
            .to_vec();
        assert_eq!(
            levels,
            ["normal", "normal", "info", "info", "warning", "warning", "critical", "critical"]
        );
    }
}
