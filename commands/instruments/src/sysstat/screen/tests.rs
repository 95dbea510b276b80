//! The screen at every size, and its keys.

use super::*;
use observe::host::fields::*;
use observe::host::snapshot::{ProcessCpu, ProcessId, ProcessLine, ProcessText, Snapshot};
use observe::host::values::{InstanceNames, MetricKey, WHOLE};
use terminal::full_screen::drawn;

fn snapshot(second: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let now = second * 1_000_000_000;
    (snapshot.at.monotonic_ns, snapshot.at.boot_ns, snapshot.at.wall_ns) = (now, now, now);
    for (field, value) in
        [(CPUS_ONLINE, 2), (CPU_USER, now / 2), (CPU_IDLE, now), (MEM_TOTAL, 1 << 34), (MEM_AVAILABLE, 1 << 33)]
    {
        snapshot.values.push(field, WHOLE, value);
    }
    let mut names = InstanceNames::default();
    let cpu = names.number("cpu0").expect("room");
    for (field, value) in [(EACH_USER, now / 2), (EACH_SYSTEM, 0), (EACH_IRQ, 0), (EACH_STEAL, 0), (EACH_IDLE, now)] {
        snapshot.values.push(field, cpu, value);
    }
    snapshot.names = Arc::new(names);
    snapshot.values.sort();
    for pid in 1..40 {
        snapshot.processes.push(ProcessLine {
            id: ProcessId { pid, start_ticks: 1 },
            text: Arc::new(ProcessText {
                name: format!("name{pid}"),
                command: format!("command {pid}"),
                group: String::new(),
            }),
            user: Some(pid % 2),
            cpu: ProcessCpu { used: 40_000 - pid, ..ProcessCpu::default() },
            ..ProcessLine::default()
        });
    }
    snapshot
}

fn screen() -> HostScreen {
    let facts = HostFacts { name: "web7".into(), ..HostFacts::default() };
    let mut session = HostSession::remote(facts);
    for second in 1..=200 {
        session.push(snapshot(second));
    }
    HostScreen::new(SharedHost::new(session, Duration::from_secs(1), Bell::silent()), false)
}

fn press(screen: &mut HostScreen, keys: &str) {
    for letter in keys.chars() {
        screen.key(if letter == '\n' { Key::Enter } else { Key::Letter(letter) });
    }
}

#[test]
fn every_size_has_whole_lines_and_the_verdict_second() {
    let screen = screen();
    for (columns, rows) in [(80, 24), (200, 60), (40, 10), (120, 40), (20, 4), (1, 1), (300, 100), (139, 24), (140, 24)]
    {
        let text = drawn(&screen, columns, rows);
        assert_eq!(text.lines().count(), usize::from(rows));
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{columns}x{rows}\n{text}");
        if columns >= 40 && rows >= 10 {
            assert!(
                text.starts_with("web7") && text.lines().nth(1).is_some_and(|line| line.starts_with("ok")),
                "{text}"
            );
            assert!(columns < 80 || text.contains("command 1"), "{columns}x{rows}\n{text}");
        }
    }
    assert!(
        drawn(&screen, 80, 24).lines().nth(2).is_some_and(|line| line.starts_with("cpu  33.3 %  usr 33.3")),
        "{}",
        drawn(&screen, 80, 24)
    );
}

#[test]
fn history_is_gone_through_and_the_newest_comes_back() {
    let mut screen = screen();
    press(&mut screen, "[[");
    assert_eq!(screen.shown.later.at.wall_ns, 198_000_000_000);
    assert!(drawn(&screen, 120, 24).contains("HELD at 198 of 200"));
    press(&mut screen, "{");
    assert_eq!(screen.shown.later.at.wall_ns, 138_000_000_000);
    press(&mut screen, "b+10\n");
    assert_eq!(screen.shown.later.at.wall_ns, 148_000_000_000);
    assert!(!screen.refresh(), "what is held stays");
    press(&mut screen, " ");
    assert_eq!((screen.at, screen.shown.later.at.wall_ns), (At::Newest, 200_000_000_000));
    press(&mut screen, "bnonsense\n");
    assert!(screen.said.contains("is no time"));
}

#[test]
fn a_figure_far_from_its_last_minutes_is_marked_now_and_in_the_past() {
    let facts = HostFacts { name: "web7".into(), ..HostFacts::default() };
    let mut session = HostSession::remote(facts);
    let mut idle = 0;
    for second in 1..=600 {
        let mut snapshot = snapshot(second);
        // A third of the time is used, as it is by `snapshot`, but for one second.
        idle += if second == 590 { 50_000_000 } else { 1_000_000_000 };
        snapshot
            .values
            .change(MetricKey { field: CPU_IDLE, instance: WHOLE }, idle - second.cast_signed() * 1_000_000_000);
        session.push(snapshot);
    }
    let mut screen = HostScreen::new(SharedHost::new(session, Duration::from_secs(1), Bell::silent()), false);
    let cpu = |screen: &HostScreen| drawn(screen, 80, 24).lines().nth(2).map(str::to_owned).unwrap_or_default();
    assert!(cpu(&screen).starts_with("cpu  33.3 %  usr 33.3"), "{}", cpu(&screen));
    press(&mut screen, "[[[[[[[[[[");
    assert!(cpu(&screen).starts_with("cpu ^90.9 %  usr^90.9 sys 0.0"), "{}", cpu(&screen));
    press(&mut screen, "[");
    assert!(cpu(&screen).starts_with("cpu  33.3 %  usr 33.3"), "{}", cpu(&screen));
}

#[test]
fn processes_are_found_filtered_and_escape_takes_it_back() {
    let mut screen = screen();
    press(&mut screen, "/command 17\n");
    assert_eq!(screen.choice.chosen, Some(17));
    press(&mut screen, "\\name2");
    assert!(drawn(&screen, 80, 24).contains("only processes with: name2_"));
    assert!(!drawn(&screen, 80, 24).contains("command 1\n"));
    press(&mut screen, "\n");
    screen.key(Key::Escape);
    assert!(screen.choice.only.is_empty());
    screen.key(Key::Escape);
    assert_eq!((screen.choice.chosen, screen.key(Key::Escape)), (None, KeyEffect::Leave));
    press(&mut screen, "u1\n");
    assert_eq!(screen.choice.user, Some(1));
    screen.key(Key::End);
    assert_eq!(screen.choice.chosen, Some(39));
}

#[test]
fn a_process_of_another_host_takes_no_orders() {
    let mut screen = screen();
    screen.key(Key::Down);
    press(&mut screen, "k");
    assert!(screen.prompt.is_none() && screen.said.contains("take no orders"));
}

#[test]
fn keys_of_bands_have_an_effect_at_every_size() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        for key in ["1", "3", "6", "e", "v"] {
            let mut screen = screen();
            let before = drawn(&screen, columns, rows);
            press(&mut screen, key);
            // On a high screen verdicts are all there before.
            assert!(drawn(&screen, columns, rows) != before || key == "v" && rows >= 40, "{key} at {columns}x{rows}");
        }
    }
}

#[test]
fn sheets_open_scroll_and_close() {
    let mut screen = screen();
    press(&mut screen, "x");
    assert!(drawn(&screen, 80, 24).contains("memory.total"));
    screen.key(Key::PageDown);
    assert!(!drawn(&screen, 80, 10).contains("a share is a counter"));
    screen.key(Key::Escape);
    screen.key(Key::Down);
    screen.key(Key::Enter);
    assert!(drawn(&screen, 80, 24).contains("command  command 1"));
    screen.key(Key::Escape);
    press(&mut screen, "?");
    assert!(drawn(&screen, 120, 30).contains("order by CPU, memory"));
    press(&mut screen, "?5");
    assert!(!drawn(&screen, 80, 24).contains("free for use"), "processes alone");
    press(&mut screen, "+");
    assert_eq!(screen.shared.interval(), Duration::from_secs(2));
}
