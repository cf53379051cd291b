//! How hard a test tries: the everyday run is quick, the long run is thorough. Both run the same
//! code on the same kind of input.

/// Set by `scripts/long-tests`.
const LONG: &str = "WATERLINE_LONG_TESTS";

/// The first number in an everyday run, the second one in a long run.
#[must_use]
pub fn effort<T>(everyday: T, long: T) -> T {
    if std::env::var_os(LONG).is_some() { long } else { everyday }
}
