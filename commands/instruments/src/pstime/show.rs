//! An interval of `mh pstime` as text, JSON or CSV. Every form names base, clocks and tier, and closes the table against the
//! machine's own total. Decides nothing about numbers.

use super::choose::Content;
use super::columns::{Column, Style};
use super::plan::{Plan, Unit};
use crate::shares::Base;
use mh_kit::failure::Failure;
use mh_kit::instrument::Format;
use mh_kit::instrument::csv_field;
use mh_kit::instrument::live::{Output, Page};
use mh_kit::report::counted;
use observe::calls::measure::MeasuringCost;
use observe::model::{EndedName, EndedUsage, Interval, MachineUsage};
use observe::row::ProcessRow;
use observe::sample::{CpuBasis, HostSample, TotalBasis};
use observe::source::accounts::Accounts;
use observe::tier::Tier;
use serde::Serialize;
use terminal::TextTable;

/// Writes intervals, or shows them.
pub struct Shower<'plan> {
    plan: &'plan Plan,
    tier: Tier,
    accounts: Accounts,
    /// Where every call is measured.
    measured: Option<MeasuringCost>,
    output: Output,
    has_begun: bool,
}

/// Which rights the numbers of some rows needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct RowsTier {
    tier: Tier,
    /// Processes that needed none.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_clock: Option<u64>,
}

impl std::fmt::Display for RowsTier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.by_clock {
            None => write!(formatter, "{}", self.tier),
            Some(count) => write!(formatter, "{}; {} by clock", self.tier, terminal::integer(count)),
        }
    }
}

/// What no row has. The machine's total is off by up to a tick a CPU if it is counted in ticks, and by as much as the rows say more than it: what is
/// within that is nothing.
fn unaccounted(unaccounted_ns: i64, machine: &MachineUsage, number: impl Fn(f64) -> String) -> String {
    let ticks_ns = match machine.basis {
        Some(TotalBasis::ControlGroup) => 0,
        _ => u64::from(machine.online_cpus) * TICK_NS,
    };
    let error_ns = ticks_ns.max(u64::try_from(unaccounted_ns.saturating_neg()).unwrap_or(0));
    match u64::try_from(unaccounted_ns) {
        Ok(unaccounted_ns) if unaccounted_ns > error_ns || error_ns == 0 => number(unaccounted_ns as f64),
        _ => format!("0 +- {}", number(error_ns as f64)),
    }
}

/// Of a machine's own counters (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// How processes that ended get their names; a recording has what it has, as root too.
fn how_to_see_them(is_root: bool) -> &'static str {
    if is_root { " (tiers taskstats and BPF name them)" } else { " (run it as root to see them)" }
}

/// Which interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Interval,
    Average,
}

impl<'plan> Shower<'plan> {
    /// Nothing is written yet.
    pub fn new(
        plan: &'plan Plan,
        tier: Tier,
        accounts: Accounts,
        measured: Option<MeasuringCost>,
        output: Output,
    ) -> Self {
        let tier = if measured.is_some() { Tier::Bpf } else { tier };
        Self { plan, tier, accounts, measured, output, has_begun: false }
    }

    /// One interval.
    pub fn interval(&mut self, content: &Content, interval: &Interval, later: &HostSample) -> Result<(), Failure> {
        self.output
            .interval(|| self.write(content, interval, later, Kind::Interval), || self.page(content, interval))?;
        self.has_begun = true;
        Ok(())
    }

    /// All intervals together.
    pub fn average(&self, content: &Content, interval: &Interval, later: &HostSample) -> Result<(), Failure> {
        self.output.end(&self.write(content, interval, later, Kind::Average))
    }

    fn write(&self, content: &Content, interval: &Interval, later: &HostSample, kind: Kind) -> String {
        match self.plan.format {
            Format::Text => self.text(content, interval, kind),
            Format::Json => self.json(content, interval, later, kind),
            Format::Csv => self.csv(&content.rows, interval, later, kind),
        }
    }

    fn style(&self, machine: &MachineUsage) -> Style<'_> {
        Style { base: Base::new(self.plan.base, machine), unit: self.plan.unit, accounts: &self.accounts }
    }

    /// Rows that the threshold and the limit let through.
    fn shown<'rows>(&self, rows: &'rows [ProcessRow], style: Style<'_>) -> Vec<&'rows ProcessRow> {
        let plan = self.plan;
        let is_large = |row: &&ProcessRow| style.base.percent(row.cores) >= plan.min_percent;
        rows.iter().filter(is_large).take(plan.top.unwrap_or(usize::MAX)).collect()
    }

    fn text(&self, content: &Content, interval: &Interval, kind: Kind) -> String {
        let style = self.style(&interval.machine);
        let shown = self.shown(&content.rows, style);
        let gap = if self.has_begun && !self.output.is_shown() { "\n" } else { "" };
        let look = self.plan.look;
        let caption = look.prose(&self.caption(&content.rows, interval, style, kind));
        let closing = look.prose(&self.closing(content, &shown, interval, style));
        format!("{gap}{caption}{}{closing}", look.table(self.table(&shown, style)))
    }

    fn page(&self, content: &Content, interval: &Interval) -> Page {
        let style = self.style(&interval.machine);
        let shown = self.shown(&content.rows, style);
        let caption = self.caption(&content.rows, interval, style, Kind::Interval);
        let table = self.table(&shown, style).to_string();
        Page::new(&caption, &table, &self.closing(content, &shown, interval, style))
    }

    fn table(&self, shown: &[&ProcessRow], style: Style<'_>) -> TextTable {
        let aligns: Vec<_> = self.plan.columns.iter().map(|column| column.align()).collect();
        let mut table = TextTable::new(&aligns);
        table.row(self.plan.columns.iter().map(|column| column.heading(self.plan.unit)));
        for row in shown {
            table.row(self.plan.columns.iter().map(|column| column.cell(row, style)));
        }
        table
    }

    /// `share of 64 cores, 10.00 s each; CPU clocks, split by ticks (tier: no rights)`.
    fn caption(&self, rows: &[ProcessRow], interval: &Interval, style: Style<'_>, kind: Kind) -> String {
        let base = match self.plan.unit {
            Unit::Percent => style.base.label(),
            Unit::Seconds => "CPU seconds".to_owned(),
        };
        let seconds = terminal::four_digits(interval.elapsed_ns as f64 / 1e9);
        let clocks = match rows.iter().map(|row| row.basis).max().unwrap_or_default() {
            CpuBasis::Clock => "CPU clocks",
            CpuBasis::Scheduler => "scheduler's sums",
            CpuBasis::Threads => "sums over threads",
            CpuBasis::Ticks => "steps of 10 ms",
        };
        let average = if kind == Kind::Average { "average: " } else { "" };
        let split = match self.measured {
            None => "split by ticks".to_owned(),
            Some(cost) => format!("split by measured calls, each {:.0} ns longer for it", cost.measured_ns),
        };
        format!("{average}{base}, {seconds} s each; {clocks}, {split} (tier: {})\n", self.tier_of(rows))
    }

    /// The tier of these rows, and how many processes in them do not have it: one that is hidden from programs in the kernel is
    /// read by its clock, and so are all from the moment on at which a pass fails.
    fn tier_of(&self, rows: &[ProcessRow]) -> RowsTier {
        let sum = |of: fn(&ProcessRow) -> u32| rows.iter().map(|row| u64::from(of(row))).sum::<u64>();
        let (members, by_clock) = (sum(|row| row.members), sum(|row| row.members_by_clock));
        match self.tier {
            // There programs in the kernel measure calls, whoever reads the clocks.
            Tier::Bpf if self.measured.is_some() || by_clock == 0 => RowsTier { tier: Tier::Bpf, by_clock: None },
            Tier::Bpf if by_clock < members => RowsTier { tier: Tier::Bpf, by_clock: Some(by_clock) },
            Tier::Taskstats => RowsTier { tier: Tier::Taskstats, by_clock: None },
            Tier::Bpf | Tier::NoRights => RowsTier { tier: Tier::NoRights, by_clock: None },
        }
    }

    /// Whether nobody was asked for in particular: then the table closes against the machine's total.
    fn is_of_everybody(&self) -> bool {
        !self.plan.is_selective() && self.plan.users.is_empty()
    }

    /// What is not in the rows, so that the table closes.
    fn closing(&self, content: &Content, shown: &[&ProcessRow], interval: &Interval, style: Style<'_>) -> String {
        let mut text = String::new();
        let rows = &content.rows;
        let number = |nanoseconds: f64| self.amount(nanoseconds, interval, style);
        if let Some(NotShown { rows, cpu_ns }) = NotShown::of(rows, shown) {
            text.push_str(&format!(
                "(not shown)    {} in {}\n",
                number(cpu_ns as f64),
                counted(rows as u64, "more row")
            ));
        }
        if let Some(ended_ns) = content.ended_threads_ns {
            text.push_str(&format!(
                "(ended)        {}: threads that have ended, of processes that live\n",
                number(ended_ns as f64)
            ));
        }
        text.push_str(&content.ended.as_ref().map(|ended| ended_chosen(ended, number)).unwrap_or_default());
        let machine = &interval.machine;
        let (Some(total_ns), Some(unaccounted_ns), true) =
            (machine.total_ns, machine.unaccounted_ns, self.is_of_everybody())
        else {
            return text;
        };
        let basis = match machine.basis {
            Some(TotalBasis::ControlGroup) => "control group accounting",
            _ => "ticks: rough",
        };
        let ended = terminal::integer(interval.ended as u64);
        let is_root = self.plan.recording.replay.is_some() || rustix::process::geteuid().is_root();
        let unnamed = if interval.endings.is_none() { how_to_see_them(is_root) } else { "" };
        text.push_str(&format!(
            "(unaccounted)  {}: processes that ended ({ended}), others that came and went or are hidden{unnamed}\n",
            unaccounted(unaccounted_ns, machine, number)
        ));
        text.push_str(&interval.endings.as_ref().map(|endings| ended_names(endings, number)).unwrap_or_default());
        text.push_str(&format!("(total)        {} by {basis}\n", number(total_ns as f64)));
        text
    }

    /// CPU time of an interval in the plan's unit.
    fn amount(&self, nanoseconds: f64, interval: &Interval, style: Style<'_>) -> String {
        match self.plan.unit {
            Unit::Seconds => format!("{} s", terminal::four_digits(nanoseconds / 1e9)),
            Unit::Percent => {
                let cores = nanoseconds / interval.elapsed_ns.max(1) as f64;
                format!("{} %", terminal::four_digits(style.base.percent(cores)))
            }
        }
    }

    fn json(&self, content: &Content, interval: &Interval, later: &HostSample, kind: Kind) -> String {
        let style = self.style(&interval.machine);
        let shown = self.shown(&content.rows, style);
        // Of some processes it would only say that there are others.
        let unaccounted_ns = interval.machine.unaccounted_ns.filter(|_| self.is_of_everybody());
        let object = JsonInterval {
            kind: if kind == Kind::Average { "average" } else { "interval" },
            tier: self.tier_of(&content.rows),
            wall_ns: later.wall_ns,
            elapsed_ns: interval.elapsed_ns,
            idle: interval.idle,
            born: interval.born,
            ended: interval.ended,
            machine: MachineUsage { unaccounted_ns, ..interval.machine },
            ended_threads_ns: content.ended_threads_ns,
            endings: content.ended.as_ref().or(interval.endings.as_ref().filter(|_| self.is_of_everybody())),
            not_shown: NotShown::of(&content.rows, &shown),
            rows: shown
                .into_iter()
                .map(|row| JsonRow { user_name: row.user.map(|user| self.accounts.name(user)), row })
                .collect(),
        };
        mh_kit::report::json_line(&object)
    }

    fn csv(&self, rows: &[ProcessRow], interval: &Interval, later: &HostSample, kind: Kind) -> String {
        let style = self.style(&interval.machine);
        let columns = &self.plan.columns;
        let mut text = String::new();
        if !self.has_begun {
            let headings: Vec<_> = columns.iter().map(|column: &Column| column.heading(self.plan.unit)).collect();
            text.push_str(&format!("TIME,INTERVAL,TIER,BASE,{}\n", headings.join(",")));
        }
        let kind = if kind == Kind::Average { "average" } else { "interval" };
        let seconds = later.wall_ns as f64 / 1e9;
        for row in self.shown(rows, style) {
            let cells: Vec<_> = columns.iter().map(|column| csv_field(&column.cell(row, style))).collect();
            let base = csv_field(&style.base.label());
            let tier = self.tier_of(std::slice::from_ref(row));
            text.push_str(&format!("{seconds:.3},{kind},{tier},{base},{}\n", cells.join(",")));
        }
        text
    }
}

/// LIMIT: names of those that ended; the JSON has all.
const ENDED_NAMES_MAX: usize = 5;

/// `  ended: cc1 (812) 6.101 %, sh (400) 5.020 %, 3 more names (7) 0.010 %`.
fn ended_names(endings: &EndedUsage, number: impl Fn(f64) -> String) -> String {
    let mut parts = names_of_ended(endings, number);
    if endings.unnamed > 0 {
        parts.push(format!("too many to name ({} or more)", terminal::integer(endings.unnamed)));
    }
    if parts.is_empty() { String::new() } else { format!("  ended: {}\n", parts.join(", ")) }
}

/// `(ended)        processes: cc1 (812) 6.101 %`: of those that were asked for.
fn ended_chosen(endings: &EndedUsage, number: impl Fn(f64) -> String) -> String {
    let mut parts = names_of_ended(endings, number);
    if endings.unnamed > 0 {
        parts.push(format!("perhaps others ({} or more of any name)", terminal::integer(endings.unnamed)));
    }
    if parts.is_empty() {
        return String::new();
    }
    let is_known = endings.by_name.iter().all(|name| name.used_ns.is_some());
    let unknown = if is_known { "" } else { "; tiers taskstats and BPF know what they used since they were last seen" };
    format!("(ended)        processes: {}{unknown}\n", parts.join(", "))
}

/// `cc1 (812) 6.101 %` and so on.
fn names_of_ended(endings: &EndedUsage, number: impl Fn(f64) -> String) -> Vec<String> {
    let used =
        |used_ns: Option<u64>| used_ns.map_or_else(String::new, |used_ns| format!(" {}", number(used_ns as f64)));
    let part = |name: &EndedName| {
        let (count, shown) = (terminal::integer(name.count), terminal::printable(&name.name));
        format!("{shown} ({count}){}", used(name.used_ns))
    };
    let (first, rest) = endings.by_name.split_at(endings.by_name.len().min(ENDED_NAMES_MAX));
    let mut parts: Vec<String> = first.iter().map(part).collect();
    if !rest.is_empty() {
        let count = rest.iter().map(|name| name.count).fold(0, u64::saturating_add);
        let used_ns = rest.iter().map(|name| name.used_ns).reduce(|sum, more| Some(sum?.saturating_add(more?)));
        let (names, count) = (terminal::integer(rest.len() as u64), terminal::integer(count));
        parts.push(format!("{names} more names ({count}){}", used(used_ns.flatten())));
    }
    parts
}

/// What the threshold and the limit leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct NotShown {
    rows: usize,
    cpu_ns: u64,
}

impl NotShown {
    /// None where all rows are shown.
    fn of(rows: &[ProcessRow], shown: &[&ProcessRow]) -> Option<Self> {
        let sum = |times: &mut dyn Iterator<Item = u64>| times.fold(0, u64::saturating_add);
        let all_ns = sum(&mut rows.iter().map(|row| row.cpu_ns));
        let shown_ns = sum(&mut shown.iter().map(|row| row.cpu_ns));
        let left_out = rows.len().saturating_sub(shown.len());
        (left_out > 0).then(|| Self { rows: left_out, cpu_ns: all_ns.saturating_sub(shown_ns) })
    }
}

#[derive(Serialize)]
struct JsonInterval<'a> {
    kind: &'static str,
    #[serde(flatten)]
    tier: RowsTier,
    wall_ns: u64,
    elapsed_ns: u64,
    idle: usize,
    born: usize,
    ended: usize,
    machine: MachineUsage,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_threads_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endings: Option<&'a EndedUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_shown: Option<NotShown>,
    rows: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    user_name: Option<String>,
    #[serde(flatten)]
    row: &'a ProcessRow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_user_reads_what_to_do_and_root_which_rights_lack() {
        assert_eq!(how_to_see_them(false), " (run it as root to see them)");
        assert_eq!(how_to_see_them(true), " (tiers taskstats and BPF name them)");
    }

    #[test]
    fn nothing_unaccounted_is_shown_with_its_error() {
        let machine = |basis| MachineUsage { basis: Some(basis), online_cpus: 2, ..MachineUsage::default() };
        let shown = |unaccounted_ns, basis| unaccounted(unaccounted_ns, &machine(basis), |ns| format!("{ns} ns"));
        assert_eq!(shown(7, TotalBasis::ControlGroup), "7 ns");
        assert_eq!(shown(-7, TotalBasis::ControlGroup), "0 +- 7 ns");
        assert_eq!(shown(7, TotalBasis::Ticks), "0 +- 20000000 ns", "a tick of each of two CPUs");
        assert_eq!(shown(-30_000_000, TotalBasis::Ticks), "0 +- 30000000 ns");
        assert_eq!(shown(30_000_000, TotalBasis::Ticks), "30000000 ns");
    }
}
