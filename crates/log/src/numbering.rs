//! The numbers by which people refer to the messages of a session: counted from 1, without the
//! system prompt at its start and after each clear mark. A position, in contrast, counts every
//! message.

use waterline::history::History;
use waterline::message::Role;

use crate::clear::marks;
use crate::encoding::role_of_code;
use crate::error::Result;
use crate::log::Log;
use crate::session::Session;
use crate::store::{Connection, values};
use crate::tree::Path;

/// Converts between the positions of a session's messages and their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbering {
    /// The positions of the system prompts, in order.
    prompts: Vec<u64>,
}

impl Numbering {
    /// Returns the number of the message at a position; `None` for a system prompt.
    #[must_use]
    pub fn number(&self, position: u64) -> Option<u64> {
        (!self.prompts.contains(&position)).then(|| self.count(position))
    }

    /// Returns how many messages up to a position have a number.
    #[must_use]
    pub fn count(&self, position: u64) -> u64 {
        position - self.prompts.iter().filter(|prompt| **prompt <= position).count() as u64
    }

    /// Returns the position of the message with this number; 0 for number 0.
    #[must_use]
    pub fn position(&self, number: u64) -> u64 {
        let mut position = number;
        for prompt in self.prompts.iter().filter(|_| number > 0) {
            position += u64::from(*prompt <= position);
        }
        position
    }

    /// Returns how many system prompts follow the first `position` messages.
    pub(crate) fn prompts_after(&self, position: u64) -> usize {
        self.prompts.iter().filter(|prompt| **prompt > position).count()
    }
}

impl Log {
    /// Returns the numbering of a session's messages up to its tip.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn numbering(&self, session: &Session) -> Result<Numbering> {
        self.read(|connection| numbering(connection, session))
    }
}

/// Lets the numbers of a history's messages continue those before the clear mark.
pub(crate) fn set_numbering(
    connection: &mut dyn Connection,
    history: &mut History,
    session: &Session,
    cleared: u64,
) -> Result<()> {
    let numbering = numbering(connection, session)?;
    let before = usize::try_from(numbering.count(cleared)).unwrap_or(usize::MAX);
    history.set_numbering(before, numbering.prompts_after(cleared));
    Ok(())
}

pub(crate) fn numbering(connection: &mut dyn Connection, session: &Session) -> Result<Numbering> {
    let path = Path::of(connection, session.tip)?;
    let marks = marks(connection, session, &path)?;
    let mut starts: Vec<u64> = marks.iter().map(|mark| mark.position).collect();
    starts.push(0);
    let mut prompts = Vec::new();
    for start in starts {
        let mut next = start + 1;
        while is_system(connection, &path, next)? {
            prompts.push(next);
            next += 1;
        }
    }
    prompts.sort_unstable();
    prompts.dedup();
    Ok(Numbering { prompts })
}

fn is_system(connection: &mut dyn Connection, path: &Path, position: u64) -> Result<bool> {
    let Some(tip) = path.at(position) else { return Ok(false) };
    let sql = "SELECT c.role FROM message m JOIN content c ON c.key = m.content \
               WHERE m.branch = $1 AND m.position = $2";
    let row = connection.row(sql, values![tip.branch, tip.position])?;
    Ok(row.is_some_and(|row| role_of_code(row.int(0)) == Role::System))
}

#[cfg(test)]
mod tests {
    use super::Numbering;

    #[test]
    fn prompts_have_no_number() {
        let numbering = Numbering { prompts: vec![1, 6] };
        let numbers = [1, 2, 5, 6, 7].map(|position| numbering.number(position));
        assert_eq!(numbers, [None, Some(1), Some(4), None, Some(5)]);
        assert_eq!([0, 1, 4, 5].map(|number| numbering.position(number)), [0, 2, 5, 7]);
        assert_eq!([0, 1, 5, 7].map(|position| numbering.count(position)), [0, 0, 4, 5]);
    }
}
