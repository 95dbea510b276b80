//! The table of processes: chosen, ordered, as a tree where wanted, and drawn line by line. Pure.

use super::bands::figures::process_deviations;
use super::line::{TintedLine, age, limit, millions, percent, size};
use super::usual::Usual;
use observe::host::fields::{CPUS_ONLINE, MEM_TOTAL};
use observe::host::snapshot::{ProcessLine, Snapshot};
use observe::source::accounts::Accounts;
use std::collections::{HashMap, HashSet};
use terminal::Tint;

/// What processes are ordered by, largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessOrder {
    /// CPU time in the interval.
    #[default]
    Cpu,
    /// Resident memory.
    Memory,
    /// When they began, the youngest first.
    Time,
    /// Their numbers, smallest first.
    Pid,
    /// Bytes read and written.
    Transfer,
    /// Time without a CPU.
    Wait,
    /// Their users.
    User,
    /// Their names.
    Name,
}

impl ProcessOrder {
    /// In the order in which `<` and `>` go through them.
    pub const ALL: [Self; 8] =
        [Self::Pid, Self::User, Self::Cpu, Self::Wait, Self::Memory, Self::Transfer, Self::Time, Self::Name];

    /// The next one to the left or right.
    #[must_use]
    pub fn step(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[at.saturating_add_signed(by).min(Self::ALL.len() - 1)]
    }

    /// The heading of its column.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Cpu => "%core",
            Self::Memory => "rss",
            Self::Time => "age",
            Self::Pid => "pid",
            Self::Transfer => "MB/s",
            Self::Wait => "wait%",
            Self::User => "user",
            Self::Name => "command",
        }
    }
}

/// Which processes are shown, and how.
#[derive(Clone, Debug, Default)]
pub struct TableChoice {
    /// Their order.
    pub order: ProcessOrder,
    /// Whether children stand below their parents.
    pub is_tree: bool,
    /// Whether threads are shown in place of processes.
    pub are_threads: bool,
    /// Only those whose command, user or number has this in it; empty for all.
    pub only: String,
    /// Only this user's.
    pub user: Option<u32>,
    /// The process whose line is marked, by number.
    pub chosen: Option<u32>,
}

/// A process and how deep it stands in the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownProcess<'a> {
    /// The process.
    pub line: &'a ProcessLine,
    /// Its depth; 0 outside of a tree.
    pub depth: usize,
    /// Whether it is a thread.
    pub is_thread: bool,
}

/// The processes to be shown, in order.
pub fn shown<'a>(snapshot: &'a Snapshot, accounts: &Accounts, choice: &TableChoice) -> Vec<ShownProcess<'a>> {
    let wanted = choice.only.to_lowercase();
    let is_wanted = |line: &&ProcessLine| {
        choice.user.is_none_or(|user| line.user == Some(user))
            && (wanted.is_empty() || matches(line, accounts, &wanted))
    };
    let all = if choice.are_threads { &snapshot.threads } else { &snapshot.processes };
    let mut lines: Vec<&ProcessLine> = all.iter().filter(is_wanted).collect();
    sort(&mut lines, choice.order, accounts);
    if choice.is_tree && !choice.are_threads {
        as_tree(&lines)
    } else {
        lines.into_iter().map(|line| ShownProcess { line, depth: 0, is_thread: choice.are_threads }).collect()
    }
}

/// Whether a process's command, name, user, group or number has `wanted` in it, which is in small letters.
pub fn matches(line: &ProcessLine, accounts: &Accounts, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&line.text.command)
        || has(&line.text.name)
        || line.id.pid.to_string() == wanted
        || has(&user_name(line, accounts))
        || has(&line.text.group)
}

fn sort(lines: &mut [&ProcessLine], order: ProcessOrder, accounts: &Accounts) {
    let io = |line: &ProcessLine| line.io.map_or(0, |io| io.read.saturating_add(io.written));
    lines.sort_by(|one, other| {
        let by_order = match order {
            ProcessOrder::Cpu => other.cpu.used.cmp(&one.cpu.used),
            ProcessOrder::Memory => other.resident_bytes.cmp(&one.resident_bytes),
            ProcessOrder::Time => other.id.start_ticks.cmp(&one.id.start_ticks),
            ProcessOrder::Pid => one.id.pid.cmp(&other.id.pid),
            ProcessOrder::Transfer => io(other).cmp(&io(one)),
            ProcessOrder::Wait => other.cpu.waited.cmp(&one.cpu.waited),
            ProcessOrder::User => user_name(one, accounts).cmp(&user_name(other, accounts)),
            ProcessOrder::Name => one.text.name.cmp(&other.text.name),
        };
        by_order.then(other.cpu.used.cmp(&one.cpu.used)).then(one.id.cmp(&other.id))
    });
}

/// Children behind their parents, both in the order of `lines`; whose parent is not among them is a root.
fn as_tree<'a>(lines: &[&'a ProcessLine]) -> Vec<ShownProcess<'a>> {
    let pids: HashSet<u32> = lines.iter().map(|line| line.id.pid).collect();
    let mut children: HashMap<u32, Vec<&ProcessLine>> = HashMap::new();
    let is_root = |line: &&&ProcessLine| !pids.contains(&line.parent) || line.parent == line.id.pid;
    lines.iter().filter(|line| !is_root(line)).for_each(|line| children.entry(line.parent).or_default().push(line));
    let mut tree = Vec::with_capacity(lines.len());
    let mut open: Vec<ShownProcess<'a>> =
        lines.iter().filter(is_root).rev().map(|line| ShownProcess { line, depth: 0, is_thread: false }).collect();
    while let Some(process) = open.pop() {
        let below = children.remove(&process.line.id.pid).unwrap_or_default();
        open.extend(below.into_iter().rev().map(|line| ShownProcess {
            line,
            depth: process.depth + 1,
            is_thread: false,
        }));
        tree.push(process);
    }
    // A hostile feed may have parents that stand in a circle.
    tree.extend(children.into_values().flatten().map(|line| ShownProcess { line, depth: 0, is_thread: false }));
    tree
}

/// The name of its user, or the number.
pub fn user_name(line: &ProcessLine, accounts: &Accounts) -> String {
    line.user.map_or_else(|| "-".to_owned(), |user| accounts.name(user))
}

/// The heading, with the column of the order marked.
pub fn heading(order: ProcessOrder, tail: &str, width: usize) -> TintedLine {
    let is_wide = width >= WIDE;
    let columns = [
        ("pid", 7, true),
        ("user", 9, true),
        ("nice", 5, is_wide),
        ("%core", 7, true),
        ("±", 5, true),
        ("%host", 6, true),
        ("wait%", 6, true),
        ("virt", 7, is_wide),
        ("rss", 7, true),
        ("mem%", 6, is_wide),
        ("MB/s", 7, true),
        ("cpu time", 10, is_wide),
        ("age", 7, true),
        ("S", 2, true),
    ];
    let mut line = TintedLine::default();
    for (name, width, _) in columns.into_iter().filter(|(.., is_shown)| *is_shown) {
        let is_order = name == order.heading();
        let text = if is_order { format!("{name}↓") } else { name.to_owned() };
        let padded = if name == "user" {
            format!(" {text:<8}")
        } else {
            format!("{}{text}", " ".repeat(width - text.chars().count().min(width)))
        };
        line = line.and_tinted(padded, Some(if is_order { Tint::Warning } else { Tint::Bold }));
    }
    let command = if order == ProcessOrder::Name { "command↓" } else { "command" };
    line.and_tinted(format!("  {command}"), Some(Tint::Bold)).and_tinted(format!("  {tail}"), Some(Tint::Dim))
}

/// From this width on processes have nice value, address space, share of memory and CPU time since they began.
const WIDE: usize = 120;

/// CPU time as top writes it: `3:07.42`, minutes and seconds; hours from a hundred on.
fn cpu_time(milliseconds: u64) -> String {
    let (minutes, seconds, hundredths) = (milliseconds / 60_000, milliseconds / 1000 % 60, milliseconds / 10 % 100);
    if minutes >= 6_000 {
        format!("{}h{:02}", minutes / 60, minutes % 60)
    } else {
        format!("{minutes}:{seconds:02}.{hundredths:02}")
    }
}

/// One process.
pub fn row(
    process: &ShownProcess<'_>,
    snapshot: &Snapshot,
    accounts: &Accounts,
    usual: Option<&Usual>,
    width: usize,
) -> TintedLine {
    let is_wide = width >= WIDE;
    let wide = |text: String| if is_wide { text } else { String::new() };
    let memory = snapshot.values.get(MEM_TOTAL).unwrap_or(0).max(1) as f64;
    let line = process.line;
    let cores = f64::from(line.cpu.used) / 1e6;
    let cpus = snapshot.values.get(CPUS_ONLINE).unwrap_or(1).max(1) as f64;
    let waited = line.cpu.waited.map(|waited| f64::from(waited) / 1e6);
    let began_s = line.id.start_ticks as f64 / 100.0;
    let lived = (line.id.start_ticks > 0).then(|| age(snapshot.at.boot_ns as f64 / 1e9 - began_s));
    let transfer = line.io.map_or_else(|| "-".to_owned(), |io| millions(io.read.saturating_add(io.written) as f64));
    let user = terminal::shorten_middle(&terminal::printable(&user_name(line, accounts)), 8);
    let is_busy = cores >= 0.0005;
    let tint = if is_busy { limit(cores, 0.9, f64::INFINITY) } else { Some(Tint::Dim) };
    let [cores_far, memory_far] = process_deviations(usual.filter(|_| !process.is_thread), line);
    TintedLine::of(format!("{:>7} {user:<8}", line.id.pid))
        .and(wide(format!("{:>5}", line.nice)))
        .and_figure(format!("{:>7}", four_digits(cores)), tint, cores_far)
        .and_tinted(format!("{:>5}", error(f64::from(line.cpu.error) / 1e6, is_busy)), Some(Tint::Dim))
        .and(format!("{:>6}", percent(cores / cpus)))
        .and_tinted(
            format!("{:>6}", waited.map_or_else(|| "-".to_owned(), percent)),
            limit(waited.unwrap_or(0.0), 0.2, 1.0),
        )
        .and(wide(format!("{:>7}", size(line.virtual_bytes))))
        .and_figure(format!("{:>7}", size(line.resident_bytes)), None, memory_far)
        .and(wide(format!("{:>6}", percent(line.resident_bytes as f64 / memory))))
        .and(format!("{transfer:>7}"))
        .and(wide(format!("{:>10}", cpu_time(line.cpu_time_ms))))
        .and(format!("{:>7}", lived.unwrap_or_else(|| "-".to_owned())))
        .and(format!(" {}  ", char::from(line.state)))
        .and(format!("{}{}", "  ".repeat(process.depth.min(MAX_DEPTH)), shown_name(process)))
}

/// A command line without the directory of its program, which would fill a narrow column; Enter shows all of it.
fn without_directory(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or_default();
    let at = program.rfind('/').filter(|at| program.starts_with('/') && at + 1 < program.len());
    at.map_or(command, |at| &command[at + 1..])
}

/// A process's command; a thread's name and process.
fn shown_name(process: &ShownProcess<'_>) -> String {
    let text = &process.line.text;
    match process.is_thread {
        true => format!("{}  of {} {}", text.name, process.line.parent, text.command),
        false => without_directory(&text.command).to_owned(),
    }
}

/// LIMIT: deeper trees are drawn as if they were no deeper.
const MAX_DEPTH: usize = 20;

/// Cores in percent of one, with four digits from 10 on: `98.04`, `0.312`, `1204`.
fn four_digits(cores: f64) -> String {
    match cores * 100.0 {
        percent if percent < 0.0005 => "0".to_owned(),
        percent if percent < 9.9995 => format!("{percent:.3}"),
        percent if percent < 99.995 => format!("{percent:.2}"),
        percent if percent < 999.95 => format!("{percent:.1}"),
        percent => format!("{percent:.0}"),
    }
}

fn error(cores: f64, is_busy: bool) -> String {
    match cores * 100.0 {
        _ if !is_busy => String::new(),
        error if error < 0.05 => "0.0".to_owned(),
        error => format!("{error:.1}"),
    }
}

/// What no line has: processes that came and went, and, of a cut list, those that have none.
pub fn rest(snapshot: &Snapshot, is_contained: bool) -> Vec<TintedLine> {
    let mut lines = Vec::new();
    let rest = &snapshot.rest;
    let cores = |millionths: i64| four_digits(millionths as f64 / 1e6);
    let unlisted = rest.unlisted.unwrap_or(0);
    if rest.ended > 0 || unlisted > NOTABLE_MILLIONTHS {
        let names = match rest.ended_names.as_slice() {
            [] => String::new(),
            names => format!("  {}", names.join(", ")),
        };
        let text = format!(
            "{:>16}{:>7}  ({}{} ended or came and went){names}",
            "",
            cores(i64::from(unlisted.max(0))),
            if is_contained { "processes outside of this container, and " } else { "" },
            rest.ended
        );
        lines.push(TintedLine::tinted(text, Tint::Dim));
    }
    if rest.cut > 0 {
        lines.push(TintedLine::tinted(
            format!("{:>16}{:>7}  (processes that are not kept here)", "", cores(i64::from(rest.cut))),
            Tint::Dim,
        ));
    }
    lines
}

/// Below this the totals of the host and of its processes differ by when they were read.
const NOTABLE_MILLIONTHS: i32 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use observe::host::snapshot::{ProcessCpu, ProcessId, ProcessText};
    use std::sync::Arc;
    use terminal::Colour;

    fn process(pid: u32, parent: u32, used: u32, command: &str) -> ProcessLine {
        ProcessLine {
            id: ProcessId { pid, start_ticks: 100 },
            parent,
            user: Some(pid % 2),
            text: Arc::new(ProcessText { name: command.into(), command: command.into(), group: String::new() }),
            state: b'S',
            threads: 1,
            cpu: ProcessCpu { used, error: 4_000, system: 0, waited: Some(0) },
            resident_bytes: u64::from(pid) << 20,
            io: None,
            nice: -5,
            virtual_bytes: 3 << 30,
            cpu_time_ms: 187_420,
        }
    }

    fn snapshot() -> Snapshot {
        let processes = vec![
            process(4, 2, 980_400, "cc1 x.c"),
            process(1, 0, 0, "init"),
            process(2, 1, 0, "make"),
            process(3, 1, 5_000, "\u{1b}[2Jsh"),
        ];
        let mut snapshot = Snapshot { processes, threads: vec![process(9, 4, 7, "cc1 x.c")], ..Snapshot::default() };
        snapshot.at.boot_ns = 13_000_000_000;
        snapshot
    }

    fn pids(choice: &TableChoice) -> Vec<(u32, usize)> {
        let snapshot = snapshot();
        shown(&snapshot, &Accounts::default(), choice).iter().map(|one| (one.line.id.pid, one.depth)).collect()
    }

    #[test]
    fn processes_are_chosen_ordered_and_drawn_as_a_tree() {
        let choice = TableChoice::default();
        assert_eq!(pids(&choice), [(4, 0), (3, 0), (1, 0), (2, 0)]);
        assert_eq!(pids(&TableChoice { order: ProcessOrder::Memory, ..choice.clone() })[0].0, 4);
        assert_eq!(
            pids(&TableChoice { is_tree: true, order: ProcessOrder::Pid, ..choice.clone() }),
            [(1, 0), (2, 1), (4, 2), (3, 1)]
        );
        assert_eq!(pids(&TableChoice { only: "CC1".into(), ..choice.clone() }), [(4, 0)]);
        assert_eq!(pids(&TableChoice { user: Some(1), ..choice.clone() }).len(), 2);
        assert_eq!(pids(&TableChoice { are_threads: true, is_tree: true, ..choice.clone() }), [(9, 0)]);
        assert_eq!(pids(&TableChoice { only: "nobody has it".into(), ..choice }), []);
        assert_eq!(
            (ProcessOrder::Pid.step(-1), ProcessOrder::Cpu.step(1), ProcessOrder::Name.step(9)),
            (ProcessOrder::Pid, ProcessOrder::Wait, ProcessOrder::Name)
        );
    }

    #[test]
    fn parents_in_a_circle_are_drawn_once() {
        let snapshot =
            Snapshot { processes: vec![process(1, 2, 0, "a"), process(2, 1, 0, "b")], ..Snapshot::default() };
        let choice = TableChoice { is_tree: true, ..TableChoice::default() };
        assert_eq!(shown(&snapshot, &Accounts::default(), &choice).len(), 2);
    }

    #[test]
    fn a_wide_row_has_what_top_has_beside() {
        let mut snapshot = snapshot();
        snapshot.values.push(MEM_TOTAL, observe::host::values::WHOLE, 16 << 20);
        snapshot.values.sort();
        let all = shown(&snapshot, &Accounts::default(), &TableChoice::default());
        let heading = heading(ProcessOrder::Cpu, "4, 1 run", 120).text(Colour::Off);
        let row = row(&all[0], &snapshot, &Accounts::default(), None, 120).text(Colour::Off);
        let expected = [
            "    pid user     nice %core↓    ± %host wait%   virt    rss  mem%   MB/s  cpu time    age S  command  4, 1 run\n",
            "      4 0          -5  98.04  0.4  98.0   0.0   3.0G   4.0M  25.0      -   3:07.42    12s S  cc1 x.c\n",
        ];
        assert_eq!([heading.as_str(), row.as_str()], expected);
        assert_eq!([0, 359_999_990, 360_000_000].map(cpu_time), ["0:00.00", "5999:59.99", "100h00"]);
    }

    #[test]
    fn what_others_of_the_machine_use_is_not_called_ended_in_a_container() {
        let mut snapshot = Snapshot::default();
        (snapshot.rest.unlisted, snapshot.rest.ended) = (Some(1_500_000), 2);
        let text = |is_contained| rest(&snapshot, is_contained)[0].text(Colour::Off);
        assert!(text(false).ends_with("  150.0  (2 ended or came and went)\n"));
        assert!(text(true).ends_with("  150.0  (processes outside of this container, and 2 ended or came and went)\n"));
    }

    #[test]
    fn a_row_has_its_figures_below_their_headings() {
        let snapshot = snapshot();
        let all = shown(&snapshot, &Accounts::default(), &TableChoice::default());
        let heading = heading(ProcessOrder::Cpu, "4, 1 run", 80).text(Colour::Off);
        assert_eq!(heading, "    pid user     %core↓    ± %host wait%    rss   MB/s    age S  command  4, 1 run\n");
        assert_eq!(
            row(&all[0], &snapshot, &Accounts::default(), None, 80).text(Colour::Off),
            "      4 0         98.04  0.4  98.0   0.0   4.0M      -    12s S  cc1 x.c\n"
        );
        assert!(row(&all[1], &snapshot, &Accounts::default(), None, 80).text(Colour::Off).ends_with("  \\x1b[2Jsh\n"));
        assert_eq!([0.0, 0.00312, 0.98, 1.5, 12.04].map(four_digits), ["0", "0.312", "98.00", "150.0", "1204"]);
    }
}
