//! A custom policy: when to fold, which stages run, and a stage written in code.
//!
//! Run it with `cargo run -p waterline --example own_policy`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use waterline::history::AtomKind;
use waterline::{Context, Draft, Message, Policy, PolicyError, Stage};

/// Policies are TOML; `waterline::stage::STAGES` lists the stages and their keys.
const POLICY: &str = r#"
name = "support"
about = "keep the newest turns whole, summarize the rest"
stages = ["cap", "pin", "window", "summarise"]

[fold]
high = 1500
low = 900

[cap]
max = 400

[window]
tokens = 600

[summarise]
placement = "prefix"
max = 200
ledger = 100
"#;

/// A custom stage. The draft rejects changes that would break the conversation, so a stage cannot
/// break it.
#[derive(Debug)]
struct DropSmallTalk;

impl Stage for DropSmallTalk {
    fn fold(&self, draft: &mut Draft<'_>) {
        for at in draft.newest_first() {
            let is_reply = draft.kind(at) == AtomKind::Reply;
            let is_short = draft.item(at).is_some_and(|item| item.tokens < 12);
            if is_reply && is_short {
                draft.omit(at, "small talk");
            }
        }
    }
}

fn main() -> Result<(), PolicyError> {
    // Single keys of a policy can be overridden; `Policy::preset_with("auto", …)` does the same for
    // a preset.
    let mut policy = Policy::read(POLICY, &[("window.tokens".to_owned(), "500".to_owned())])?;
    policy.stages.insert(0, Arc::new(DropSmallTalk));

    let mut context = Context::builder().model("gpt-4o").policy(policy).build()?;
    context.push(Message::system("You answer customers of a bicycle shop."));
    for day in 1..=12 {
        context.push(Message::user(format!(
            "Day {day}: order W-{} has not arrived. {}",
            7_000 + day,
            "I waited long. ".repeat(10)
        )));
        context.push(Message::assistant("Sorry!"));
        context.push(Message::assistant(format!(
            "It left the warehouse on day {day}. {}",
            "Please wait a little. ".repeat(8)
        )));
        let next = context.plan();
        if let Some(reasons) = next.reasons() {
            println!("day {day}: {reasons}");
        }
        next.commit();
    }

    for slot in context.slots() {
        println!("{:>9} messages {:?}: {}", slot.treatment, slot.sources, slot.reasons);
    }
    Ok(())
}
