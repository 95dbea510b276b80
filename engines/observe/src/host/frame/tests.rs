//! Frames: they come back as they were, and what is damaged or of another version is no panic.

use super::*;
use crate::ceiling::Limit;
use crate::host::fields::{CPU_USER, DISK_READ, UPTIME};
use crate::host::snapshot::{
    ProcessCpu, ProcessId, ProcessLine, ProcessRest, ProcessText, ProcessTransfer, ThreadFinding,
};
use crate::host::values::WHOLE;

fn line(pid: u32, used: u32) -> ProcessLine {
    ProcessLine {
        id: ProcessId { pid, start_ticks: 7 },
        parent: 1,
        user: Some(0),
        text: Arc::new(ProcessText { name: format!("p{pid}"), command: "a \u{1b}[2J b".into(), group: "/x".into() }),
        state: b'R',
        threads: 3,
        cpu: ProcessCpu { used, error: 4, system: 1, waited: Some(0) },
        resident_bytes: 4096,
        nice: -5,
        virtual_bytes: 8192,
        cpu_time_ms: 1_234,
        io: pid.is_multiple_of(2).then_some(ProcessTransfer { read: 0, written: 9 }),
    }
}

fn snapshot(step: u64) -> Snapshot {
    let mut names = InstanceNames::default();
    let mut snapshot = Snapshot {
        at: HostMoment { monotonic_ns: step * 1_000, boot_ns: step * 2_000, wall_ns: u64::MAX - step },
        processes: vec![line(2, 500 + step as u32), line(3, 400), line(4, 1)],
        rest: ProcessRest {
            count: 9,
            total: Some(0),
            unlisted: Some(-5),
            ended_names: vec!["sh".into()],
            ..ProcessRest::default()
        },
        oom_victims: if step.is_multiple_of(2) { vec!["p9/9".into()] } else { Vec::new() },
        findings: vec![ThreadFinding {
            limit: Limit::IoBound,
            pid: 2,
            tid: 5,
            process: "p2".into(),
            thread: "t".into(),
            share: 9_876,
            since_boot_ns: 77,
            group: String::new(),
        }],
        ..Snapshot::default()
    };
    for disk in ["vda", "vdb", "vdc"].into_iter().take(1 + step as usize % 3) {
        let number = names.number(disk).expect("room");
        snapshot.values.push(DISK_READ, number, 1_000 - step);
    }
    snapshot.values.push(UPTIME, WHOLE, step);
    snapshot.values.push(CPU_USER, WHOLE, u64::MAX / 2 + step);
    snapshot.values.sort();
    snapshot.names = Arc::new(names);
    snapshot
}

#[test]
fn snapshots_come_back_from_frames() {
    let (mut encoder, mut decoder) = (SnapshotEncoder::default(), SnapshotDecoder::default());
    let mut kinds = Vec::new();
    for step in 0..130 {
        let sent = snapshot(step);
        let (kind, bytes) = encoder.encode(sent.clone(), 2);
        let mut expected = sent;
        expected.cut_to(2);
        assert_eq!(decoder.decode(kind, &bytes), Ok(Arc::new(expected)), "step {step}");
        kinds.push(kind);
    }
    assert_eq!(kinds[0], FrameKind::Key);
    assert!(kinds.iter().filter(|kind| **kind == FrameKind::Delta).count() >= 40);
    assert!(decoder.unknown_fields().is_empty());
}

#[test]
fn a_reader_may_begin_at_any_key_frame_and_nowhere_else() {
    let mut encoder = SnapshotEncoder::default();
    encoder.encode(snapshot(0), 9);
    let (kind, bytes) = encoder.encode(snapshot(3), 9);
    assert_eq!(kind, FrameKind::Delta);
    assert_eq!(SnapshotDecoder::default().decode(kind, &bytes), Err(FrameError::NothingBefore));
    encoder.begin_anew();
    let (kind, bytes) = encoder.encode(snapshot(6), 9);
    assert_eq!(SnapshotDecoder::default().decode(kind, &bytes), Ok(Arc::new(snapshot(6))));
}

#[test]
fn metrics_and_sections_of_another_version_are_skipped() {
    let mut writer = FrameWriter::default();
    writer.section(section::MOMENT, |writer| [1, 2, 3, 99].into_iter().for_each(|clock| writer.number(clock)));
    writer.section(77, |writer| writer.text("what comes in ten years"));
    writer.section(section::FIELDS, |writer| {
        writer.number(4_000);
        writer.text("uptime");
        writer.number(1);
        writer.text("of.another.time");
    });
    writer.section(section::VALUES, |writer| {
        [4_000, 0, 5, 1, 0, 6, 3, 0, 7].into_iter().for_each(|one| writer.number(one))
    });
    let mut decoder = SnapshotDecoder::default();
    let read = decoder.decode(FrameKind::Key, &writer.into_bytes()).expect("what is known is read");
    assert_eq!((read.values.entries().len(), read.values.get(UPTIME)), (1, Some(5)));
    assert_eq!(decoder.unknown_fields(), ["of.another.time"]);
}

#[test]
fn damaged_frames_are_errors() {
    let (kind, bytes) = SnapshotEncoder::default().encode(snapshot(2), 9);
    assert!(SnapshotDecoder::default().decode(kind, &[]).is_err());
    for at in 0..bytes.len() {
        let _cut = SnapshotDecoder::default().decode(kind, &bytes[..at]);
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let _whatever_but_a_panic = SnapshotDecoder::default().decode(kind, &bad);
        }
    }
}
