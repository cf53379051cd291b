//! What a user should know about settings that do not take effect as written.
//! [`Display`](std::fmt::Display) is English; a program that speaks another language matches on the
//! kind.

use std::fmt;

/// Something a user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A limit that came with the directory is higher than the user allows.
    Narrowed {
        /// The key.
        key: String,
        /// The file that sets it.
        file: &'static str,
        /// What it asks for.
        wanted: String,
        /// What holds.
        allowed: String,
    },
    /// A model of the project's file is left out: only that file says where it answers.
    UntrustedModel {
        /// `fallback` or `summariser`.
        key: &'static str,
        /// The model.
        model: String,
    },
    /// The project's file may send the conversation to an address.
    ProjectAddress(String),
    /// The `.env` file is there and cannot be read.
    EnvFile(String),
    /// A key comes from the `.env` file.
    KeyFromEnvFile(&'static str),
    /// A variable belongs to another policy than the one in use.
    UnusedVariable {
        /// The variable.
        variable: &'static str,
        /// The policies it belongs to.
        preset: String,
        /// The policy in use.
        policy: String,
    },
    /// A fallback model cannot be used.
    Fallback {
        /// The model.
        model: String,
        /// Why not.
        why: String,
    },
    /// The kernel cannot confine commands here.
    Unconfined(String),
    /// A role of the project has the name of another role.
    RoleTaken(String),
    /// Something about a skill, a role, a tool or a server, as the agent says it.
    Other(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Narrowed { key, file, wanted, allowed } => {
                write!(
                    f,
                    "{key} of {file} is {wanted}; {allowed} holds, and only your own config can allow more"
                )
            }
            Self::UntrustedModel { key, model } => {
                write!(
                    f,
                    "the {key} {model:?} of waterline.toml is left out: only that file says where it answers"
                )
            }
            Self::ProjectAddress(address) => {
                write!(f, "waterline.toml of this folder may send the conversation to {address}")
            }
            Self::KeyFromEnvFile(name) => write!(f, "{name} comes from .env"),
            Self::UnusedVariable { variable, preset, policy } => {
                write!(f, "{variable} is for the policy {preset}; with {policy} it has no effect")
            }
            Self::Fallback { model, why } => {
                write!(f, "the fallback {model:?} of the config is left out: {why}")
            }
            Self::Unconfined(why) => {
                write!(
                    f,
                    "the kernel cannot confine commands here ({why}); you are asked before each"
                )
            }
            Self::RoleTaken(name) => {
                write!(f, "the role {name} of the project is left out: there is one of that name")
            }
            Self::EnvFile(text) | Self::Other(text) => f.write_str(text),
        }
    }
}
