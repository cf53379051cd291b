//! What goes on while the agent works: the model is asked, calls run, sub-agents do both beside
//! each other. The newest is shown, and something is as long as anything goes on.

use std::time::{Duration, Instant};

use super::footer::Working;
use crate::lang::say;
use crate::show::number;

/// What goes on, the newest last.
#[derive(Default)]
pub struct Activities(Vec<Activity>);

struct Activity {
    /// The context of the sub-agent that does it; none for the agent itself.
    who: Option<String>,
    what: What,
    since: Instant,
    /// It rests until then.
    until: Option<Instant>,
}

enum What {
    /// The model is asked, and so many characters of its reasoning have come.
    Thinks(usize),
    /// It calls a tool, and so many characters of the arguments have come.
    Writes(String, usize),
    /// It writes a table, which is shown when it is whole.
    Table,
    /// A call runs.
    Runs { id: String, about: String },
}

impl Activities {
    /// The model is asked.
    pub fn asks(&mut self, who: Option<&str>) {
        self.answers(who);
        self.begin(who, What::Thinks(0));
    }

    /// More of its reasoning came.
    pub fn thinks(&mut self, who: Option<&str>, more: usize) {
        match self.model(who).map(|doing| &mut doing.what) {
            Some(What::Thinks(chars)) => *chars += more,
            _ => {
                self.answers(who);
                self.begin(who, What::Thinks(more));
            }
        }
    }

    /// It begins to write a call.
    pub fn writes(&mut self, who: Option<&str>, tool: &str) {
        self.answers(who);
        self.begin(who, What::Writes(tool.to_owned(), 0));
    }

    /// More of the call came.
    pub fn grows(&mut self, who: Option<&str>, more: usize) {
        if let Some(What::Writes(_, chars)) = self.model(who).map(|doing| &mut doing.what) {
            *chars += more;
        }
    }

    /// It is asked again, after a while.
    pub fn rests(&mut self, who: Option<&str>, wait: Duration) {
        self.asks(who);
        if let Some(doing) = self.model(who) {
            doing.until = doing.since.checked_add(wait);
        }
    }

    /// It has answered, or its answer is seen as it comes.
    pub fn answers(&mut self, who: Option<&str>) {
        self.0.retain(|doing| !doing.is_model(who));
    }

    /// Whether a table is being written.
    pub fn table(&mut self, is_written: bool) {
        let is_known = self.0.iter().any(|doing| matches!(doing.what, What::Table));
        if is_written && !is_known {
            self.begin(None, What::Table);
        } else if !is_written {
            self.0.retain(|doing| !matches!(doing.what, What::Table));
        }
    }

    /// A call begins to run.
    pub fn runs(&mut self, who: Option<&str>, id: &str, about: String) {
        self.begin(who, What::Runs { id: id.to_owned(), about });
    }

    /// A call is done.
    pub fn ends(&mut self, who: Option<&str>, ended: &str) {
        let is_it = |doing: &Activity| matches!(&doing.what, What::Runs { id, .. } if id == ended);
        self.0.retain(|doing| !(doing.is_of(who) && is_it(doing)));
    }

    /// Nothing goes on any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Whether nothing goes on.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is shown of it.
    pub fn working(&self) -> Option<Working> {
        let newest = self.0.last()?;
        let left = newest.until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.filter(|left| !left.is_zero());
        let about = if left.is_some() {
            say("trying again", "重试").to_owned()
        } else {
            newest.what.about()
        };
        let who = newest.who.as_ref().map(|who| format!("{who}: ")).unwrap_or_default();
        let others = match self.0.len() - 1 {
            0 => String::new(),
            others => format!(" (+{others})"),
        };
        Some(Working { about: format!("{who}{about}{others}"), since: newest.since, left })
    }

    fn begin(&mut self, who: Option<&str>, what: What) {
        self.0.push(Activity {
            who: who.map(str::to_owned),
            what,
            since: Instant::now(),
            until: None,
        });
    }

    fn model(&mut self, who: Option<&str>) -> Option<&mut Activity> {
        self.0.iter_mut().find(|doing| doing.is_model(who))
    }
}

impl Activity {
    fn is_of(&self, who: Option<&str>) -> bool {
        self.who.as_deref() == who
    }

    /// Whether it is the model of somebody that is waited for.
    fn is_model(&self, who: Option<&str>) -> bool {
        self.is_of(who) && matches!(self.what, What::Thinks(_) | What::Writes(..))
    }
}

impl What {
    fn about(&self) -> String {
        match self {
            Self::Thinks(chars) => format!("{}{}", say("thinking", "思考中"), size(*chars)),
            Self::Writes(tool, chars) => {
                format!("{} {tool}{}", say("writing", "正在写"), size(*chars))
            }
            Self::Table => say("writing a table", "正在写表格").to_owned(),
            Self::Runs { about, .. } => about.clone(),
        }
    }
}

/// How much has come, where anything has.
fn size(chars: usize) -> String {
    match chars {
        0 => String::new(),
        _ => say(format!(", {} characters", number(chars)), format!("，{} 个字符", number(chars))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(doings: &Activities) -> String {
        doings.working().map(|working| working.about).unwrap_or_default()
    }

    #[test]
    fn it_goes_on_until_the_last_call_is_done() {
        let mut doings = Activities::default();
        doings.runs(None, "1", "read a".to_owned());
        doings.runs(None, "2", "read b".to_owned());
        assert_eq!(shown(&doings), "read b (+1)");
        doings.ends(None, "2");
        assert_eq!(shown(&doings), "read a");
        doings.ends(Some("below"), "1");
        assert!(!doings.is_empty(), "that was another's");
        doings.ends(None, "1");
        assert!(doings.is_empty());
    }

    #[test]
    fn what_the_model_does_is_told_by_what_comes() {
        let mut doings = Activities::default();
        doings.asks(None);
        assert_eq!(shown(&doings), "thinking");
        doings.thinks(None, 1_200);
        doings.thinks(None, 34);
        assert_eq!(shown(&doings), "thinking, 1,234 characters");
        doings.writes(None, "write_file");
        doings.grows(None, 20);
        doings.grows(None, 22);
        assert_eq!(shown(&doings), "writing write_file, 42 characters");
        doings.answers(None);
        assert!(doings.is_empty());
    }

    #[test]
    fn each_agent_has_a_model_of_its_own() {
        let mut doings = Activities::default();
        doings.asks(Some("a"));
        doings.asks(Some("b"));
        doings.thinks(Some("a"), 5);
        assert_eq!(shown(&doings), "b: thinking (+1)");
        doings.answers(Some("b"));
        assert_eq!(shown(&doings), "a: thinking, 5 characters");
    }

    #[test]
    fn before_another_try_it_is_told_how_long_that_takes() {
        let mut doings = Activities::default();
        doings.asks(None);
        doings.rests(None, Duration::from_secs(60));
        let working = doings.working().unwrap();
        assert_eq!(working.about, "trying again");
        assert!(working.left.is_some_and(|left| left > Duration::from_secs(50)));
        doings.rests(None, Duration::ZERO);
        assert_eq!(shown(&doings), "thinking");
    }
}
