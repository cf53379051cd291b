//! Ids of sessions as people see them: of those that the program makes, the beginning is enough.

/// How long ids are that were made by the program.
const MADE: usize = 32;

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

/// Whether an id was made by the program.
pub fn is_made(id: &str) -> bool {
    id.len() == MADE && is_hex(id)
}

/// Whether somebody typed enough of an id that was made by the program.
pub fn is_enough(typed: &str) -> bool {
    typed.len() >= SHORT && is_hex(typed)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A name that somebody chose stays whole: it may be the beginning of another.
fn beginning(id: &str, digits: usize) -> String {
    if is_made(id) { id.chars().take(digits).collect() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_the_program_are_cut() {
        assert_eq!(short("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba52");
        assert_eq!(long("41c8ba524abf4f7e97858c3059642f1f"), "41c8ba524abf");
        assert!(is_enough("41c8ba52") && !is_enough("41c8ba5") && !is_enough("the mill"));
        assert_eq!(short("the mill on the river, in spring"), "the mill on the river, in spring");
    }
}
