//! Session ids as people see them: a generated id is shown by its first digits.

use waterline_log::is_generated_id;

/// Digits that are enough to find a session, and digits that lists show.
const SHORT: usize = 8;
const LONG: usize = 12;

/// Returns as much of an id as a user must type.
pub fn short(id: &str) -> String {
    prefix(id, SHORT)
}

/// Returns as much of an id as lists show.
pub fn long(id: &str) -> String {
    prefix(id, LONG)
}

/// A name that the user chose stays whole: it may be the prefix of another.
fn prefix(id: &str, digits: usize) -> String {
    if is_generated_id(id) { id.chars().take(digits).collect() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_ids_are_shortened() {
        assert_eq!(short("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba52");
        assert_eq!(long("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba524abf");
        assert_eq!(short("the mill on the river, in spring"), "the mill on the river, in spring");
    }
}
