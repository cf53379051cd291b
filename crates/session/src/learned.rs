//! What providers taught about their models, kept from session to session: the real window, and how far the counter is off.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waterline::tokens::Calibration;

use crate::error::SessionError;
use crate::live::Live;

/// Whose settings these are in the log: everybody's.
const EVERYBODY: &str = "";

/// A factor that moved by less is not worth a write.
const WORTH: f64 = 0.03;

/// What is known of a model by experience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lesson {
    /// The largest prompt that the provider takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    /// When that was said, in milliseconds since 1970.
    #[serde(default)]
    time: i64,
    /// Real tokens for each counted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
}

/// How long a window that was learned is taken for granted, in milliseconds: a server may be started with another one.
const HOLDS: i64 = 24 * 60 * 60 * 1_000;

impl Lesson {
    /// The window, if the lesson is not too old.
    pub(crate) fn window(&self, now: i64) -> Option<usize> {
        self.window.filter(|_| now - self.time < HOLDS)
    }

    /// The calibration to begin with.
    pub(crate) fn calibration(&self) -> Calibration {
        self.factor.map_or_else(Calibration::default, Calibration::of)
    }
}

/// The lessons among the settings of the log.
fn read(preferences: &BTreeMap<String, String>) -> BTreeMap<String, Lesson> {
    let lessons = preferences.iter().filter_map(|(name, value)| {
        let key = name.strip_prefix("learned/")?;
        Some((key.to_owned(), serde_json::from_str(value).ok()?))
    });
    lessons.collect()
}

impl Live {
    pub(crate) async fn load_lessons(log: &waterline_log::Log) -> Result<BTreeMap<String, Lesson>, SessionError> {
        let log = log.clone();
        let asked = tokio::task::spawn_blocking(move || log.preferences(EVERYBODY)).await;
        let preferences = asked.map_err(|_| SessionError::Ending)??;
        Ok(read(&preferences))
    }

    /// The name under which the experience with a model is kept: the same model may have another window elsewhere.
    pub(crate) fn lesson_key(&self) -> String {
        let candidate = self.setup.candidate(self.at);
        match &candidate.place {
            crate::setup::Place::Endpoint(endpoint) => format!("{}@{}", candidate.name, endpoint.base()),
            crate::setup::Place::Offline => candidate.name.clone(),
        }
    }

    /// Writes down what was learned, if it is new.
    pub(crate) async fn write_lesson(&mut self, window: Option<usize>) -> Result<(), SessionError> {
        let key = self.lesson_key();
        let known = self.lessons.get(&key).copied().unwrap_or_default();
        let factor = self.budget.calibration.factor();
        let moved = (known.factor.unwrap_or(1.0) - factor).abs() > WORTH;
        if window.is_none() && !moved {
            return Ok(());
        }
        let time = if window.is_some() { self.log.now() } else { known.time };
        let lesson = Lesson { window: window.or(known.window), time, factor: Some(factor) };
        let text = serde_json::to_string(&lesson).unwrap_or_default();
        self.lessons.insert(key.clone(), lesson);
        self.on_log(move |log| log.set_preference(EVERYBODY, &format!("learned/{key}"), Some(&text))).await
    }
}
