//! Who wrote a message: the user of an agent, a person in a conversation between people, or the
//! program.

/// The kind of a message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user of an agent. Only the user's words can be standing instructions.
    User,
    /// A person with a name, in a conversation between people.
    Person,
    /// A model, a tool, or a prompt of the program.
    Program,
}

impl Speaker {
    /// Returns the kind of the author with this name. `user1` and `userNone`, which some data sets
    /// write, are the user.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let name = name.to_lowercase();
        let name = match name.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
            rest if rest.len() < name.len() => rest,
            _ => name.strip_suffix("none").unwrap_or(&name),
        };
        match name {
            "user" => Self::User,
            "assistant" | "system" | "tool" | "developer" => Self::Program,
            _ => Self::Person,
        }
    }

    /// Whether a human wrote the message.
    #[must_use]
    pub const fn is_human(self) -> bool {
        matches!(self, Self::User | Self::Person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_may_have_numbers() {
        for name in ["user", "User", "user1", "userNone", "USER12"] {
            assert_eq!(Speaker::named(name), Speaker::User, "{name}");
        }
        assert_eq!(Speaker::named("assistant"), Speaker::Program);
        assert_eq!(Speaker::named("tool"), Speaker::Program);
        for name in ["Project Manager", "", "1", "users", "nonessential"] {
            assert_eq!(Speaker::named(name), Speaker::Person, "{name}");
        }
    }
}
