//! The SQLite store: one file, no setup. A bounded number of connections reads. All writes of a
//! process go through one thread, which commits waiting writes together, so that many writers share
//! one flush. SQLite's lock excludes other processes.

mod handle;
mod readers;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use handle::{Handle, add_checksum_function, explain};
use readers::{Borrowed, Readers};
use rusqlite::OpenFlags;
use writer::{Task, Writer};

use super::migrate::{self, migrate};
use super::{Connection, Finish, Job, Store, Work};
use crate::error::{LogError, Result};
use crate::options::Options;
use crate::refusal::Refusal;
use waterline::phrase;
use waterline::phrase::Phrase;

/// A log in one file.
pub(super) struct Sqlite {
    path: PathBuf,
    name: String,
    wait: Duration,
    /// The page cache of a connection, in KiB.
    cache: u32,
    /// Whether SQLite cannot create its `-wal` and `-shm` files either, so that the file is opened
    /// as immutable.
    immutable: bool,
    /// What is wrong with the format of a log that was opened all the same, for reading.
    format_damage: Option<Phrase>,
    readers: Readers,
    writer: Option<Writer>,
}

impl Sqlite {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self> {
        // Opening a FIFO would wait for its other end.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(LogError::Open {
                name: path.display().to_string(),
                text: phrase!("log-not-regular", "it is not a regular file"),
            });
        }
        let mut store = Self {
            path: path.to_owned(),
            name: path.display().to_string(),
            wait: options.wait,
            cache: options.cache,
            immutable: false,
            format_damage: None,
            readers: Readers::new(options.connections.get(), options.wait),
            writer: None,
        };
        let opened = match store.open_writer_with_retry() {
            Ok(handle) => {
                store.writer = Some(Writer::start(handle, path));
                Ok(())
            }
            Err(LogError::ReadOnly { .. }) => store.open_read_only(),
            Err(error) => Err(error),
        };
        match opened {
            Err(error @ (LogError::Damaged { .. } | LogError::UnsupportedFormat { .. }))
                if options.salvage =>
            {
                store.open_damaged_format(error)?;
            }
            opened => opened?,
        }
        Ok(store)
    }

    /// Opens a log for reading although its format number cannot be read or does not match its
    /// tables.
    fn open_damaged_format(&mut self, error: LogError) -> Result<()> {
        let mut handle = self.connect_reader()?;
        if !schema::differences(&mut handle)?.is_empty() {
            return Err(error);
        }
        self.format_damage = Some(format_damage());
        self.readers.add(handle);
        Ok(())
    }

    fn open_writer(&self) -> Result<Handle> {
        if is_read_only(&self.path) {
            return Err(LogError::ReadOnly { name: self.name.clone() });
        }
        // Create the file here: SQLite would make it readable by other users.
        match super::create_private(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(self.cannot_open(&error));
            }
            _ => {}
        }
        let mut handle = self.connect(OpenFlags::default())?;
        // Check the file before changing it, in case it is another program's database. The check
        // needs no lock.
        let needs_migration = self.needs_migration(&mut handle)?;
        handle.batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;",
        )?;
        if needs_migration {
            // A migration may rebuild tables that others refer to. The setting cannot change inside
            // a transaction.
            handle.batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
            let is_new = is_empty(&mut handle);
            let outcome = is_new.clone().and_then(|is_new| migrate(&mut handle, is_new));
            handle.end(outcome.is_ok())?;
            outcome?;
            handle.batch("PRAGMA foreign_keys = ON")?;
            if is_new? {
                // Tables that migrations replaced leave free pages. If another process has opened
                // the new log meanwhile, they stay, and are used later.
                drop(handle.batch("VACUUM"));
            }
        }
        Ok(handle)
    }

    /// Retries while the database is locked. SQLite's busy timeout does not apply when several
    /// processes create the same log.
    fn open_writer_with_retry(&self) -> Result<Handle> {
        let start = std::time::Instant::now();
        loop {
            match self.open_writer() {
                Err(LogError::Locked { .. }) if start.elapsed() < self.wait => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                outcome => return outcome,
            }
        }
    }

    fn read_only(&self) -> LogError {
        if let Some(text) = &self.format_damage {
            return LogError::Damaged { name: self.name.clone(), text: text.clone() };
        }
        LogError::ReadOnly { name: self.name.clone() }
    }

    fn cannot_open(&self, error: &std::io::Error) -> LogError {
        LogError::Open { name: self.name.clone(), text: error.to_string().into() }
    }

    /// Returns whether the file is a new log or one of an older format. Refuses any other database.
    fn needs_migration(&self, handle: &mut Handle) -> Result<bool> {
        if is_empty(handle)? {
            return Ok(true);
        }
        let connection: &mut dyn Connection = handle;
        let ours = connection.number(
            "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('format', 'content', 'branch')",
            &[],
        )?;
        if ours != 3 {
            return Err(LogError::NotALog { name: self.name.clone() });
        }
        if migrate::check(connection)? == migrate::NEWEST {
            return Ok(false);
        }
        // Another process may migrate the log meanwhile, so both must be of one snapshot.
        handle.batch("BEGIN")?;
        let found = self.is_older(handle);
        handle.end(false)?;
        found
    }

    /// Returns whether the log has an older format. Refuses one that has the tables of the newest
    /// format: its number is damaged, and a migration would be wrong.
    fn is_older(&self, handle: &mut Handle) -> Result<bool> {
        let is_older = migrate::check(handle)? < migrate::NEWEST;
        if is_older && schema::differences(handle)?.is_empty() {
            return Err(LogError::Damaged { name: self.name.clone(), text: format_damage() });
        }
        Ok(is_older)
    }

    /// Opens a file without write permission.
    fn open_read_only(&mut self) -> Result<()> {
        let opened = self.connect_reader().and_then(|mut handle| {
            self.check_format(&mut handle)?;
            Ok(handle)
        });
        match opened {
            Ok(handle) => self.readers.add(handle),
            Err(error @ LogError::UnsupportedFormat { .. }) => return Err(error),
            // Immutable mode ignores the write-ahead log, so it must be empty.
            Err(error) if size_of(&with_suffix(&self.path, "-wal")) > 0 => return Err(error),
            Err(_) => {
                self.immutable = true;
                let mut handle = self.connect_reader()?;
                self.check_format(&mut handle)?;
                self.readers.add(handle);
            }
        }
        Ok(())
    }

    /// Refuses an older format: it would need a migration, and the file is read-only.
    fn check_format(&self, handle: &mut Handle) -> Result<()> {
        match migrate::check(handle)? {
            migrate::NEWEST => Ok(()),
            _ => Err(LogError::ReadOnly { name: self.name.clone() }),
        }
    }

    fn connect_reader(&self) -> Result<Handle> {
        self.connect(
            OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
    }

    fn connect(&self, flags: OpenFlags) -> Result<Handle> {
        let cannot = |error: rusqlite::Error| match explain(&self.name.clone(), &error) {
            LogError::Database { name, text } => LogError::Open { name, text },
            other => other,
        };
        let connection = if self.immutable {
            let path = self
                .path
                .display()
                .to_string()
                .replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23");
            rusqlite::Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)
        } else {
            rusqlite::Connection::open_with_flags(&self.path, flags)
        }
        .map_err(cannot)?;
        connection.set_prepared_statement_cache_capacity(128);
        connection.busy_timeout(self.wait).map_err(cannot)?;
        add_checksum_function(&connection).map_err(cannot)?;
        let mut handle = Handle { connection, name: self.name.clone() };
        handle.batch(&format!("PRAGMA foreign_keys = ON; PRAGMA cache_size = -{};", self.cache))?;
        Ok(handle)
    }

    /// Runs `work` on a read connection. If it fails, the connection is closed.
    fn with_reader<T>(&self, work: impl FnOnce(&mut Handle) -> Result<T>) -> Result<T> {
        let mut borrowed = self.readers.borrow(&self.name)?;
        let mut handle = borrowed.handle.take().map_or_else(|| self.connect_reader(), Ok)?;
        let outcome = work(&mut handle)?;
        self.return_reader(borrowed, handle)?;
        Ok(outcome)
    }

    fn return_reader(&self, mut borrowed: Borrowed<'_>, mut handle: Handle) -> Result<()> {
        handle.end(false)?;
        borrowed.handle = Some(handle);
        borrowed.return_to_pool();
        Ok(())
    }
}

impl Store for Sqlite {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()> {
        // The inner result is the work's: its error leaves the connection usable.
        self.with_reader(|handle| {
            handle.batch("BEGIN")?;
            Ok(work(handle))
        })?
    }

    fn write(&self, work: Work) -> Result<()> {
        match &self.writer {
            Some(writer) => writer.write(&self.name, work),
            None => Err(self.read_only()),
        }
    }

    fn transact(&self, job: Job, finish: Finish) {
        match &self.writer {
            Some(writer) => writer.queue(&self.name, Task::Job(job), finish),
            None => finish(Err(self.read_only())),
        }
    }

    fn queues_writes(&self) -> bool {
        true
    }

    fn write_alone(&self, work: Work) -> Result<()> {
        // SQLite has one writer at a time anyway.
        self.write(work)
    }

    fn check(&self) -> Result<Vec<Phrase>> {
        let mut found = Vec::new();
        self.with_reader(|handle| {
            handle.each("PRAGMA integrity_check(20)", &[], &mut |mut row| {
                let text = row.text(0);
                if text != "ok" {
                    found.push(text.into());
                }
                Ok(())
            })?;
            found.extend(schema::differences(handle)?);
            Ok(())
        })?;
        found.extend(self.format_damage());
        Ok(found)
    }

    fn format_damage(&self) -> Option<Phrase> {
        self.format_damage.clone()
    }

    fn shrink(&self) -> Result<()> {
        if self.writer.is_none() {
            return Err(self.read_only());
        }
        let mut handle = self.connect(OpenFlags::default())?;
        // Deleted terms stay in the index until its segments are merged.
        handle.batch(
            "INSERT INTO search (search) VALUES ('optimize'); \
             INSERT INTO artifact_search (artifact_search) VALUES ('optimize'); VACUUM;",
        )?;
        // A reader of an older snapshot keeps the old pages. The result is then 1, not an error.
        let connection: &mut dyn Connection = &mut handle;
        match connection.number("PRAGMA wal_checkpoint(TRUNCATE)", &[])? {
            0 => Ok(()),
            _ => Err(LogError::Locked { name: self.name.clone() }),
        }
    }

    fn size(&self) -> Result<u64> {
        Ok(size_of(&self.path) + size_of(&with_suffix(&self.path, "-wal")))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn backup(&self, to: &Path) -> Result<bool> {
        let cannot =
            |source: std::io::Error| LogError::File { path: to.to_owned(), source: source.into() };
        let same = |path: &Path| std::fs::canonicalize(path).ok();
        if same(to).is_some() && same(to) == same(&self.path) {
            return Err(LogError::Refused(Refusal::BackupOfItself(to.to_owned())));
        }
        let directory = to
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let partial =
            directory.join(format!(".waterline-backup-{}", uuid::Uuid::new_v4().simple()));
        let copied = super::create_private(&partial)
            .map_err(cannot)
            .and_then(|_| self.with_reader(|handle| handle.copy_into(&partial)));
        let renamed = copied.and_then(|()| {
            // These files belong to an older database of that name.
            ["-wal", "-shm"]
                .iter()
                .for_each(|suffix| drop(std::fs::remove_file(with_suffix(to, suffix))));
            std::fs::rename(&partial, to).map_err(cannot)
        });
        if renamed.is_err() {
            ["", "-journal"]
                .iter()
                .for_each(|suffix| drop(std::fs::remove_file(with_suffix(&partial, suffix))));
        }
        renamed.map(|()| true)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Close the readers first: the writer is then the last connection, and closing it empties
        // the write-ahead log.
        self.readers.clear();
        self.writer = None;
    }
}

fn format_damage() -> Phrase {
    phrase!("damage-format", "the number of its format is damaged")
}

/// Returns the path with a suffix, as SQLite names the files that belong to a database.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn is_empty(handle: &mut Handle) -> Result<bool> {
    Ok((handle as &mut dyn Connection).number("SELECT COUNT(*) FROM sqlite_master", &[])? == 0)
}

/// Returns whether the file exists and cannot be written. SQLite itself would notice only at the
/// first write.
fn is_read_only(path: &Path) -> bool {
    path.exists()
        && std::fs::File::options().append(true).open(path).is_err_and(|error| {
            matches!(
                error.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            )
        })
}
