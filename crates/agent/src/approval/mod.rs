//! Which calls somebody must agree to. Four layers: rules of the user's own, which have the last
//! word; patterns of risk in what is asked for, patterns for one tool, and what kind of tool it is,
//! of which the greatest risk counts.

mod call_request;
mod hidden;
mod risk;
mod script;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};

pub use call_request::CallRequest;
pub(crate) use call_request::identity;
pub use hidden::is_hidden;
pub use risk::{Pattern, Risk};

use self::risk::Texts;
use crate::error::AgentError;
use crate::state::Local;
use crate::tool::{CALL_TOOL, Capability};

/// When somebody is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Before every call.
    All,
    /// Before those that are a risk.
    #[default]
    Selective,
    /// As the user's own rules say, and for nothing else but commands that the kernel does not
    /// confine.
    Custom,
    /// Never but before such commands.
    None,
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "all" => Ok(Self::All),
            "selective" => Ok(Self::Selective),
            "custom" => Ok(Self::Custom),
            "none" => Ok(Self::None),
            _ => Err(format!(
                "{name:?} is no mode of approval; there are all, selective, custom, none"
            )),
        }
    }
}

/// What is done about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is run.
    Run,
    /// Somebody is asked.
    Ask {
        /// Why.
        reason: String,
        /// Whether they may agree once and for all.
        may_always: bool,
    },
    /// It is not run.
    Refuse(String),
}

/// What the user's own rules say of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Run it.
    Allow,
    /// Ask.
    Ask,
    /// Do not run it.
    Deny,
}

/// A rule of the user's own.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The tool; `*` for any.
    pub tool: String,
    /// What its arguments look like.
    pub pattern: Regex,
    /// What then.
    pub ruling: Ruling,
}

impl Rule {
    /// Whether it is about a call. To let it run, what decides what the call does must fit: words
    /// beside that earn nothing. To keep it back, any text is enough.
    fn fits(&self, asked: CallRequest<'_>) -> bool {
        let is_match = |text: &String| self.pattern.is_match(text);
        (self.tool == "*" || self.tool == asked.tool)
            && match self.ruling {
                Ruling::Allow => asked.deciding().iter().all(is_match),
                Ruling::Ask | Ruling::Deny => asked.texts().iter().any(is_match),
            }
    }
}

/// A check in code: it may have a word on a call, with its arguments as JSON.
pub type Check = Arc<dyn Fn(&str, &str) -> Option<Ruling> + Send + Sync>;

/// Which calls somebody must agree to.
#[derive(Clone)]
pub struct Approval {
    /// When somebody is asked.
    pub mode: Mode,
    /// How long an answer may take; then it is no.
    pub time: Duration,
    /// The user's own rules; the first that fits counts.
    pub rules: Vec<Rule>,
    /// A check in code, before the rules.
    pub check: Option<Check>,
    /// Patterns of risk for any tool.
    pub patterns: Vec<Pattern>,
    /// Patterns of risk for one tool.
    pub tools: BTreeMap<String, Vec<Pattern>>,
    /// Whether the kernel confines commands.
    pub confined: bool,
}

impl Default for Approval {
    fn default() -> Self {
        let (patterns, tools) = risk::shipped();
        Self {
            mode: Mode::Selective,
            time: Duration::from_secs(60),
            rules: Vec::new(),
            check: None,
            patterns,
            tools,
            confined: false,
        }
    }
}

/// A longer command cannot be started, and nobody could look at it.
const LONGEST: usize = 120_000;

impl Approval {
    /// Decides on a call.
    #[must_use]
    pub fn decide(&self, asked: CallRequest<'_>, local: &Local) -> Decision {
        // The agent looks through this tool to the one that is meant: one that is still called so
        // names none.
        if asked.tool == CALL_TOOL {
            let why = "call_tool must be given the name of another tool as \"name\", and its arguments as \"arguments\"";
            return Decision::Refuse(why.to_owned());
        }
        if asked.info.capability == Capability::Execute && asked.arguments.len() > LONGEST {
            return Decision::Refuse(format!(
                "a command may have {LONGEST} bytes; write it to a file and run that"
            ));
        }
        let custom = self.custom(asked);
        if custom == Some(Ruling::Deny) {
            return Decision::Refuse("a rule of the user forbids it".to_owned());
        }
        let (risk, why) = self.risk(asked);
        let ask = |reason: String| match Self::is_granted(asked, local) && risk < Risk::Critical {
            true => Decision::Run,
            false => Decision::Ask { reason, may_always: risk < Risk::Critical },
        };
        let is_loose = asked.info.capability == Capability::Execute && !self.confined;
        match (custom, self.mode) {
            (Some(Ruling::Ask), _) => ask("a rule of the user wants it".to_owned()),
            (Some(_), _) => Decision::Run,
            (None, Mode::All) => ask("every call is asked about".to_owned()),
            (None, Mode::Selective) if risk >= Risk::Medium => {
                ask(format!("{} risk: {why}", risk.name()))
            }
            // Nothing but a person stands before these.
            (None, _) if is_loose => ask(format!("{} risk: {why}", risk.name())),
            (None, _) => Decision::Run,
        }
    }

    fn custom(&self, asked: CallRequest<'_>) -> Option<Ruling> {
        let checked = self.check.as_ref().and_then(|check| check(asked.tool, asked.arguments));
        checked.or_else(|| self.rules.iter().find(|rule| rule.fits(asked)).map(|rule| rule.ruling))
    }

    /// How much of a risk a call is, and why: the greatest that any layer sees.
    fn risk(&self, asked: CallRequest<'_>) -> (Risk, String) {
        let own = self.tools.get(asked.tool).map(Vec::as_slice).unwrap_or_default();
        // What a tool only reads is no deed, whatever words stand in it.
        let general = if matches!(asked.info.capability, Capability::Execute | Capability::Network)
        {
            self.patterns.as_slice()
        } else {
            &[]
        };
        let texts = Texts::of(asked);
        let matching = general.iter().chain(own).filter(|pattern| pattern.is_match(&texts));
        let worst = matching
            .max_by_key(|pattern| pattern.risk)
            .map(|pattern| (pattern.risk, pattern.about.clone()));
        let built_in = match asked.info.capability {
            _ if texts.is_unread() => {
                (Risk::Medium, "it cannot be read to its end as a shell script")
            }
            Capability::Read | Capability::Write => (Risk::Low, "it stays in the workspace"),
            Capability::Execute if self.confined => (Risk::Low, "the kernel confines it"),
            Capability::Execute => (Risk::High, "the kernel does not confine commands here"),
            Capability::Network => (Risk::Medium, "it reaches something outside"),
            Capability::HandOff => (Risk::Medium, "another role goes on"),
            Capability::AskUser => (Risk::Low, "it only asks"),
            Capability::Delegate => (Risk::Low, "the sub-agent is held to the same rules"),
        };
        let built_in = (built_in.0, built_in.1.to_owned());
        match worst {
            Some(worst) if worst.0 >= built_in.0 => worst,
            _ => built_in,
        }
    }

    /// What "always" holds for, as [`Local::approvals`] keeps it: a command just as it is, any
    /// other tool as a whole, as long as it is what it was.
    #[must_use]
    pub fn grant(asked: CallRequest<'_>) -> String {
        match (asked.info.capability, asked.identity) {
            (Capability::Execute, _) => format!("{} {}", asked.tool, asked.whole()),
            (_, Some(identity)) => format!("{} {identity}", asked.tool),
            (_, None) => asked.tool.to_owned(),
        }
    }

    fn is_granted(asked: CallRequest<'_>, local: &Local) -> bool {
        local.approvals.contains(&Self::grant(asked))
    }
}

/// A rule of the user's own, from its words.
///
/// # Errors
/// When the pattern is no expression.
pub fn rule(tool: &str, pattern: &str, ruling: Ruling) -> Result<Rule, AgentError> {
    let read = Regex::new(pattern);
    let pattern = read.map_err(|error| {
        AgentError::Setting(format!("a rule of approval cannot be used: {error}"))
    })?;
    Ok(Rule { tool: tool.to_owned(), pattern, ruling })
}
