//! From libpq's settings to an address: what is not given comes from a service, the environment, libpq's defaults and
//! `.pgpass`.
//! AddressSettings that libpq knows and that change who is trusted are refused here if they are not obeyed.

use super::password_file::{self, PasswordFor};
use super::service_file;
use super::{AddressError, AddressSettings, Endpoint, Environment, Protocol, ServerAddress, TlsMode, TlsSettings};
use super::{port, setting_error};
use crate::tls::SharedTls;
use std::path::{Path, PathBuf};

/// AddressSettings that are obeyed, with the variable that gives one that is left out.
const OBEYED: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("application_name", "PGAPPNAME"),
    ("options", "PGOPTIONS"),
    ("service", "PGSERVICE"),
    ("passfile", "PGPASSFILE"),
];

/// libpq's settings that may be left out of account without harm.
const PASSED_OVER: &[&str] = &[
    "connect_timeout",
    "client_encoding",
    "fallback_application_name",
    "gssencmode",
    "gsslib",
    "krbsrvname",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "sslcompression",
    "sslsni",
    "tcp_user_timeout",
];

const PORT: u16 = 5432;

/// Where a server's socket is by default, in Debian's and in PostgreSQL's own builds.
const SOCKET_DIRECTORIES: &[&str] = &["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// Makes an address of settings.
pub(super) fn address(given: AddressSettings, environment: &Environment) -> Result<ServerAddress, AddressError> {
    check(&given, "the address")?;
    let has_password_in_address = given.contains_key("password");
    let mut settings = given;
    let service = settings.remove("service").or_else(|| environment.get("PGSERVICE").map(str::to_owned));
    if let Some(service) = service.filter(|service| !service.is_empty()) {
        let of_service = service_file::settings(&service, &service_files(environment))?;
        check(&of_service, &format!("the service '{service}'"))?;
        of_service.into_iter().for_each(|(name, value)| _ = settings.entry(name).or_insert(value));
    }
    for (name, variable) in OBEYED {
        if let Some(value) = environment.get(variable) {
            settings.entry((*name).to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    let mut take = |name: &str| settings.remove(name).filter(|value| !value.is_empty());
    let user = take("user").or_else(|| environment.user.clone());
    let user = user.ok_or_else(|| AddressError::Syntax("the address names no user".to_owned()))?;
    let port = take("port").map_or(Ok(PORT), |text| port(&text, "the address"))?;
    let (host, ip) = (take("host"), take("hostaddr"));
    let host_of_password = host_of_password(host.as_deref(), ip.as_deref()).to_owned();
    let place = place(host, ip, port)?;
    let database = take("dbname").unwrap_or_else(|| user.clone());
    let mut notes = Vec::new();
    let password_file = take("passfile").map(PathBuf::from).or_else(|| environment.in_home(".pgpass"));
    let password = take("password").or_else(|| {
        let wanted = PasswordFor { host: &host_of_password, port, database: &database, user: &user };
        password_file::password(&password_file?, &wanted, &mut notes)
    });
    let tls = tls(&mut take, environment)?;
    let session =
        ["application_name", "options"].into_iter().filter_map(|name| Some((name.to_owned(), take(name)?))).collect();
    Ok(ServerAddress {
        protocol: Protocol::Postgres,
        database: Some(database),
        user,
        place,
        password,
        has_password_in_address,
        tls,
        shared_tls: SharedTls::default(),
        session,
        notes,
    })
}

/// Where services are defined: the user's file, or the one named in its place, then the system's.
fn service_files(environment: &Environment) -> Vec<PathBuf> {
    let named = environment.get("PGSERVICEFILE").map(PathBuf::from);
    let own = named.or_else(|| environment.in_home(".pg_service.conf"));
    own.into_iter().chain(environment.in_system("postgresql-common/pg_service.conf")).collect()
}

/// COMPAT: the usual socket is `localhost` in a password file, as is no host at all.
fn host_of_password<'a>(host: Option<&'a str>, ip: Option<&'a str>) -> &'a str {
    let host = host.or(ip).unwrap_or("localhost");
    if SOCKET_DIRECTORIES.contains(&host) { "localhost" } else { host }
}

fn check(settings: &AddressSettings, source: &str) -> Result<(), AddressError> {
    let is_known = |name: &str| OBEYED.iter().any(|(obeyed, _)| *obeyed == name) || PASSED_OVER.contains(&name);
    match settings.keys().find(|name| !is_known(name)) {
        Some(name) => Err(setting_error(source, name, "is not known here")),
        None => Ok(()),
    }
}

fn place(host: Option<String>, ip: Option<String>, port: u16) -> Result<Endpoint, AddressError> {
    let in_directory = |directory: &str| {
        let name = format!("{directory}/.s.PGSQL.{port}");
        Endpoint::Unix(PathBuf::from(name))
    };
    match (host, ip) {
        (Some(host), _) if host.contains(',') => {
            Err(AddressError::Syntax("an address names one host, not several".to_owned()))
        }
        (Some(host), None) if host.starts_with(['/', '@']) => Ok(in_directory(&host)),
        (Some(host), ip) => Ok(Endpoint::Tcp { host, ip, port }),
        (None, Some(ip)) => Ok(Endpoint::Tcp { host: ip.clone(), ip: Some(ip), port }),
        (None, None) => {
            let is_there = |directory: &&&str| Path::new(&format!("{directory}/.s.PGSQL.{port}")).exists();
            let directory = SOCKET_DIRECTORIES.iter().find(is_there).unwrap_or(&SOCKET_DIRECTORIES[0]);
            Ok(in_directory(directory))
        }
    }
}

/// As libpq: a root certificate in the home directory makes `require` check the authority; `sslrootcert=system` needs verify-full.
fn tls(take: &mut impl FnMut(&str) -> Option<String>, environment: &Environment) -> Result<TlsSettings, AddressError> {
    let root = take("sslrootcert");
    let is_system = root.as_deref() == Some("system");
    let usual_root = environment.in_home(".postgresql/root.crt").filter(|path| path.exists());
    let file = if is_system { None } else { root.map(PathBuf::from).or(usual_root) };
    let mode = match take("sslmode").as_deref() {
        None if is_system => TlsMode::VerifyFull,
        Some("verify-full") => TlsMode::VerifyFull,
        Some(mode) if is_system => {
            let cause = format!("is '{mode}', which the system's authorities are too many for: use verify-full");
            return Err(setting_error("the address", "sslmode", &cause));
        }
        None | Some("prefer" | "allow") => TlsMode::Prefer,
        Some("disable") => TlsMode::Disable,
        Some("require") if file.is_some() => TlsMode::VerifyCa,
        Some("require") => TlsMode::Require,
        Some("verify-ca") => TlsMode::VerifyCa,
        Some(other) => {
            let cause = format!("is '{other}'; it is disable, prefer, require, verify-ca or verify-full");
            return Err(setting_error("the address", "sslmode", &cause));
        }
    };
    let is_verified = mode >= TlsMode::VerifyCa;
    if is_verified && file.is_none() && !is_system {
        let cause = "asks for a check, but there is neither sslrootcert nor ~/.postgresql/root.crt";
        return Err(setting_error("the address", "sslmode", cause));
    }
    let own = |given: Option<String>, name: &str| {
        given.map(PathBuf::from).or_else(|| environment.in_home(name).filter(|path| path.exists()))
    };
    let certificate = own(take("sslcert"), ".postgresql/postgresql.crt");
    let key = own(take("sslkey"), ".postgresql/postgresql.key");
    Ok(TlsSettings { mode, root: file, certificate, key })
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
    fn what_is_left_out_comes_from_the_environment_and_defaults() {
        assert_eq!(shown("postgres://h", &[]), "postgres://me@h:5432/me");
        assert_eq!(
            shown("postgres://", &[("PGHOST", "/run/x"), ("PGPORT", "9")]),
            "postgres://me@/me?host=/run/x&port=9"
        );
        assert_eq!(shown("postgresql://a@h:1/d", &[("PGHOST", "x"), ("PGUSER", "y")]), "postgres://a@h:1/d");
        assert_eq!(shown("host=::1 dbname=d", &[("PGUSER", "y")]), "postgres://y@[::1]:5432/d");
    }

    #[test]
    fn a_password_is_never_shown() {
        let address = parse("postgres://u:secret@h/d", &[]).expect("it is one");
        assert!(address.has_password_in_address() && address.password() == Some("secret"));
        assert!(!format!("{address} {address:?} {address:#?}").contains("secret"));
        let address = parse("postgres://u@h/d", &[("PGPASSWORD", "secret")]).expect("it is one");
        assert!(!address.has_password_in_address() && address.password() == Some("secret"));
    }

    #[test]
    fn files_of_the_user_complete_an_address() {
        let tree = testkit::tree::TempTree::new();
        tree.file(".pgpass", "localhost:*:*:*:local\nh:7:d:me:secret\n").mode(".pgpass", 0o600);
        tree.file(".pg_service.conf", "[s]\nhost=h\nport=7\ndbname=d\nsslmode=disable\n[bad]\nnonsense=1\n");
        let value = |name: &str| (name == "PGPORT").then(|| "9".to_owned());
        let mut environment = Environment::read(value);
        environment.user = Some("me".to_owned());
        environment.home = Some(tree.path().to_owned());
        let parse = |text: &str| ServerAddress::parse(text, &environment);
        let address = parse("service=s").expect("an address");
        assert_eq!((address.to_string().as_str(), address.password()), ("postgres://me@h:7/d", Some("secret")));
        assert!(!address.has_password_in_address());
        let address = parse("postgres://x@other?service=s").expect("an address");
        assert_eq!((address.to_string().as_str(), address.password()), ("postgres://x@other:7/d", None));
        assert_eq!(parse("postgres://").expect("an address").password(), Some("local"));
        let error = parse("service=bad").expect_err("unknown").to_string();
        assert_eq!(error, "the service 'bad': the setting 'nonsense' is not known here");
        assert!(parse("service=none").is_err());
    }

    #[test]
    fn servers_of_this_host_are_local() {
        for (text, is_local) in
            [("h", false), ("localhost", true), ("127.0.0.5", true), ("[::1]", true), ("%2Ftmp", true)]
        {
            let address = parse(&format!("postgres://{text}/d"), &[]).expect("an address");
            assert_eq!(address.is_local(), is_local, "{text}");
        }
        assert!(!parse("host=localhost hostaddr=192.0.2.1", &[]).expect("an address").is_local());
    }

    #[test]
    fn sslmode_means_what_libpq_means() {
        let mode = |text: &str| parse(&format!("postgres://h/d?{text}"), &[]).map(|address| address.tls().mode);
        assert_eq!(mode("").expect("it has a default"), TlsMode::Prefer);
        assert_eq!(mode("sslmode=require").expect("known"), TlsMode::Require);
        assert_eq!(mode("sslmode=require&sslrootcert=/x").expect("known"), TlsMode::VerifyCa);
        assert_eq!(mode("sslrootcert=system").expect("known"), TlsMode::VerifyFull);
        assert!(mode("sslrootcert=system&sslmode=require").is_err());
        assert!(mode("sslmode=verify-full").is_err(), "without authorities");
        assert!(mode("sslmode=yes").is_err());
    }

    #[test]
    fn unknown_settings_are_refused() {
        assert_eq!(shown("host=h requirepeer=x", &[]), "the address: the setting 'requirepeer' is not known here");
        assert_eq!(shown("postgres://h:0/d", &[]), "the address: the setting 'port' is '0', which is no port");
        assert_eq!(shown("nonsense", &[]), AddressError::Unknown.to_string());
    }
}
