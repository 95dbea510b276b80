//! `mh crew` on a terminal: who holds what, as it changes, and keys to give orders with.
//! Shows and orders what `mh crew` without a screen does; decides nothing.

use super::{NAME, failure, show};
use crew::budget::census::{Census, CensusRun, RunState};
use crew::budget::orders::{PauseOrder, RunOrder, give};
use crew::budget::watch::Watch;
use crew::budget::{CrewDirectory, Priority};
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::screen::{LiveScreen, ScreenContent};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use sys::signals::{ENDING, SignalSet, die_by};
use terminal::full_screen::{Bell, Canvas, FullScreen, KeyEffect, ScreenEnd};

/// How long a screen that shows runs sleeps at most: their times go on, and hands that nobody waits for move in silence.
const LOOK: Duration = Duration::from_secs(1);
/// The same where there are none: a run that comes rings.
const LOOK_AT_NOTHING: Duration = Duration::from_secs(3600);

const KEYS: &str = "up/down choose   p pause, resume   + - class   ? help   q leave";

const HELP: &[&str] = &[
    "HOLDS      cores that it uses now; +1: one that its runner or a make holds",
    "WANTS      cores that it uses or waits for",
    "USEFUL TO  more than these would not make it faster",
    "lent       beyond its share, as nobody else wants it now",
    "",
    "p          the chosen run gives its cores back and rests; again: it goes on",
    "+ -        its class: high, normal, low, idle; higher ones are served first",
    "arrows     choose a run; home, end, page up and page down too",
    "q          leave, as escape and ctrl-c do; no run notices",
    "",
    "any key: back",
];

/// What the watching thread has seen last.
type Seen = Arc<Mutex<Result<Census, String>>>;

/// Shows the directory's table until a key or a signal ends it.
pub fn open(directory: &CrewDirectory) -> Result<Outcome, Failure> {
    let watch = Watch::open(directory).map_err(|error| failure("watch the table", &error))?;
    let refused = |error: std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("take the terminal over: {}; --once needs none", with_causes(&error)),
    };
    let signals = SignalSet::hold_back(ENDING).map_err(refused)?;
    let mut screen = FullScreen::enter().map_err(refused)?;
    let seen: Seen = Arc::new(Mutex::new(Ok(Census::default())));
    let (bell, ending) = (screen.bell(), screen.bell());
    let shared = Arc::clone(&seen);
    let threads =
        std::thread::Builder::new().name("table".to_owned()).spawn(move || keep_looking(watch, &shared, &bell));
    threads.map_err(refused)?;
    let threads = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(signal) = signals.wait() {
            ending.end(signal);
        }
    });
    threads.map_err(refused)?;
    let mut runs = LiveScreen::new(Runs::new(directory.clone(), seen));
    let left = screen.show(&mut runs).map_err(refused)?;
    drop(screen);
    match left {
        ScreenEnd::Ended(signal) => die_by(signal),
        ScreenEnd::ByKey | ScreenEnd::Gone => Ok(Outcome::Done),
    }
}

/// Rings when there is something new to be seen.
fn keep_looking(mut watch: Watch, seen: &Seen, bell: &Bell) {
    loop {
        let since = watch.moment();
        let now = watch.census().map_err(|error| with_causes(&error));
        let is_empty = now.as_ref().is_ok_and(|census| census.runs.is_empty());
        {
            let mut seen = seen.lock();
            if *seen != now {
                *seen = now;
                bell.ring();
            }
        }
        watch.sleep(since, if is_empty { LOOK_AT_NOTHING } else { LOOK });
    }
}

/// What is shown.
struct Runs {
    directory: CrewDirectory,
    seen: Seen,
    shown: Result<Census, String>,
    /// The chosen run's process: rows move, it does not.
    chosen: u32,
    /// What came of the last order.
    said: String,
}

impl Runs {
    fn new(directory: CrewDirectory, seen: Seen) -> Self {
        Self { directory, seen, shown: Ok(Census::default()), chosen: 0, said: String::new() }
    }

    fn runs(&self) -> &[CensusRun] {
        self.shown.as_ref().map_or(&[], |census| &census.runs)
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
            Ok(_) => format!("{pid}: {what}, from its next yield point on"),
            Err(error) => format!("could not change the table: {}", with_causes(&error)),
        };
        KeyEffect::Draw
    }

    /// The next key begins where this one has led, though nobody has looked at the table since.
    fn note_class(&mut self, pid: u32, class: Priority) {
        let mut seen = self.seen.lock();
        for census in [&mut self.shown, &mut *seen].into_iter().flatten() {
            census.runs.iter_mut().filter(|run| run.pid == pid).for_each(|run| run.class = class);
        }
    }
}

fn pause(run: &CensusRun) -> Option<(RunOrder, String)> {
    let (pause, word) =
        if run.state == RunState::Paused { (PauseOrder::GoOn, "goes on") } else { (PauseOrder::Rest, "pauses") };
    Some((RunOrder { pause: Some(pause), ..RunOrder::default() }, word.to_owned()))
}

/// The classes, lowest first.
const CLASSES: [Priority; 4] = [Priority::Idle, Priority::Low, Priority::Normal, Priority::High];

/// The class that is `steps` above the run's; none where there is none.
fn class(run: &CensusRun, steps: isize) -> Option<(RunOrder, String)> {
    let at = CLASSES.iter().position(|class| *class == run.class)?.checked_add_signed(steps)?;
    let class = *CLASSES.get(at)?;
    Some((RunOrder { class: Some(class), ..RunOrder::default() }, format!("class {class:?}").to_lowercase()))
}

/// What it all amounts to, in a sentence.
fn verdict(census: &Census) -> String {
    let waiting: Vec<&CensusRun> = census.runs.iter().filter(|run| run.state == RunState::Waiting).collect();
    let held = show::held(census);
    match waiting[..] {
        _ if census.runs.is_empty() => "no run shares the cores now".to_owned(),
        [] => format!("nobody waits: {held} of {} are held", show::cores(census.cpus)),
        [run] => format!("{} waits: {}", run.pid, run.why),
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
            Ok(census) => {
                canvas.heading(0, &verdict(census));
                if let Some(run) = census.runs.get(self.position()) {
                    canvas.line(1, &show::numbers(census));
                    canvas.table(2, last.saturating_sub(4), &show::table(census), self.position());
                    canvas.line(
                        last.saturating_sub(2),
                        &format!("{} is {}: {}", run.pid, show::state(run.state), run.why),
                    );
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
        match letter {
            'p' => self.order(pause),
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
    use terminal::full_screen::{Key, ScreenView, drawn};

    fn run(pid: u32, class: Priority, state: RunState) -> CensusRun {
        let why = if state == RunState::Waiting { "runs of a higher class have the CPUs" } else { "has all it wants" };
        let (what, why, weight) = (format!("tamp \u{1b}[2J{pid}"), why.to_owned(), Weight::default());
        let (holds, wants, useful) = (1, 2, 2);
        let (above_capacity, lent, inherited, external, seconds, is_job_slots) = (0, 0, 0, 0, 75, false);
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
            is_job_slots,
            what,
            state,
            why,
        }
    }

    fn screen(runs: Vec<CensusRun>) -> LiveScreen<Runs> {
        let census = Census { cpus: 2, free: 0, used_by_others: 0, above_capacity: 0, runs };
        let seen = Arc::new(Mutex::new(Ok(census)));
        let mut screen = LiveScreen::new(Runs::new(CrewDirectory::at("/nowhere/at/all"), seen));
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
            assert!(lines[3].starts_with(">  11  high") && lines[3].contains("tamp \\x1b[2J11"), "{text}");
            assert_eq!(lines[usize::from(rows) - 3], "11 is working: has all it wants");
            assert_eq!(lines[usize::from(rows) - 1], KEYS);
        }
        let _no_panic = drawn(&screen, 5, 2);
    }

    #[test]
    fn the_chosen_run_stays_chosen_while_rows_move_and_orders_go_to_it() {
        let (first, second) = (run(11, Priority::High, RunState::Working), run(22, Priority::Low, RunState::Waiting));
        let mut screen = screen(vec![first.clone(), second.clone()]);
        assert_eq!(screen.key(Key::Down), KeyEffect::Draw);
        *screen.content.seen.lock() =
            Ok(Census { cpus: 2, free: 0, used_by_others: 0, above_capacity: 0, runs: vec![second.clone(), first] });
        assert!(screen.refresh());
        assert_eq!((screen.content.chosen, screen.content.position()), (22, 0));
        assert_eq!(class(&second, 1).map(|(order, _)| order.class), Some(Some(Priority::Normal)));
        assert!(class(&run(1, Priority::Idle, RunState::Working), -1).is_none(), "there is nothing below idle");
        assert_eq!(
            pause(&run(1, Priority::Idle, RunState::Paused)).map(|(order, _)| order.pause),
            Some(Some(PauseOrder::GoOn))
        );
        screen.key(Key::Letter('p'));
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
    fn nobody_there_is_said() {
        assert!(
            drawn(
                &LiveScreen::new(Runs::new(CrewDirectory::at("/nowhere"), Arc::new(Mutex::new(Ok(Census::default()))))),
                80,
                24
            )
            .starts_with("no run shares the cores now\n")
        );
    }
}
