//! Imports the lines about sessions and the rows that belong to them.

use std::sync::Arc;

use waterline::phrase;

use super::{Import, Target, decode};
use crate::checkpoint::{self, Checkpoint, Stored};
use crate::clear::add_clear_mark;
use crate::encoding::{hash_name, parse_hash};
use crate::error::{LogError, Result};
use crate::format_1::Format1State;
use crate::id::Id;
use crate::line::{JobLine, SentLine, SessionLine, SummaryLine, ToolsLine, UsageLine};
use crate::navigate::left_tips;
use crate::request_context::{self, ContextUpdate};
use crate::session::{self, Document, Relation, Session};
use crate::store::values;
use crate::toolset;
use crate::tree::{Path, Tip};

impl Import<'_> {
    pub(super) fn session(&mut self, line: SessionLine) -> Result<()> {
        session::check_id(&line.id)?;
        let exported_id = line.id.clone();
        let tip = self.tip_of(line.tip.as_deref())?;
        // Messages on left branches are imported too: a user may switch to them.
        let left = line
            .left
            .iter()
            .map(|left| self.tip_of(Some(left.as_str())).map_or(0, |tip| tip.position));
        let imported = left.max().unwrap_or(0).max(tip.position);
        let (state, tools) = self.portable(line.state, line.tools)?;
        let mut session = Session {
            title: line.title,
            user: line.user,
            parent: line.parent,
            relation: Relation::named(&line.relation),
            context_id: line.context_id,
            parent_context: line.parent_context,
            model: line.model,
            policy: line.policy,
            overrides: line.overrides,
            state,
            imported,
            tools,
            tip,
            created: line.created,
            active: line.active,
            ..Session::new(line.id)
        };
        session.set_imported_at(self.now);
        let known = self.insert_or_extend(&mut session)?;
        self.state.targets.insert(exported_id, Target { id: session.id.clone(), known });
        if known.is_some() {
            for mark in line.cuts {
                let mark = self.tip_of(Some(&mark))?;
                add_clear_mark(self.connection, &session.id, mark, self.now)?;
            }
            for left in line.left {
                self.add_left_branch(&session.id, &left, tip)?;
            }
        }
        Ok(())
    }

    /// Returns the state of a line and the stored hash of its tools. Approvals and directories of
    /// another machine are dropped.
    fn portable(
        &mut self,
        state: Document,
        tools: Option<String>,
    ) -> Result<(Document, Option<String>)> {
        let (state, definitions) = match self.state.version {
            1 => {
                let old = Format1State::of(state);
                (old.state, old.tools.map(|tools| Arc::new(tools.into_bytes())))
            }
            _ => (state, tools.and_then(|hash| self.state.tools.get(&hash).cloned())),
        };
        let hash = match definitions {
            Some(definitions) => Some(hash_name(&toolset::put(self.connection, &definitions)?)),
            None => None,
        };
        Ok((state, hash))
    }

    pub(super) fn tools(&mut self, line: ToolsLine) -> Result<()> {
        let bytes = decode(line.bytes)?;
        if blake3::hash(&bytes).to_hex().as_str() != line.hash {
            return Err(LogError::refused(phrase!(
                "import-tools-changed",
                "the tool definitions were changed: they do not match their hash"
            )));
        }
        self.state.tools.insert(line.hash, Arc::new(bytes));
        Ok(())
    }

    /// Inserts a session, or extends the existing one with its id. If that has other messages,
    /// inserts a fork of it. Returns how many messages the session had before; `None` if it had
    /// all.
    fn insert_or_extend(&mut self, new: &mut Session) -> Result<Option<u64>> {
        if session::insert(self.connection, new)? {
            self.added.sessions += 1;
            return Ok(Some(0));
        }
        let existing = session::load(self.connection, &new.id)?;
        let mut tips = vec![existing.tip];
        tips.extend(left_tips(self.connection, &existing.id)?);
        for tip in tips {
            if Path::of(self.connection, tip)?.contains(new.tip) {
                return Ok(None);
            }
        }
        if Path::of(self.connection, new.tip)?.contains(existing.tip) {
            if !session::put(
                self.connection,
                &existing,
                new.tip,
                existing.request_context,
                new.active,
            )? {
                return Err(self.connection.race());
            }
            // Drop the approvals: they were not given for the imported messages.
            let sql = "UPDATE session SET title = $1, state = $2, local = $3, workspace = NULL, \
                       imported = $4, tools = COALESCE($5, tools) WHERE id = $6";
            let state = session::text(&new.state);
            let tools = new.tools.as_deref().and_then(parse_hash);
            let local = session::text(&new.local);
            let values = values![&new.title, state, local, new.imported, tools, &new.id];
            self.connection.run(sql, values)?;
            self.added.continued += 1;
            return Ok(Some(existing.tip.position));
        }
        let last_id =
            crate::tree::id_at(self.connection, new.tip)?.map(|id| id.short()).unwrap_or_default();
        new.parent = Some(existing.id.clone());
        new.relation = Relation::Fork;
        new.id = format!("{}-{last_id}", existing.id);
        if !session::insert(self.connection, new)? {
            return Ok(None);
        }
        self.added.forked.push(existing.id);
        Ok(Some(0))
    }

    /// Records a branch that the session has left, unless it is recorded already.
    fn add_left_branch(&mut self, session: &str, message: &str, to: Tip) -> Result<()> {
        let tip = self.tip_of(Some(message))?;
        let sql = "SELECT COUNT(*) FROM move \
                   WHERE session = $1 AND from_branch = $2 AND from_position = $3";
        if self.connection.number(sql, values![session, tip.branch, tip.position])? > 0 {
            return Ok(());
        }
        let sql = "INSERT INTO move (session, number, kind, from_branch, from_position, \
                   to_branch, to_position, created) \
                   SELECT $1, COALESCE(MAX(number), 0) + 1, 'rewind', $2, $3, $4, $5, $6 \
                   FROM move WHERE session = $1";
        let values = values![session, tip.branch, tip.position, to.branch, to.position, self.now];
        self.connection.run(sql, values).map(drop)
    }

    pub(super) fn sent(&mut self, line: SentLine) -> Result<()> {
        let at = self.tip_of(line.at.as_deref())?;
        let Some(id) = self.target_if_new(&line.session, at.position)? else { return Ok(()) };
        let session = session::load(self.connection, &id)?;
        if !Path::of(self.connection, session.tip)?.contains(at) {
            return Err(LogError::refused(phrase!(
                "import-context-outside",
                "a request context of session {id} refers to a message outside the session",
                id = &id
            )));
        }
        let SentLine { cleared, head, past, slots, fold, time, .. } = line;
        let key = request_context::add(
            self.connection,
            &session,
            at,
            &ContextUpdate { cleared, head, past, slots, fold },
            time,
        )?;
        self.connection
            .run("UPDATE session SET frozen = $1 WHERE id = $2", values![key, &id])
            .map(drop)
    }

    pub(super) fn summary(&mut self, line: SummaryLine) -> Result<()> {
        let until = self.tip_of(Some(&line.until))?;
        let Some(id) = self.target_if_new(&line.session, until.position)? else { return Ok(()) };
        let target = line.target.as_deref().map(str::parse::<Id>).transpose()?;
        let sql = "INSERT INTO summary (session, version, start, branch, position, target, \
                   generation, text, tokens, original_tokens, created) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                   ON CONFLICT (session, version) DO NOTHING";
        let values = values![
            &id,
            line.version,
            line.start,
            until.branch,
            until.position,
            target,
            line.generation,
            &line.text,
            line.tokens,
            line.original_tokens,
            line.time
        ];
        self.connection.run(sql, values).map(drop)
    }

    pub(super) fn checkpoint(&mut self, line: Checkpoint) -> Result<()> {
        let Some(thread_id) = self.target_if_new(&line.thread_id, line.checkpoint.messages)? else {
            return Ok(());
        };
        let tip = self.tip_of(line.checkpoint.message.as_deref())?;
        let state = match self.state.version {
            1 => Format1State::of(line.checkpoint.state).state,
            _ => line.checkpoint.state,
        };
        let checkpoint =
            Checkpoint { thread_id, checkpoint: Stored { state, ..line.checkpoint }, ..line };
        checkpoint::insert(self.connection, &checkpoint, tip).map(drop)
    }

    pub(super) fn usage(&mut self, line: UsageLine) -> Result<()> {
        let Some(id) = self.target_if_new(&line.session, line.usage.position)? else {
            return Ok(());
        };
        crate::usage::insert_as(self.connection, &id, line.number, &line.usage).map(drop)
    }

    pub(super) fn job(&mut self, line: JobLine) -> Result<()> {
        let Some(session) = &line.session else { return Ok(()) };
        let id = self.target(session)?;
        let is_new = self.state.targets.get(session).is_some_and(|target| target.known == Some(0));
        if is_new {
            crate::job::insert(self.connection, &line.kind, Some(&id), &line.payload, self.now)?;
        }
        Ok(())
    }
}
