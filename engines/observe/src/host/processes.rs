//! Processes of an interval as lines: what each used, and what is left over. Pure; the numbers come from `model` and `row`.

use super::snapshot::{ProcessCpu, ProcessId, ProcessLine, ProcessRest, ProcessText, ThreadFinding};
use crate::ceiling::{CeilingFinding, Limit};
use crate::model::{Idlers, Interval};
use crate::row::{ProcessRow, of_processes, of_threads};
use crate::sample::{HostSample, ProcessIdentity, ProcessSample};
use crate::source::process_stat::ThreadState;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// LIMIT: names of ended processes that are told.
const ENDED_NAMES_MAX: usize = 4;

/// Texts that lines share with those of the moment before, so that a sample allocates little.
#[derive(Default)]
pub struct ProcessTexts {
    known: HashMap<ProcessId, (Arc<ProcessIdentity>, Arc<ProcessText>)>,
}

impl ProcessTexts {
    fn of(&mut self, id: ProcessId, identity: Option<&Arc<ProcessIdentity>>) -> Arc<ProcessText> {
        let Some(identity) = identity else { return Arc::default() };
        match self.known.get(&id) {
            Some((known, text)) if Arc::ptr_eq(known, identity) => Arc::clone(text),
            _ => {
                let group = identity.group.clone().unwrap_or_default();
                let text = ProcessText { name: identity.name.clone(), command: identity.shown(), group };
                let text = Arc::new(text);
                self.known.insert(id, (Arc::clone(identity), Arc::clone(&text)));
                text
            }
        }
    }

    /// Forgets those that are not among `lines`.
    fn keep(&mut self, lines: &[ProcessLine]) {
        // Rebuilt only when most of it is of processes that are gone.
        if self.known.len() > 2 * lines.len() + 64 {
            let living: HashSet<ProcessId> = lines.iter().map(|line| line.id).collect();
            self.known.retain(|id, _| living.contains(id));
        }
    }
}

/// All processes of `later`, the busiest first. `interval` lists those that did nothing, too.
pub fn lines(interval: &Interval, later: &HostSample, page_bytes: u64, texts: &mut ProcessTexts) -> Vec<ProcessLine> {
    let rows = of_processes(&interval.processes, later);
    let mut lines: Vec<ProcessLine> = rows.iter().filter_map(|row| line(row, later, page_bytes, texts)).collect();
    lines.sort_unstable_by(|one, other| other.cpu.used.cmp(&one.cpu.used).then(one.id.cmp(&other.id)));
    texts.keep(&lines);
    lines
}

fn line(row: &ProcessRow, later: &HostSample, page_bytes: u64, texts: &mut ProcessTexts) -> Option<ProcessLine> {
    let process = later.process(row.pid?)?;
    let stat = process.line.unwrap_or_default();
    let id = id_of(process);
    Some(ProcessLine {
        id,
        parent: stat.parent,
        user: process.identity.as_ref().and_then(|identity| identity.user),
        text: texts.of(id, process.identity.as_ref()),
        state: process.line.map_or(b'?', |line| u8::try_from(line.state.letter()).unwrap_or(b'?')),
        threads: stat.threads,
        cpu: ProcessCpu {
            used: millionths(row.cores),
            error: millionths(row.stale_cores),
            system: millionths(row.system_cores),
            waited: row.wait_cores.map(millionths),
        },
        resident_bytes: stat.resident_pages.saturating_mul(page_bytes),
        nice: stat.nice,
        virtual_bytes: stat.virtual_bytes,
        cpu_time_ms: process.cpu.total_ns.unwrap_or(0) / 1_000_000,
        io: None,
    })
}

/// Threads that did something, the busiest first: a line each, with the thread's name and number, and its process as parent.
pub fn thread_lines(
    interval: &Interval,
    later: &HostSample,
    page_bytes: u64,
    texts: &mut ProcessTexts,
) -> Vec<ProcessLine> {
    let rows = of_threads(interval, later, Idlers::Counted);
    let of_thread = |row: &ProcessRow| {
        let process = line(row, later, page_bytes, texts)?;
        let text = ProcessText { name: row.name.clone(), ..ProcessText::clone(&process.text) };
        let id = ProcessId { pid: row.tid?, start_ticks: process.id.start_ticks };
        Some(ProcessLine { id, parent: process.id.pid, text: Arc::new(text), threads: 1, ..process })
    };
    let mut lines: Vec<ProcessLine> = rows.iter().filter_map(of_thread).collect();
    lines.sort_unstable_by(|one, other| other.cpu.used.cmp(&one.cpu.used).then(one.id.cmp(&other.id)));
    lines
}

/// Which process a sample's is.
pub fn id_of(process: &ProcessSample) -> ProcessId {
    ProcessId { pid: process.pid, start_ticks: process.line.map_or(0, |line| line.start_ticks) }
}

fn millionths(cores: f64) -> u32 {
    (cores * 1e6).round().clamp(0.0, f64::from(u32::MAX)) as u32
}

/// What no line has.
pub fn rest(interval: &Interval, later: &HostSample) -> ProcessRest {
    let elapsed = interval.elapsed_ns.max(1) as f64;
    let runs = |process: &&ProcessSample| process.line.is_some_and(|line| line.state == ThreadState::Runnable);
    let endings = interval.endings.as_ref();
    let noted = endings.map(|endings| endings.by_name.iter().map(|name| name.count).sum::<u64>() + endings.unnamed);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    ProcessRest {
        count: count(later.processes.len()),
        running: count(later.processes.iter().filter(runs).count()),
        born: count(interval.born),
        ended: noted.map_or(count(interval.ended), |noted| u32::try_from(noted).unwrap_or(u32::MAX)),
        total: interval.machine.total_ns.map(|total_ns| millionths(total_ns as f64 / elapsed)),
        unlisted: interval.machine.unaccounted_ns.map(|ns| (ns as f64 / elapsed * 1e6).clamp(-1e9, 1e9) as i32),
        cut: 0,
        ended_names: endings.map_or(Vec::new(), |endings| {
            endings.by_name.iter().take(ENDED_NAMES_MAX).map(|name| name.name.clone()).collect()
        }),
    }
}

/// Since when threads are held back, by what.
#[derive(Default)]
pub struct HeldSince {
    since: HashMap<(u32, Limit), u64>,
}

impl HeldSince {
    /// What is found now, with since when; what is not found is forgotten. `began_ns` is when the interval began, after boot.
    pub fn note(&mut self, found: &[CeilingFinding], began_ns: u64) -> Vec<ThreadFinding> {
        let held: HashSet<(u32, Limit)> = found.iter().map(|finding| (finding.tid, finding.limit)).collect();
        self.since.retain(|key, _| held.contains(key));
        let mut noted: Vec<ThreadFinding> = found
            .iter()
            .map(|finding| {
                let since = *self.since.entry((finding.tid, finding.limit)).or_insert(began_ns);
                thread_finding(finding, since)
            })
            .collect();
        // Who has been held for longest is told first: a second says little.
        noted.sort_by_key(|finding| (finding.limit, finding.since_boot_ns));
        noted
    }
}

fn thread_finding(finding: &CeilingFinding, since_boot_ns: u64) -> ThreadFinding {
    let share = match finding.limit {
        Limit::Ceiling => finding.on_cpu,
        Limit::Starved | Limit::Throttled => finding.waited,
        Limit::Stolen => finding.stolen,
        Limit::IoBound => finding.in_disk_sleep,
    };
    ThreadFinding {
        limit: finding.limit,
        pid: finding.pid,
        tid: finding.tid,
        process: finding.process.clone(),
        thread: finding.name.clone(),
        share: (share * 1e4).round().clamp(0.0, 1e4) as u32,
        since_boot_ns,
        group: finding.group.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Idlers;
    use crate::sample::CpuReading;
    use crate::source::process_stat::StatLine;

    fn sample(at_ns: u64, used_ns: &[u64]) -> HostSample {
        let process = |(at, total_ns): (usize, &u64)| ProcessSample {
            pid: at as u32 + 1,
            folder: at as u64 + 1,
            at_ns,
            cpu: CpuReading { total_ns: Some(*total_ns), ..CpuReading::default() },
            line: Some(StatLine { start_ticks: 5, resident_pages: 2, threads: 3, ..StatLine::default() }),
            identity: Some(Arc::new(ProcessIdentity { name: format!("p{at}"), ..ProcessIdentity::default() })),
            ..ProcessSample::default()
        };
        HostSample { at_ns, processes: used_ns.iter().enumerate().map(process).collect(), ..HostSample::default() }
    }

    #[test]
    fn the_busiest_come_first_and_texts_are_shared() {
        let (earlier, mut later) = (sample(0, &[0, 0, 0]), sample(1_000_000_000, &[0, 250_000_000, 1_000]));
        later.processes.iter_mut().zip(&earlier.processes).for_each(|(later, earlier)| {
            later.identity.clone_from(&earlier.identity);
        });
        let mut interval = Interval::new(Idlers::Listed);
        interval.update(&earlier, &later);
        let mut texts = ProcessTexts::default();
        let first = lines(&interval, &later, 4096, &mut texts);
        let found: Vec<(u32, u32)> = first.iter().map(|line| (line.id.pid, line.cpu.used)).collect();
        assert_eq!(found, [(2, 250_000), (3, 1), (1, 0)]);
        assert_eq!((first[0].resident_bytes, first[0].threads, &*first[0].text.command), (8192, 3, "[p1]"));
        let second = lines(&interval, &later, 4096, &mut texts);
        assert!(Arc::ptr_eq(&first[0].text, &second[0].text));
        assert_eq!(rest(&interval, &later).count, 3);
    }

    #[test]
    fn what_holds_a_thread_back_is_told_since_when() {
        let finding = |tid, limit| CeilingFinding {
            limit,
            pid: 1,
            tid,
            name: "t".into(),
            process: "p".into(),
            command: String::new(),
            on_cpu: 0.98765,
            waited: 0.0,
            stolen: 0.0,
            in_disk_sleep: 0.0,
            group: None,
            cpu: None,
            elapsed_ns: 1,
        };
        let mut since = HeldSince::default();
        since.note(&[finding(7, Limit::Ceiling)], 100);
        let noted = since.note(&[finding(8, Limit::Ceiling), finding(7, Limit::Ceiling)], 200);
        assert_eq!(
            noted.iter().map(|one| (one.tid, one.since_boot_ns, one.share)).collect::<Vec<_>>(),
            [(7, 100, 9877), (8, 200, 9877)]
        );
        since.note(&[], 300);
        assert_eq!(since.note(&[finding(7, Limit::Ceiling)], 400)[0].since_boot_ns, 400);
    }
}
