//! Scales the effort of a test: the default run is quick, the long run is thorough. Both run the
//! same code on the same kind of input.

/// The variable that `scripts/long-tests` sets.
const LONG_TESTS: &str = "WATERLINE_LONG_TESTS";

/// Returns the first value in a default run and the second in a long run.
#[must_use]
pub fn effort<T>(default: T, long: T) -> T {
    if std::env::var_os(LONG_TESTS).is_some() { long } else { default }
}
