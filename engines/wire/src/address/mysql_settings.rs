//! From MySQL's settings to an address: what is not given comes from the environment, then from MySQL's defaults.

use super::{AddressError, AddressSettings, Environment, ServerAddress};

/// Makes an address of settings.
pub(super) fn address(_given: AddressSettings, _environment: &Environment) -> Result<ServerAddress, AddressError> {
    Err(AddressError::Syntax("MySQL's addresses are not read yet".to_owned()))
}
