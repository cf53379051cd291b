//! The model and the address that a session used before, for a session that is opened again while
//! nothing else chooses a model.
//!
//! The log keeps them in the part of a session that imports, exports and forks do not have. The
//! address counts only if the user gave it on this machine ([`given_servers`]). No key is stored:
//! the key for a remembered address is that of any address that the user gives.

use waterline_agent::UsedModel;
use waterline_provider::wire;

use crate::config::Config;
use crate::given_servers;
use crate::overrides::ModelOverrides;

/// Returns the overrides for the model that a session used before, unless the caller or the config
/// chooses another model or an address.
pub(crate) fn remembered(
    config: &Config,
    given: &ModelOverrides,
    used: &UsedModel,
) -> Option<ModelOverrides> {
    let settings = &config.settings;
    let chosen = given
        .model
        .clone()
        .or_else(|| config.environment.variable("WATERLINE_MODEL"))
        .or_else(|| config.preferred_model.clone())
        .or_else(|| settings.model.clone());
    let own = settings.models.get(&used.name).and_then(|own| own.base_url.as_ref());
    let is_elsewhere = given.base_url.is_some() || settings.base_url.is_some() || own.is_some();
    if is_elsewhere || chosen.is_some_and(|name| name != used.name) {
        return None;
    }
    let is_given = |address: &String| given_servers::is_given(&config.environment, address);
    let base_url = used.base_url.clone().filter(is_given)?;
    // A wire of a newer version is detected like that of a new address.
    let wire = used.wire.as_deref().and_then(|name| wire::named(name).ok());
    Some(ModelOverrides {
        model: Some(used.name.clone()),
        base_url: Some(base_url),
        wire: given.wire.or(wire),
        is_remembered: true,
        ..given.clone()
    })
}
