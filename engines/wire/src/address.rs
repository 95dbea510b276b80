//! Where a server is and who asks: an address as text, and what it leaves out from the environment and from files.
//! An address never shows its password. Opening a socket is the only thing that is done with it here.

mod environment;
mod keywords;
mod mysql_settings;
mod option_files;
mod option_text;
mod password_file;
mod postgres_settings;
mod service_file;
mod setting_files;
mod uri;

pub use environment::Environment;
pub use option_text::OptionDialect;

use crate::error::WireError;
use crate::socket::{PlainSocket, Socket};
use crate::tls::SharedTls;
use rustls::ClientConnection;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Instant;

/// Which protocol a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// PostgreSQL and its relatives.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

/// How much of TLS is wanted, as libpq's `sslmode` means it. A socket in the file system never has TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsMode {
    /// None.
    Disable,
    /// If the server has it, whoever it is.
    Prefer,
    /// Encrypted, whoever the server is.
    Require,
    /// And its certificate is signed by an authority that is trusted.
    VerifyCa,
    /// And the certificate names the host.
    VerifyFull,
}

/// Why a text is no address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Neither an address with a scheme nor keywords.
    #[error("an address begins with postgres:// or mysql://, or has libpq's keywords (host=... dbname=...)")]
    Unknown,
    /// A part of the text that breaks its rules.
    #[error("{0}")]
    Syntax(String),
    /// A setting that does not exist, or is not obeyed here.
    #[error("{place}: the setting '{name}' {cause}")]
    Setting {
        /// Where it stands: the address, a variable, a file.
        place: String,
        /// Its name.
        name: String,
        /// What is wrong.
        cause: String,
    },
    /// A file that was named cannot be read.
    #[error("could not read '{path}': {source}")]
    File {
        /// Its name.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// AddressSettings by their names, from any source.
pub(crate) type AddressSettings = BTreeMap<String, String>;

/// Where a server is and who asks.
#[derive(Clone)]
pub struct ServerAddress {
    protocol: Protocol,
    place: Endpoint,
    user: String,
    database: Option<String>,
    password: Option<String>,
    has_password_in_address: bool,
    tls: TlsSettings,
    shared_tls: SharedTls,
    /// PostgreSQL's further settings of a session.
    session: Vec<(String, String)>,
    notes: Vec<String>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Unix(PathBuf),
    Tcp {
        host: String,
        /// An IP address to go to in place of the host's.
        ip: Option<String>,
        port: u16,
    },
}

/// What is asked of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub mode: TlsMode,
    /// Authorities that are trusted; none: the system's.
    pub root: Option<PathBuf>,
    /// The client's own certificate and its key.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

impl ServerAddress {
    /// Reads an address: `postgres://user@host:port/database?sslmode=require`, `mysql://...`, `mariadb://...`, or libpq's
    /// keywords. What it leaves out comes from `environment` and the files that belong to it.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, AddressError> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", rest)) => {
                postgres_settings::address(uri::parse(rest, "dbname")?, environment)
            }
            Some(("mysql" | "mariadb", rest)) => mysql_settings::address(uri::parse(rest, "database")?, environment),
            None if text.contains('=') => postgres_settings::address(keywords::parse(text)?, environment),
            _ => Err(AddressError::Unknown),
        }
    }

    /// Which protocol the server speaks.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the server is on this host, by its name: a socket, or an address that goes no further.
    pub fn is_local(&self) -> bool {
        match &self.place {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp { host, ip, .. } => {
                let ip = ip.as_ref().unwrap_or(host);
                ip == "localhost" || ip.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
        }
    }

    /// Whether the password stands in the address, where `ps` shows it.
    pub fn has_password_in_address(&self) -> bool {
        self.has_password_in_address
    }

    /// Who asks.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The same server and user in another database.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }

    /// The same with a password, from a prompt say.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// What was passed over while files were read, such as a password file that others may read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    #[cfg(test)]
    pub(crate) fn tls(&self) -> &TlsSettings {
        &self.tls
    }

    /// How much of TLS there is to be. A socket in the file system has none.
    pub(crate) fn tls_mode(&self) -> TlsMode {
        if self.is_socket() { TlsMode::Disable } else { self.tls.mode }
    }

    /// Whether the server is reached by a socket in the file system.
    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.place, Endpoint::Unix(_))
    }

    /// TLS for a connection to it.
    pub(crate) fn tls_client(&self) -> Result<ClientConnection, WireError> {
        match &self.place {
            Endpoint::Unix(_) => Err(WireError::Tls("a socket in the file system has none".to_owned())),
            Endpoint::Tcp { host, .. } => self.shared_tls.client(&self.tls, host),
        }
    }

    /// PostgreSQL's parameters of a session.
    pub(crate) fn startup_parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let database = self.database.as_deref().map(|database| ("database", database));
        let own = [("user", self.user()), ("client_encoding", "UTF8")];
        let others = self.session.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        own.into_iter().chain(database).chain(others)
    }

    /// Connects, and no more.
    pub(crate) fn open(&self, deadline: Instant) -> Result<Socket, WireError> {
        let opened = match &self.place {
            Endpoint::Unix(path) => PlainSocket::unix(path, deadline),
            Endpoint::Tcp { host, ip, port } => PlainSocket::tcp(ip.as_ref().unwrap_or(host), *port, deadline),
        };
        opened.map(Socket::new).map_err(|source| WireError::Connect { place: self.place.to_string(), source })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "{}", path.display()),
            Self::Tcp { host, port, .. } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp { host, port, .. } => write!(formatter, "{host}:{port}"),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            Protocol::Postgres => "postgres",
            Protocol::MySql => "mysql",
        };
        let database = self.database.as_deref().unwrap_or_default();
        match &self.place {
            // As it can be typed: PostgreSQL's clients make the socket's name of a directory and a port.
            Endpoint::Unix(path) => {
                let (user, name) = (&self.user, path.file_name().unwrap_or_default().to_string_lossy());
                match (name.strip_prefix(".s.PGSQL."), path.parent()) {
                    (Some(port), Some(directory)) if self.protocol == Protocol::Postgres => {
                        let port = if port == "5432" { String::new() } else { format!("&port={port}") };
                        write!(formatter, "{scheme}://{user}@/{database}?host={}{port}", directory.display())
                    }
                    _ => write!(formatter, "{scheme}://{user}@/{database}?socket={}", path.display()),
                }
            }
            place @ Endpoint::Tcp { .. } => write!(formatter, "{scheme}://{}@{place}/{database}", self.user),
        }
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ServerAddress({self})")
    }
}

/// A port as text.
fn port(text: &str, place: &str) -> Result<u16, AddressError> {
    let number = text.parse().ok().filter(|port| *port > 0);
    number.ok_or_else(|| setting_error(place, "port", &format!("is '{text}', which is no port")))
}

fn setting_error(place: &str, name: &str, cause: &str) -> AddressError {
    AddressError::Setting { place: place.to_owned(), name: name.to_owned(), cause: cause.to_owned() }
}
