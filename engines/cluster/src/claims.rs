//! Which chunk a worker takes next. A claim is a file that only one can create; a chunk whose claim was given up, or whose worker gives no sign
//! of life any more, is claimed again as the next attempt. Nobody takes a chunk while one of the generation before is not done.
//!
//! Each worker begins with the chunks that are dealt to it, so that workers seldom want the same one, and takes from the others' when its
//! own are done: then it lists the directory once instead of trying every name.

use crate::alive::{AliveSign, Roll};
use crate::link;
use crate::part::{attempt_name, chunk_name};
use crate::spool::{Spool, SpoolFault, failed};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// LIMIT: a chunk whose workers have died so often is given up: it may be what they die of.
const DEATHS_MAX: u32 = 5;

/// LIMIT: attempts at a chunk that are believed in; a larger number is damage.
const ATTEMPTS_MAX: u32 = 1 << 20;

/// Claims that others were faster with before directories are listed anew.
const LOST_MAX: usize = 16;

/// What a worker may do next.
#[derive(Debug, PartialEq, Eq)]
pub enum NextChunk {
    /// This attempt at a chunk is its own.
    Claimed {
        /// The chunk.
        chunk: u32,
        /// From 1.
        attempt: u32,
        /// The last attempt before it that was given up, if one was.
        behind: Option<u32>,
    },
    /// This chunk has cost too many workers: it is its own to be reported.
    Hopeless {
        /// The chunk.
        chunk: u32,
        /// From 1.
        attempt: u32,
        /// The last attempt before it that was given up, if one was.
        behind: Option<u32>,
    },
    /// All that there is now is others'.
    Wait {
        /// Whether more follows once they are done.
        more_follows: bool,
    },
    /// Every chunk is done.
    Finished,
}

/// How a chunk stands that is not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Standing {
    attempts: u32,
    freed: u32,
    /// The last attempt that was given up: it has what those before it had.
    last_freed: Option<u32>,
}

/// A worker's view of the chunks.
#[derive(Debug)]
pub struct Claims {
    spool: Arc<Spool>,
    worker: String,
    number: u32,
    sign: Arc<AliveSign>,
    generation: usize,
    /// Chunks that it has claimed.
    held: HashSet<u32>,
    /// Chunks that may be had, with what was seen of them.
    candidates: VecDeque<(u32, Standing)>,
}

impl Claims {
    /// Of the worker that is called so and has this number.
    pub fn new(spool: Arc<Spool>, worker: &str, number: u32, sign: Arc<AliveSign>) -> Self {
        let mut claims = Self {
            spool,
            worker: worker.to_owned(),
            number,
            sign,
            generation: 0,
            held: HashSet::new(),
            candidates: VecDeque::new(),
        };
        claims.deal();
        claims
    }

    /// The next chunk. After `Wait` it is asked again when some time has passed: each time it lists directorys.
    ///
    /// # Errors
    /// When the spool cannot be read or written.
    pub fn next_chunk(&mut self) -> Result<NextChunk, SpoolFault> {
        loop {
            let mut lost = 0;
            while let Some((chunk, standing)) = self.candidates.pop_front() {
                if let Some(next) = self.claim(chunk, standing)? {
                    return Ok(next);
                }
                lost += 1;
                if lost == LOST_MAX {
                    // Others have been here: a listing tells more than one try after the other.
                    self.candidates.clear();
                }
            }
            let Some(range) = self.range() else { return Ok(NextChunk::Finished) };
            let done = self.done()?;
            if range.clone().all(|chunk| done.contains(&chunk)) {
                self.generation += 1;
                self.deal();
                continue;
            }
            self.list(&done)?;
            if self.candidates.is_empty() {
                let more_follows = self.generation + 1 < self.spool.header().generations.len();
                return Ok(NextChunk::Wait { more_follows });
            }
        }
    }

    /// Whether this attempt is still the last one at its chunk.
    fn claim(&mut self, chunk: u32, seen: Standing) -> Result<Option<NextChunk>, SpoolFault> {
        let attempt = seen.attempts + 1;
        let path = self.spool.path("claim", &attempt_name(chunk, attempt));
        if !link::create(&path, self.worker.as_bytes()).map_err(failed("claim", &path))? {
            return Ok(None);
        }
        self.held.insert(chunk);
        // It may have been done since it was looked at: by a worker that had been taken for dead.
        if attempt > 1 && self.spool.path("done", &chunk_name(chunk)).exists() {
            return Ok(None);
        }
        if seen.attempts - seen.freed >= DEATHS_MAX {
            return Ok(Some(NextChunk::Hopeless { chunk, attempt, behind: seen.last_freed }));
        }
        Ok(Some(NextChunk::Claimed { chunk, attempt, behind: seen.last_freed }))
    }

    /// The chunks of the generation.
    fn range(&self) -> Option<std::ops::Range<u32>> {
        let ends = &self.spool.header().generations;
        let begin = if self.generation == 0 { 0 } else { ends[self.generation - 1] };
        ends.get(self.generation).map(|end| begin..*end)
    }

    /// Chunks that are dealt to this worker.
    fn deal(&mut self) {
        let workers = self.spool.header().limits.workers;
        let Some(range) = self.range() else { return };
        let own = self.number % workers;
        self.candidates =
            range.filter(|chunk| chunk % workers == own).map(|chunk| (chunk, Standing::default())).collect();
    }

    /// All that can be had of the generation, beginning where others hardly do.
    fn list(&mut self, done: &HashSet<u32>) -> Result<(), SpoolFault> {
        let standings = self.standings()?;
        let Some(range) = self.range() else { return Ok(()) };
        let mut roll = Roll::call(&self.spool, &self.sign)?;
        let open = range.filter(|chunk| !done.contains(chunk));
        let standing = open.map(|chunk| (chunk, standings.get(&chunk).copied().unwrap_or_default()));
        let mut all: Vec<(u32, Standing)> =
            standing.filter(|(chunk, standing)| self.can_be_had(*chunk, *standing, &mut roll)).collect();
        let workers = self.spool.header().limits.workers as usize;
        let begin = all.len() * (self.number as usize % workers) / workers;
        all.rotate_left(begin);
        self.candidates = all.into();
        Ok(())
    }

    fn can_be_had(&self, chunk: u32, standing: Standing, roll: &mut Roll<'_>) -> bool {
        if self.held.contains(&chunk) {
            // Its own, whatever others have taken it for.
            return false;
        }
        if standing.attempts == 0 || standing.last_freed == Some(standing.attempts) {
            return true;
        }
        let path = self.spool.path("claim", &attempt_name(chunk, standing.attempts));
        match std::fs::read(&path) {
            // Its worker died before it could write its name, or is about to.
            Ok(name) if name.is_empty() => roll.is_old(&path),
            Ok(name) => roll.is_dead(&String::from_utf8_lossy(&name)),
            Err(_) => false,
        }
    }

    fn done(&self) -> Result<HashSet<u32>, SpoolFault> {
        names(&self.spool, "done").map(|names| names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    fn standings(&self) -> Result<HashMap<u32, Standing>, SpoolFault> {
        let mut standings: HashMap<u32, Standing> = HashMap::new();
        for name in names(&self.spool, "claim")? {
            let mut fields = name.split('.');
            let numbers = (
                fields.next().and_then(|field| field.parse().ok()),
                fields.next().and_then(|field| field.parse().ok()),
            );
            let (Some(chunk), Some(attempt)) = numbers else { continue };
            if attempt > ATTEMPTS_MAX {
                continue;
            }
            let standing = standings.entry(chunk).or_default();
            match fields.next() {
                None => standing.attempts = standing.attempts.max(attempt),
                Some(_) => {
                    standing.freed += 1;
                    standing.last_freed = standing.last_freed.max(Some(attempt));
                }
            }
        }
        Ok(standings)
    }
}

fn names(spool: &Spool, directory: &str) -> Result<Vec<String>, SpoolFault> {
    let path = spool.root().join(directory);
    let entries = std::fs::read_dir(&path).map_err(failed("list", &path))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    names.collect::<Result<_, _>>().map_err(failed("list", &path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::ChunkPart;
    use crate::spool::tests::spool;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    fn worker(root: &Path, number: u32) -> Claims {
        let spool = Arc::new(Spool::open(root).expect("a spool"));
        let name = format!("w{number}");
        let sign = Arc::new(AliveSign::make(&spool, &name).expect("made"));
        Claims::new(spool, &name, number, sign)
    }

    fn claimed(claims: &mut Claims) -> Option<(u32, u32)> {
        match claims.next_chunk().expect("a sound spool") {
            NextChunk::Claimed { chunk, attempt, .. } => Some((chunk, attempt)),
            NextChunk::Wait { .. } => None,
            other => panic!("{other:?}"),
        }
    }

    fn finish(claims: &Claims, chunk: u32, attempt: u32) -> bool {
        let part = ChunkPart { chunk, attempt, worker: claims.worker.clone(), results: Vec::new() };
        part.finish(&claims.spool).expect("written")
    }

    /// Sets a worker's last sign of life back.
    fn silence(claims: &Claims) {
        let file = std::fs::File::open(claims.spool.path("alive", &claims.worker)).expect("it has one");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("set");
    }

    #[test]
    fn own_chunks_come_first_then_those_of_others_and_none_twice() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 7, &[7], 2);
        let (mut one, mut two) = (worker(place.path(), 0), worker(place.path(), 1));
        assert_eq!((claimed(&mut one), claimed(&mut two)), (Some((0, 1)), Some((1, 1))));
        let rest: Vec<_> = std::iter::from_fn(|| claimed(&mut one)).collect();
        assert_eq!(rest, [(2, 1), (4, 1), (6, 1), (3, 1), (5, 1)]);
        assert_eq!(claimed(&mut two), None, "all are claimed, and their worker lives");
        for chunk in [0, 2, 3, 4, 5, 6] {
            assert!(finish(&one, chunk, 1));
        }
        assert_eq!(one.next_chunk().expect("sound"), NextChunk::Wait { more_follows: false });
        assert!(finish(&two, 1, 1));
        assert_eq!(
            (one.next_chunk().expect("sound"), two.next_chunk().expect("sound")),
            (NextChunk::Finished, NextChunk::Finished)
        );
    }

    #[test]
    fn a_generation_waits_for_the_one_before() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 3, &[1, 3], 2);
        let (mut one, mut two) = (worker(place.path(), 0), worker(place.path(), 1));
        assert_eq!(claimed(&mut one), Some((0, 1)));
        assert_eq!(two.next_chunk().expect("sound"), NextChunk::Wait { more_follows: true });
        assert!(finish(&one, 0, 1));
        assert_eq!((claimed(&mut two), claimed(&mut one)), (Some((1, 1)), Some((2, 1))));
    }

    #[test]
    fn what_a_dead_worker_had_is_taken_and_its_result_counts_if_it_comes_first() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 1, &[1], 2);
        let (mut one, mut two) = (worker(place.path(), 0), worker(place.path(), 1));
        assert_eq!((claimed(&mut one), claimed(&mut two)), (Some((0, 1)), None));
        silence(&one);
        assert_eq!(claimed(&mut two), Some((0, 2)));
        assert!(finish(&one, 0, 1), "it was only paused");
        assert!(!finish(&two, 0, 2), "one result counts");
        assert_eq!(two.next_chunk().expect("sound"), NextChunk::Finished);
    }

    #[test]
    fn a_chunk_that_was_given_up_is_taken_at_once_and_is_no_death() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 1, &[1], 1);
        for attempt in 1..=DEATHS_MAX + 2 {
            let mut one = worker(place.path(), attempt);
            let behind = (attempt > 1).then(|| attempt - 1);
            assert_eq!(one.next_chunk().expect("sound"), NextChunk::Claimed { chunk: 0, attempt, behind });
            let part = ChunkPart { chunk: 0, attempt, worker: "w0".to_owned(), results: Vec::new() };
            assert!(part.free(&one.spool).expect("written"));
            assert!(matches!(one.next_chunk(), Ok(NextChunk::Wait { .. })), "it has had it");
        }
    }

    #[test]
    fn a_chunk_that_workers_die_of_is_given_up() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 1, &[1], 1);
        for attempt in 1..=DEATHS_MAX {
            let mut claims = worker(place.path(), attempt);
            assert_eq!(claimed(&mut claims), Some((0, attempt)));
            silence(&claims);
        }
        let mut last = worker(place.path(), 99);
        assert_eq!(
            last.next_chunk().expect("sound"),
            NextChunk::Hopeless { chunk: 0, attempt: DEATHS_MAX + 1, behind: None }
        );
    }

    #[test]
    fn a_claim_without_a_name_is_taken_when_it_is_old() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 1, &[1], 1);
        let mut one = worker(place.path(), 0);
        let path = one.spool.path("claim", &attempt_name(0, 1));
        std::fs::write(&path, b"").expect("written");
        assert_eq!(claimed(&mut one), None);
        let file = std::fs::File::open(&path).expect("there");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("set");
        assert_eq!(claimed(&mut one), Some((0, 2)));
    }

    #[test]
    fn a_list_without_jobs_is_finished() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 0, &[], 3);
        assert_eq!(worker(place.path(), 1).next_chunk().expect("sound"), NextChunk::Finished);
    }

    #[test]
    fn eight_threads_have_each_chunk_once() {
        let place = tempfile::tempdir().expect("a directory");
        spool(place.path(), 400, &[100, 400], 8);
        let root = place.path();
        let all: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    scope.spawn(move || {
                        let (mut claims, mut had) = (worker(root, number), Vec::new());
                        loop {
                            match claims.next_chunk().expect("sound") {
                                NextChunk::Claimed { chunk, attempt, .. } => {
                                    assert!(finish(&claims, chunk, attempt));
                                    had.push(chunk);
                                }
                                NextChunk::Wait { .. } => std::thread::yield_now(),
                                NextChunk::Hopeless { .. } => panic!("nobody died"),
                                NextChunk::Finished => return had,
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
        });
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..400).collect::<Vec<_>>());
        let first_of_second = all.iter().filter(|chunk| **chunk >= 100).count();
        assert_eq!(first_of_second, 300);
    }
}
