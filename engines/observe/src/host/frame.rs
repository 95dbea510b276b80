//! Snapshots as bytes: a key frame holds all, a delta frame what changed since the snapshot before. Recordings and feeds to other
//! hosts are made of these. Numbers are LEB128; a frame is a list of sections, each with its number and length, so that a reader
//! skips what it does not know; metrics are known by name, which key frames tell, so any version reads another's.
//!
//! What a frame claims is compared with limits before it is believed: a damaged or hostile one is an error, never a panic.

mod bytes;
mod lists;

use super::fields::{self, FieldId};
use super::snapshot::{HostMoment, Snapshot};
use super::values::{INSTANCES_MAX, InstanceId, InstanceNames, MetricKey, Values};
use bytes::{FrameReader, FrameWriter};
use std::collections::HashMap;
use std::sync::Arc;

/// LIMIT: bytes of a frame, not compressed. 1,024 CPUs, 100 groups and 10,000 process lines are far below.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

/// Sections of a frame.
mod section {
    pub(super) const MOMENT: u64 = 1;
    pub(super) const FIELDS: u64 = 2;
    pub(super) const NAMES: u64 = 3;
    pub(super) const VALUES: u64 = 4;
    pub(super) const CHANGES: u64 = 5;
    pub(super) const TEXTS: u64 = 6;
    pub(super) const PROCESSES: u64 = 7;
    pub(super) const REST: u64 = 8;
    pub(super) const FINDINGS: u64 = 9;
    pub(super) const OOM_VICTIMS: u64 = 10;
}

/// Why a frame cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It ends where more must follow.
    #[error("the frame ends at byte {at}, in the middle of {what}")]
    Ends {
        /// Where.
        at: usize,
        /// In what.
        what: &'static str,
    },
    /// Something in it cannot be.
    #[error("byte {at} of the frame: {what} cannot be")]
    Impossible {
        /// Where.
        at: usize,
        /// What.
        what: &'static str,
    },
    /// It tells what changed, and the snapshot before it is not known.
    #[error("the frame tells what changed, and there is none before it")]
    NothingBefore,
}

/// Which kind a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// All.
    Key,
    /// What changed.
    Delta,
}

/// Makes frames, one after the other.
#[derive(Default)]
pub struct SnapshotEncoder {
    earlier: Option<Snapshot>,
    texts: lists::SentTexts,
    since_key: u32,
}

/// Frames from one key frame to the next: whoever begins in the middle waits so long at most.
const KEY_EVERY: u32 = 60;

impl SnapshotEncoder {
    /// The next is a key frame, whatever came before: for a new reader.
    pub fn begin_anew(&mut self) {
        self.earlier = None;
    }

    /// The frame of `snapshot`, with its first `processes` processes.
    pub fn encode(&mut self, mut snapshot: Snapshot, processes: usize) -> (FrameKind, Vec<u8>) {
        snapshot.cut_to(processes);
        snapshot.threads.clear();
        let is_known = |earlier: &Snapshot| snapshot.names.name_starts_as(&earlier.names);
        let earlier = self.earlier.take().filter(is_known).filter(|_| self.since_key < KEY_EVERY);
        let kind = if earlier.is_some() { FrameKind::Delta } else { FrameKind::Key };
        self.since_key = if kind == FrameKind::Key { 1 } else { self.since_key + 1 };
        let mut writer = FrameWriter::default();
        writer.section(section::MOMENT, |writer| {
            let HostMoment { monotonic_ns, boot_ns, wall_ns } = snapshot.at;
            [monotonic_ns, boot_ns, wall_ns].into_iter().for_each(|clock| writer.number(clock));
        });
        if kind == FrameKind::Key {
            self.texts = lists::SentTexts::default();
            writer.section(section::FIELDS, write_fields);
        }
        let known = earlier.as_ref().map_or(0, |earlier| earlier.names.len());
        writer.section(section::NAMES, |writer| write_names(writer, &snapshot.names, known));
        match &earlier {
            None => writer.section(section::VALUES, |writer| write_values(writer, snapshot.values.entries())),
            Some(earlier) => {
                writer.section(section::CHANGES, |writer| write_changes(writer, &earlier.values, &snapshot.values));
            }
        }
        self.texts.write(&mut writer, section::TEXTS, &snapshot.processes);
        writer.section(section::PROCESSES, |writer| self.texts.write_lines(writer, &snapshot.processes));
        writer.section(section::REST, |writer| lists::write_rest(writer, &snapshot.rest));
        if !snapshot.findings.is_empty() {
            writer.section(section::FINDINGS, |writer| lists::write_findings(writer, &snapshot.findings));
        }
        if !snapshot.oom_victims.is_empty() {
            writer
                .section(section::OOM_VICTIMS, |writer| snapshot.oom_victims.iter().for_each(|name| writer.text(name)));
        }
        self.earlier = Some(snapshot);
        (kind, writer.into_bytes())
    }
}

/// Understands frames, one after the other.
#[derive(Default)]
pub struct SnapshotDecoder {
    earlier: Option<Arc<Snapshot>>,
    /// Numbers of metrics as the writer gave them, by ours; those we do not know have none.
    fields: HashMap<u64, Option<FieldId>>,
    texts: lists::KnownTexts,
    /// Metrics of the writer that this version does not know, by name.
    unknown: Vec<String>,
}

impl SnapshotDecoder {
    /// Metrics that the writer tells and this version does not know.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown
    }

    /// Forgets what came before: the next frame must be a key frame.
    pub fn begin_anew(&mut self) {
        *self = Self::default();
    }

    /// The snapshot of a frame.
    pub fn decode(&mut self, kind: FrameKind, bytes: &[u8]) -> Result<Arc<Snapshot>, FrameError> {
        let earlier = match kind {
            FrameKind::Key => {
                self.begin_anew();
                Arc::default()
            }
            FrameKind::Delta => self.earlier.take().ok_or(FrameError::NothingBefore)?,
        };
        let names = Arc::clone(&earlier.names);
        let mut snapshot = Snapshot { names, ..Snapshot::default() };
        let mut reader = FrameReader::new(bytes);
        let mut has_moment = false;
        while let Some((number, mut part)) = reader.section()? {
            match number {
                section::MOMENT => {
                    snapshot.at = moment(&mut part)?;
                    has_moment = true;
                }
                section::FIELDS => self.read_fields(&mut part)?,
                section::NAMES => read_names(&mut part, &mut snapshot.names)?,
                section::VALUES => snapshot.values = self.read_values(&mut part)?,
                section::CHANGES => snapshot.values = self.read_changes(&mut part, &earlier.values)?,
                section::TEXTS => self.texts.read(&mut part)?,
                section::PROCESSES => snapshot.processes = self.texts.read_lines(&mut part)?,
                section::REST => snapshot.rest = lists::read_rest(&mut part)?,
                section::FINDINGS => snapshot.findings = lists::read_findings(&mut part)?,
                section::OOM_VICTIMS => snapshot.oom_victims = lists::read_victims(&mut part)?,
                _ => {}
            }
        }
        if !has_moment {
            return Err(FrameError::Ends { at: bytes.len(), what: "a moment" });
        }
        let snapshot = Arc::new(snapshot);
        self.earlier = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    fn read_fields(&mut self, part: &mut FrameReader<'_>) -> Result<(), FrameError> {
        while !part.is_empty() {
            let number = part.number("a metric's number")?;
            let name = part.text("a metric's name")?;
            let known = fields::named(&name).map(|field| field.id);
            if known.is_none() && self.unknown.len() < fields::ALL.len() {
                self.unknown.push(name);
            }
            if self.fields.len() < INSTANCES_MAX {
                self.fields.insert(number, known);
            }
        }
        Ok(())
    }

    /// A key of the writer as ours; none where this version does not know the metric.
    fn key(&self, field: u64, instance: u64) -> Option<MetricKey> {
        let field = (*self.fields.get(&field)?)?;
        Some(MetricKey { field, instance: InstanceId(u16::try_from(instance).ok()?) })
    }

    fn read_values(&self, part: &mut FrameReader<'_>) -> Result<Values, FrameError> {
        let mut values = Values::default();
        while !part.is_empty() {
            let (field, instance) = (part.number("a value")?, part.number("a value")?);
            let value = part.number("a value")?;
            if let Some(key) = self.key(field, instance) {
                values.push(key.field, key.instance, value);
            }
        }
        values.sort();
        Ok(values)
    }

    /// Keys that were there before are told by how far they stand from each other in the earlier list of what both know.
    fn read_changes(&self, part: &mut FrameReader<'_>, earlier: &Values) -> Result<Values, FrameError> {
        let mut values = earlier.clone();
        let changes = part.number("changes")?;
        for _ in 0..changes {
            let (field, instance) = (part.number("a change")?, part.number("a change")?);
            let difference = part.signed("a change")?;
            if let Some(key) = self.key(field, instance) {
                values.change(key, difference);
            }
        }
        for _ in 0..part.number("values that are gone")? {
            let (field, instance) = (part.number("a value")?, part.number("a value")?);
            self.key(field, instance).into_iter().for_each(|key| values.remove(key));
        }
        let new = self.read_values(part)?;
        values.add_all(&new);
        Ok(values)
    }
}

fn moment(part: &mut FrameReader<'_>) -> Result<HostMoment, FrameError> {
    Ok(HostMoment {
        monotonic_ns: part.number("a moment")?,
        boot_ns: part.number("a moment")?,
        wall_ns: part.number("a moment")?,
    })
}

fn write_fields(writer: &mut FrameWriter) {
    for field in fields::ALL {
        writer.number(u64::from(field.id.0));
        writer.text(field.name);
    }
}

fn write_names(writer: &mut FrameWriter, names: &InstanceNames, known: usize) {
    for (number, name) in names.from(known) {
        writer.number(u64::from(number.0));
        writer.text(name);
    }
}

/// Numbers must follow each other: the list is the same as the writer's.
fn read_names(part: &mut FrameReader<'_>, names: &mut Arc<InstanceNames>) -> Result<(), FrameError> {
    while !part.is_empty() {
        let at = part.at();
        let number = part.number("a name's number")?;
        let name = part.text("a name")?;
        let given = Arc::make_mut(names).number(&name);
        if given.is_none_or(|given| u64::from(given.0) != number) {
            return Err(FrameError::Impossible { at, what: "a name that is not the next" });
        }
    }
    Ok(())
}

fn write_values(writer: &mut FrameWriter, entries: &[(MetricKey, u64)]) {
    for (key, value) in entries {
        write_key(writer, *key);
        writer.number(*value);
    }
}

fn write_key(writer: &mut FrameWriter, key: MetricKey) {
    writer.number(u64::from(key.field.0));
    writer.number(u64::from(key.instance.0));
}

fn write_changes(writer: &mut FrameWriter, earlier: &Values, later: &Values) {
    let of = |values: &Values, key: MetricKey| values.of(key.field, key.instance);
    let (mut changed, mut new) = (Vec::new(), Vec::new());
    for (key, value) in later.entries() {
        match of(earlier, *key) {
            Some(before) if before == *value => {}
            Some(before) => changed.push((*key, value.wrapping_sub(before).cast_signed())),
            None => new.push((*key, *value)),
        }
    }
    writer.number(changed.len() as u64);
    for (key, difference) in changed {
        write_key(writer, key);
        writer.signed(difference);
    }
    let gone: Vec<MetricKey> =
        earlier.entries().iter().map(|(key, _)| *key).filter(|key| of(later, *key).is_none()).collect();
    writer.number(gone.len() as u64);
    gone.into_iter().for_each(|key| write_key(writer, key));
    write_values(writer, &new);
}

#[cfg(test)]
mod tests;
