//! The process's environment variables and working directory, read once.

use std::sync::{Arc, OnceLock};

use waterline_config::Environment;

static ENVIRONMENT: OnceLock<Arc<Environment>> = OnceLock::new();

/// Returns the process's environment variables and working directory.
pub fn environment() -> &'static Arc<Environment> {
    ENVIRONMENT.get_or_init(|| Arc::new(Environment::new(".", std::env::vars_os())))
}
