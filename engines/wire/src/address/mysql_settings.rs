//! From MySQL's settings to an address: what is not given comes from option files, the environment, MySQL's defaults.
//! `localhost` without a port means the socket of this host, as the clients of MySQL have it.

use super::option_files::OptionFiles;
use super::{AddressError, AddressSettings, Endpoint, Environment, Protocol, ServerAddress, TlsMode, TlsSettings};
use super::{port, setting_error};
use crate::tls::SharedTls;
use std::path::{Path, PathBuf};

/// Settings that are obeyed, by their names in files.
const OBEYED: &[&str] = &[
    "host",
    "port",
    "user",
    "password",
    "database",
    "socket",
    "ssl",
    "ssl-mode",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-verify-server-cert",
];

/// libpq's names for the same, which stand in addresses as well.
const SYNONYMS: &[(&str, &str)] =
    &[("sslmode", "ssl-mode"), ("sslrootcert", "ssl-ca"), ("sslcert", "ssl-cert"), ("sslkey", "ssl-key")];

/// Variables, which come after files.
const VARIABLES: &[(&str, &str)] =
    &[("host", "MYSQL_HOST"), ("port", "MYSQL_TCP_PORT"), ("socket", "MYSQL_UNIX_PORT"), ("password", "MYSQL_PWD")];

const PORT: u16 = 3306;

/// Where a server's socket is by default: Debian's, others', MySQL's own build.
const SOCKETS: &[&str] = &["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// Makes an address of settings.
pub(super) fn address(given: AddressSettings, environment: &Environment) -> Result<ServerAddress, AddressError> {
    let mut settings = with_own_names(given)?;
    let has_password_in_address = settings.contains_key("password");
    let names_port = settings.contains_key("port");
    let files = OptionFiles::read(&files(environment))?;
    for (name, value) in files.options.into_iter().filter(|(name, _)| OBEYED.contains(&name.as_str())) {
        settings.entry(name).or_insert(value);
    }
    for (name, variable) in VARIABLES {
        if let Some(value) = environment.get(variable) {
            settings.entry((*name).to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    let mut take = |name: &str| settings.remove(name).filter(|value| !value.is_empty());
    let user = take("user").or_else(|| environment.user.clone());
    let user = user.ok_or_else(|| AddressError::Syntax("the address names no user".to_owned()))?;
    let port = take("port").map_or(Ok(PORT), |text| port(&text, "the address"))?;
    let endpoint = endpoint(take("host"), take("socket"), port, names_port);
    Ok(ServerAddress {
        protocol: Protocol::MySql,
        place: endpoint,
        user,
        database: take("database"),
        password: take("password"),
        has_password_in_address,
        tls: tls(&mut take)?,
        shared_tls: SharedTls::default(),
        session: Vec::new(),
        notes: files.notes,
    })
}

/// In the order of Debian's clients.
fn files(environment: &Environment) -> Vec<PathBuf> {
    let system = ["my.cnf", "mysql/my.cnf"].into_iter().filter_map(|name| environment.in_system(name));
    system.chain(environment.in_home(".my.cnf")).collect()
}

/// `ssl_ca` and `sslrootcert` are `ssl-ca`.
fn with_own_names(given: AddressSettings) -> Result<AddressSettings, AddressError> {
    let mut settings = AddressSettings::new();
    for (name, value) in given {
        let own = name.replace('_', "-");
        let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == own).map(|(_, name)| (*name).to_owned());
        let own = synonym.unwrap_or(own);
        if !OBEYED.contains(&own.as_str()) {
            return Err(setting_error("the address", &name, "is not known here"));
        }
        settings.insert(own, value);
    }
    Ok(settings)
}

fn endpoint(host: Option<String>, socket: Option<String>, port: u16, names_port: bool) -> Endpoint {
    let is_here = host.as_deref().is_none_or(|host| host == "localhost");
    match (host, socket) {
        (Some(host), _) if host.starts_with('/') => Endpoint::Unix(host.into()),
        (_, Some(socket)) if is_here => Endpoint::Unix(socket.into()),
        (None, None) if names_port => Endpoint::Tcp { host: "localhost".to_owned(), ip: None, port },
        (_, None) if is_here && !names_port => {
            let usual = SOCKETS.iter().find(|socket| Path::new(socket).exists()).unwrap_or(&SOCKETS[0]);
            Endpoint::Unix(usual.into())
        }
        (host, _) => Endpoint::Tcp { host: host.unwrap_or_else(|| "localhost".to_owned()), ip: None, port },
    }
}

/// As MySQL's clients: an authority without a mode is checked; the mode is the last word.
fn tls(take: &mut impl FnMut(&str) -> Option<String>) -> Result<TlsSettings, AddressError> {
    let root = take("ssl-ca").map(PathBuf::from);
    let verifies = take("ssl-verify-server-cert").is_some_and(|value| is_on(&value));
    let switch = take("ssl").map(|value| is_on(&value));
    let mode = match take("ssl-mode").map(|mode| mode.to_ascii_lowercase().replace('-', "_")).as_deref() {
        None if switch == Some(false) => TlsMode::Disable,
        None if verifies => TlsMode::VerifyFull,
        None if root.is_some() => TlsMode::VerifyCa,
        None if switch == Some(true) => TlsMode::Require,
        None | Some("preferred" | "prefer") => TlsMode::Prefer,
        Some("disabled" | "disable") => TlsMode::Disable,
        Some("required" | "require") => TlsMode::Require,
        Some("verify_ca") => TlsMode::VerifyCa,
        Some("verify_identity" | "verify_full") => TlsMode::VerifyFull,
        Some(other) => {
            let cause = format!("is '{other}'; it is disabled, preferred, required, verify_ca or verify_identity");
            return Err(setting_error("the address", "ssl-mode", &cause));
        }
    };
    let certificate = take("ssl-cert").map(PathBuf::from);
    Ok(TlsSettings { mode, root, certificate, key: take("ssl-key").map(PathBuf::from) })
}

/// A switch of a file may stand alone.
fn is_on(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "off" | "false" | "no")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, variables: &[(&str, &str)]) -> Result<ServerAddress, AddressError> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let mut environment = Environment::read(value);
        environment.user = Some("me".to_owned());
        ServerAddress::parse(text, &environment)
    }

    fn shown(text: &str, variables: &[(&str, &str)]) -> String {
        parse(text, variables).map_or_else(|error| error.to_string(), |address| address.to_string())
    }

    #[test]
    fn localhost_is_the_socket_unless_a_port_is_named() {
        assert_eq!(shown("mysql://u@h/d", &[]), "mysql://u@h:3306/d");
        assert_eq!(shown("mariadb://localhost:3307", &[]), "mysql://me@localhost:3307/");
        assert_eq!(shown("mysql:///d?socket=/x/y", &[]), "mysql://me@/d?socket=/x/y");
        assert_eq!(shown("mysql://localhost", &[("MYSQL_UNIX_PORT", "/z")]), "mysql://me@/?socket=/z");
        assert_eq!(shown("mysql://", &[("MYSQL_HOST", "h"), ("MYSQL_TCP_PORT", "1")]), "mysql://me@h:1/");
    }

    #[test]
    fn modes_have_both_spellings() {
        let mode = |text: &str| parse(&format!("mysql://h/?{text}"), &[]).map(|address| address.tls().mode);
        assert_eq!(mode("").expect("a default"), TlsMode::Prefer);
        assert_eq!(mode("ssl-mode=VERIFY_IDENTITY").expect("known"), TlsMode::VerifyFull);
        assert_eq!(mode("sslmode=verify-full").expect("known"), TlsMode::VerifyFull);
        assert_eq!(mode("ssl_ca=/x").expect("known"), TlsMode::VerifyCa);
        assert_eq!(mode("ssl=0").expect("known"), TlsMode::Disable);
        assert!(mode("ssl-mode=yes").is_err());
        assert_eq!(shown("mysql://h/?charset=x", &[]), "the address: the setting 'charset' is not known here");
    }

    #[test]
    fn files_come_after_the_address_and_before_variables() {
        let tree = testkit::tree::TempTree::new();
        tree.file(".my.cnf", "[client]\nuser=f\npassword=secret\nhost=file\nport=5\nunknown-option=1\n");
        let mut environment =
            Environment::read(|name| Some(format!("v{}", name.len())).filter(|_| name == "MYSQL_HOST"));
        environment.home = Some(tree.path().to_owned());
        let address = |text: &str| ServerAddress::parse(text, &environment).expect("an address");
        assert_eq!(address("mysql://").to_string(), "mysql://f@file:5/");
        assert_eq!(address("mysql://g@h/d").to_string(), "mysql://g@h:5/d");
        assert!(!address("mysql://").has_password_in_address());
        assert_eq!(address("mysql://").password(), Some("secret"));
        // A port of a file does not turn localhost into a host.
        assert!(address("mysql://localhost").to_string().contains("socket="));
    }

    #[test]
    fn a_password_is_never_shown() {
        let address = parse("mysql://u:secret@h/d", &[]).expect("it is one");
        assert!(address.has_password_in_address() && !format!("{address} {address:?}").contains("secret"));
        assert_eq!(parse("mysql://h", &[("MYSQL_PWD", "p")]).expect("it is one").password(), Some("p"));
    }
}
