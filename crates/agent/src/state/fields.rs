//! A document, field by field: what is wrong with one is said with its name.

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

    /// Takes a field out; one that is not there is what its type begins with.
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

    /// Puts a field in, unless it is what its type begins with.
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

    /// The fields that nobody took.
    pub(super) fn rest(self) -> Document {
        self.document
    }

    fn unreadable(&self, field: &'static str, error: &serde_json::Error) -> AgentError {
        AgentError::State { session: self.session.to_owned(), field, why: error.to_string() }
    }
}
