//! What a run is to be, from the command line: target, workload, arrivals. Makes what has to be made first.

use super::args::{ActionArg, LoadArgs};
use super::echo_process::EchoProcess;
use super::stopping::Stopping;
use super::{NAME, environment};
use ::load::arrivals::{ArrivalModel, RateProfile, Spacing, Think};
use ::load::cost::{ServerMeter, listener};
use ::load::filling::Filling;
use ::load::player::{Repeated, Workload};
use ::load::run::LoadPlan;
use ::load::script::{LoadScript, ScriptMix, ScriptOptions, split_weight};
use ::load::session::{SqlDialect, Target};
use ::load::target::echo::Echo;
use ::load::target::server::Server;
use ::load::target::sqlite::Sqlite;
use ::load::workload::{BuiltIn, WorkloadError, WorkloadOptions, WorkloadTable};
use mh_kit::context::variable;
use mh_kit::failure::Failure;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::error_text::message;
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
    /// Whether the workload needs tables.
    pub has_tables: bool,
    /// The server's version, in its own words.
    pub version: Option<String>,
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
    version: Option<String>,
}

/// How long a connection may take, and a transaction under way at the end.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(5);
/// How long a statement waits for another connection's lock on a SQLite file.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prepares a run.
pub fn prepare(args: &LoadArgs, stopping: &Stopping) -> Result<PreparedLoad, Failure> {
    let plan = load_plan(args)?;
    let place = place(args, stopping)?;
    let dialect = place.target.dialect();
    let chosen = choose(args, dialect)?;
    if args.target.is_none() {
        fill(args, &place, &chosen.tables, stopping)?;
    }
    let meter = match args.server_pid.or(place.server) {
        Some(pid) => Some(ServerMeter::open(pid).map_err(environment)?),
        None => None,
    };
    let plan = match dialect {
        // In this process a statement keeps its thread until it is answered.
        SqlDialect::Sqlite => LoadPlan { threads: plan.clients, ..plan },
        SqlDialect::Postgres | SqlDialect::MySql | SqlDialect::Echo => plan,
    };
    Ok(PreparedLoad {
        name: place.name,
        workload_name: chosen.name,
        plan,
        target: place.target,
        workload: chosen.workload,
        meter,
        has_tables: !chosen.tables.is_empty(),
        version: place.version,
        _kept: place.kept,
    })
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
    let is_decided = args.rate.is_some() || args.tx_rate.is_some() || !args.think.is_zero();
    if args.study.sweep.is_some() && args.study.decides_rate() && is_decided {
        return Err(usage("--sweep rate= goes without --rate, --tx-rate and --think".to_owned()));
    }
    if let Some(rate) = &args.rate {
        return Ok(ArrivalModel::Open { rate: rate.clone(), spacing: Spacing::from(args.arrivals) });
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

fn place(args: &LoadArgs, stopping: &Stopping) -> Result<Place, Failure> {
    match args.target.as_deref() {
        None => {
            let directory = tempfile::Builder::new().prefix("mh-load-").tempdir();
            let directory = directory
                .map_err(|error| environment(format!("could not make a temporary directory: {}", message(&error))))?;
            stopping.keep_no_longer(directory.path());
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
                version: None,
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
                let (target, kept) = (Arc::new(Echo(address)), Kept::Nothing);
                Ok(Place { name, target, kept, server, version: None })
            }
            _ if is_sql_server(target) => sql_server(target),
            _ => Err(usage(format!("'{target}' is no target: it is {TARGETS}"))),
        },
    }
}

/// What is a target.
const TARGETS: &str = "postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE, sqlite:FILE, echo or echo:HOST:PORT";

fn is_sql_server(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some("sqlite" | "echo") => false,
        Some("postgres" | "postgresql" | "mysql" | "mariadb") => true,
        _ => target.contains('='),
    }
}

/// What is unsafe or unclear about the address: for the user before anything is tried with it.
pub fn warnings(args: &LoadArgs) -> Result<Vec<String>, Failure> {
    let Some(target) = args.target.as_deref().filter(|target| is_sql_server(target)) else { return Ok(Vec::new()) };
    let address = address(target)?;
    let mut warnings = address.notes().to_vec();
    if address.has_password_in_address() {
        warnings.push(
            "every user of this host sees the password in the command line; PGPASSWORD, .pgpass and my.cnf keep it"
                .to_owned(),
        );
    }
    Ok(warnings)
}

/// An address as psql and mariadb take it; what it leaves open is in the environment and in files, as they have it.
fn address(text: &str) -> Result<ServerAddress, Failure> {
    let mut environment_of_servers = Environment::read(|name| variable(name)?.into_string().ok());
    environment_of_servers.home = variable("HOME").map(PathBuf::from);
    environment_of_servers.user = variable("USER").and_then(|user| user.into_string().ok());
    environment_of_servers.system = Some(PathBuf::from("/etc"));
    ServerAddress::parse(text, &environment_of_servers).map_err(|error| usage(error.to_string()))
}

fn sql_server(text: &str) -> Result<Place, Failure> {
    let address = address(text)?;
    let kind = match address.protocol() {
        Protocol::Postgres => "PostgreSQL",
        Protocol::MySql => "MySQL",
    };
    // Without the password that the text may hold.
    let name = format!("{kind} ({address})");
    let server = Server(address);
    let facts =
        server.facts(CONNECT_WITHIN).map_err(|error| environment(format!("could not connect to {name}: {error}")))?;
    let (process, version) = (facts.process, Some(facts.version));
    Ok(Place { name, target: Arc::new(server), kept: Kept::Nothing, server: process, version })
}

fn sqlite(path: PathBuf) -> Place {
    let name = format!("SQLite in {}", terminal::quote(&path));
    Place {
        name,
        target: Arc::new(Sqlite::new(path, LOCK_WAIT)),
        kept: Kept::Nothing,
        server: None,
        version: Some(Sqlite::version().to_owned()),
    }
}

/// What is done, and the tables that it needs.
struct Chosen {
    name: String,
    workload: Arc<dyn Workload>,
    tables: Vec<WorkloadTable>,
}

fn choose(args: &LoadArgs, dialect: SqlDialect) -> Result<Chosen, Failure> {
    check_pipeline(args, dialect)?;
    if dialect == SqlDialect::Echo {
        return Ok(repeated(args, "requests", "", false));
    }
    let is_prepared = args.is_prepared(dialect);
    if !args.files.is_empty() {
        return scripts(args, dialect);
    }
    // A new database has nothing else to be asked for.
    let usual = if args.target.is_none() { "read-only" } else { "yesmark" };
    let word = args.workload.as_deref().unwrap_or(usual);
    let Some(built_in) = BuiltIn::parse(word) else {
        return match word.contains(char::is_whitespace) {
            true => Ok(repeated(args, word, word, is_prepared)),
            false => Err(usage(format!("'{word}' is no workload, and no statement in SQL"))),
        };
    };
    let options = WorkloadOptions {
        is_prepared,
        tables: args.tables,
        rows: args.table_size,
        keys: args.keys.distribution(&args.key_shape),
        oltp: args.oltp.options(),
        scale: args.scale,
        seed: args.seed,
        pipeline: args.pipeline,
        ..WorkloadOptions::new(dialect)
    };
    let refused = |error: WorkloadError| usage(error.to_string());
    let workload = built_in.workload(&options).map_err(refused)?;
    let tables = built_in.tables(&options).map_err(refused)?;
    Ok(Chosen { name: built_in.name().to_owned(), workload, tables })
}

/// What cannot be sent in pipelines is refused before anything is sent.
fn check_pipeline(args: &LoadArgs, dialect: SqlDialect) -> Result<(), Failure> {
    if args.pipeline.get() == 1 {
        return Ok(());
    }
    let is_repeated = args
        .workload
        .as_deref()
        .is_none_or(|word| BuiltIn::parse(word) == Some(BuiltIn::Yesmark) || word.contains(char::is_whitespace));
    let refused = |cause: &str| Err(usage(format!("--pipeline: {cause}")));
    match dialect {
        SqlDialect::Sqlite => refused("SQLite takes one statement at a time"),
        _ if !args.files.is_empty() => refused("scripts have \\startpipeline and \\endpipeline"),
        _ if !is_repeated => refused("it is for one statement over and over: yesmark, or one of yours"),
        SqlDialect::Postgres if !args.is_prepared(dialect) => {
            refused("PostgreSQL's simple protocol has no pipelines (-M prepared)")
        }
        SqlDialect::Postgres | SqlDialect::MySql | SqlDialect::Echo => Ok(()),
    }
}

fn repeated(args: &LoadArgs, name: &str, text: &str, is_prepared: bool) -> Chosen {
    let workload = Repeated { name: name.to_owned(), text: text.to_owned(), is_prepared, pipeline: args.pipeline };
    Chosen { name: name.to_owned(), workload: Arc::new(workload), tables: Vec::new() }
}

/// All mistakes of all scripts are printed before anything is sent.
fn scripts(args: &LoadArgs, dialect: SqlDialect) -> Result<Chosen, Failure> {
    let options = ScriptOptions {
        is_prepared: args.is_prepared(dialect),
        scale: i64::try_from(args.scale).unwrap_or(i64::MAX),
        random_seed: args.seed.cast_signed(),
        ..ScriptOptions::new(dialect)
    };
    let (mut scripts, mut mistakes) = (Vec::new(), Vec::new());
    for file in &args.files {
        let (path, weight) = split_weight(file).map_err(usage)?;
        let text = std::fs::read_to_string(path)
            .map_err(|error| environment(format!("could not read {}: {}", terminal::quote(path), message(&error))))?;
        match LoadScript::parse(path, &text, &options) {
            Ok(script) => scripts.push((script, weight)),
            Err(found) => mistakes.extend(found.iter().map(|mistake| format!("{NAME}: {mistake}\n"))),
        }
    }
    if !mistakes.is_empty() {
        // Several lines, with a mark below each place.
        return Err(Failure::InWordsOfOthers { text: mistakes.concat(), code: USAGE });
    }
    let workload = ScriptMix::new(scripts).map_err(usage)?;
    Ok(Chosen { name: args.files.join(", "), workload: Arc::new(workload), tables: Vec::new() })
}

/// The exit code of a wrong command line.
const USAGE: u8 = 2;

/// Fills or removes tables, and says how many rows there are.
pub fn arrange(args: &LoadArgs, stopping: &Stopping) -> Result<String, Failure> {
    let place = place(args, stopping)?;
    let chosen = choose(args, place.target.dialect())?;
    if chosen.tables.is_empty() {
        return Err(usage(format!("'{}' needs no tables", chosen.name)));
    }
    if args.action == ActionArg::Cleanup {
        filling(args, &*place.target).remove(&*place.target, &chosen.tables).map_err(environment)?;
        return Ok(format!("{} removed", mh_kit::report::counted(chosen.tables.len() as u64, "table")));
    }
    let rows = fill(args, &place, &chosen.tables, stopping)?;
    let tables = mh_kit::report::counted(chosen.tables.len() as u64, "table");
    Ok(format!("{tables} with {} in {}", mh_kit::report::counted(rows, "row"), place.name))
}

/// Makes and fills the tables of a load that are not in `filled`, which has their rows by name.
pub fn fill_missing(args: &LoadArgs, stopping: &Stopping, filled: &mut BTreeMap<String, u64>) -> Result<(), Failure> {
    let place = place(args, stopping)?;
    let mut tables = choose(args, place.target.dialect())?.tables;
    let differs = tables.iter().find(|table| filled.get(&table.name).is_some_and(|rows| *rows != table.rows));
    if let Some(table) = differs {
        return Err(usage(format!("table {} cannot have two sizes for two loads", table.name)));
    }
    tables.retain(|table| !filled.contains_key(&table.name));
    if tables.is_empty() {
        return Ok(());
    }
    fill(args, &place, &tables, stopping)?;
    filled.extend(tables.into_iter().map(|table| (table.name, table.rows)));
    Ok(())
}

/// Whether there is such a workload for such a target; nothing is connected to.
pub fn check(args: &LoadArgs) -> Result<(), Failure> {
    load_plan(args)?;
    let target = args.target.as_deref().unwrap_or_default();
    let dialect = match target.split_once(':').map_or(target, |(scheme, _)| scheme) {
        "mysql" | "mariadb" => SqlDialect::MySql,
        "echo" => SqlDialect::Echo,
        "sqlite" => SqlDialect::Sqlite,
        _ if is_sql_server(target) => SqlDialect::Postgres,
        _ => return Err(usage(format!("'{target}' is no target: it is {TARGETS}"))),
    };
    choose(args, dialect).map(drop)
}

/// Connects to the server; its process where it is on this host.
pub fn server_process(args: &LoadArgs, stopping: &Stopping) -> Result<Option<u32>, Failure> {
    Ok(place(args, stopping)?.server)
}

fn fill(args: &LoadArgs, place: &Place, tables: &[WorkloadTable], stopping: &Stopping) -> Result<u64, Failure> {
    let filling = filling(args, &*place.target);
    filling.fill(&*place.target, tables, &|_rows| !stopping.is_wanted()).map_err(environment)
}

fn filling(args: &LoadArgs, target: &dyn Target) -> Filling {
    // SQLite has one writer.
    let connections = if target.dialect() == SqlDialect::Sqlite { 1 } else { args.connections as usize };
    Filling { connections, connect_within: CONNECT_WITHIN }
}
