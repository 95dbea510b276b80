//! The command that divides a run: plans it or finds its plan, has `mh xjobs --on` run the list of what is missing, and prints all outputs in the
//! order of the names.

use super::{PLAN, SumDivisionArgs, SumPart, SumPlan, planned, read_record, shard_name, why_undivided};
use crate::check::{CheckCounts, conclude_elsewhere};
use crate::print::what;
use crate::request::SumRequest;
use crate::words::{NAME, SumWords};
use crew::plan::Plan;
use files::{Directory, Follow};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{PlanDirectory, SignalWatch, ask_engine, die_as, environment, job_line};
use mh_kit::report::{counted, json_line, show_plan};
use mh_kit::shared_args::ReportFormat;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitStatus;

/// The spool of `mh xjobs`, and its list; there while it is not over.
const RUN: &str = "run";
const LIST: &str = "list";

/// Digests what `request` names, over machines. `asked`: by what the same command is known.
pub fn run(
    context: &Context,
    mut request: SumRequest,
    division: &SumDivisionArgs,
    asked: String,
) -> Result<Outcome, Failure> {
    if let Some(why) = why_undivided(&request) {
        return Err(Failure::Usage { command: NAME, message: why.to_owned() });
    }
    let on = &division.on;
    if request.shared.explain {
        show_plan(context, &explained(&request, on.workers()), request.shared.report)?;
        return Ok(Outcome::Done);
    }
    if on.on.is_some() {
        ask_engine(on)?;
    }
    let place = PlanDirectory::make(on, NAME)?;
    let watch = SignalWatch::begin(&place)?;
    let root = Directory::here().status(place.root().as_os_str().as_bytes(), Follow::Yes);
    request.left_out = root.ok().map(|root| root.identity());
    let plan = match read_record::<SumPlan>(&place, PLAN)? {
        Some(plan) if plan.asked == asked => plan,
        Some(_) => {
            let root = terminal::quote(place.root());
            let message = format!("use {root} as the spool: it has the plan of another command");
            return Err(Failure::Environment { command: NAME, message });
        }
        None => planned::make(context, &request, on, &place, asked)?,
    };
    let list = list(&place, &plan)?;
    if on.plan_only || !place.path(RUN).exists() || !place.path(LIST).exists() {
        let put = place.put(LIST, &list);
        put.map_err(|error| environment(NAME, "write", &place.path(LIST), &error))?;
    }
    if on.plan_only {
        return pass_on(&mut list.as_slice(), &place.path(LIST)).map(|()| Outcome::Done);
    }
    let ended = if list.is_empty() { None } else { Some(watch.run_list(on, &place.path(LIST), &place.path(RUN))?) };
    conclude(context, &request, place, &plan, ended)
}

fn explained(request: &SumRequest, workers: u32) -> Plan {
    let mut plan = Plan::new(what(request));
    plan.choose("workers", counted(u64::from(workers), "worker"), "each takes the next shard when it has room");
    plan.choose(
        "shards",
        "about 8 for each worker, fewer for small trees",
        "of equal cost: files and bytes; a file is one shard's",
    );
    plan.choose("lines", "in the order of the files", "printed when all shards are done");
    plan
}

/// The jobs that are missing.
fn list(place: &PlanDirectory, plan: &SumPlan) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| environment(NAME, "list jobs for", place.root(), &error);
    let mut list = Vec::new();
    for name in (0..plan.shards).map(shard_name) {
        let part: Option<SumPart> = read_record(place, &format!("part/{name}"))?;
        if part.is_none_or(|part| !part.is_good) {
            list.extend(job_line("sum", "--shard", &place.path(format!("shard/{name}"))).map_err(failed)?);
        }
    }
    Ok(list)
}

/// Prints what the shards have left, if all of them have.
fn conclude(
    context: &Context,
    request: &SumRequest,
    place: PlanDirectory,
    plan: &SumPlan,
    status: Option<ExitStatus>,
) -> Result<Outcome, Failure> {
    let again = || {
        let text = format!("the same command with --spool {} does what is missing", terminal::quote(place.root()));
        context.messages.conclusion(NAME, &text);
    };
    if let Some(status) = status {
        die_as(status, again);
        if !matches!(status.code(), Some(0 | 1)) {
            again();
            return Ok(Outcome::Code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
    }
    let Some(ended) = SumEnd::of(&place, plan)? else {
        again();
        return Ok(Outcome::Partial);
    };
    let over = std::fs::remove_file(place.path(LIST)).and_then(|()| std::fs::remove_dir_all(place.path(RUN)));
    let _done_again_at_worst = over;
    let is_good = match &request.judging {
        Some(judging) => {
            let elsewhere = |manifest: usize| print_manifest(&place, plan, manifest);
            conclude_elsewhere(context, request, judging, &elsewhere)? == Outcome::Done
        }
        None => {
            print_shards(&place, 0..plan.shards)?;
            let words = SumWords::new(context, request);
            if plan.others > 0 {
                let others = counted(plan.others, "entry");
                words.warn(&format!("left out {others} without contents: links, FIFOs, devices"));
            }
            ended.failed_shards == 0 && plan.unlisted == 0
        }
    };
    match request.shared.report {
        Some(ReportFormat::Json) => context.messages.report(&json_line(&ended)),
        Some(ReportFormat::Text) => context.messages.report(&ended.text()),
        None => {}
    }
    place.end();
    Ok(if is_good { Outcome::Done } else { Outcome::Partial })
}

/// Prints the lines of a manifest's shards; what came of its files.
fn print_manifest(place: &PlanDirectory, plan: &SumPlan, manifest: usize) -> Result<CheckCounts, Failure> {
    let end = |manifest: usize| plan.manifests.get(manifest).copied().unwrap_or(plan.shards);
    let shards = if manifest == 0 { 0 } else { end(manifest - 1) }..end(manifest);
    print_shards(place, shards.clone())?;
    let mut counts = CheckCounts::default();
    for name in shards.map(shard_name) {
        let part: Option<SumPart> = read_record(place, &format!("part/{name}"))?;
        counts = part.map_or(counts, |part| counts.and(part.counts));
    }
    Ok(counts)
}

fn print_shards(place: &PlanDirectory, shards: std::ops::Range<u32>) -> Result<(), Failure> {
    for name in shards.map(shard_name) {
        let path = place.path(format!("out/{name}"));
        let mut lines = File::open(&path).map_err(|error| environment(NAME, "open", &path, &error))?;
        pass_on(&mut lines, &path)?;
    }
    Ok(())
}

/// Copies what was prepared to standard output.
fn pass_on(from: &mut dyn io::Read, path: &std::path::Path) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match io::copy(from, &mut output).and_then(|_| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
        copied => copied.map_err(|error| environment(NAME, "print", path, &error)),
    }
}

/// How it ended.
#[derive(Debug, Serialize)]
struct SumEnd {
    files: u64,
    shards: u32,
    failed_shards: u64,
}

impl SumEnd {
    /// None where a shard has no part.
    fn of(place: &PlanDirectory, plan: &SumPlan) -> Result<Option<Self>, Failure> {
        let mut ended = Self { files: plan.files, shards: plan.shards, failed_shards: 0 };
        for name in (0..plan.shards).map(shard_name) {
            let Some(part) = read_record::<SumPart>(place, &format!("part/{name}"))? else { return Ok(None) };
            ended.failed_shards += u64::from(!part.is_good);
        }
        Ok(Some(ended))
    }

    fn text(&self) -> String {
        format!("digested {} in {}\n", counted(self.files, "file"), counted(u64::from(self.shards), "shard"))
    }
}
