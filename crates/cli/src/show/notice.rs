//! Notices about settings and sessions.

use waterline_agent::changes::{FileOutcome, MovedFile, Unrecorded};
use waterline_agent::mcp::{ServerProblem, ServerProblemKind};
use waterline_agent::skill::SkillProblem;
use waterline_agent::{Notice as TurnNotice, StartNotice};
use waterline_config::Notice;
use waterline_session::{LiveSession, WindowSource};

use super::{phrase, plain};
use crate::error::{describe_cause, describe_note, unsupported};
use crate::lang::{list, relist};
use crate::text;

/// Returns the text of a notice about settings.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Narrowed { key, file, wanted, allowed } => text!(
            "notice-narrowed",
            key = key.as_str(),
            file = *file,
            wanted = wanted.as_str(),
            allowed = allowed.as_str()
        ),
        Notice::UntrustedModel { key, model } => {
            text!("notice-untrusted-model", key = *key, model = model.as_str())
        }
        Notice::ProjectAddress(address) => {
            text!("notice-project-address", address = plain(address))
        }
        Notice::KeyFromEnvFile(name) => text!("notice-key-from-env", name = *name),
        Notice::UnusedVariable { variable, preset, policy } => text!(
            "notice-unused-variable",
            variable = *variable,
            preset = preset.as_str(),
            policy = policy.as_str()
        ),
        Notice::Fallback { model, why } => {
            text!("notice-fallback", model = model.as_str(), why = describe_cause(why))
        }
        Notice::Unconfined(why) => text!("notice-unconfined", why = unsupported(why)),
        Notice::RoleTaken(name) => text!("notice-role-taken", name = name.as_str()),
        Notice::Skill(problem) => skill_problem(problem),
        Notice::Server(problem) => server_problem(problem),
        Notice::Roles(why) => text!("notice-roles", why = describe_cause(why)),
        Notice::DuplicateTool(name) => text!("error-agent-duplicate-tool", name = name.as_str()),
        Notice::NoToolMatches { pattern, known } => {
            text!("error-agent-no-tool", pattern = pattern.as_str(), known = relist(known))
        }
        Notice::EnvFile(why) => text!("notice-env-file", why = describe_cause(why)),
        Notice::Other(why) => text!("notice-other", why = why.as_str()),
        other => other.to_string(),
    }
}

/// Returns why a skill cannot be used.
pub fn skill_problem(problem: &SkillProblem) -> String {
    match problem {
        SkillProblem::Link(path) => text!("notice-skill-link", path = path.display().to_string()),
        SkillProblem::Invalid { path, why } => {
            text!("notice-skill-invalid", path = path.display().to_string(), why = phrase(why))
        }
        other => other.to_string(),
    }
}

/// Returns what is wrong with a server.
pub fn server_problem(problem: &ServerProblem) -> String {
    let server = problem.server.as_str();
    match &problem.kind {
        ServerProblemKind::Start { program, directory: None, why } => {
            let program = program.as_str();
            text!("server-start", server = server, program = program, why = describe_cause(why))
        }
        ServerProblemKind::Start { program, directory: Some(directory), why } => text!(
            "server-start-in",
            server = server,
            program = program.as_str(),
            directory = directory.display().to_string(),
            why = describe_cause(why)
        ),
        ServerProblemKind::Header(name) => {
            text!("server-header", server = server, name = name.as_str())
        }
        ServerProblemKind::Connect(why) => {
            text!("server-connect", server = server, why = phrase(why))
        }
        ServerProblemKind::Closed => text!("server-closed", server = server),
        ServerProblemKind::List(why) => text!("server-list", server = server, why = phrase(why)),
        ServerProblemKind::Timeout(after) => {
            text!("server-timeout", server = server, seconds = after.as_secs())
        }
        ServerProblemKind::EndlessList => text!("server-endless-list", server = server),
        ServerProblemKind::LargeTool { tool, kilobytes } => text!(
            "server-large-tool",
            server = server,
            tool = tool.as_str(),
            kilobytes = *kilobytes
        ),
        ServerProblemKind::TooManyTools { left_out, most, kilobytes } => text!(
            "server-too-many-tools",
            server = server,
            count = *left_out,
            most = *most,
            kilobytes = *kilobytes
        ),
        ServerProblemKind::NoTool(name) => {
            text!("server-no-tool", server = server, name = name.as_str())
        }
        _ => problem.to_string(),
    }
}

/// Returns the text of a notice about a turn.
pub fn turn_notice(notice: &TurnNotice) -> String {
    match notice {
        TurnNotice::OtherProcess => text!("notice-other-process"),
        TurnNotice::BufferConfigIgnored => text!("notice-buffer-config"),
        TurnNotice::Moved(file) => moved(file),
        TurnNotice::Unrecorded(found) => unrecorded(found),
        TurnNotice::Memory(error) => text!("notice-memory", why = describe_note(error)),
        TurnNotice::Template(text) => text!("memory-template", text = plain(text)),
        TurnNotice::ToolsInShort { count, share } => {
            text!("notice-tools-in-short", count = *count, share = *share)
        }
        TurnNotice::TokenThreshold { threshold, max } => {
            text!("notice-token-threshold", threshold = *threshold, max = *max)
        }
        TurnNotice::Import { file, name } => {
            text!("notice-import", file = plain(file), name = plain(name))
        }
        TurnNotice::InstructionsChanged(files) => {
            text!("notice-instructions-changed", files = some(files))
        }
        TurnNotice::InstructionsTruncated(files) => {
            text!("notice-instructions-truncated", files = some(files))
        }
        TurnNotice::Instructions(why) => text!("notice-instructions", why = describe_cause(why)),
        other => other.to_string(),
    }
}

fn moved(file: &MovedFile) -> String {
    let paths = plain(&file.path);
    match &file.outcome {
        FileOutcome::Restored => text!("files-restored", paths = paths),
        FileOutcome::Removed => text!("files-removed", paths = paths),
        FileOutcome::RestoredInPart => text!("files-in-part", paths = paths),
        FileOutcome::ChangedMeanwhile => text!("files-kept", paths = paths),
        FileOutcome::TooLarge => text!("files-too-large", paths = paths),
        FileOutcome::NotRecorded => text!("files-not-recorded", paths = paths),
        FileOutcome::Repository => text!("files-repository", paths = paths),
        FileOutcome::Link => text!("files-links", paths = paths),
        FileOutcome::Failed(why) => text!("files-failed", path = paths, why = describe_cause(why)),
        _ => TurnNotice::Moved(file.clone()).to_string(),
    }
}

fn unrecorded(found: &Unrecorded) -> String {
    match found {
        Unrecorded::Directory(path) => {
            text!("notice-unrecorded-directory", path = path.display().to_string())
        }
        Unrecorded::Files { first, more } => {
            text!("notice-unrecorded-files", first = first.as_str(), more = *more)
        }
        Unrecorded::Ignored { directories, count, or_more } => {
            let paths = some(directories);
            match or_more {
                true => text!("notice-unrecorded-ignored-more", count = *count, paths = paths),
                false => text!("notice-unrecorded-ignored", count = *count, paths = paths),
            }
        }
        Unrecorded::Session { bytes } => {
            text!("notice-unrecorded-session", megabytes = *bytes / 1_000_000)
        }
        other => other.to_string(),
    }
}

/// Returns the names of directories, for one line.
fn some(directories: &[String]) -> String {
    const MOST: usize = 10;
    let mut names: Vec<String> = directories.iter().take(MOST).map(|name| plain(name)).collect();
    let more = directories.len().saturating_sub(MOST);
    names.extend((more > 0).then(|| text!("call-more-files", count = more)));
    list(&names)
}

/// Returns the notice that the window of a session's model is a guess or was learned from a
/// refusal, if it is. A server that cannot be reached says nothing about it, and the next call
/// tells why.
fn window_note(live: &LiveSession) -> Option<String> {
    let model = live.model();
    let name = plain(&model.name);
    if live.learned_window().is_some() {
        let address = plain(model.model.address());
        return Some(text!(
            "window-learned",
            model = name,
            window = live.window(),
            address = address
        ));
    }
    (model.window_source == WindowSource::Guess && !model.is_unreachable)
        .then(|| text!("window-guess", model = name, window = live.window()))
}

/// Returns the notes about the model of a session: its server does not list it, or its window is a
/// guess or was learned.
pub fn model_notes(live: &LiveSession) -> Vec<String> {
    let model = live.model();
    let missing = || {
        let address = plain(model.model.address());
        text!("model-not-listed", model = plain(&model.name), address = address)
    };
    let missing = model.is_missing.then(missing);
    missing.into_iter().chain(window_note(live)).collect()
}

/// Returns the text of a notice that a session keeps something other than the flags ask for.
pub fn kept(kept: &StartNotice) -> String {
    match kept {
        StartNotice::Prompt => text!("kept-prompt"),
        StartNotice::Role { own, asked } => {
            text!("kept-role", own = own.as_str(), asked = asked.as_str())
        }
        StartNotice::PromptInRole(role) => text!("kept-prompt-in-role", role = role.as_str()),
        StartNotice::Model { before, now } => {
            text!("kept-model", before = before.as_str(), now = now.as_str())
        }
        other => other.to_string(),
    }
}
