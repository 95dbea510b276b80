//! Options of runs on many machines.

use crate::xjobs::parse_time;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Where else jobs run.
#[derive(Args, Debug)]
pub struct NodeArgs {
    /// Run the jobs on other machines: slurm[:PARTITION], ssh:HOST,HOST..., local:N (workers on this one), or auto
    #[arg(long, value_name = "ENGINE", hide_short_help = true)]
    pub on: Option<String>,

    /// With --on: workers, one a node or a part of one (slurm: nodes of the partition, at most 16; ssh: the hosts)
    #[arg(long, value_name = "N", requires = "on", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub nodes: Option<u32>,

    /// With --on: cores for each worker (slurm: --cpus-per-task; ssh: all of the host; local: an equal part)
    #[arg(long, value_name = "C", requires = "on", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub cores: Option<u32>,

    /// With --on: how long a worker may run; it takes no more jobs shortly before, and another one goes on
    #[arg(long, value_name = "TIME", requires = "on", value_parser = parse_time, hide_short_help = true)]
    pub time: Option<Duration>,

    /// With --on: more words for the engine's command, as a shell would divide them
    #[arg(long, value_name = "WORDS", requires = "on", allow_hyphen_values = true, hide_short_help = true)]
    pub engine_args: Option<String>,

    /// With --on: keep the run's files in DIR, which all nodes see (default: a new directory here, removed at the end)
    #[arg(long, value_name = "DIR", requires = "on", hide_short_help = true)]
    pub spool: Option<PathBuf>,

    /// Watch, gather and finish the run whose spool is DIR, after whoever submitted it has gone
    #[arg(long, value_name = "DIR", conflicts_with_all = ["on", "utility", "script"], hide_short_help = true)]
    pub attach: Option<PathBuf>,

    // What a worker is started with.
    #[arg(long, hide = true, value_name = "DIR")]
    pub worker: Option<PathBuf>,
    #[arg(long, hide = true, requires = "worker")]
    pub worker_run: Option<String>,
    #[arg(long, hide = true, requires = "worker", default_value_t = 0)]
    pub worker_number: u32,

    /// With --on: a worker without a sign of life for so long counts as dead
    #[arg(long, value_name = "TIME", requires = "on", value_parser = parse_time, default_value = "60", hide_short_help = true)]
    pub lease: Duration,
}
