//! Values as PostgreSQL sends and receives them.

use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::store::Value;

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> std::result::Result<IsNull, Failure> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA | Type::NAME)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Failure> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Self::Int),
            Type::INT4 => i32::from_sql(kind, raw).map(|number| Self::Int(number.into())),
            Type::BYTEA => Vec::from_sql(kind, raw).map(Self::Bytes),
            _ => String::from_sql(kind, raw).map(Self::Text),
        }
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::TEXT | Type::BYTEA | Type::NAME)
    }
}
