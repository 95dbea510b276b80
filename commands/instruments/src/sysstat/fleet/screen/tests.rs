//! Rows of hosts that are made up: which fold, what is compared, what keys do.

use super::*;
use crate::sysstat::fleet::JudgedHost;
use crate::sysstat::fleet::made_up::fleet_of;
use terminal::full_screen::drawn;

/// A fleet of hosts by name, with the use of their CPUs and memory in percent.
fn screen(hosts: &[(&str, u64, u64)]) -> FleetScreen {
    let mut screen = FleetScreen::new(fleet_of(hosts));
    screen.take();
    screen
}

fn calm(count: usize) -> Vec<(String, u64, u64)> {
    (1..=count).map(|at| (format!("web{at}"), 3 + at as u64, 20)).collect()
}

fn fleet(extra: &[(&str, u64, u64)], count: usize) -> FleetScreen {
    let calm = calm(count);
    let mut hosts: Vec<(&str, u64, u64)> = calm.iter().map(|(name, cpu, mem)| (name.as_str(), *cpu, *mem)).collect();
    hosts.extend(extra);
    screen(&hosts)
}

fn press(screen: &mut FleetScreen, keys: &str) {
    for letter in keys.chars() {
        screen.key(Key::Letter(letter));
    }
}

#[test]
fn hosts_that_are_alike_fold_and_those_that_stand_out_do_not() {
    let mut fleet = fleet(&[("busy", 90, 20), ("large", 5, 85)], 8);
    let text = drawn(&fleet, 120, 24);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("10 hosts  10 ok"), "{text}");
    assert!(lines[2].starts_with("busy             ok            90.0"), "at a limit: {text}");
    assert!(lines[3].starts_with("8 hosts alike    ok            4-11   4-11"), "{text}");
    assert!(lines[3].contains("20") && lines[3].contains("  web7 web8 web2 web3"), "{text}");
    assert!(lines[4].starts_with("large            ok             5.0"), "{text}");
    press(&mut fleet, "+");
    assert_eq!(drawn(&fleet, 120, 24).lines().filter(|line| line.starts_with("web")).count(), 8);
    press(&mut fleet, "+");
    fleet.key(Key::Down);
    fleet.key(Key::Down);
    fleet.key(Key::Enter);
    assert!(fleet.open.is_none() && !drawn(&fleet, 120, 24).contains("alike"), "Enter unfolds");
    let few = drawn(&self::fleet(&[], 3), 120, 24);
    assert!(!few.contains("alike"), "three have a row each: {few}");
}

#[test]
fn a_host_that_deviates_from_its_own_past_is_not_folded() {
    let hosts = fleet(&[], 6);
    let mut rows = hosts.hosts.clone();
    assert_eq!(fold(&rows, |_| false), [FleetScreenRow::Alike((0..6).collect())]);
    let JudgedHost { figures, .. } = &mut rows[2].1.judged;
    figures.deviations[9] = Some(crate::sysstat::usual::Deviation::Above);
    assert_eq!(fold(&rows, |_| false), [FleetScreenRow::Alike(vec![0, 1, 3, 4, 5]), FleetScreenRow::Host(2)]);
    assert!(line(&rows[2].1, 200, false).text(terminal::Colour::Off).contains("^0.0"));
    let marked = rows[0].0;
    assert_eq!(
        fold(&rows, |id| id == marked),
        [FleetScreenRow::Host(0), FleetScreenRow::Alike(vec![1, 3, 4, 5]), FleetScreenRow::Host(2)]
    );
}

#[test]
fn marked_hosts_are_compared_figure_by_figure() {
    let mut fleet = fleet(&[("db1", 60, 50), ("db2", 55, 50)], 2);
    press(&mut fleet, "c");
    assert!(drawn(&fleet, 80, 24).contains("mark two hosts or more"));
    for _ in 0..2 {
        fleet.key(Key::Down);
        press(&mut fleet, " ");
    }
    assert!(drawn(&fleet, 80, 24).contains("db1             *ok"), "{}", drawn(&fleet, 80, 24));
    fleet.key(Key::Down);
    press(&mut fleet, " c");
    let text = drawn(&fleet, 80, 24);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert_eq!(line("compared").split_whitespace().collect::<Vec<_>>(), ["compared", "db1", "db2", "web2"]);
    assert_eq!(line("cpu %").split_whitespace().collect::<Vec<_>>(), ["cpu", "%", "60.0", "55.0", "v5.0"]);
    assert_eq!(line("memory %").split_whitespace().collect::<Vec<_>>(), ["memory", "%", "50", "50", "v20"]);
    assert!(line("memory  ").ends_with("100G"), "the same of all: {text}");
    press(&mut fleet, "x");
    assert!(drawn(&fleet, 80, 24).contains("verdict"), "back");
    fleet.key(Key::Escape);
    assert!(fleet.marked.is_empty());
}

#[test]
fn compared_hosts_that_do_not_fit_are_counted_and_every_size_is_drawn() {
    let mut fleet = fleet(&[], 12);
    press(&mut fleet, "+");
    for _ in 0..12 {
        fleet.key(Key::Down);
        press(&mut fleet, " ");
    }
    press(&mut fleet, "c");
    assert!(drawn(&fleet, 80, 24).lines().next().is_some_and(|line| line.starts_with("7 more do not fit ")));
    for (columns, rows) in [(1, 1), (20, 4), (40, 10), (80, 24), (120, 40), (200, 60)] {
        for _ in 0..2 {
            let text = drawn(&fleet, columns, rows);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{text}");
            press(&mut fleet, "?");
        }
        press(&mut fleet, "c");
    }
}
