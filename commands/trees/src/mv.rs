//! `mh mv`: renames, and where that is not possible copies to the other file system on all cores and removes what is complete there.
//! Does not copy or remove (engines/transfer).

mod elsewhere;
mod interruption;
mod rename;

use self::elsewhere::Elsewhere;
use self::interruption::Interruption;
use self::rename::{Moved, Renaming};
use crate::cp::jobs::{self, Found, Layout, Names, Repeats, TargetIs};
use crate::cp::manner::{KEEP_ALL, backup, refuse_backup_of_nothing};
use crate::cp::words::Told;
use crate::cp::{Finished, bound, copy_all};
use crate::rm::remove_quietly;
use crate::trees::{self, TreeReport, Words};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::plan::Plan;
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{counted, json_line, show_plan};
use mh_kit::shared_args::{ReportFormat, SharedArgs};
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use transfer::copy::{Existing, FollowLinks, Job, Make, Manner, Reflink, Same, Sparse};

/// The registry's line.
pub const ENTRY: Entry = Entry { link: trees::LINK, ..Entry::new("mv", Group::Do, Signals::TidyUpLater, command, run) };

/// Rename files and trees, or move them on all cores, as mv does
///
/// If a rename is not possible, the tree is copied with all its metadata, and removed when its copy is complete. Sources that could
/// not be copied stay.
#[derive(Args, Debug)]
struct MvArgs {
    /// The sources, and the target last
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Do not ask before replacing
    #[arg(short = 'f', long, overrides_with_all = ["interactive", "no_clobber"])]
    force: bool,

    /// Ask before replacing
    #[arg(short = 'i', long, overrides_with_all = ["force", "no_clobber"])]
    interactive: bool,

    /// Replace nothing
    #[arg(short = 'n', long, overrides_with_all = ["force", "interactive"])]
    no_clobber: bool,

    /// Replace only older files
    #[arg(short = 'u', long)]
    update: bool,

    /// Print each file that is moved
    #[arg(short = 'v', long)]
    verbose: bool,

    /// Move into this directory
    #[arg(short = 't', long, value_name = "DIR", conflicts_with = "no_target_directory")]
    target_directory: Vec<OsString>,

    /// Treat the target as the new name, even if it is a directory
    #[arg(short = 'T', long)]
    no_target_directory: bool,

    /// Keep files that would be replaced: none, numbered, existing or simple
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    backup: Option<String>,

    /// The same, with the kind of backup taken from the environment
    #[arg(short = 'b', hide_short_help = true)]
    simple_backup: bool,

    /// Put this behind the names of backups
    #[arg(short = 'S', long, value_name = "TEXT", hide_short_help = true)]
    suffix: Option<OsString>,

    /// Remove trailing slashes from each FILE
    #[arg(long, hide_short_help = true)]
    strip_trailing_slashes: bool,

    /// Between file systems, verify the copy before the source is removed
    #[arg(long, value_name = "blake3", num_args = 0..=1, require_equals = true, default_missing_value = "bytes",
          value_parser = ["bytes", "blake3"])]
    verify: Option<String>,

    /// Print what would be moved, and move nothing
    #[arg(long)]
    dry_run: bool,

    /// Hands, priority, plan and report.
    #[command(flatten)]
    shared: SharedArgs,
}

fn command() -> Command {
    let command = MvArgs::augment_args(Command::new("mv"))
        .args_override_self(true)
        .infer_long_args(true)
        .version(env!("CARGO_PKG_VERSION"));
    trees::fitted(command).after_help(
        "Examples:\n  mh mv a b                    a rename\n  \
         mh mv project /mnt/disk      a copy on all cores, then a removal",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = MvArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    args.shared.settle(&context.settings.crew);
    let words = Words::new(context);
    let Found { jobs, mut refused } = jobs::find(context, &words, &names(&args))?;
    if args.shared.explain {
        let mut plan = Plan::new(format!("mv of {}", counted(jobs.len() as u64, "argument")));
        plan.choose("move", "by renaming", "one step, where source and target are on one file system");
        plan.choose("else", "copy everything, then remove", "a source is removed only when its copy is complete");
        if let Some(bound) = bound(context, &args.shared, &jobs) {
            plan.choose("hands", bound.shown(), bound.why);
        }
        show_plan(context, &plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let backup_wanted = args.backup.as_deref().or(args.simple_backup.then_some(""));
    refuse_backup_of_nothing(context, backup_wanted, args.no_clobber)?;
    let kept = backup(context, backup_wanted, args.suffix.as_ref())?;
    let mut renaming = Renaming::new(&words, &args, kept);
    let (mut elsewhere, mut batches) = (Elsewhere::default(), Vec::new());
    let interruption = Interruption::of(context);
    let mut renames = Renames { dry_run: args.dry_run, ..Renames::default() };
    for job in jobs {
        if !args.dry_run && elsewhere.bears_on(&job) {
            batches.push(copy_and_remove(context, &words, &args, std::mem::take(&mut elsewhere), &interruption)?);
        }
        match renaming.move_one(&job) {
            Ok(Moved::Renamed) => renames.renamed += 1,
            Ok(Moved::Left) => renames.left += 1,
            Ok(Moved::ToBeCopied(kept)) => {
                renames.copied += 1;
                elsewhere.add(job, kept);
            }
            Err(text) => {
                words.say(&text);
                refused += 1;
            }
        }
    }
    renames.failed = refused as u64;
    report(context, &args.shared, &renames);
    if !elsewhere.is_empty() && !args.dry_run {
        batches.push(copy_and_remove(context, &words, &args, elsewhere, &interruption)?);
    }
    for batch in &batches {
        trees::report(context, &args.shared, &batch.report);
    }
    words.finish()?;
    let is_whole = refused == 0 && batches.iter().all(|batch| batch.failed == 0);
    Ok(if is_whole { Outcome::Done } else { Outcome::Partial })
}

fn names(args: &MvArgs) -> Names {
    let strip = |file: &OsString| {
        let bytes = file.clone().into_vec();
        if args.strip_trailing_slashes { transfer::operand::trimmed(&bytes).to_vec() } else { bytes }
    };
    Names {
        files: args.files.iter().map(strip).collect(),
        directories: args.target_directory.iter().map(|directory| directory.clone().into_vec()).collect(),
        target: if args.no_target_directory { TargetIs::OwnName } else { TargetIs::AsFound },
        layout: Layout::LastParts,
        // Each is moved after the one before it, as it is then.
        repeats: Repeats::Allowed,
    }
}

/// What became of arguments, or would have.
#[derive(Default, Serialize)]
struct Renames {
    renamed: u64,
    copied: u64,
    left: u64,
    failed: u64,
    dry_run: bool,
}

/// `--report` of renames: there is no time in them that cores could save. Where others are copied their report, which follows, is all of the JSON.
fn report(context: &Context, shared: &SharedArgs, renames: &Renames) {
    let Renames { renamed, copied, left, failed, dry_run } = renames;
    let text = match shared.report {
        None => return,
        Some(ReportFormat::Json) if *copied > 0 && !dry_run => return,
        Some(ReportFormat::Json) => json_line(renames),
        Some(ReportFormat::Text) => {
            let would_have = if *dry_run { "would have " } else { "" };
            let others = match (copied, dry_run) {
                (0, _) => "nothing was copied".to_owned(),
                (_, false) => "the others are copied".to_owned(),
                (_, true) => format!("{copied} would be copied to another file system and removed"),
            };
            format!(
                "{would_have}renamed {}, {left} left as they were, {failed} failed; {others}\n",
                counted(*renamed, "entry")
            )
        }
    };
    context.messages.report(&text);
}

/// What was copied together.
struct Batch {
    report: TreeReport,
    failed: u64,
}

/// Copies what cannot be renamed, and removes each source whose copy is complete.
fn copy_and_remove(
    context: &Context,
    words: &Words,
    args: &MvArgs,
    elsewhere: Elsewhere,
    interruption: &Interruption,
) -> Result<Batch, Failure> {
    let manner = Manner {
        keeps_roots: false,
        recursive: true,
        follow: FollowLinks::Never,
        make: Make::Copies,
        keep: KEEP_ALL,
        existing: Existing::Replace,
        update: false,
        force: false,
        remove_first: true,
        backup: None,
        skip_same: None,
        verify: args.verify.as_ref().map(|how| if how == "blake3" { Same::Digest } else { Same::Usual }),
        sparse: Sparse::Auto,
        reflink: Reflink::Auto,
        one_file_system: false,
        contents: false,
        tells_all: args.verbose,
        // COMPAT: with mv what is told as removed is the source.
        tells_removed: false,
        tells_ways: false,
        pretends: false,
        targets: transfer::copy::JobTargets::Typed,
    };
    let (jobs, kept): (Vec<Job>, Vec<_>) = elsewhere.into_jobs().unzip();
    let what = format!("mv of {}", counted(jobs.len() as u64, "argument"));
    let told = Told { words, pretends: false, digests: &[] };
    interruption.copies(&jobs);
    let Finished { report, is_complete, .. } = copy_all(context, &args.shared, &told, &manner, &jobs, what, "moving")?;
    let mut complete = Vec::new();
    for ((job, kept), is_complete) in jobs.into_iter().zip(kept).zip(is_complete) {
        match kept {
            _ if is_complete => complete.push(job.source),
            Some(kept) => kept.put_back(),
            None => {}
        }
    }
    interruption.removes(&complete);
    let not_removed = remove_quietly(context, &args.shared, words, &complete)?;
    interruption.is_over();
    let failed = report.counts.failed + not_removed;
    Ok(Batch { report, failed })
}
