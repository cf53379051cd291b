//! `human_approval`: a person agrees to calls before they are run. The word is state, not text: no fold can lose or invent it.

use serde::Deserialize;

use super::{Hooked, Middleware, Moment, Verdict};
use crate::approval::{Approval, Asked, Decision, Mode};
use crate::equipment::Equipment;
use crate::error::AgentError;
use crate::person::{Request, Word};
use crate::tool::Nature;

/// Asks a person.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HumanApproval {
    mode: Option<Mode>,
    /// Seconds.
    timeout: Option<u64>,
    #[serde(skip)]
    with: Option<Approval>,
}

impl HumanApproval {
    /// Asks as `approval` says.
    pub(super) const fn with(approval: Approval) -> Self {
        Self { mode: None, timeout: None, with: Some(approval) }
    }
}

impl Middleware for HumanApproval {
    fn name(&self) -> &'static str {
        "human_approval"
    }

    /// Last of all: what another one refuses need not be asked about.
    fn priority(&self) -> i32 {
        1_000
    }

    fn equip(&self, equipment: &mut Equipment) -> Result<(), AgentError> {
        if let Some(mode) = self.mode {
            equipment.approval.mode = mode;
        }
        if let Some(seconds) = self.timeout {
            equipment.approval.time = std::time::Duration::from_secs(seconds);
        }
        // What it asks with is known only when everything is set up.
        let approval = equipment.approval.clone();
        equipment.middleware.retain(|middleware| middleware.name() != self.name());
        equipment.middleware.push(std::sync::Arc::new(Self::with(approval)));
        Ok(())
    }

    fn before_tools(&self, moment: &mut Moment<'_>) -> Hooked {
        let Some(approval) = &self.with else { return Err("it was not set up".to_owned()) };
        for call in moment.calls {
            if moment.instead.contains_key(&call.id) {
                continue;
            }
            let nature = moment.toolbox.find(&call.name).map_or(Nature::Reaches, |tool| tool.nature());
            let asked = Asked { tool: &call.name, nature, arguments: &call.arguments };
            match (approval.decide(asked, moment.state), moment.words.get(&call.id)) {
                (Decision::Refuse(why), _) => {
                    moment.instead.insert(call.id.clone(), (format!("not run: {why}"), true));
                }
                (Decision::Run, _) | (Decision::Ask { .. }, Some(Word::Yes)) => {}
                (Decision::Ask { .. }, Some(Word::Always)) => {
                    Approval::note_always(asked, moment.state);
                }
                (Decision::Ask { .. }, Some(Word::No(why))) => {
                    let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                    moment.instead.insert(call.id.clone(), (format!("the user refused this call{why}"), true));
                }
                (Decision::Ask { reason, may_always }, None | Some(Word::Later)) => {
                    return Ok(Verdict::Interrupt(Request {
                        call_id: call.id.clone(),
                        tool: call.name.clone(),
                        arguments: call.arguments.clone(),
                        reason,
                        may_always,
                    }));
                }
            }
        }
        let always = moment.words.values().any(|word| *word == Word::Always);
        Ok(if always { Verdict::Update } else { Verdict::Ok })
    }
}
