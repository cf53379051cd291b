//! A connection of the pool.

use super::server::Server;
use crate::error::Result;
use crate::store::{Connection, Dialect, Row, Value};

/// A connection of the pool.
pub(super) type Pooled = r2d2::PooledConnection<Server>;

impl Connection for Pooled {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64> {
        (**self).run(sql, values)
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        (**self).each(sql, values, visit)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        (**self).batch(sql)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn name(&self) -> &str {
        &self.name
    }
}
