//! What is usual for a host: its figures of the last 15 minutes, and whether one of now lies far from them. Pure.
//!
//! Far is more than six times the usual spread (the median absolute deviation, as a standard deviation) from the median, and more than a
//! quarter of the median, and more than what matters of that figure: a disk that goes from 0 to 3 % is no news.

use super::line::TintedLine;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use terminal::Tint;

/// A figure that has a past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Shares of the CPUs' time, in the order of `bands::PARTS`, and of all but idle ones together.
    CpuPart(usize),
    /// CPUs that work.
    CpuBusy,
    /// The busiest CPU.
    CpuBusiest,
    /// Threads that could run.
    Runnable,
    /// Context switches a second.
    Switches,
    /// Shares of the time in which some thread waited for a CPU.
    WaitCpu,
    /// The same for memory.
    WaitMemory,
    /// Share of memory that programs cannot have.
    MemoryUsed,
    /// Page faults a second.
    Faults,
    /// Those that waited for a disk.
    MajorFaults,
    /// Share of the time in which a disk had requests.
    DiskBusy,
    /// Requests a second.
    DiskRequests,
    /// Bytes a second, of disks.
    DiskBytes,
    /// Seconds a request takes.
    DiskAwait,
    /// Requests under way.
    DiskQueue,
    /// Bits a second that came.
    Received,
    /// Bits a second that went.
    Sent,
    /// Share of TCP segments that were sent again.
    SentAgain,
    /// Share of a file system that is used.
    FileSystemUsed,
    /// Cores that a control group used.
    GroupCpu,
    /// Bytes of a control group.
    GroupMemory,
    /// Cores that a process used.
    ProcessCpu,
    /// Resident bytes of a process.
    ProcessMemory,
}

impl Figure {
    /// LIMIT: a difference below this is no news, however calm the figure is.
    fn least(self) -> f64 {
        match self {
            Self::CpuPart(_) | Self::CpuBusy | Self::WaitCpu => 0.10,
            Self::CpuBusiest => 0.30,
            Self::Runnable => 4.0,
            Self::Switches => 2_000.0,
            Self::WaitMemory | Self::MemoryUsed => 0.05,
            Self::Faults => 5_000.0,
            Self::MajorFaults => 50.0,
            Self::DiskBusy => 0.20,
            Self::DiskRequests => 100.0,
            Self::DiskBytes | Self::Received | Self::Sent => 5e6,
            Self::DiskAwait => 0.005,
            Self::DiskQueue => 1.0,
            Self::SentAgain => 0.01,
            Self::FileSystemUsed => 0.02,
            Self::GroupCpu | Self::ProcessCpu => 0.20,
            Self::GroupMemory | Self::ProcessMemory => 100e6,
        }
    }

    /// The part of the median that is no news either. Of a file system that is nearly full it would be all that is left.
    fn part(self) -> f64 {
        if self == Self::FileSystemUsed { 0.0 } else { PART_OF_MEDIAN }
    }

    fn is_of_process(self) -> bool {
        matches!(self, Self::ProcessCpu | Self::ProcessMemory)
    }
}

/// On which side of what is usual a figure lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Far above.
    Above,
    /// Far below.
    Below,
}

impl Deviation {
    /// What stands before the figure: colour alone is not seen by everybody.
    pub fn mark(self) -> char {
        match self {
            Self::Above => '^',
            Self::Below => 'v',
        }
    }
}

/// The last 15 minutes of a host's figures.
#[derive(Clone, Debug, Default)]
pub struct Usual {
    /// Of the host, its devices, file systems and control groups.
    host: PastTable,
    /// Of processes, which come and go by the thousand: they take no place of the others.
    processes: PastTable,
    noted_ns: u64,
    forgot_ns: u64,
}

/// The past of figures, in a bounded number of places.
#[derive(Clone, Debug, Default)]
struct PastTable {
    /// By figure, then by the name of the disk or interface it is of.
    past: HashMap<Figure, HashMap<Box<str>, Past>>,
    names: usize,
}

#[derive(Clone, Debug, Default)]
struct Past {
    noted_ns: u64,
    values: VecDeque<f32>,
    bounds: Option<(f64, f64)>,
}

const STRETCH_S: f64 = 900.0;
/// What has not been there for so long is forgotten; interfaces of containers have names that never come again.
const FORGOTTEN_NS: u64 = 900_000_000_000;
/// Between two looks at what may be forgotten.
const FORGET_EVERY_NS: u64 = 60_000_000_000;
/// Between two values: more of them cost memory and say no more.
const SPACING_NS: u64 = 5_000_000_000;
/// LIMIT: fewer values, or a shorter time, tell nothing of what is usual.
const VALUES_LEAST: usize = 12;
const TIME_LEAST_S: f64 = 180.0;
/// LIMIT: figures that have a past; a host with more disks than that has no past of the others.
const NAMES_MAX: usize = 2_000;
/// LIMIT: figures of processes that have a past: twice what one moment brings.
const PROCESS_NAMES_MAX: usize = 1_200;
/// The median absolute deviation of a normal distribution is this part of its standard deviation.
const DEVIATION_OF_NORMAL: f64 = 0.6745;
const SPREADS: f64 = 6.0;
const PART_OF_MEDIAN: f64 = 0.25;

impl Usual {
    /// Whether a value of this moment would be kept. A moment before the last one is of another boot, or of another place of a recording.
    pub fn is_due(&self, boot_ns: u64) -> bool {
        boot_ns < self.noted_ns || boot_ns - self.noted_ns >= SPACING_NS
    }

    /// Keeps the figures of a moment, if one is due.
    pub fn note<Name: AsRef<str>>(&mut self, boot_ns: u64, figures: impl IntoIterator<Item = (Figure, Name, f64)>) {
        if !self.is_due(boot_ns) {
            return;
        }
        if boot_ns < self.noted_ns {
            *self = Self::default();
        }
        let is_first = self.noted_ns == 0;
        let spacing_s = if is_first { 5.0 } else { (boot_ns - self.noted_ns) as f64 / 1e9 };
        self.noted_ns = boot_ns;
        let figures = figures.into_iter().filter(|(_, _, value)| value.is_finite());
        let (processes, host): (Vec<_>, Vec<_>) = figures.partition(|(figure, _, _)| figure.is_of_process());
        self.host.note((boot_ns, spacing_s), host, NAMES_MAX);
        self.processes.note((boot_ns, spacing_s), processes, PROCESS_NAMES_MAX);
        if boot_ns - self.forgot_ns >= FORGET_EVERY_NS {
            self.forgot_ns = boot_ns;
            let oldest_ns = boot_ns.saturating_sub(FORGOTTEN_NS);
            [&mut self.host, &mut self.processes].into_iter().for_each(|table| table.keep_from(oldest_ns));
        }
    }

    /// Whether a figure of now lies far from what is usual.
    pub fn deviation(&self, figure: Figure, name: &str, value: f64) -> Option<Deviation> {
        let table = if figure.is_of_process() { &self.processes } else { &self.host };
        let (low, high) = table.past.get(&figure)?.get(name)?.bounds?;
        match value {
            value if value > high => Some(Deviation::Above),
            value if value < low => Some(Deviation::Below),
            _ => None,
        }
    }
}

impl PastTable {
    /// Keeps the figures of a moment. Those without a place get those of the longest absent, never of one that is there.
    fn note<Name: AsRef<str>>(&mut self, moment: (u64, f64), figures: Vec<(Figure, Name, f64)>, most: usize) {
        let mut others = Vec::new();
        for (figure, name, value) in figures {
            match self.past.get_mut(&figure).and_then(|of_figure| of_figure.get_mut(name.as_ref())) {
                Some(past) => past.note(figure, value, moment),
                None => others.push((figure, name, value)),
            }
        }
        self.make_room((self.names + others.len()).saturating_sub(most), moment.0);
        for (figure, name, value) in others {
            if self.names >= most {
                return;
            }
            let of_figure = self.past.entry(figure).or_default();
            self.names += usize::from(!of_figure.contains_key(name.as_ref()));
            of_figure.entry(name.as_ref().into()).or_default().note(figure, value, moment);
        }
    }

    /// Forgets so many of those that are not there now, the longest absent first.
    fn make_room(&mut self, wanted: usize, boot_ns: u64) {
        let pasts = self.past.values().flat_map(HashMap::values);
        let mut absent: Vec<u64> = pasts.map(|past| past.noted_ns).filter(|noted_ns| *noted_ns < boot_ns).collect();
        let wanted = wanted.min(absent.len());
        let Some(last) = wanted.checked_sub(1) else { return };
        let last_ns = *absent.select_nth_unstable(last).1;
        let mut together = wanted - absent.iter().filter(|noted_ns| **noted_ns < last_ns).count();
        let mut stays = |past: &Past| match past.noted_ns.cmp(&last_ns) {
            Ordering::Less => false,
            Ordering::Equal if together > 0 => {
                together -= 1;
                false
            }
            _ => true,
        };
        self.past.values_mut().for_each(|of_figure| of_figure.retain(|_, past| stays(past)));
        self.names -= wanted;
    }

    /// Forgets what was there last before `oldest_ns`.
    fn keep_from(&mut self, oldest_ns: u64) {
        self.past.values_mut().for_each(|of_figure| of_figure.retain(|_, past| past.noted_ns >= oldest_ns));
        self.names = self.past.values().map(HashMap::len).sum();
    }
}

impl Past {
    fn note(&mut self, figure: Figure, value: f64, (boot_ns, spacing_s): (u64, f64)) {
        self.noted_ns = boot_ns;
        let kept = ((STRETCH_S / spacing_s) as usize).max(VALUES_LEAST);
        self.values.push_back(value as f32);
        while self.values.len() > kept {
            self.values.pop_front();
        }
        let is_enough = self.values.len() >= VALUES_LEAST && self.values.len() as f64 * spacing_s >= TIME_LEAST_S;
        self.bounds = is_enough.then(|| bounds(figure, self.values.iter().map(|value| f64::from(*value)).collect()));
    }
}

/// Between these a value is usual.
fn bounds(figure: Figure, mut values: Vec<f64>) -> (f64, f64) {
    let middle = median(&mut values);
    values.iter_mut().for_each(|value| *value = (*value - middle).abs());
    let spread = median(&mut values) / DEVIATION_OF_NORMAL;
    let far = (SPREADS * spread).max(figure.part() * middle.abs()).max(figure.least());
    (middle - far, middle + far)
}

fn median(values: &mut [f64]) -> f64 {
    let at = values.len() / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

impl TintedLine {
    /// A figure that stands out by its limit, else by how far it is from what is usual. `text` begins with a blank, which the mark replaces.
    #[must_use]
    pub fn and_figure(self, text: String, limit: Option<Tint>, deviation: Option<Deviation>) -> Self {
        let Some(deviation) = deviation else { return self.and_tinted(text, limit) };
        let blanks = text.len() - text.trim_start_matches(' ').len();
        let (before, figure) = text.split_at(blanks);
        let before = before.get(1..).unwrap_or_default();
        self.and(before).and_tinted(format!("{}{figure}", deviation.mark()), limit.or(Some(Tint::Unusual)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::Colour;

    /// After the figure had these values, one each five seconds.
    fn after(figure: Figure, values: impl IntoIterator<Item = f64>) -> Usual {
        let mut usual = Usual::default();
        for (at, value) in values.into_iter().enumerate() {
            usual.note((at as u64 + 1) * SPACING_NS, [(figure, "", value)]);
        }
        usual
    }

    #[test]
    fn a_figure_deviates_by_its_own_spread_and_by_what_matters() {
        // 30 % give or take 4 points: the spread counts, and what matters of a share, 10 points, is less.
        let shares = (0..100).map(|at| 0.30 + 0.04 * f64::from(at % 3 - 1));
        let usual = after(Figure::CpuBusy, shares);
        let deviation = |value| usual.deviation(Figure::CpuBusy, "", value);
        assert_eq!((deviation(0.45), deviation(0.90)), (None, Some(Deviation::Above)));
        // A disk that did nothing at all: 10 % are no news, 30 % are.
        let calm = after(Figure::DiskBusy, [0.0; 100]);
        let deviation = |value| calm.deviation(Figure::DiskBusy, "", value);
        assert_eq!((deviation(0.1), deviation(0.3)), (None, Some(Deviation::Above)));
        // One that was busy all the time and does nothing.
        let busy = after(Figure::DiskBusy, [0.95; 100]);
        assert_eq!(busy.deviation(Figure::DiskBusy, "", 0.0), Some(Deviation::Below));
        assert_eq!(busy.deviation(Figure::DiskBusy, "sdb", 0.0), None, "another disk");
    }

    #[test]
    fn little_past_tells_nothing_and_a_new_level_becomes_usual() {
        let few = after(Figure::CpuBusy, [0.1; 35]);
        assert_eq!(few.deviation(Figure::CpuBusy, "", 0.9), None, "less than three minutes");
        let enough = after(Figure::CpuBusy, [0.1; 36]);
        assert_eq!(enough.deviation(Figure::CpuBusy, "", 0.9), Some(Deviation::Above));
        let level = |high: usize| std::iter::repeat_n(0.1, 180).chain(std::iter::repeat_n(0.9, high));
        assert!(after(Figure::CpuBusy, level(80)).deviation(Figure::CpuBusy, "", 0.9).is_some(), "seven minutes");
        assert!(after(Figure::CpuBusy, level(100)).deviation(Figure::CpuBusy, "", 0.9).is_none(), "eight minutes");
    }

    #[test]
    fn another_boot_begins_anew_and_memory_is_bounded() {
        let mut usual = after(Figure::CpuBusy, [0.1; 100]);
        assert!(!usual.is_due(100 * SPACING_NS + 1));
        usual.note(7, [(Figure::CpuBusy, "", 0.1)]);
        assert_eq!(usual.deviation(Figure::CpuBusy, "", 0.9), None);
        let names: Vec<String> = (0..3 * NAMES_MAX).map(|at| at.to_string()).collect();
        usual.note(9 * SPACING_NS, names.iter().map(|name| (Figure::DiskBusy, name.as_str(), 0.0)));
        assert_eq!(usual.host.past.values().map(HashMap::len).sum::<usize>(), NAMES_MAX);
        let minute = |at: u64| (9 + 12 * at) * SPACING_NS;
        (1..=16).for_each(|at| usual.note(minute(at), [(Figure::CpuBusy, "", 0.1)]));
        assert_eq!(usual.host.names, 1, "what is gone makes room");
        let long = after(Figure::CpuBusy, [0.1; 999]);
        assert_eq!(long.host.past[&Figure::CpuBusy][""].values.len(), 180);
    }

    #[test]
    fn short_lived_processes_take_no_place_of_disks_and_groups() {
        let mut usual = Usual::default();
        let moment = |usual: &mut Usual, at: u64, is_steady: bool, device: &str| {
            let names: Vec<String> = (0..300).map(|process| format!("{}.1", at * 300 + process)).collect();
            let all = names.iter().map(|name| (Figure::ProcessCpu, name.as_str(), 0.1));
            let all = all.chain(names.iter().map(|name| (Figure::ProcessMemory, name.as_str(), 1e6)));
            let steady = is_steady.then_some((Figure::ProcessCpu, "7.1", 0.1));
            let devices = [(Figure::DiskBusy, device, 0.1), (Figure::GroupCpu, "/web.slice", 0.1)];
            // Those that began last are reported first.
            usual.note(at * SPACING_NS, all.chain(steady).chain(devices));
        };
        (1..=30).for_each(|at| moment(&mut usual, at, at <= 29, "vda"));
        (31..=80).for_each(|at| moment(&mut usual, at, true, "vdb"));
        for (figure, name) in [(Figure::DiskBusy, "vdb"), (Figure::GroupCpu, "/web.slice"), (Figure::ProcessCpu, "7.1")]
        {
            assert_eq!(usual.deviation(figure, name, 0.9), Some(Deviation::Above), "{name}");
        }
        assert_eq!(usual.processes.names, PROCESS_NAMES_MAX);
        assert_eq!(usual.processes.past.values().map(HashMap::len).sum::<usize>(), PROCESS_NAMES_MAX);
    }

    #[test]
    fn the_longest_absent_gives_its_place_and_one_that_is_there_never() {
        let mut table = PastTable::default();
        let note = |table: &mut PastTable, second: u64, names: &[&str]| {
            let figures = names.iter().map(|name| (Figure::DiskBusy, *name, 0.0)).collect();
            table.note((second, 5.0), figures, 3);
        };
        let kept = |table: &PastTable| {
            let mut names: Vec<String> = table.past[&Figure::DiskBusy].keys().map(ToString::to_string).collect();
            names.sort_unstable();
            names.concat()
        };
        note(&mut table, 1, &["a", "b", "c"]);
        note(&mut table, 2, &["b", "c"]);
        note(&mut table, 3, &["c", "d"]);
        assert_eq!(kept(&table), "bcd", "a was absent longest");
        note(&mut table, 4, &["e", "f", "g", "c"]);
        assert_eq!((kept(&table).as_str(), table.names), ("cef", 3), "c is there, and no place is left for g");
    }

    #[test]
    fn the_mark_takes_the_place_of_a_blank() {
        let line = TintedLine::of("cpu").and_figure("  62.4".to_owned(), None, Some(Deviation::Above));
        assert_eq!(line.text(Colour::Off), "cpu ^62.4\n");
        assert_eq!(line.text(Colour::On), "cpu \u{1b}[1;35m^62.4\u{1b}[0m\n");
        let plain = TintedLine::of("cpu").and_figure("  62.4".to_owned(), None, None);
        assert_eq!(plain.text(Colour::Off), "cpu  62.4\n");
        let limited = TintedLine::default().and_figure(" 0.0".into(), Some(Tint::Bad), Some(Deviation::Below));
        assert_eq!(limited.text(Colour::On), "\u{1b}[1;31mv0.0\u{1b}[0m\n");
    }
}
