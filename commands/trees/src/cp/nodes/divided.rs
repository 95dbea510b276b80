//! The command that divides a copy: refuses what cannot be divided, plans or finds the plan, has `mh xjobs --on` run the list of what is missing,
//! and says how it ended.

use super::super::{CpArgs, NAME, jobs};
use super::CopyDivisionArgs;
use super::plan::{self, ToPlan};
use super::records::{
    CopyFinished, CopyPlan, DIRECTORIES, FINISHED, LARGE, LargeFile, PlannedDirectory, RecordLines, Verified,
    part_head, read_one, shard_name,
};
use crate::trees::{self, Words};
use crew::plan::Plan;
use files::{Directory, FileReference, Follow};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{BARRIER, PlanDirectory, SignalWatch, ask_engine, die_as, environment, job_line};
use mh_kit::report::{counted, json_line, show_plan};
use mh_kit::shared_args::{ReportFormat, SharedArgs};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use transfer::copy::{Job, Make, Manner};

/// The spool of `mh xjobs`, and its list; there while it is not over.
const RUN: &str = "run";
const LIST: &str = "list";

/// Copies `found` over machines.
pub fn run(context: &Context, args: &CpArgs, manner: &Manner, found: jobs::Found) -> Result<Outcome, Failure> {
    refuse(context, args, manner, &found.jobs)?;
    let on = &args.division.on;
    if args.shared.explain {
        show_plan(context, &explained(args, &found.jobs), args.shared.report)?;
        return Ok(Outcome::Done);
    }
    if on.on.is_some() {
        ask_engine(on)?;
    }
    let begun = Instant::now();
    let place = PlanDirectory::make(on, NAME)?;
    let watch = SignalWatch::begin(&place)?;
    let words = Words::new(context);
    let plan = plan_or_found(context, args, manner, &found.jobs, &place, &words)?;
    words.finish()?;
    let before: Option<CopyFinished> = read_one(&place, FINISHED)?;
    if before.is_some_and(|before| before.missing + before.failed == 0) {
        let root = terminal::quote(place.root());
        let text =
            format!("the copy in {root} was finished before, and nothing is copied again: remove it to copy anew");
        context.messages.conclusion(NAME, &text);
    }
    let list = list(&place, &plan, &args.division)?;
    if on.plan_only {
        place.put(LIST, &list).map_err(|error| environment(NAME, "write", &place.path(LIST), &error))?;
        return place.print_list(NAME, &list);
    }
    let path = place.path(LIST);
    if !place.path(RUN).exists() || !path.exists() {
        forget(&place, FINISHED)?;
        place.put(LIST, &list).map_err(|error| environment(NAME, "write", &path, &error))?;
    }
    let status = watch.run_list(on, &path, &place.path(RUN))?;
    let again = || {
        let text = format!("the same command with --spool {} does what is missing", terminal::quote(place.root()));
        context.messages.conclusion(NAME, &text);
    };
    die_as(status, again);
    // Failures are in the records, and in the next list.
    if !matches!(status.code(), Some(0 | 1)) {
        again();
        return Ok(Outcome::Code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
    }
    let ended = Ended::of(&place, &plan, &args.division, found.refused, begun)?;
    if !ended.is_over {
        again();
        return Ok(Outcome::Partial);
    }
    let _done_again_at_worst = std::fs::remove_file(&path).and_then(|()| std::fs::remove_dir_all(place.path(RUN)));
    ended.show(context, args);
    if on.spool.is_none() {
        remove_hidden(&place)?;
    }
    place.end();
    Ok(if ended.is_good() { Outcome::Done } else { Outcome::Partial })
}

/// Options that mean something on one machine alone, and copies whose parts cannot be made by several.
fn refuse(context: &Context, args: &CpArgs, manner: &Manner, jobs: &[Job]) -> Result<(), Failure> {
    let refused =
        |option: &str, why: &str| Err(trees::usage(context, &format!("{option} does not go with --on: {why}")));
    match () {
        () if !context.has_own_name() => Err(trees::usage(context, "--on is for mh cp")),
        () if args.interactive => refused("-i", "nobody can be asked on another machine"),
        () if manner.backup.is_some() => refused("a backup", "a copy that is tried again would be backed up itself"),
        () if matches!(manner.make, Make::HardLinks | Make::SymbolicLinks) => {
            refused("a link in place of a copy", "it has no bytes to divide")
        }
        () if args.parents => refused("--parents", "copy the directories themselves with -r"),
        () if args.copy_contents => refused("--copy-contents", "a FIFO can be read once"),
        () if args.debug => refused("--debug", "how bytes went is known on the machine that copied them"),
        () if args.dry_run => refused("--dry-run", "--plan-only leaves a plan, --explain says how it is divided"),
        () if !args.digest.is_empty() => refused("--digest", "mh sum -r --on reads the copies and prints digests"),
        () if args.verify.is_some() => refused("--verify", "copies are read back unless --no-verify is given"),
        () if transfer::copy::bear_on_each_other(jobs, manner) => Err(trees::usage(
            context,
            "copies that meet in one directory cannot be divided together: copy one source after the other",
        )),
        () => Ok(()),
    }
}

fn explained(args: &CpArgs, jobs: &[Job]) -> Plan {
    let mut plan = Plan::new(super::super::what(args, jobs));
    let workers = u64::from(args.division.on.workers());
    plan.choose("workers", counted(workers, "worker"), "each takes the next shard when it has room");
    plan.choose(
        "shards",
        "about 8 for each worker, fewer for small trees",
        "of equal cost: files and bytes; files of one directory stay together",
    );
    plan.choose("directories", "made before, dated at the end", "by one job behind all shards");
    let verify = if args.division.no_verify { "no" } else { "BLAKE3, usually by another worker" };
    plan.choose("read back", verify, "--no-verify leaves it out");
    plan
}

/// The plan of an earlier run of the same command, or a new one.
fn plan_or_found(
    context: &Context,
    args: &CpArgs,
    manner: &Manner,
    jobs: &[Job],
    place: &PlanDirectory,
    words: &Words,
) -> Result<CopyPlan, Failure> {
    let asked = asked(args);
    match CopyPlan::read(place)? {
        Some(plan) if plan.asked == asked => {
            if read_one::<CopyFinished>(place, FINISHED)?.is_some() {
                lend(place)?;
            }
            Ok(plan)
        }
        Some(_) => {
            let root = terminal::quote(place.root());
            Err(Failure::Environment {
                command: NAME,
                message: format!("use {root} as the spool: it has the plan of another command"),
            })
        }
        None => plan::make(&ToPlan { context, args, words, manner, jobs, place, asked }),
    }
}

/// The command without what may differ when it goes on.
fn asked(args: &CpArgs) -> String {
    let mut asked = args.clone();
    let no_verify = asked.division.no_verify;
    asked.division = CopyDivisionArgs { no_verify, ..CopyDivisionArgs::default() };
    asked.shared = SharedArgs { hands: None, standing: Default::default(), memory: None, explain: false, report: None };
    asked.verbose = false;
    format!("{:?} {asked:?}", std::env::current_dir().ok())
}

/// Directories that have their own modes by now are to be filled once more.
fn lend(place: &PlanDirectory) -> Result<(), Failure> {
    let mut directories = RecordLines::open(&place.path(DIRECTORIES))?;
    while let Some(PlannedDirectory { target, .. }) = directories.next()? {
        let Ok(path) = CString::new(target.0) else { continue };
        if let Ok(status) = Directory::here().status(&path, Follow::Yes)
            && status.mode() & 0o700 != 0o700
        {
            // What cannot be filled, the shard reports.
            let _reported_there =
                FileReference::Named(Directory::here(), &path).set_mode(status.mode() & 0o7777 | 0o700);
        }
    }
    Ok(())
}

/// The jobs that are missing, with barriers between the stages.
fn list(place: &PlanDirectory, plan: &CopyPlan, division: &CopyDivisionArgs) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| environment(NAME, "list jobs for", place.root(), &error);
    let job = |option: &str, path: &Path| job_line("cp", option, path).map_err(failed);
    let mut list = Vec::new();
    let mut copied_now = BTreeSet::new();
    for number in 0..plan.shards {
        let name = shard_name(number);
        if part_head(place, &name)?.is_none_or(|head| head.failed > 0) {
            list.extend(job("--shard", &place.path(format!("shard/{name}")))?);
            copied_now.insert(number);
            forget(place, &format!("verified/{name}"))?;
        }
    }
    list.extend_from_slice(BARRIER);
    list.extend(job("--shard-finish", place.root())?);
    if division.no_verify {
        return Ok(list);
    }
    list.extend_from_slice(BARRIER);
    for number in rotated(plan.shards, copied_now.len() as u32 + 1, division.on.workers()) {
        let name = shard_name(number);
        let verified: Option<Verified> = read_one(place, &format!("verified/{name}"))?;
        if copied_now.contains(&number) || verified.is_none_or(|verified| verified.bad > 0) {
            list.extend(job("--shard-verify", &place.path(format!("shard/{name}")))?);
        }
    }
    Ok(list)
}

/// A record of an earlier run does not stand for one that is to come.
fn forget(place: &PlanDirectory, name: &str) -> Result<(), Failure> {
    match std::fs::remove_file(place.path(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(environment(NAME, "remove", &place.path(name), &error))
        }
        _ => Ok(()),
    }
}

/// Shards in an order in which another worker than the one that copied usually reads them back: jobs are dealt to workers in turn, so that a
/// shard's is to stand where it goes to the next one.
fn rotated(shards: u32, jobs_before: u32, workers: u32) -> impl Iterator<Item = u32> {
    // Job number `before + place` goes to worker `(before + place) % workers`, shard `n` went to `n % workers`.
    let wanted = (1 + workers - jobs_before % workers) % workers;
    let shift = if shards == 0 { 0 } else { wanted % shards };
    (0..shards).map(move |place| (place + shards - shift) % shards)
}

/// Nobody will put together what is not complete by now.
fn remove_hidden(place: &PlanDirectory) -> Result<(), Failure> {
    let mut large = RecordLines::open(&place.path(LARGE))?;
    while let Some(LargeFile { hidden, .. }) = large.next()? {
        let _has_its_name_by_now = std::fs::remove_file(Path::new(OsStr::from_bytes(&hidden.0)));
    }
    Ok(())
}

/// How it ended.
#[derive(Debug, Serialize)]
struct Ended {
    files: u64,
    bytes: u64,
    directories: u64,
    left: u64,
    /// Arguments that were refused, what the plan has found wrong, and what was not copied, named or kept.
    failed: u64,
    shards: u32,
    nodes: usize,
    verified: u64,
    verified_by_other: u64,
    bad: u64,
    seconds: f64,
    /// Whether every job has run.
    #[serde(skip)]
    is_over: bool,
}

impl Ended {
    fn of(
        place: &PlanDirectory,
        plan: &CopyPlan,
        division: &CopyDivisionArgs,
        refused: usize,
        begun: Instant,
    ) -> Result<Self, Failure> {
        let counts = plan.counts;
        let finished: Option<CopyFinished> = read_one(place, FINISHED)?;
        let CopyFinished { missing, failed } = finished.unwrap_or_default();
        let mut ended = Self {
            files: counts.entries.saturating_sub(missing),
            bytes: counts.bytes,
            directories: counts.directories,
            left: counts.left,
            failed: counts.failed + refused as u64 + missing + failed,
            shards: plan.shards,
            nodes: 0,
            verified: 0,
            verified_by_other: 0,
            bad: 0,
            seconds: begun.elapsed().as_secs_f64(),
            is_over: finished.is_some(),
        };
        let mut nodes = BTreeSet::new();
        for name in (0..plan.shards).map(shard_name) {
            nodes.extend(part_head(place, &name)?.map(|head| head.node));
            let verified: Option<Verified> = read_one(place, &format!("verified/{name}"))?;
            ended.is_over &= verified.is_some() || division.no_verify;
            let Some(Verified { is_by_other, files, bad, .. }) = verified else { continue };
            ended.verified += files;
            ended.verified_by_other += if is_by_other { files } else { 0 };
            ended.bad += bad;
        }
        ended.nodes = nodes.len();
        Ok(ended)
    }

    fn is_good(&self) -> bool {
        self.failed + self.bad == 0
    }

    /// With `-v` or `--report`: cp says nothing where all went well.
    fn show(&self, context: &Context, args: &CpArgs) {
        match args.shared.report {
            Some(ReportFormat::Json) => context.messages.report(&json_line(self)),
            Some(ReportFormat::Text) => context.messages.report(&format!("{}\n", self.text())),
            None if args.verbose => context.messages.conclusion(NAME, &self.text()),
            None => {}
        }
    }

    fn text(&self) -> String {
        let files = counted(self.files, "file");
        let (directories, bytes) = (counted(self.directories, "directory"), terminal::bytes(self.bytes));
        let (shards, nodes) = (counted(u64::from(self.shards), "shard"), counted(self.nodes as u64, "node"));
        let failed =
            if self.failed > 0 { format!(", {} failed", terminal::integer(self.failed)) } else { String::new() };
        let left =
            if self.left > 0 { format!(", {} left as they were", terminal::integer(self.left)) } else { String::new() };
        let verified = match (self.verified, self.verified_by_other) {
            (0, _) => String::new(),
            (all, by_other) => {
                let bad =
                    if self.bad > 0 { format!(", {} differ", terminal::integer(self.bad)) } else { String::new() };
                format!("; read back {}, {} by another node{bad}", terminal::integer(all), terminal::integer(by_other))
            }
        };
        format!("copied {files} ({directories}), {bytes}{left}{failed} in {shards} on {nodes}{verified}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_read_back_by_another_worker_than_it_was_dealt_to() {
        for workers in 2..9_u32 {
            for shards in workers..40 {
                let jobs_before = shards + 1;
                let order: Vec<u32> = rotated(shards, jobs_before, workers).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..shards).collect::<Vec<_>>());
                let same =
                    order.iter().zip(0..).filter(|(shard, place)| *shard % workers == (jobs_before + place) % workers);
                // Those that the turn brings to the front may come back to their own.
                assert!(same.count() < workers as usize, "{shards} shards, {workers} workers");
            }
        }
        assert_eq!(rotated(0, 1, 4).count(), 0);
    }

    #[test]
    fn the_line_at_the_end_says_what_was_copied_and_by_whom_it_was_read_back() {
        let ended = Ended {
            files: 10_002,
            bytes: 618_000_000,
            directories: 1,
            left: 2,
            failed: 1,
            shards: 33,
            nodes: 4,
            verified: 10_000,
            verified_by_other: 9_310,
            bad: 3,
            seconds: 1.0,
            is_over: true,
        };
        let text = "copied 10,002 files (1 directory), 618 MB, 2 left as they were, 1 failed in 33 shards on 4 nodes; \
                    read back 10,000, 9,310 by another node, 3 differ";
        assert_eq!((ended.text().as_str(), ended.is_good()), (text, false));
    }
}
