//! Recordings survive what happens to files.

use super::*;
use crate::host::fields::UPTIME;
use crate::host::history::HistoryReader;
use crate::host::values::WHOLE;

fn snapshot(step: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.at.wall_ns = 1_000 + step;
    snapshot.values.push(UPTIME, WHOLE, step);
    snapshot
}

fn recorded(count: u64) -> Vec<u8> {
    let facts = HostFacts { name: "web7".into(), ..HostFacts::default() };
    let mut bytes = Vec::new();
    let mut writer = SnapshotWriter::begin(&mut bytes, &facts, 1).expect("memory takes all");
    (0..count).for_each(|step| writer.write(snapshot(step), 9).expect("memory takes all"));
    bytes
}

fn opened(bytes: &[u8]) -> SnapshotLog {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    SnapshotLog::open(file).expect("readable")
}

/// All that can be read, by step.
fn steps(log: &mut SnapshotLog) -> Vec<u64> {
    let mut reader = HistoryReader::default();
    let all: Vec<usize> = (0..log.count()).collect();
    all.into_iter().filter_map(|place| reader.read(log, place)?.values.get(UPTIME)).collect()
}

#[test]
fn what_was_written_is_read_and_the_rest_as_it_comes() {
    let bytes = recorded(150);
    let mut log = opened(&bytes);
    assert_eq!((log.count(), log.facts.name.as_str(), log.damaged_bytes), (150, "web7", 0));
    assert_eq!(steps(&mut log), (0..150).collect::<Vec<u64>>());
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut writing = file.reopen().expect("opened");
    let half = bytes.len() / 2;
    writing.write_all(&bytes[..half]).expect("written");
    let mut log = SnapshotLog::open(file.reopen().expect("opened")).expect("readable");
    let before = log.count();
    assert!(before > 0 && before < 150 && log.damaged_bytes == 0, "the last one is not whole yet");
    assert!(!log.follow().expect("readable"));
    writing.write_all(&bytes[half..]).expect("written");
    assert!(log.follow().expect("readable"));
    assert_eq!((log.count(), log.damaged_bytes), (150, 0));
}

#[test]
fn damage_costs_what_stands_between_it_and_the_next_key_frame() {
    let bytes = recorded(150);
    for at in (0..bytes.len()).step_by(97) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x55;
        let mut log = opened(&bad);
        let found = steps(&mut log);
        assert!(found.len() >= 85 && found.is_sorted(), "byte {at}: {}", found.len());
        assert!(found.len() == 150 || log.damaged_bytes > 0, "byte {at}");
    }
}

#[test]
fn a_crash_costs_the_last_one_and_another_writer_goes_on() {
    let mut bytes = recorded(70);
    bytes.truncate(bytes.len() - 3);
    let mut log = opened(&bytes);
    assert_eq!((steps(&mut log).len(), log.damaged_bytes, log.unfinished_bytes > 0), (69, 0, true));
    bytes.extend_from_slice(&recorded(5));
    let mut log = opened(&bytes);
    assert_eq!((steps(&mut log).len(), log.damaged_bytes > 0), (74, true));
}

#[test]
fn a_full_disk_leaves_a_gap_that_is_told() {
    struct Full<'a> {
        bytes: &'a mut Vec<u8>,
        is_full: &'a std::cell::Cell<bool>,
    }
    impl Write for Full<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.is_full.get() {
                self.bytes.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            // Half of it had room.
            self.bytes.extend_from_slice(&bytes[..bytes.len() / 2]);
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (mut bytes, is_full) = (Vec::new(), std::cell::Cell::new(false));
    let sink = Full { bytes: &mut bytes, is_full: &is_full };
    let mut writer = SnapshotWriter::begin(sink, &HostFacts::default(), 1).expect("room");
    for step in 0..30 {
        is_full.set((10..20).contains(&step));
        assert_eq!(writer.write(snapshot(step), 9).is_ok(), !is_full.get());
    }
    drop(writer);
    let mut log = opened(&bytes);
    assert_eq!(steps(&mut log), (0..10).chain(20..30).collect::<Vec<u64>>());
    assert_eq!(log.gaps, [RecordedGap { place: 10, missed: 10 }]);
    assert_eq!(log.damaged_bytes, 0, "what had room of a frame belongs to the gap");
}

#[test]
fn a_writer_that_begins_behind_a_gap_marks_it() {
    let mut bytes = Vec::new();
    let mut writer = SnapshotWriter::begin(&mut bytes, &HostFacts::default(), 1).expect("memory takes all");
    writer.note_missed(7);
    (0..3).for_each(|step| writer.write(snapshot(step), 9).expect("memory takes all"));
    assert_eq!(opened(&bytes).gaps, [RecordedGap { place: 0, missed: 7 }]);
}

#[test]
fn noise_is_no_recording_and_no_panic() {
    for bytes in [&b""[..], b"mh", &[b'm'; 100_000], &b"mhK\x00\x00\x00\x01".repeat(9_000)] {
        let log = opened(bytes);
        assert_eq!(log.count(), 0);
    }
}
