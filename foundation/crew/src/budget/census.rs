//! Which run holds which hands, and why the others wait: the table as people and their scripts want to see it. Pure data.
//! Changes nothing, but that it frees what the dead held.

use super::cpu_set::CpuSet;
use super::entitlement::Entitled;
use super::hands::{self, Life};
use super::progress::{self, RunProgress};
use super::row::{self, RowSeen};
use super::seat::{KernelWitness, life_of, now_ms};
use super::table::{CrewDirectory, MemoryTable, TableError};
use super::view::TableView;
use super::{Priority, Weight};
use machine::Host;
use serde::Serialize;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use sys::robust_mark::OWNER_DIED;

/// All runs that share a table, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// CPUs that the runs may use together, those used by others included.
    pub cpus: usize,
    /// CPUs of those that nobody has.
    pub free: usize,
    /// CPUs that programs outside the budget keep busy, as runs that give way to them have found.
    pub used_by_others: u32,
    /// First hands for which there was no CPU.
    pub above_capacity: u32,
    /// The runs, those that hold most first.
    pub runs: Vec<CensusRun>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CensusRun {
    /// Process id, in the run's own pid namespace.
    pub pid: u32,
    /// Its class.
    pub class: Priority,
    /// Its share within the class.
    pub weight: Weight,
    /// Hands it holds.
    pub holds: u32,
    /// How many of them have no CPU: 0 or 1.
    pub above_capacity: u32,
    /// Hands it holds beyond what it would have if everybody wanted all they could use.
    pub lent: u32,
    /// Hands it has from the runner that started it; they count there.
    pub inherited: u32,
    /// Hands it has from elsewhere, a `make` above it. Nobody here counts them.
    pub external: u32,
    /// Hands it holds or waits for.
    pub wants: u32,
    /// Hands beyond which it would not get faster.
    pub useful: u32,
    /// Since when it is here.
    pub seconds: u64,
    /// What it says about itself besides.
    #[serde(flatten)]
    pub detail: RunDetail,
    /// What it is doing, in its own words.
    pub what: String,
    /// Its state in a word.
    pub state: RunState,
    /// Why it has what it has, in a sentence.
    pub why: String,
}

/// What is known of a run besides its hands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunDetail {
    /// Whether its hands are job slots of a run.
    #[serde(skip)]
    pub is_job_slots: bool,
    /// Whether its process id means the same here.
    #[serde(skip)]
    pub is_near: bool,
    /// When its process began, in clock ticks after boot: its id may be another's by now.
    #[serde(skip)]
    pub start_ticks: u64,
    /// How far it is; none where it does not say.
    pub progress: Option<RunProgress>,
}

/// A run's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has all it wants.
    Working,
    /// It waits for a hand.
    Waiting,
    /// It is giving hands back at its next yield points.
    Returning,
    /// Its user paused it.
    Paused,
    /// Its process is stopped.
    Stopped,
    /// Its process is gone, and a child of it that lives on keeps its row. It holds nothing.
    Dead,
}

/// Reads the directory's table; empty when there is none. What the dead held is free afterwards.
pub fn census(directory: &CrewDirectory) -> Result<Census, TableError> {
    let Some(table) = MemoryTable::open_existing(directory)? else { return Ok(Census::default()) };
    let locks = table.open_for_locks()?;
    let namespace = machine::own_pid_namespace(&Host::real()).ok();
    reap_the_dead(&table, &locks, namespace);
    let view = TableView::look(table.words(), now_ms());
    let entitled = view.entitled(u32::MAX);
    let if_all_wanted = view.entitled_if_all_wanted(u32::MAX);
    // A hand above capacity takes a free CPU at its run's next yield point: nobody else may count on that one.
    let mut free = view.free;
    let mut runs: Vec<CensusRun> = view
        .rows
        .iter()
        .enumerate()
        .map(|(position, seen)| {
            let life = life(&table, &locks, namespace, seen);
            let lent = view.held(seen).saturating_sub(if_all_wanted[position].may_hold);
            // One that is stopped comes to none, and one that is paused gives its hands back.
            let comes_to_it = seen.is_above && life == Life::Runs && !seen.standing.is_paused;
            let to_take = seen.cpus.and(&free).first().filter(|_| comes_to_it);
            to_take.into_iter().for_each(|cpu| free = free.without(&CpuSet::of([cpu])));
            let is_above = seen.is_above && to_take.is_none();
            let what = row::read_what(table.words(), seen.row);
            let detail = RunDetail {
                is_job_slots: seen.standing.is_job_slots,
                is_near: namespace == Some(seen.identity.namespace),
                start_ticks: seen.identity.start_ticks,
                progress: progress::read(table.words(), seen.row),
            };
            CensusRun { what, detail, ..run(&view, seen, entitled[position], life, Beyond { lent, is_above }) }
        })
        .collect();
    runs.sort_by_key(|run| (std::cmp::Reverse(run.holds), run.pid));
    let above_capacity = runs.iter().map(|run| run.above_capacity).sum();
    let used_by_others = view.rows.iter().map(|seen| seen.left_out).max().unwrap_or(0);
    // What all runs leave out is in no mask.
    let own = view.rows.iter().map(|seen| seen.cpus.count() + seen.left_out as usize).max().unwrap_or(0);
    Ok(Census { cpus: view.cpus.count().max(own), free: free.count(), used_by_others, above_capacity, runs })
}

/// The kernel tells a death to one sleeper alone, and that may be who looks here.
fn reap_the_dead(table: &MemoryTable, locks: &File, namespace: Option<u64>) {
    let is_dead = |seen: &RowSeen| life(table, locks, namespace, seen) == Life::Gone;
    let rows = row::present(table.words()).filter_map(|row| row::read(table.words(), row));
    let dead: Vec<usize> = rows.filter(is_dead).map(|seen| seen.row).collect();
    let witness = KernelWitness::new(table, locks.as_fd(), namespace);
    dead.iter().for_each(|&row| {
        hands::reap(table.words(), &witness, row);
    });
    if !dead.is_empty() {
        table.wake_all();
    }
}

fn life(table: &MemoryTable, locks: &File, namespace: Option<u64>, seen: &RowSeen) -> Life {
    let is_marked = table.death_word(seen.row).load(Ordering::SeqCst) & OWNER_DIED != 0;
    // Asked through a description that holds no lock, or it would always say no.
    let is_unlocked = sys::byte_lock::is_locked(locks, seen.row as u64).is_ok_and(|is_locked| !is_locked);
    match namespace {
        _ if is_marked || is_unlocked => Life::Gone,
        Some(namespace) if namespace == seen.identity.namespace => life_of(seen.identity),
        _ => Life::Runs,
    }
}

/// What a run has that it is not entitled to.
struct Beyond {
    lent: u32,
    is_above: bool,
}

fn run(view: &TableView, seen: &RowSeen, entitled: Entitled, life: Life, beyond: Beyond) -> CensusRun {
    let Beyond { lent, is_above } = beyond;
    let holds = view.held(seen);
    let state = match life {
        Life::Gone => RunState::Dead,
        Life::Stopped => RunState::Stopped,
        Life::Runs if seen.standing.is_paused => RunState::Paused,
        Life::Runs if entitled.must_return > 0 => RunState::Returning,
        Life::Runs if seen.waiting > 0 => RunState::Waiting,
        Life::Runs => RunState::Working,
    };
    CensusRun {
        pid: seen.identity.process,
        class: seen.standing.class,
        weight: seen.standing.weight,
        holds,
        above_capacity: u32::from(is_above),
        lent,
        inherited: view.inherited(seen),
        external: seen.external,
        wants: holds.saturating_add(seen.waiting).min(seen.useful_width),
        useful: seen.useful_width,
        seconds: view.now_ms.saturating_sub(seen.joined_ms) / 1000,
        detail: RunDetail::default(),
        what: String::new(),
        state,
        why: why(view, seen, entitled, state, is_above),
    }
}

fn why(view: &TableView, seen: &RowSeen, entitled: Entitled, state: RunState, is_above: bool) -> String {
    let held = view.held(seen);
    let reason = match state {
        RunState::Dead => "its process has ended; a child of it keeps its place here".to_owned(),
        RunState::Stopped => "its process is stopped; other runs may take its cores".to_owned(),
        RunState::Paused if held > 0 => format!("by its user; gives {} back within moments", cores(held)),
        RunState::Paused => "by its user, until mh crew resume".to_owned(),
        RunState::Returning => format!("gives {} back to runs that are entitled to them", cores(entitled.must_return)),
        RunState::Working => "has all the cores it wants".to_owned(),
        RunState::Waiting => why_waiting(view, seen, entitled),
    };
    let above = if is_above { "; its first core is one that another run uses, too" } else { "" };
    reason + above
}

fn why_waiting(view: &TableView, seen: &RowSeen, entitled: Entitled) -> String {
    let (class, held) = (seen.standing.class, view.held(seen));
    let is_other = |other: &RowSeen| other.row != seen.row;
    if held < entitled.may_hold {
        return format!("may have {}; other runs give them back within moments", cores(entitled.may_hold));
    }
    if let Some(classes) = holding_classes(view, |other| other.standing.class > class) {
        return match held {
            0 => format!("{classes} runs want every core"),
            _ => format!("{classes} runs want all other cores"),
        };
    }
    if holding_classes(view, |other| is_other(other) && other.standing.class == class).is_some() {
        let class = name(class);
        return match held {
            0 => format!("{class} runs take turns; its turn comes"),
            _ => format!("has its share; other {class} runs have theirs"),
        };
    }
    if let Some(classes) = holding_classes(view, is_other) {
        return format!("{classes} runs keep one core each");
    }
    match seen.left_out {
        0 => "has all that its CPUs and its quota allow".to_owned(),
        left_out => format!("leaves {} to programs outside mh", cores(left_out)),
    }
}

/// The classes of the runs that are meant and hold a hand, highest first: `high and normal`. None where there is no such run.
fn holding_classes(view: &TableView, is_meant: impl Fn(&RowSeen) -> bool) -> Option<String> {
    let holds = |class: &Priority| {
        view.rows.iter().any(|other| other.standing.class == *class && is_meant(other) && view.held(other) > 0)
    };
    let classes = [Priority::High, Priority::Normal, Priority::Low, Priority::Idle].into_iter().filter(holds);
    let names: Vec<String> = classes.map(name).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

fn name(class: Priority) -> String {
    format!("{class:?}").to_lowercase()
}

fn cores(count: u32) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}
