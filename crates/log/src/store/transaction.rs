//! An open transaction as a store: operations that would each be a transaction become savepoints in
//! it, each of which may fail without the others.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waterline::phrase;

use super::{Connection, Finish, Job, Store, Work};
use crate::error::{LogError, Result};
use waterline::phrase::Phrase;

/// A transaction that several operations share.
pub(super) struct Transaction<C> {
    name: String,
    /// `Some` while the job runs.
    connection: Mutex<Option<C>>,
}

impl<C: Connection + Send + 'static> Transaction<C> {
    /// Runs a job on a connection with an open transaction, and returns the connection.
    pub(super) fn run(connection: C, job: &Job) -> (Option<C>, Result<()>) {
        let name = connection.name().to_owned();
        let transaction = Arc::new(Self { name, connection: Mutex::new(Some(connection)) });
        let store: Arc<dyn Store> = Arc::<Self>::clone(&transaction);
        let outcome = job(&store);
        let connection = transaction.lock().take();
        (connection, outcome)
    }

    fn lock(&self) -> MutexGuard<'_, Option<C>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> LogError {
        let text = phrase!("log-transaction-ended", "the transaction has already ended");
        LogError::Database { name: self.name.clone(), text }
    }

    fn refused<T>(&self) -> Result<T> {
        let text =
            phrase!("log-in-transaction", "this operation is not possible inside a transaction");
        Err(LogError::Database { name: self.name.clone(), text })
    }
}

impl<C: Connection + Send + 'static> Store for Transaction<C> {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()> {
        let mut guard = self.lock();
        work(guard.as_mut().ok_or_else(|| self.ended())?)
    }

    fn write(&self, work: Work) -> Result<()> {
        let mut guard = self.lock();
        let connection = guard.as_mut().ok_or_else(|| self.ended())?;
        connection.batch("SAVEPOINT step")?;
        match work(connection) {
            Ok(()) => connection.batch("RELEASE SAVEPOINT step"),
            Err(error) => {
                // If this rollback fails, the commit of the transaction fails too.
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

    fn check(&self) -> Result<Vec<Phrase>> {
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
