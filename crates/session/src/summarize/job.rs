//! Background summaries as jobs in the log: a summary that a process did not finish is made by the
//! next one that opens the session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use waterline::plan::SummaryRequest;
use waterline::summary::Language;
use waterline::summary::schema::Schema;
use waterline_log::{Job, SUMMARY_JOB};

use crate::error::SessionError;
use crate::live::LiveSession;

/// What is needed to make the summary again.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    /// The generation that the summary is for.
    generation: u64,
    /// Positions of the messages in the session.
    positions: Vec<u64>,
    schema: String,
    is_chinese: bool,
    /// What the model is asked, if the policy has its own prompt. Jobs of earlier versions have
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<OwnPrompt>,
    max_tokens: usize,
    #[serde(rename = "replaces")]
    replaced_tokens: usize,
}

/// A prompt that replaces the one of the schema, with what its reply must contain.
#[derive(Debug, Serialize, Deserialize)]
struct OwnPrompt {
    request: String,
    keys: Vec<String>,
}

impl OwnPrompt {
    /// Returns the prompt of a schema, if it is not the built-in one.
    fn of(schema: &Schema) -> Option<Self> {
        let built_in = Schema::localized(&schema.name, schema.language);
        let is_own = built_in.is_none_or(|built_in| built_in.request != schema.request);
        is_own.then(|| Self { request: schema.request.clone(), keys: schema.keys.clone() })
    }
}

impl LiveSession {
    /// Adds the job of a summary that is about to be made, and returns its number.
    pub(super) async fn add_summary_job(
        &self,
        wanted: &SummaryRequest,
        generation: u64,
    ) -> Result<i64, SessionError> {
        let payload = Payload {
            generation,
            positions: wanted.sources.iter().map(|&source| self.position(source)).collect(),
            schema: wanted.schema.name.clone(),
            is_chinese: wanted.schema.language == Language::Chinese,
            own: OwnPrompt::of(&wanted.schema),
            max_tokens: wanted.max_tokens,
            replaced_tokens: wanted.replaced_tokens,
        };
        let payload = serde_json::to_string(&payload).unwrap_or_default();
        let id = self.session.id.clone();
        Ok(self.write(move |log| log.replace_jobs(SUMMARY_JOB, &id, &payload)).await?)
    }

    /// Makes a summary in the background that an earlier process did not finish. A job whose
    /// generation is gone is dropped.
    pub(super) async fn resume_summary(&mut self) -> Result<(), SessionError> {
        let id = self.session.id.clone();
        let jobs = self.on_log(move |log| log.jobs(Some(&id))).await?;
        let Some(job) = jobs.into_iter().rfind(|job| job.kind == SUMMARY_JOB) else {
            return Ok(());
        };
        self.load_everything().await?;
        let work = match self.wanted_by(&job) {
            Some(wanted) => self.work(&wanted, false).await?.map(|made| (wanted, made)),
            None => None,
        };
        let Some((wanted, (work, sources))) = work else {
            self.write(move |log| log.claim_job(job.key)).await?;
            return Ok(());
        };
        self.run_in_background(&wanted, work, sources, self.generation.number, job.key).await
    }

    /// Returns the summary that a job is about, if its generation is still the current one.
    fn wanted_by(&self, job: &Job) -> Option<SummaryRequest> {
        let payload: Payload = serde_json::from_str(&job.payload).ok()?;
        if payload.generation != self.generation.number {
            return None;
        }
        let language = if payload.is_chinese { Language::Chinese } else { Language::English };
        let mut schema = Schema::localized(&payload.schema, language)?;
        if let Some(OwnPrompt { request, keys }) = payload.own {
            let own = Arc::make_mut(&mut schema);
            own.request = request;
            own.keys = keys;
        }
        let index = |position: &u64| usize::try_from(position.checked_sub(self.cleared + 1)?).ok();
        let all: Option<Vec<usize>> = payload.positions.iter().map(index).collect();
        let sources = all.filter(|sources| !sources.is_empty())?;
        Some(SummaryRequest::restored(sources, payload.max_tokens, payload.replaced_tokens, schema))
    }
}
