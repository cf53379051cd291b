//! Typed access to the fields of a document. An error names the field.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use waterline_log::Document;

use crate::error::AgentError;

/// The fields of a session's document.
pub(super) struct Fields<'a> {
    session: &'a str,
    document: Document,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(session: &'a str, document: Document) -> Self {
        Self { session, document }
    }

    /// Removes a field and returns its value, or the default if it is missing.
    pub(super) fn take<T: DeserializeOwned + Default>(
        &mut self,
        field: &'static str,
    ) -> Result<T, AgentError> {
        match self.document.remove(field) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => {
                serde_json::from_value(value).map_err(|error| self.unreadable(field, &error))
            }
        }
    }

    /// Sets a field, unless the value is the default.
    pub(super) fn put<T: Serialize + Default + PartialEq>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), AgentError> {
        if *value != T::default() {
            let value =
                serde_json::to_value(value).map_err(|error| self.unreadable(field, &error))?;
            self.document.insert(field.to_owned(), value);
        }
        Ok(())
    }

    /// Returns the fields that were not taken.
    pub(super) fn rest(self) -> Document {
        self.document
    }

    fn unreadable(&self, field: &'static str, error: &serde_json::Error) -> AgentError {
        AgentError::State { session: self.session.to_owned(), field, why: error.to_string() }
    }
}
