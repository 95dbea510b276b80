//! What keys do: top's and htop's where those agree. Orders to processes are asked for first, and only `y` is yes.

use super::{At, HostScreen, Sheet};
use crate::sysstat::export;
use crate::sysstat::orders::{ProcessOrderToGive, WantedOrder};
use crate::sysstat::prompt::{Prompt, PromptKind};
use crate::sysstat::table::{ProcessOrder, matches, shown};
use std::time::Duration;
use terminal::full_screen::{Key, KeyEffect};

/// Rows that a page key passes.
const PAGE: usize = 15;
/// Moments in a minute, as keys count them.
const MINUTE_NS: u64 = 60_000_000_000;
/// Intervals that `+` and `-` go through, in milliseconds.
const INTERVALS: [u64; 9] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

pub(super) fn key(screen: &mut HostScreen, key: Key) -> KeyEffect {
    if key == Key::Interrupt {
        return KeyEffect::Leave;
    }
    screen.said.clear();
    if let Some(asked) = screen.asked.take() {
        screen.said = if key == Key::Letter('y') { asked.give() } else { "nothing was done".to_owned() };
        return KeyEffect::Draw;
    }
    if let Some(prompt) = screen.prompt.take() {
        return typed(screen, prompt, key);
    }
    if screen.sheet != Sheet::None {
        return on_sheet(screen, key);
    }
    match key {
        Key::Letter('q') | Key::Function(10) => return KeyEffect::Leave,
        Key::Escape => return escape(screen),
        Key::Letter('?' | 'h') | Key::Function(1) => open(screen, Sheet::Help),
        Key::Letter('x') => open(screen, Sheet::Metrics),
        Key::Enter => open(screen, Sheet::Process),
        Key::Up => choose(screen, -1),
        Key::Down => choose(screen, 1),
        Key::PageUp => choose(screen, -(PAGE as isize)),
        Key::PageDown => choose(screen, PAGE as isize),
        Key::Home => choose(screen, isize::MIN + 1),
        Key::End => choose(screen, isize::MAX),
        Key::Left => screen.choice.order = screen.choice.order.step(-1),
        Key::Right => screen.choice.order = screen.choice.order.step(1),
        Key::Function(3) => ask(screen, PromptKind::Find),
        Key::Function(4) => ask(screen, PromptKind::Only),
        Key::Function(5) => screen.choice.is_tree = !screen.choice.is_tree,
        Key::Function(6) => screen.choice.order = screen.choice.order.step(1),
        Key::Function(7) => ask_nice(screen, -1),
        Key::Function(8) => ask_nice(screen, 1),
        Key::Function(9) => ask(screen, PromptKind::Signal),
        Key::Letter(letter) => return letter_key(screen, letter),
        Key::Backspace | Key::Function(_) | Key::Interrupt => return KeyEffect::Stay,
    }
    KeyEffect::Draw
}

fn letter_key(screen: &mut HostScreen, letter: char) -> KeyEffect {
    match letter {
        '/' => ask(screen, PromptKind::Find),
        '\\' => ask(screen, PromptKind::Only),
        'n' => find(screen, &screen.choice.only.clone()),
        'u' => ask(screen, PromptKind::User),
        'k' => ask(screen, PromptKind::Signal),
        'r' => ask(screen, PromptKind::Nice),
        'b' => ask(screen, PromptKind::Time),
        't' => screen.choice.is_tree = !screen.choice.is_tree,
        'H' => threads(screen),
        'P' => screen.choice.order = ProcessOrder::Cpu,
        'M' => screen.choice.order = ProcessOrder::Memory,
        'T' => screen.choice.order = ProcessOrder::Time,
        'N' => screen.choice.order = ProcessOrder::Pid,
        'D' => screen.choice.order = ProcessOrder::Transfer,
        'W' => screen.choice.order = ProcessOrder::Wait,
        '<' => screen.choice.order = screen.choice.order.step(-1),
        '>' => screen.choice.order = screen.choice.order.step(1),
        'Z' | ' ' => hold(screen),
        '[' => screen.step(-1),
        ']' => screen.step(1),
        '{' => minute(screen, -1),
        '}' => minute(screen, 1),
        '+' => pace(screen, 1),
        '-' => pace(screen, -1),
        'v' => screen.expanded.verdicts = !screen.expanded.verdicts,
        '1' => screen.expanded.cpus = !screen.expanded.cpus,
        '2' | '3' | '4' => screen.expanded.devices = !screen.expanded.devices,
        '5' => screen.only_processes = !screen.only_processes,
        '6' => screen.expanded.groups = !screen.expanded.groups,
        'e' => expand(screen),
        'w' => screen.said = export::write_view(&screen.shown, &screen.facts),
        _ => return KeyEffect::Stay,
    }
    KeyEffect::Draw
}

/// Escape takes back, one thing after the other, and leaves when there is nothing more.
fn escape(screen: &mut HostScreen) -> KeyEffect {
    let is_live = screen.shared.session.lock().is_live();
    if screen.at != At::Newest && is_live {
        screen.at = At::Newest;
        screen.take();
    } else if !screen.choice.only.is_empty() || screen.choice.user.is_some() {
        screen.choice.only.clear();
        screen.choice.user = None;
    } else if screen.choice.chosen.is_some() {
        screen.choice.chosen = None;
    } else {
        return KeyEffect::Leave;
    }
    KeyEffect::Draw
}

fn open(screen: &mut HostScreen, sheet: Sheet) {
    (screen.sheet, screen.top) = (sheet, 0);
}

fn on_sheet(screen: &mut HostScreen, key: Key) -> KeyEffect {
    let top = screen.top;
    screen.top = match key {
        Key::Up => top.saturating_sub(1),
        Key::Down => top + 1,
        Key::PageUp => top.saturating_sub(PAGE),
        Key::PageDown => top + PAGE,
        Key::Home => 0,
        Key::Letter('q') => return KeyEffect::Leave,
        _ => {
            screen.sheet = Sheet::None;
            0
        }
    };
    // The longest sheet is the list of metrics.
    screen.top = screen.top.min(export::metrics(&screen.shown.interval()).len().saturating_sub(1));
    KeyEffect::Draw
}

/// Chooses a process some rows up or down; the first where none is chosen.
fn choose(screen: &mut HostScreen, by: isize) {
    let all = shown(&screen.shown.later, &screen.accounts, &screen.choice);
    let at = screen.choice.chosen.and_then(|pid| all.iter().position(|one| one.line.id.pid == pid));
    let to = match at {
        Some(at) => at.saturating_add_signed(by).min(all.len().saturating_sub(1)),
        None if by == isize::MAX => all.len().saturating_sub(1),
        None => 0,
    };
    screen.choice.chosen = all.get(to).map(|one| one.line.id.pid);
}

/// Chooses the next process that has `wanted` in it.
fn find(screen: &mut HostScreen, wanted: &str) {
    let wanted = wanted.to_lowercase();
    let all = shown(&screen.shown.later, &screen.accounts, &screen.choice);
    let from =
        screen.choice.chosen.and_then(|pid| all.iter().position(|one| one.line.id.pid == pid)).map_or(0, |at| at + 1);
    let found = (0..all.len())
        .map(|step| &all[(from + step) % all.len()])
        .find(|one| matches(one.line, &screen.accounts, &wanted));
    match found.map(|one| one.line.id.pid) {
        Some(pid) => screen.choice.chosen = Some(pid),
        None => screen.said = format!("no process has {wanted:?} in it"),
    }
}

fn hold(screen: &mut HostScreen) {
    let places = screen.shared.session.lock().places();
    let last = places.end.saturating_sub(1);
    let is_live = screen.shared.session.lock().is_live();
    screen.at = match screen.at {
        At::Newest if !places.is_empty() => At::Place(last),
        At::Place(place) if !is_live => At::Playing(place),
        At::Playing(place) => At::Place(place),
        _ => At::Newest,
    };
    screen.take();
}

/// Threads in place of processes: nobody sends those of another host, and nobody keeps them.
fn threads(screen: &mut HostScreen) {
    let is_known = screen.at == At::Newest && screen.shared.session.lock().is_local();
    screen.choice.are_threads = !screen.choice.are_threads && is_known;
    screen.choice.chosen = None;
    if !is_known {
        "threads are known of this host alone, and of now".clone_into(&mut screen.said);
    }
}

fn minute(screen: &mut HostScreen, by: i64) {
    let now = screen.shown.later.at.wall_ns;
    screen.go_to_time(now.saturating_add_signed(by.saturating_mul(MINUTE_NS.cast_signed())));
}

fn pace(screen: &mut HostScreen, by: isize) {
    let now = u64::try_from(screen.shared.interval().as_millis()).unwrap_or(u64::MAX);
    let longer = INTERVALS.iter().position(|interval| *interval > now).unwrap_or(INTERVALS.len());
    let shorter = INTERVALS.iter().rposition(|interval| *interval < now);
    let to = if by > 0 { Some(longer) } else { shorter };
    if let Some(interval) = to.and_then(|at| INTERVALS.get(at)) {
        screen.shared.set_interval(Duration::from_millis(*interval));
        screen.said = format!(
            "every {}",
            if *interval < 1000 { format!("{interval} ms") } else { format!("{} s", interval / 1000) }
        );
    }
}

fn expand(screen: &mut HostScreen) {
    let all = !screen.expanded.devices;
    let expanded = &mut screen.expanded;
    (expanded.cpus, expanded.devices, expanded.groups) = (all, all, all);
}

/// Begins a question; those about a process need one that is chosen.
fn ask(screen: &mut HostScreen, kind: PromptKind) {
    let all = shown(&screen.shown.later, &screen.accounts, &screen.choice);
    if let ([one], None) = (all.as_slice(), screen.choice.chosen) {
        screen.choice.chosen = Some(one.line.id.pid);
    }
    let is_of_process = matches!(kind, PromptKind::Signal | PromptKind::Nice);
    if is_of_process && !screen.shared.session.lock().is_local() {
        screen.said = "processes of another host, or of the past, take no orders from here".to_owned();
    } else if is_of_process && screen.choice.chosen.is_none() {
        screen.said = "choose a process first, by the arrow keys".to_owned();
    } else {
        screen.prompt = Some(Prompt::new(kind));
    }
}

/// Nicer, or less nice, by a step.
fn ask_nice(screen: &mut HostScreen, by: i32) {
    ask(screen, PromptKind::Nice);
    if screen.prompt.take().is_some() {
        order(screen, WantedOrder::NiceBy(by));
    }
}

fn typed(screen: &mut HostScreen, mut prompt: Prompt, key: Key) -> KeyEffect {
    match key {
        Key::Enter => {
            answered(screen, &prompt);
            return KeyEffect::Draw;
        }
        Key::Escape => return KeyEffect::Draw,
        Key::Backspace => drop(prompt.text.pop()),
        Key::Letter(letter) => prompt.put(letter),
        _ => {}
    }
    if prompt.kind == PromptKind::Only {
        screen.choice.only.clone_from(&prompt.text);
    }
    screen.prompt = Some(prompt);
    KeyEffect::Draw
}

fn answered(screen: &mut HostScreen, prompt: &Prompt) {
    let text = prompt.text.trim();
    match prompt.kind {
        PromptKind::Find => find(screen, text),
        PromptKind::Only => text.clone_into(&mut screen.choice.only),
        PromptKind::User if text.is_empty() => screen.choice.user = None,
        PromptKind::User => match screen.accounts.number(text) {
            Some(user) => screen.choice.user = Some(user),
            None => screen.said = format!("there is no user {text:?}"),
        },
        PromptKind::Time => match export::parse_time(text, screen.shown.later.at.wall_ns) {
            Some(wall_ns) => screen.go_to_time(wall_ns),
            None => screen.said = format!("{text:?} is no time: 13:05, 13:05:30, -5m, -90"),
        },
        PromptKind::Signal => match crate::sysstat::orders::parse_signal(text) {
            Some(signal) => order(screen, WantedOrder::Signal(signal)),
            None => screen.said = format!("there is no signal {text:?}"),
        },
        PromptKind::Nice => match text.parse() {
            Ok(nice) if (-20..=19).contains(&nice) => order(screen, WantedOrder::Nice(nice)),
            _ => screen.said = format!("{text:?} is no nice value: -20 to 19"),
        },
    }
}

/// Asks whether to do it.
fn order(screen: &mut HostScreen, wanted: WantedOrder) {
    let chosen = screen.chosen_process().cloned();
    match chosen {
        Some(line) => screen.asked = Some(ProcessOrderToGive::new(line.id, &line.text.name, wanted)),
        None => screen.said = "the chosen process has ended".to_owned(),
    }
}
