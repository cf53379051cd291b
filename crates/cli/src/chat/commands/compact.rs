//! `/compact`: what a fold would do, and then the fold.

use crate::lang::say;
use crate::show::events::call_note;
use crate::show::number;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::plan::{Action, Treatment};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["compact"],
    takes: "[focus]",
    about: ("fold now: shows what would go and what would stay, and asks", "立即折叠：显示将去除与保留的内容并询问"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let focus = (!rest.is_empty()).then_some(rest);
    let plan = chat.relay.agent.live_mut().preview_fold(REASON, focus).await?;
    let Action::Fold { from, .. } = &plan.action else {
        chat.screen.say(say("there is nothing to fold", "没有可折叠的内容"));
        return Ok(Then::Stay);
    };
    let sent = plan.slots.iter().filter(|slot| slot.treatment.is_sent());
    let kept: usize =
        sent.clone().filter(|slot| slot.treatment == Treatment::Verbatim).map(|slot| slot.sources.len()).sum();
    let short: usize = sent
        .filter(|slot| !matches!(slot.treatment, Treatment::Verbatim | Treatment::Summary))
        .map(|slot| slot.sources.len())
        .sum();
    let gone: usize = plan
        .slots
        .iter()
        .filter(|slot| !slot.treatment.is_sent() || slot.treatment == Treatment::Summary)
        .map(|slot| slot.sources.len())
        .sum();
    let (before, after) = (number(*from), number(plan.tokens.after));
    let en = format!(
        "{before} → {after} tokens: {kept} messages stay as they are, {short} are shortened, {gone} are summed up; nothing is deleted"
    );
    let zh = format!(
        "{before} → {after} 个 token：{kept} 条消息原样保留，{short} 条缩短，{gone} 条被总结；不会删除任何内容"
    );
    chat.screen.say(&say(en, zh));
    for slot in plan.slots.iter().filter(|slot| slot.treatment != Treatment::Verbatim).take(SHOWN) {
        let cleared = usize::try_from(chat.relay.agent.live().cleared()).unwrap_or_default();
        let places: Vec<usize> = slot.sources.iter().map(|source| cleared + source + 1).collect();
        chat.screen.note(&format!("  {}: {} – {}", span(&places), slot.treatment.name(), slot.reason));
    }
    if chat.agrees(say("fold?", "折叠？")) {
        let screen = chat.screen.clone();
        let folded = chat.relay.agent.live_mut().fold(REASON, focus, |event| {
            if let Some(text) = call_note(&event) {
                screen.note(&text);
            }
        });
        if !folded.await? {
            chat.screen.say(say("there is nothing to fold", "没有可折叠的内容"));
        }
    }
    Ok(Then::Stay)
}

/// Why the log says it was folded.
const REASON: &str = "the user asked for it";

/// How many slots are shown.
const SHOWN: usize = 12;

/// Places as a person writes them: `3`, `3–9`.
fn span(places: &[usize]) -> String {
    match (places.first(), places.last()) {
        (Some(first), Some(last)) if first != last => format!("{first}–{last}"),
        (Some(first), _) => first.to_string(),
        _ => "–".to_owned(),
    }
}
