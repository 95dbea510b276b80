//! `mh crew` on a terminal: who holds what, as it changes, and keys to give orders with.
//! Shows and orders what `mh crew` without a screen does; decides nothing.

use super::show::CensusView;
use super::usage::{OwnSession, RunUsages, UsageLook};
use super::{NAME, failure, show};
use crew::budget::census::{Census, CensusRun, RunState};
use crew::budget::orders::{PauseOrder, RunOrder, give};
use crew::budget::watch::Watch;
use crew::budget::{CrewDirectory, Priority};
use machine::Host;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::screen::{LiveScreen, ScreenContent};
use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::signals::{ENDING, SignalSet, die_by};
use terminal::full_screen::{Bell, Canvas, FullScreen, KeyEffect, ScreenEnd};
use terminal::{Colour, Tint};

/// How long a screen sleeps at most where there are none: a run that comes rings.
const LOOK_AT_NOTHING: Duration = Duration::from_secs(3600);

const KEYS: &str = "up/down choose   p pause, resume   k end   + - class   ? help   q leave";

const HELP: &[&str] = &[
    "CORES      cores that it uses, of those it wants; +1: its runner or a make has it",
    "USEFUL     more cores than these would not make it faster",
    "%CPU       what it used since the last look, with all it started; 100 is one core",
    "DONE RATE  how far it is, where it says so: bytes, entries or jobs",
    "LEFT       until the end at this rate          *  started in this terminal",
    "lent       beyond its share, as nobody else wants it now",
    "",
    "p          the chosen run gives its cores back and rests; again: it goes on",
    "k          ends the chosen run (SIGTERM); both ask before they do it",
    "+ -        its class: high, normal, low, idle; higher ones are served first",
    "arrows     choose a run; home, end, page up and page down too",
    "q          leave, as escape and ctrl-c do; no run notices",
    "",
    "any key: back",
];

/// What the watching thread has seen last.
type SharedSeen = Arc<Mutex<Result<CensusView, String>>>;

/// Shows the directory's table until a key or a signal ends it.
pub fn open(directory: &CrewDirectory, every: Duration, colour: Colour) -> Result<Outcome, Failure> {
    let watch = Watch::open(directory).map_err(|error| failure("watch the table", &error))?;
    let refused = |error: io::Error| Failure::Environment {
        command: NAME,
        message: format!("take the terminal over: {}; --once needs none", with_causes(&error)),
    };
    let signals = SignalSet::hold_back(ENDING).map_err(refused)?;
    let mut screen = FullScreen::enter().map_err(refused)?;
    let seen: SharedSeen = Arc::new(Mutex::new(Ok(CensusView::default())));
    let (bell, ending) = (screen.bell(), screen.bell());
    let shared = Arc::clone(&seen);
    let threads =
        std::thread::Builder::new().name("table".to_owned()).spawn(move || keep_looking(watch, every, &shared, &bell));
    threads.map_err(refused)?;
    let threads = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(signal) = signals.wait() {
            ending.end(signal);
        }
    });
    threads.map_err(refused)?;
    let mut runs = LiveScreen::new(Runs::new(directory.clone(), seen, colour));
    let left = screen.show(&mut runs).map_err(refused)?;
    drop(screen);
    match left {
        ScreenEnd::Ended(signal) => die_by(signal),
        ScreenEnd::ByKey | ScreenEnd::Gone => Ok(Outcome::Done),
    }
}

/// Rings when there is something new to be seen.
fn keep_looking(mut watch: Watch, every: Duration, seen: &SharedSeen, bell: &Bell) {
    let mut uses = Uses::default();
    loop {
        let since = watch.moment();
        let census = watch.census().map_err(|error| with_causes(&error));
        let is_empty = census.as_ref().is_ok_and(|census| census.runs.is_empty());
        let now = census.map(|census| {
            let (usage, own) = (uses.of(&census, every), OwnSession::of(&census));
            CensusView { census, usage, own }
        });
        {
            let mut seen = seen.lock();
            if *seen != now {
                *seen = now;
                bell.ring();
            }
        }
        watch.sleep(since, if is_empty { LOOK_AT_NOTHING } else { every });
    }
}

/// What runs use, measured over whole intervals: the table may change much more often.
#[derive(Default)]
struct Uses {
    earlier: Option<(Instant, UsageLook)>,
    usage: RunUsages,
}

impl Uses {
    fn of(&mut self, census: &Census, every: Duration) -> RunUsages {
        // A little less: the sleep between two looks may be cut short by a hair.
        let is_due = |(at, _): &(Instant, UsageLook)| at.elapsed() >= every.mul_f64(0.9);
        if self.earlier.as_ref().is_none_or(is_due) {
            let now = UsageLook::now(census);
            self.usage = match &self.earlier {
                Some((_, earlier)) => now.since(earlier),
                None => now.on_average(census),
            };
            self.earlier = Some((Instant::now(), now));
        }
        self.usage.clone()
    }
}

/// A question that waits for yes or no, about the run of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Pause(RunProcess),
    End(RunProcess),
}

/// A process, which no later one with the same PID is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunProcess {
    pid: u32,
    start_ticks: u64,
}

impl RunProcess {
    fn of(run: &CensusRun) -> Self {
        Self { pid: run.pid, start_ticks: run.detail.start_ticks }
    }
}

/// What is shown.
struct Runs {
    directory: CrewDirectory,
    seen: SharedSeen,
    shown: Result<CensusView, String>,
    colour: Colour,
    asked: Option<Asked>,
    /// The chosen run's process: rows move, it does not.
    chosen: u32,
    /// What came of the last order.
    said: String,
}

impl Runs {
    fn new(directory: CrewDirectory, seen: SharedSeen, colour: Colour) -> Self {
        let (shown, said) = (Ok(CensusView::default()), String::new());
        Self { directory, seen, shown, colour, asked: None, chosen: 0, said }
    }

    fn runs(&self) -> &[CensusRun] {
        self.shown.as_ref().map_or(&[], |seen| &seen.census.runs)
    }

    /// Asks before the chosen run is disturbed; who is paused goes on at once.
    fn ask(&mut self, letter: char) -> KeyEffect {
        let Some(run) = self.runs().get(self.position()) else { return KeyEffect::Stay };
        let (pid, what) = (run.pid, terminal::printable(&run.what).into_owned());
        let process = RunProcess::of(run);
        let (asked, verb) = match letter {
            // Its PID may be another process's by now.
            _ if run.state == RunState::Dead => {
                self.said = format!("{pid} has ended; a child of it keeps its place");
                return KeyEffect::Draw;
            }
            'k' => (Asked::End(process), "end"),
            _ if run.state == RunState::Paused => return self.order(resume),
            _ => (Asked::Pause(process), "pause"),
        };
        (self.asked, self.said) = (Some(asked), format!("{verb} {pid}? y/n   {what}"));
        KeyEffect::Draw
    }

    /// The answer to a question: only y is yes. The run that was asked about is meant, whichever is chosen by now.
    fn answer(&mut self, asked: Asked, letter: char) -> KeyEffect {
        self.said.clear();
        let (Asked::Pause(process) | Asked::End(process)) = asked;
        let pid = process.pid;
        if letter != 'y' {
            return KeyEffect::Draw;
        }
        let is_meant = |run: &&CensusRun| RunProcess::of(run) == process && run.state != RunState::Dead;
        let Some(run) = self.runs().iter().find(is_meant).cloned() else {
            self.said = format!("{pid} has left");
            return KeyEffect::Draw;
        };
        match asked {
            Asked::Pause(_) => self.give(pid, pause(), "pauses"),
            Asked::End(_) => self.said = end(&run),
        }
        KeyEffect::Draw
    }

    fn give(&mut self, pid: u32, order: RunOrder, what: &str) {
        self.said = match give(&self.directory, pid, order) {
            Ok(0) => format!("{pid} has left"),
            Ok(_) => format!("{pid}: {what} within moments"),
            Err(error) => format!("could not change the table: {}", with_causes(&error)),
        };
    }

    /// Gives the chosen run an order; `what` says it in words.
    fn order(&mut self, make: impl Fn(&CensusRun) -> Option<(RunOrder, String)>) -> KeyEffect {
        let Some(run) = self.runs().get(self.position()) else { return KeyEffect::Stay };
        let Some((order, what)) = make(run) else {
            self.said = format!("{} has no class beyond that", run.pid);
            return KeyEffect::Draw;
        };
        let pid = run.pid;
        let class = order.class;
        let given = give(&self.directory, pid, order);
        if given.as_ref().is_ok_and(|runs| *runs > 0) {
            class.into_iter().for_each(|class| self.note_class(pid, class));
        }
        self.said = match given {
            Ok(0) => format!("{pid} has left"),
            Ok(_) => format!("{pid}: {what} within moments"),
            Err(error) => format!("could not change the table: {}", with_causes(&error)),
        };
        KeyEffect::Draw
    }

    /// The next key begins where this one has led, though nobody has looked at the table since.
    fn note_class(&mut self, pid: u32, class: Priority) {
        let mut seen = self.seen.lock();
        for seen in [&mut self.shown, &mut *seen].into_iter().flatten() {
            seen.census.runs.iter_mut().filter(|run| run.pid == pid).for_each(|run| run.class = class);
        }
    }
}

fn pause() -> RunOrder {
    RunOrder { pause: Some(PauseOrder::Rest), ..RunOrder::default() }
}

fn resume(_run: &CensusRun) -> Option<(RunOrder, String)> {
    Some((RunOrder { pause: Some(PauseOrder::GoOn), ..RunOrder::default() }, "goes on".to_owned()))
}

/// Ends a run as kill(1) does; what came of it.
fn end(run: &CensusRun) -> String {
    let pid = run.pid;
    if !run.detail.is_near {
        return format!("could not end {pid}: it is in another container");
    }
    match send_term(RunProcess::of(run)) {
        Ok(true) => format!("{pid}: told to end (SIGTERM)"),
        Ok(false) => format!("{pid} has left"),
        Err(error) => format!("could not end {pid}: {}", with_causes(&error)),
    }
}

/// Sends SIGTERM to this process and to no other one; whether it was there. The descriptor stands for whoever has the PID when it is opened, and stays with
/// that process: one that began when ours did is ours.
fn send_term(process: RunProcess) -> io::Result<bool> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    let opened = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(false),
        opened => opened?,
    };
    let facts = machine::process_facts(&Host::real(), process.pid).map_err(io::Error::other)?;
    if facts.is_none_or(|facts| facts.start_ticks != process.start_ticks) {
        return Ok(false);
    }
    match pidfd_send_signal(opened, Signal::TERM) {
        Err(Errno::SRCH) => Ok(false),
        sent => Ok(sent.map(|()| true)?),
    }
}

/// The classes, lowest first.
const CLASSES: [Priority; 4] = [Priority::Idle, Priority::Low, Priority::Normal, Priority::High];

/// The class that is `steps` above the run's; none where there is none.
fn class(run: &CensusRun, steps: isize) -> Option<(RunOrder, String)> {
    let at = CLASSES.iter().position(|class| *class == run.class)?.checked_add_signed(steps)?;
    let class = *CLASSES.get(at)?;
    Some((RunOrder { class: Some(class), ..RunOrder::default() }, format!("class {class:?}").to_lowercase()))
}

/// LIMIT: lines of what the chosen run does; the table is 224 bytes wide there.
const WHAT_LINES: usize = 3;

impl Runs {
    fn tint(&self, census: &Census) -> Tint {
        let waits = census.runs.iter().any(|run| run.state == RunState::Waiting);
        match self.colour {
            Colour::Off => Tint::Bold,
            Colour::On if waits => Tint::Warning,
            Colour::On => Tint::Good,
        }
    }
}

/// What it all amounts to, in a sentence.
fn verdict(census: &Census) -> String {
    let waiting: Vec<&CensusRun> = census.runs.iter().filter(|run| run.state == RunState::Waiting).collect();
    let held = show::held(census);
    match waiting[..] {
        _ if census.runs.is_empty() => "no run shares the cores now".to_owned(),
        [] => format!("nobody waits: {held} of {} are held", show::cores(census.cpus)),
        [run] => format!("{} {}", run.pid, show::reason(run)),
        [first, ..] => format!("{} runs wait; {}: {}", waiting.len(), first.pid, first.why),
    }
}

impl ScreenContent for Runs {
    const PAGE: usize = 10;

    fn help(&self) -> impl Iterator<Item = &'static str> {
        HELP.iter().copied()
    }

    fn draw(&self, canvas: &mut Canvas<'_>) {
        let last = canvas.height().saturating_sub(1);
        match &self.shown {
            Err(error) => canvas.heading(0, &format!("could not {error}")),
            Ok(seen) => {
                let census = &seen.census;
                canvas.tinted(0, &verdict(census), self.tint(census));
                if let Some(run) = census.runs.get(self.position()) {
                    canvas.line(1, &show::numbers(census));
                    // The chosen run in full: what it does, and why it has not what it wants.
                    let what = terminal::printable(&run.what);
                    let lines = terminal::wrapped_line(&format!("{}: {what}", run.pid), canvas.width());
                    let shown = lines.len().min(WHAT_LINES);
                    canvas.table(2, last.saturating_sub(4 + shown), &show::table(seen), self.position());
                    let first = last.saturating_sub(2 + shown);
                    lines.iter().take(shown).enumerate().for_each(|(at, line)| canvas.line(first + at, line));
                    canvas.line(last.saturating_sub(2), &format!("{} {}", run.pid, show::reason(run)));
                }
            }
        }
        canvas.line(last.saturating_sub(1), &self.said);
        canvas.line(last, KEYS);
    }

    fn position(&self) -> usize {
        self.runs().iter().position(|run| run.pid == self.chosen).unwrap_or(0)
    }

    fn go_to(&mut self, position: usize) {
        let last = self.runs().len().saturating_sub(1);
        self.chosen = self.runs().get(position.min(last)).map_or(0, |run| run.pid);
    }

    fn letter(&mut self, letter: char) -> KeyEffect {
        if let Some(asked) = self.asked.take() {
            return self.answer(asked, letter);
        }
        match letter {
            'p' | 'k' => self.ask(letter),
            '+' | '=' => self.order(|run| class(run, 1)),
            '-' => self.order(|run| class(run, -1)),
            _ => KeyEffect::Stay,
        }
    }

    fn refresh(&mut self) -> bool {
        let seen = self.seen.lock().clone();
        let is_new = seen != self.shown;
        self.shown = seen;
        // The first while the chosen one is gone.
        self.go_to(self.position());
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::Weight;
    use crew::budget::census::RunDetail;
    use terminal::full_screen::{Key, ScreenView, drawn};

    fn run(pid: u32, class: Priority, state: RunState) -> CensusRun {
        let why = if state == RunState::Waiting { "runs of a higher class have the CPUs" } else { "has all it wants" };
        let (what, why, weight) = (format!("tamp \u{1b}[2J{pid}"), why.to_owned(), Weight::default());
        let (holds, wants, useful) = (1, 2, 2);
        let (above_capacity, lent, inherited, external, seconds) = (0, 0, 0, 0, 75);
        let detail = RunDetail::default();
        CensusRun {
            pid,
            class,
            weight,
            holds,
            above_capacity,
            lent,
            inherited,
            external,
            wants,
            useful,
            seconds,
            detail,
            what,
            state,
            why,
        }
    }

    fn seen(runs: Vec<CensusRun>) -> CensusView {
        let census = Census { cpus: 2, free: 0, used_by_others: 0, above_capacity: 0, runs };
        CensusView { census, ..CensusView::default() }
    }

    fn screen(runs: Vec<CensusRun>) -> LiveScreen<Runs> {
        let seen = Arc::new(Mutex::new(Ok(seen(runs))));
        let mut screen = LiveScreen::new(Runs::new(CrewDirectory::at("/nowhere/at/all"), seen, Colour::Off));
        assert!(screen.refresh(), "there is something to be seen");
        assert!(!screen.refresh(), "and then nothing new");
        screen
    }

    #[test]
    fn the_first_line_answers_and_the_last_one_has_the_keys() {
        let screen =
            screen(vec![run(11, Priority::High, RunState::Working), run(22, Priority::Low, RunState::Waiting)]);
        for (columns, rows) in [(80, 24), (200, 60)] {
            let text = drawn(&screen, columns, rows);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0], "22 waits: runs of a higher class have the CPUs");
            assert_eq!(lines[1], "2 cores: 2 held, 0 lent, 0 free");
            assert_eq!(lines[usize::from(rows) - 4], "11: tamp \\x1b[2J11", "in full");
            assert!(lines[3].starts_with(">  11  high") && lines[3].contains("tamp \\x1b[2J11"), "{text}");
            assert_eq!(lines[usize::from(rows) - 3], "11 works: has all it wants");
            assert_eq!(lines[usize::from(rows) - 1], KEYS);
        }
        let _no_panic = drawn(&screen, 5, 2);
    }

    #[test]
    fn the_chosen_run_stays_chosen_while_rows_move_and_orders_go_to_it() {
        let (first, second) = (run(11, Priority::High, RunState::Working), run(22, Priority::Low, RunState::Waiting));
        let mut screen = screen(vec![first.clone(), second.clone()]);
        assert_eq!(screen.key(Key::Down), KeyEffect::Draw);
        *screen.content.seen.lock() = Ok(seen(vec![second.clone(), first]));
        assert!(screen.refresh());
        assert_eq!((screen.content.chosen, screen.content.position()), (22, 0));
        assert_eq!(class(&second, 1).map(|(order, _)| order.class), Some(Some(Priority::Normal)));
        assert!(class(&run(1, Priority::Idle, RunState::Working), -1).is_none(), "there is nothing below idle");
        assert_eq!(
            resume(&run(1, Priority::Idle, RunState::Paused)).map(|(order, _)| order.pause),
            Some(Some(PauseOrder::GoOn))
        );
        screen.key(Key::Letter('p'));
        assert!(screen.content.said.starts_with("pause 22? y/n"), "{}", screen.content.said);
        screen.key(Key::Letter('y'));
        assert!(
            screen.content.said.contains("could not change the table") || screen.content.said == "22 has left",
            "{}",
            screen.content.said
        );
        screen.key(Key::Letter('?'));
        assert!(drawn(&screen, 80, 24).contains("any key: back"));
        assert_eq!((screen.key(Key::Letter('q')), screen.key(Key::Letter('q'))), (KeyEffect::Draw, KeyEffect::Leave));
    }

    #[test]
    fn a_run_is_paused_or_ended_only_by_a_yes_and_only_the_one_that_was_asked_about() {
        let mut screen =
            screen(vec![run(11, Priority::High, RunState::Working), run(22, Priority::Low, RunState::Waiting)]);
        for (key, question) in [('p', "pause 11? y/n"), ('k', "end 11? y/n")] {
            for no in ['n', 'x', 'k', 'p', '+'] {
                screen.key(Key::Letter(key));
                assert!(drawn(&screen, 80, 24).contains(question));
                screen.key(Key::Letter(no));
                assert_eq!((screen.content.asked, screen.content.said.as_str()), (None, ""), "{key} {no}");
            }
        }
        screen.key(Key::Letter('k'));
        screen.key(Key::Down);
        assert_eq!(
            (screen.content.chosen, screen.content.asked),
            (22, Some(Asked::End(RunProcess { pid: 11, start_ticks: 0 })))
        );
        *screen.content.seen.lock() = Ok(seen(vec![run(22, Priority::Low, RunState::Waiting)]));
        screen.refresh();
        screen.key(Key::Letter('y'));
        assert_eq!(screen.content.said, "11 has left");
        assert!(
            end(&run(11, Priority::High, RunState::Working)).contains("another container"),
            "no number of this one"
        );
    }

    #[test]
    fn only_the_process_of_the_run_is_signalled_whoever_has_its_pid() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("there is a sleep");
        let facts = machine::process_facts(&Host::real(), child.id()).expect("it can be looked at").expect("it lives");
        let with = |start_ticks, state| {
            let detail = RunDetail { is_near: true, start_ticks, ..RunDetail::default() };
            CensusRun { detail, ..run(child.id(), Priority::Low, state) }
        };
        let (own, later) = (with(facts.start_ticks, RunState::Working), with(facts.start_ticks - 1, RunState::Working));
        let left = format!("{} has left", child.id());
        assert_eq!(end(&later), left, "its PID is another process's now");
        // The run that was asked about has left, and a later one has its PID.
        let mut asking = screen(vec![later.clone()]);
        asking.key(Key::Letter('k'));
        *asking.content.seen.lock() = Ok(seen(vec![own.clone()]));
        asking.refresh();
        asking.key(Key::Letter('y'));
        assert_eq!(asking.content.said, left);
        let mut of_the_dead = screen(vec![with(facts.start_ticks, RunState::Dead)]);
        for letter in ['k', 'p'] {
            of_the_dead.key(Key::Letter(letter));
            assert_eq!(of_the_dead.content.asked, None);
            assert!(of_the_dead.content.said.contains("has ended; a child of it keeps its place"), "{letter}");
        }
        assert_eq!(child.try_wait().expect("it is ours"), None, "nobody has signalled it");
        assert!(end(&own).ends_with("told to end (SIGTERM)"));
        let ended = child.wait().expect("it is ours");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(Signal::TERM.as_raw()));
        assert_eq!(end(&own), left);
    }

    #[test]
    fn what_a_waiting_run_does_is_seen_in_colour_where_that_is_wanted() {
        let waiting = seen(vec![run(22, Priority::Low, RunState::Waiting)]);
        let working = seen(vec![run(11, Priority::High, RunState::Working)]);
        let tint = |seen: &CensusView, colour| {
            Runs::new(CrewDirectory::at("/nowhere"), Arc::new(Mutex::new(Ok(CensusView::default()))), colour)
                .tint(&seen.census)
        };
        assert_eq!(tint(&waiting, Colour::On), Tint::Warning);
        assert_eq!((tint(&working, Colour::On), tint(&waiting, Colour::Off)), (Tint::Good, Tint::Bold));
    }

    #[test]
    fn nobody_there_is_said() {
        assert!(
            drawn(
                &LiveScreen::new(Runs::new(
                    CrewDirectory::at("/nowhere"),
                    Arc::new(Mutex::new(Ok(CensusView::default()))),
                    Colour::Off
                )),
                80,
                24
            )
            .starts_with("no run shares the cores now\n")
        );
    }
}
