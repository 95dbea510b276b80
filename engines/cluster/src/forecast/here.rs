//! Whether a list is done sooner on this machine than on nodes that have to be waited for and started.

use super::ClusterForecast;
use super::chunks::{ListToCut, ListedJobs, generations};
use super::simulated::{SimulatedCluster, SimulatedWorker, simulate};
use super::words::{counted, time};
use serde::Serialize;
use std::fmt;

/// A list's expected times here and there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HereOrThere {
    /// On this machine.
    pub here_s: f64,
    /// On the nodes, without the wait for them.
    pub there_s: f64,
    /// How long they have to be waited for; none if nobody knows.
    pub queue_s: Option<f64>,
    /// How many there are.
    pub nodes: usize,
}

impl HereOrThere {
    /// Whether to stay here. A wait that nobody knows counts as none.
    pub fn stays_here(&self) -> bool {
        self.here_s <= self.queue_s.unwrap_or(0.0) + self.there_s
    }
}

impl fmt::Display for HereOrThere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = counted(self.nodes, "node");
        write!(formatter, "{} here, {} on {nodes}", time(self.here_s), time(self.there_s))?;
        match self.queue_s {
            Some(queue_s) => write!(formatter, " after a wait of {}", time(queue_s)),
            None => write!(formatter, " and the wait"),
        }
    }
}

impl ClusterForecast<'_> {
    /// Compares so many nodes with this machine, which runs `cores` jobs at once, in the list's order, and claims nothing.
    pub fn here_or_there(&self, cores: usize, nodes: usize) -> HereOrThere {
        let jobs = ListedJobs::Timed(self.seconds);
        let chunks = generations(&ListToCut { jobs, barriers: self.barriers, workers: 1, width: 1 });
        let here = SimulatedCluster {
            seconds: self.seconds,
            cores: self.cores,
            chunks: &chunks,
            workers: &[SimulatedWorker::starting(0.0)],
            width: cores,
            claim_s: 0.0,
            lease_s: 0.0,
            successor_s: 0.0,
        };
        let here_s = (simulate(&here, |_| {}).ended_ns as f64 / 1e9).max(self.chain_s);
        let there = self.at(nodes);
        HereOrThere { here_s, there_s: there.seconds, queue_s: self.costs.queue_s, nodes: there.nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::RunCosts;
    use super::*;

    fn compared(seconds: &[f64], barriers: &[usize], queue_s: Option<f64>) -> HereOrThere {
        let costs = RunCosts { queue_s, start_s: 1.0, chunk_s: 0.0 };
        ClusterForecast { seconds, cores: &[], barriers, chain_s: 0.0, width: 2, costs }.here_or_there(2, 4)
    }

    #[test]
    fn short_lists_stay_here_and_long_ones_leave_if_the_wait_is_worth_it() {
        let short = compared(&[0.1; 20], &[], None);
        assert!(short.stays_here(), "{short:?}");
        let long = |queue_s| compared(&[1.0; 80], &[], queue_s);
        assert_eq!((long(None).here_s, long(None).there_s), (40.0, 11.0));
        assert_eq!([None, Some(28.0), Some(29.0)].map(|queue_s| long(queue_s).stays_here()), [false, false, true]);
        assert_eq!(long(None).to_string(), "40.0 s here, 11.0 s on 4 nodes and the wait");
        assert_eq!(long(Some(90.0)).to_string(), "40.0 s here, 11.0 s on 4 nodes after a wait of 1 min 30 s");
    }

    #[test]
    fn barriers_hold_here_too_and_the_lists_order_counts() {
        assert_eq!(compared(&[1.0, 1.0, 5.0, 1.0, 1.0], &[3], None).here_s, 7.0);
        assert_eq!(compared(&[1.0, 1.0, 5.0, 1.0, 1.0], &[], None).here_s, 6.0);
    }
}
