//! Options of `mh load` that make several runs: a search for the highest rate, a sweep over connections or rates.

use ::load::goal::LatencyGoal;
use ::load::sweep::{SweepAxis, SweepPlan};
use clap::Args;

/// Said at each option: a heading of the whole would be that of all options behind it.
const HEADING: &str = "Several runs, each of --time";

/// What several runs are to find out.
#[derive(Args, Debug)]
pub struct StudyArgs {
    /// Find the highest rate that meets a goal for response times: p99<10ms, or several as in p50<1ms,p99.9<20ms (also mean and max)
    #[arg(long, help_heading = HEADING, value_name = "GOAL", conflicts_with_all = ["rate", "tx_rate", "think", "events", "hgrm", "html", "live"])]
    pub find_max: Option<LatencyGoal>,

    /// Search until the rates that meet and miss the goal differ by this many per cent at most
    #[arg(long, help_heading = HEADING, value_name = "PERCENT", default_value = "5", requires = "find_max", value_parser = parse_within)]
    pub find_within: f64,

    /// One run for each value: connections=1..2048 (doubled), 1..64@8 (in steps), 1,2,4,8 (a list), or rate=...; with --think it is the study of users
    #[arg(long, help_heading = HEADING, value_name = "WHAT=VALUES", conflicts_with_all = ["find_max", "events", "hgrm", "live"])]
    pub sweep: Option<SweepPlan>,

    /// Go over all values of --sweep so often, forward and backward by turns
    #[arg(long, help_heading = HEADING, value_name = "COUNT", default_value_t = 1, requires = "sweep", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
}

impl StudyArgs {
    /// The most connections that a run has, if the study decides that.
    pub fn connections_most(&self) -> Option<usize> {
        let plan = self.sweep.as_ref().filter(|plan| plan.axis == SweepAxis::Connections)?;
        plan.values.last().map(|most| *most as usize)
    }

    /// Whether the study decides the rate.
    pub fn decides_rate(&self) -> bool {
        self.find_max.is_some() || self.sweep.as_ref().is_some_and(|plan| plan.axis == SweepAxis::Rate)
    }
}

fn parse_within(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok().filter(|percent| (0.5..=50.0).contains(percent));
    percent.ok_or_else(|| "it is from 0.5 to 50 per cent".to_owned())
}
