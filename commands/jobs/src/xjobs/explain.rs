//! The plan of a run of jobs in words. Decides nothing.

use super::XjobsArgs;
use crate::job_slots::SlotStyle;
use crew::plan::Plan;
use jobs::list::{JsonRecords, Syntax};
use jobs::run::{Discarded, OutputManner, OutputOrder, RunOptions, TimeLimit};
use std::path::Path;
use terminal::quote;

/// What the plan knows besides the options.
pub struct Facts<'a> {
    pub why_width: String,
    pub syntax: &'a Syntax,
    pub why_syntax: &'a str,
    pub list_name: &'a str,
    pub is_server: bool,
    pub total: Option<u64>,
}

/// Puts the choices into words.
pub fn described(args: &XjobsArgs, options: &RunOptions, facts: &Facts<'_>) -> Plan {
    let words = args.utility.iter().take_while(|word| !word.as_encoded_bytes().starts_with(b":::")).take(6);
    let utility: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let what = if utility.is_empty() { "the jobs".to_owned() } else { utility.join(" ") };
    let mut plan = Plan::new(format!("run {what} from {}", facts.list_name));
    plan.choose("jobs at once", options.width.to_string(), facts.why_width.clone());
    mh_kit::sharing::explain(&mut plan);
    let (slots, why_slots) = slot_words(args, options);
    plan.choose("job slots", slots, why_slots);
    let total = match (facts.is_server, facts.total) {
        (true, _) => "never ends".to_owned(),
        (_, Some(total)) => format!("about {}", mh_kit::report::counted(total, "job")),
        _ => "length not known".to_owned(),
    };
    let why = match (facts.is_server, &args.server) {
        (true, server) if server.until_idle => "a socket: a server, until it is idle or asked to finish",
        (true, server) if server.listen.is_some() => "a socket: a server, until it is asked to finish",
        (true, _) => "a named pipe: a server, until a signal ends it",
        (false, _) => "read as it comes",
    };
    plan.choose(
        "list",
        total,
        format!("{why}, {} ahead at most", mh_kit::report::counted(options.queue_max as u64, "job")),
    );
    let (lines, why_lines) = syntax_words(facts);
    if args.parallel.pipe {
        plan.choose("blocks", block_words(args), "--pipe; each is a job's standard input, cut where records end");
    } else {
        plan.choose("lines", lines, why_lines);
    }
    let shell = if args.shell {
        ("sh -c", "--shell; values are its parameters")
    } else {
        ("none", "programs are started directly")
    };
    plan.choose("shell", shell.0, shell.1);
    let (output, why_output) = output_words(options);
    plan.choose("output", output, why_output);
    if let Some(path) = &args.journal {
        let resumes = if args.resume || args.resume_failed {
            "jobs that it knows are left out, by content"
        } else {
            "a line a job"
        };
        plan.choose("journal", quote(path), resumes);
    }
    if let Some(name) = &args.parallel.joblog {
        plan.choose("job log", quote(Path::new(name)), "GNU parallel's columns, a line at each end");
    }
    let (memory, why_memory) = memory_words(args, options);
    plan.choose("memory", memory, why_memory);
    let bounds = bounds(args, options);
    if !bounds.is_empty() {
        plan.choose("starts", bounds.join(", "), "given");
    }
    plan.choose("guard", "a parent process", "ends all jobs when the runner is killed");
    plan
}

fn slot_words(args: &XjobsArgs, options: &RunOptions) -> (&'static str, &'static str) {
    let idle = "cores that no job needs, for make, ninja and cargo in jobs";
    match args.jobserver {
        SlotStyle::Off => ("none", "--jobserver=off"),
        _ if options.width.min(options.hands) < 2 => ("none", "one job at a time"),
        SlotStyle::Fds => ("two descriptors in MAKEFLAGS", idle),
        SlotStyle::Fifo => ("a named pipe in MAKEFLAGS", idle),
    }
}

fn syntax_words(facts: &Facts<'_>) -> (String, String) {
    let why = facts.why_syntax.to_owned();
    match facts.syntax {
        Syntax::Words { records: JsonRecords::Read, .. } => {
            ("words, quotes, redirections; or JSON records".to_owned(), why)
        }
        Syntax::Words { .. } => ("words, quotes, redirections".to_owned(), why),
        Syntax::Raw { columns: Some(_), .. } => ("columns".to_owned(), why),
        Syntax::Raw { .. } => ("one argument each, as it is".to_owned(), why),
    }
}

fn block_words(args: &XjobsArgs) -> String {
    match args.lines {
        Some(records) => format!("{} each", mh_kit::report::counted(records as u64, "record")),
        None => format!("{} each at most, unless a record is longer", terminal::bytes(args.parallel.block)),
    }
}

fn output_words(options: &RunOptions) -> (&'static str, &'static str) {
    match (&options.output, options.order) {
        (OutputManner::Whole, OutputOrder::AsListed) => ("whole, in the order of the list", "-k"),
        (OutputManner::Whole, OutputOrder::AsEnded) => ("whole, as jobs end", "the default"),
        (OutputManner::Lines, _) => ("line by line", "--line-buffer"),
        (OutputManner::Direct, _) => ("written by the jobs themselves", "-u"),
        (OutputManner::Discarded(Discarded::Output), _) => ("thrown away; errors are shown", "-n"),
        (OutputManner::Discarded(Discarded::OutputAndErrors), _) => ("thrown away, errors too", "-N"),
        (OutputManner::Files(_), _) => ("into files that stay, and whole from there", "--results"),
    }
}

/// The cap, and what one job is expected to need.
fn memory_words(args: &XjobsArgs, options: &RunOptions) -> (String, String) {
    let cap = options.memory.cap_bytes;
    let whose = if args.memory.is_some() { "--memory" } else { "7/8 of what is available" };
    let name = options.template.class_name();
    let known = name.as_ref().and_then(|name| options.memory.classes.find(name));
    let expected = known.and_then(|known| known.peak.nearly_most().map(|bytes| (bytes as u64, known.peak.count())));
    let expects = match (expected, name) {
        (Some((bytes, count)), _) => format!(
            "a job needs up to {}, as {} in the journal did; {} at once fit",
            terminal::bytes(bytes),
            mh_kit::report::counted(count, "job"),
            terminal::integer((cap / bytes.max(1)).max(1))
        ),
        (None, Some(_)) => "what a job needs is learnt as jobs end".to_owned(),
        (None, None) => "what each program needs is learnt as its jobs end".to_owned(),
    };
    (format!("{} for all jobs", terminal::bytes(cap)), format!("{whose}; {expects}"))
}

fn bounds(args: &XjobsArgs, options: &RunOptions) -> Vec<String> {
    let mut bounds = Vec::new();
    if let Some(bytes) = options.memory_free_bytes {
        bounds.push(format!("while {} of memory are available", terminal::bytes(bytes)));
    }
    if let Some(load) = options.load_max {
        bounds.push(format!("while fewer than {load} threads can run"));
    }
    if let Some(delay) = args.delay {
        bounds.push(format!("{} apart", terminal::duration(delay)));
    }
    match options.timeout {
        Some(TimeLimit::Fixed(time)) => bounds.push(format!("ended after {}", terminal::duration(time))),
        Some(TimeLimit::OfMedian(factor)) => {
            bounds.push(format!("ended after {} of the median", terminal::percentage_whole(factor)));
        }
        None => {}
    }
    match options.retries {
        0 => {}
        u32::MAX => bounds.push("run again until they succeed".to_owned()),
        more => bounds.push(format!("run {} times at most where they fail", u64::from(more) + 1)),
    }
    bounds
}
