//! A place for what only lives as long as the run.

use mh_kit::context::variable;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// LIMIT: unix(7), less the socket's name and that of the directory itself.
const SOCKET_PATH_MAX: usize = 108 - ".s.PGSQL.5432".len() - "/mh-db-XXXXXX/".len() - 1;

/// A directory of mode 0700 for a socket that a program of PostgreSQL connects to; it goes away with its value.
pub fn private_directory() -> Result<TempDir, String> {
    let places = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(|name| Some(PathBuf::from(variable(name)?)));
    let mut cause = String::new();
    for place in places.chain([PathBuf::from("/tmp")]).filter(|place| is_short(place)) {
        match tempfile::Builder::new().prefix("mh-db-").tempdir_in(&place) {
            Ok(directory) => return Ok(directory),
            Err(error) => cause = mh_kit::failure::with_causes(&error),
        }
    }
    Err(format!("make a directory for a socket: {cause}"))
}

fn is_short(place: &Path) -> bool {
    place.is_absolute() && place.as_os_str().len() <= SOCKET_PATH_MAX
}
