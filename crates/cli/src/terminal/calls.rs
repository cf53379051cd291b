//! The calls that the screen knows: what each is called with, as long as it is open, and the last
//! ones with their numbers.

use std::collections::VecDeque;

/// How many calls are kept to be shown whole.
const KEPT: usize = 200;

/// A call that was shown on one line.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub arguments: String,
    /// What it gave.
    pub text: String,
}

/// The calls.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<Open>,
    kept: VecDeque<Folded>,
    /// How many there were before these.
    gone: usize,
}

/// A call without a result. One that is refused, or not run for another reason, is known only from
/// what the model wrote.
#[derive(Debug)]
struct Open {
    /// The context of the sub-agent that wants it; none for the agent itself.
    who: Option<String>,
    id: String,
    name: String,
    arguments: String,
    /// Its place in the answer, as long as nothing else is known of it.
    at: Option<usize>,
}

impl Open {
    fn is_of(&self, who: Option<&str>) -> bool {
        self.who.as_deref() == who
    }
}

impl Calls {
    /// The model begins to write a call.
    pub fn writes(&mut self, who: Option<&str>, at: usize, id: &str, name: &str) {
        self.add(who, id, name, Some(at));
    }

    /// More of its arguments came.
    pub fn grows(&mut self, who: Option<&str>, at: usize, json: &str) {
        let written =
            self.open.iter_mut().rev().find(|open| open.is_of(who) && open.at == Some(at));
        if let Some(open) = written {
            open.arguments.push_str(json);
        }
    }

    /// A call is run, or somebody is asked about it.
    pub fn known(&mut self, who: Option<&str>, id: &str, name: &str, arguments: &str) {
        let at = self.find(who, id, name).unwrap_or_else(|| self.add(who, id, name, None));
        if let Some(open) = self.open.get_mut(at) {
            // It may have been written under another id than it is run under.
            id.clone_into(&mut open.id);
            arguments.clone_into(&mut open.arguments);
            open.at = None;
        }
    }

    /// A call has its result; gives what it was called with.
    pub fn end(&mut self, who: Option<&str>, id: &str, name: &str) -> String {
        let ended = self.find(who, id, name).map(|at| self.open.remove(at));
        ended.map(|open| open.arguments).unwrap_or_default()
    }

    /// The calls of somebody's last answer are done, or void.
    pub fn forget_open(&mut self, who: Option<&str>) {
        self.open.retain(|open| !open.is_of(who));
    }

    /// No call is open any more.
    pub fn close(&mut self) {
        self.open.clear();
    }

    /// Keeps a call; gives its number.
    pub fn keep(&mut self, call: Folded) -> usize {
        self.kept.push_back(call);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
            self.gone += 1;
        }
        self.gone + self.kept.len()
    }

    /// The call of a number, or the last one.
    pub fn get(&self, number: Option<usize>) -> Option<&Folded> {
        match number {
            Some(number) => self.kept.get(number.checked_sub(self.gone + 1)?),
            None => self.kept.back(),
        }
    }

    /// Forgets the calls that were kept; the next one is the first.
    pub fn forget(&mut self) {
        self.kept.clear();
        self.gone = 0;
    }

    fn add(&mut self, who: Option<&str>, id: &str, name: &str, at: Option<usize>) -> usize {
        let (who, id, name) = (who.map(str::to_owned), id.to_owned(), name.to_owned());
        self.open.push(Open { who, id, name, arguments: String::new(), at });
        self.open.len() - 1
    }

    /// Where a call is: by its id, else the first of its tool that was written and of which nothing
    /// was heard since.
    fn find(&self, who: Option<&str>, id: &str, name: &str) -> Option<usize> {
        let own = |open: &Open| open.is_of(who);
        let same = self.open.iter().position(|open| own(open) && open.id == id && !id.is_empty());
        same.or_else(|| {
            self.open.iter().position(|open| own(open) && open.at.is_some() && open.name == name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_not_run_is_known_from_what_the_model_wrote() {
        let mut calls = Calls::default();
        calls.writes(None, 0, "", "read");
        calls.writes(None, 1, "", "read");
        calls.grows(None, 0, "{\"a\":");
        calls.grows(None, 1, "{\"b\":2}");
        calls.grows(None, 0, "1}");
        calls.known(None, "x", "read", "{\"a\":1}");
        assert_eq!(
            calls.end(None, "y", "read"),
            "{\"b\":2}",
            "of the second nothing else was heard"
        );
        assert_eq!(calls.end(None, "x", "read"), "{\"a\":1}");
        assert_eq!(calls.end(None, "x", "read"), "");
    }

    #[test]
    fn sub_agents_do_not_get_into_each_others_way() {
        let mut calls = Calls::default();
        calls.known(Some("a"), "1", "run", "of a");
        calls.known(Some("b"), "1", "run", "of b");
        calls.forget_open(Some("b"));
        assert_eq!(calls.end(Some("b"), "1", "run"), "");
        assert_eq!(calls.end(Some("a"), "1", "run"), "of a");
    }

    #[test]
    fn the_last_calls_keep_their_numbers() {
        let call = |at: usize| Folded {
            name: at.to_string(),
            arguments: String::new(),
            text: String::new(),
        };
        let name = |calls: &Calls, number| calls.get(number).map(|call| call.name.clone());
        let mut calls = Calls::default();
        for at in 1..=KEPT + 5 {
            assert_eq!(calls.keep(call(at)), at);
        }
        assert_eq!(name(&calls, None).unwrap(), (KEPT + 5).to_string());
        assert_eq!(name(&calls, Some(6)).unwrap(), "6");
        assert_eq!(name(&calls, Some(5)), None, "forgotten");
        assert_eq!(name(&calls, Some(KEPT + 6)), None);
        calls.forget();
        assert_eq!(calls.keep(call(1)), 1);
        assert_eq!(name(&calls, Some(0)), None);
    }
}
