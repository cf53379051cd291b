//! Ids of sessions as people see them: of those that the program makes, the beginning is enough.

use waterline_log::is_generated_id;

/// The beginning that is enough to find one, and one that nobody has to look at twice.
const SHORT: usize = 8;
const LONG: usize = 12;

/// As much of an id as somebody must type.
pub fn short(id: &str) -> String {
    beginning(id, SHORT)
}

/// As much of it as lists show.
pub fn long(id: &str) -> String {
    beginning(id, LONG)
}

/// A name that somebody chose stays whole: it may be the beginning of another.
fn beginning(id: &str, digits: usize) -> String {
    if is_generated_id(id) { id.chars().take(digits).collect() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_the_program_are_cut() {
        assert_eq!(short("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba52");
        assert_eq!(long("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba524abf");
        assert_eq!(short("the mill on the river, in spring"), "the mill on the river, in spring");
    }
}
