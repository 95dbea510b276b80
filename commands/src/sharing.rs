//! Which budget of cores a run takes part in: the table of all runs of this user, or none but its own process's.

use crate::context::{Context, variable};
use crew::budget::{Budget, CrewFolder, InProcess, MachineWide, Passport, Surroundings, passport};
use std::error::Error;

/// Where the table is: `MH_CREW_DIR`, else the usual place. None where the variable is there and empty: nothing is shared.
pub fn crew_folder() -> Option<CrewFolder> {
    match variable("MH_CREW_DIR") {
        None => Some(CrewFolder::usual()),
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(CrewFolder::at(folder)),
    }
}

/// A run's budget.
pub struct Shared {
    /// What hands are taken from.
    pub budget: Box<dyn Budget>,
    /// Why it shares with nobody, as text that reads after "could not"; none where it does, or was told not to.
    pub why_alone: Option<String>,
}

/// The budget for a run that could use `width` hands. Alone it has them all, as any other program would.
pub fn budget(context: &Context, width: usize) -> Shared {
    let alone = |why_alone| Shared { budget: Box::new(InProcess::new(width)), why_alone };
    let Some(folder) = crew_folder() else { return alone(None) };
    let surroundings = match Surroundings::look(&context.host) {
        Ok(surroundings) => surroundings,
        Err(error) => {
            return alone(Some(match error.source() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }));
        }
    };
    let mut shared = MachineWide::open(folder, surroundings);
    if let Some(passport) = inheritance() {
        shared = shared.with_inheritance(passport);
    }
    match shared.why_alone() {
        Some(why) => alone(Some(why)),
        None => Shared { budget: Box::new(shared), why_alone: None },
    }
}

/// The hands that a runner above has for this process. What is no passport is none: the table has the last word in any case.
fn inheritance() -> Option<Passport> {
    variable(passport::VARIABLE)?.to_str()?.parse().ok()
}
