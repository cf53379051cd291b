//! The event log on standard error: as text, as JSON, or in the lines that Agent Service printed
//! (S3.40–S3.47). Those lines are a fixed format in Chinese, not messages of the program.

use std::collections::BTreeMap;
use std::fmt;

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt as lines};

use crate::text;

/// The format of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per event
    Text,
    /// One JSON object per event
    Json,
    /// The lines of Agent Service, in Chinese
    Agent,
}

/// The flags of the event log.
#[derive(Clone, Debug, clap::Args)]
pub struct LogArguments {
    /// Log events to standard error in this format
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Events to log: error, warn, info, debug, or a filter such as waterline::context=info
    /// (default: info with --log-format, else none)
    #[arg(long, value_name = "FILTER", env = "WATERLINE_LOG", value_parser = filter)]
    log: Option<String>,
}

/// Checks a filter. Its parser accepts `target=` and then logs nothing.
fn filter(text: &str) -> Result<String, String> {
    let has_level = text.split(',').all(|directive| !directive.trim_end().ends_with('='));
    match EnvFilter::try_new(text) {
        Ok(_) if has_level => Ok(text.to_owned()),
        _ => Err(text!("argument-log-filter", value = text)),
    }
}

impl LogArguments {
    /// Starts logging, if a flag asks for it.
    pub fn start(&self) -> anyhow::Result<()> {
        if self.log_format.is_none() && self.log.is_none() {
            return Ok(());
        }
        let filter = EnvFilter::try_new(self.log.as_deref().unwrap_or("waterline=info"))?;
        let registry = tracing_subscriber::registry().with(filter);
        let spans = lines::format::FmtSpan::CLOSE;
        let color = std::io::IsTerminal::is_terminal(&std::io::stderr());
        match self.log_format.unwrap_or(LogFormat::Text) {
            LogFormat::Text => registry
                .with(
                    lines::layer()
                        .with_ansi(color)
                        .with_writer(std::io::stderr)
                        .with_span_events(spans),
                )
                .try_init()?,
            LogFormat::Json => registry
                .with(lines::layer().json().with_writer(std::io::stderr).with_span_events(spans))
                .try_init()?,
            LogFormat::Agent => registry.with(AgentLines).try_init()?,
        }
        Ok(())
    }
}

/// Writes events as lines of Agent Service.
struct AgentLines;

impl<S: Subscriber> Layer<S> for AgentLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for line in agent_lines(&fields) {
            anstream::eprintln!("{}", crate::show::plain(&line));
        }
    }
}

#[derive(Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Formats an event as lines of Agent Service; events that it did not have keep their message.
fn agent_lines(fields: &Fields) -> Vec<String> {
    let of = |name: &str| fields.text(name).to_owned();
    match fields.text("message") {
        "context folded" => {
            // Agent Service had no figure for tool definitions. Like the system prompt, they are
            // sent with every call, so they count with it.
            let system = fields.number("system") + fields.number("tools");
            let share = 100.0 * fields.number("usable") / fields.number("window").max(1.0);
            let saved = 100.0 * fields.number("reduction");
            vec![
                "[Agent] 上下文优化触发:".to_owned(),
                format!("[Agent]   - 上下文窗口: {}, 目标使用率: {share:.1}%", of("window")),
                format!(
                    "[Agent]   - 最大可用: {}, System占用: {system}, 剩余可用: {}",
                    of("usable"),
                    of("available")
                ),
                format!("[Agent]   - 原始消息: {} 条, {} tokens", of("messages"), of("tokens")),
                format!(
                    "[Agent]   - 总结预算: {}, 最近对话预算: {}",
                    of("summary_budget"),
                    of("recent_budget")
                ),
                format!(
                    "[上下文] 构建完成: System={system}t, Summary={}t, Recent={}t ({}条/{}条), Total={}t",
                    of("summary"),
                    of("recent"),
                    of("shown"),
                    of("messages"),
                    of("total")
                ),
                "[Agent] 上下文优化完成:".to_owned(),
                format!("[Agent]   - 优化后消息: {} 条, {} tokens", of("shown"), of("recent")),
                format!("[Agent]   - 削减率: {saved:.1}%"),
            ]
        }
        "context sent" => vec![
            format!("[Agent] 发送给 LLM 的消息: {} 条", of("sent")),
            format!("[Agent] 最终上下文大小: 约 {} tokens", of("total")),
        ],
        "call" => Vec::new(),
        message => vec![format!("[Agent] {message}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3.40–S3.48, E.7, E.8: the seed's figures give the seed's lines.
    #[test]
    fn s3_40_to_s3_48_e08_the_lines_of_the_seed() {
        let fields = |pairs: &[(&'static str, &str)]| {
            Fields(pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
        };
        let folded = fields(&[
            ("message", "context folded"),
            ("window", "128000"),
            ("usable", "76800"),
            ("system", "2156"),
            ("available", "74644"),
            ("messages", "50"),
            ("tokens", "45000"),
            ("summary_budget", "19407"),
            ("recent_budget", "48518"),
            ("summary", "0"),
            ("recent", "12000"),
            ("reduction", "0.7333333333333334"),
            ("shown", "15"),
            ("total", "14156"),
        ]);
        let expected = [
            "[Agent] 上下文优化触发:",
            "[Agent]   - 上下文窗口: 128000, 目标使用率: 60.0%",
            "[Agent]   - 最大可用: 76800, System占用: 2156, 剩余可用: 74644",
            "[Agent]   - 原始消息: 50 条, 45000 tokens",
            "[Agent]   - 总结预算: 19407, 最近对话预算: 48518",
            "[上下文] 构建完成: System=2156t, Summary=0t, Recent=12000t (15条/50条), Total=14156t",
            "[Agent] 上下文优化完成:",
            "[Agent]   - 优化后消息: 15 条, 12000 tokens",
            "[Agent]   - 削减率: 73.3%",
        ];
        assert_eq!(agent_lines(&folded), expected);
        let mut with_tools = folded;
        with_tools.0.extend([
            ("tools", "1000".to_owned()),
            ("available", "73644".to_owned()),
            ("total", "15156".to_owned()),
        ]);
        let lines = agent_lines(&with_tools).join("\n");
        for part in [
            "最大可用: 76800, System占用: 3156, 剩余可用: 73644\n",
            "System=3156t, Summary=0t, Recent=12000t (15条/50条), Total=15156t\n",
        ] {
            assert!(lines.contains(part), "{part} in {lines}");
        }
        let sent = fields(&[("message", "context sent"), ("sent", "16"), ("total", "14156")]);
        assert_eq!(
            agent_lines(&sent),
            ["[Agent] 发送给 LLM 的消息: 16 条", "[Agent] 最终上下文大小: 约 14156 tokens"]
        );
    }
}
