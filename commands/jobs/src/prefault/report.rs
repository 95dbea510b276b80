//! What came of each mapping, for people and for programs.

use super::ledger::{self, Kind};
use super::policy::MemoryPolicy;
use mh_kit::report::{counted, json_line};
use serde::Serialize;
use std::time::Duration;
use terminal::{Align, TextTable};

/// LIMIT: mappings that are kept apart; of those behind them only the sums.
const RECORDS_MAX: usize = 1000;
/// LIMIT: lines of a report.
const LINES_MAX: usize = 20;

/// One mapping.
#[derive(Clone, Debug, Default)]
pub struct MappingRecord {
    pub process: u32,
    pub address: u64,
    pub bytes: u64,
    pub kind: Option<Kind>,
    pub verdict: u64,
    pub room: u64,
    pub populated: u64,
    pub wall: Duration,
    pub work: Duration,
    pub helpers: u64,
    /// An errno, or 0; none where a signal interrupted it.
    pub fault: Option<u32>,
    pub lock_fault: u32,
    /// As mbind(2) numbers it, plus one.
    pub policy: u64,
    pub policy_fault: u32,
    /// Its process ended in the middle.
    pub is_cut_off: bool,
}

/// All of a run.
#[derive(Debug, Default)]
pub struct PrefaultOutcome {
    /// Processes that loaded the library.
    pub processes: u64,
    /// Mappings that found no slot.
    pub missed: u64,
    /// Large mappings of kinds that are left alone.
    pub left_alone: u64,
    /// Large mappings that came when no policy was wanted.
    pub unwanted: u64,
    /// Mappings were populated while the program ran on.
    pub is_ahead: bool,
    records: Vec<MappingRecord>,
    mappings: u64,
    /// Of these, those that were given a policy.
    policies: u64,
    sums: Sums,
}

/// Sums over all mappings.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    populated: u64,
    wall: Duration,
    work: Duration,
    threads: u64,
}

/// One mapping, for programs.
#[derive(Serialize)]
struct MappingJson<'a> {
    pid: u32,
    address: String,
    bytes: u64,
    kind: &'a str,
    populated_bytes: u64,
    seconds: f64,
    cpu_seconds: f64,
    threads: u64,
    policy: Option<&'a str>,
    note: Option<String>,
}

/// A run, for programs.
#[derive(Serialize)]
struct OutcomeJson<'a> {
    processes: u64,
    mappings: u64,
    mappings_missed: u64,
    mappings_left_alone: u64,
    populated_bytes: u64,
    seconds: f64,
    cpu_seconds: f64,
    each: Vec<MappingJson<'a>>,
}

impl MappingRecord {
    fn kind_in_words(&self) -> &'static str {
        match self.kind {
            Some(Kind::Private) => "private",
            Some(Kind::Shared) => "shared",
            Some(Kind::Memory) => "file in memory",
            Some(Kind::Huge) => "huge pages",
            Some(Kind::Segment) => "System V",
            Some(Kind::Committed) => "committed",
            Some(Kind::Locked) => "mlock",
            Some(Kind::LockedFile) => "mlock of a file",
            None => "unknown",
        }
    }

    /// How many populated it.
    fn threads(&self) -> u64 {
        if self.populated > 0 { self.helpers.saturating_add(1) } else { 0 }
    }

    fn policy_in_words(&self) -> Option<&'static str> {
        self.policy.checked_sub(1).filter(|_| self.policy_fault == 0).map(MemoryPolicy::name_of)
    }

    /// What went otherwise than wished; none where nothing did.
    fn note(&self) -> Option<String> {
        let size = terminal::bytes(self.bytes);
        let room = terminal::bytes(self.room);
        Some(match self.verdict {
            ledger::VERDICT_MEMORY => format!("{size} do not fit: {room} are free"),
            ledger::VERDICT_LOCK_LIMIT if self.populated == 0 => {
                format!("{size} may not be locked: RLIMIT_MEMLOCK leaves {room}")
            }
            ledger::VERDICT_LOCK_LIMIT => format!("populated, not locked: RLIMIT_MEMLOCK leaves {room} of {size}"),
            ledger::VERDICT_NONE => "the runner did not answer in time".to_owned(),
            _ if self.is_cut_off => "its process ended in the middle".to_owned(),
            _ if self.fault.is_none() => "a signal ended it early".to_owned(),
            _ if self.fault != Some(0) => format!("ended early: {}", errno(self.fault.unwrap_or(0))),
            _ if self.lock_fault != 0 => format!("not locked: {}", errno(self.lock_fault)),
            _ if self.policy_fault != 0 => format!("policy not set: {}", errno(self.policy_fault)),
            _ => return None,
        })
    }
}

fn errno(number: u32) -> String {
    let error = std::io::Error::from_raw_os_error(i32::try_from(number).unwrap_or(0));
    mh_kit::failure::with_causes(&error)
}

impl PrefaultOutcome {
    /// Nothing yet.
    pub fn of_run(is_ahead: bool) -> Self {
        Self { is_ahead, ..Self::default() }
    }

    /// One more.
    pub fn add(&mut self, record: MappingRecord) {
        self.mappings += 1;
        self.policies += u64::from(record.policy_in_words().is_some());
        self.sums.populated = self.sums.populated.saturating_add(record.populated);
        self.sums.wall = self.sums.wall.saturating_add(record.wall);
        self.sums.work = self.sums.work.saturating_add(record.work);
        self.sums.threads = self.sums.threads.max(record.threads());
        if self.records.len() < RECORDS_MAX {
            self.records.push(record);
        }
    }

    /// What the user must know though nobody asked for a report.
    pub fn warnings(&self, program: &str, passes_by: Option<&str>) -> Vec<String> {
        let mut warnings: Vec<String> = self
            .records
            .iter()
            .filter_map(|record| Some(format!("PID {} at {:#x}: {}", record.process, record.address, record.note()?)))
            .collect();
        let more = warnings.len().saturating_sub(LINES_MAX);
        warnings.truncate(LINES_MAX);
        if more > 0 {
            warnings.push(format!("and {}", counted(more as u64, "more mapping")));
        }
        match (self.mappings, self.processes, passes_by) {
            (0, _, Some(why)) => warnings.push(format!("nothing was done: {program} {why}")),
            (0, 0, None) => warnings.push(format!(
                "nothing was done: {program} did not load the library (a static program, another user's, in another PID namespace, behind a filter of system calls, or MH_PREFAULT=off)"
            )),
            (0, _, None) if self.left_alone > 0 => warnings.push(format!(
                "nothing was done: {} of {program} left alone (sparse memory, stacks, locked by mmap(2) itself, files with names)",
                counted(self.left_alone, "large mapping")
            )),
            (0, _, None) if self.unwanted > 0 => warnings.push(format!(
                "nothing was done: {} of {program} came when no policy was wanted (--startup, --startup-time, --then)",
                counted(self.unwanted, "large mapping")
            )),
            (0, _, None) => warnings.push(format!(
                "nothing was done: no large mapping of {program} was seen; malloc of glibc, raw system calls and other users' processes are not"
            )),
            _ => {}
        }
        if self.missed > 0 {
            warnings
                .push(format!("{} found no place in the ledger and were left alone", counted(self.missed, "mapping")));
        }
        warnings
    }

    /// For people.
    pub fn as_text(&self) -> String {
        let Sums { populated, wall, work, threads } = self.sums;
        let mappings = counted(self.mappings, "mapping");
        let mut text = match self.policies {
            0 => format!("populated: {} in {mappings}", terminal::bytes(populated)),
            set => format!("policies set on {set} of {}", counted(self.mappings, "large mapping")),
        };
        if self.is_ahead {
            text.push_str(&format!(" behind the program, with {} of CPU time", terminal::duration(work)));
        } else if populated > 0 {
            let (wall, threads) = (terminal::duration(wall), counted(threads, "thread"));
            text.push_str(&format!(" in {wall} by up to {threads}"));
            // Less than that on a busy machine, or where threads of the program wait for one another.
            if work > self.sums.wall {
                text.push_str(&format!("; by one, about {}", terminal::duration(work)));
            }
        }
        text.push('\n');
        if self.records.is_empty() {
            return text;
        }
        let table = if self.policies > 0 { self.table_of_policies() } else { self.table_of_times() };
        text.push_str(&table.to_string());
        let more = self.mappings.saturating_sub(LINES_MAX as u64);
        if more > 0 {
            text.push_str(&format!("  and {}\n", counted(more, "more mapping")));
        }
        text
    }

    fn table_of_policies(&self) -> TextTable {
        let columns = [Align::Right, Align::Right, Align::Left, Align::Left, Align::Left];
        let mut table = TextTable::new(&columns).indented(2);
        table.row(["PID", "size", "kind", "policy", "remark"]);
        for record in self.records.iter().take(LINES_MAX) {
            table.row([
                record.process.to_string(),
                terminal::bytes(record.bytes),
                record.kind_in_words().to_owned(),
                record.policy_in_words().unwrap_or("-").to_owned(),
                record.note().unwrap_or_default(),
            ]);
        }
        table
    }

    fn table_of_times(&self) -> TextTable {
        let columns = [Align::Right, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
        let mut table = TextTable::new(&columns).indented(2);
        table.row(["PID", "size", "kind", "populated", "time", "threads", "remark"]);
        for record in self.records.iter().take(LINES_MAX) {
            table.row([
                record.process.to_string(),
                terminal::bytes(record.bytes),
                record.kind_in_words().to_owned(),
                terminal::bytes(record.populated),
                terminal::duration(record.wall),
                record.threads().to_string(),
                record.note().unwrap_or_default(),
            ]);
        }
        table
    }

    /// For programs: one line.
    pub fn as_json(&self) -> String {
        json_line(&OutcomeJson {
            processes: self.processes,
            mappings: self.mappings,
            mappings_missed: self.missed,
            mappings_left_alone: self.left_alone.saturating_add(self.unwanted),
            populated_bytes: self.sums.populated,
            seconds: self.sums.wall.as_secs_f64(),
            cpu_seconds: self.sums.work.as_secs_f64(),
            each: self.records.iter().map(MappingJson::of).collect(),
        })
    }
}

impl<'a> MappingJson<'a> {
    fn of(record: &'a MappingRecord) -> Self {
        Self {
            pid: record.process,
            address: format!("{:#x}", record.address),
            bytes: record.bytes,
            kind: record.kind_in_words(),
            populated_bytes: record.populated,
            seconds: record.wall.as_secs_f64(),
            cpu_seconds: record.work.as_secs_f64(),
            threads: record.threads(),
            policy: record.policy_in_words(),
            note: record.note(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> MappingRecord {
        let time = Duration::from_millis(100);
        MappingRecord {
            process: 7,
            bytes: 2 << 30,
            kind: Some(Kind::Shared),
            verdict: ledger::VERDICT_GO,
            populated: 2 << 30,
            wall: time,
            work: time * 2,
            helpers: 1,
            fault: Some(0),
            ..MappingRecord::default()
        }
    }

    fn warned(record: MappingRecord) -> String {
        let mut done = PrefaultOutcome { processes: 1, ..PrefaultOutcome::default() };
        done.add(record);
        done.warnings("'p'", None).join("\n")
    }

    #[test]
    fn nothing_is_warned_of_where_all_went_well() {
        assert_eq!(warned(record()), "");
    }

    #[test]
    fn what_went_wrong_is_said_with_its_numbers() {
        let full = MappingRecord { verdict: ledger::VERDICT_MEMORY, populated: 0, room: 1 << 30, ..record() };
        assert!(warned(full).contains("2.15 GB do not fit: 1.07 GB are free"));
        assert!(warned(MappingRecord { fault: None, ..record() }).contains("a signal ended it early"));
        assert!(warned(MappingRecord { fault: Some(12), ..record() }).contains("Cannot allocate memory"));
        assert!(warned(MappingRecord { lock_fault: 12, ..record() }).contains("not locked"));
        assert!(warned(MappingRecord { is_cut_off: true, ..record() }).contains("in the middle"));
        assert!(warned(MappingRecord { policy: 4, policy_fault: 22, ..record() }).contains("policy not set"));
    }

    #[test]
    fn nothing_done_has_a_reason() {
        let reason = |processes, passes_by| {
            PrefaultOutcome { processes, ..PrefaultOutcome::default() }.warnings("'p'", passes_by).join("\n")
        };
        assert!(reason(0, Some("is a static program")).contains("'p' is a static program"));
        assert!(reason(0, None).contains("did not load the library"));
        assert!(reason(2, None).contains("no large mapping of 'p' was seen"));
        let left = |left_alone, unwanted| {
            let outcome = PrefaultOutcome { processes: 1, left_alone, unwanted, ..PrefaultOutcome::default() };
            outcome.warnings("'p'", None).join("\n")
        };
        assert!(left(2, 1).contains("2 large mappings of 'p' left alone"));
        assert!(left(0, 1).contains("came when no policy was wanted"));
    }

    #[test]
    fn a_report_has_the_sums_and_a_line_for_each() {
        let mut done = PrefaultOutcome { processes: 1, ..PrefaultOutcome::default() };
        (0..25).for_each(|_| done.add(record()));
        let text = done.as_text();
        assert!(
            text.starts_with("populated: 53.7 GB in 25 mappings in 2.5 s by up to 2 threads; by one, about 5 s\n"),
            "{text}"
        );
        assert!(text.contains("and 5 more mappings"), "{text}");
        assert!(done.as_json().contains("\"mappings\":25"));
    }
}
