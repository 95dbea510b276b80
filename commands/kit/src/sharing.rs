//! Which budget of cores a run takes part in: hands that its runner has for it, the job slots of a `make` above, the table of all
//! runs of this user, or none but its own process's. Reads the variables that say so; the rule is in `foundation/crew/BUDGET.md`.

use crate::context::{Context, variable};
use crate::failure::with_causes;
use crew::budget::progress::{ProgressSource, ProgressUnit, WorkDone};
use crew::budget::{
    Budget, CrewDirectory, InProcess, Lease, LeaseToken, MachineWide, Priority, Proxy, Request, Surroundings,
    lease_token,
};
use crew::jobserver::{self, Auth, Jobserver, JobserverFault};
use crew::plan::Plan;
use crew::tally::Tally;
use rustix::process::{getpid, getppid};
use std::sync::Arc;

/// Where the table is: `MH_CREW_DIR`, else the usual place. None where the variable is there and empty: nothing is shared.
pub fn crew_directory() -> Option<CrewDirectory> {
    match variable("MH_CREW_DIR") {
        None => Some(CrewDirectory::usual()),
        Some(directory) if directory.is_empty() => None,
        Some(directory) => Some(CrewDirectory::at(directory)),
    }
}

/// Where a run of `class` stands, less the cores that the settings file keeps from the lower classes.
pub fn reserve(context: &Context, surroundings: Surroundings, class: Priority) -> Surroundings {
    let reserved = if class < Priority::Normal { context.settings.crew.reserved_cores } else { 0 };
    surroundings.without_first(reserved)
}

/// A run's budget.
pub struct Shared {
    /// What hands are taken from.
    pub budget: Box<dyn Budget>,
    /// What it could not share, as text that reads after "could not"; none where it shares as usual, or was told not to.
    pub why_alone: Option<String>,
    /// Whether its hands are job slots, unless its runner has some for it.
    has_slots: bool,
    table: Option<MachineWide>,
}

impl Shared {
    /// A budget of `width` hands that nobody shares.
    pub fn alone(width: usize) -> Self {
        Self { budget: Box::new(InProcess::new(width)), why_alone: None, has_slots: false, table: None }
    }

    /// A proxy for job slots beside the run of `lease`, where that takes its hands from the table.
    pub fn proxy_of_job_slots(&self, lease: &dyn Lease, request: Request) -> Option<Box<dyn Proxy>> {
        let is_from_table = !self.has_slots || lease.inherited() > 0;
        self.table.as_ref().filter(|_| is_from_table)?.proxy_of_job_slots(request)
    }

    /// Whose hands the run of `lease` works with, where they are not simply the table's.
    pub fn hands_from(&self, lease: &dyn Lease) -> Option<&'static str> {
        match lease.inherited() {
            0 if self.has_slots => Some(FROM_SLOTS),
            0 => None,
            _ => Some(FROM_RUNNER),
        }
    }
}

const FROM_RUNNER: &str = "those of the runner above, then the table's";
const FROM_SLOTS: &str = "the one it was started with, then job slots";

/// How far a run is that reads `total` bytes, for the table.
pub fn bytes_done(tally: &Arc<Tally>, total: Option<u64>) -> ProgressSource {
    let tally = Arc::clone(tally);
    Arc::new(move || WorkDone { unit: ProgressUnit::Bytes, done: tally.bytes_done(), total })
}

/// The process by whose number people know this run and signal it: its guard, where it was divided.
pub fn known_as<Fault>(divided: &Result<(), Fault>) -> u32 {
    let guard = if divided.is_ok() { getppid() } else { None };
    guard.unwrap_or_else(getpid).as_raw_nonzero().get().unsigned_abs()
}

/// Why runs could not share their cores now, where their table can be looked at and is not as it should be.
pub fn why_no_table() -> Option<String> {
    crew::budget::census::census(&crew_directory()?).err().map(|fault| with_causes(&fault))
}

/// Who named a directory for the table wants its runs to share.
pub fn tell_why_alone(context: &Context, name: &str, why: &str) {
    let message = format!("could not {why}; this run shares its cores with no other run");
    match variable("MH_CREW_DIR") {
        Some(_) => context.messages.warning(name, &message, &[]),
        None => context.messages.detail(name, &message),
    }
}

/// The budget for a run that could use `width` hands. Alone it has them all, as any other program would.
pub fn budget(context: &Context, width: usize, class: Priority) -> Shared {
    budget_as(context, width, class, std::process::id())
}

/// The same for a run that is known by the number of process `known_as`.
pub fn budget_as(context: &Context, width: usize, class: Priority, known_as: u32) -> Shared {
    let (table, mut why_alone) = match table(context, class, known_as) {
        Ok(table) => (table, None),
        Err(why) => (None, Some(why)),
    };
    let slots = match join(width, table.as_ref()) {
        Some(Ok(slots)) => Some(slots),
        Some(Err(fault)) => {
            why_alone = Some(with_causes(&fault));
            None
        }
        None => None,
    };
    let (has_slots, shown) = (slots.is_some(), table.clone());
    if let Some(slots) = &slots {
        context.last_acts.add(slots.returner());
    }
    let budget: Box<dyn Budget> = match (table, inheritance(), slots) {
        (Some(table), Some(lease_token), slots) => {
            Box::new(InheritedLease { table: table.with_inheritance(lease_token), slots })
        }
        (_, _, Some(slots)) => Box::new(slots),
        (Some(table), _, None) => Box::new(table),
        (None, _, None) => Box::new(InProcess::new(width)),
    };
    Shared { budget, why_alone, has_slots, table: shown }
}

/// Puts into the plan whose hands a run will use, where they are not simply the table's.
pub fn explain(plan: &mut Plan) {
    match (inheritance(), join(1, None)) {
        (Some(_), _) if crew_directory().is_some() => {
            plan.choose("hands", FROM_RUNNER, "MH_LEASE, unless others use them")
        }
        (_, Some(Ok(_))) => plan.choose("hands", FROM_SLOTS, "MAKEFLAGS; the table only shows them"),
        (_, Some(Err(fault))) => {
            plan.choose("hands", "as without make", format!("could not {}", with_causes(&fault)));
        }
        (_, None) => {}
    }
}

/// The table; none where nothing is to be shared. The error reads after "could not".
fn table(context: &Context, class: Priority, known_as: u32) -> Result<Option<MachineWide>, String> {
    let Some(directory) = crew_directory() else { return Ok(None) };
    let surroundings = Surroundings::look_as(&context.host, known_as).map_err(|error| with_causes(&error))?;
    let surroundings = reserve(context, surroundings, class);
    let shared = MachineWide::open(directory, surroundings)
        .marked_by_first_thread()
        .giving_way(context.settings.crew.gives_way.up_to());
    match shared.why_alone() {
        Some(why) => Err(why),
        None => Ok(Some(shared)),
    }
}

/// The hands that a runner above has for this process. What is no lease token is none: the table has the last word in any case.
pub fn inheritance() -> Option<LeaseToken> {
    variable(lease_token::VARIABLE)?.to_str()?.parse().ok()
}

/// The class of the runner above that has hands for this process: what it runs is no more urgent than it is.
pub fn class_of_runner() -> Option<Priority> {
    inheritance()?.class_of_runner(&crew_directory()?)
}

/// Whether a make, or something like it, has job slots for this process.
pub fn is_below_a_make() -> bool {
    jobserver::VARIABLES.iter().any(|name| variable(name).is_some_and(|flags| Auth::from_flags(&flags).is_some()))
}

/// Takes part in the first pool that the variables lead to; why in none, where they name some.
fn join(width: usize, table: Option<&MachineWide>) -> Option<Result<Jobserver, JobserverFault>> {
    let named = jobserver::VARIABLES.iter().filter_map(|name| Auth::from_flags(&variable(name)?));
    let mut first_fault = None;
    for auth in named {
        match auth.and_then(|auth| Jobserver::join(&auth, width, table.cloned())) {
            Ok(slots) => return Some(Ok(slots)),
            Err(fault) => first_fault = first_fault.or(Some(fault)),
        }
    }
    first_fault.map(Err)
}

/// The budget of a run whose runner may have hands for it. Whether it has shows when they are claimed; if not, job slots are what
/// this process was given.
struct InheritedLease {
    table: MachineWide,
    slots: Option<Jobserver>,
}

impl Budget for InheritedLease {
    fn capacity(&self) -> usize {
        self.table.capacity()
    }

    fn lease(&self, request: Request) -> Box<dyn Lease> {
        let lease = self.table.lease(request.clone());
        match &self.slots {
            Some(slots) if lease.inherited() == 0 => slots.lease(request),
            _ => lease,
        }
    }
}
