//! What the library's functions do, in safe Rust: an opened budget, and a run's share of it whose hands are numbers.
//! Knows no pointer. A hand's number is checked, since a C program can hold on to one that it has given back.

use crew::budget::{
    Budget, CrewDirectory, Hand, InProcess, Lease, LeaseToken, MachineWide, Priority, Request, Surroundings, Weight,
};
use machine::Host;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;

/// What a C program did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An argument that cannot be; its name and what is wrong.
    Argument(&'static str),
    /// A hand that is not out.
    Hand,
    /// Memory that cannot be had, as text that reads after "could not".
    Memory(String),
}

impl Mistake {
    /// Reads after "could not".
    pub fn said(self) -> String {
        match self {
            Self::Argument(what) => format!("accept {what}"),
            Self::Hand => {
                "find this hand among those of its lease: it was given back, or is another lease's".to_owned()
            }
            Self::Memory(why) => why,
        }
    }
}

/// What the environment says, read at the boundary.
#[derive(Clone, Copy, Default)]
pub struct ShareSettings<'a> {
    /// `MH_CREW_DIR`: the usual directory; empty, nothing is shared.
    pub directory: Option<&'a OsStr>,
    /// `MH_LEASE`: hands that the runner which started this program holds for it.
    pub lease: Option<&'a OsStr>,
}

/// An opened budget.
pub enum OpenedBudget {
    /// With all runs of the table.
    Shared(MachineWide),
    /// Of this process alone, and why.
    Alone(InProcess, String),
}

impl OpenedBudget {
    /// The budget of `directory`; of the usual one, which the environment may name, where that is none.
    pub fn open(directory: Option<&Path>, told: ShareSettings) -> Self {
        let directory = match (directory, told.directory) {
            (Some(directory), _) => CrewDirectory::at(directory),
            (None, Some(told)) if told.is_empty() => {
                return Self::alone("share a table: MH_CREW_DIR is empty".to_owned());
            }
            (None, Some(told)) => CrewDirectory::at(told),
            (None, None) => CrewDirectory::usual(),
        };
        match Surroundings::look(&Host::real()) {
            Ok(surroundings) => {
                let budget = MachineWide::open(directory, surroundings);
                // A text that is no lease token is ignored: the table decides in any case.
                let lease_token = told.lease.and_then(OsStr::to_str).and_then(|text| text.parse::<LeaseToken>().ok());
                Self::Shared(match lease_token {
                    Some(lease_token) => budget.with_inheritance(lease_token),
                    None => budget,
                })
            }
            Err(error) => Self::alone(match error.source() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }),
        }
    }

    fn alone(why: String) -> Self {
        Self::Alone(InProcess::new(std::thread::available_parallelism().map_or(1, usize::from)), why)
    }

    fn budget(&self) -> &dyn Budget {
        match self {
            Self::Shared(budget) => budget,
            Self::Alone(budget, _) => budget,
        }
    }

    /// Hands that it could hold if it were alone.
    pub fn hands(&self) -> usize {
        self.budget().capacity()
    }

    /// Why it shares with nobody; empty where it does.
    pub fn why_alone(&self) -> String {
        match self {
            Self::Shared(budget) => budget.why_alone().unwrap_or_default(),
            Self::Alone(_, why) => why.clone(),
        }
    }

    /// Signs a run up.
    pub fn lease(&self, priority: i32, weight: u32, useful_width: usize, what: String) -> Result<Share, Mistake> {
        let priority = match priority {
            0 => Priority::Idle,
            1 => Priority::Low,
            2 => Priority::Normal,
            3 => Priority::High,
            _ => return Err(Mistake::Argument("this class: MH_IDLE, MH_LOW, MH_NORMAL and MH_HIGH are all there are")),
        };
        if useful_width == 0 {
            return Err(Mistake::Argument(NO_WIDTH));
        }
        let weight = Weight::new(u16::try_from(weight).unwrap_or(u16::MAX));
        let lease = self.budget().lease(Request { priority, weight, useful_width, what });
        Ok(Share { lease, places: RwLock::default() })
    }
}

impl OpenedBudget {
    /// A run that sets up memory, on so many hands.
    pub fn lease_for_memory(&self, useful_width: usize) -> Box<dyn Lease> {
        let (priority, weight) = (Priority::Normal, Weight::default());
        self.budget().lease(Request { priority, weight, useful_width, what: "memory of a program".to_owned() })
    }
}

const NO_WIDTH: &str = "a useful width of 0";

/// A lease, and its hands that are out by number.
pub struct Share {
    lease: Box<dyn Lease>,
    places: RwLock<Vec<Place>>,
}

/// Where one hand at a time is kept while the program has its number.
#[derive(Default)]
struct Place {
    /// Counts the hands that were kept here, so that the number of an earlier one is known as such.
    turn: u32,
    hand: Option<Hand>,
}

/// Position, counted from 1, below; turn above. Never 0.
fn number_of(position: usize, turn: u32) -> u64 {
    u64::from(turn) << 32 | (position as u64 + 1)
}

impl Share {
    /// Takes a hand, however long it takes.
    pub fn take(&self) -> u64 {
        let hand = self.lease.take();
        self.keep(hand)
    }

    /// Takes a hand if one can be had now.
    pub fn try_take(&self) -> Option<u64> {
        self.lease.try_take().map(|hand| self.keep(hand))
    }

    /// Whether the hand should go back at this yield point.
    pub fn must_return(&self, number: u64) -> Result<bool, Mistake> {
        let places = self.read();
        let place = position_of(number).and_then(|position| places.get(position));
        let hand = place.filter(|place| place.turn == turn_of(number)).and_then(|place| place.hand.as_ref());
        Ok(self.lease.must_return(hand.ok_or(Mistake::Hand)?))
    }

    /// Gives a hand back.
    pub fn give_back(&self, number: u64) -> Result<(), Mistake> {
        let hand = {
            let mut places = self.write();
            let place = position_of(number).and_then(|position| places.get_mut(position));
            place.filter(|place| place.turn == turn_of(number)).and_then(|place| place.hand.take())
        };
        self.lease.give_back(hand.ok_or(Mistake::Hand)?);
        Ok(())
    }

    /// Says how many hands the run could use from now on.
    pub fn set_useful_width(&self, width: usize) -> Result<(), Mistake> {
        if width == 0 {
            return Err(Mistake::Argument(NO_WIDTH));
        }
        self.lease.set_useful_width(width);
        Ok(())
    }

    fn keep(&self, hand: Hand) -> u64 {
        let mut places = self.write();
        // LIMIT: there are never more places than hands were out at once, and that many is the lease's useful width.
        let position = places.iter().position(|place| place.hand.is_none()).unwrap_or_else(|| {
            places.push(Place::default());
            places.len() - 1
        });
        let place = &mut places[position];
        place.turn = place.turn.wrapping_add(1);
        place.hand = Some(hand);
        number_of(position, place.turn)
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Place>> {
        self.places.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Place>> {
        self.places.write()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let hands: Vec<Hand> = self.write().iter_mut().filter_map(|place| place.hand.take()).collect();
        hands.into_iter().for_each(|hand| self.lease.give_back(hand));
    }
}

fn position_of(number: u64) -> Option<usize> {
    // The lower half: counted from 1.
    (number as u32).checked_sub(1).map(|position| position as usize)
}

fn turn_of(number: u64) -> u32 {
    (number >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::census::census;

    fn crew() -> (tempfile::TempDir, OpenedBudget) {
        let parent = tempfile::tempdir().expect("a directory");
        let crew = OpenedBudget::open(Some(&parent.path().join("crew")), ShareSettings::default());
        assert_eq!(crew.why_alone(), "");
        (parent, crew)
    }

    fn share(crew: &OpenedBudget) -> Share {
        crew.lease(2, 100, 1, "a test".to_owned()).expect("a lease")
    }

    #[test]
    fn a_hand_is_good_once_and_for_its_lease() {
        let (_parent, crew) = crew();
        let (one, other) = (share(&crew), share(&crew));
        let first = one.take();
        assert_eq!((one.must_return(first), one.try_take()), (Ok(false), None));
        assert_eq!(one.give_back(first), Ok(()));
        let second = one.take();
        assert_ne!(first, second, "the same place, another turn");
        for wrong in [0, first, u64::MAX, second + 1] {
            assert_eq!((one.give_back(wrong), one.must_return(wrong)), (Err(Mistake::Hand), Err(Mistake::Hand)));
        }
        assert_eq!(other.give_back(second), Err(Mistake::Hand));
        assert_eq!(one.give_back(second), Ok(()));
    }

    #[test]
    fn a_lease_that_is_closed_gives_back_what_is_out() {
        for variable in [None, Some(OsStr::new(""))] {
            let parent = tempfile::tempdir().expect("a directory");
            let directory = parent.path().join("crew");
            let told = ShareSettings { directory: variable, lease: None };
            let crew = OpenedBudget::open(variable.is_none().then_some(&*directory), told);
            let first = crew.lease(2, 100, crew.hands(), "a test".to_owned()).expect("a lease");
            (0..crew.hands()).for_each(|_| assert_ne!(first.take(), 0));
            drop(first);
            let second = crew.lease(1, 100, crew.hands(), "a test".to_owned()).expect("a lease");
            (0..crew.hands()).for_each(|_| assert!(second.try_take().is_some(), "{variable:?}"));
        }
    }

    #[test]
    fn the_variable_names_the_directory_unless_the_program_does() {
        let parent = tempfile::tempdir().expect("a directory");
        let [named, usual] = ["named", "usual"].map(|name| parent.path().join(name));
        fn told(directory: &OsStr) -> ShareSettings<'_> {
            ShareSettings { directory: Some(directory), lease: None }
        }
        drop(OpenedBudget::open(None, told(usual.as_os_str())));
        assert!(CrewDirectory::at(usual).table().exists());
        drop(OpenedBudget::open(Some(&named), told(OsStr::new(""))));
        assert!(CrewDirectory::at(named).table().exists());
        let alone = OpenedBudget::open(None, told(OsStr::new("")));
        assert_eq!(alone.why_alone(), "share a table: MH_CREW_DIR is empty");
    }

    #[test]
    fn the_hand_that_a_runner_holds_for_it_is_its_first() {
        let (parent, runner) = crew();
        let directory = parent.path().join("crew");
        let held = || {
            let census = census(&CrewDirectory::at(&directory)).expect("a table");
            census.runs.iter().map(|run| run.holds).sum::<u32>()
        };
        let lease = match &runner {
            OpenedBudget::Shared(budget) => budget.lease(Request {
                priority: Priority::Normal,
                weight: Weight::default(),
                useful_width: 1,
                what: "a runner".to_owned(),
            }),
            OpenedBudget::Alone(..) => unreachable!("it has a table"),
        };
        let hand = lease.take();
        let lease_token = lease.lease_token(&[&hand]).expect("it is in a table").to_string();
        for (text, hands) in [(&*lease_token, 1), ("no passport", 2)] {
            let told = ShareSettings { directory: None, lease: Some(OsStr::new(text)) };
            let job = share(&OpenedBudget::open(Some(&directory), told));
            let number = job.take();
            assert_eq!(held(), hands, "{text}");
            assert_eq!(job.give_back(number), Ok(()));
        }
        lease.give_back(hand);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let (_parent, crew) = crew();
        for (priority, width) in [(4, 1), (-1, 1), (2, 0)] {
            let mistake = crew.lease(priority, 100, width, String::new()).err().expect("refused");
            assert!(matches!(mistake, Mistake::Argument(_)) && mistake.said().starts_with("accept "));
        }
        assert!(share(&crew).set_useful_width(0).is_err());
        assert_eq!(share(&crew).set_useful_width(3), Ok(()));
        drop(crew.lease(0, 0, usize::MAX, "w".repeat(1000)).expect("clamped"));
        drop(crew.lease(3, u32::MAX, 1, String::new()).expect("clamped"));
    }
}
