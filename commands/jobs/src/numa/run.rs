//! `mh numa run`: an unmodified program whose large mappings get a memory policy each, by when they are made.

use super::NAME;
use crate::prefault::policy::{self, PolicyRequest};
use crate::prefault::{self, Wishes};
use clap::Args;
use crew::plan::Plan;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use mh_kit::shared_args::{ReportFormat, StandingArgs};
use std::ffi::OsString;
use std::time::Duration;

/// Run an unmodified program with a memory policy for its large mappings
///
/// Interleaves what a program maps at its start, such as a buffer pool, over the nodes, and leaves what it maps later to the node of the
/// thread that uses it. POLICY: local, interleave, weighted-interleave, bind=NODES, preferred=NODE; NODES as in 0,2-3. Smaller mappings
/// and other memory keep the policy of the process. Exit code: the program's; 126 it could not be run, 127 it was not found.
#[derive(Args, Debug)]
pub struct NumaRunArgs {
    /// Policy of mappings that are made during the start-up
    #[arg(long, value_name = "POLICY")]
    startup: Option<PolicyRequest>,

    /// Policy of mappings that are made later (default: none, as the process has it)
    #[arg(long, value_name = "POLICY")]
    then: Option<PolicyRequest>,

    /// How long the start-up is
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = terminal::parse_duration)]
    startup_time: Duration,

    /// Leave smaller mappings alone
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = prefault::parse_min_size)]
    min_size: u64,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    explain: bool,

    /// At the end, print each mapping and its policy
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    report: Option<ReportFormat>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs it.
pub fn run(context: &mut Context, args: NumaRunArgs) -> Result<Outcome, Failure> {
    if args.startup.is_none() && args.then.is_none() {
        return Err(failed("nothing to do: give --startup POLICY, --then POLICY, or both".to_owned()));
    }
    let resolve = |request: Option<PolicyRequest>| request.map(|request| request.resolve(&context.host)).transpose();
    let startup = resolve(args.startup).map_err(failed)?;
    let later = resolve(args.then).map_err(failed)?;
    if args.explain {
        let plan = plan(context, &args, startup, later);
        show_plan(context, &plan, None)?;
        return Ok(Outcome::Done);
    }
    if policy::nodes_with_memory(&context.host).count_ones() == 1 {
        let words = "this machine has one node with memory: policies are set and shown in numa_maps, and place nothing elsewhere";
        context.messages.note(NAME, words);
    }
    let wishes = Wishes {
        name: NAME,
        min_bytes: args.min_size,
        mode: 0,
        window_bytes: 0,
        startup,
        startup_time: args.startup_time,
        later,
        helpers: 0,
        standing: StandingArgs::default(),
    };
    let (outcome, done) = prefault::run(context, wishes, args.command)?;
    match args.report {
        Some(ReportFormat::Json) => context.messages.report(&done.as_json()),
        Some(ReportFormat::Text) => context.messages.report(&done.as_text()),
        None => {}
    }
    Ok(outcome)
}

fn failed(message: String) -> Failure {
    Failure::Usage { command: NAME, message }
}

fn plan(context: &Context, args: &NumaRunArgs, startup: Option<PolicyRequest>, later: Option<PolicyRequest>) -> Plan {
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let mut plan = Plan::new(format!("run {}", terminal::printable(&words.join(" "))));
    let nodes = policy::in_words(policy::nodes_with_memory(&context.host));
    plan.choose("nodes", &nodes, "those with memory");
    plan.choose("mappings", format!("of {} and more", terminal::bytes(args.min_size)), "--min-size");
    let time = terminal::duration(args.startup_time);
    plan.choose("at the start", policy::described(startup), format!("within {time} (--startup, --startup-time)"));
    plan.choose("later", policy::described(later), "--then");
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    fn decided(typed: &str, subject: &str) -> String {
        let machine = FakeMachine::new(4, 1 << 30);
        policy::with_nodes(&machine, 2);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let command = NumaRunArgs::augment_args(Command::new("run"));
        let matches = command.get_matches_from(["run"].into_iter().chain(typed.split(' ')));
        let args = NumaRunArgs::from_arg_matches(&matches).expect("good options");
        let resolve = |request: Option<PolicyRequest>| {
            request.map(|request| request.resolve(&context.host).expect("the nodes are there"))
        };
        let plan = plan(&context, &args, resolve(args.startup), resolve(args.then));
        plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn policies_are_by_time_and_over_the_nodes_of_this_machine() {
        assert_eq!(decided("--startup interleave x", "at the start"), "interleave, nodes 0-1");
        assert_eq!(decided("--startup interleave x", "later"), "as the process has it");
        assert_eq!(decided("--startup bind=1 --then local x", "at the start"), "bind, node 1");
        assert_eq!(decided("--startup bind=1 --then local x", "later"), "local");
        assert_eq!(decided("--then local --min-size 1G x", "mappings"), "of 1.07 GB and more");
    }
}
