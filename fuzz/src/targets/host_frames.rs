//! Snapshots from elsewhere: frames, envelopes and whole recordings of any bytes are refused or read, and what is read can be written again.

use observe::host::envelope::{EnvelopeHead, EnvelopeKind, HEAD_BYTES, Opener};
use observe::host::fields::{DISK_READ, UPTIME};
use observe::host::frame::{FrameKind, SnapshotDecoder, SnapshotEncoder};
use observe::host::history::{FrameStore, HistoryReader};
use observe::host::recording::{HostFacts, SnapshotLog, SnapshotWriter};
use observe::host::snapshot::{ProcessId, ProcessLine, Snapshot};
use observe::host::values::{InstanceNames, WHOLE};
use std::io::Write;
use std::sync::Arc;

/// Any bytes.
pub fn run(input: &[u8]) {
    let mut decoder = SnapshotDecoder::default();
    for kind in [FrameKind::Key, FrameKind::Delta, FrameKind::Delta] {
        let Ok(snapshot) = decoder.decode(kind, input) else { continue };
        let (kind, bytes) = SnapshotEncoder::default().encode(Snapshot::clone(&snapshot), usize::MAX);
        let again = SnapshotDecoder::default().decode(kind, &bytes).expect("what was written can be read");
        assert_eq!(again.processes.len(), snapshot.processes.len());
    }
    if let Some(head) = EnvelopeHead::read(input) {
        let body = input.get(HEAD_BYTES..HEAD_BYTES + head.length).unwrap_or_default();
        let _frame_or_none = Opener::default().open(body);
        let _right_or_wrong = head.confirms(body);
    }
    as_recording(input);
}

fn as_recording(input: &[u8]) {
    let Some(file) = unnamed_file(input) else { return };
    let Ok(mut log) = SnapshotLog::open(file) else { return };
    let mut reader = HistoryReader::default();
    for place in 0..log.count() {
        let _snapshot_or_none = reader.read(&mut log, place);
    }
    assert!(log.damaged_bytes <= input.len() as u64);
}

fn unnamed_file(input: &[u8]) -> Option<std::fs::File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let mut file = std::fs::File::from(memfd_create("recording", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(input).ok()?;
    Some(file)
}

fn snapshot(step: u64) -> Snapshot {
    let mut names = InstanceNames::default();
    let disk = names.number("vda").expect("room for one");
    let mut snapshot = Snapshot { names: Arc::new(names), ..Snapshot::default() };
    snapshot.values.push(UPTIME, WHOLE, step);
    snapshot.values.push(DISK_READ, disk, step * 4096);
    snapshot.values.sort();
    snapshot.processes.push(ProcessLine { id: ProcessId { pid: 7, start_ticks: step / 2 }, ..ProcessLine::default() });
    snapshot
}

/// A key frame, a delta frame, an envelope, a recording.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut encoder = SnapshotEncoder::default();
    let mut seeds: Vec<Vec<u8>> = (0..3).map(|step| encoder.encode(snapshot(step), 9).1).collect();
    let mut sealer = observe::host::envelope::Sealer::default();
    seeds.push(sealer.seal(EnvelopeKind::Frame(FrameKind::Key), 7, &seeds[0]));
    let mut recording = Vec::new();
    if let Ok(mut writer) = SnapshotWriter::begin(&mut recording, &HostFacts::default(), 1) {
        (0..5).for_each(|step| drop(writer.write(snapshot(step), 9)));
    }
    seeds.push(recording);
    seeds
}
