//! Lists of a frame: names of processes once until the next key frame, then a line a process with what changed in it; the rest; threads
//! that are held back. A line begins with a mask of its columns, so that one that is added later is skipped by older readers.

use super::FrameError;
use super::bytes::{FrameReader, FrameWriter};
use crate::ceiling::Limit;
use crate::host::snapshot::{
    ProcessCpu, ProcessId, ProcessLine, ProcessRest, ProcessText, ProcessTransfer, ThreadFinding,
};
use std::collections::HashMap;
use std::sync::Arc;

/// LIMIT: processes between two key frames, and lines, that a reader believes.
const PROCESSES_MAX: usize = 1 << 18;

/// Columns of a line, as numbers; what may be missing is one more than it is.
const COLUMNS: usize = 14;
type Columns = [u64; COLUMNS];

fn columns_of(line: &ProcessLine) -> Columns {
    let or_none = |value: Option<u64>| value.map_or(0, |value| value.saturating_add(1));
    [
        u64::from(line.state),
        u64::from(line.parent),
        or_none(line.user.map(u64::from)),
        u64::from(line.threads),
        line.resident_bytes / KIB,
        u64::from(line.cpu.used),
        u64::from(line.cpu.error),
        u64::from(line.cpu.system),
        or_none(line.cpu.waited.map(u64::from)),
        or_none(line.io.map(|io| io.read)),
        or_none(line.io.map(|io| io.written)),
        u64::try_from(i64::from(line.nice) + NICE_ZERO).unwrap_or(0),
        line.virtual_bytes / KIB,
        line.cpu_time_ms,
    ]
}

const KIB: u64 = 1024;
/// A nice value of 0; 0 is of a writer that knows none.
const NICE_ZERO: i64 = 21;

fn line_of(id: ProcessId, text: &Arc<ProcessText>, columns: &Columns) -> ProcessLine {
    let small = |column: u64| u32::try_from(column).unwrap_or(u32::MAX);
    let [state, parent, user, threads, resident, used, error, system, waited, read, written, nice, size, time] =
        *columns;
    let io = read.checked_sub(1).zip(written.checked_sub(1));
    ProcessLine {
        id,
        parent: small(parent),
        user: user.checked_sub(1).map(small),
        text: Arc::clone(text),
        state: u8::try_from(state).ok().filter(u8::is_ascii_graphic).unwrap_or(b'?'),
        threads: small(threads),
        cpu: ProcessCpu {
            used: small(used),
            error: small(error),
            system: small(system),
            waited: waited.checked_sub(1).map(small),
        },
        resident_bytes: resident.saturating_mul(KIB),
        nice: i64::try_from(nice)
            .ok()
            .filter(|nice| *nice > 0)
            .map_or(0, |nice| i8::try_from(nice - NICE_ZERO).unwrap_or(0)),
        virtual_bytes: size.saturating_mul(KIB),
        cpu_time_ms: time,
        io: io.map(|(read, written)| ProcessTransfer { read, written }),
    }
}

/// What the reader has of processes since the last key frame.
#[derive(Default)]
pub(super) struct SentTexts {
    sent: HashMap<ProcessId, Sent>,
    next: u64,
}

struct Sent {
    slot: u64,
    text: Arc<ProcessText>,
    columns: Columns,
}

impl SentTexts {
    /// The texts of those whose text the reader does not have.
    pub(super) fn write(&mut self, writer: &mut FrameWriter, section: u64, lines: &[ProcessLine]) {
        let is_new = |line: &&ProcessLine| self.sent.get(&line.id).is_none_or(|sent| sent.text != line.text);
        let new: Vec<&ProcessLine> = lines.iter().filter(is_new).collect();
        if new.is_empty() {
            return;
        }
        writer.section(section, |writer| {
            for line in new {
                let slot = self.next;
                self.next += 1;
                writer.number(slot);
                writer.number(u64::from(line.id.pid));
                writer.number(line.id.start_ticks);
                [&line.text.name, &line.text.command, &line.text.group].into_iter().for_each(|text| writer.text(text));
                self.sent.insert(line.id, Sent { slot, text: Arc::clone(&line.text), columns: [0; COLUMNS] });
            }
        });
    }

    pub(super) fn write_lines(&mut self, writer: &mut FrameWriter, lines: &[ProcessLine]) {
        for line in lines {
            let Some(sent) = self.sent.get_mut(&line.id) else { continue };
            let columns = columns_of(line);
            let has_changed = |at: &usize| columns[*at] != sent.columns[*at];
            let mask = (0..COLUMNS).filter(has_changed).fold(0_u64, |mask, at| mask | 1 << at);
            writer.number(sent.slot);
            writer.number(mask);
            (0..COLUMNS).filter(has_changed).for_each(|at| writer.number(columns[at]));
            sent.columns = columns;
        }
    }
}

/// The other end of [`SentTexts`].
#[derive(Default)]
pub(super) struct KnownTexts {
    known: HashMap<u64, (ProcessId, Arc<ProcessText>, Columns)>,
}

impl KnownTexts {
    pub(super) fn read(&mut self, part: &mut FrameReader<'_>) -> Result<(), FrameError> {
        while !part.is_empty() {
            let at = part.at();
            let slot = part.number("a process")?;
            let id = ProcessId { pid: part.small("a process")?, start_ticks: part.number("a process")? };
            let mut text = || part.text("a process's text");
            let text = ProcessText { name: text()?, command: text()?, group: text()? };
            if self.known.len() >= PROCESSES_MAX {
                return Err(FrameError::Impossible { at, what: "so many processes" });
            }
            self.known.insert(slot, (id, Arc::new(text), [0; COLUMNS]));
        }
        Ok(())
    }

    pub(super) fn read_lines(&mut self, part: &mut FrameReader<'_>) -> Result<Vec<ProcessLine>, FrameError> {
        let mut lines = Vec::new();
        while !part.is_empty() {
            let at = part.at();
            let (slot, mask) = (part.number("a line")?, part.number("a line")?);
            let known = self.known.get_mut(&slot).filter(|_| lines.len() < PROCESSES_MAX);
            let (id, text, columns) =
                known.ok_or(FrameError::Impossible { at, what: "a line of a process without name" })?;
            for bit in (0..u64::BITS as usize).filter(|bit| mask >> bit & 1 == 1) {
                let value = part.number("a column")?;
                columns.get_mut(bit).into_iter().for_each(|column| *column = value);
            }
            lines.push(line_of(*id, text, columns));
        }
        Ok(lines)
    }
}

/// Victims of the kernel: texts one after the other.
pub(super) fn read_victims(part: &mut FrameReader<'_>) -> Result<Vec<String>, FrameError> {
    let mut victims = Vec::new();
    while !part.is_empty() {
        victims.push(part.text("a name")?);
    }
    Ok(victims)
}

pub(super) fn write_rest(writer: &mut FrameWriter, rest: &ProcessRest) {
    [rest.count, rest.running, rest.born, rest.ended, rest.cut]
        .into_iter()
        .for_each(|value| writer.number(u64::from(value)));
    writer.number(rest.total.map_or(0, |total| u64::from(total) + 1));
    // Twice as large and one more where it is there: it may be negative.
    writer.number(u64::from(rest.unlisted.is_some()));
    writer.signed(i64::from(rest.unlisted.unwrap_or(0)));
    rest.ended_names.iter().for_each(|name| writer.text(name));
}

pub(super) fn read_rest(part: &mut FrameReader<'_>) -> Result<ProcessRest, FrameError> {
    let mut small = || part.small("the rest");
    let [count, running, born, ended, cut] = [small()?, small()?, small()?, small()?, small()?];
    let total = part.number("the rest")?.checked_sub(1).map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    let is_there = part.number("the rest")? != 0;
    let unlisted = part.signed("the rest")?.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    let mut ended_names = Vec::new();
    while !part.is_empty() {
        ended_names.push(part.text("a name")?);
    }
    Ok(ProcessRest { count, running, born, ended, total, unlisted: is_there.then_some(unlisted), cut, ended_names })
}

/// Limits by the numbers that frames have for them.
const LIMITS: [Limit; 5] = [Limit::Ceiling, Limit::Starved, Limit::Throttled, Limit::Stolen, Limit::IoBound];

pub(super) fn write_findings(writer: &mut FrameWriter, findings: &[ThreadFinding]) {
    for finding in findings {
        let number = LIMITS.iter().position(|limit| *limit == finding.limit).unwrap_or(0);
        writer.section(number as u64, |writer| {
            [finding.pid, finding.tid, finding.share].into_iter().for_each(|value| writer.number(u64::from(value)));
            writer.number(finding.since_boot_ns);
            [&finding.process, &finding.thread, &finding.group].into_iter().for_each(|text| writer.text(text));
        });
    }
}

pub(super) fn read_findings(part: &mut FrameReader<'_>) -> Result<Vec<ThreadFinding>, FrameError> {
    let mut findings = Vec::new();
    while let Some((number, mut one)) = part.section()? {
        let limit = usize::try_from(number).ok().and_then(|number| LIMITS.get(number));
        let what = "a finding";
        let [pid, tid, share] = [one.small(what)?, one.small(what)?, one.small(what)?];
        let since_boot_ns = one.number(what)?;
        let mut text = || one.text(what);
        let (process, thread, group) = (text()?, text()?, text()?);
        // One of a kind that a later version knows is left out.
        findings.extend(limit.map(|limit| ThreadFinding {
            limit: *limit,
            pid,
            tid,
            process,
            thread,
            share,
            since_boot_ns,
            group,
        }));
    }
    Ok(findings)
}
