//! One file, no set-up. Readers have connections of their own; all writes of a process go through one thread, which
//! commits whatever waits together, so that many writers share one flush. Other processes take turns by SQLite's lock.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, OpenFlags, ToSql};

use super::migrate::{self, migrate};
use super::{Connection, Dialect, Row, Store, Value, Work};
use crate::error::{LogError, Result};

/// The most writes that share one commit.
const GROUP: usize = 256;

/// A log in one file.
pub(super) struct Sqlite {
    path: PathBuf,
    wait: Duration,
    /// Whether files beside it cannot be made either, so that it is read as it lies there.
    immutable: bool,
    readers: Mutex<Vec<Handle>>,
    writer: Option<Writer>,
}

struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

struct Request {
    work: Work,
    reply: SyncSender<Result<()>>,
}

/// A connection.
struct Handle {
    connection: rusqlite::Connection,
    name: String,
}

impl Sqlite {
    pub(super) fn open(path: &Path, wait: Duration) -> Result<Self> {
        let mut store = Self { path: path.to_owned(), wait, immutable: false, readers: Mutex::default(), writer: None };
        match store.open_writer() {
            Ok(handle) => store.writer = Some(Writer::start(handle)),
            Err(LogError::ReadOnly { .. }) => store.open_to_read()?,
            Err(error) => return Err(error),
        }
        Ok(store)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open_writer(&self) -> Result<Handle> {
        if is_read_only(&self.path) {
            return Err(LogError::ReadOnly { name: self.name() });
        }
        let mut handle = self.connect(OpenFlags::default())?;
        handle.batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;")?;
        handle.begin("BEGIN IMMEDIATE")?;
        let outcome = self.prepare(&mut handle);
        handle.end(outcome.is_ok())?;
        outcome.map(|()| handle)
    }

    /// Refuses what is no log, and brings a log to the newest format.
    fn prepare(&self, handle: &mut Handle) -> Result<()> {
        let tables = "SELECT COUNT(*), COUNT(CASE name WHEN 'format' THEN 1 END) FROM sqlite_master";
        let (all, ours) =
            (handle as &mut dyn Connection).row(tables, &[])?.map_or((0, 0), |row| (row.int(0), row.int(1)));
        if all > 0 && ours == 0 {
            return Err(LogError::Foreign { name: self.name() });
        }
        migrate(handle, all == 0)
    }

    /// Somebody else's file can still be read.
    fn open_to_read(&mut self) -> Result<()> {
        let opened = self.connect_to_read().and_then(|mut handle| {
            migrate::check(&mut handle)?;
            Ok(handle)
        });
        match opened {
            Ok(handle) => lock(&self.readers).push(handle),
            Err(error @ LogError::Newer { .. }) => return Err(error),
            Err(_) => {
                self.immutable = true;
                let mut handle = self.connect_to_read()?;
                migrate::check(&mut handle)?;
                lock(&self.readers).push(handle);
            }
        }
        Ok(())
    }

    fn connect_to_read(&self) -> Result<Handle> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    fn connect(&self, flags: OpenFlags) -> Result<Handle> {
        let cannot = |error: rusqlite::Error| match explain(&self.name(), &error) {
            LogError::Database { name, text } => LogError::Open { name, text },
            other => other,
        };
        let connection = if self.immutable {
            let path = self.path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            rusqlite::Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)
        } else {
            rusqlite::Connection::open_with_flags(&self.path, flags)
        }
        .map_err(cannot)?;
        connection.set_prepared_statement_cache_capacity(128);
        connection.busy_timeout(self.wait).map_err(cannot)?;
        let mut handle = Handle { connection, name: self.name() };
        handle.batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384;")?;
        Ok(handle)
    }

    /// A transaction that only reads, on a connection of its own.
    fn reader(&self) -> Result<Handle> {
        let idle = lock(&self.readers).pop();
        idle.map_or_else(|| self.connect_to_read(), Ok)
    }
}

impl Store for Sqlite {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()> {
        let mut handle = self.reader()?;
        handle.begin("BEGIN")?;
        let outcome = work(&mut handle);
        handle.end(false)?;
        lock(&self.readers).push(handle);
        outcome
    }

    fn write(&self, work: Work) -> Result<()> {
        let Some(writer) = &self.writer else { return Err(LogError::ReadOnly { name: self.name() }) };
        let stopped = || LogError::Flush { name: self.name(), text: "the writer has stopped".to_owned() };
        let (reply, answer) = sync_channel(1);
        let sent = writer.requests.as_ref().map(|requests| requests.send(Request { work, reply }));
        sent.and_then(std::result::Result::ok).ok_or_else(stopped)?;
        answer.recv().unwrap_or_else(|_| Err(stopped()))
    }

    fn write_alone(&self, work: Work) -> Result<()> {
        // There is one writer at a time.
        self.write(work)
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut handle = self.reader()?;
        let mut found = Vec::new();
        (&mut handle as &mut dyn Connection).each("PRAGMA integrity_check(20)", &[], &mut |mut row| {
            found.push(row.text(0));
            Ok(())
        })?;
        found.retain(|line| line != "ok");
        Ok(found)
    }

    fn shrink(&self) -> Result<()> {
        if self.writer.is_none() {
            return Err(LogError::ReadOnly { name: self.name() });
        }
        let mut handle = self.connect(OpenFlags::default())?;
        // The words of what was deleted stay in the index until its parts are merged.
        handle.batch("INSERT INTO search (search) VALUES ('optimize'); VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
    }

    fn size(&self) -> Result<u64> {
        let of = |ending: &str| {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            std::fs::metadata(path).map_or(0, |metadata| metadata.len())
        };
        Ok(of("") + of("-wal"))
    }

    fn backup(&self, to: &Path) -> Result<bool> {
        let cannot = |source: std::io::Error| LogError::File { path: to.to_owned(), source };
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = folder.join(format!(".waterline-backup-{}", uuid::Uuid::new_v4().simple()));
        let handle = self.reader()?;
        let copied = handle.copy_into(&beside);
        let placed = copied.and_then(|()| std::fs::rename(&beside, to).map_err(cannot));
        if placed.is_err() {
            // What is half copied is of no use to anybody.
            drop(std::fs::remove_file(&beside));
        }
        placed.map(|()| true)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Without readers, the last connection to close is the writer's, which empties the write-ahead log.
        lock(&self.readers).clear();
        if let Some(writer) = &mut self.writer {
            writer.requests = None;
            if let Some(thread) = writer.thread.take() {
                drop(thread.join());
            }
        }
    }
}

impl Writer {
    fn start(handle: Handle) -> Self {
        let (requests, received) = channel();
        let thread = std::thread::spawn(move || serve(handle, &received));
        Self { requests: Some(requests), thread: Some(thread) }
    }
}

fn serve(mut handle: Handle, requests: &Receiver<Request>) {
    let mut failed: Option<String> = None;
    while let Ok(first) = requests.recv() {
        let group: Vec<Request> = std::iter::once(first).chain(requests.try_iter().take(GROUP - 1)).collect();
        if let Some(text) = &failed {
            for request in group {
                answer(request, Err(LogError::Flush { name: handle.name.clone(), text: text.clone() }));
            }
            continue;
        }
        failed = commit(&mut handle, group);
    }
}

fn answer(request: Request, outcome: Result<()>) {
    // Whoever asked may be gone; what was done stays done.
    drop(request.reply.send(outcome));
}

/// Runs a group of writes in one transaction, each of which may fail alone. Says why nothing more may be written, if the
/// flush itself failed: then the disk may hold less than was handed to it.
fn commit(handle: &mut Handle, group: Vec<Request>) -> Option<String> {
    if let Err(error) = handle.begin("BEGIN IMMEDIATE") {
        let text = error.to_string();
        let mut first = Some(error);
        for request in group {
            let error = first.take().unwrap_or_else(|| handle.again(&text));
            answer(request, Err(error));
        }
        return None;
    }
    let mut done = Vec::with_capacity(group.len());
    for request in group {
        let outcome = handle.alone(&request.work);
        done.push((request, outcome));
    }
    match handle.end(true) {
        Ok(()) => {
            for (request, outcome) in done {
                answer(request, outcome);
            }
            None
        }
        Err(error) => {
            let (text, is_flush) = (error.to_string(), matches!(error, LogError::Flush { .. }));
            let mut first = Some(error);
            for (request, _) in done {
                let error = first.take().unwrap_or_else(|| handle.again(&text));
                answer(request, Err(error));
            }
            is_flush.then_some(text)
        }
    }
}

impl Handle {
    fn batch(&mut self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| explain(&self.name, &error))
    }

    fn begin(&mut self, sql: &str) -> Result<()> {
        self.batch(sql)
    }

    /// Ends a transaction. What could not be committed is taken back.
    fn end(&mut self, keep: bool) -> Result<()> {
        if keep {
            let committed = self.connection.execute_batch("COMMIT");
            return committed.map_err(|error| {
                let error = explain(&self.name, &error);
                drop(self.connection.execute_batch("ROLLBACK"));
                error
            });
        }
        if self.connection.is_autocommit() { Ok(()) } else { self.batch("ROLLBACK") }
    }

    /// One write of a group: fails without the others.
    fn alone(&mut self, work: &Work) -> Result<()> {
        self.batch("SAVEPOINT alone")?;
        match work(self) {
            Ok(()) => self.batch("RELEASE alone"),
            Err(error) => {
                // A full disk takes the whole transaction back, and with it the savepoint.
                drop(self.connection.execute_batch("ROLLBACK TO alone; RELEASE alone"));
                Err(error)
            }
        }
    }

    fn again(&self, text: &str) -> LogError {
        LogError::Database { name: self.name.clone(), text: text.to_owned() }
    }

    fn copy_into(&self, path: &Path) -> Result<()> {
        let text = path.display().to_string();
        self.connection.execute("VACUUM INTO ?1", [text]).map(drop).map_err(|error| match explain(&self.name, &error) {
            LogError::Full { .. } => LogError::Full { name: path.display().to_string() },
            LogError::Database { text, .. } | LogError::Open { text, .. } => {
                LogError::Open { name: path.display().to_string(), text }
            }
            other => other,
        })
    }
}

impl Connection for Handle {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64> {
        let failed = |error| explain(&self.name, &error);
        let mut statement = self.connection.prepare_cached(&numbered(sql)).map_err(failed)?;
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        if statement.column_count() > 0 {
            let mut rows = statement.query(values.as_slice()).map_err(failed)?;
            let mut count = 0;
            while rows.next().map_err(failed)?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        statement.execute(values.as_slice()).map(|count| count as u64).map_err(failed)
    }

    fn each(&mut self, sql: &str, values: &[Value], visit: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let failed = |error| explain(&self.name, &error);
        let mut statement = self.connection.prepare_cached(&numbered(sql)).map_err(failed)?;
        let columns = statement.column_count();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let mut rows = statement.query(values.as_slice()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |at| row.get_ref(at).map(value_of).map_err(failed);
            visit(Row((0..columns).map(value).collect::<Result<_>>()?))?;
        }
        Ok(())
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// SQLite numbers `$1` by where it first stands, `?1` by its number.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

/// Whether the file is there and may not be written. SQLite itself would only notice at the first write.
fn is_read_only(path: &Path) -> bool {
    path.exists()
        && std::fs::File::options().append(true).open(path).is_err_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
        })
}

fn explain(name: &str, error: &rusqlite::Error) -> LogError {
    let name = name.to_owned();
    let text = error.to_string();
    let Some(found) = error.sqlite_error() else { return LogError::Database { name, text } };
    match found.code {
        ErrorCode::DiskFull => LogError::Full { name },
        ErrorCode::ReadOnly => LogError::ReadOnly { name },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LogError::Locked { name },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => LogError::Damaged { name, text },
        ErrorCode::SystemIoFailure => LogError::Flush { name, text },
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => LogError::Open { name, text },
        _ => LogError::Database { name, text },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A reader that panicked left a connection that nobody put back: the list itself is whole.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
