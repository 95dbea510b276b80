//! Agents and viewers of one process on loopback: who sees whom, what a stop, a restart, a forger and a rotation do.
//! Networks with several hosts are in `namespaces.rs`.

use crate::stage::{
    CountingSource, INTERVAL, PATIENCE, address, agent, agent_options, connected, envelopes_of, fleet, has_envelope,
    host_state, line, lost, turn, turn_for, unconfirmed, viewer_of, viewer_options,
};
use fleet::HostName;
use fleet::agent::{Agent, AgentEvent};
use fleet::keys::{FeedRole, FleetKeyFile, HostPair, HostState};
use fleet::viewer::{FleetEvent, KnownHosts, Viewer, ViewerOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

#[test]
fn a_host_with_a_ticket_is_shown_at_once_under_its_name() {
    let mut web7 = agent("calls-itself-so", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(1, &[&web7]);
    let events = turn(&mut [&mut web7], &mut viewer, |events| envelopes_of(events, fleet::viewer::HostId(0)) >= 3);
    assert!(matches!(&events[0], FleetEvent::Appeared { name, .. } if name.as_str() == "web7"), "{events:?}");
    assert_eq!(connected(&events).len(), 1);
    let facts = events.iter().find_map(|event| match event {
        FleetEvent::Connected { facts: Some(facts), clock_offset_ms, .. } => {
            Some((facts.cores, clock_offset_ms.unwrap()))
        }
        _ => None,
    });
    let (cores, offset_ms) = facts.expect("an agent has facts");
    assert!(cores == 8 && offset_ms.abs() < 10_000);
    let last = web7.source().last.expect("taken");
    assert!(last.role == FeedRole::Full && !last.is_first && last.interval == INTERVAL);
}

#[test]
fn an_agent_reports_who_looks_and_who_has_gone() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(1, &[&web7]);
    let (mut events, end) = (Vec::new(), Instant::now() + PATIENCE);
    while events.is_empty() {
        assert!(Instant::now() < end, "nobody looks");
        viewer.wait(Duration::from_millis(2)).expect("it runs");
        events = web7.wait(Duration::from_millis(2)).expect("it runs");
    }
    let AgentEvent::Opened { session, fleet, role: FeedRole::Full, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(fleet.as_str(), "home");
    drop(viewer);
    let mut closed = Vec::new();
    while closed.is_empty() {
        assert!(Instant::now() < end, "it is not noticed that the viewer has gone");
        closed = web7.wait(Duration::from_secs(1)).expect("it runs");
    }
    assert!(matches!(&closed[..], [AgentEvent::Closed { session: closed, .. }] if closed == session), "{closed:?}");
}

#[test]
fn a_line_without_a_role_shows_numbers_only() {
    let mut state = HostState::in_memory(HostPair::of_secret([7; 32]), vec![fleet(1).public_line(FeedRole::Numbers)]);
    let ticket = fleet::keys::HostTicket::sign(&fleet(1), state.pair.public(), HostName::new(b"web7"), 1);
    state.add_ticket(ticket).expect("for this host");
    let mut web7 = agent("web7", state);
    let mut viewer = viewer_of(1, &[&web7]);
    turn(&mut [&mut web7], &mut viewer, has_envelope);
    assert_eq!(web7.source().last.expect("taken").role, FeedRole::Numbers);
}

#[test]
fn without_a_ticket_there_are_no_data_until_it_is_accepted_and_then_every_viewer_believes_it() {
    let mut web7 = agent("web7", host_state(1, 7, None));
    let mut viewer = viewer_of(1, &[&web7]);
    let events = turn(&mut [&mut web7], &mut viewer, |events| unconfirmed(events).is_some());
    let code = HostPair::of_secret([7; 32]).public().short_code();
    assert!(events.iter().any(|event| matches!(event, FleetEvent::Unconfirmed { code: shown, .. } if *shown == code)));
    let events = turn_for(&mut [&mut web7], &mut viewer, Duration::from_millis(500));
    assert!(!has_envelope(&events) && web7.source().taken == 0);
    viewer.accept(fleet::viewer::HostId(0));
    let events = turn(&mut [&mut web7], &mut viewer, has_envelope);
    assert_eq!(connected(&events)[0].1, "web7");
    let mut other = viewer_of(1, &[&web7]);
    let events = turn(&mut [&mut web7], &mut other, has_envelope);
    assert!(unconfirmed(&events).is_none(), "it has a ticket now: {events:?}");
}

#[test]
fn another_key_sees_nobody_and_gets_no_byte() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(2, &[&web7]);
    let events = turn_for(&mut [&mut web7], &mut viewer, Duration::from_millis(1500));
    assert_eq!(events, []);
    let counts = web7.query_counts();
    assert!(counts.filter > 0 && counts.signatures_checked == 0 && counts.accepted == 0, "{counts:?}");
}

#[test]
fn somebody_without_a_key_gets_no_byte_by_tcp_and_is_closed() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let place = address(&web7);
    let visitor = std::thread::spawn(move || {
        let mut streams: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(place).expect("it listens")).collect();
        streams[0].write_all(b"GET / HTTP/1.0\r\n\r\n").expect("taken");
        streams[1].write_all(&[96, 0]).and_then(|()| streams[1].write_all(&[9; 96])).expect("taken");
        streams.iter_mut().map(read_to_end).sum::<usize>()
    });
    let end = Instant::now() + PATIENCE;
    while !visitor.is_finished() {
        assert!(Instant::now() < end, "a visitor holds a connection");
        assert_eq!(web7.wait(Duration::from_millis(20)).expect("it runs"), [], "and is not worth a word");
    }
    assert_eq!(visitor.join().expect("no panic"), 0);
}

#[test]
fn a_first_message_that_was_overheard_opens_nothing() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let target = address(&web7);
    let between = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut options = viewer_options(Some(1), Vec::new());
    let place = between.local_addr().expect("it is bound");
    options.known.put(&HostName::new(b"web7"), HostPair::of_secret([7; 32]).public(), Some(place));
    let mut viewer = Viewer::open(options).expect("it opens");
    let listener = std::thread::spawn(move || {
        let (mut viewer, _) = between.accept().expect("it connects");
        let mut message = vec![0; 2];
        viewer.read_exact(&mut message).expect("the length of the first message");
        message.resize(2 + usize::from(u16::from_le_bytes([message[0], message[1]])), 0);
        viewer.read_exact(&mut message[2..]).expect("and the message");
        let [answered, again] = [1, 2].map(|_| {
            let mut agent = TcpStream::connect(target).expect("it listens");
            agent.write_all(&message).expect("taken");
            agent.set_read_timeout(Some(Duration::from_secs(1))).expect("possible");
            let mut bytes = [0; 400];
            agent.read(&mut bytes).unwrap_or(0)
        });
        (answered, again)
    });
    let events = turn(&mut [&mut web7], &mut viewer, |_| listener.is_finished());
    assert!(connected(&events).is_empty());
    let (answered, again) = listener.join().expect("no panic");
    assert!(answered > 0, "the first time it is the viewer's, whoever carries it");
    assert_eq!(again, 0);
}

fn read_to_end(stream: &mut TcpStream) -> usize {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _was_reset = stream.read_to_end(&mut bytes);
    bytes.len()
}

#[test]
fn what_a_viewer_sent_is_not_answered_twice() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let (viewer, target) = (UdpSocket::bind("127.0.0.1:0").expect("a port"), address(&web7));
    viewer.set_nonblocking(true).expect("possible");
    let now_ms = fleet::wall_ms();
    let fresh = fleet::query::make_query(&fleet(1), &[1; 16], now_ms);
    let old = fleet::query::make_query(&fleet(1), &[2; 16], now_ms - 3_600_000);
    for _ in 0..200 {
        viewer.send_to(&fresh, target).expect("sent");
        viewer.send_to(&old, target).expect("sent");
        web7.wait(Duration::ZERO).expect("it runs");
    }
    let end = Instant::now() + Duration::from_millis(500);
    let (mut answers, mut reports) = (0, 0);
    while Instant::now() < end {
        reports += web7.wait(Duration::from_millis(10)).expect("it runs").len();
        let mut packet = [0; 300];
        while let Ok((bytes, _)) = viewer.recv_from(&mut packet) {
            assert_eq!(bytes, fleet::query::PACKET_BYTES);
            assert!(fleet::answer::open_answer(&packet[..bytes], &fleet(1)).is_some());
            answers += 1;
        }
    }
    let counts = web7.query_counts();
    assert_eq!((answers, counts.accepted, counts.seen, counts.clock), (1, 1, 199, 200));
    assert!(reports <= 1, "a wrong clock is reported once");
}

#[test]
fn a_host_that_was_installed_anew_shows_nothing_until_it_is_accepted() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("known");
    let mut known = KnownHosts::open(&path).expect("no file is none");
    known.put(&HostName::new(b"web7"), HostPair::of_secret([6; 32]).public(), None);
    let mut web7 = agent("web7", host_state(1, 7, None));
    let mut options = viewer_options(Some(1), vec![address(&web7)]);
    options.known = known;
    let mut viewer = Viewer::open(options).expect("it opens");
    let events = turn(&mut [&mut web7], &mut viewer, |events| unconfirmed(events).is_some());
    let (host, is_changed) = unconfirmed(&events).expect("just seen");
    assert!(is_changed);
    assert!(!has_envelope(&turn_for(&mut [&mut web7], &mut viewer, Duration::from_millis(300))));
    viewer.accept(host);
    let events = turn(&mut [&mut web7], &mut viewer, has_envelope);
    assert!(events.iter().any(|event| matches!(event, FleetEvent::Gone { .. })), "the old row goes: {events:?}");
    drop(viewer);
    let known = KnownHosts::open(&path).expect("written");
    let expected = HostPair::of_secret([7; 32]).public();
    assert_eq!(known.name_of(&expected), Some(&HostName::new(b"web7")));
}

#[test]
fn a_known_host_is_reached_without_a_question_and_after_a_restart() {
    let mut web7 = agent("web7", host_state(1, 7, None));
    let port = web7.port();
    let mut options = viewer_options(Some(1), Vec::new());
    options.known.put(&HostName::new(b"web7"), HostPair::of_secret([7; 32]).public(), Some(address(&web7)));
    let mut viewer = Viewer::open(options).expect("it opens");
    let events = turn(&mut [&mut web7], &mut viewer, has_envelope);
    assert_eq!(connected(&events)[0].1, "web7");
    drop(web7);
    let events = turn(&mut [], &mut viewer, |events| lost(events).is_some());
    assert!(events.iter().any(|event| matches!(event, FleetEvent::Lost { since: Some(_), .. })));
    let options = agent_options("web7", host_state(1, 7, None), port);
    let mut again = Agent::start(options, CountingSource::default()).expect("the port is free");
    let events = turn(&mut [&mut again], &mut viewer, has_envelope);
    assert_eq!(connected(&events).len(), 1);
}

#[test]
fn a_viewer_that_hangs_costs_no_more_than_its_credit() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(1, &[&web7]);
    turn(&mut [&mut web7], &mut viewer, has_envelope);
    let before = web7.source().taken;
    let end = Instant::now() + PATIENCE;
    while web7.due().is_some() {
        assert!(Instant::now() < end, "it goes on without credit");
        web7.wait(Duration::from_millis(50)).expect("it runs");
    }
    let taken = web7.source().taken;
    assert!(taken > before && taken <= 61, "{taken}");
    let events = turn(&mut [&mut web7], &mut viewer, |events| envelopes_of(events, fleet::viewer::HostId(0)) >= 65);
    assert!(lost(&events).is_none(), "the session went on");
}

#[test]
fn a_stopped_agent_is_late_and_then_not() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(1, &[&web7]);
    turn(&mut [&mut web7], &mut viewer, has_envelope);
    let is_late = |events: &[FleetEvent]| events.iter().any(|event| matches!(event, FleetEvent::Late { .. }));
    turn(&mut [], &mut viewer, is_late);
    let events = turn(&mut [&mut web7], &mut viewer, has_envelope);
    assert!(lost(&events).is_none() && !is_late(&events));
    turn(&mut [], &mut viewer, is_late);
}

#[test]
fn large_samples_arrive_whole() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    web7.source().body_bytes = 5 << 20;
    let mut viewer = viewer_of(1, &[&web7]);
    let events = turn(&mut [&mut web7], &mut viewer, |events| envelopes_of(events, fleet::viewer::HostId(0)) >= 2);
    let sizes: Vec<usize> = events
        .iter()
        .filter_map(|event| match event {
            FleetEvent::Envelope { bytes, .. } => Some(bytes.len()),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [(5 << 20) + 19; 2]);
}

#[test]
fn samples_that_never_end_do_not_fill_the_memory() {
    let mut agents: Vec<_> = (0..8)
        .map(|number| {
            let mut agent = agent("host", host_state(1, 8 * number + 8, Some(&format!("host{number}"))));
            (agent.source().body_bytes, agent.source().is_cut) = (8 << 20, true);
            agent
        })
        .collect();
    // No second sample comes, whose first byte would end the first one.
    let options = viewer_options(Some(1), agents.iter().map(address).collect());
    let mut viewer = Viewer::open(ViewerOptions { interval: Duration::from_secs(60), ..options }).expect("it opens");
    let events = turn(&mut agents.iter_mut().collect::<Vec<_>>(), &mut viewer, |events| lost(events).is_some());
    assert_eq!(lost(&events), Some("its sample did not fit into the memory for all hosts"));
    assert!(!has_envelope(&events));
}

#[test]
fn another_pace_counts_at_once() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut options = viewer_options(Some(1), vec![address(&web7)]);
    options.interval = Duration::MAX;
    let mut viewer = Viewer::open(options).expect("it opens");
    turn(&mut [&mut web7], &mut viewer, has_envelope);
    viewer.set_interval(INTERVAL);
    turn(&mut [&mut web7], &mut viewer, |events| envelopes_of(events, fleet::viewer::HostId(0)) >= 3);
    assert_eq!(web7.source().last.expect("taken").interval, INTERVAL);
}

#[test]
fn a_fleet_that_is_taken_away_sees_no_more() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut viewer = viewer_of(1, &[&web7]);
    turn(&mut [&mut web7], &mut viewer, has_envelope);
    web7.set_state(host_state(2, 7, Some("web7")));
    turn(&mut [&mut web7], &mut viewer, |events| lost(events).is_some());
    assert!(!has_envelope(&turn_for(&mut [&mut web7], &mut viewer, Duration::from_secs(2))));
    let mut other = viewer_of(2, &[&web7]);
    turn(&mut [&mut web7], &mut other, has_envelope);
}

#[test]
fn a_rotated_key_takes_the_place_of_the_old_one() {
    let mut web7 = agent("web7", host_state(1, 7, Some("web7")));
    let mut keys = FleetKeyFile::of(fleet(1));
    keys.rotate(fleet(2), fleet::wall_ms() / 1000, 3600);
    let mut options = viewer_options(None, vec![address(&web7)]);
    options.keys = Some(keys);
    let mut viewer = Viewer::open(options).expect("it opens");
    let (mut has_rotated, mut events, end) = (false, Vec::new(), Instant::now() + PATIENCE);
    while !(has_rotated && has_envelope(&events)) {
        assert!(Instant::now() < end, "it is not rotated: {events:?}");
        let told = web7.wait(Duration::ZERO).expect("it runs");
        has_rotated |= told.iter().any(|event| matches!(event, AgentEvent::Rotated { .. }));
        events.extend(viewer.wait(Duration::from_millis(2)).expect("it runs"));
    }
    // One that has the new key alone is let in, and believes the host.
    let mut other = viewer_of(2, &[&web7]);
    let events = turn(&mut [&mut web7], &mut other, has_envelope);
    assert!(unconfirmed(&events).is_none(), "{events:?}");
    let mut third = viewer_of(3, &[&web7]);
    assert_eq!(turn_for(&mut [&mut web7], &mut third, Duration::from_millis(800)), []);
    assert_eq!(line(2).public, fleet(2).public());
}
