//! What was usual for a host at the moment that is shown: follows it through the history, live and recorded.

use crate::sysstat::bands::figures;
use crate::sysstat::session::{HostSession, ShownMoment};
use crate::sysstat::usual::Usual;

/// Figures of the minutes before a moment.
#[derive(Debug, Default)]
pub(super) struct FollowedFigures {
    /// The figures.
    pub(super) figures: Usual,
    /// The place of the moment.
    at: Option<usize>,
}

/// The minutes that are looked back at.
const STRETCH_NS: u64 = 900_000_000_000;
/// LIMIT: moments that are read for one that is gone to: each costs some ten microseconds.
const PLACES_MAX: usize = 2_000;

impl FollowedFigures {
    /// Goes to `place`, the newest one if there is none, whose moment is `shown`.
    pub(super) fn follow(&mut self, session: &mut HostSession, place: Option<usize>, shown: &ShownMoment) {
        let places = session.places();
        let Some(place) = place.or_else(|| places.end.checked_sub(1)) else { return };
        let last = self.at.replace(place);
        match last {
            // A screen that is drawn rarely leaves some out.
            Some(last) if place >= last && place - last < 10 => {}
            _ => {
                self.figures = Usual::default();
                let began = session.find(shown.later.at.wall_ns.saturating_sub(STRETCH_NS));
                for before in began.max(place.saturating_sub(PLACES_MAX))..place {
                    session.at(before).iter().for_each(|moment| self.note(moment));
                }
            }
        }
        self.note(shown);
    }

    fn note(&mut self, moment: &ShownMoment) {
        let boot_ns = moment.later.at.boot_ns;
        if moment.earlier.is_some() && self.figures.is_due(boot_ns) {
            self.figures.note(boot_ns, figures::all(&moment.interval()));
        }
    }
}
