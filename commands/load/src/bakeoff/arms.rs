//! Starts of arms: data as they were prepared, the server with the arm's settings, a proof that its libraries are there, the loads in turn, its end.

use super::file::{ArmSection, BakeoffFile, LoadSection, ServerSection, words};
use super::journal::{LoadRecord, MemoryPoint, StartRecord};
use super::work_place::WorkPlace;
use super::{environment, usage};
use crate::load::{ActionArg, LoadArgs, PreparedLoad, Stopping, make_room, plan};
use ::load::bakeoff::arm_server::ArmServer;
use ::load::cost::ServerCost;
use ::load::late::WhoWasLate;
use ::load::run::{IntervalReport, RunReport, Watcher, run as run_load};
use clap::{Args, Command, FromArgMatches};
use mh_kit::failure::Failure;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::process_tree::descendants;

/// Measures starts of the arms of a file.
pub struct ArmBench<'a> {
    file: &'a BakeoffFile,
    stopping: &'a Stopping,
    place: Option<WorkPlace>,
}

/// An answer, or none because the user wants to end.
pub type Unless<T> = Result<Option<T>, Failure>;

impl<'a> ArmBench<'a> {
    /// Makes the data that each start begins with.
    pub fn prepare(
        file: &'a BakeoffFile,
        parent: Option<&Path>,
        stopping: &'a Stopping,
        says: &mut dyn FnMut(&str),
    ) -> Unless<Self> {
        let Some(server) = &file.server else { return Ok(Some(Self { file, stopping, place: None })) };
        let place = WorkPlace::make(parent, server)?;
        stopping.keep_no_longer(place.path());
        says(&format!("preparing the data in {}", terminal::quote(place.path())));
        let bench = Self { file, stopping, place: Some(place) };
        Ok(bench.make_data(server)?.map(|()| bench))
    }

    fn make_data(&self, server: &ServerSection) -> Unless<()> {
        let Some(place) = &self.place else { return Ok(Some(())) };
        for line in &server.prepare {
            if place.carry_out(line, self.stopping)?.is_none() {
                return Ok(None);
            }
        }
        let arm = &self.file.arms[self.file.baseline_index()];
        let Some(running) = self.start(arm)? else { return Ok(None) };
        let mut filled = BTreeMap::new();
        for load in &self.file.loads {
            let args = self.load_args(arm, load)?;
            match plan::fill_missing(&args, self.stopping, &mut filled) {
                _ if self.stopping.is_wanted() => return Ok(None),
                filled => filled.map_err(as_ours)?,
            }
        }
        self.stop(running)?;
        place.keep_data()?;
        Ok(Some(()))
    }

    /// Starts `arm`, puts all loads on it, and ends it.
    pub fn measure(&self, index: usize) -> Unless<StartRecord> {
        let arm = &self.file.arms[index];
        let began = Instant::now();
        if let Some(place) = &self.place {
            place.restore_data()?;
        }
        let Some(mut running) = self.start(arm)? else { return Ok(None) };
        let mut loads = Vec::new();
        for load in &self.file.loads {
            match self.put_on(arm, load, running.as_ref().map(ArmServer::pid)) {
                _ if self.stopping.is_wanted() => return Ok(None),
                record => loads.extend(record?),
            }
            if let Some((end, server)) = running.as_mut().and_then(|server| Some((server.end()?, server))) {
                let (words, name) = (server.last_words(), &load.name);
                return Err(environment(format!(
                    "measure arm '{}' ('{name}'): the server ended ({end}): {words}",
                    arm.name
                )));
            }
        }
        self.stop(running)?;
        Ok(Some(StartRecord { arm: index, took_s: began.elapsed().as_secs_f64(), loads }))
    }

    /// None of a server where the arm has one that runs already.
    fn start(&self, arm: &ArmSection) -> Unless<Option<ArmServer>> {
        let (Some(server), Some(place)) = (&self.file.server, &self.place) else { return Ok(Some(None)) };
        place.configure([&server.configuration, &arm.configuration])?;
        let started = place.start(server, &arm.options, &arm.environment)?;
        self.stopping.end_with_us(started.pid());
        let Some(running) = self.wait_until_ready(started, server, arm)? else { return Ok(None) };
        for library in preloads(&arm.environment) {
            let library = PathBuf::from(place.filled_in(&library));
            if !ArmServer::has_mapped(running.pid(), &library).map_err(environment)? {
                return Err(environment(format!(
                    "measure arm '{}': {} is in LD_PRELOAD and not mapped in process {}, so it would measure something else",
                    arm.name,
                    terminal::quote(&library),
                    running.pid()
                )));
            }
        }
        Ok(Some(Some(running)))
    }

    fn wait_until_ready(&self, mut running: ArmServer, server: &ServerSection, arm: &ArmSection) -> Unless<ArmServer> {
        let args = self.load_args(arm, &self.file.loads[0])?;
        let began = Instant::now();
        loop {
            if let Some(end) = running.end() {
                let words = running.last_words();
                return Err(environment(format!("start arm '{}': the server ended ({end}): {words}", arm.name)));
            }
            match plan::server_process(&args, self.stopping) {
                Ok(Some(other)) if !is_below(other, running.pid()) => {
                    return Err(environment(format!(
                        "measure arm '{}': process {other} answers at its address, and not the server that was started",
                        arm.name
                    )));
                }
                Ok(_) => return Ok(Some(running)),
                Err(Failure::Environment { message, .. }) if began.elapsed() > server.ready_within.0 => {
                    let within = terminal::duration(server.ready_within.0);
                    let words = running.last_words();
                    return Err(environment(format!(
                        "reach arm '{}' within {within}: {message}; it said: {words}",
                        arm.name
                    )));
                }
                Err(Failure::Environment { .. }) => {}
                Err(other) => return Err(as_ours(other)),
            }
            if self.stopping.is_wanted() {
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
    }

    fn stop(&self, running: Option<ArmServer>) -> Result<(), Failure> {
        match (running, &self.file.server) {
            (Some(running), Some(server)) => running.stop(server.stop, server.stop_within.0).map_err(environment),
            _ => Ok(()),
        }
    }

    fn load_args(&self, arm: &ArmSection, load: &LoadSection) -> Result<LoadArgs, Failure> {
        let filled_in = |text: &str| self.place.as_ref().map_or_else(|| text.to_owned(), |place| place.filled_in(text));
        load_args(self.file, arm, load, filled_in)
    }

    /// None of a load that was stopped.
    fn put_on(&self, arm: &ArmSection, load: &LoadSection, server: Option<u32>) -> Unless<LoadRecord> {
        let mut args = self.load_args(arm, load)?;
        args.server_pid = args.server_pid.or(server);
        make_room(args.connections as usize).map_err(as_ours)?;
        let mut prepared = plan::prepare(&args, self.stopping).map_err(as_ours)?;
        let mut watcher = MemoryWatcher { stopping: self.stopping, memory: Vec::new() };
        let workload = std::sync::Arc::clone(&prepared.workload);
        let report = run_load(&prepared.plan, &prepared.target, &*workload, prepared.meter.as_mut(), &mut watcher);
        let report =
            report.map_err(|error| environment(format!("load arm '{}' ('{}'): {error}", arm.name, load.name)))?;
        if report.is_stopped {
            return Ok(None);
        }
        if let Some(error) = &report.error {
            return Err(environment(format!("load arm '{}' ('{}') to its end: {error}", arm.name, load.name)));
        }
        Ok(Some(record(&prepared, &report, watcher.memory)))
    }
}

/// How often it is looked whether a server answers.
const POLL: Duration = Duration::from_millis(20);

/// What is wrong with the loads, before anything is started.
pub fn check_loads(file: &BakeoffFile) -> Result<(), Failure> {
    for arm in &file.arms {
        for load in &file.loads {
            let args = load_args(file, arm, load, str::to_owned)?;
            let complaint = match () {
                () if args.action != ActionArg::Run => "tables are prepared by themselves, once",
                () if args.study.find_max.is_some() || args.study.sweep.is_some() => {
                    "it is one run, no search and no sweep"
                }
                () if args.json || args.live || args.html.is_some() || args.hgrm.is_some() => {
                    "it has no report of its own"
                }
                () => {
                    plan::check(&args).map_err(|failure| in_load(load, failure))?;
                    continue;
                }
            };
            return Err(usage(format!("load '{}': {complaint}", load.name)));
        }
    }
    Ok(())
}

fn in_load(load: &LoadSection, failure: Failure) -> Failure {
    match failure {
        Failure::Usage { message, .. } => usage(format!("load '{}': {message}", load.name)),
        other => as_ours(other),
    }
}

/// Whether a process is `root` or one of those that came from it.
fn is_below(pid: u32, root: u32) -> bool {
    let number = |pid: u32| Pid::from_raw(pid.cast_signed());
    let below = || number(root).map(descendants).unwrap_or_default();
    pid == root || below().iter().any(|process| Some(process.pid) == number(pid))
}

/// The command line of `mh load` for an arm.
fn load_args(
    file: &BakeoffFile,
    arm: &ArmSection,
    load: &LoadSection,
    filled_in: impl Fn(&str) -> String,
) -> Result<LoadArgs, Failure> {
    let target =
        arm.target.as_deref().or(file.server.as_ref().map(|server| server.target.as_str())).unwrap_or_default();
    let mut all = vec![target.to_owned()];
    all.extend(words(&load.arguments)?);
    all.extend(words(&arm.load)?);
    let all: Vec<String> = all.iter().map(|word| filled_in(word)).collect();
    let refused = |error: clap::Error| {
        let text = error.render().to_string();
        let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        usage(format!("load '{}' on arm '{}': {text}", load.name, arm.name))
    };
    let command = LoadArgs::augment_args(Command::new("load").no_binary_name(true));
    let matches = command.try_get_matches_from(all).map_err(refused)?;
    LoadArgs::from_arg_matches(&matches).map_err(refused)
}

/// The libraries of LD_PRELOAD, which blanks and colons divide (ld.so(8)).
fn preloads(environment: &BTreeMap<String, String>) -> Vec<String> {
    let list = environment.get("LD_PRELOAD").map_or("", String::as_str);
    list.split([':', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// What the part for `mh load` could not do, in the name of this command.
fn as_ours(failure: Failure) -> Failure {
    match failure {
        Failure::Environment { message, .. } => environment(message),
        Failure::Usage { message, .. } => usage(message),
        other => other,
    }
}

/// Follows the server's memory, and ends a load that the user does not want any more.
struct MemoryWatcher<'a> {
    stopping: &'a Stopping,
    memory: Vec<MemoryPoint>,
}

impl Watcher for MemoryWatcher<'_> {
    fn interval(&mut self, report: &IntervalReport<'_>) -> bool {
        if let Some(cost) = report.cost {
            self.memory.push(memory_point(report.at_seconds, &cost));
            thin(&mut self.memory);
        }
        true
    }

    fn wants_to_stop(&mut self) -> bool {
        self.stopping.is_wanted()
    }
}

/// LIMIT: points of a load's memory; of more every second one is left out.
const POINTS_MAX: usize = 1200;

fn thin(points: &mut Vec<MemoryPoint>) {
    if points.len() >= POINTS_MAX {
        let mut number = 0;
        points.retain(|_| {
            number += 1;
            number % 2 == 1
        });
    }
}

fn memory_point(at_s: f64, cost: &ServerCost) -> MemoryPoint {
    let at_s = (at_s * 1000.0).round() / 1000.0;
    MemoryPoint { at_s, resident_bytes: cost.memory_bytes, virtual_bytes: cost.virtual_bytes }
}

fn record(prepared: &PreparedLoad, report: &RunReport, memory: Vec<MemoryPoint>) -> LoadRecord {
    let ledger = &report.ledger;
    let mut values = BTreeMap::from([
        ("transactions_per_s".to_owned(), report.rate()),
        ("failed".to_owned(), ledger.failures() as f64),
    ]);
    let note = match &report.late {
        WhoWasLate::Generator { .. } => Some("no response times: the generator was the limit".to_owned()),
        WhoWasLate::Nobody | WhoWasLate::Server => {
            let response = ledger.response();
            let percentiles = [("50", 50.0), ("95", 95.0), ("99", 99.0), ("99.9", 99.9)];
            let times = percentiles
                .map(|(name, percent)| (format!("response_p{name}_s"), response.percentile_ns(percent) as f64 / 1e9));
            values.extend(times.into_iter().filter(|_| response.count() > 0));
            None
        }
    };
    let done = ledger.succeeded() as f64;
    let mut memory = memory;
    // Of a load that is shorter than an interval, the look at its end is the only one.
    if let Some(cost) = report.cost.filter(|_| memory.is_empty()) {
        memory.push(memory_point(report.elapsed.as_secs_f64(), &cost));
    }
    if let Some(cost) = report.cost.filter(|_| done > 0.0) {
        values.insert("cpu_s".to_owned(), cost.cpu_ns() as f64 / 1e9 / done);
        values.extend(cost.switches.map(|switches| ("switches".to_owned(), switches as f64 / done)));
    }
    let most = |of: fn(&MemoryPoint) -> Option<u64>| memory.iter().filter_map(of).max().map(|bytes| bytes as f64);
    values.extend(most(|point| point.resident_bytes).map(|bytes| ("memory_peak_bytes".to_owned(), bytes)));
    values.extend(most(|point| point.virtual_bytes).map(|bytes| ("virtual_peak_bytes".to_owned(), bytes)));
    let note = note.or_else(|| {
        prepared.meter.is_none().then(|| "the server is not on this host: no CPU time, no memory".to_owned())
    });
    LoadRecord { values, note, memory }
}
