//! `--judge`: the model of a server scores recorded answers, given the context that each policy
//! would have sent.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tokio::runtime::Runtime;
use waterline::message::{Message, Wire};
use waterline_config::OWN_KEY;
use waterline_provider::CallError;
use waterline_provider::http::{Endpoint, Key, PromptToken, Timeouts};
use waterline_provider::retry::Retry;
use waterline_replay::chatml::Prompt;
use waterline_replay::judge::{Candidates, Judge};
use waterline_replay::report::{JudgeInfo, Report};
use waterline_replay::run::{Context as Sent, ReplayConfig};
use waterline_replay::surprise::{Score, Token};

use super::{each, progress};
use crate::environment::environment;
use crate::sessions::Origin;
use crate::text;

/// A small machine needs minutes to read a long prompt, and sends nothing until it has.
const TIMEOUT: Duration = Duration::from_secs(1_800);

#[derive(Debug, clap::Args)]
pub struct JudgeArguments {
    /// Score sampled answers with the model of this OpenAI-compatible server (surprise); it must
    /// return log-probabilities of a prompt (vLLM, SGLang, llama-cpp-python); the key is in
    /// WATERLINE_API_KEY
    #[arg(long, value_name = "URL")]
    judge: Option<String>,
    /// Model of that server (default: --model if the server lists it, else its first model);
    /// --model alone decides how tokens are counted
    #[arg(long, value_name = "NAME", requires = "judge")]
    judge_model: Option<String>,
    /// Number of answers to score per policy and window
    #[arg(long, value_name = "N", default_value = "50", requires = "judge")]
    judge_sample: NonZeroUsize,
}

/// A context does not fit into the window of the judge.
#[derive(Debug)]
struct TooLong;

impl std::error::Error for TooLong {}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text!("replay-judge-too-long"))
    }
}

/// A server that scores answers.
pub struct Server {
    endpoint: Endpoint,
    url: String,
    model: String,
    sample: usize,
    retry: Retry,
    runtime: Runtime,
}

impl JudgeArguments {
    /// Connects to the server and scores a short prompt, so that a server that cannot do it is
    /// reported before anything is replayed.
    pub fn connect(&self, counted_model: Option<&str>) -> Result<Option<Server>> {
        let Some(url) = &self.judge else { return Ok(None) };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let key = environment().variable(OWN_KEY).map(Key::new);
        let timeouts = Timeouts { first_token: TIMEOUT, ..Timeouts::default() };
        let endpoint = Endpoint::new(Wire::OPENAI_CHAT, Some(url), key, timeouts)?;
        let chosen = self.judge_model.clone();
        let chosen =
            chosen.or_else(|| choose_model(runtime.block_on(endpoint.models()), counted_model));
        let lists_none = chosen.is_none();
        let model = chosen.unwrap_or_default();
        let sample = self.judge_sample.get();
        let retry = Retry { rate_limit: Vec::new(), transient: Vec::new(), ..Retry::default() };
        let server = Server { endpoint, url: url.clone(), model, sample, retry, runtime };
        let question = Message::user("1, 2, 3?");
        let tried = server.score(&Prompt::new(&[&question], &Message::assistant("4, 5, 6.")));
        match tried {
            // A server that cannot be reached lists no models either.
            Err(error) if lists_none && !is_unreachable(&error) => {
                bail!(text!("replay-judge-no-model", url = url.as_str()))
            }
            tried => tried?,
        };
        // From here on a failure would cost the scores made so far.
        Ok(Some(Server { retry: Retry::default(), ..server }))
    }
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    let call = error.downcast_ref::<CallError>();
    matches!(call, Some(CallError::Connect { .. } | CallError::Timeout { .. }))
}

/// Returns the model to judge with: the one that tokens are counted for if the server has it, else
/// the server's first. A server that lists none may still have the former.
fn choose_model(listed: Vec<String>, counted: Option<&str>) -> Option<String> {
    let counted = counted.map(str::to_owned);
    let is_listed = counted.as_ref().is_some_and(|model| listed.contains(model));
    if is_listed { counted } else { listed.into_iter().next().or(counted) }
}

impl Server {
    /// Scores the sampled calls in a second replay, and adds the scores to the report.
    pub fn judge(
        &self,
        report: &mut Report,
        candidates: Candidates,
        second: &Second<'_>,
    ) -> Result<()> {
        let Second { config, origins, session, datasets } = second;
        let sample = candidates.sample(&config.windows, self.sample);
        let bar = progress(sample.len() * config.policies.len());
        bar.set_message(text!("replay-judging", model = self.model.as_str()));
        let most = config.windows.iter().map(|&window| sample.count(window)).max().unwrap_or(0);
        report.judge = Some(JudgeInfo { model: self.model.clone(), answers: most, too_long: 0 });
        let score = |prompt: &Prompt| {
            let score = self.score(prompt);
            bar.inc(1);
            match score {
                Err(error) if error.is::<TooLong>() => Ok(None),
                other => other.map(Some),
            }
        };
        let sample_size = sample.len();
        let judge = Judge::new(sample, &score);
        let watch = |number: usize, sent: &Sent<'_>| judge.judge(number, sent);
        each(config, origins, *session, Some(&bar), &watch, |_| {})?;
        let too_long = judge.finish(report, datasets)?;
        if most > 0 && too_long == sample_size {
            return Err(TooLong).with_context(|| self.failed());
        }
        if let Some(info) = &mut report.judge {
            info.too_long = too_long;
        }
        Ok(())
    }

    /// Says that the judge failed. A server that lists no models is named by its address.
    fn failed(&self) -> String {
        let name = if self.model.is_empty() { &self.url } else { &self.model };
        text!("replay-judge-failed", model = name.as_str())
    }

    fn score(&self, prompt: &Prompt) -> Result<Score> {
        let received = self.runtime.block_on(self.tokens(&prompt.text()));
        let tokens: Vec<Token> = received
            .map_err(|error| match error.overflow() {
                Some(_) => anyhow::Error::from(TooLong),
                None => error.into(),
            })
            .with_context(|| self.failed())?
            .into_iter()
            .map(|PromptToken { text, logprob, .. }| Token { text, logprob })
            .collect();
        Score::of_answer(prompt, &tokens)
            .ok_or_else(|| anyhow!(text!("replay-judge-unaligned", url = self.url.as_str())))
    }

    async fn tokens(&self, prompt: &str) -> Result<Vec<PromptToken>, CallError> {
        let mut failed = 0;
        loop {
            let error = match self.endpoint.prompt_logprobs(&self.model, prompt).await {
                Ok(tokens) => return Ok(tokens),
                Err(error) => error,
            };
            failed += 1;
            match self.retry.wait(&error, failed, 0.0) {
                Some(delay) => tokio::time::sleep(delay).await,
                None => return Err(error),
            }
        }
    }
}

/// What the second replay needs of the first.
pub struct Second<'a> {
    pub config: &'a ReplayConfig,
    pub origins: &'a [Origin],
    pub session: Option<&'a str>,
    /// The dataset of each session.
    pub datasets: &'a [usize],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_is_a_model_of_the_server() {
        let listed = || vec!["first".to_owned(), "second".to_owned()];
        assert_eq!(choose_model(listed(), None).as_deref(), Some("first"));
        assert_eq!(choose_model(listed(), Some("second")).as_deref(), Some("second"));
        assert_eq!(choose_model(listed(), Some("gpt-4")).as_deref(), Some("first"));
        assert_eq!(choose_model(Vec::new(), Some("gpt-4")).as_deref(), Some("gpt-4"));
        assert_eq!(choose_model(Vec::new(), None), None);
    }
}
