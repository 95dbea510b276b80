//! What a run is to be, from the command line: target, workload, arrivals. Makes what has to be made first.

use super::args::{ArrivalsArg, LoadArgs};
use super::echo_process::EchoProcess;
use super::{NAME, environment};
use ::load::arrivals::{ArrivalModel, RateProfile, Spacing, Think};
use ::load::cost::{ServerMeter, listener};
use ::load::player::{Repeated, Workload};
use ::load::run::LoadPlan;
use ::load::session::{SqlDialect, Target};
use ::load::target::echo::Echo;
use ::load::target::server::Server;
use ::load::target::sqlite::Sqlite;
use mh_kit::context::variable;
use mh_kit::failure::Failure;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::{Environment, Protocol, ServerAddress};

/// All that a run needs.
pub struct PreparedLoad {
    /// The target as it is shown.
    pub name: String,
    /// The workload as it is shown.
    pub workload_name: String,
    pub plan: LoadPlan,
    pub target: Arc<dyn Target>,
    pub workload: Arc<dyn Workload>,
    /// Where the server is on this host.
    pub meter: Option<ServerMeter>,
    /// What is removed behind the run.
    _kept: Kept,
}

/// What lives as long as the run.
enum Kept {
    Nothing,
    Directory { _removed: tempfile::TempDir },
    Server { _ended: EchoProcess },
}

/// Where a load goes.
struct Place {
    name: String,
    target: Arc<dyn Target>,
    kept: Kept,
    server: Option<u32>,
}

/// How long a connection may take, and a transaction under way at the end.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(5);
/// How long a statement waits for another connection's lock on a SQLite file.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prepares a run.
pub fn prepare(args: &LoadArgs) -> Result<PreparedLoad, Failure> {
    let plan = load_plan(args)?;
    let place = place(args)?;
    let dialect = place.target.dialect();
    let (workload_name, workload) = workload(args, dialect)?;
    let meter = match args.server_pid.or(place.server) {
        Some(pid) => Some(ServerMeter::open(pid).map_err(environment)?),
        None => None,
    };
    let plan = match dialect {
        // In this process a statement keeps its thread until it is answered.
        SqlDialect::Sqlite => LoadPlan { threads: plan.clients, ..plan },
        SqlDialect::Postgres | SqlDialect::MySql | SqlDialect::Echo => plan,
    };
    Ok(PreparedLoad { name: place.name, workload_name, plan, target: place.target, workload, meter, _kept: place.kept })
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn load_plan(args: &LoadArgs) -> Result<LoadPlan, Failure> {
    Ok(LoadPlan {
        arrivals: arrivals(args)?,
        overload: args.overload,
        clients: args.connections as usize,
        threads: args.generators as usize,
        warmup: args.warmup,
        duration: args.time,
        grace: GRACE,
        events: args.events,
        seed: args.seed,
        retries_max: args.retries,
        goes_on_after_errors: args.keep_going,
        connect_within: CONNECT_WITHIN,
        interval: args.report_interval,
    })
}

fn arrivals(args: &LoadArgs) -> Result<ArrivalModel, Failure> {
    if let Some(rate) = &args.rate {
        let spacing = match args.arrivals {
            ArrivalsArg::Poisson => Spacing::Poisson,
            ArrivalsArg::Fixed => Spacing::Fixed,
        };
        return Ok(ArrivalModel::Open { rate: rate.clone(), spacing });
    }
    match args.tx_rate {
        Some(rate) if rate != 0.0 => {
            let checked = RateProfile::constant(rate).map_err(|error| usage(format!("--tx-rate: {error}")))?;
            let jitter_ns = args.tx_jitter.map(|us| us.saturating_mul(1000));
            Ok(ArrivalModel::Clocked { rate: checked.rate_max(), jitter_ns })
        }
        // 0 is flat out, as the option always had it.
        _ => Ok(ArrivalModel::Closed(Think {
            mean_ns: u64::try_from(args.think.as_nanos()).unwrap_or(u64::MAX),
            is_exponential: args.think_varies,
        })),
    }
}

fn place(args: &LoadArgs) -> Result<Place, Failure> {
    match args.target.as_deref() {
        None => {
            let directory = tempfile::Builder::new().prefix("mh-load-").tempdir();
            let directory =
                directory.map_err(|error| environment(format!("could not make a temporary directory: {error}")))?;
            let path = directory.path().join("database");
            let place = sqlite(path);
            Ok(Place { kept: Kept::Directory { _removed: directory }, ..place })
        }
        Some("echo") => {
            let server = EchoProcess::start(&args.echo_scheduler, &args.echo_service)?;
            let (address, pid) = (server.address, server.pid());
            let name = format!("an echo server at {address}");
            Ok(Place {
                name,
                target: Arc::new(Echo(address)),
                kept: Kept::Server { _ended: server },
                server: Some(pid),
            })
        }
        Some(target) => match target.split_once(':') {
            Some(("sqlite", "")) => Err(usage("sqlite: is followed by a file".to_owned())),
            Some(("sqlite", path)) => Ok(sqlite(PathBuf::from(path))),
            Some(("echo", address)) => {
                let parsed = address.parse::<SocketAddr>();
                let address =
                    parsed.map_err(|error| usage(format!("'{address}' is not HOST:PORT in numbers: {error}")))?;
                let name = format!("the echo server at {address}");
                let server = listener(address);
                Ok(Place { name, target: Arc::new(Echo(address)), kept: Kept::Nothing, server })
            }
            Some(("postgres" | "postgresql" | "mysql" | "mariadb", _)) => sql_server(target),
            _ if target.contains('=') => sql_server(target),
            _ => Err(usage(format!("'{target}' is no target: it is {TARGETS}"))),
        },
    }
}

/// What is a target.
const TARGETS: &str = "postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE, sqlite:FILE, echo or echo:HOST:PORT";

/// A server by an address as psql and mariadb take it; what it leaves open is in the environment and in files, as they have it.
fn sql_server(text: &str) -> Result<Place, Failure> {
    let mut environment_of_servers = Environment::read(|name| variable(name)?.into_string().ok());
    environment_of_servers.home = variable("HOME").map(PathBuf::from);
    environment_of_servers.user = variable("USER").and_then(|user| user.into_string().ok());
    environment_of_servers.system = Some(PathBuf::from("/etc"));
    let address = ServerAddress::parse(text, &environment_of_servers).map_err(|error| usage(error.to_string()))?;
    let kind = match address.protocol() {
        Protocol::Postgres => "PostgreSQL",
        Protocol::MySql => "MySQL",
    };
    // Without the password that the text may hold.
    let name = format!("{kind} ({address})");
    let server = Server(address);
    let process =
        server.process(CONNECT_WITHIN).map_err(|error| environment(format!("could not connect to {name}: {error}")))?;
    Ok(Place { name, target: Arc::new(server), kept: Kept::Nothing, server: process })
}

fn sqlite(path: PathBuf) -> Place {
    let name = format!("SQLite in {}", terminal::quote(&path));
    Place { name, target: Arc::new(Sqlite::new(path, LOCK_WAIT)), kept: Kept::Nothing, server: None }
}

fn workload(args: &LoadArgs, dialect: SqlDialect) -> Result<(String, Arc<dyn Workload>), Failure> {
    let text = match (args.workload.as_deref(), dialect) {
        (_, SqlDialect::Echo) => String::new(),
        (None | Some("yesmark"), SqlDialect::MySql) => "DO 0".to_owned(),
        (None | Some("yesmark"), SqlDialect::Postgres | SqlDialect::Sqlite) => "SELECT 1".to_owned(),
        (Some(statement), _) if statement.contains(char::is_whitespace) => statement.to_owned(),
        (Some(name), _) => return Err(usage(format!("'{name}' is neither yesmark nor a statement in SQL"))),
    };
    let name = if dialect == SqlDialect::Echo { "requests".to_owned() } else { text.clone() };
    let repeated = Repeated { name: name.clone(), text, is_prepared: args.is_prepared(dialect) };
    Ok((name, Arc::new(repeated)))
}
