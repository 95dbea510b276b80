//! The screen at the sizes of terminals, from large to absurd, and its keys.

use super::*;
use crate::load::history::tests::moment;
use ::load::late::LoadKind;
use mh_kit::screen::LiveScreen;
use terminal::full_screen::{Key, ScreenView, drawn};

fn facts() -> LiveFacts {
    LiveFacts {
        opening: "'read-only' on PostgreSQL (postgres://app@db/app): 8 connections, 100 a second".to_owned(),
        kind: LoadKind { is_open: true, is_embedded: false },
        threads: 1,
        warmup_s: 0.0,
        duration_s: 60.0,
        interval_s: 1.0,
    }
}

/// A run of `seconds`, in whose last second a transaction took 300 ms.
fn screen(seconds: u32, late: WhoWasLate) -> LiveScreen<RunView> {
    let mut seen = LiveSeen::default();
    for second in 1..=seconds {
        let mut moment = moment(f64::from(second), u64::from(90 + second), 1_500_000);
        if second == seconds {
            moment.response.add(300_000_000, 1);
        }
        seen.push(moment, late.clone());
    }
    let glyphs = Glyphs::of_locale(|_| Some("C.UTF-8".to_owned()));
    let mut screen = LiveScreen::new(RunView::new(facts(), Arc::new(Mutex::new(seen)), Colour::Off, glyphs));
    screen.refresh();
    screen
}

#[test]
fn the_verdict_comes_first_then_figures_then_the_picture() {
    let text = drawn(&screen(12, WhoWasLate::Server), 80, 24);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "the server is late: transactions wait for it");
    assert!(lines[1].starts_with("12 of 60 s   'read-only' on"), "{text}");
    assert_eq!(lines[2], "done       102 a second   offered 100   failed 1 (12 in all)");
    assert_eq!(lines[3], "response     p50 1.5 ms   p95 1.5 ms   p99 1.5 ms");
    assert_eq!(lines[4], "generator  10.0 % of a core   slip p99 50 us   longest 12 ns");
    assert_eq!(lines[5], "server     1 ms of CPU a transaction   10.2 % of a core   memory 100 MB");
    assert!(lines[7].starts_with("     102  ███"), "{text}");
    assert!(lines[8].ends_with('·') && lines[8].starts_with("  "), "the long one: {text}");
    assert!(text.contains("0 s") && lines[23].contains("q end the run"), "{text}");
}

#[test]
fn every_size_is_drawn_and_the_verdict_is_the_last_to_go() {
    let screen = screen(300, WhoWasLate::Generator { reason: "it sent late".to_owned() });
    for (width, height) in [(200, 60), (80, 24), (40, 10), (20, 5), (11, 3), (5, 2), (1, 1)] {
        let text = drawn(&screen, width, height);
        let first = text.lines().next().expect("a line");
        assert!(
            "the generator is late: it sent late".starts_with(first) && !first.is_empty(),
            "{width} {height}: {text}"
        );
    }
    assert!(drawn(&screen, 20, 5).contains("q end"));
}

#[test]
fn a_held_screen_stays_while_the_run_goes_on() {
    let mut screen = screen(2, WhoWasLate::Nobody);
    screen.key(Key::Letter('p'));
    let before = drawn(&screen, 80, 24);
    assert!(before.contains("HELD"), "{before}");
    screen.content.seen.lock().push(moment(3.0, 7, 1_000), WhoWasLate::Nobody);
    assert!(!screen.refresh() && drawn(&screen, 80, 24) == before);
    screen.key(Key::Letter(' '));
    assert!(drawn(&screen, 80, 24).contains("3 of 60 s"));
    assert_eq!(screen.key(Key::Letter('q')), KeyEffect::Leave);
}

#[test]
fn help_fits_a_terminal() {
    assert!(HELP.iter().chain(&KEYS).all(|line| columns(line) <= 80));
}

#[test]
fn before_the_first_interval_there_is_a_screen_too() {
    let text = drawn(&screen(0, WhoWasLate::Nobody), 80, 24);
    assert!(text.starts_with("no interval has ended yet\n0 of 60 s"), "{text}");
}
