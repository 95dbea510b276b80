//! The spool: the directory in which one run's list, claims, results and outputs lie, on a file system that all nodes see. Its contents are the
//! whole truth about the run; layout and order of writing: this crate's `README.md`.

mod header;

pub use header::{JobNeed, SpoolHeader, SpoolLimits};

use crate::job_line;
use jobs::list::ListItem;
use jobs::spec::Spec;
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a list and the words around it are known by: equal for equal runs.
pub fn digest<'a>(words: impl Iterator<Item = &'a [u8]>, items: &[ListItem]) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word);
    }
    let mut line = Vec::new();
    for item in items {
        line.clear();
        match item {
            ListItem::Barrier => line.extend_from_slice(b"%%\n"),
            ListItem::Job(spec) => job_line::write(spec, &mut line),
        }
        digest.update(&line);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Directories of a spool.
const DIRECTORIES: [&str; 8] = ["claim", "part", "done", "news", "journal", "out", "alive", "log"];

/// The file that makes a directory a spool; made last.
const HEADER: &str = "run.json";

/// The files whose being there ends a run: its starts, its jobs.
const STOP: &str = "stop";
const STOP_NOW: &str = "stop-now";

/// How often a directory is removed into which somebody may still write.
const REMOVALS: u32 = 20;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(50);

/// The file that has the rule that was met.
const HALT: &str = "halt";

/// LIMIT: a header is options, variables and the bounds of generations; more is damage.
const HEADER_BYTES_MAX: u64 = 256 << 20;

/// LIMIT: bytes of one chunk's jobs.
const CHUNK_BYTES_MAX: u64 = 1 << 30;

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolFault {
    /// There is none.
    #[error("use {} as a spool: it has no {HEADER}", .0.display())]
    NoSpool(PathBuf),
    /// A file of it.
    #[error("{what} {}", .path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// A file that is not as it was written.
    #[error("read {}: it is damaged: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// One that another user made, or may change.
    #[error("use {} as a spool: it is not this user's own, or others may write to it", .0.display())]
    Foreign(PathBuf),
    /// A directory with something else in it.
    #[error("use {} as a spool: it has other files, such as {name}; a new directory is needed", .path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// One of its files.
        name: String,
    },
    /// Another format.
    #[error("read {}: another version wrote it (format {found}, this one reads {})", .path.display(), header::FORMAT)]
    Format {
        /// The header.
        path: PathBuf,
        /// Its number.
        found: u32,
    },
    /// A worker that was started for one run has found another one.
    #[error("work on run {expected} in {}: it holds run {found}; this node sees another directory by that name than the one that submits", .path.display())]
    OtherRun {
        /// The spool.
        path: PathBuf,
        /// The run that is there.
        found: String,
        /// The run that was expected.
        expected: String,
    },
}

/// Makes an error of a file of the spool.
pub(crate) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolFault {
    let path = path.to_owned();
    move |cause| SpoolFault::File { what, path, cause }
}

/// How a run is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpoolStop {
    /// Jobs that run end by themselves; no more start.
    Drain,
    /// Jobs that run are ended.
    Now,
}

/// A spool that is there.
#[derive(Debug)]
pub struct Spool {
    root: PathBuf,
    header: SpoolHeader,
    /// Where each chunk begins in the file of jobs and how many jobs stand before it; of the end as well.
    bounds: Vec<(u64, u64)>,
}

/// Which spool there is after one was to be made.
#[derive(Debug)]
pub enum MadeSpool {
    /// The new one.
    New(Spool),
    /// One that was there before, or was made meanwhile.
    Old(Spool),
}

impl Spool {
    /// Makes a spool of chunks of jobs, unless one is there. `header.chunks` and `header.jobs` are counted here.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or holds something else.
    pub fn make(
        root: &Path,
        mut header: SpoolHeader,
        chunks: impl IntoIterator<Item = Vec<Spec>>,
    ) -> Result<MadeSpool, SpoolFault> {
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(failed("make the directory", root))?;
        let root = root.canonicalize().map_err(failed("find", root))?;
        if root.join(HEADER).exists() {
            return Self::open(&root).map(MadeSpool::Old);
        }
        check_is_ours(&root)?;
        for directory in DIRECTORIES {
            let path = root.join(directory);
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(failed("make the directory", &path)(error));
                }
                _ => {}
            }
        }
        let (jobs_path, bounds_path) = (jobs_of(&root, &header.id), bounds_of(&root, &header.id));
        let written = write_chunks(&jobs_path, &bounds_path, chunks);
        let (jobs, chunks) = written.map_err(failed("write", &jobs_path))?;
        (header.jobs, header.chunks) = (jobs, chunks);
        let is_first = header::put(&root, &header)?;
        if !is_first {
            // Somebody else was faster: the list of theirs counts.
            let _ours_alone = [jobs_path, bounds_path].map(std::fs::remove_file);
        }
        let spool = Self::open(&root)?;
        Ok(if is_first { MadeSpool::New(spool) } else { MadeSpool::Old(spool) })
    }

    /// Opens one that is there.
    ///
    /// # Errors
    /// When there is none, or it cannot be read, or it is another version's.
    pub fn open(root: &Path) -> Result<Self, SpoolFault> {
        let header = header::read(root)?;
        let path = bounds_of(root, &header.id);
        let bounds = std::fs::read(&path).map_err(failed("read", &path))?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
        let bounds: Vec<(u64, u64)> =
            bounds.chunks_exact(16).map(|bytes| (number(&bytes[..8]), number(&bytes[8..]))).collect();
        if bounds.len() != header.chunks as usize + 1
            || !bounds.is_sorted()
            || !bounds.is_sorted_by_key(|bound| bound.1)
        {
            return Err(SpoolFault::Damaged { path, why: format!("it does not bound {} chunks", header.chunks) });
        }
        Ok(Self { root: root.to_owned(), header, bounds })
    }

    /// Opens the one that a worker was started for.
    ///
    /// # Errors
    /// As [`Spool::open`], and when another run's is there.
    pub fn open_run(root: &Path, id: &str) -> Result<Self, SpoolFault> {
        let spool = Self::open(root)?;
        if spool.header.id != id {
            let (found, expected) = (spool.header.id, id.to_owned());
            return Err(SpoolFault::OtherRun { path: root.to_owned(), found, expected });
        }
        Ok(spool)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What all workers have in common.
    pub fn header(&self) -> &SpoolHeader {
        &self.header
    }

    /// Whether it has not been removed.
    pub(crate) fn is_there(&self) -> bool {
        self.root.join(HEADER).exists()
    }

    /// A path in it.
    pub fn path(&self, directory: &str, name: &str) -> PathBuf {
        self.root.join(directory).join(name)
    }

    /// How many jobs a chunk has.
    pub fn jobs_in(&self, chunk: u32) -> u64 {
        self.bounds[chunk as usize + 1].1 - self.bounds[chunk as usize].1
    }

    /// The jobs of a chunk, in the order of the list.
    ///
    /// # Errors
    /// When the file of jobs cannot be read or is damaged.
    pub fn chunk(&self, chunk: u32) -> Result<Vec<Spec>, SpoolFault> {
        let path = jobs_of(&self.root, &self.header.id);
        let (from, to) = (self.bounds[chunk as usize].0, self.bounds[chunk as usize + 1].0);
        let damaged = |why: String| SpoolFault::Damaged { path: path.clone(), why: format!("chunk {chunk}: {why}") };
        if to - from > CHUNK_BYTES_MAX {
            return Err(damaged(format!("{} bytes", to - from)));
        }
        let mut lines = vec![0; (to - from) as usize];
        // Opened each time: nothing of a spool is open when it is removed.
        let jobs = File::open(&path).map_err(failed("open", &path))?;
        jobs.read_exact_at(&mut lines, from).map_err(failed("read", &path))?;
        let lines = lines.split_inclusive(|byte| *byte == b'\n');
        lines.map(|line| job_line::read(line).map_err(|error| damaged(error.to_string()))).collect()
    }

    /// Asks all workers to end.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn stop(&self, stop: SpoolStop) -> Result<(), SpoolFault> {
        // A later wish may be the smaller one: a rule that drains does not take back the wish to end the jobs.
        let path = self.root.join(match stop {
            SpoolStop::Drain => STOP,
            SpoolStop::Now => STOP_NOW,
        });
        File::create(&path).map(drop).map_err(failed("make", &path))
    }

    /// How long a worker may give no sign of life.
    pub fn lease(&self) -> Duration {
        Duration::from_secs_f64(self.header.limits.lease_s)
    }

    /// Asks all workers to end, as a rule was met that is kept as text; the first one stands.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn halt(&self, rule: &str, stop: SpoolStop) -> Result<(), SpoolFault> {
        let path = self.root.join(HALT);
        crate::link::create(&path, rule.as_bytes()).map_err(failed("write", &path))?;
        self.stop(stop)
    }

    /// The rule that ended the run.
    pub fn halted(&self) -> Option<String> {
        std::fs::read_to_string(self.root.join(HALT)).ok().filter(|rule| !rule.is_empty())
    }

    /// Whether the run is to end.
    pub fn stopped(&self) -> Option<SpoolStop> {
        match () {
            () if self.root.join(STOP_NOW).exists() => Some(SpoolStop::Now),
            () if self.root.join(STOP).exists() => Some(SpoolStop::Drain),
            () => None,
        }
    }

    /// Lets workers go on that are started from now on.
    ///
    /// # Errors
    /// When the mark cannot be removed.
    pub fn go_on(&self) -> Result<(), SpoolFault> {
        for path in [STOP, STOP_NOW, HALT].map(|name| self.root.join(name)) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed("remove", &path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the directory and all that is in it.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(&self) -> Result<(), SpoolFault> {
        // From here on a worker that still runs finds no run, and ends.
        let _it_goes_with_the_rest = std::fs::remove_file(self.root.join(HEADER));
        for _ in 1..REMOVALS {
            // A worker that ends may have made a file meanwhile; on NFS a file that is open has another name until it is closed.
            if std::fs::remove_dir_all(&self.root).is_ok() {
                return Ok(());
            }
            std::thread::sleep(BETWEEN_REMOVALS);
        }
        std::fs::remove_dir_all(&self.root).map_err(failed("remove", &self.root))
    }
}

/// Another submitter may be making the same spool; anything else is not to be mixed with one.
fn check_is_ours(root: &Path) -> Result<(), SpoolFault> {
    let entries = std::fs::read_dir(root).map_err(failed("list", root))?;
    let is_ours = |name: &String| {
        DIRECTORIES.contains(&name.as_str()) || ["jobs-", "bounds-", HEADER].iter().any(|begin| name.starts_with(begin))
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    match names.into_iter().find(|name| !is_ours(name)) {
        Some(name) => Err(SpoolFault::Occupied { path: root.to_owned(), name }),
        None => Ok(()),
    }
}

fn jobs_of(root: &Path, id: &str) -> PathBuf {
    root.join(format!("jobs-{id}"))
}

fn bounds_of(root: &Path, id: &str) -> PathBuf {
    root.join(format!("bounds-{id}"))
}

/// Writes jobs, and where each chunk begins; how many of each there are.
fn write_chunks(jobs: &Path, bounds: &Path, chunks: impl IntoIterator<Item = Vec<Spec>>) -> io::Result<(u64, u32)> {
    let create = |path| File::options().write(true).create_new(true).mode(0o600).open(path);
    let (mut jobs, mut bounds) = (BufWriter::new(create(jobs)?), BufWriter::new(create(bounds)?));
    let (mut at, mut count, mut chunk_count, mut line) = (0_u64, 0_u64, 0, Vec::new());
    for chunk in chunks {
        bounds.write_all(&[at.to_le_bytes(), count.to_le_bytes()].concat())?;
        for spec in &chunk {
            line.clear();
            job_line::write(spec, &mut line);
            jobs.write_all(&line)?;
            at += line.len() as u64;
        }
        (count, chunk_count) = (count + chunk.len() as u64, chunk_count + 1);
    }
    bounds.write_all(&[at.to_le_bytes(), count.to_le_bytes()].concat())?;
    for file in [jobs, bounds] {
        file.into_inner()?.sync_all()?;
    }
    Ok((count, chunk_count))
}

/// Reads all of a file that may be at most so long.
fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Lines that were added to a file since `at`; a last line without its end stays for the next time.
pub(crate) fn new_lines(path: &Path, at: &mut u64) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    file.seek(io::SeekFrom::Start(*at))?;
    let mut bytes = Vec::new();
    file.take(NEWS_BYTES_MAX).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    bytes.truncate(whole);
    *at += whole as u64;
    Ok(bytes)
}

/// LIMIT: what is read of such lines at once.
const NEWS_BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A spool of so many chunks of one job each.
    pub(crate) fn spool(root: &Path, chunks: u32, generations: &[u32], workers: u32) -> Spool {
        let specs = (0..chunks).map(|chunk| vec![spec(u64::from(chunk) + 1)]);
        match Spool::make(root, SpoolHeader::for_tests(generations, workers), specs).expect("a spool") {
            MadeSpool::New(spool) | MadeSpool::Old(spool) => spool,
        }
    }

    pub(crate) fn spec(number: u64) -> Spec {
        let mut spec = Spec { number, ..Spec::default() };
        spec.words.push(b"true").expect("no NUL");
        spec
    }

    #[test]
    fn chunks_are_read_as_they_were_written() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().join("a spool");
        let chunks = vec![vec![spec(1), spec(2)], Vec::new(), vec![spec(3)]];
        let made = Spool::make(&root, SpoolHeader::for_tests(&[3], 2), chunks).expect("made");
        let MadeSpool::New(spool) = made else { panic!("it is new") };
        assert_eq!((spool.header().jobs, spool.header().chunks), (3, 3));
        let numbers = |chunk| spool.chunk(chunk).expect("read").iter().map(|spec| spec.number).collect::<Vec<_>>();
        assert_eq!((numbers(0), numbers(1), numbers(2)), (vec![1, 2], vec![], vec![3]));
    }

    #[test]
    fn the_first_of_two_submitters_has_its_list_run() {
        let place = tempfile::tempdir().expect("a directory");
        let first = spool(place.path(), 2, &[2], 1);
        let other = SpoolHeader { id: "other".to_owned(), ..SpoolHeader::for_tests(&[1], 1) };
        let made = Spool::make(place.path(), other, [vec![spec(9)]]).expect("it is there");
        let MadeSpool::Old(old) = made else { panic!("the first one counts") };
        assert_eq!((old.header().id.clone(), old.header().chunks), (first.header().id.clone(), 2));
        let left = std::fs::read_dir(place.path()).expect("read").flatten().map(|entry| entry.file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().contains("other")));
    }

    #[test]
    fn what_is_no_spool_is_named() {
        let place = tempfile::tempdir().expect("a directory");
        assert!(matches!(Spool::open(place.path()), Err(SpoolFault::NoSpool(_))));
        let made = spool(place.path(), 3, &[3], 1);
        let other = Spool::open_run(place.path(), "other").expect_err("another run");
        assert!(other.to_string().contains("sees another directory"), "{other}");
        let bounds = bounds_of(place.path(), &made.header().id);
        std::fs::write(&bounds, [0; 32]).expect("written");
        assert!(Spool::open(place.path()).expect_err("damage").to_string().contains("does not bound 3 chunks"));
        std::fs::write(place.path().join(HEADER), b"{").expect("written");
        assert!(matches!(Spool::open(place.path()), Err(SpoolFault::Damaged { .. })));
    }

    #[test]
    fn a_stop_is_seen_until_the_run_goes_on() {
        let place = tempfile::tempdir().expect("a directory");
        let spool = spool(place.path(), 1, &[1], 1);
        assert_eq!(spool.stopped(), None);
        spool.stop(SpoolStop::Drain).expect("written");
        assert_eq!(spool.stopped(), Some(SpoolStop::Drain));
        spool.stop(SpoolStop::Now).expect("written");
        assert_eq!(spool.stopped(), Some(SpoolStop::Now));
        spool.go_on().and_then(|()| spool.go_on()).expect("twice is no error");
        assert_eq!(spool.stopped(), None);
    }

    #[test]
    fn lines_are_read_when_they_are_whole() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("news");
        let mut at = 0;
        assert_eq!(new_lines(&path, &mut at).expect("not there yet"), b"");
        std::fs::write(&path, b"1\n2").expect("written");
        assert_eq!(new_lines(&path, &mut at).expect("read"), b"1\n");
        std::fs::write(&path, b"1\n23\n").expect("written");
        assert_eq!((new_lines(&path, &mut at).expect("read"), at), (b"23\n".to_vec(), 5));
    }
}
