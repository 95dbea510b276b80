//! Gathering: what workers have published, for whoever submitted the run or attached to it. Reads only; may be begun again at any time.

use crate::part::{ChunkPart, JobResult};
use crate::spool::{Spool, SpoolFault, failed, new_lines};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between listings of all that is done: a worker may have died before it could announce a chunk.
const SWEEP: Duration = Duration::from_secs(5);

/// LIMIT: bytes that a worker has synced are seen everywhere by then (acdirmax of nfs(5) is 60 s; of a file that was just opened it is asked anew).
const SEEN_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// LIMIT: files of outputs that are kept open.
const FILES_MAX: usize = 64;

/// Bytes copied at once.
const COPY_BYTES: usize = 256 << 10;

/// The first line of a worker's news, before the number.
pub(crate) const WORKER_WIDTH: &str = "width ";

/// The last line of a worker's news.
pub(crate) const WORKER_ENDED: &str = "end";

/// Why a job's output could not be passed on.
#[derive(Debug, thiserror::Error)]
pub enum OutputFault {
    /// It is not in the spool as its worker said.
    #[error("read its output from the spool")]
    Read(#[source] io::Error),
    /// Where it is to go takes no more.
    #[error("write its output")]
    Write(#[source] io::Error),
}

/// A view of what is done.
#[derive(Debug)]
pub struct Gatherer {
    spool: Arc<Spool>,
    /// How far each worker's news were read.
    read: HashMap<String, u64>,
    widths: HashMap<String, usize>,
    seen: Vec<bool>,
    left: u32,
    ended: u32,
    swept: Option<Instant>,
    outputs: HashMap<(String, usize), File>,
    buffer: Vec<u8>,
}

impl Gatherer {
    /// Nothing is known yet.
    pub fn new(spool: Arc<Spool>) -> Self {
        let chunks = spool.header().chunks;
        Self {
            spool,
            read: HashMap::new(),
            widths: HashMap::new(),
            seen: vec![false; chunks as usize],
            left: chunks,
            ended: 0,
            swept: None,
            outputs: HashMap::new(),
            buffer: vec![0; COPY_BYTES],
        }
    }

    /// Chunks that are done and had not been seen, in the order in which they were found.
    ///
    /// # Errors
    /// When the spool cannot be read.
    pub fn poll(&mut self) -> Result<Vec<ChunkPart>, SpoolFault> {
        let mut parts = Vec::new();
        for chunk in self.announced()? {
            self.take(chunk, &mut parts)?;
        }
        if self.left > 0 && self.swept.is_none_or(|then| then.elapsed() >= SWEEP) {
            self.sweep(&mut parts)?;
        }
        Ok(parts)
    }

    /// Lists all that is done, whether it was announced or not.
    ///
    /// # Errors
    /// When the spool cannot be read.
    pub fn sweep(&mut self, parts: &mut Vec<ChunkPart>) -> Result<(), SpoolFault> {
        self.swept = Some(Instant::now());
        let path = self.spool.root().join("done");
        let entries = std::fs::read_dir(&path).map_err(failed("list", &path))?;
        let mut chunks: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
            .collect();
        chunks.sort_unstable();
        chunks.into_iter().try_for_each(|chunk| self.take(chunk, parts))
    }

    fn announced(&mut self) -> Result<Vec<u32>, SpoolFault> {
        let path = self.spool.root().join("news");
        let entries = std::fs::read_dir(&path).map_err(failed("list", &path))?;
        let mut chunks = Vec::new();
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            let path = path.join(&name);
            let at = self.read.entry(name.clone()).or_default();
            let lines = new_lines(&path, at).map_err(failed("read", &path))?;
            let lines = lines.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
            for line in lines {
                self.ended += u32::from(line == WORKER_ENDED);
                let width = line.strip_prefix(WORKER_WIDTH).and_then(|width| width.parse().ok());
                self.widths.extend(width.map(|width| (name.clone(), width)));
                chunks.extend(line.parse::<u32>().ok());
            }
        }
        Ok(chunks)
    }

    fn take(&mut self, chunk: u32, parts: &mut Vec<ChunkPart>) -> Result<(), SpoolFault> {
        if self.seen.get(chunk as usize) != Some(&false) {
            return Ok(());
        }
        if let Some(part) = ChunkPart::done(&self.spool, chunk)? {
            self.seen[chunk as usize] = true;
            self.left -= 1;
            parts.push(part);
        }
        Ok(())
    }

    /// Chunks that are not done.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Workers that have given news, and those of them that have ended in good order.
    pub fn workers(&self) -> (u32, u32) {
        (self.read.len() as u32, self.ended)
    }

    /// Workers that have given news, and how many jobs each of them runs at once.
    pub fn widths(&self) -> impl Iterator<Item = (&str, usize)> {
        self.widths.iter().map(|(name, width)| (name.as_str(), *width))
    }

    /// Whether every chunk is done.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// What is known of chunks that are not done: results of attempts that were given up.
    ///
    /// # Errors
    /// When the spool cannot be read.
    pub fn unfinished(&self) -> Result<Vec<ChunkPart>, SpoolFault> {
        let path = self.spool.root().join("claim");
        let mut last: HashMap<u32, u32> = HashMap::new();
        let entries = std::fs::read_dir(&path).map_err(failed("list", &path))?;
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            let Some(name) = name.strip_suffix(".free") else { continue };
            let numbers = name.split_once('.').map(|(chunk, attempt)| (chunk.parse::<u32>(), attempt.parse::<u32>()));
            if let Some((Ok(chunk), Ok(attempt))) = numbers
                && self.seen.get(chunk as usize) == Some(&false)
            {
                let known = last.entry(chunk).or_default();
                *known = attempt.max(*known);
            }
        }
        let mut chunks: Vec<(u32, u32)> = last.into_iter().collect();
        chunks.sort_unstable();
        let parts = chunks.into_iter().map(|(chunk, attempt)| ChunkPart::freed(&self.spool, chunk, attempt));
        parts.filter_map(Result::transpose).collect()
    }

    /// Copies what a job printed to one of both streams.
    ///
    /// # Errors
    /// When the spool has not all of it, or it cannot be written.
    pub fn copy(&mut self, result: &JobResult, stream: usize, to: &mut dyn Write) -> Result<(), OutputFault> {
        let (mut at, mut left) = result.printed[stream];
        if left == 0 {
            return Ok(());
        }
        if self.outputs.len() >= FILES_MAX {
            self.outputs.clear();
        }
        let path = self.spool.path("out", &format!("{}.{}", result.worker, ["out", "err"][stream]));
        let since = Instant::now();
        let file = match self.outputs.entry((result.worker.clone(), stream)) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(File::open(&path).map_err(OutputFault::Read)?)
            }
        };
        while left > 0 {
            let room = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = match file.read_at(&mut self.buffer[..room], at) {
                Ok(0) => {
                    // On a network file system its size may be known as it was some seconds ago.
                    if since.elapsed() > SEEN_WITHIN {
                        return Err(OutputFault::Read(io::ErrorKind::UnexpectedEof.into()));
                    }
                    std::thread::sleep(BETWEEN_LOOKS);
                    *file = File::open(&path).map_err(OutputFault::Read)?;
                    continue;
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(OutputFault::Read(error)),
            };
            to.write_all(&self.buffer[..count]).map_err(OutputFault::Write)?;
            (at, left) = (at + count as u64, left - count as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::tests::spool;

    fn part(chunk: u32) -> ChunkPart {
        let result = JobResult { worker: "w".to_owned(), printed: [(1, 2), (0, 0)], ..JobResult::lost(1, 0) };
        ChunkPart { chunk, attempt: 1, worker: "w".to_owned(), results: vec![result] }
    }

    #[test]
    fn each_chunk_is_seen_once_announced_or_not() {
        let place = tempfile::tempdir().expect("a directory");
        let spool = Arc::new(spool(place.path(), 3, &[3], 1));
        let mut gatherer = Gatherer::new(Arc::clone(&spool));
        assert!(gatherer.poll().expect("sound").is_empty());
        part(2).finish(&spool).expect("written");
        std::fs::write(spool.path("news", "w"), "00000002\n0000").expect("written");
        assert_eq!(gatherer.poll().expect("sound"), [part(2)]);
        part(0).finish(&spool).expect("written");
        let mut parts = Vec::new();
        gatherer.sweep(&mut parts).expect("sound");
        assert_eq!((parts, gatherer.is_complete()), (vec![part(0)], false));
        part(1).free(&spool).expect("written");
        assert_eq!(gatherer.unfinished().expect("sound"), [part(1)]);
        part(1).finish(&spool).expect("written");
        std::fs::write(spool.path("news", "w"), "00000002\n00000001\n00000001\n").expect("written");
        assert_eq!((gatherer.poll().expect("sound"), gatherer.is_complete()), (vec![part(1)], true));
    }

    #[test]
    fn outputs_are_copied_and_what_is_missing_is_an_error() {
        let place = tempfile::tempdir().expect("a directory");
        let spool = Arc::new(spool(place.path(), 1, &[1], 1));
        let mut gatherer = Gatherer::new(Arc::clone(&spool));
        let result = part(0).results[0].clone();
        let mut copied = Vec::new();
        assert!(matches!(gatherer.copy(&result, 0, &mut copied), Err(OutputFault::Read(_))));
        std::fs::write(spool.path("out", "w.out"), b"abcd").expect("written");
        gatherer
            .copy(&result, 0, &mut copied)
            .and_then(|()| gatherer.copy(&result, 1, &mut Vec::new()))
            .expect("there");
        assert_eq!(copied, b"bc");
        let longer = JobResult { printed: [(3, 9), (0, 0)], ..result };
        assert!(matches!(gatherer.copy(&longer, 0, &mut copied), Err(OutputFault::Read(_))));
    }
}
