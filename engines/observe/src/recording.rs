//! Samples on disk: one line of JSON a sample, holding what changed since the line before. A replay goes through the same
//! model and rows as live samples do, so it says the same.
//! What a recording claims is compared with limits before it is believed; a damaged one is an error, never a panic.

use crate::sample::{
    CpuReading, Endings, HostSample, MachineSample, ProcessIdentity, ProcessSample, Span, StatesSeen, ThreadSample,
};
use crate::source::process_stat::StatLine;
use crate::tier::Tier;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// Version of the format; others are refused.
    pub manyhands_recording: u32,
    /// What produced the numbers.
    pub tier: Tier,
    /// Names of users by number, as they were on the recorded host.
    pub users: std::collections::BTreeMap<u32, String>,
    /// The process that recorded: the watcher is not judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watcher: Option<u32>,
}

/// The version that is written and read.
pub const VERSION: u32 = 1;

/// One sample, as it differs from the one before.
#[derive(Serialize, Deserialize)]
struct Frame<'a> {
    at_ns: u64,
    since_boot_ns: u64,
    wall_ns: u64,
    machine: std::borrow::Cow<'a, MachineSample>,
    /// New, or not as before.
    changed: Vec<Changed<'a>>,
    /// No longer there.
    gone: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    endings: Option<std::borrow::Cow<'a, Endings>>,
}

#[derive(Serialize, Deserialize)]
struct Changed<'a> {
    pid: u32,
    folder: u64,
    at_ns: u64,
    may_run: u32,
    cpu: CpuReading,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<StatLine>,
    /// None where it is as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<std::borrow::Cow<'a, ProcessIdentity>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    threads: Vec<ThreadSample>,
}

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It cannot be read.
    #[error("read it")]
    Read(#[source] io::Error),
    /// The first line is not one of a recording of ours, or of another version.
    #[error("find the first line of a recording (version {VERSION})")]
    NoRecording,
    /// A line is damaged.
    #[error("understand line {line}, which begins at byte {offset}")]
    Damaged {
        /// Which, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        #[source]
        cause: serde_json::Error,
    },
    /// A byte that no recording holds: the file is another one, or was damaged.
    #[error("read line {line}: byte {offset} of the file is {byte:#04x}, which no recording has")]
    NoText {
        /// Which, from 1.
        line: u64,
        /// Where the byte is.
        offset: u64,
        /// What it is.
        byte: u8,
    },
    /// A line is longer than those that are written.
    #[error("read line {line}, which begins at byte {offset}: it is longer than {LINE_BYTES_MAX} bytes")]
    TooLong {
        /// Which, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
    },
}

/// LIMIT: about 400 bytes a thread that changed, so 300,000 of them; a line is held in memory whole. Longer ones are not written.
const LINE_BYTES_MAX: usize = 128 << 20;

/// Writes the first line.
pub fn write_header(sink: &mut dyn Write, header: &RecordingHeader) -> io::Result<()> {
    serde_json::to_writer(&mut *sink, header)?;
    sink.write_all(b"\n")
}

/// Writes `later` as it differs from `earlier`.
pub fn write_sample(sink: &mut dyn Write, earlier: Option<&HostSample>, later: &HostSample) -> io::Result<()> {
    let known = |pid| earlier.and_then(|earlier| earlier.process(pid));
    let changed = later.processes.iter().filter(|process| !is_as_before(earlier, later, process));
    let frame = Frame {
        at_ns: later.at_ns,
        since_boot_ns: later.since_boot_ns,
        wall_ns: later.wall_ns,
        machine: std::borrow::Cow::Borrowed(&later.machine),
        changed: changed.map(|process| changed_of(known(process.pid), process, later)).collect(),
        gone: earlier.map_or(Vec::new(), |earlier| {
            let all = earlier.processes.iter().map(|process| process.pid);
            all.filter(|pid| later.process(*pid).is_none()).collect()
        }),
        endings: later.endings.as_ref().map(std::borrow::Cow::Borrowed),
    };
    serde_json::to_writer(Limited { sink: &mut *sink, left: LINE_BYTES_MAX }, &frame)?;
    sink.write_all(b"\n")
}

/// Refuses what no player would read.
struct Limited<'a> {
    sink: &'a mut dyn Write,
    left: usize,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left =
            left.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "too many threads for one sample"))?;
        self.sink.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Whether replaying nothing for `process` gives what it is.
fn is_as_before(earlier: Option<&HostSample>, later: &HostSample, process: &ProcessSample) -> bool {
    let Some((earlier, known)) = earlier.and_then(|earlier| Some((earlier, earlier.process(process.pid)?))) else {
        return false;
    };
    let carried = ProcessSample { at_ns: later.at_ns, threads: process.threads, ..known.clone() };
    let threads = later.threads_of(process).iter();
    let known_threads = earlier.threads_of(known);
    carried == *process
        && threads.len() == known_threads.len()
        && threads.zip(known_threads).all(|(thread, known)| {
            *thread == ThreadSample { at_ns: later.at_ns, seen: StatesSeen::default(), ..*known }
        })
}

fn changed_of<'a>(known: Option<&ProcessSample>, process: &'a ProcessSample, later: &HostSample) -> Changed<'a> {
    let identity = process.identity.as_deref();
    let is_known = known.is_some_and(|known| known.identity.as_deref() == identity);
    Changed {
        pid: process.pid,
        folder: process.folder,
        at_ns: process.at_ns,
        may_run: process.may_run,
        cpu: process.cpu,
        line: process.line,
        identity: identity.filter(|_| !is_known).map(std::borrow::Cow::Borrowed),
        threads: later.threads_of(process).to_vec(),
    }
}

/// Reads a recording, sample by sample.
pub struct Player<Source: BufRead> {
    source: Source,
    /// The first line.
    pub header: RecordingHeader,
    line: u64,
    /// Where that line begins in the file, and the next one.
    offset: u64,
    next_offset: u64,
    text: Vec<u8>,
}

impl<Source: BufRead> Player<Source> {
    /// Reads the first line.
    pub fn open(source: Source) -> Result<Self, RecordingError> {
        let (tier, users) = (Tier::NoRights, Default::default());
        let header = RecordingHeader { manyhands_recording: VERSION, tier, users, watcher: None };
        let mut player = Self { source, header, line: 0, offset: 0, next_offset: 0, text: Vec::new() };
        if !player.next_line()? {
            return Err(RecordingError::NoRecording);
        }
        let header = serde_json::from_slice::<RecordingHeader>(&player.text).ok();
        let is_ours = |header: &RecordingHeader| header.manyhands_recording == VERSION;
        player.header = header.filter(is_ours).ok_or(RecordingError::NoRecording)?;
        Ok(player)
    }

    /// Fills `later` with the next sample; `earlier` is the one before. False at the end.
    pub fn next(&mut self, earlier: Option<&HostSample>, later: &mut HostSample) -> Result<bool, RecordingError> {
        if !self.next_line()? {
            return Ok(false);
        }
        let (line, offset) = (self.line, self.offset);
        let frame: Frame<'_> =
            serde_json::from_slice(&self.text).map_err(|cause| RecordingError::Damaged { line, offset, cause })?;
        apply(frame, earlier, later);
        Ok(true)
    }

    /// Reads the next line into `text`, without its end. False at the end.
    fn next_line(&mut self) -> Result<bool, RecordingError> {
        self.text.clear();
        self.line += 1;
        self.offset = self.next_offset;
        let line = self.line;
        loop {
            let available = match self.source.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(RecordingError::Read(error)),
            };
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            // JSON has no such bytes; what is no text at all is told from its first page on.
            if let Some(at) = part.iter().position(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\r')) {
                return Err(RecordingError::NoText { line, offset: self.next_offset + at as u64, byte: part[at] });
            }
            if part.len() > LINE_BYTES_MAX - self.text.len() {
                return Err(RecordingError::TooLong { line, offset: self.offset });
            }
            self.text.extend_from_slice(part);
            let is_end = available.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.next_offset += used as u64;
            self.source.consume(used);
            if end.is_some() || is_end {
                return Ok(end.is_some() || !self.text.is_empty());
            }
        }
    }
}

fn apply(frame: Frame<'_>, earlier: Option<&HostSample>, later: &mut HostSample) {
    later.at_ns = frame.at_ns;
    later.since_boot_ns = frame.since_boot_ns;
    later.wall_ns = frame.wall_ns;
    later.machine = frame.machine.into_owned();
    later.endings = frame.endings.map(std::borrow::Cow::into_owned);
    later.processes.clear();
    later.threads.clear();
    let mut gone = frame.gone;
    gone.sort_unstable();
    let mut changed = frame.changed;
    changed.sort_by_key(|changed| changed.pid);
    changed.dedup_by_key(|changed| changed.pid);
    let mut changed = changed.into_iter().peekable();
    let known = earlier.map_or(&[][..], |earlier| &earlier.processes);
    for process in known {
        while let Some(new) = changed.next_if(|changed| changed.pid < process.pid) {
            push_changed(new, None, later);
        }
        if gone.binary_search(&process.pid).is_ok() {
            continue;
        }
        match changed.next_if(|changed| changed.pid == process.pid) {
            Some(new) => push_changed(new, Some(process), later),
            None => push_carried(process, earlier, later),
        }
    }
    changed.for_each(|new| push_changed(new, None, later));
}

fn push_changed(changed: Changed<'_>, known: Option<&ProcessSample>, later: &mut HostSample) {
    let identity = match changed.identity {
        Some(identity) => Some(Arc::new(identity.into_owned())),
        None => known.and_then(|known| known.identity.clone()),
    };
    let threads = push_threads(changed.threads.into_iter(), &mut later.threads);
    let Changed { pid, folder, at_ns, may_run, cpu, line, .. } = changed;
    later.processes.push(ProcessSample { pid, folder, at_ns, cpu, may_run, line, identity, threads });
}

fn push_carried(process: &ProcessSample, earlier: Option<&HostSample>, later: &mut HostSample) {
    let at_ns = later.at_ns;
    let known = earlier.map_or(&[][..], |earlier| earlier.threads_of(process));
    let threads = push_threads(
        known.iter().map(|thread| ThreadSample { at_ns, seen: StatesSeen::default(), ..*thread }),
        &mut later.threads,
    );
    later.processes.push(ProcessSample { at_ns, threads, ..process.clone() });
}

fn push_threads(new: impl Iterator<Item = ThreadSample>, threads: &mut Vec<ThreadSample>) -> Span {
    let index = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let start = index(threads.len());
    threads.extend(new);
    Span { start, end: index(threads.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::{Depth, HostSampler, ProcessSelection, SampleContent, Sleepers, Texts};
    use machine::Host;

    fn replayed(bytes: &[u8]) -> Result<Vec<HostSample>, RecordingError> {
        let mut player = Player::open(bytes)?;
        let mut samples: Vec<HostSample> = Vec::new();
        loop {
            let mut sample = HostSample::default();
            if !player.next(samples.last(), &mut sample)? {
                return Ok(samples);
            }
            samples.push(sample);
        }
    }

    fn header() -> RecordingHeader {
        let users = [(0, "root".to_owned())].into();
        RecordingHeader { manyhands_recording: VERSION, tier: Tier::NoRights, users, watcher: Some(7) }
    }

    #[test]
    fn live_samples_come_back_as_they_were() {
        let mut sampler = HostSampler::open(&Host::real()).expect("Linux has /proc");
        for (texts, depth) in [(Texts::OfBusy, Depth::Processes), (Texts::OfAll, Depth::Threads)] {
            let wanted = SampleContent { who: ProcessSelection::Everybody, texts, depth, sleepers: Sleepers::Asked };
            let mut taken: Vec<HostSample> = Vec::new();
            let mut bytes = Vec::new();
            write_header(&mut bytes, &header()).expect("written");
            for _ in 0..4 {
                let mut sample = HostSample::default();
                sampler.take(&wanted, taken.last(), &mut sample).expect("listed");
                let name = crate::sample::ThreadName::new(b"gone\xff");
                let ending = crate::sample::Ending { pid: 7, folder: Some(8), name, used_ns: 9 };
                sample.endings = Some(Endings { named: vec![ending], unnamed: 1 });
                write_sample(&mut bytes, taken.last(), &sample).expect("written");
                taken.push(sample);
            }
            let back = replayed(&bytes).expect("a good recording");
            for (live, back) in taken.iter().zip(&back) {
                let names = |sample: &HostSample| sample.endings.clone().map(|endings| endings.named[0].name.text());
                assert_eq!(names(live), names(back));
                assert_eq!(
                    &HostSample { endings: None, ..live.clone() },
                    &HostSample { endings: None, ..back.clone() }
                );
            }
            assert_eq!(taken.len(), back.len());
        }
    }

    #[test]
    fn other_files_and_damaged_lines_are_errors() {
        for (bad, message) in [
            (&b""[..], "find the first line of a recording (version 1)"),
            (b"{}\n", "find the first line of a recording (version 1)"),
            (b"\xff\xfe\n", "find the first line of a recording (version 1)"),
        ] {
            assert_eq!(replayed(bad).expect_err("refused").to_string(), message);
        }
        let mut bytes = Vec::new();
        write_header(&mut bytes, &RecordingHeader { manyhands_recording: 2, ..header() }).expect("written");
        assert!(matches!(replayed(&bytes), Err(RecordingError::NoRecording)));
        bytes.clear();
        write_header(&mut bytes, &header()).expect("written");
        let begin = bytes.len() as u64;
        bytes.extend(b"{\"at_ns\":1}\n");
        let damaged = replayed(&bytes).expect_err("refused");
        assert!(matches!(damaged, RecordingError::Damaged { line: 2, offset, .. } if offset == begin), "{damaged}");
        bytes.insert(begin as usize + 4, 0);
        assert_eq!(
            replayed(&bytes).expect_err("refused").to_string(),
            format!("read line 2: byte {} of the file is 0x00, which no recording has", begin + 4)
        );
    }

    /// One long line of blanks, handed out in pieces; it counts what was taken of it.
    struct Blanks(u64);

    impl io::Read for Blanks {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            bytes.fill(b' ');
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
    }

    #[test]
    fn a_line_without_end_is_given_up_before_it_fills_the_memory() {
        let mut source = io::BufReader::with_capacity(1 << 20, Blanks(0));
        let error = Player::open(&mut source).map(|_| ()).expect_err("refused");
        assert!(matches!(error, RecordingError::TooLong { line: 1, offset: 0 }), "{error}");
        assert!(source.get_ref().0 <= LINE_BYTES_MAX as u64 + (2 << 20), "{}", source.get_ref().0);
        let mut little = Limited { sink: &mut io::sink(), left: 3 };
        assert!(little.write_all(b"abc").is_ok() && little.write_all(b"d").is_err());
    }
}
