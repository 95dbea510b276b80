//! Publishing: what jobs printed and the journal are on the disk before the part that tells of them has its name. A thread of its own does it, so
//! that no job waits for a disk; parts that come meanwhile are published together, behind one writing out.

use super::books::Committed;
use super::{WorkerEnd, WorkerIdentity};
use crate::gather::{WORKER_ENDED, WORKER_WIDTH};
use crate::part::chunk_name;
use crate::spool::{Spool, SpoolFault, failed};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// LIMIT: parts that wait to be published; then jobs wait for the disk.
const WAITING_MAX: usize = 256;

pub(super) fn outputs_of(spool: &Spool, worker: &str) -> [PathBuf; 2] {
    ["out", "err"].map(|kind| spool.path("out", &format!("{worker}.{kind}")))
}

pub(super) fn journal_of(spool: &Spool, worker: &str) -> PathBuf {
    spool.path("journal", &format!("{worker}.jsonl"))
}

/// The thread that publishes.
#[derive(Debug)]
pub(super) struct Committer {
    commits: Option<SyncSender<Committed>>,
    thread: Option<JoinHandle<WorkerEnd>>,
}

impl Committer {
    pub fn start(spool: Arc<Spool>, identity: &WorkerIdentity) -> Result<Self, SpoolFault> {
        let worker = identity.name.as_str();
        let path = spool.path("news", worker);
        let mut news = File::options().create(true).append(true).open(&path).map_err(failed("make", &path))?;
        let first = format!("{WORKER_WIDTH}{}\n", identity.width);
        news.write_all(first.as_bytes()).map_err(failed("write", &path))?;
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let worker = worker.to_owned();
        let thread = std::thread::Builder::new()
            .name("commit".to_owned())
            .spawn(move || publish_all(&spool, &worker, news, &receiver))
            .map_err(failed("start a thread for", &path))?;
        Ok(Self { commits: Some(sender), thread: Some(thread) })
    }

    pub fn sender(&self) -> SyncSender<Committed> {
        self.commits.clone().expect("it has not ended")
    }

    /// What has become of all that was sent. The senders must be gone.
    pub fn end(mut self) -> WorkerEnd {
        self.commits = None;
        let thread = self.thread.take().expect("it ends once");
        thread.join().unwrap_or_default()
    }
}

fn publish_all(spool: &Spool, worker: &str, mut news: File, commits: &Receiver<Committed>) -> WorkerEnd {
    let mut end = WorkerEnd::default();
    while let Ok(first) = commits.recv() {
        let batch: Vec<Committed> = std::iter::once(first).chain(commits.try_iter()).collect();
        if end.fault.is_some() {
            // Nothing can be written: others take it when the lease is over.
            continue;
        }
        if let Err(fault) = publish(spool, worker, &mut news, &batch, &mut end) {
            end.fault = Some(fault);
            // The run stops, and what it still does is not lost without a word.
            let own = rustix::process::getpid();
            let _it_is_us = rustix::process::kill_process(own, rustix::process::Signal::INT);
        }
    }
    // Whoever gathers need not wait for a lease.
    let _as_good_as_dead = news.write_all(format!("{WORKER_ENDED}\n").as_bytes());
    end
}

fn publish(
    spool: &Spool,
    worker: &str,
    news: &mut File,
    batch: &[Committed],
    end: &mut WorkerEnd,
) -> Result<(), SpoolFault> {
    let [output, errors] = outputs_of(spool, worker);
    for path in [output, errors, journal_of(spool, worker)] {
        match File::open(&path) {
            Ok(file) => file.sync_data().map_err(failed("write out", &path))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open", &path)(error)),
        }
    }
    let mut lines = String::new();
    for committed in batch {
        match committed {
            Committed::Whole(part) => match part.finish(spool)? {
                true => {
                    end.chunks += 1;
                    lines.push_str(&chunk_name(part.chunk));
                    lines.push('\n');
                }
                false => end.late += 1,
            },
            Committed::Freed(part) => {
                part.free(spool)?;
                end.freed += 1;
            }
        }
    }
    let path = spool.path("news", worker);
    news.write_all(lines.as_bytes()).map_err(failed("write", &path))
}
