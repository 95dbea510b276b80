//! Recordings on disk: one file, or a file a day in a directory, the oldest of which are removed. A disk that is full is reported once;
//! what could not be written is marked when there is room again, and counted.

use mh_kit::failure::{Failure, with_causes};
use observe::host::recording::{HostFacts, SnapshotWriter};
use observe::host::snapshot::Snapshot;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use sys::civil_time::local;

/// How a day's file ends.
const SUFFIX: &str = ".mhstat";
/// Processes that are kept of each moment.
pub const PROCESSES: usize = 25;

/// Writes snapshots to disk.
pub struct Keeper {
    place: Place,
    facts: HostFacts,
    open: Option<(PathBuf, SnapshotWriter<File>)>,
    missed: Missed,
}

/// Snapshots that could not be written.
#[derive(Default)]
struct Missed {
    /// Since the last one that could.
    now: u64,
    /// In all.
    total: u64,
    /// Until when nothing is reported: a disk with room for some samples and not for others fails each second.
    quiet_until_ns: u64,
    /// Whether the failure was reported, and that it is over has not been.
    is_reported: bool,
}

/// Between two reports of failures.
const QUIET_NS: u64 = 60_000_000_000;

enum Place {
    File(PathBuf),
    Days { directory: PathBuf, keep: Option<u32> },
}

impl Keeper {
    /// To a file, or into a directory, which is created if days are kept. No sample is written yet, but faults are found.
    pub fn open(command: &'static str, path: &Path, keep: Option<u32>, facts: HostFacts) -> Result<Self, Failure> {
        if keep.is_some() && !path.is_dir() {
            std::fs::create_dir(path).map_err(|error| {
                let (path, cause) = (terminal::quote(path), sys::error_text::message(&error));
                let message = format!("create {path} as the directory that --keep needs: {cause}");
                Failure::Environment { command, message }
            })?;
        }
        let place =
            if path.is_dir() { Place::Days { directory: path.to_owned(), keep } } else { Place::File(path.to_owned()) };
        let mut keeper = Self { place, facts, open: None, missed: Missed::default() };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        keeper
            .open_for(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
            .map_err(|message| Failure::Environment { command, message })?;
        Ok(keeper)
    }

    /// Writes `snapshot`. Returns what is to be reported: that writing failed, or that it goes on.
    pub fn write(&mut self, snapshot: &Snapshot) -> Option<String> {
        let wall_ns = snapshot.at.wall_ns;
        let written = self.open_for(wall_ns).and_then(|()| match &mut self.open {
            Some((path, writer)) => {
                writer.note_missed(self.missed.now);
                writer
                    .write(snapshot.clone(), PROCESSES)
                    .map_err(|error| format!("write {}: {}", terminal::quote(&*path), sys::error_text::message(&error)))
            }
            None => Ok(()),
        });
        match written {
            Ok(()) => self.missed.end(),
            Err(message) => self.missed.note(&message, wall_ns),
        }
    }

    /// Snapshots that could not be written so far.
    pub fn missed(&self) -> u64 {
        self.missed.total
    }

    /// Whether the last one could not be written.
    pub fn is_failing(&self) -> bool {
        self.missed.now > 0
    }

    /// Opens the file that this moment belongs to.
    fn open_for(&mut self, wall_ns: u64) -> Result<(), String> {
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Days { directory, .. } => {
                directory.join(format!("{}{SUFFIX}", day(wall_ns).ok_or("find today's date")?))
            }
        };
        if self.open.as_ref().is_some_and(|(open, _)| *open == path) {
            return Ok(());
        }
        let in_words =
            |error: std::io::Error| format!("open {}: {}", terminal::quote(&path), sys::error_text::message(&error));
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path).map_err(in_words)?;
        check_ours(&mut file).map_err(|reason| format!("record to {}: {reason}", terminal::quote(&path)))?;
        let begun = SnapshotWriter::begin(file, &self.facts, wall_ns);
        let writer = begun.map_err(|error| format!("write {}: {}", terminal::quote(&path), with_causes(&error)))?;
        self.open = Some((path, writer));
        self.remove_old(wall_ns);
        Ok(())
    }

    /// Removes the files of days that are longer ago than they are kept.
    fn remove_old(&self, wall_ns: u64) {
        let Place::Days { directory, keep: Some(keep) } = &self.place else { return };
        let oldest = day(wall_ns.saturating_sub(u64::from(*keep) * 86_400_000_000_000));
        let (Some(oldest), Ok(entries)) = (oldest, std::fs::read_dir(directory)) else { return };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            let is_day = |day: &&str| day.len() == 8 && day.bytes().all(|digit| digit.is_ascii_digit());
            if day.filter(is_day).is_some_and(|day| day < oldest.as_str()) {
                let _somebody_else_did = std::fs::remove_file(entry.path());
            }
        }
    }
}

impl Missed {
    /// One more.
    fn note(&mut self, message: &str, wall_ns: u64) -> Option<String> {
        (self.now, self.total) = (self.now + 1, self.total + 1);
        let is_news = !self.is_reported && wall_ns >= self.quiet_until_ns;
        is_news.then(|| {
            (self.is_reported, self.quiet_until_ns) = (true, wall_ns.saturating_add(QUIET_NS));
            format!("could not {message}; recording goes on when that is possible again")
        })
    }

    /// Writing is possible again.
    fn end(&mut self) -> Option<String> {
        let missed = std::mem::take(&mut self.now);
        let is_over = missed > 0 && std::mem::replace(&mut self.is_reported, false);
        is_over.then(|| format!("recording goes on; {} missing", samples_are(missed)))
    }
}

/// `12 samples are`.
pub fn samples_are(count: u64) -> String {
    if count == 1 { "1 sample is".to_owned() } else { format!("{count} samples are") }
}

/// The newest day's file in a directory; none where `path` is no directory, or has none.
pub fn newest_of(path: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(path).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(SUFFIX)).max().map(|name| path.join(name))
}

/// A file that holds something else is not appended to.
fn check_ours(file: &mut File) -> Result<(), String> {
    let mut mark = [0; 2];
    match file.read(&mut mark) {
        Ok(0) => Ok(()),
        Ok(_) if mark == observe::host::envelope::MARK => Ok(()),
        Ok(_) => Err("it is there, and is no recording".to_owned()),
        Err(error) => Err(sys::error_text::message(&error)),
    }
}

/// `20261129`.
fn day(wall_ns: u64) -> Option<String> {
    let at = local(i64::try_from(wall_ns / 1_000_000_000).ok()?)?;
    Some(format!("{:04}{:02}{:02}", at.year, at.month, at.day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::host::recording::SnapshotLog;

    const DAY_NS: u64 = 86_400_000_000_000;

    fn snapshot(wall_ns: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.at.wall_ns = wall_ns;
        snapshot
    }

    #[test]
    fn a_directory_has_a_file_a_day_and_old_ones_go() {
        let place = tempfile::tempdir().expect("a directory");
        let mut keeper = Keeper::open("x", place.path(), Some(2), HostFacts::default()).expect("opened");
        std::fs::write(place.path().join("notes.mhstat"), "x").expect("written");
        let today = 20_000 * DAY_NS + DAY_NS / 2;
        for day in 0..4 {
            assert_eq!(keeper.write(&snapshot(today + day * DAY_NS)), None);
        }
        let mut names: Vec<String> = std::fs::read_dir(place.path())
            .expect("listed")
            .map(|entry| entry.expect("read").file_name().into_string().expect("text"))
            .collect();
        names.retain(|name| name.starts_with("2024") || name == "notes.mhstat");
        names.sort();
        assert_eq!(names.len(), 4, "three days and what is none: {names:?}");
    }

    #[test]
    fn a_directory_for_days_is_created_and_a_file_is_not_taken_for_one() {
        let place = tempfile::tempdir().expect("a directory");
        let open = |name: &str| Keeper::open("x", &place.path().join(name), Some(2), HostFacts::default());
        let mut keeper = open("days").expect("opened");
        assert_eq!(keeper.write(&snapshot(DAY_NS)), None);
        assert!(place.path().join("days").is_dir());
        std::fs::write(place.path().join("file"), "").expect("written");
        assert!(open("file").is_err() && open("none/days").is_err());
    }

    #[test]
    fn failures_are_reported_once_a_minute_and_all_are_counted() {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut missed = Missed::default();
        let report = missed.note("write 'r': no space", 0).expect("reported");
        assert_eq!(report, "could not write 'r': no space; recording goes on when that is possible again");
        assert_eq!(missed.note("write 'r': no space", SECOND_NS), None, "once");
        assert_eq!(missed.end().as_deref(), Some("recording goes on; 2 samples are missing"));
        assert_eq!((missed.note("x", 9 * SECOND_NS), missed.end()), (None, None), "room for one sample in two");
        assert!(missed.note("x", 60 * SECOND_NS).is_some());
        assert_eq!((missed.end().as_deref(), missed.total), (Some("recording goes on; 1 sample is missing"), 4));
        assert_eq!(missed.end(), None);
    }

    #[test]
    fn a_file_is_gone_on_with_and_what_is_no_recording_is_left_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("r");
        for second in [1, 2] {
            let mut keeper = Keeper::open("x", &path, None, HostFacts::default()).expect("opened");
            assert_eq!(keeper.write(&snapshot(second)), None);
        }
        use observe::host::history::FrameStore;
        assert_eq!(SnapshotLog::open(File::open(&path).expect("there")).expect("readable").count(), 2);
        std::fs::write(&path, "something else").expect("written");
        assert!(Keeper::open("x", &path, None, HostFacts::default()).is_err());
        assert_eq!(std::fs::read(&path).expect("there"), b"something else");
    }
}
