//! The encoders for search by meaning: that of a server if the config names one, and those that the
//! user added.

use std::sync::Arc;
use std::time::Duration;

use waterline::message::Wire;
use waterline_memory::Encoder;
use waterline_memory::encoder::{self, AddedModel, ModelDirectory};
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::wire;
use waterline_session::{Encoders, EndpointEncoder, LoadEncoder};

use crate::config::Config;
use crate::error::ConfigError;
use crate::models;
use crate::recall::TIMEOUT;
use crate::settings::ModelSettings;

/// The directory of the encoders that the user added, in the data directory.
const DIRECTORY: &str = "models";

/// How long a server may take for the vectors of one batch of messages.
const SERVER_TIMEOUT: Duration = Duration::from_secs(30);

/// The encoders of a config.
#[derive(Debug)]
pub struct RecallEncoders {
    /// The model and the address of the server, if the config names one. It is the preferred
    /// encoder.
    pub server: Option<(String, String)>,
    /// The complete encoders that the user added, the preferred ones first.
    pub added: Vec<AddedModel>,
    endpoint: Option<Endpoint>,
    timeout: Duration,
}

impl RecallEncoders {
    /// Finds the encoders. None is loaded, and no server is asked.
    ///
    /// # Errors
    /// When the configured encoder does not exist, or its address, model or key is missing or
    /// invalid.
    pub fn find(config: &Config) -> Result<Self, ConfigError> {
        let settings = &config.settings.recall;
        let mut added = match model_directory(config) {
            Ok(directory) => directory.list()?,
            // Without a home directory there is none.
            Err(_) => Vec::new(),
        };
        added.retain(|model| model.kind.is_ok());
        let mut server = None;
        let mut endpoint = None;
        if let Some(base) = settings.server() {
            let model = settings.model.clone().ok_or(ConfigError::NoEncoderModel)?;
            endpoint = Some(self::endpoint(config, base, &model)?);
            server = Some((model, base.to_owned()));
        } else if let Some(name) = &settings.encoder {
            let at = added.iter().position(|model| model.name == *name);
            let missing = || ConfigError::NoEncoder { name: name.clone() };
            let preferred = added.remove(at.ok_or_else(missing)?);
            added.insert(0, preferred);
        }
        let timeout = Duration::from_millis(settings.encoder_timeout.unwrap_or(TIMEOUT));
        Ok(Self { server, added, endpoint, timeout })
    }

    /// Returns the encoder of the server, if the config names one.
    ///
    /// # Errors
    /// When the system refuses the resources for it.
    pub fn server_encoder(&self) -> std::io::Result<Option<EndpointEncoder>> {
        let (Some(endpoint), Some((model, _))) = (&self.endpoint, &self.server) else {
            return Ok(None);
        };
        EndpointEncoder::new(endpoint.clone(), model).map(Some)
    }

    /// Returns the encoders for a session; `None` if there are none.
    #[must_use]
    pub fn into_encoders(self) -> Option<Encoders> {
        let mut all: Vec<LoadEncoder> = Vec::new();
        if let (Some(endpoint), Some((model, _))) = (self.endpoint, self.server) {
            all.push(Box::new(move || {
                let encoder = EndpointEncoder::new(endpoint.clone(), &model);
                Ok(Arc::new(encoder.map_err(|error| error.to_string())?))
            }));
        }
        for model in self.added {
            all.push(Box::new(move || {
                let encoder: Box<dyn Encoder> = encoder::open(&model.path)
                    .map_err(|error| format!("{}: {error}", model.path.display()))?;
                Ok(Arc::from(encoder))
            }));
        }
        (!all.is_empty()).then(|| Encoders::new(all).with_timeout(self.timeout))
    }
}

/// Returns the directory of the encoders that the user added.
///
/// # Errors
/// When no data directory is set.
pub fn model_directory(config: &Config) -> Result<ModelDirectory, ConfigError> {
    Ok(ModelDirectory::new(config.environment.data_directory()?.join(DIRECTORY)))
}

fn endpoint(config: &Config, base: &str, model: &str) -> Result<Endpoint, ConfigError> {
    let is_own = |address: &str| address.trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let is_official = is_own(base) == is_own(wire::default_base(Wire::OPENAI_CHAT));
    let own = ModelSettings {
        // A provider's key is not sent to another address.
        base_url: (!is_official).then(|| base.to_owned()),
        key_env: config.settings.recall.key_env.clone(),
        ..ModelSettings::default()
    };
    let key = models::key(model, Wire::OPENAI_CHAT, &own, &config.environment)?;
    let timeouts = Timeouts {
        first_token: SERVER_TIMEOUT,
        silence: SERVER_TIMEOUT,
        ..Timeouts::for_address(base)
    };
    Ok(Endpoint::new(Wire::OPENAI_CHAT, Some(base), key, timeouts)?)
}

#[cfg(test)]
mod tests {
    use crate::environment::Environment;
    use crate::settings::Settings;

    use super::*;

    fn found(recall: &str, variables: &[(&str, &str)]) -> Result<RecallEncoders, ConfigError> {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().display().to_string();
        for name in ["wide", "words"] {
            let directory = temp.path().join(".local/share/waterline/models").join(name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("tokenizer.json"), "{}").unwrap();
            let file = if name == "wide" { "m.onnx" } else { "m.safetensors" };
            std::fs::write(directory.join(file), "").unwrap();
        }
        let variables = variables.iter().copied().chain([("HOME", home.as_str())]);
        let mut config = Config::empty(Arc::new(Environment::new(temp.path(), variables)));
        config.settings = Settings::parse(&format!("[recall]\n{recall}")).unwrap();
        RecallEncoders::find(&config)
    }

    fn names(found: &RecallEncoders) -> Vec<&str> {
        found.added.iter().map(|model| model.name.as_str()).collect()
    }

    #[test]
    fn the_configured_encoder_comes_first() {
        assert_eq!(names(&found("", &[]).unwrap()), ["wide", "words"]);
        assert_eq!(names(&found("encoder = \"words\"", &[]).unwrap()), ["words", "wide"]);
        let error = found("encoder = \"other\"", &[]).unwrap_err().to_string();
        assert!(error.contains("\"other\""), "{error}");
    }

    #[test]
    fn a_server_needs_a_model_and_openai_a_key() {
        let server = "encoder = \"http://127.0.0.1:9\"";
        let error = found(server, &[]).unwrap_err().to_string();
        assert!(error.contains("recall.model"), "{error}");
        let with_model = format!("{server}\nmodel = \"e\"");
        let both = found(&with_model, &[]).unwrap();
        assert_eq!(both.server, Some(("e".to_owned(), "http://127.0.0.1:9".to_owned())));
        assert_eq!(names(&both), ["wide", "words"]);
        let openai = "encoder = \"https://api.openai.com/v1\"\nmodel = \"e\"";
        let error = found(openai, &[]).unwrap_err().to_string();
        assert!(error.contains("OPENAI_API_KEY"), "{error}");
        assert!(found(openai, &[("OPENAI_API_KEY", "sk-1")]).is_ok());
        let own = format!("{with_model}\nkey_env = \"MY_KEY\"");
        let error = found(&own, &[]).unwrap_err().to_string();
        assert!(error.contains("MY_KEY"), "{error}");
    }

    #[test]
    fn timeouts_have_a_range() {
        let error = Settings::parse("[recall]\nencoder_timeout = 0").unwrap_err().to_string();
        assert_eq!(error, "recall.encoder_timeout is 0; it must be a whole number from 1 to 60000");
    }

    #[test]
    fn the_earlier_name_of_the_timeout_is_accepted() {
        let timeout = |text: &str| Settings::parse(text).unwrap().recall.encoder_timeout;
        assert_eq!(timeout("[recall]\ntimeout = 70"), Some(70));
        assert_eq!(timeout("[recall]\ntimeout = 70\nencoder_timeout = 90"), Some(90));
    }
}
