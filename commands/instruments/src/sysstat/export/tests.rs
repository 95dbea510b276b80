//! What programs read.

use super::*;
use observe::host::snapshot::{ProcessId, ProcessText};
use std::sync::Arc;
use terminal::Colour;

fn shown() -> ShownMoment {
    let mut later = Snapshot::default();
    (later.at.monotonic_ns, later.at.wall_ns) = (2_000_000_000, 1_700_000_000_000_000_000);
    let mut names = observe::host::values::InstanceNames::default();
    let disk = names.number("sd\"a\u{1b}").expect("room");
    let mut earlier = later.clone();
    earlier.at.monotonic_ns = 1_000_000_000;
    for (snapshot, read, switches) in [(&mut earlier, 0, 10), (&mut later, 5_000_000, 1_510)] {
        snapshot.values.push(DISK_READ, disk, read);
        snapshot.values.push(SWITCHES, WHOLE, switches);
        snapshot.values.sort();
        snapshot.names = Arc::new(names.clone());
    }
    later.processes.push(ProcessLine {
        id: ProcessId { pid: 7, start_ticks: 1 },
        text: Arc::new(ProcessText { name: "a\nb".into(), command: "=cmd(),\"x\"".into(), group: String::new() }),
        state: b'R',
        ..ProcessLine::default()
    });
    ShownMoment { earlier: Some(Arc::new(earlier)), later: Arc::new(later) }
}

#[test]
fn json_has_values_rates_and_processes_whatever_their_names() {
    let shown = shown();
    let value =
        json(&shown.interval(), &HostFacts { name: "web7".into(), ..HostFacts::default() }, &Accounts::default());
    assert_eq!(value["values"]["disk.read"]["sd\"a\u{1b}"], 5_000_000);
    assert_eq!(value["rates"]["cpu.switches"], 1_500.0);
    assert_eq!((&value["processes"][0]["command"], &value["host"]["name"]), (&json!("=cmd(),\"x\""), &json!("web7")));
    let text = serde_json::to_string(&value).expect("plain data");
    assert!(!text.contains(['\n', '\u{1b}']), "one line, and no order to a terminal");
}

#[test]
fn lines_have_a_field_for_each_heading() {
    let shown = shown();
    let interval = shown.interval();
    assert_eq!(csv(&interval).trim().split(',').count(), CSV_HEADING.split(',').count());
    assert!(
        csv(&interval).starts_with("1700000000.000,") && csv(&interval).ends_with(",1,ok\n")
            || csv(&interval).contains(",0,ok\n")
    );
    let line = plain(&interval).text(Colour::Off);
    assert_eq!(line.split_whitespace().count(), PLAIN_HEADING.split_whitespace().count(), "{line}");
    assert!(line.contains(" 1500 ") && line.contains("    5.0 "), "{line}");
}

#[test]
fn every_metric_is_explained() {
    let text: String = metrics(&shown().interval()).iter().map(|line| line.text(Colour::Off)).collect();
    assert!(text.contains("cpu.switches  Context switches") && text.contains("1500/s  (raw 1510)"), "{text}");
    assert!(text.contains("sd\"a\\x1b"), "{text}");
}

#[test]
fn times_are_of_the_day_that_is_shown_or_from_there() {
    let noon = local(1_700_000_000).expect("a date");
    let at = |hour, minute, second| {
        seconds(CivilTime { hour, minute, second, ..noon }).map(|seconds| seconds.cast_unsigned() * 1_000_000_000)
    };
    let near = 1_700_000_000_000_000_000;
    assert_eq!((parse_time("13:05", near), parse_time("7:00:30", near)), (at(13, 5, 0), at(7, 0, 30)));
    assert_eq!(
        (parse_time("-5m", near), parse_time("+90", near)),
        (Some(near - 300_000_000_000), Some(near + 90_000_000_000))
    );
    for bad in ["", "13", "24:00", "1:60", "1:2:3:4", "-x", "001:00", "a:b"] {
        assert_eq!(parse_time(bad, near), None, "{bad}");
    }
    assert_eq!(clock(near).len(), 8);
}
