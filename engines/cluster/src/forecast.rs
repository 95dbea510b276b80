//! How long a list takes on many workers: times of its jobs from a journal, chunks that suit them, and the run played through in
//! virtual time. Pure figures and sentences of them; theory: "Forecast" in `README.md` beside this crate's manifest.

pub mod chunks;
pub mod costs;
pub mod here;
pub mod simulated;
pub mod times;
pub mod verdict;
mod words;

use chunks::{ListToCut, ListedJobs, chunks};
use costs::RunCosts;
use serde::Serialize;
use simulated::{SimulatedCluster, SimulatedWorker, simulate};
use std::fmt;
use words::{counted, time};

/// A list of which all times are known, and the workers that it is to run on: one for each node.
#[derive(Clone, Copy, Debug)]
pub struct ClusterForecast<'a> {
    /// Expected seconds of each job, in the order of the list.
    pub seconds: &'a [f64],
    /// Cores that each job takes; empty if each takes one.
    pub cores: &'a [usize],
    /// Positions of the first job behind each barrier, from 0, rising.
    pub barriers: &'a [usize],
    /// The longest chain of jobs that wait for each other by `after`, 0 if none does: [`longest_chain`].
    pub chain_s: f64,
    /// Jobs of one core that a node runs at once.
    pub width: usize,
    /// What such runs cost besides their jobs.
    pub costs: RunCosts,
}

/// What no number of nodes can better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListBound {
    /// All work, divided among all places.
    Work,
    /// The longest job.
    LongestJob,
    /// The longest chain of jobs that wait for each other: by barriers, or by `after`.
    LongestChain,
}

/// The expectation for a number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodesPoint {
    /// Nodes, with a worker each.
    pub nodes: usize,
    /// Chunks that the list is cut into for them.
    pub chunks: usize,
    /// Expected time, without the wait for nodes.
    pub seconds: f64,
    /// No order of jobs takes less than this; starts and claims come on top of it.
    pub bound_s: f64,
    /// What that is.
    pub bound: ListBound,
}

/// Expectations for numbers of nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastTable {
    /// Jobs' times, each times its cores, all added up.
    pub work_s: f64,
    /// The longest of them.
    pub longest_s: f64,
    /// The longest chain of jobs that wait for each other; the longest job where none does.
    pub chain_s: f64,
    /// Jobs that a node runs at once.
    pub width: usize,
    /// How long workers wait for nodes; none if nobody knows.
    pub queue_s: Option<f64>,
    /// Expected time with a place for each job, without the wait for nodes.
    pub best_s: f64,
    /// Nodes that were asked for.
    pub asked: usize,
    /// With so many nodes it takes about as long as with a place for each job, so more buy nothing.
    pub enough_nodes: usize,
    /// One node, twice as many and so on up to what is enough, and the number that was asked for.
    pub points: Vec<NodesPoint>,
}

/// Forecasts are off by so much: a gain below that is none.
const ERROR: f64 = 0.1;

/// LIMIT: nodes in a table, as no engine gives more.
const NODES_MAX: usize = 1 << 16;

/// LIMIT: so many starts of jobs are played through for a table, and as many to find out which number of nodes is enough: some seconds' work.
const PLAYED_MAX: usize = 4 << 20;

impl ClusterForecast<'_> {
    /// The expectation for so many nodes.
    pub fn at(&self, nodes: usize) -> NodesPoint {
        self.point(&self.sums(), nodes)
    }

    /// The table up to the number of nodes beyond which more buy nothing, and for the number that is asked for.
    pub fn table(&self, asked: usize) -> ForecastTable {
        let asked = asked.clamp(1, NODES_MAX);
        let sums = self.sums();
        let (enough, best_s) = self.enough(&sums);
        let doublings = std::iter::successors(Some(1), |nodes| Some(nodes * 2)).take_while(|nodes| *nodes < enough);
        let mut nodes: Vec<usize> = doublings.take(self.plays_max()).chain([1, enough, asked]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        ForecastTable {
            work_s: sums.work_s(),
            longest_s: sums.longest_s(),
            chain_s: sums.chain_s(),
            width: self.width.max(1),
            queue_s: self.costs.queue_s,
            best_s,
            asked,
            enough_nodes: enough,
            points: nodes.into_iter().map(|nodes| self.point(&sums, nodes)).collect(),
        }
    }

    fn plays_max(&self) -> usize {
        PLAYED_MAX / self.seconds.len().max(1)
    }

    /// The fewest nodes on which the run is about as short as with a place for each job, and that time. Not fewer than the longest job or
    /// chain allows where that is most of the time. Of a long list not the fewest, but enough.
    fn enough(&self, sums: &ListSums) -> (usize, f64) {
        let nodes_for = |places: usize| places.div_ceil(self.width.max(1)).clamp(1, NODES_MAX);
        let mut enough = nodes_for((0..self.seconds.len()).map(|job| self.places_taken_up(job)).sum());
        let best_s = self.point(sums, enough).seconds;
        let is_enough = |nodes: usize| self.point(sums, nodes).seconds <= best_s * (1.0 + ERROR);
        let mut few = 0;
        if sums.chain_s() >= best_s / 2.0 {
            few = nodes_for(sums.enough_places()).min(enough);
            if is_enough(few) {
                return (few, best_s);
            }
        }
        for _ in 0..self.plays_max() {
            if enough - few <= 1 {
                break;
            }
            // Halves the ratio of the two, not their difference: that is how times change.
            let middle = ((few as f64 * enough as f64).sqrt() as usize).clamp(few + 1, enough - 1);
            if is_enough(middle) { enough = middle } else { few = middle }
        }
        (enough, best_s)
    }

    fn sums(&self) -> ListSums {
        let whole = ListToCut { jobs: ListedJobs::Timed(self.seconds), barriers: self.barriers, workers: 1, width: 1 };
        let generations = chunks::generations(&whole).into_iter().map(|range| {
            let seconds = self.seconds[range.positions()].iter().copied().fold(0.0, f64::max);
            GenerationSums { work_s: range.positions().map(|job| self.core_seconds(job)).sum(), longest_s: seconds }
        });
        ListSums { generations: generations.collect(), after_s: self.chain_s.max(0.0) }
    }

    /// At most as many as a node has.
    fn cores(&self, job: usize) -> usize {
        self.cores.get(job).map_or(1, |cores| (*cores).clamp(1, self.width.max(1)))
    }

    fn core_seconds(&self, job: usize) -> f64 {
        self.seconds[job].max(0.0) * self.cores(job) as f64
    }

    /// A job's share of a node that is full of such jobs: those of three cores are two on eight places, four places each.
    fn places_taken_up(&self, job: usize) -> usize {
        let width = self.width.max(1);
        width.div_ceil(width / self.cores(job))
    }

    fn point(&self, sums: &ListSums, nodes: usize) -> NodesPoint {
        let (nodes, width) = (nodes.clamp(1, NODES_MAX), self.width.max(1));
        let core_seconds: Vec<f64> = (0..self.seconds.len()).map(|job| self.core_seconds(job)).collect();
        let jobs = ListedJobs::Timed(&core_seconds);
        let chunks = chunks(&ListToCut { jobs, barriers: self.barriers, workers: nodes, width });
        let cluster = SimulatedCluster {
            seconds: self.seconds,
            cores: self.cores,
            chunks: &chunks,
            workers: &vec![SimulatedWorker::starting(self.costs.start_s); nodes],
            width,
            claim_s: self.costs.chunk_s,
            lease_s: 0.0,
            successor_s: 0.0,
        };
        let played_s = simulate(&cluster, |_| {}).ended_ns as f64 / 1e9;
        // Played are barriers, not each `after`: a chain of those takes as long as it does.
        let chained_s = self.costs.start_s + self.costs.chunk_s + sums.after_s;
        let bound_s = sums.bound_s((nodes * width) as f64);
        let bound = if bound_s > sums.chain_s() { ListBound::Work } else { sums.chain() };
        NodesPoint { nodes, chunks: chunks.len(), seconds: played_s.max(chained_s), bound_s, bound }
    }
}

/// Times of a list, generation by generation.
struct ListSums {
    generations: Vec<GenerationSums>,
    after_s: f64,
}

struct GenerationSums {
    work_s: f64,
    longest_s: f64,
}

impl ListSums {
    fn work_s(&self) -> f64 {
        self.generations.iter().map(|generation| generation.work_s).sum()
    }

    fn longest_s(&self) -> f64 {
        self.generations.iter().map(|generation| generation.longest_s).fold(0.0, f64::max)
    }

    fn chain_s(&self) -> f64 {
        self.bound_s(f64::INFINITY)
    }

    /// On so many places. A generation takes as long as its work divided, or as its longest job.
    fn bound_s(&self, places: f64) -> f64 {
        let of_generation = |generation: &GenerationSums| (generation.work_s / places).max(generation.longest_s);
        self.generations.iter().map(of_generation).sum::<f64>().max(self.after_s)
    }

    fn chain(&self) -> ListBound {
        if self.chain_s() > self.longest_s() { ListBound::LongestChain } else { ListBound::LongestJob }
    }

    /// The fewest places on which the bound is as low as on any number of them.
    fn enough_places(&self) -> usize {
        let chain_s = self.chain_s();
        let is_enough = |places: usize| self.bound_s(places as f64) <= chain_s;
        let (mut few, mut enough) = (0, 1);
        while !is_enough(enough) && enough < usize::MAX / 4 {
            (few, enough) = (enough, enough * 2);
        }
        while enough - few > 1 {
            let middle = few.midpoint(enough);
            if is_enough(middle) { enough = middle } else { few = middle }
        }
        enough
    }
}

impl fmt::Display for ForecastTable {
    /// "1 node 15.8 s of work; 4 nodes 5.0 s and the wait; the longest job, 0.7 s, bounds it at 22 nodes; more buys nothing"
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1 node {} of work", time(self.work_s / self.width as f64))?;
        if let Some(point) = self.points.iter().find(|point| point.nodes == self.asked) {
            write!(formatter, "; {} {}", counted(self.asked, "node"), time(point.seconds))?;
            match self.queue_s {
                Some(queue_s) => write!(formatter, " after a wait of {}", time(queue_s))?,
                None => write!(formatter, " and the wait")?,
            }
        }
        let (what, seconds) = match () {
            () if self.chain_s < self.best_s / 2.0 => ("the start of workers", self.best_s - self.chain_s),
            () if self.chain_s > self.longest_s => ("the longest chain of jobs", self.chain_s),
            () => ("the longest job", self.longest_s),
        };
        let enough = counted(self.enough_nodes, "node");
        write!(formatter, "; {what}, {}, bounds it at {enough}; more buys nothing", time(seconds))
    }
}

/// How long the longest chain takes of jobs that wait for each other. `after` has pairs of positions: one job, and an earlier one that it
/// waits for. Barriers are another matter: see [`ClusterForecast::barriers`].
pub fn longest_chain(seconds: &[f64], after: &[(usize, usize)]) -> f64 {
    let mut pairs: Vec<(usize, usize)> =
        after.iter().copied().filter(|(job, earlier)| earlier < job && *job < seconds.len()).collect();
    pairs.sort_unstable();
    let mut chain_s: Vec<f64> = seconds.to_vec();
    for (job, earlier) in &pairs {
        // Its own chain is complete: all pairs of earlier jobs come first.
        chain_s[*job] = chain_s[*job].max(chain_s[*earlier] + seconds[*job]);
    }
    pairs.iter().map(|(job, _)| chain_s[*job]).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ninety-six jobs as they were measured: 15.75 s in all, the longest 0.73 s, rising, so that all long ones come last.
    pub(super) fn unlucky_list() -> Vec<f64> {
        // Quantiles of an exponential law.
        let mut seconds: Vec<f64> = (0..95).map(|at| 0.18 - (1.0 - (f64::from(at) + 0.5) / 96.0).ln()).collect();
        let scale = (15.75 - 0.73) / seconds.iter().sum::<f64>();
        seconds.iter_mut().for_each(|seconds| *seconds *= scale);
        seconds.push(0.73);
        seconds
    }

    fn forecast(seconds: &[f64]) -> ClusterForecast<'_> {
        ClusterForecast { seconds, cores: &[], barriers: &[], chain_s: 0.0, width: 1, costs: RunCosts::default() }
    }

    #[test]
    fn a_list_is_forecast_to_the_nodes_that_its_longest_job_allows() {
        let list = unlucky_list();
        let table = forecast(&list).table(4);
        let nodes: Vec<usize> = table.points.iter().map(|point| point.nodes).collect();
        assert_eq!((nodes.as_slice(), table.enough_nodes), ([1, 2, 4, 8, 16, 22].as_slice(), 22));
        assert!(table.points.is_sorted_by(|fewer, more| fewer.seconds > more.seconds));
        assert!(table.points.iter().all(|point| point.seconds > point.bound_s));
        let bounds: Vec<ListBound> = table.points.iter().map(|point| point.bound).collect();
        assert_eq!((bounds[4], bounds[5]), (ListBound::Work, ListBound::LongestJob));
        assert_eq!(
            table.to_string(),
            "1 node 15.8 s of work; 4 nodes 4.8 s and the wait; the longest job, 0.7 s, bounds it at 22 nodes; more buys nothing"
        );
        let asked = forecast(&list).table(100);
        assert_eq!(asked.points.last().map(|point| point.nodes), Some(100), "more than enough may be asked for");
        assert_eq!(forecast(&list).at(100), asked.points[asked.points.len() - 1]);
    }

    #[test]
    fn a_wait_that_is_known_is_named_and_places_are_those_of_all_nodes() {
        let seconds = [2.0; 64];
        let costs = RunCosts { queue_s: Some(90.0), start_s: 1.0, chunk_s: 0.0 };
        let table = ClusterForecast { width: 4, costs, ..forecast(&seconds) }.table(2);
        assert_eq!(
            table.to_string(),
            "1 node 32.0 s of work; 2 nodes 17.0 s after a wait of 1 min 30 s; the longest job, 2.0 s, bounds it at \
             16 nodes; more buys nothing"
        );
        assert_eq!(table.points.iter().map(|point| point.seconds).collect::<Vec<_>>(), [33.0, 17.0, 9.0, 5.0, 3.0]);
    }

    #[test]
    fn jobs_of_several_cores_are_so_much_more_work() {
        let costs = RunCosts { queue_s: None, start_s: 0.0, chunk_s: 0.0 };
        let list = ClusterForecast { width: 4, cores: &[4; 8], costs, ..forecast(&[1.0; 8]) };
        assert_eq!([1, 2, 8].map(|nodes| list.at(nodes).seconds), [8.0, 4.0, 1.0]);
        assert_eq!((list.table(1).work_s, list.table(1).enough_nodes), (32.0, 8));
        assert!(list.table(1).to_string().starts_with("1 node 8.0 s of work; "));
        assert_eq!(list.here_or_there(2, 1).here_s, 8.0, "there are two cores for each");
    }

    #[test]
    fn generations_and_chains_bound_a_list_too() {
        let seconds = [1.0, 1.0, 1.0, 5.0, 1.0, 1.0];
        let costs = RunCosts { queue_s: None, start_s: 0.0, chunk_s: 0.0 };
        let between = ClusterForecast { barriers: &[3], costs, ..forecast(&seconds) };
        let table = between.table(2);
        assert_eq!((table.chain_s, table.enough_nodes), (6.0, 3));
        assert_eq!(table.points.iter().map(|point| point.seconds).collect::<Vec<_>>(), [10.0, 7.0, 6.0]);
        assert_eq!(table.points.iter().map(|point| point.bound_s).collect::<Vec<_>>(), [10.0, 6.5, 6.0]);
        assert!(table.to_string().contains("; the longest chain of jobs, 6.0 s, bounds it at 3 nodes;"), "{table}");
        let chained = ClusterForecast { chain_s: 9.5, costs, ..forecast(&seconds) };
        let point = chained.at(4);
        assert_eq!((point.seconds, point.bound, chained.table(1).enough_nodes), (9.5, ListBound::LongestChain, 2));
    }

    #[test]
    fn more_nodes_than_the_bound_allows_are_needed_where_jobs_do_not_fill_them() {
        // Nine jobs fit on five places in 6 s, but not longest first.
        let seconds = [5.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 4.0, 6.0];
        let costs = RunCosts { queue_s: None, start_s: 0.0, chunk_s: 0.0 };
        let list = ClusterForecast { costs, ..forecast(&seconds) };
        assert_eq!((list.at(5).seconds, list.at(5).bound_s, list.at(6).seconds), (7.0, 6.0, 6.0));
        assert_eq!((list.table(1).enough_nodes, list.table(1).best_s), (6, 6.0));
    }

    #[test]
    fn short_jobs_are_bound_by_the_start_of_workers() {
        let table = forecast(&[0.01; 1000]).table(1);
        let text = table.to_string();
        assert!(text.contains("; the start of workers, 0.7 s, bounds it at ") && table.enough_nodes < 400, "{text}");
    }

    #[test]
    fn nothing_to_run_takes_no_nodes() {
        let table = forecast(&[]).table(0);
        assert_eq!((table.enough_nodes, table.points.len(), table.points[0].chunks), (1, 1, 0));
        let nothing = forecast(&[0.0; 3]).table(1);
        assert_eq!((nothing.enough_nodes, nothing.work_s), (1, 0.0));
    }

    #[test]
    fn the_longest_chain_goes_along_after() {
        let seconds = [1.0, 2.0, 4.0, 1.0];
        assert_eq!(longest_chain(&seconds, &[]), 0.0);
        assert_eq!(
            longest_chain(&seconds, &[(3, 1), (1, 0), (3, 0), (2, 3), (9, 0)]),
            4.0,
            "no job waits for a later one"
        );
    }
}
