//! One open transaction as a store: operations that would each be a transaction become steps of it,
//! each of which may fail alone.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Connection, Finish, Job, Store, Work};
use crate::error::{LogError, Result};

/// A transaction that operations share.
pub(super) struct Transaction<C> {
    name: String,
    /// There while a job runs.
    connection: Mutex<Option<C>>,
}

impl<C: Connection + Send + 'static> Transaction<C> {
    /// Runs a job on a connection with an open transaction, and gives the connection back.
    pub(super) fn run(connection: C, job: &Job) -> (Option<C>, Result<()>) {
        let name = connection.name().to_owned();
        let open = Arc::new(Self { name, connection: Mutex::new(Some(connection)) });
        let store: Arc<dyn Store> = Arc::<Self>::clone(&open);
        let outcome = job(&store);
        let connection = open.hold().take();
        (connection, outcome)
    }

    fn hold(&self) -> MutexGuard<'_, Option<C>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> LogError {
        LogError::Database { name: self.name.clone(), text: "its transaction is over".to_owned() }
    }

    fn refused<T>(&self) -> Result<T> {
        let text = "this cannot be done inside a transaction".to_owned();
        Err(LogError::Database { name: self.name.clone(), text })
    }
}

impl<C: Connection + Send + 'static> Store for Transaction<C> {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()> {
        let mut held = self.hold();
        work(held.as_mut().ok_or_else(|| self.over())?)
    }

    fn write(&self, work: Work) -> Result<()> {
        let mut held = self.hold();
        let connection = held.as_mut().ok_or_else(|| self.over())?;
        connection.batch("SAVEPOINT step")?;
        match work(connection) {
            Ok(()) => connection.batch("RELEASE SAVEPOINT step"),
            Err(error) => {
                // If the step cannot be taken back, neither can the transaction be committed.
                drop(connection.batch("ROLLBACK TO SAVEPOINT step; RELEASE SAVEPOINT step"));
                Err(error)
            }
        }
    }

    fn write_alone(&self, _: Work) -> Result<()> {
        self.refused()
    }

    fn transact(&self, _: Job, finish: Finish) {
        finish(self.refused());
    }

    fn queues_writes(&self) -> bool {
        false
    }

    fn check(&self) -> Result<Vec<String>> {
        self.refused()
    }

    fn shrink(&self) -> Result<()> {
        self.refused()
    }

    fn size(&self) -> Result<u64> {
        self.refused()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn backup(&self, _: &Path) -> Result<bool> {
        self.refused()
    }
}
