//! Waterline's settings: files, environment variables and overrides, merged once into typed values
//! that know their origin.
//!
//! From lowest to highest precedence: built-in values, the user's file, the project's file, `.env`,
//! the environment, [`Overrides`]. [`Config::load`] reads the files and the variables of an
//! [`Environment`], which the host program or a test provides; this crate never reads the process's
//! environment. It prints nothing and names no command-line flag: it returns typed errors and
//! [`Notice`]s, and the program that shows them adds hints.

mod agent;
mod assemble;
mod config;
pub mod consent;
mod encoders;
mod environment;
mod error;
mod given_servers;
mod lang;
mod log;
mod models;
mod notice;
mod offline_hints;
pub mod origin;
mod overrides;
pub mod place;
pub mod policy;
mod preference;
mod prices;
mod recall;
mod remembered;
pub mod seed;
mod settings;
mod tokenizer;
pub mod trust;
mod workspace_choice;

pub use agent::{
    AgentSettings, DEFAULT_WORKSPACE_DAYS, McpSettings, MiddlewareEntry, Middlewares,
    NetworkSettings, RuleSettings,
};
pub use assemble::{Assembly, roles, servers, skill_directories, workspaces};
pub use config::{Config, files};
pub use encoders::{RecallEncoders, model_directory};
pub use environment::{Environment, OWN_KEY, VariableOrigin, key_variables, provider_keys};
pub use error::ConfigError;
pub use lang::Lang;
pub use log::LogSettings;
pub use models::Models;
pub use notice::Notice;
pub use overrides::{ModelOverrides, Overrides};
pub use place::WorkDir;
pub use preference::{MODEL as MODEL_PREFERENCE, check_preferences, preference_name};
pub use prices::{PriceSetting, RateSettings};
pub use recall::RecallSettings;
pub use settings::{ModelSettings, Settings};
pub use tokenizer::Tokenizer;
pub use workspace_choice::WorkspaceChoice;
