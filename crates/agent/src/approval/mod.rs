//! Decides which calls need approval.
//!
//! There are four layers. The user's rules come first and override the rest. Otherwise the highest
//! of three risks counts: from the patterns about commands, from the patterns about tools with one
//! kind of access, and from the tool's capability.

mod attributes;
mod call_request;
mod hidden;
mod reading;
mod risk;
mod script;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};
use waterline::phrase;
use waterline::phrase::Phrase;

pub use call_request::CallRequest;
pub(crate) use call_request::identity;
pub use hidden::is_hidden;
pub use risk::Pattern;

use self::risk::Texts;
use crate::error::AgentError;
use crate::reason::{ApprovalReason, Risk, RiskCause};
use crate::state::Local;
use crate::tool::{CALL_TOOL, Capability, Subject};

/// When approval is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Before every call.
    All,
    /// Before calls of medium risk or higher.
    #[default]
    Selective,
    /// Where the user's rules say so, and before commands that the kernel does not confine.
    Custom,
    /// Only before commands that the kernel does not confine.
    None,
}

impl std::str::FromStr for Mode {
    type Err = Phrase;

    fn from_str(name: &str) -> Result<Self, Phrase> {
        match name {
            "all" => Ok(Self::All),
            "selective" => Ok(Self::Selective),
            "custom" => Ok(Self::Custom),
            "none" => Ok(Self::None),
            _ => Err(phrase!(
                "unknown-approval-mode",
                "unknown approval mode {name:?}; expected all, selective, custom or none",
                name = name
            )),
        }
    }
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may run.
    Run,
    /// Ask for approval.
    Ask {
        /// Why approval is needed.
        reason: ApprovalReason,
        /// Whether the reply may be "always".
        may_always: bool,
        /// Whether a general approval given in advance covers the call.
        in_advance: bool,
    },
    /// Do not run it, for this reason.
    Refuse(String),
}

/// The effect of a user's rule on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Ruling {
    /// Run it.
    Allow,
    /// Ask for approval.
    Ask,
    /// Do not run it.
    Deny,
}

/// One of the user's rules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The tool; `*` matches any.
    pub tool: String,
    /// The pattern that the arguments must match.
    pub pattern: Regex,
    /// What the rule decides.
    pub ruling: Ruling,
}

impl Rule {
    /// Returns whether the rule applies to a call. A rule that allows a call must match every text
    /// that decides what the call does; other arguments do not count. For a rule that restricts,
    /// any text is enough.
    fn applies_to(&self, asked: CallRequest<'_>) -> bool {
        let is_match = |text: &String| self.pattern.is_match(text);
        (self.tool == "*" || self.tool == asked.tool)
            && match self.ruling {
                Ruling::Allow => asked.deciding().iter().all(is_match),
                Ruling::Ask | Ruling::Deny => asked.texts().iter().any(is_match),
            }
    }
}

/// A check in code. It receives the tool's name and the arguments as JSON.
pub type Check = Arc<dyn Fn(&str, &str) -> Option<Ruling> + Send + Sync>;

/// Finds out whether commands can change the mode, owner and times of files outside their
/// directories. It may block.
pub type AttributeProbe = Arc<dyn Fn() -> bool + Send + Sync>;

/// Stores the approval of changes in a directory for later sessions.
pub type RememberDirectory = Arc<dyn Fn(&Path) + Send + Sync>;

/// The approval rules of an agent.
#[derive(Clone)]
pub struct Approval {
    /// When approval is needed.
    pub mode: Mode,
    /// How long to wait for a reply before the call is refused; `None` waits without limit.
    pub time: Option<Duration>,
    /// Directories in which the user allows changes without being asked.
    pub directories: Vec<PathBuf>,
    /// Stores that the user allows changes in a directory from now on.
    pub remember: Option<RememberDirectory>,
    /// The user's rules; the first that applies decides.
    pub rules: Vec<Rule>,
    /// A check in code, which comes before the rules.
    pub check: Option<Check>,
    /// Risk patterns.
    pub patterns: Vec<Pattern>,
    /// Whether the kernel confines commands.
    pub confined: bool,
    /// Tests whether commands can change the mode, owner and times of files outside their
    /// directories; `None` if they cannot.
    pub attributes: Option<AttributeProbe>,
    /// Names of [protected paths](waterline_sandbox::protected) that may be changed without asking.
    pub unprotected: Vec<String>,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            mode: Mode::Selective,
            time: None,
            directories: Vec::new(),
            remember: None,
            rules: Vec::new(),
            check: None,
            patterns: risk::built_in(),
            confined: false,
            attributes: None,
            unprotected: Vec::new(),
        }
    }
}

/// The first word of a stored approval of changes in a directory. No tool has this name.
const CHANGE: &str = "change:";

/// Maximum length of a command. The system could not start a longer one, and no one could review
/// it.
const MAX_COMMAND_BYTES: usize = 120_000;

impl Approval {
    /// Decides on a call.
    #[must_use]
    pub fn decide(&self, asked: CallRequest<'_>, local: &Local) -> Decision {
        // The agent replaces a call of `call_tool` with the call it names. One that is left does
        // not name a tool.
        if asked.tool == CALL_TOOL {
            return Decision::Refuse(format!(
                "{CALL_TOOL} needs the name of another tool in `name` and its arguments in \
                 `arguments`"
            ));
        }
        let executes = asked.info.capability == Capability::Execute;
        if executes && asked.arguments.len() > MAX_COMMAND_BYTES {
            return Decision::Refuse(format!(
                "a command may have at most {MAX_COMMAND_BYTES} bytes; write it to a file and run \
                 the file"
            ));
        }
        let custom = self.custom(asked);
        if custom == Some(Ruling::Deny) {
            return Decision::Refuse("one of the user's rules denies it".to_owned());
        }
        let (risk, cause) = self.risk(asked);
        let is_unconfined = executes && !self.confined;
        let may_always = risk < Risk::Critical;
        // Without the sandbox, and for files that programs run, a person must look at the call.
        let in_advance = may_always && !is_unconfined && self.protected(asked).next().is_none();
        let ask = |reason: ApprovalReason| match Self::is_granted(asked, local) && may_always {
            true => Decision::Run,
            false => Decision::Ask { reason, may_always, in_advance },
        };
        let must_ask = is_unconfined || executes && self.protected(asked).next().is_some();
        match (custom, self.mode) {
            (Some(Ruling::Ask), _) => ask(ApprovalReason::Rule),
            (Some(_), _) => Decision::Run,
            // The user sees the question, and nothing happens without an answer.
            (None, Mode::All) if asked.info.capability == Capability::AskUser => Decision::Run,
            (None, Mode::All) => ask(ApprovalReason::EveryCall),
            (None, Mode::Selective) if risk >= Risk::Medium => {
                ask(ApprovalReason::Risk { level: risk, cause })
            }
            // The approval is the only protection.
            (None, _) if must_ask => ask(ApprovalReason::Risk { level: risk, cause }),
            (None, _) => Decision::Run,
        }
    }

    /// Decides on a call that may change files in granted directories in which the user has not
    /// approved changes in this session. [`Approval::decide`] comes first.
    #[must_use]
    pub fn decide_change(&self, asked: CallRequest<'_>, directories: &[PathBuf]) -> Decision {
        if directories.is_empty() || self.mode != Mode::Selective || self.custom(asked).is_some() {
            return Decision::Run;
        }
        let reason = match asked.info.capability {
            Capability::Execute => ApprovalReason::CommandChange(directories.to_vec()),
            _ => ApprovalReason::FirstChange(directories.to_vec()),
        };
        Decision::Ask { reason, may_always: true, in_advance: true }
    }

    /// Returns whether a command only reads, as far as its text shows. It then runs without
    /// permission to write in `directories`, in which the user has not approved changes, and
    /// [`Approval::decide_change`] is not needed.
    #[must_use]
    pub fn only_reads(&self, asked: CallRequest<'_>, directories: &[PathBuf]) -> bool {
        let Subject::Command(command) = &asked.info.subject else { return false };
        !directories.is_empty()
            && self.confined
            && self.mode == Mode::Selective
            && self.custom(asked).is_none()
            && reading::only_reads(command)
    }

    /// Decides on a command that may change the mode, owner or times of files outside the agent's
    /// directories. `working` is the directory in which it starts. [`Approval::decide`] comes
    /// first. Blocks.
    #[must_use]
    pub fn decide_attributes(
        &self,
        asked: CallRequest<'_>,
        local: &Local,
        working: &Path,
        directories: &[PathBuf],
    ) -> Decision {
        let Some(probe) = self.attributes.as_ref().filter(|_| self.mode == Mode::Selective) else {
            return Decision::Run;
        };
        let Subject::Command(command) = &asked.info.subject else { return Decision::Run };
        if self.custom(asked).is_some()
            || Self::is_granted(asked, local)
            || !attributes::changes_outside(command, working, directories)
            || !probe()
        {
            return Decision::Run;
        }
        let cause = RiskCause::Pattern {
            id: "changes-attributes-outside".to_owned(),
            about: "it changes the mode, owner or times of files outside its directories"
                .to_owned(),
        };
        let reason = ApprovalReason::Risk { level: Risk::Medium, cause };
        Decision::Ask { reason, may_always: true, in_advance: true }
    }

    /// Decides on a file tool's change in a granted directory. [`Approval::decide`] comes first.
    /// The modes that do not ask refuse to change a protected path: the user must agree to it by
    /// name.
    #[must_use]
    pub fn decide_protected(&self, asked: CallRequest<'_>) -> Decision {
        let Some(name) = self.protected(asked).next() else { return Decision::Run };
        if !matches!(self.mode, Mode::Custom | Mode::None) || self.custom(asked).is_some() {
            return Decision::Run;
        }
        Decision::Refuse(format!(
            "{name} is protected, because programs run or read it automatically; the setting \
             agent.writable_protected = [{name:?}] allows changes"
        ))
    }

    /// Returns the names of the protected paths for which a call needs approval. A question must
    /// show them whatever its reason is: an approval covers them too.
    #[must_use]
    pub fn protected_names(&self, asked: CallRequest<'_>) -> Vec<String> {
        self.protected(asked).map(str::to_owned).collect()
    }

    /// Returns the protected paths that a call changes and that the user has not agreed to.
    fn protected<'a>(&self, asked: CallRequest<'a>) -> impl Iterator<Item = &'a str> {
        let names = asked.info.protected.iter().map(String::as_str);
        names.filter(move |name| !self.unprotected.iter().any(|own| own == name))
    }

    /// Returns how the approval of changes in a directory is stored in [`Local::approvals`].
    #[must_use]
    pub fn change_grant(directory: &Path) -> String {
        format!("{CHANGE} {}", directory.display())
    }

    /// Returns whether a stored approval is one of changes in a directory.
    pub(crate) fn is_change(approval: &str) -> bool {
        approval.starts_with(CHANGE)
    }

    fn custom(&self, asked: CallRequest<'_>) -> Option<Ruling> {
        let checked = self.check.as_ref().and_then(|check| check(asked.tool, asked.arguments));
        checked.or_else(|| {
            let found = self.rules.iter().find(|rule| rule.applies_to(asked))?;
            (found.ruling != Ruling::Allow || self.is_covered(asked)).then_some(found.ruling)
        })
    }

    /// Returns whether a rule that allows a call covers all that the call may do. It is matched
    /// against a command, which says nothing about the protected paths that the call names.
    fn is_covered(&self, asked: CallRequest<'_>) -> bool {
        asked.info.capability != Capability::Execute || self.protected(asked).next().is_none()
    }

    /// Returns the risk of a call and its cause: the highest of all layers.
    fn risk(&self, asked: CallRequest<'_>) -> (Risk, RiskCause) {
        let texts = Texts::of(asked);
        let about = self.patterns.iter().filter(|own| own.is_about(asked.info.capability));
        let matching = about.filter(|pattern| pattern.is_match(&texts));
        let worst = matching.max_by_key(|pattern| pattern.risk);
        let protected = self.protected_names(asked);
        let built_in = match asked.info.capability {
            _ if texts.is_unread() => (Risk::Medium, RiskCause::Unparsed),
            Capability::Execute if !self.confined => (Risk::High, RiskCause::Unsandboxed),
            // Settings and hooks, which programs run, have names of their own.
            Capability::Execute if protected == [waterline_sandbox::protected::GIT] => {
                (Risk::Medium, RiskCause::Repository)
            }
            _ if !protected.is_empty() => (Risk::Medium, RiskCause::Protected(protected)),
            Capability::Read | Capability::Write => (Risk::Low, RiskCause::OwnDirectories),
            Capability::Execute => (Risk::Low, RiskCause::Sandboxed),
            Capability::Network => (Risk::Medium, RiskCause::Network),
            Capability::HandOff => (Risk::Medium, RiskCause::HandOff),
            Capability::AskUser => (Risk::Low, RiskCause::AsksUser),
            Capability::Delegate => (Risk::Low, RiskCause::Delegates),
        };
        match worst {
            Some(worst) if worst.risk >= built_in.0 => (worst.risk, worst.cause()),
            _ => built_in,
        }
    }

    /// Returns what "always" applies to, as stored in [`Local::approvals`]: exactly this command; a
    /// change of the same protected path; or any call of another tool as long as the tool does not
    /// change.
    #[must_use]
    pub fn grant(asked: CallRequest<'_>) -> String {
        match (asked.info.capability, asked.identity) {
            (Capability::Execute, _) => format!("{} {}", asked.tool, asked.whole()),
            (_, Some(identity)) => format!("{} {identity}", asked.tool),
            (_, None) if !asked.info.protected.is_empty() => {
                format!("{} {}", asked.tool, asked.info.protected.join(" "))
            }
            (_, None) => asked.tool.to_owned(),
        }
    }

    fn is_granted(asked: CallRequest<'_>, local: &Local) -> bool {
        local.approvals.contains(&Self::grant(asked))
    }
}

/// Creates one of the user's rules.
///
/// # Errors
/// When the pattern is not a valid regular expression.
pub fn rule(tool: &str, pattern: &str, ruling: Ruling) -> Result<Rule, AgentError> {
    let read = Regex::new(pattern);
    let pattern = read.map_err(|error| AgentError::InvalidSetting {
        place: phrase!("setting-approval-pattern", "invalid `pattern` in [[agent.rules]]"),
        cause: error.into(),
    })?;
    Ok(Rule { tool: tool.to_owned(), pattern, ruling })
}
