//! `mh cp`: copies files and trees on all cores, with cp's options, questions, words and exit codes.
//! Does not copy (engines/transfer). Reading order: CpArgs -> manner -> jobs -> run.

mod digests;
pub mod jobs;
pub mod manner;
mod nodes;
mod parents;
pub mod words;

use crate::trees::{self, TreeReport, Words, choices};
use ::digests::algorithm::Algorithm;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::plan::Plan;
use files::survey::{Survey, SurveyRules};
use mh_kit::context::Context;
use mh_kit::descriptors::directory_descriptors;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::outset::{self, Outset};
use mh_kit::report::show_plan;
use mh_kit::shared_args::SharedArgs;
use mh_kit::width::{self, Bound};
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use transfer::copy::{Copying, Existing, FollowLinks, HalfDone, Job, Make, Manner, copy};
use transfer::operand::{Operand, directory_of, last_part};
use transfer::tally::Tally;
use words::Told;

/// In messages that cp has no words for.
const NAME: &str = "mh cp";

/// The registry's line.
pub const ENTRY: Entry = Entry { link: trees::LINK, ..Entry::new("cp", Group::Do, Signals::TidyUpLater, command, run) };

/// Copy files and trees on all cores, as cp does
///
/// With -a everything is kept: owners, times to the nanosecond, modes, access lists, attributes, capabilities, several names of one file,
/// holes, special files. Nothing is written through a link that is found in the target tree. A signal leaves no half file.
#[derive(Args, Clone, Debug)]
pub struct CpArgs {
    /// The sources, and the target last
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Copy trees and keep everything: -d -R --preserve=all
    #[arg(short = 'a', long)]
    archive: bool,

    /// Copy directories recursively
    #[arg(short = 'r', short_alias = 'R', long)]
    recursive: bool,

    /// Links stay links, several names of one file stay so: -P --preserve=links
    #[arg(short = 'd', hide_short_help = true)]
    links: bool,

    /// Keep mode, owner and times
    #[arg(short = 'p')]
    keep: bool,

    /// Keep these: mode, ownership, timestamps, links, xattr, context, all
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "mode,ownership,timestamps",
          hide_short_help = true)]
    preserve: Vec<String>,

    /// Do not keep these
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    no_preserve: Vec<String>,

    /// Copy links as links
    #[arg(short = 'P', long, overrides_with_all = ["dereference", "follow_operands"])]
    no_dereference: bool,

    /// Follow all links
    #[arg(short = 'L', long, overrides_with_all = ["no_dereference", "follow_operands"])]
    dereference: bool,

    /// Follow links among the arguments
    #[arg(short = 'H', overrides_with_all = ["no_dereference", "dereference"], hide_short_help = true)]
    follow_operands: bool,

    /// If a file cannot be overwritten, remove it and try again
    #[arg(short = 'f', long)]
    force: bool,

    /// Ask before overwriting; one core then copies in order
    #[arg(short = 'i', long, overrides_with = "no_clobber")]
    interactive: bool,

    /// Overwrite nothing
    #[arg(short = 'n', long, overrides_with = "interactive")]
    no_clobber: bool,

    /// Overwrite only older files
    #[arg(short = 'u', long)]
    update: bool,

    /// Print each file that is copied
    #[arg(short = 'v', long)]
    verbose: bool,

    /// Print for each file how its data was copied, and why
    #[arg(long, hide_short_help = true)]
    debug: bool,

    /// Stay on the file system of each argument
    #[arg(short = 'x', long, hide_short_help = true)]
    one_file_system: bool,

    /// Copy into this directory
    #[arg(short = 't', long, value_name = "DIR", conflicts_with = "no_target_directory", hide_short_help = true)]
    target_directory: Vec<OsString>,

    /// Treat the target as the copy's name, even if it is a directory
    #[arg(short = 'T', long, hide_short_help = true)]
    no_target_directory: bool,

    /// Make hard links instead of copies
    #[arg(short = 'l', long, hide_short_help = true)]
    link: bool,

    /// Make symbolic links instead of copies
    #[arg(short = 's', long, hide_short_help = true)]
    symbolic_link: bool,

    /// Copy metadata and no bytes
    #[arg(long, hide_short_help = true)]
    attributes_only: bool,

    /// Copy the contents of FIFOs and devices, also with -r
    #[arg(long, hide_short_help = true)]
    copy_contents: bool,

    /// Share blocks: auto, always or never
    #[arg(long, value_parser = choices::shown(&manner::REFLINK), value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always",
          hide_short_help = true)]
    reflink: Option<String>,

    /// Make holes: auto (as in the source), always (for zeros) or never
    #[arg(long, value_parser = choices::shown(&manner::SPARSE), value_name = "WHEN", hide_short_help = true)]
    sparse: Option<String>,

    /// Recreate the whole path of each FILE below the target directory
    #[arg(long, hide_short_help = true)]
    parents: bool,

    /// Keep files that would be written over: none, numbered, existing or simple
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    backup: Option<String>,

    /// The same, with the kind of backup taken from the environment
    #[arg(short = 'b', hide_short_help = true)]
    simple_backup: bool,

    /// Put this behind the names of backups
    #[arg(short = 'S', long, value_name = "TEXT", hide_short_help = true)]
    suffix: Option<OsString>,

    /// Remove files that have the name instead of writing over them
    #[arg(long, hide_short_help = true)]
    remove_destination: bool,

    /// Remove trailing slashes from each FILE
    #[arg(long, hide_short_help = true)]
    strip_trailing_slashes: bool,

    /// Set the default security context: without SELinux there is none
    #[arg(short = 'Z', hide_short_help = true)]
    default_context: bool,

    /// Read each copy back and compare: byte by byte, or by BLAKE3
    #[arg(long, value_name = "blake3", num_args = 0..=1, require_equals = true, default_missing_value = "bytes",
          value_parser = ["bytes", "blake3"])]
    verify: Option<String>,

    /// Print digests of the copied data from the same pass, as lines of `mh sum --tag` with the names of the copies
    #[arg(long, value_name = "ALGO", value_delimiter = ',', value_parser = Algorithm::typed, hide_short_help = true,
          conflicts_with_all = ["verbose", "debug", "dry_run", "link", "symbolic_link", "attributes_only"])]
    digest: Vec<Algorithm>,

    /// Skip files that are the same already: by length and time, or by BLAKE3
    #[arg(long, value_name = "blake3", num_args = 0..=1, require_equals = true, default_missing_value = "time",
          value_parser = ["time", "blake3"], conflicts_with = "resume")]
    skip_same: Option<String>,

    /// Resume an interrupted copy: skip complete files (recognised by their times, which are kept)
    #[arg(long)]
    resume: bool,

    /// Wait until all data is on the disk
    #[arg(long, hide_short_help = true)]
    fsync: bool,

    /// Print what would be copied, and copy nothing
    #[arg(long)]
    dry_run: bool,

    /// Other machines.
    #[command(flatten)]
    division: nodes::CopyDivisionArgs,

    /// Hands, priority, plan and report.
    #[command(flatten)]
    shared: SharedArgs,
}

fn command() -> Command {
    let command = CpArgs::augment_args(Command::new("cp"))
        .args_override_self(true)
        .infer_long_args(true)
        .version(env!("CARGO_PKG_VERSION"));
    trees::fitted(command).after_help(
        "Examples:\n  mh cp -a project /backup          a tree with everything it has, on all cores\n  \
         mh cp -a --resume project /backup go on where a signal ended it\n  \
         mh cp -a --verify disk.img /mnt   and read it back",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = CpArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    args.shared.settle(&context.settings.crew);
    if let Some(ended) = nodes::job(context, &args.division) {
        return ended;
    }
    let words = Words::new(context);
    settle_links(&mut args, matches);
    let mut manner = manner::of(context, &args, matches)?;
    let mut found = jobs::find(context, &words, &names(&args))?;
    if args.division.on.is_asked() {
        return nodes::run(context, &args, &manner, found);
    }
    copy_to_backup(&args, &mut manner, &mut found.jobs);
    if args.shared.explain {
        show_plan(context, &plan(context, &args, &manner, &found.jobs), args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let mut refused = found.refused;
    let mut jobs = found.jobs;
    let above = if args.parents { parents::make(&words, &mut jobs, &manner, &mut refused) } else { Vec::new() };
    let told = Told { words: &words, pretends: manner.pretends, digests: &args.digest };
    let finished = copy_all(context, &args.shared, &told, &manner, &jobs, what(&args, &jobs), "copying")?;
    refused += parents::finish(&words, &above, &manner);
    refused += if args.fsync { bring_to_disk(&words, &finished.roots) } else { 0 };
    trees::report(context, &args.shared, &finished.report);
    words.finish()?;
    Ok(if finished.report.counts.failed == 0 && refused == 0 { Outcome::Done } else { Outcome::Partial })
}

/// COMPAT: a file that is forced onto itself, with a backup, is copied to the backup's name instead.
fn copy_to_backup(args: &CpArgs, manner: &mut Manner, jobs: &mut [Job]) {
    let ([source, target], [job], true) =
        (args.files.as_slice(), jobs, manner.force && args.target_directory.is_empty())
    else {
        return;
    };
    let is_file = std::fs::metadata(target).is_ok_and(|there| there.is_file());
    if source != target || job.target != target.as_bytes() || !is_file {
        return;
    }
    let Some(backup) = manner.backup.take() else { return };
    let named = Operand::open(&job.target)
        .and_then(|operand| transfer::copy::backup_name(operand.parent.directory(), &operand.name, &backup));
    match named {
        Ok((name, _)) => {
            job.target.truncate(job.target.len() - last_part(&job.target).len());
            job.target.extend_from_slice(name.as_bytes());
        }
        // The copy onto itself says what is wrong.
        Err(_) => manner.backup = Some(backup),
    }
}

/// What came of a copy.
pub struct Finished {
    /// For `--report`.
    pub report: TreeReport,
    /// Directories that the targets stand in.
    pub roots: Vec<std::os::fd::OwnedFd>,
    /// Which jobs are complete.
    pub is_complete: Vec<bool>,
}

/// Copies `jobs` in this manner: for `mh cp` and `mh mv`.
pub fn copy_all(
    context: &Context,
    shared: &SharedArgs,
    told: &Told<'_>,
    manner: &Manner,
    jobs: &[Job],
    what: String,
    doing: &str,
) -> Result<Finished, Failure> {
    let tally = Arc::new(Tally::default());
    let half_done = HalfDone::default();
    let hands = trees::hands(context, shared, what, outset(manner, jobs), || bound(context, shared, jobs))?;
    trees::publish(&hands, &tally);
    let at_signal = half_done.clone();
    context.last_acts.add(move || at_signal.remove_all_and_hold());
    // Modes are made whole at once where they are kept; the budget's own files have theirs whatever the mask.
    let umask = files::set_umask(0);
    if !manner.keep.mode {
        files::set_umask(umask);
    }
    let copying = Copying {
        jobs,
        manner,
        umask,
        listener: told,
        tally: &tally,
        // Each directory has two sides.
        descriptors: (directory_descriptors() / 2).max(1),
        half_done: &half_done,
        left_out: None,
    };
    let shows_names = (manner.tells_all || !told.digests.is_empty()) && context.terminals.stdout;
    let label = trees::label(doing, jobs.iter().map(|job| job.source.as_slice()));
    let progress = if shows_names { None } else { trees::progress(context, label, survey(manner, jobs), &tally) };
    let copied = copy(&copying, hands.width, &hands.lease);
    drop(progress);
    files::set_umask(umask);
    let (measured, ways, hands_from) = (hands.told(copied.measured), copied.ways, hands.from());
    let (counts, dry_run, width_why) = (tally.counts(), copying.manner.pretends, hands.why());
    let (verb, is_verbose) = ("copied", manner.tells_all);
    let report = TreeReport { verb, dry_run, is_verbose, counts, measured, ways, width_why, hands_from };
    Ok(Finished { report, roots: copied.roots, is_complete: copied.is_complete })
}

/// Counts what there is to copy; none if less than all of it may be copied, or more.
fn survey(manner: &Manner, jobs: &[Job]) -> Option<Survey> {
    let is_directory = |job: &Job| std::fs::metadata(OsStr::from_bytes(&job.source)).is_ok_and(|found| found.is_dir());
    // A directory is refused without -r, and its tree would be walked for nothing.
    if !manner.recursive && jobs.iter().any(is_directory) {
        return None;
    }
    let replaces_all = manner.existing == Existing::Replace && !manner.update && manner.skip_same.is_none();
    let follows_below = manner.recursive && manner.follow == FollowLinks::Always;
    let goes_everywhere = !manner.one_file_system && !follows_below && !manner.contents;
    if !(replaces_all && goes_everywhere && manner.make == Make::Copies && !manner.pretends) {
        return None;
    }
    let rules = SurveyRules {
        weigh: |metadata| if metadata.is_file() { metadata.len() } else { 0 },
        follows_operands: manner.follow != FollowLinks::Never,
        weighs_links_once: manner.keep.links,
    };
    Some(Survey::new(jobs.iter().map(|job| PathBuf::from(OsStr::from_bytes(&job.source))).collect(), rules))
}

/// Nothing that is asked or shown waits for somebody, nor does what is read or written over: a pipe in a file's place would.
fn outset(manner: &Manner, jobs: &[Job]) -> Outset {
    let is_still = |job: &Job| {
        let [source, target] = [&job.source, &job.target].map(|path| std::fs::metadata(OsStr::from_bytes(path)));
        source.is_ok_and(|found| found.is_file() || found.is_dir()) && target.map_or(true, |there| there.is_file())
    };
    if manner.existing == Existing::Ask || manner.contents || manner.tells_all || !jobs.iter().all(is_still) {
        return Outset::Lasts;
    }
    let sides: Vec<&[u8]> = jobs.iter().flat_map(|job| [job.source.as_slice(), directory_of(&job.target)]).collect();
    outset::outset(sides.into_iter())
}

/// What bounds the hands of a copy, on either side.
pub fn bound(context: &Context, shared: &SharedArgs, jobs: &[Job]) -> Option<Bound> {
    let sides = jobs.iter().flat_map(|job| [job.source.as_slice(), directory_of(&job.target)]);
    width::bound(&context.host, shared.hands_asked(), || context.machine.hands_allowed(), sides)
}

/// COMPAT: the last one wins of those that say which links are followed, and -a and -d are among them.
fn settle_links(args: &mut CpArgs, matches: &ArgMatches) {
    let last_never = [("archive", args.archive), ("links", args.links)]
        .into_iter()
        .filter(|(_, is_given)| *is_given)
        .filter_map(|(name, _)| matches.index_of(name))
        .max();
    args.dereference &= matches.index_of("dereference") > last_never;
    args.follow_operands &= matches.index_of("follow_operands") > last_never;
}

/// What was typed, as `jobs` takes it.
fn names(args: &CpArgs) -> jobs::Names {
    let strip = |file: &OsString| {
        let bytes = file.clone().into_vec();
        if args.strip_trailing_slashes { transfer::operand::trimmed(&bytes).to_vec() } else { bytes }
    };
    jobs::Names {
        files: args.files.iter().map(strip).collect(),
        directories: args.target_directory.iter().map(|directory| directory.clone().into_vec()).collect(),
        target: if args.no_target_directory { jobs::TargetIs::OwnName } else { jobs::TargetIs::AsFound },
        layout: if args.parents { jobs::Layout::WholePaths } else { jobs::Layout::LastParts },
        repeats: jobs::Repeats::Refused,
    }
}

fn what(args: &CpArgs, jobs: &[Job]) -> String {
    match jobs {
        [one] => format!("cp {}", String::from_utf8_lossy(&one.source)),
        _ => format!("cp of {} arguments", args.files.len()),
    }
}

/// Brings the file systems of the targets to the disk. Failures.
fn bring_to_disk(words: &Words, roots: &[std::os::fd::OwnedFd]) -> usize {
    let failed = roots.iter().filter_map(|root| rustix::fs::syncfs(root.as_fd()).err());
    failed.inspect(|error| words.say(&format!("cannot bring the copies to the disk: {error}"))).count()
}

fn plan(context: &Context, args: &CpArgs, manner: &Manner, jobs: &[Job]) -> Plan {
    let mut plan = Plan::new(what(args, jobs));
    let hands = args.shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed());
    if manner.existing == Existing::Ask {
        plan.choose("hands", "1", "questions come one after the other");
    } else if let Some(bound) = bound(context, &args.shared, jobs) {
        plan.choose("hands", bound.shown(), bound.why);
    } else {
        plan.choose("hands", format!("up to {hands}"), "a directory a task; large files in pieces");
    }
    match !args.digest.is_empty() {
        true => plan.choose("bytes", "read and write, each file by one hand", "digests need every byte, in order"),
        false => plan.choose(
            "bytes",
            "the cheapest way per file",
            "shared blocks, else the kernel's copying, else read and write; --report counts them",
        ),
    };
    plan.choose("names", "each file under its own at once", "a signal removes what is not complete");
    if manner.keep.times {
        plan.choose("directories", "their times last", "entries put into them change them");
    }
    mh_kit::sharing::explain(&mut plan);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    /// The plan to copy `source` to `target`, with these options.
    fn planned(machine: &FakeMachine, options: &str, source: &str, target: &str) -> Plan {
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let typed = ["cp"].into_iter().chain(options.split_whitespace()).chain([source, target]);
        let matches = command().get_matches_from(typed);
        let args = CpArgs::from_arg_matches(&matches).expect("good options");
        let manner = manner::of(&context, &args, &matches).expect("a manner");
        let job = Job { source: source.as_bytes().to_vec(), target: target.as_bytes().to_vec() };
        plan(&context, &args, &manner, &[job])
    }

    fn hands(machine: &FakeMachine, options: &str, source: &str, target: &str) -> String {
        let plan = planned(machine, options, source, target);
        plan.about("hands").map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn hands_follow_the_machine_the_options_both_sides_and_the_questions() {
        let machine = FakeMachine::new(6, 1 << 30).with_rotating_disk("/slow").with_network_directory("/far");
        assert_eq!(hands(&machine, "-r", "/a", "/b"), "up to 6");
        assert_eq!(hands(&machine, "-r -j 2", "/a", "/b"), "up to 2");
        assert_eq!(hands(&machine, "-r", "/slow", "/b"), "1 hand");
        assert_eq!(hands(&machine, "-r", "/a", "/slow/b"), "1 hand", "either side, also of what is not there yet");
        assert_eq!(hands(&machine, "-r", "/far", "/slow/b"), "1 hand", "a rotating disk decides");
        assert_eq!(hands(&machine, "-r", "/a", "/far/b"), "24 workers on 6 hands");
        assert_eq!(hands(&machine, "-r -j 5", "/slow", "/b"), "up to 5", "who asks gets it");
        assert_eq!(hands(&machine, "-ri", "/a", "/b"), "1", "questions come one after the other");
    }

    #[test]
    fn what_is_counted_beforehand_is_what_is_copied() {
        let machine = FakeMachine::new(2, 1 << 30);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(place.path().join("tree")).expect("a directory");
        let write = |name| std::fs::write(place.path().join(name), name).expect("a file");
        ["file", "tree/below"].into_iter().for_each(write);
        let counted = |options: &str, sources: &[&str]| {
            let matches =
                command().get_matches_from(["cp"].into_iter().chain(options.split_whitespace()).chain(["a", "b"]));
            let args = CpArgs::from_arg_matches(&matches).expect("good options");
            let manner = manner::of(&context, &args, &matches).expect("a manner");
            let path = |source: &&str| place.path().join(source).into_os_string().into_vec();
            let jobs: Vec<Job> =
                sources.iter().map(|source| Job { source: path(source), target: Vec::new() }).collect();
            survey(&manner, &jobs)?.go_on(std::time::Duration::MAX).map(|whole| whole.entries)
        };
        assert_eq!(counted("", &["file"]), Some(1));
        assert_eq!(counted("-r", &["file", "tree"]), Some(3));
        assert_eq!(counted("", &["file", "tree"]), None, "a directory is refused without -r");
    }

    #[test]
    fn times_of_directories_are_planned_where_they_are_kept() {
        let machine = FakeMachine::new(2, 1 << 30);
        assert_eq!(planned(&machine, "-r", "/a", "/b").purpose, "cp /a");
        assert!(planned(&machine, "-r", "/a", "/b").about("directories").is_none());
        assert!(planned(&machine, "-a", "/a", "/b").about("directories").is_some());
    }
}
