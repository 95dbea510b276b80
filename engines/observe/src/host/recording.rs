//! Snapshots in a file: envelopes one after the other, so that a crash or a full disk costs the last one at most, the file can be read
//! while it is written, and a later version may go on in it. There is no index: finding all heads of a day takes milliseconds.

use super::envelope::{EnvelopeHead, EnvelopeKind, HEAD_BYTES, MARK, Opener, Sealer};
use super::frame::{FrameKind, SnapshotEncoder};
use super::history::FrameStore;
use super::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// What a reader should know of the host that its values do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Its name. Text from outside, as all of these: escaped wherever it is shown.
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    /// Which boot it is: counters of two boots do not follow each other.
    pub boot: String,
    /// Names of users, by number.
    pub users: BTreeMap<u32, String>,
    /// The version of the writer.
    pub version: String,
    /// Rights that the numbers needed.
    pub tier: String,
    /// Whether it is seen from a PID namespace of its own (a container): others' processes are not listed, and use its CPUs.
    pub is_contained: bool,
}

/// Writes snapshots to a file.
pub struct SnapshotWriter<Sink> {
    sink: Sink,
    encoder: SnapshotEncoder,
    sealer: Sealer,
    /// Snapshots that could not be written since the last one that could.
    missed: u64,
}

impl<Sink: Write> SnapshotWriter<Sink> {
    /// Begins with the host's facts.
    pub fn begin(mut sink: Sink, facts: &HostFacts, wall_ns: u64) -> io::Result<Self> {
        let mut sealer = Sealer::default();
        sink.write_all(&sealer.seal(EnvelopeKind::Host, wall_ns, &serde_json::to_vec(facts)?))?;
        Ok(Self { sink, encoder: SnapshotEncoder::default(), sealer, missed: 0 })
    }

    /// So many snapshots are missing by now, those before this writer began included: the next one is written behind a gap.
    pub fn note_missed(&mut self, count: u64) {
        self.missed = self.missed.max(count);
    }

    /// Writes `snapshot` with its first `processes` processes. After an error the next one that succeeds is a key frame behind a gap, which
    /// has the number of snapshots that were missed.
    pub fn write(&mut self, snapshot: Snapshot, processes: usize) -> io::Result<()> {
        let written = self.try_write(snapshot, processes);
        self.missed = if written.is_ok() { 0 } else { self.missed.saturating_add(1) };
        written
    }

    fn try_write(&mut self, snapshot: Snapshot, processes: usize) -> io::Result<()> {
        let wall_ns = snapshot.at.wall_ns;
        if self.missed > 0 {
            self.encoder.begin_anew();
            let missed = self.missed.to_string();
            self.sink.write_all(&self.sealer.seal(EnvelopeKind::Gap, wall_ns, missed.as_bytes()))?;
        }
        let (kind, frame) = self.encoder.encode(snapshot, processes);
        self.sink.write_all(&self.sealer.seal(EnvelopeKind::Frame(kind), wall_ns, &frame))?;
        self.sink.flush()
    }
}

/// A recording, opened.
pub struct SnapshotLog {
    file: File,
    opener: Opener,
    frames: Vec<PlacedFrame>,
    /// What is known of the host; of the last part, where several were written into one file.
    pub facts: HostFacts,
    /// Bytes that are no envelope: damage, or the rest of one that was not written whole.
    pub damaged_bytes: u64,
    /// Bytes at the end that are no whole envelope: it is being written, or was cut.
    pub unfinished_bytes: u64,
    /// Gaps that the writer marked, in the order of the file.
    pub gaps: Vec<RecordedGap>,
    /// The damage that was skipped last: where it ended, and its length.
    skipped: (u64, u64),
    /// How far the file has been gone through.
    end: u64,
}

/// Snapshots that could not be written: the disk was full, or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedGap {
    /// The place of the first frame behind it.
    pub place: usize,
    /// Snapshots that are missing; 0 if that is not known.
    pub missed: u64,
}

struct PlacedFrame {
    offset: u64,
    wall_ns: u64,
    kind: FrameKind,
    length: u32,
}

/// LIMIT: frames of a recording: 100 days of one a second.
const FRAMES_MAX: usize = 10_000_000;
/// Bytes that are read at once while heads are looked for.
const SCAN_BYTES: usize = 256 << 10;

impl SnapshotLog {
    /// Finds all frames of `file`.
    pub fn open(file: File) -> io::Result<Self> {
        let (facts, opener) = (HostFacts::default(), Opener::default());
        let mut log = Self {
            file,
            opener,
            frames: Vec::new(),
            facts,
            damaged_bytes: 0,
            unfinished_bytes: 0,
            gaps: Vec::new(),
            skipped: (0, 0),
            end: 0,
        };
        log.follow()?;
        Ok(log)
    }

    /// Finds what was written since. Says whether there is more.
    pub fn follow(&mut self) -> io::Result<bool> {
        let before = self.frames.len();
        let mut window = Window { bytes: vec![0; SCAN_BYTES], start: self.end, filled: 0 };
        while self.frames.len() < FRAMES_MAX {
            let head = window.at(&self.file, self.end, HEAD_BYTES)?;
            if head.len() < HEAD_BYTES {
                break;
            }
            let Some(head) = EnvelopeHead::read(head) else {
                self.skip_damage(&mut window)?;
                continue;
            };
            let body = window.at(&self.file, self.end + HEAD_BYTES as u64, head.length)?;
            if body.len() < head.length {
                // Not whole yet; or a head that is damaged, which the marks behind it show.
                if !self.has_mark_behind(&mut window)? {
                    break;
                }
                self.skip_damage(&mut window)?;
                continue;
            }
            if !head.confirms(body) {
                self.skip_damage(&mut window)?;
                continue;
            }
            let body = body.to_vec();
            self.note(head, &body);
            self.end += (HEAD_BYTES + head.length) as u64;
        }
        self.unfinished_bytes = self.file.metadata()?.len().saturating_sub(self.end);
        Ok(self.frames.len() > before)
    }

    fn note(&mut self, head: EnvelopeHead, body: &[u8]) {
        match head.kind {
            Some(EnvelopeKind::Frame(kind)) => {
                let length = u32::try_from(head.length).unwrap_or(u32::MAX);
                self.frames.push(PlacedFrame { offset: self.end, wall_ns: head.wall_ns, kind, length });
            }
            Some(EnvelopeKind::Host) => {
                let facts = self.opener.open(body).and_then(|json| serde_json::from_slice(&json).ok());
                self.facts = facts.unwrap_or_else(|| std::mem::take(&mut self.facts));
                if self.skipped.0 == self.end {
                    self.skipped.0 += (HEAD_BYTES + head.length) as u64;
                }
            }
            Some(EnvelopeKind::Gap) => self.note_gap(body),
            None => {}
        }
    }

    fn note_gap(&mut self, body: &[u8]) {
        let missed = self.opener.open(body).and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
        let gap = RecordedGap { place: self.frames.len(), missed: missed.unwrap_or(0) };
        // A gap whose frame found no room either is marked again, with a larger number.
        self.gaps.pop_if(|last| last.place == gap.place);
        self.gaps.push(gap);
        // The part that still found room belongs to the gap: nothing was damaged.
        let (end, bytes) = self.skipped;
        if end == self.end {
            self.damaged_bytes -= bytes;
            self.skipped = (0, 0);
        }
    }

    /// Goes on at the next mark behind this place.
    fn skip_damage(&mut self, window: &mut Window) -> io::Result<()> {
        let began = self.end;
        loop {
            self.end += 1;
            let bytes = window.at(&self.file, self.end, SCAN_BYTES / 2)?;
            match bytes.windows(MARK.len()).position(|bytes| bytes == MARK) {
                Some(at) => {
                    self.end += at as u64;
                    break;
                }
                None if bytes.len() < SCAN_BYTES / 2 => {
                    self.end += bytes.len() as u64;
                    break;
                }
                None => self.end += (bytes.len() - MARK.len()) as u64,
            }
        }
        self.damaged_bytes += self.end - began;
        let (end, bytes) = self.skipped;
        // What begins with a mark by chance is skipped in parts.
        self.skipped = (self.end, if end == began { bytes } else { 0 } + self.end - began);
        Ok(())
    }

    /// Whether an envelope that is whole begins behind this place.
    fn has_mark_behind(&self, window: &mut Window) -> io::Result<bool> {
        let mut at = self.end + 1;
        loop {
            let bytes = window.at(&self.file, at, SCAN_BYTES / 2)?;
            let marks: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&MARK)).collect();
            let length = bytes.len();
            for mark in marks {
                let place = at + mark as u64;
                let head = EnvelopeHead::read(window.at(&self.file, place, HEAD_BYTES)?);
                let Some(head) = head else { continue };
                if head.confirms(window.at(&self.file, place + HEAD_BYTES as u64, head.length)?) {
                    return Ok(true);
                }
            }
            if length < SCAN_BYTES / 2 {
                return Ok(false);
            }
            at += (length - MARK.len()) as u64;
        }
    }
}

impl FrameStore for SnapshotLog {
    fn count(&self) -> usize {
        self.frames.len()
    }

    fn kind(&self, place: usize) -> Option<FrameKind> {
        self.frames.get(place).map(|frame| frame.kind)
    }

    fn wall_ns(&self, place: usize) -> Option<u64> {
        self.frames.get(place).map(|frame| frame.wall_ns)
    }

    fn frame(&mut self, place: usize) -> Option<Vec<u8>> {
        let frame = self.frames.get(place)?;
        let mut sealed = vec![0; HEAD_BYTES + frame.length as usize];
        self.file.read_exact_at(&mut sealed, frame.offset).ok()?;
        // The file may have been changed since it was gone through.
        let head = EnvelopeHead::read(&sealed)?;
        let body = &sealed[HEAD_BYTES..];
        head.confirms(body).then(|| self.opener.open(body)).flatten()
    }
}

/// A part of a file that is in memory.
struct Window {
    bytes: Vec<u8>,
    start: u64,
    filled: usize,
}

impl Window {
    /// The bytes from `offset` on, fewer at the file's end.
    fn at(&mut self, file: &File, offset: u64, length: usize) -> io::Result<&[u8]> {
        let is_inside = offset >= self.start && offset + length as u64 <= self.start + self.filled as u64;
        if !is_inside {
            self.bytes.resize(length.max(SCAN_BYTES), 0);
            (self.start, self.filled) = (offset, 0);
            while self.filled < self.bytes.len() {
                match file.read_at(&mut self.bytes[self.filled..], offset + self.filled as u64) {
                    Ok(0) => break,
                    Ok(count) => self.filled += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let first = usize::try_from(offset - self.start).unwrap_or(usize::MAX).min(self.filled);
        Ok(&self.bytes[first..(first + length).min(self.filled)])
    }
}

#[cfg(test)]
mod tests;
