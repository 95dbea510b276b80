//! The screens in `docs/commands/sysstat.md`: drawn at 80 columns from a host's recorded files and from a fleet that is made up, and compared with
//! the page. `MH_GOLDEN_ACCEPT=1` writes them anew.

use super::bands::recorded::recorded;
use super::export::clock;
use super::fleet::made_up::fleet_of;
use super::fleet::screen_of;
use super::screen::{HostScreen, SharedHost};
use super::session::HostSession;
use observe::host::recording::HostFacts;
use observe::host::snapshot::{ProcessCpu, ProcessId, ProcessLine, ProcessText, Snapshot};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use terminal::full_screen::{Bell, ScreenView, drawn};

const PAGE: &str = "docs/commands/sysstat.md";
/// What stands in place of the time at which a test runs, or of this time zone's.
const TIME: &str = "13:06:54";

/// Compares, or writes, what stands in the page between two comments with this name.
fn compare(name: &str, screen: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page");
    let (begin, end) = (format!("<!-- {name}: drawn by a test -->\n"), format!("<!-- end of {name} -->\n"));
    let from = page.find(&begin).expect("its beginning") + begin.len();
    let to = from + page[from..].find(&end).expect("its end");
    let indented = |line: &str| format!("    {line}").trim_end().to_owned() + "\n";
    let block: String = screen.lines().map(indented).collect();
    let block = format!("\n{block}\n");
    if std::env::var_os("MH_GOLDEN_ACCEPT").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{}{block}{}", &page[..from], &page[to..])).expect("written");
    } else {
        assert_eq!(&page[from..to], block, "{PAGE} shows another screen: MH_GOLDEN_ACCEPT=1 writes it anew");
    }
}

/// Processes of a host: the recorded files have none.
fn with_processes(mut snapshot: Snapshot) -> Snapshot {
    let began =
        [("postgres: checkpointer", 26, 980_000), ("cc1 -quiet parse.c", 1000, 262_000), ("tar cf - /srv", 0, 197_000)];
    let others =
        ["sshd -D", "systemd", "cron -f", "nginx: worker process", "postgres: walwriter", "dbus-daemon --system"];
    let others = others.map(|command| (command, 0, 1_200));
    let line = |(number, (command, user, used)): (usize, (&str, u32, u32))| ProcessLine {
        id: ProcessId { pid: 7_706 - 611 * number as u32, start_ticks: 1 },
        text: Arc::new(ProcessText { command: command.to_owned(), ..ProcessText::default() }),
        user: Some(user),
        state: if used > 100_000 { b'R' } else { b'S' },
        cpu: ProcessCpu { used, error: 2_000, system: 0, waited: Some(used / 20) },
        resident_bytes: (180 << 20) >> number,
        ..ProcessLine::default()
    };
    snapshot.processes = began.into_iter().chain(others).enumerate().map(line).collect();
    (snapshot.rest.count, snapshot.rest.running) = (161, 2);
    snapshot
}

#[test]
fn the_page_has_the_screen_of_a_host() {
    let users = [(0, "root"), (26, "postgres"), (1000, "build")].map(|(number, name)| (number, name.to_owned()));
    let facts = HostFacts { name: "web7".into(), kernel: "6.18.0".into(), users: users.into(), ..HostFacts::default() };
    let mut session = HostSession::remote(facts);
    let later = with_processes(recorded(2, 11));
    let time = clock(later.at.wall_ns);
    session.push(with_processes(recorded(1, 1)));
    session.push(later);
    let screen = HostScreen::new(SharedHost::new(session, Duration::from_secs(10), Bell::silent()), false);
    compare("screen of a host", &drawn(&screen, 80, 24).replace(&time, TIME));
}

#[test]
fn the_page_has_the_screen_of_a_fleet() {
    let hosts =
        [("db1", 97, 40), ("web1", 11, 31), ("web2", 9, 30), ("web3", 12, 33), ("web4", 10, 30), ("build1", 62, 93)];
    let mut screen = screen_of(fleet_of(&hosts));
    assert!(screen.refresh());
    // The rows of so few hosts need no more.
    let text = drawn(&screen, 80, 10);
    let first = text.lines().next().expect("a line");
    let time = first.len() - TIME.len();
    assert_eq!(first[time..].matches(':').count(), 2, "the time stands last: {first}");
    compare("screen of a fleet", &format!("{}{TIME}{}", &first[..time], &text[first.len()..]));
}
