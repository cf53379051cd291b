//! Output: JSON for programs, tables and texts for people.

mod approval;
mod end_reason;
mod failure;
mod json;
mod markdown;
mod notice;
mod one_line;
mod passage;
mod reason;
mod refusal;
pub mod replay;
mod report;
pub mod rows;
mod table;
mod text;
mod turn;
mod why;

pub use approval::approval_reason;
pub use end_reason::{end_reason, setting_of};
pub use failure::{Failure, failure};
pub use json::json;
pub use markdown::markdown;
pub use notice::{kept, model_notes, notice, server_problem, skill_problem, turn_notice};
pub use one_line::one_line;
pub use passage::{match_reason, passage};
pub use reason::reasons;
pub use refusal::{Granting, refusals};
pub use report::Report;
pub use table::{line, table, treatment};
pub use text::{align_right, bar, capitalized, pad, room, size, truncate, width, wrap};
pub use turn::{call_note, handed_off, odd, remembered};
pub use why::why;

use anstyle::Style;
use waterline::message::Role;
use waterline::tokens::Method;
use waterline_log::Numbering;

pub use crate::number::number;
pub use crate::phrase::phrase;
pub use crate::printable::{lines, plain, unhidden};

/// The style of secondary text.
pub const DIM: Style = Style::new().dimmed();

/// Formats a share in percent, with one more digit from 99% on.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (99.0..100.0).contains(&percent) {
        format!("{percent:.2}%")
    } else {
        format!("{percent:.1}%")
    }
}

/// Returns the name of a role in the chosen language.
pub fn role(role: Role) -> String {
    match role {
        Role::System => crate::text!("role-system"),
        Role::User => crate::text!("role-user"),
        Role::Assistant => crate::text!("role-assistant"),
        Role::Tool => crate::text!("role-tool"),
    }
}

/// Formats a message on a line, after its role.
pub fn role_line(message_role: Role, text: &str) -> String {
    crate::text!("role-line", role = role(message_role), text = text)
}

/// Formats the number of the message at a position. The system prompt has none.
pub fn message_number(numbering: &Numbering, position: u64) -> String {
    numbering.number(position).map_or_else(|| "–".to_owned(), |number| number.to_string())
}

/// Returns the name of a counting method.
pub fn method(method: Method) -> String {
    match method {
        Method::Estimate(ratio) => {
            crate::text!("method-estimate", ratio = ratio.chars_per_token().to_string())
        }
        other => other.to_string(),
    }
}
