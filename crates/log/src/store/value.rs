//! Values of statements and rows, with the types that both databases support.

/// A column value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

macro_rules! from {
    ($kind:ty, $value:ident => $converted:expr) => {
        impl From<$kind> for Value {
            fn from($value: $kind) -> Self {
                $converted
            }
        }
    };
}

from!(i64, value => Self::Int(value));
// Counts and sizes are far below 2^63.
from!(u64, value => Self::Int(i64::try_from(value).unwrap_or(i64::MAX)));
from!(usize, value => Self::Int(i64::try_from(value).unwrap_or(i64::MAX)));
// PostgreSQL does not allow NUL in text. Our text columns do not need it; messages are bytes.
from!(&str, value => Self::Text(value.replace('\0', "\u{FFFD}")));
from!(&String, value => value.as_str().into());
from!(String, value => if value.contains('\0') {
    value.as_str().into()
} else {
    Self::Text(value)
});
from!(Vec<u8>, value => Self::Bytes(value));
from!(&[u8], value => Self::Bytes(value.to_vec()));

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::store::Value::from($value)),*] };
}
pub(crate) use values;

/// A row of a query. A column of an unexpected type reads as its default: this crate owns both the
/// statements and the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub(in crate::store) Vec<Value>);

impl Row {
    pub(crate) fn int(&self, at: usize) -> i64 {
        self.maybe_int(at).unwrap_or_default()
    }

    pub(crate) fn maybe_int(&self, at: usize) -> Option<i64> {
        match self.0.get(at) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// Removes the last column and returns it.
    pub(crate) fn pop_int(&mut self) -> Option<i64> {
        match self.0.pop() {
            Some(Value::Int(number)) => Some(number),
            _ => None,
        }
    }

    /// Removes the last column and returns it as text.
    pub(crate) fn pop_text(&mut self) -> Option<String> {
        match self.0.pop() {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&self, at: usize) -> u64 {
        u64::try_from(self.int(at)).unwrap_or_default()
    }

    pub(crate) fn size(&self, at: usize) -> usize {
        usize::try_from(self.int(at)).unwrap_or_default()
    }

    pub(crate) fn text(&mut self, at: usize) -> String {
        self.maybe_text(at).unwrap_or_default()
    }

    pub(crate) fn maybe_text(&mut self, at: usize) -> Option<String> {
        match self.0.get_mut(at) {
            Some(Value::Text(text)) => Some(std::mem::take(text)),
            _ => None,
        }
    }

    /// Returns the bytes of a column without taking them out of the row.
    pub(crate) fn peek(&self, at: usize) -> Option<&[u8]> {
        match self.0.get(at) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn bytes(&mut self, at: usize) -> Vec<u8> {
        match self.0.get_mut(at) {
            Some(Value::Bytes(bytes)) => std::mem::take(bytes),
            _ => Vec::new(),
        }
    }
}
