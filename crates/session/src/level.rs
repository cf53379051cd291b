//! How full the window is, in a word.

use std::fmt;

/// How full the window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// There is room.
    #[default]
    Normal,
    /// More than half is used.
    Info,
    /// A fold is near.
    Warning,
    /// The next message may not fit.
    Critical,
}

impl Level {
    /// From 60, 80 and 95 percent of the window on.
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
    fn levels_begin_at_60_80_and_95_percent() {
        let levels: Vec<String> = [0, 59, 60, 79, 80, 94, 95, 120]
            .map(|tokens| Level::of(tokens, 100).to_string())
            .to_vec();
        assert_eq!(
            levels,
            ["normal", "normal", "info", "info", "warning", "warning", "critical", "critical"]
        );
    }
}
