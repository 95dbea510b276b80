//! Cores of the machine's budget for a run that has a server work for it.

use crew::budget::{Lease, Request, Waiting};
use mh_kit::context::Context;
use mh_kit::shared_args::StandingArgs;
use mh_kit::sharing::{self, Shared};

/// A run with connections that share cores.
pub struct ServedRun<'a> {
    /// How its messages begin.
    pub command: &'static str,
    /// What it does, for `mh crew`.
    pub purpose: &'a str,
    /// Its connections.
    pub connections: usize,
    /// Connections to one core: one where the server works on this host's cores, more where it is elsewhere, or they wait.
    pub a_hand: usize,
}

impl ServedRun<'_> {
    /// Leases cores, and prints why they are not shared if so.
    pub fn lease(&self, context: &Context, standing: &StandingArgs) -> (Shared, Box<dyn Lease>) {
        let (priority, weight) = (standing.priority().class(), standing.weight());
        let useful_width = self.connections.div_ceil(self.a_hand).max(1);
        let shared = sharing::budget(context, useful_width, priority);
        if let Some(why) = &shared.why_alone {
            sharing::tell_why_alone(context, self.command, why);
        }
        let what = format!("db: {}", self.purpose);
        let lease = shared.budget.lease(Request { priority, weight, useful_width, what });
        match self.a_hand {
            1 => (shared, lease),
            a_hand => (shared, Box::new(Waiting::on(lease, a_hand))),
        }
    }
}
