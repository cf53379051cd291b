//! The flags of a command with an agent, the session they name, and where its agent works.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use waterline_agent::{Agent, AgentError, Local, OFFLINE, Prepared, Start, WorkingDirectory};
use waterline_config::{Assembly, Config, Overrides, WorkDir, WorkspaceChoice};
use waterline_log::{Filter, Log, Relation, Session};

use crate::arguments::AgentArguments;
use crate::db::Database;
use crate::environment::environment;
use crate::logging::LogArguments;
use crate::place;
use crate::show::{kept, notice, plain, turn_notice};
use crate::text;
use crate::trust;

/// The flags that every command with an agent has after its own.
#[derive(Debug, clap::Args)]
pub struct Flags {
    #[command(flatten)]
    agent: AgentArguments,
    #[command(flatten)]
    logging: LogArguments,
    #[command(flatten)]
    pub database: Database,
}

impl Flags {
    /// Starts logging, reads the config, and asks whether addresses of the project are trusted.
    pub fn settle(&self, may_ask: bool) -> Result<Settled> {
        self.logging.start()?;
        let config = Config::load(Arc::clone(environment()))?;
        trust::check(&config, self.trusts_project(), may_ask)?;
        Ok(Settled { config, overrides: self.agent.overrides(), may_ask })
    }

    /// Whether the servers that the project's file names are trusted for this run.
    pub const fn trusts_project(&self) -> bool {
        self.agent.trust_project
    }
}

/// The ids that the flags `--session` and `--resume` name.
pub type NamedSession<'a> = (Option<&'a String>, Option<&'a String>);

/// Settings that the user agreed to.
pub struct Settled {
    config: Config,
    overrides: Overrides,
    may_ask: bool,
}

impl Settled {
    /// Opens the log and finds the session and where it works, so that a missing one is reported
    /// before servers are started. Blocks.
    pub fn open(self, database: &Database, flags: NamedSession<'_>) -> Result<Opening> {
        let Self { config, mut overrides, may_ask } = self;
        let log = database.open_with(&config.settings.log.options())?;
        let Named { start, known, directory, note } =
            named(&log, &config, &overrides, flags, may_ask)?;
        overrides.directory = directory;
        Ok(Opening { config, overrides, log, start, known, note })
    }
}

/// A session to open.
pub struct Opening {
    config: Config,
    pub overrides: Overrides,
    pub log: Log,
    start: Start,
    /// The session, if it exists.
    pub known: Option<Session>,
    /// A note about where it works.
    note: Option<String>,
}

impl Opening {
    /// Assembles the agent and prepares its session. `system` is the prompt of a new session.
    /// Notices are passed to `note`.
    pub async fn prepare(
        self,
        system: Option<String>,
        note: impl Fn(&str),
    ) -> Result<(Assembly, Prepared)> {
        let Self { config, overrides, log, start, note: where_it_works, .. } = self;
        let (assembly, notices) = Assembly::new(config, overrides, log, start).await?;
        where_it_works.iter().for_each(|text| note(text));
        remembered_model(&assembly).iter().for_each(|text| note(text));
        notices.iter().for_each(|found| note(&notice(found)));
        let prepared = assembly.builder()?.prompt(system).prepare().await?;
        prepared.config().notices.iter().for_each(|found| note(&turn_notice(found)));
        prepared.notices.iter().for_each(|choice| note(&kept(choice)));
        Ok((assembly, prepared))
    }
}

/// Returns the note for a session that continues at the server that it used before.
pub fn remembered_model(assembly: &Assembly) -> Option<String> {
    let model = Some(&assembly.overrides.model).filter(|model| model.is_remembered)?;
    let address = plain(model.base_url.as_deref().unwrap_or_default());
    let model = plain(model.model.as_deref().unwrap_or_default());
    Some(text!("resume-remembered", model = model, address = address))
}

/// Returns the model that an interrupted turn was started with, if only the offline model is left
/// to continue it and the user did not ask for that.
pub fn missing_model(agent: &Agent, assembly: &Assembly) -> Result<Option<String>, AgentError> {
    if agent.live().model().name != OFFLINE || assembly.names_model() || !agent.is_open()? {
        return Ok(None);
    }
    let used = agent.local_state()?.model.map(|used| used.name);
    Ok(used.filter(|name| name != OFFLINE).map(|name| plain(&name)))
}

/// The session that the flags name.
struct Named {
    start: Start,
    /// The session, if it exists.
    known: Option<Session>,
    /// Where the agent works.
    directory: Option<WorkingDirectory>,
    /// A note about where it works.
    note: Option<String>,
}

/// Finds the session that the flags name; `resume` without an id is the latest one of this
/// directory. A session works where it worked last, unless the user says otherwise.
fn named(
    log: &Log,
    config: &Config,
    overrides: &Overrides,
    (session, resume): NamedSession<'_>,
    may_ask: bool,
) -> Result<Named> {
    let user = overrides.user.as_deref();
    let here = || place::choose(config, overrides, may_ask);
    let start = match (resume, session) {
        (Some(id), _) if id.is_empty() => {
            let directory = here()?;
            let known = latest(log, config, overrides, directory.as_ref())?;
            let start = Start::Resume(known.id.clone());
            return Ok(Named { start, known: Some(known), directory, note: None });
        }
        (Some(id), _) => Start::Resume(id.clone()),
        (None, Some(id)) => Start::Open(id.clone()),
        (None, None) => Start::New,
    };
    let known = start.find(log, user)?;
    let (directory, note) = match known.as_ref().map(|known| worked_in(known, config, overrides)) {
        Some(Worked::In(directory)) => {
            let note = elsewhere(directory.as_ref(), config.environment.directory());
            (directory, note)
        }
        Some(Worked::Gone(path)) => (here()?, Some(text!("resume-gone", path = shown(&path)))),
        Some(Worked::Unknown) | None => (here()?, None),
    };
    Ok(Named { start, known, directory, note })
}

/// Where a session worked last.
pub enum Worked {
    /// In a directory, or in a private workspace.
    In(Option<WorkingDirectory>),
    /// In a directory that no longer exists.
    Gone(PathBuf),
    /// It has no message yet, or the user says where it works from now on.
    Unknown,
}

/// Returns where a session worked last.
pub fn worked_in(session: &Session, config: &Config, overrides: &Overrides) -> Worked {
    let is_private = config.settings.agent.workspace == Some(WorkspaceChoice::Private);
    if overrides.workspace.is_some() || is_private {
        return Worked::Unknown;
    }
    // State that does not parse is reported when the session is opened.
    let Ok(local) = Local::of(session) else { return Worked::Unknown };
    let Some(place) = local.place else { return Worked::Unknown };
    let Some(path) = place.directory else { return Worked::In(None) };
    let workspace = Some(WorkspaceChoice::Directory(path.clone()));
    // The caller may grant the directory for reading only.
    let allow_dirs = overrides.allow_dirs.clone();
    let there = Overrides { workspace, allow_dirs, ..Overrides::default() };
    match waterline_config::place::find(config, &there) {
        Ok(WorkDir::Directory(directory)) => Worked::In(Some(directory)),
        _ => Worked::Gone(path),
    }
}

/// Where sessions belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Project {
    /// In private workspaces.
    Private,
    /// In a directory: the root of a project.
    Directory(PathBuf),
}

impl Project {
    /// Returns the project of a working directory; none is a private workspace.
    pub fn of(directory: Option<&WorkingDirectory>) -> Self {
        directory.map_or(Self::Private, |working| Self::Directory(working.grant.path.clone()))
    }
}

/// Returns the project that a session worked in last, even if the user chose another directory for
/// this run. A fork without messages of its own belongs to the project of its parent, if `all`
/// contains the parent. Returns `None` if the project is unknown, as for an imported session.
pub fn project_of(session: &Session, all: &[Session], config: &Config) -> Option<Project> {
    // State that does not parse is reported when the session is opened.
    let Some(place) = Local::of(session).ok()?.place else {
        let parent = session.parent.as_ref().filter(|_| session.relation == Relation::Fork)?;
        let parent = all.iter().find(|other| other.id == *parent)?;
        return project_of(parent, all, config);
    };
    let Some(path) = place.directory else { return Some(Project::Private) };
    match worked_in(session, config, &Overrides::default()) {
        Worked::In(directory) => Some(Project::of(directory.as_ref())),
        Worked::Gone(_) | Worked::Unknown => Some(Project::Directory(path)),
    }
}

/// Returns the note for a session that works in another directory than the current one.
fn elsewhere(directory: Option<&WorkingDirectory>, current: &Path) -> Option<String> {
    let current = current.canonicalize().unwrap_or_else(|_| current.to_owned());
    let other = directory.filter(|directory| !current.starts_with(&directory.grant.path))?;
    Some(text!("resume-elsewhere", path = shown(&other.path)))
}

/// Returns the conversation that was used last in the project of a directory, or in a private
/// workspace.
fn latest(
    log: &Log,
    config: &Config,
    overrides: &Overrides,
    directory: Option<&WorkingDirectory>,
) -> Result<Session> {
    let user = overrides.user.clone();
    let mut all = log.sessions(&Filter { user, ..Filter::default() })?;
    all.retain(Session::is_conversation);
    if all.is_empty() {
        return Err(AgentError::NoSession.into());
    }
    let here = Project::of(directory);
    let is_here = |session: &&Session| project_of(session, &all, config) == Some(here.clone());
    match (all.iter().find(is_here), directory) {
        (Some(found), _) => Ok(found.clone()),
        (None, Some(here)) => bail!(text!("resume-none-here", path = shown(&here.grant.path))),
        (None, None) => bail!(text!("resume-none-private")),
    }
}

fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}
