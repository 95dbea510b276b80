//! Which database: `-d` and its relatives, spelled as psql and mariadb have them. What is left open comes from the environment and from the files that those
//! programs read. A password is never an argument.

use clap::Args;
use database::target::Database;
use mh_kit::context::variable;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use wire::{Environment, ServerAddress};

/// Which database.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Database")]
pub struct ConnectArgs {
    /// The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq's keywords, sqlite:FILE, or a name
    #[arg(short = 'd', long = "dbname", visible_alias = "database", value_name = "DB")]
    pub dbname: Option<String>,

    /// A name given by -d is PostgreSQL's (default: by PGHOST and its relatives, or by my.cnf)
    #[arg(long, conflicts_with = "mariadb")]
    pub pg: bool,

    /// A name given by -d is MariaDB's or MySQL's
    #[arg(long, visible_alias = "mysql")]
    pub mariadb: bool,

    /// Host of the server, or the directory of its socket
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    pub host: Option<String>,

    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT", hide_short_help = true)]
    pub port: Option<u16>,

    /// User to connect as
    #[arg(short = 'U', long = "username", visible_alias = "user", value_name = "NAME", hide_short_help = true)]
    pub username: Option<String>,

    /// Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)
    #[arg(short = 'W', long, hide_short_help = true)]
    pub password: bool,

    /// Never ask for a password; nothing else is done without -W
    #[arg(short = 'w', long, hide_short_help = true, conflicts_with = "password")]
    pub no_password: bool,
}

/// What the process was given besides its arguments.
#[derive(Clone, Debug, Default)]
pub struct ServerSurroundings {
    servers: Environment,
    /// Whether variables or files name a server of either kind.
    names_postgres: bool,
    names_mysql: bool,
}

impl ServerSurroundings {
    /// Reads variables, and looks for files.
    pub fn look() -> Self {
        let mut servers = Environment::read(|name| variable(name)?.into_string().ok());
        servers.home = variable("HOME").map(PathBuf::from);
        servers.user = variable("USER").and_then(|user| user.into_string().ok());
        servers.system = Some(PathBuf::from("/etc"));
        let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some_and(|value| !value.is_empty()));
        let own_file = servers.home.as_ref().is_some_and(|home| home.join(".my.cnf").exists());
        let names_postgres = is_set(&["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE"]);
        let names_mysql = is_set(&["MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT"]) || own_file;
        Self { servers, names_postgres, names_mysql }
    }
}

/// A database that was named, and what its user should know of the way to it.
pub struct NamedDatabase {
    /// It.
    pub database: Database,
    /// For people; without a password.
    pub name: String,
    /// What was passed over, or is unsafe.
    pub warnings: Vec<String>,
}

/// Finds out which database is meant. The error is one of the command line.
pub fn find(args: &ConnectArgs, surroundings: &ServerSurroundings) -> Result<NamedDatabase, String> {
    if let Some(path) = sqlite_file(args) {
        if args.host.is_some() || args.port.is_some() || args.username.is_some() || args.password {
            return Err("a file of SQLite has no host, port, user or password".to_owned());
        }
        let name = format!("SQLite in {}", terminal::quote(&path));
        return Ok(NamedDatabase { database: Database::Sqlite(path), name, warnings: Vec::new() });
    }
    let text = address_text(args, surroundings)?;
    let mut address = ServerAddress::parse(&text, &surroundings.servers).map_err(|error| error.to_string())?;
    let mut warnings = address.notes().to_vec();
    if address.has_password_in_address() {
        warnings.push(
            "every user of this host sees the password in the command line; PGPASSWORD, .pgpass and my.cnf keep it"
                .to_owned(),
        );
    }
    if args.password {
        let password = ask_for_password(address.user());
        address =
            address.with_password(password.map_err(|error| format!("-W: no terminal to ask for a password: {error}"))?);
    }
    let name = address.to_string();
    Ok(NamedDatabase { database: Database::Server(Box::new(address)), name, warnings })
}

/// `sqlite:FILE`, and the name of a file that is one.
fn sqlite_file(args: &ConnectArgs) -> Option<PathBuf> {
    let text = args.dbname.as_deref()?;
    if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    if text.contains("://") || text.contains('=') || args.pg || args.mariadb {
        return None;
    }
    let path = Path::new(text);
    has_magic_of_sqlite(path).then(|| path.to_owned())
}

fn has_magic_of_sqlite(path: &Path) -> bool {
    let mut head = [0; 16];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && &head == b"SQLite format 3\0"
}

/// The address as the engine reads it.
fn address_text(args: &ConnectArgs, surroundings: &ServerSurroundings) -> Result<String, String> {
    let text = args.dbname.as_deref().unwrap_or_default();
    let is_whole = text.contains("://") || text.contains('=');
    if is_whole {
        if args.host.is_some() || args.port.is_some() || args.username.is_some() {
            return Err("-d has an address: host, port and user stand in it".to_owned());
        }
        return Ok(text.to_owned());
    }
    let is_mysql = match (args.pg, args.mariadb, surroundings.names_postgres, surroundings.names_mysql) {
        (true, ..) => false,
        (_, true, ..) => true,
        (_, _, true, false) => false,
        (_, _, false, true) => true,
        (_, _, true, true) => {
            return Err("both PostgreSQL and MariaDB are set up here: --pg or --mariadb says which is meant".to_owned());
        }
        (_, _, false, false) => {
            return Err("no database is named: -d postgres://USER@HOST/DATABASE, mysql://..., sqlite:FILE".to_owned());
        }
    };
    Ok(if is_mysql { mysql_address(args, text) } else { postgres_keywords(args, text) })
}

fn postgres_keywords(args: &ConnectArgs, database: &str) -> String {
    let quoted = |value: &str| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    let port = args.port.map(|port| port.to_string());
    let settings = [
        ("host", args.host.as_deref()),
        ("port", port.as_deref()),
        ("user", args.username.as_deref()),
        ("dbname", Some(database).filter(|name| !name.is_empty())),
    ];
    let given: Vec<String> =
        settings.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", quoted(value?)))).collect();
    if given.is_empty() { "postgres://".to_owned() } else { given.join(" ") }
}

fn mysql_address(args: &ConnectArgs, database: &str) -> String {
    let user = args.username.as_deref().map(|user| format!("{}@", percent(user))).unwrap_or_default();
    let port = args.port.map(|port| format!(":{port}")).unwrap_or_default();
    let (host, socket) = match args.host.as_deref() {
        Some(path) if path.starts_with('/') => (String::new(), format!("?socket={}", percent(path))),
        Some(host) => (percent(host), String::new()),
        None => (String::new(), String::new()),
    };
    format!("mysql://{user}{host}{port}/{}{socket}", percent(database))
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Asks on the terminal, which does not show what is typed.
fn ask_for_password(user: &str) -> io::Result<String> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let usual = tcgetattr(&terminal)?;
    let mut silent = usual.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    write!(terminal, "Password for user {}: ", terminal::printable(user))?;
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &usual)?;
    writeln!(terminal)?;
    read?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> ConnectArgs {
        ConnectArgs { dbname: Some(text.to_owned()), ..ConnectArgs::default() }
    }

    #[test]
    fn a_name_belongs_to_the_server_that_is_set_up() {
        let by = |names_postgres, names_mysql| ServerSurroundings {
            names_postgres,
            names_mysql,
            ..ServerSurroundings::default()
        };
        assert_eq!(address_text(&named("shop"), &by(true, false)).as_deref(), Ok("dbname='shop'"));
        assert_eq!(address_text(&named("shop"), &by(false, true)).as_deref(), Ok("mysql:///shop"));
        assert!(address_text(&named("shop"), &by(true, true)).is_err_and(|error| error.contains("--pg or --mariadb")));
        assert!(
            address_text(&named("shop"), &by(false, false)).is_err_and(|error| error.contains("no database is named"))
        );
        let args = ConnectArgs { mariadb: true, ..named("shop") };
        assert_eq!(address_text(&args, &by(true, true)).as_deref(), Ok("mysql:///shop"));
        assert_eq!(address_text(&ConnectArgs::default(), &by(true, false)).as_deref(), Ok("postgres://"));
    }

    #[test]
    fn parts_become_an_address_whatever_is_in_them() {
        let args = ConnectArgs {
            host: Some("db.example".to_owned()),
            port: Some(5433),
            username: Some("it's@me".to_owned()),
            ..named("a b")
        };
        assert_eq!(postgres_keywords(&args, "a b"), "host='db.example' port='5433' user='it\\'s@me' dbname='a b'");
        assert_eq!(mysql_address(&args, "a b"), "mysql://it%27s%40me@db.example:5433/a%20b");
        let by_socket = ConnectArgs { host: Some("/run/my sql".to_owned()), ..ConnectArgs::default() };
        assert_eq!(mysql_address(&by_socket, "x"), "mysql:///x?socket=%2Frun%2Fmy%20sql");
        let twice = ConnectArgs { port: Some(1), ..named("postgres://h/d") };
        assert!(address_text(&twice, &ServerSurroundings::default()).is_err());
    }

    #[test]
    fn a_file_is_sqlite_by_its_name_or_its_content() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("base");
        std::fs::write(&path, b"SQLite format 3\0 and more").expect("written");
        assert_eq!(sqlite_file(&named(path.to_str().expect("text"))), Some(path.clone()));
        assert_eq!(sqlite_file(&named("sqlite:new.db")), Some(PathBuf::from("new.db")));
        std::fs::write(&path, b"something else, and long enough").expect("written");
        assert_eq!(sqlite_file(&named(path.to_str().expect("text"))), None);
        let with_port = ConnectArgs { port: Some(1), ..named("sqlite:x") };
        assert!(find(&with_port, &ServerSurroundings::default()).is_err());
    }
}
