//! `mh mv`: renames, and where that is not possible copies to the other file system on all cores and removes what is complete there.
//! Does not copy or remove (engines/transfer).

use crate::context::Context;
use crate::cp::jobs::{self, Found, Layout, Names, TargetIs};
use crate::cp::manner::{KEEP_ALL, backup, refuse_backup_of_nothing};
use crate::cp::{Finished, bound, copy_all};
use crate::failure::{Failure, Outcome};
use crate::registry::{Entry, Group, Signals};
use crate::report::show_plan;
use crate::rm::remove_quietly;
use crate::shared_args::{ReportFormat, SharedArgs};
use crate::trees::{self, Words, cause, counted_entries, shown};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::plan::Plan;
use rustix::io::Errno;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use sys::entry::{self, Follow, Kind, Replace, Status, flags};
use transfer::copy::{Backup, Existing, FollowLinks, Job, Make, Manner, Reflink, Same, Sparse, back_up};
use transfer::operand::Operand;

/// The registry's line.
pub const ENTRY: Entry =
    Entry { name: "mv", group: Group::Do, command, rewrite: |line| line, run, signals: Signals::TidyUpLater };

/// Rename files and trees; move them to other file systems on all cores, as mv does
///
/// Where a rename is not possible the tree is copied with everything it has, and removed when its copy is complete. What could not
/// be copied stays.
#[derive(Args, Debug)]
struct MvArgs {
    /// What to move, and where to
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

    /// Replace only what is older
    #[arg(short = 'u', long)]
    update: bool,

    /// Say what is moved
    #[arg(short = 'v', long)]
    verbose: bool,

    /// Move into this folder
    #[arg(short = 't', long, value_name = "DIR", conflicts_with = "no_target_directory")]
    target_directory: Option<OsString>,

    /// The target is the new name itself, also if it is a folder
    #[arg(short = 'T', long)]
    no_target_directory: bool,

    /// Keep files that would be replaced: none, numbered, existing or simple
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    backup: Option<String>,

    /// The same, as the environment says how
    #[arg(short = 'b', hide_short_help = true)]
    simple_backup: bool,

    /// Put this behind the names of backups
    #[arg(short = 'S', long, value_name = "TEXT", hide_short_help = true)]
    suffix: Option<OsString>,

    /// Take slashes at the end of each FILE away
    #[arg(long, hide_short_help = true)]
    strip_trailing_slashes: bool,

    /// Between file systems, read back what was written before the source is removed
    #[arg(long, value_name = "blake3", num_args = 0..=1, require_equals = true, default_missing_value = "bytes",
          value_parser = ["bytes", "blake3"])]
    verify: Option<String>,

    /// Move nothing and say what would be moved
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
        let mut plan = Plan::new(format!("mv of {} arguments", jobs.len()));
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
    let mut elsewhere = Vec::new();
    let mut renames = Renames { dry_run: args.dry_run, ..Renames::default() };
    for job in jobs {
        match move_one(&words, &job, &args, kept.as_ref()) {
            Ok(Moved::Renamed) => renames.renamed += 1,
            Ok(Moved::Left) => renames.left += 1,
            Ok(Moved::ToBeCopied) => elsewhere.push(job),
            Err(text) => {
                words.say(&text);
                refused += 1;
            }
        }
    }
    renames.failed = refused as u64;
    renames.copied = elsewhere.len() as u64;
    report(context, &args.shared, &renames);
    let has_copies = !elsewhere.is_empty() && !args.dry_run;
    let failed = if has_copies { copy_and_remove(context, &words, &args, &elsewhere)? } else { 0 };
    words.finish()?;
    Ok(if refused == 0 && failed == 0 { Outcome::Done } else { Outcome::Partial })
}

fn names(args: &MvArgs) -> Names {
    let strip = |file: &OsString| {
        let bytes = file.clone().into_vec();
        if args.strip_trailing_slashes { transfer::operand::trimmed(&bytes).to_vec() } else { bytes }
    };
    Names {
        files: args.files.iter().map(strip).collect(),
        folder: args.target_directory.as_ref().map(|folder| folder.clone().into_vec()),
        target: if args.no_target_directory { TargetIs::OwnName } else { TargetIs::AsFound },
        layout: Layout::LastParts,
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
        Some(ReportFormat::Json) => serde_json::to_string(renames).expect("plain data") + "\n",
        Some(ReportFormat::Text) => {
            let would_have = if *dry_run { "would have " } else { "" };
            let others = match (copied, dry_run) {
                (0, _) => "nothing was copied".to_owned(),
                (_, false) => "the others are copied".to_owned(),
                (_, true) => format!("{copied} would be copied to another file system and removed"),
            };
            format!(
                "{would_have}renamed {}, {left} left as they were, {failed} failed; {others}\n",
                counted_entries(*renamed)
            )
        }
    };
    context.messages.report(&text);
}

/// What became of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Renamed,
    /// It stays, as was wished.
    Left,
    /// It lies on another file system.
    ToBeCopied,
}

/// Renames one argument if it can be renamed. The error is a sentence of GNU's.
fn move_one(words: &Words, job: &Job, args: &MvArgs, kept: Option<&Backup>) -> Result<Moved, String> {
    let (from, to) = (shown(&job.source), shown(&job.target));
    let not_found = |error: io::Error| format!("cannot stat {from}: {}", cause(&error));
    let source = Operand::open(&job.source).map_err(not_found)?;
    let status = entry::status_at(source.parent.as_fd(), &source.name, Follow::No).map_err(not_found)?;
    if source.has_slash && status.kind() != Kind::Folder {
        return Err(not_found(Errno::NOTDIR.into()));
    }
    let target =
        Operand::open(&job.target).map_err(|error| format!("cannot move {from} to {to}: {}", cause(&error)))?;
    if target.has_slash && status.kind() != Kind::Folder {
        return Err(format!("cannot move {from} to {to}: {}", cause(&Errno::NOTDIR.into())));
    }
    let mut backed_up = String::new();
    if let Ok(there) = entry::status_at(target.parent.as_fd(), &target.name, Follow::No) {
        if !may_replace(words, job, args, &status, &there, kept)? {
            return Ok(Moved::Left);
        }
        if kept.is_some_and(|kept| kept.is_in_place_of(target.parent.as_fd(), &target.name, &status)) {
            return Err(format!("backing up {to} might destroy source;  {from} not moved"));
        }
        if let Some(kept) = kept.filter(|_| !args.dry_run) {
            let name = back_up(target.parent.as_fd(), &target.name, kept)
                .map_err(|error| format!("cannot backup {to}: {}", cause(&error)))?;
            backed_up = format!(" (backup: {})", shown(name.as_bytes()));
        }
    }
    if args.dry_run {
        if status.kind() == Kind::Folder {
            refuse_into_itself(&status, &target, &from, &to)?;
        }
        // Mounts of one file system in two places are told as renames.
        let goal = entry::status_at(target.parent.as_fd(), c".", Follow::No).map_err(not_found)?;
        let is_elsewhere = goal.identity().device != status.identity().device;
        words.shows(&format!("{} {from} -> {to}", if is_elsewhere { "copied and removed" } else { "renamed" }));
        return Ok(if is_elsewhere { Moved::ToBeCopied } else { Moved::Renamed });
    }
    let moved = rename(&source, &target, job, &status, args)?;
    if args.verbose && moved == Moved::Renamed {
        words.shows(&format!("renamed {from} -> {to}{backed_up}"));
    }
    Ok(moved)
}

/// Whether something that has the new name may be replaced.
fn may_replace(
    words: &Words,
    job: &Job,
    args: &MvArgs,
    status: &Status,
    there: &Status,
    kept: Option<&Backup>,
) -> Result<bool, String> {
    let (from, to) = (shown(&job.source), shown(&job.target));
    let is_lost = status.kind() == Kind::Link
        && there.kind() != Kind::Link
        && kept.is_none()
        && leads_there(job, there).unwrap_or(false);
    if there.identity() == status.identity() || is_lost {
        return Err(format!("{from} and {to} are the same file"));
    }
    if args.no_clobber || (args.update && there.changed_at() >= status.changed_at()) {
        return Ok(false);
    }
    match (status.kind(), there.kind()) {
        (Kind::Folder, kind) if kind != Kind::Folder && kept.is_none() => {
            Err(format!("cannot overwrite non-directory {to} with directory {from}"))
        }
        (kind, Kind::Folder) if kind != Kind::Folder => {
            Err(format!("cannot overwrite directory {to} with non-directory"))
        }
        _ => Ok(!args.interactive || words.asks(&format!("overwrite {to}"))),
    }
}

/// COMPAT: a link is not put in the place of what it leads to: nothing would lead there any more. It is where that file has another name, by which the
/// link finds it.
fn leads_there(job: &Job, there: &Status) -> io::Result<bool> {
    let source = Operand::open(&job.source)?;
    let meant = entry::status_at(source.parent.as_fd(), &source.name, Follow::Yes)?;
    if meant.identity() != there.identity() {
        return Ok(false);
    }
    if there.links() < 2 {
        return Ok(true);
    }
    let found = std::fs::canonicalize(OsStr::from_bytes(&job.source))?.into_os_string().into_vec();
    let (found, target) = (Operand::open(&found)?, Operand::open(&job.target)?);
    let folder = |operand: &Operand| entry::status_at(operand.parent.as_fd(), c".", Follow::No);
    Ok(found.name == target.name && folder(&found)?.identity() == folder(&target)?.identity())
}

/// What a real run would refuse: a folder into itself. The error is its sentence.
fn refuse_into_itself(source: &Status, target: &Operand, from: &str, to: &str) -> Result<(), String> {
    let mut at = entry::open_at(target.parent.as_fd(), c".", flags::O_PATH | flags::O_DIRECTORY, 0).ok();
    let mut last = None;
    while let Some(folder) = at
        && let Ok(found) = entry::status_of(folder.as_fd())
        && last != Some(found.identity())
    {
        if found.identity() == source.identity() {
            return Err(format!("cannot move {from} to a subdirectory of itself, {to}"));
        }
        last = Some(found.identity());
        at = entry::open_at(folder.as_fd(), c"..", flags::O_PATH | flags::O_DIRECTORY, 0).ok();
    }
    Ok(())
}

fn rename(source: &Operand, target: &Operand, job: &Job, status: &Status, args: &MvArgs) -> Result<Moved, String> {
    let (from, to) = (shown(&job.source), shown(&job.target));
    let replace = if args.no_clobber { Replace::No } else { Replace::Yes };
    let (here, goal) = (source.parent.as_fd(), target.parent.as_fd());
    let mut renamed = entry::rename_at(here, &source.name, goal, &target.name, replace);
    // LIE: NFS and some of FUSE cannot promise to replace nothing, and say that the call is wrong.
    if args.no_clobber
        && renamed.as_ref().is_err_and(|error| {
            [Errno::INVAL, Errno::NOSYS].iter().any(|no| error.raw_os_error() == Some(no.raw_os_error()))
        })
    {
        if entry::status_at(goal, &target.name, Follow::No).is_ok() {
            return Ok(Moved::Left);
        }
        renamed = entry::rename_at(here, &source.name, goal, &target.name, Replace::Yes);
    }
    let Err(error) = renamed else { return Ok(Moved::Renamed) };
    match Errno::from_raw_os_error(error.raw_os_error().unwrap_or_default()) {
        // COMPAT: within one file system the kernel refuses it in the same words.
        Errno::XDEV if [c".", c".."].contains(&source.name.as_c_str()) => {
            Err(format!("cannot move {from} to {to}: {}", cause(&Errno::BUSY.into())))
        }
        Errno::XDEV => make_room(target, status, &from, &to).map(|()| Moved::ToBeCopied),
        Errno::EXIST if args.no_clobber => Ok(Moved::Left),
        Errno::INVAL if status.kind() == Kind::Folder => {
            Err(format!("cannot move {from} to a subdirectory of itself, {to}"))
        }
        _ => Err(format!("cannot move {from} to {to}: {}", cause(&error))),
    }
}

/// COMPAT: a folder takes the place of an empty one alone, between file systems as within one: two are not merged. (Files go when their
/// copy is made.)
fn make_room(target: &Operand, status: &Status, from: &str, to: &str) -> Result<(), String> {
    if status.kind() != Kind::Folder {
        return Ok(());
    }
    match entry::remove_folder_at(target.parent.as_fd(), &target.name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("inter-device move failed: {from} to {to}; unable to remove target: {}", cause(&error)))
        }
        _ => Ok(()),
    }
}

/// Copies what cannot be renamed, and removes each source whose copy is complete. Failures.
fn copy_and_remove(context: &Context, words: &Words, args: &MvArgs, jobs: &[Job]) -> Result<u64, Failure> {
    let manner = Manner {
        recursive: true,
        follow: FollowLinks::Never,
        make: Make::Copies,
        keep: KEEP_ALL,
        existing: Existing::Replace,
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
        tells_ways: false,
        pretends: false,
    };
    let what = format!("mv of {} arguments", jobs.len());
    let Finished { report, is_complete, .. } = copy_all(context, &args.shared, words, &manner, jobs, what)?;
    trees::report(context, &args.shared, &report);
    let complete: Vec<Vec<u8>> =
        jobs.iter().zip(is_complete).filter(|(_, complete)| *complete).map(|(job, _)| job.source.clone()).collect();
    let not_removed = remove_quietly(context, &args.shared, words, &complete)?;
    Ok(report.counts.failed + not_removed)
}
