//! What whoever gathers has seen of workers, for the verdict on a run: when each was first seen, how long its jobs took, when its last chunk came.
//! All by this machine's clock, and as late as a look at the spool is: good enough for a sentence, not for an account.

use cluster::forecast::costs::{ClusterRun, WorkerRun};
use cluster::gather::Gatherer;
use cluster::part::ChunkPart;
use std::collections::HashMap;
use std::time::Instant;

/// Workers as they were seen.
#[derive(Debug)]
pub struct WatchedWorkers {
    begun: Instant,
    longest_job_s: f64,
    ended_s: f64,
    workers: HashMap<String, WorkerRun>,
}

impl WatchedWorkers {
    fn worker(&mut self, name: &str, width: usize) -> &mut WorkerRun {
        let now_s = self.begun.elapsed().as_secs_f64();
        let worker = self.workers.entry(name.to_owned());
        worker.or_insert_with(|| WorkerRun { started_s: Some(now_s), ..absent(width) })
    }

    /// Notes who has come, and how many jobs each of them runs at once.
    pub fn look(&mut self, gatherer: &Gatherer) {
        for (name, width) in gatherer.widths() {
            self.worker(name, width).width = width;
        }
    }

    /// Notes a chunk.
    pub fn take(&mut self, part: &ChunkPart) {
        let now_s = self.begun.elapsed().as_secs_f64();
        let own = part.results.iter().filter(|result| result.worker == part.worker).map(|result| result.seconds);
        let (work_s, longest_s) = own.fold((0.0, 0.0_f64), |(sum, most), seconds| (sum + seconds, most.max(seconds)));
        (self.longest_job_s, self.ended_s) = (self.longest_job_s.max(longest_s), now_s);
        let worker = self.worker(&part.worker, 1);
        let chunk_s = (work_s / worker.width.max(1) as f64).max(longest_s);
        let first_s = worker.worked_s.map_or((now_s - chunk_s).max(0.0), |(first_s, _)| first_s);
        worker.started_s = worker.started_s.map(|started_s| started_s.min(first_s));
        worker.worked_s = Some((first_s, now_s));
        worker.busy_s += work_s;
        worker.chunk_s.push(chunk_s);
    }

    /// The run, with so many workers of which some may never have come.
    pub fn run(self, asked: usize) -> ClusterRun {
        let mut workers: Vec<(String, WorkerRun)> = self.workers.into_iter().collect();
        workers.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut workers: Vec<WorkerRun> = workers.into_iter().map(|(_, worker)| worker).collect();
        workers.resize(workers.len().max(asked), absent(1));
        ClusterRun { ended_s: self.ended_s, longest_job_s: self.longest_job_s, workers }
    }
}

impl Default for WatchedWorkers {
    /// Of a run that begins now.
    fn default() -> Self {
        Self { begun: Instant::now(), longest_job_s: 0.0, ended_s: 0.0, workers: HashMap::new() }
    }
}

/// A worker that never came.
fn absent(width: usize) -> WorkerRun {
    WorkerRun { started_s: None, worked_s: None, busy_s: 0.0, width, chunk_s: Vec::new(), died_s: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::part::JobResult;

    #[test]
    fn chunks_are_their_workers_work() {
        let mut watched = WatchedWorkers::default();
        watched.worker("w", 2);
        let result = |seconds| JobResult { seconds, worker: "w".to_owned(), ..JobResult::lost(1, 0) };
        let results = vec![result(1.0), result(3.0), result(2.0)];
        watched.take(&ChunkPart { chunk: 0, attempt: 1, worker: "w".to_owned(), results });
        let run = watched.run(2);
        assert_eq!((run.longest_job_s, run.workers.len()), (3.0, 2));
        let worked = run.workers.iter().find(|worker| worker.worked_s.is_some()).expect("it worked");
        assert_eq!((worked.busy_s, worked.chunk_s.clone()), (6.0, vec![3.0]));
    }
}
