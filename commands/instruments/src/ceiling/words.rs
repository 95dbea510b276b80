//! A judgement as people and programs read it: one sentence that a manager understands, then the threads.
//! Pure functions; the numbers come from `observe`.

use mh_kit::instrument::csv_field;
use mh_kit::instrument::live::Page;
use mh_kit::instrument::look::TextLook;
use observe::ceiling::{CeilingFinding, Limit};
use observe::crowding::Crowding;
use observe::tier::Tier;
use serde::Serialize;
use terminal::{Align, TextTable, Tint};

/// What was found in one interval.
#[derive(Serialize)]
pub struct Judged {
    /// Which rights the numbers needed.
    pub tier: Tier,
    /// When it ended.
    pub wall_ns: u64,
    /// How long it was.
    pub elapsed_ns: u64,
    /// Cores that were used; none where the machine does not say.
    pub busy_cores: Option<f64>,
    /// Of these, by processes that ended meanwhile or cannot be seen; none where the machine does not say, or some were asked for.
    pub unaccounted_cores: Option<f64>,
    /// CPUs that are switched on.
    pub online_cpus: u32,
    /// That all of them are busy; none if not, or if only some threads are judged.
    pub crowding: Option<Crowding>,
    /// Whose threads are judged.
    #[serde(skip)]
    pub scope: CeilingScope,
    /// The threads that are held back.
    pub threads: Vec<Told>,
}

/// Whose threads are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingScope {
    /// All.
    Everybody,
    /// Those of listed processes.
    AskedFor,
    /// All but some.
    NotIgnored,
}

/// A thread that is held back, and what may be known besides.
#[derive(Serialize)]
pub struct Told {
    /// What was found.
    #[serde(flatten)]
    pub finding: CeilingFinding,
    /// Where in the kernel it waits.
    pub wait_channel: Option<String>,
    /// Since when it has been so.
    pub since_ns: Option<u64>,
    /// CPUs that it may run on.
    pub may_run_on: Option<u32>,
}

impl Judged {
    /// One line.
    pub fn json(&self) -> String {
        mh_kit::report::json_line(self)
    }

    /// The sentence and the table.
    pub fn text(&self, with_since: bool, look: TextLook) -> String {
        let verdict = look.verdict(self.tint(), &terminal::printable(&self.verdict()));
        let table = if self.threads.is_empty() { String::new() } else { look.table(self.table(with_since)) };
        format!("{verdict}\n{table}{}\n", look.prose(&self.source()))
    }

    /// How the verdict stands out.
    fn tint(&self) -> Tint {
        match (self.threads.is_empty(), self.notable_unseen()) {
            _ if self.short().is_some() => Tint::Bad,
            (false, _) => Tint::Bad,
            (true, Some(_)) => Tint::Warning,
            (true, None) if self.crowding.is_some() => Tint::Warning,
            (true, None) => Tint::Good,
        }
    }

    /// That all CPUs are busy and threads waited for one, if no thread says more.
    fn short(&self) -> Option<Crowding> {
        let says_more = self.threads.first().is_some_and(|told| told.finding.limit != Limit::IoBound);
        self.crowding.filter(|crowding| crowding.is_short() && !says_more)
    }

    /// Cores of processes that nobody could judge, where they are many.
    fn notable_unseen(&self) -> Option<f64> {
        self.unaccounted_cores.filter(|cores| *cores >= UNSEEN_NOTABLE * f64::from(self.online_cpus))
    }

    /// The same for a screen.
    pub fn page(&self, look: TextLook) -> Page {
        Page::new(&self.verdict(), &self.table(true).to_string(), &self.source()).tinted(look, self.tint())
    }

    /// A line a thread; the heading unless there was one.
    pub fn csv(&self, has_begun: bool) -> String {
        let mut text = String::new();
        if !has_begun {
            text.push_str(
                "TIME,TIER,STATE,SINCE,PID,TID,ON CPU,WAITED,STOLEN,DISK,GROUP,WAITS IN,NAME,PROCESS,COMMAND\n",
            );
        }
        let seconds = |wall_ns: u64| format!("{:.3}", wall_ns as f64 / 1e9);
        for Told { finding, wait_channel, since_ns, .. } in &self.threads {
            let CeilingFinding { on_cpu, waited, stolen, in_disk_sleep, .. } = finding;
            let (group, channel) = (finding.group.as_deref().unwrap_or(""), wait_channel.as_deref().unwrap_or(""));
            let names = [group, channel, &finding.name, &finding.process, &finding.command].map(csv_field).join(",");
            text.push_str(&format!(
                "{},{},{},{},{},{},{on_cpu:.4},{waited:.4},{stolen:.4},{in_disk_sleep:.4},{names}\n",
                seconds(self.wall_ns),
                self.tier,
                state(finding.limit),
                since_ns.map(seconds).unwrap_or_default(),
                finding.pid,
                finding.tid,
            ));
        }
        text
    }

    /// Where the numbers come from.
    fn source(&self) -> String {
        format!("threads' own counters, and looks at their states (tier: {})", self.tier)
    }

    fn table(&self, with_since: bool) -> TextTable {
        use Align::{Left, Right};
        let aligns = [Right, Right, Right, Right, Right, Left, Left, Left, Left];
        let mut table = TextTable::new(&aligns).dropping(&[6, 7, 4]);
        table.row(["PID", "TID", "ON CPU", "WAITED", "DISK", "STATE", "FOR", "WAITS IN", "COMMAND"]);
        for told in &self.threads {
            table.row(self.cells(told, with_since));
        }
        table
    }

    fn cells(&self, told: &Told, with_since: bool) -> [String; 9] {
        let finding = &told.finding;
        let since = told.since_ns.filter(|_| with_since).map(|since_ns| {
            let nanoseconds = self.wall_ns.saturating_sub(since_ns);
            terminal::duration_coarse(std::time::Duration::from_nanos(nanoseconds))
        });
        let (on_cpu, waited) = rounded_together(finding.on_cpu, finding.waited);
        [
            finding.pid.to_string(),
            finding.tid.to_string(),
            terminal::percentage(on_cpu),
            terminal::percentage(waited),
            terminal::percentage_whole(finding.in_disk_sleep),
            state(finding.limit).to_owned(),
            since.unwrap_or_else(|| "-".to_owned()),
            told.wait_channel.clone().unwrap_or_else(|| "-".to_owned()),
            command(finding),
        ]
    }

    /// The first line: the state of the worst thread, and what would help.
    fn verdict(&self) -> String {
        if let Some(crowding) = self.short() {
            return self.short_of_cpus(crowding);
        }
        let Some(told) = self.threads.first() else { return self.nobody_is_held_back() };
        let busy = self.busy();
        let finding = &told.finding;
        let who = format!("{} ({}) thread {}", finding.process, finding.pid, finding.tid);
        let seconds = |share: f64| terminal::four_digits(share.min(1.0) * finding.elapsed_ns as f64 / 1e9);
        let of = format!("of {} s", terminal::four_digits(finding.elapsed_ns as f64 / 1e9));
        let others = match self.threads.len() {
            1 => String::new(),
            count => format!(" {} more threads are held back.", count - 1),
        };
        let sentence = match finding.limit {
            Limit::Ceiling => format!(
                "maxed out: {who} has used one whole core for {} {of}. {busy}; more CPUs will not make it faster.",
                seconds(finding.on_cpu)
            ),
            Limit::Starved => format!(
                "short of CPUs: {who} could run and had no CPU for {} {of}. {busy}; {}.",
                seconds(finding.waited),
                self.remedy(told)
            ),
            Limit::Throttled => format!(
                "throttled: {who} could run and had no CPU for {} {of}, held back by the quota of {}. {busy}; a larger quota \
                 will make it faster.",
                seconds(finding.waited),
                finding.group.as_deref().unwrap_or("its control group")
            ),
            Limit::Stolen => format!(
                "stolen from: the hypervisor took {} {of} from the CPU of {who}. {busy}; this machine cannot change that.",
                seconds(finding.stolen)
            ),
            Limit::IoBound => format!(
                "bound by I/O: {who} waited for a disk for {} of its time. {busy}; more CPUs will not make it \
                 faster.",
                terminal::percentage_whole(finding.in_disk_sleep)
            ),
        };
        sentence + &others
    }

    fn all_are_busy(&self) -> String {
        match self.online_cpus {
            1 => "the only CPU is busy".to_owned(),
            count => format!("all {count} CPUs are busy"),
        }
    }

    fn short_of_cpus(&self, crowding: Crowding) -> String {
        let at_disks = match self.threads.len() {
            0 => String::new(),
            1 => " 1 thread waits for a disk.".to_owned(),
            count => format!(" {count} threads wait for a disk."),
        };
        format!(
            "short of CPUs: {}, and threads waited for one {} of the time, though no single thread is held \
             back by that.{} More CPUs, or less load, will make them faster.{at_disks}",
            self.all_are_busy(),
            terminal::percentage_whole(crowding.waited.unwrap_or_default()),
            self.unseen()
        )
    }

    fn nobody_is_held_back(&self) -> String {
        if let Some(Crowding { waited }) = self.crowding {
            let waited = waited
                .map(|share| format!(" Threads waited for one {} of the time.", terminal::percentage_whole(share)));
            return format!(
                "{}, though no single thread is held back.{}{}",
                self.all_are_busy(),
                waited.unwrap_or_default(),
                self.unseen()
            );
        }
        let busy = self.busy();
        let nobody = match self.scope {
            CeilingScope::Everybody => "no thread",
            CeilingScope::AskedFor => "none of the threads asked for",
            CeilingScope::NotIgnored => "none of the threads that are not ignored",
        };
        match self.notable_unseen() {
            None => format!("not maxed out: {nobody} is held back. {busy}."),
            Some(cores) => format!(
                "not maxed out as far as can be seen: {nobody} is held back. {busy}, {cores:.1} of them with processes that \
                 ended meanwhile or are hidden from here."
            ),
        }
    }

    /// Of busy CPUs, those of processes that nobody could judge.
    fn unseen(&self) -> String {
        let text = |cores| {
            format!(" {cores:.1} of the CPUs were busy with processes that ended meanwhile or are hidden from here.")
        };
        self.notable_unseen().map(text).unwrap_or_default()
    }

    fn remedy(&self, told: &Told) -> String {
        match told.may_run_on {
            Some(allowed) if allowed < self.online_cpus => {
                format!("it may use {allowed} of {} CPUs (affinity), and others use them too", self.online_cpus)
            }
            _ => "others had them: more CPUs, or less load, will make it faster".to_owned(),
        }
    }

    /// `1.02 of 256 CPUs are busy`.
    fn busy(&self) -> String {
        let online = self.online_cpus;
        match self.busy_cores {
            Some(busy) => {
                let busy = busy.min(f64::from(online.max(1)));
                format!("{busy:.1} of {online} CPUs are busy")
            }
            None => format!("{online} CPUs are switched on"),
        }
    }
}

/// Both as they are shown: rounded one by one they might make up more than the time.
fn rounded_together(on_cpu: f64, waited: f64) -> (f64, f64) {
    /// Steps of what is shown in the whole.
    const STEPS: f64 = 1000.0;
    let on_cpu = (on_cpu * STEPS).round();
    let waited = (waited * STEPS).round().min((STEPS - on_cpu).max(0.0));
    (on_cpu / STEPS, waited / STEPS)
}

/// So much of the machine used by nobody who could be judged makes the verdict doubtful: as much as makes a thread starved.
const UNSEEN_NOTABLE: f64 = 0.10;

fn state(limit: Limit) -> &'static str {
    match limit {
        Limit::Ceiling => "ceiling",
        Limit::Starved => "starved",
        Limit::Throttled => "throttled",
        Limit::Stolen => "stolen",
        Limit::IoBound => "I/O-bound",
    }
}

/// `mysqld: log_writer`.
fn command(finding: &CeilingFinding) -> String {
    if finding.name == finding.process {
        finding.command.clone()
    } else {
        format!("{}: {}", finding.process, finding.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limit: Limit) -> Judged {
        let finding = CeilingFinding {
            limit,
            pid: 7141,
            tid: 7188,
            name: "log_writer".into(),
            process: "mysqld".into(),
            command: "/usr/sbin/mysqld".into(),
            on_cpu: 0.98,
            waited: 0.4,
            stolen: 0.3,
            in_disk_sleep: 0.8,
            group: Some("/cg/x".into()),
            cpu: Some(3),
            elapsed_ns: 10_000_000_000,
        };
        let told = Told { finding, wait_channel: None, since_ns: Some(0), may_run_on: Some(4) };
        Judged {
            tier: Tier::NoRights,
            wall_ns: 90_000_000_000,
            elapsed_ns: 10_000_000_000,
            busy_cores: Some(1.02),
            unaccounted_cores: Some(0.9),
            online_cpus: 256,
            crowding: None,
            scope: CeilingScope::Everybody,
            threads: vec![told],
        }
    }

    #[test]
    fn the_first_line_says_who_and_what_would_help() {
        for (limit, sentence) in [
            (
                Limit::Ceiling,
                "maxed out: mysqld (7141) thread 7188 has used one whole core for 9.800 of 10.00 s. 1.0 of 256 CPUs are \
                 busy; more CPUs will not make it faster.",
            ),
            (
                Limit::Starved,
                "short of CPUs: mysqld (7141) thread 7188 could run and had no CPU for 4.000 of 10.00 s. 1.0 of 256 CPUs \
                 are busy; it may use 4 of 256 CPUs (affinity), and others use them too.",
            ),
        ] {
            assert_eq!(judged(limit).text(false, TextLook::PLAIN).lines().next(), Some(sentence));
        }
        assert!(judged(Limit::Throttled).text(false, TextLook::PLAIN).contains("quota of /cg/x"));
        assert!(judged(Limit::Stolen).text(false, TextLook::PLAIN).contains("took 3.000 of 10.00 s"));
        assert!(judged(Limit::IoBound).text(false, TextLook::PLAIN).contains("80 % of its time"));
        assert!(judged(Limit::Ceiling).text(true, TextLook::PLAIN).contains("1 min 30 s"));
        let nobody = Judged { threads: Vec::new(), ..judged(Limit::Ceiling) };
        assert_eq!(
            nobody.text(false, TextLook::PLAIN),
            "not maxed out: no thread is held back. 1.0 of 256 CPUs are busy.\n\
             threads' own counters, and looks at their states (tier: no rights)\n"
        );
        let hidden = Judged { online_cpus: 4, ..nobody };
        assert!(
            hidden
                .text(false, TextLook::PLAIN)
                .contains("as far as can be seen: no thread is held back. 1.0 of 4 CPUs are busy, 0.9 of")
        );
    }

    #[test]
    fn a_machine_whose_cpus_are_all_busy_is_not_called_idle() {
        let first = |judged: &Judged| judged.text(false, TextLook::PLAIN).lines().next().expect("a line").to_owned();
        let crowded = |waited| Judged {
            online_cpus: 2,
            unaccounted_cores: None,
            crowding: Some(Crowding { waited }),
            threads: Vec::new(),
            ..judged(Limit::IoBound)
        };
        let short = crowded(Some(0.97));
        assert_eq!(
            (first(&short).as_str(), short.tint()),
            (
                "short of CPUs: all 2 CPUs are busy, and threads waited for one 97 % of the time, though no single thread is \
                 held back by that. More CPUs, or less load, will make them faster.",
                Tint::Bad
            )
        );
        let with_disk = Judged { threads: judged(Limit::IoBound).threads, ..crowded(Some(0.97)) };
        assert!(first(&with_disk).starts_with("short of CPUs: all 2 "), "{}", first(&with_disk));
        assert!(first(&with_disk).ends_with(" 1 thread waits for a disk."));
        let spinning = Judged { threads: judged(Limit::Ceiling).threads, ..crowded(Some(0.97)) };
        assert!(first(&spinning).starts_with("maxed out: "));
        let full = Judged { unaccounted_cores: Some(1.5), ..crowded(Some(0.04)) };
        assert_eq!(
            (first(&full).as_str(), full.tint()),
            (
                "all 2 CPUs are busy, though no single thread is held back. Threads waited for one 4 % of the time. 1.5 of the \
                 CPUs were busy with processes that ended meanwhile or are hidden from here.",
                Tint::Warning
            )
        );
        let unknown = first(&crowded(None));
        assert_eq!(unknown, "all 2 CPUs are busy, though no single thread is held back.");
        assert_eq!(crowded(None).tint(), Tint::Warning);
        let asked = Judged { scope: CeilingScope::AskedFor, crowding: None, ..crowded(None) };
        assert!(first(&asked).starts_with("not maxed out: none of the threads asked for is held back. 1.0 of 2 "));
    }

    #[test]
    fn shares_that_are_rounded_make_up_no_more_than_the_time() {
        for (on_cpu, waited, shown) in [
            (0.32155, 0.67845, "32.2 % 67.8 %"),
            (0.32145, 0.67855, "32.1 % 67.9 %"),
            (0.5, 0.4, "50.0 % 40.0 %"),
            (1.0004, 0.0, "100.0 % 0.0 %"),
            (1.013, 0.0, "101.3 % 0.0 %"),
        ] {
            let (on_cpu, waited) = rounded_together(on_cpu, waited);
            assert_eq!(format!("{} {}", terminal::percentage(on_cpu), terminal::percentage(waited)), shown);
        }
    }

    #[test]
    fn hostile_names_steer_no_terminal() {
        let mut judged = judged(Limit::Ceiling);
        judged.threads[0].finding.process = "\x1b[2J\n".into();
        assert!(!judged.text(false, TextLook::PLAIN).contains('\x1b'));
        assert_eq!(judged.text(false, TextLook::PLAIN).lines().count(), 4);
        assert!(!judged.json().trim_end().contains('\n'));
        judged.threads[0].finding.command = "a,\"b\"\n".into();
        let csv = judged.csv(false);
        let line = csv.lines().nth(1).expect("a thread");
        assert!(
            line.starts_with("90.000,no rights,ceiling,0.000,7141,7188,0.9800,0.4000,0.3000,0.8000,/cg/x,,log_writer,")
        );
        assert!(line.ends_with("\\x1b[2J\\n,\"a,\"\"b\"\"\\n\"") && csv.lines().count() == 2, "{line}");
        assert_eq!(judged.csv(true).lines().count(), 1);
    }
}
