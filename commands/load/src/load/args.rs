//! The command line of `mh load`, with the spellings of sysbench and pgbench where they mean the same.

use super::oltp_args::{KeyShapeArgs, OltpArgs};
use super::study_args::StudyArgs;
use ::load::arrivals::{RateProfile, Spacing};
use ::load::course::{Overload, QUEUE_MAX};
use ::load::distribution::{KeyDistribution, Special};
use ::load::session::SqlDialect;
use clap::{ArgGroup, Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use terminal::parse_duration;

/// Load a database at planned times, and show who was late
///
/// A transaction has three clocks: when it was due, when it was sent, when it was done. Response time counts from when it was due, so that a
/// server that stands still is seen; service time counts from when it was sent. What a transaction costs a local server is shown, too. The load goes where TARGET says and nowhere else.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("open").args(["rate", "find_max", "sweep"]).multiple(true)))]
pub struct LoadArgs {
    /// What to load: postgres://USER@HOST/DATABASE, mysql://..., sqlite:FILE, echo (a server of our own), echo:HOST:PORT [default: a new SQLite database]
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,

    /// What to do there: a statement in SQL, or point-select, read-only, read-write, write-only, update-index, update-non-index, insert, delete (sysbench's),
    /// tpcb, tpcb-select, tpcb-simple (pgbench's), yesmark (a statement that does nothing) [default: read-only in a new database, yesmark elsewhere]
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,

    /// Make the workload's tables and fill them, run, or remove them
    #[arg(value_enum, value_name = "ACTION", default_value = "run")]
    pub action: ActionArg,

    /// Scripts in pgbench's language instead of a workload, each with its weight: FILE or FILE@WEIGHT; may be given again
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<String>,

    /// How many of sysbench's tables
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub tables: u64,

    /// Rows of each of them
    #[arg(long, visible_alias = "table_size", value_name = "COUNT", default_value_t = 10_000)]
    pub table_size: u64,

    /// pgbench's scale: 100,000 accounts each
    #[arg(short = 's', long, value_name = "COUNT", default_value_t = 1)]
    pub scale: u64,

    /// Which rows sysbench's statements take: all alike, or some more often
    #[arg(
        long,
        visible_alias = "rand-type",
        alias = "rand_type",
        value_enum,
        value_name = "HOW",
        default_value = "uniform"
    )]
    pub keys: KeysArg,

    /// How many connections
    #[arg(short = 'c', long, visible_alias = "threads", alias = "client", value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub connections: u32,

    /// Threads of the generator, which share the connections
    #[arg(short = 'j', long, alias = "jobs", value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub generators: u32,

    /// How statements are sent: prepared once a connection, or as text each time
    #[arg(short = 'M', long, value_enum, value_name = "HOW", default_value = "prepared")]
    pub protocol: ProtocolArg,

    /// Send so many of the workload's statements before a reply is waited for; a transaction is all of them (scripts have \startpipeline)
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = parse_pipeline)]
    pub pipeline: NonZeroUsize,

    /// How long it is measured
    #[arg(short = 'T', long, value_name = "TIME", default_value = "10s", value_parser = parse_run_time)]
    pub time: Duration,

    /// How long it runs before it is measured
    #[arg(long, visible_alias = "warmup-time", value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    pub warmup: Duration,

    /// No more transactions than this
    #[arg(long, value_name = "COUNT")]
    pub events: Option<u64>,

    /// Transactions a second, whatever the server does: 500, or over time 100@30s,200..1000@60s,1000 (,repeat: from the beginning again)
    #[arg(short = 'R', long, value_name = "RATE")]
    pub rate: Option<RateProfile>,

    /// How transactions of --rate lie beside each other
    #[arg(long, value_enum, value_name = "HOW", default_value = "poisson", requires = "open")]
    pub arrivals: ArrivalsArg,

    /// Transactions a second of all connections, each by a clock of its own; 0 is flat out
    #[arg(long, value_name = "RATE", conflicts_with = "rate")]
    pub tx_rate: Option<f64>,

    /// How far a transaction of --tx-rate may lie from its place, in microseconds [default: 10 % of a connection's period]
    #[arg(long, value_name = "MICROSECONDS", requires = "tx_rate")]
    pub tx_jitter: Option<u64>,

    /// How long a connection's user thinks between two transactions
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time, conflicts_with_all = ["rate", "tx_rate"])]
    pub think: Duration,

    /// Let the time of thought vary exponentially
    #[arg(long, requires = "think")]
    pub think_varies: bool,

    #[command(flatten)]
    pub study: StudyArgs,

    #[command(flatten)]
    pub oltp: OltpArgs,

    #[command(flatten)]
    pub key_shape: KeyShapeArgs,

    /// What becomes of transactions that are due while every connection is busy: queue, queue:COUNT, drop
    #[arg(long, value_name = "HOW", default_value = "queue", value_parser = parse_overload)]
    pub overload: Overload,

    /// Report so often
    #[arg(short = 'P', long, visible_alias = "progress", value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub report_interval: Duration,

    /// Begin a transaction again so often after a deadlock or a serialization failure
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub retries: u32,

    /// Go on when a statement fails or a connection is lost, and count it
    #[arg(long)]
    pub keep_going: bool,

    /// For all random numbers: the same seed makes the same load
    #[arg(long, visible_alias = "rand-seed", value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// The server's first process, if it is not found by its address
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,

    /// What the echo server does with requests, in turn: wait TIME, work TIME, COUNTx of it; as in 99xwait:1ms,wait:100ms
    #[arg(long, value_name = "STEPS", default_value = "")]
    pub echo_service: String,

    /// Who serves the echo server's connections: each a thread of its own, or pool:COUNT
    #[arg(long, value_name = "HOW", default_value = "each")]
    pub echo_scheduler: String,

    /// Print a JSON object for each interval and one at the end
    #[arg(long)]
    pub json: bool,

    /// Write the response times into FILE as percentiles, as HdrHistogram's tools read them
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,

    /// Show the run on a screen of its own while it goes on; its report is printed behind it
    #[arg(long, conflicts_with = "json")]
    pub live: bool,

    /// Write a page with plots of the run into FILE, for a browser without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Be the echo server (how mh load starts it)
    #[arg(long, hide = true, value_name = "SCHEDULER/STEPS")]
    pub serve_echo: Option<String>,
}

/// What is to be done, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ActionArg {
    /// Make the tables and fill them
    Prepare,
    /// Put the load on them
    Run,
    /// Remove the tables
    Cleanup,
}

/// Which rows are taken; the defaults of each are sysbench's.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum KeysArg {
    /// Each as often as any other
    Uniform,
    /// Those in the middle more often
    Gaussian,
    /// Some in the middle much more often: one in a hundred gets three of four
    Special,
    /// The first ones more often: 80 and 20
    Pareto,
    /// Row k by 1/k^0.8
    Zipfian,
}

impl KeysArg {
    /// The distribution.
    pub fn distribution(self, shape: &KeyShapeArgs) -> KeyDistribution {
        let draws = shape.rand_spec_iter;
        match self {
            Self::Uniform => KeyDistribution::Uniform,
            Self::Gaussian => KeyDistribution::Gaussian { draws },
            Self::Special => KeyDistribution::Special(Special {
                draws,
                hot_percent: shape.rand_spec_pct,
                hot_draws_percent: shape.rand_spec_res,
            }),
            Self::Pareto => KeyDistribution::Pareto { h: shape.rand_pareto_h },
            Self::Zipfian => KeyDistribution::Zipfian { exponent: shape.rand_zipfian_exp },
        }
    }
}

/// How statements are sent, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// As text each time
    Simple,
    /// Prepared once a connection
    Prepared,
}

impl LoadArgs {
    /// Whether statements are prepared. MySQL has statements that cannot be, `DO` among them in old versions.
    pub fn is_prepared(&self, dialect: SqlDialect) -> bool {
        self.protocol == ProtocolArg::Prepared && dialect != SqlDialect::Echo
    }
}

/// How transactions of an open load lie beside each other, as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ArrivalsArg {
    /// As users come who do not know each other
    Poisson,
    /// All gaps alike
    Fixed,
}

impl From<ArrivalsArg> for Spacing {
    fn from(arrivals: ArrivalsArg) -> Self {
        match arrivals {
            ArrivalsArg::Poisson => Self::Poisson,
            ArrivalsArg::Fixed => Self::Fixed,
        }
    }
}

/// LIMIT: a run that is forgotten ends.
const TIME_MAX: Duration = Duration::from_secs(7 * 86_400);

fn parse_time(text: &str) -> Result<Duration, String> {
    // As sysbench and pgbench have it, a number alone is seconds.
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        Err(_) => parse_duration(text).map_err(|error| error.to_string())?,
    };
    if time <= TIME_MAX { Ok(time) } else { Err("no run takes longer than seven days".to_owned()) }
}

fn parse_run_time(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time.is_zero() { Err("a run takes some time".to_owned()) } else { Ok(time) }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time >= Duration::from_millis(100) { Ok(time) } else { Err("a report every 100ms at most".to_owned()) }
}

/// LIMIT: requests and replies of a pipeline have room in buffers.
const PIPELINE_MAX: usize = 1000;

fn parse_pipeline(text: &str) -> Result<NonZeroUsize, String> {
    let count = text.parse::<NonZeroUsize>().ok().filter(|count| count.get() <= PIPELINE_MAX);
    count.ok_or_else(|| format!("a pipeline has 1 to {PIPELINE_MAX} statements"))
}

fn parse_overload(text: &str) -> Result<Overload, String> {
    match text.split_once(':') {
        None if text == "queue" => Ok(Overload::default()),
        None if text == "drop" => Ok(Overload::Drop),
        Some(("queue", count)) => {
            let count = count.parse::<usize>().ok().filter(|count| (1..=QUEUE_MAX).contains(count));
            count.map(Overload::Queue).ok_or_else(|| format!("a queue has room for 1 to {QUEUE_MAX} transactions"))
        }
        _ => Err("it is queue, queue:COUNT or drop".to_owned()),
    }
}
