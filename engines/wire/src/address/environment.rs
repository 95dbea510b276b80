//! What the process' environment says of servers, handed in by the caller: an engine reads none itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables, the user and where files of settings are.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<&'static str, String>,
    /// The user's name on this host, who is the usual user of a server as well.
    pub user: Option<String>,
    /// The user's home directory, for `.pgpass`, `.pg_service.conf`, `.my.cnf` and `.postgresql`.
    pub home: Option<PathBuf>,
    /// The directory of the system's files of settings: `/etc`. None: they are not read.
    pub system: Option<PathBuf>,
}

impl Environment {
    /// The variables that are obeyed.
    pub const VARIABLES: &[&str] = &[
        "PGHOST",
        "PGHOSTADDR",
        "PGPORT",
        "PGUSER",
        "PGPASSWORD",
        "PGDATABASE",
        "PGSSLMODE",
        "PGSSLROOTCERT",
        "PGSSLCERT",
        "PGSSLKEY",
        "PGAPPNAME",
        "PGOPTIONS",
        "PGSERVICE",
        "PGSERVICEFILE",
        "PGPASSFILE",
        "MYSQL_HOST",
        "MYSQL_TCP_PORT",
        "MYSQL_UNIX_PORT",
        "MYSQL_PWD",
    ];

    /// One with the variables that `read` knows: `Environment::read(|name| std::env::var(name).ok())`.
    pub fn read(mut read: impl FnMut(&str) -> Option<String>) -> Self {
        let variables = Self::VARIABLES.iter().filter_map(|name| Some((*name, read(name)?))).collect();
        Self { variables, ..Self::default() }
    }

    /// A variable's value; an empty one counts as not set, as with libpq.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_deref().map(|home| home.join(name))
    }

    pub(super) fn in_system(&self, name: &str) -> Option<PathBuf> {
        self.system.as_deref().map(|system: &Path| system.join(name))
    }
}

/// Names of variables without their values, which may be passwords.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Environment");
        shown.field("variables", &self.variables.keys()).field("user", &self.user);
        shown.field("home", &self.home).field("system", &self.system).finish()
    }
}
