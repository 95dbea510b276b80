//! Two sides over loopback: right and wrong codes, third parties, noise.

use super::*;
use crate::keys::HostPair;
use std::io::{Read, Write};
use std::thread::JoinHandle;

const LONG: Duration = Duration::from_secs(60);

fn fleet() -> FleetPair {
    FleetPair::of_seed([1; 32], HostName::new(b"site"))
}

fn offer(code: &str, within: Duration) -> (SocketAddr, JoinHandle<PairingEnd>) {
    offer_where(code, within, |_name, _key| false)
}

fn offer_where(
    code: &str,
    within: Duration,
    taken: fn(&HostName, &HostPublic) -> bool,
) -> (SocketAddr, JoinHandle<PairingEnd>) {
    let offer = PairingOffer::open(0, code_of(code)).expect("a port");
    let address = SocketAddr::from(([127, 0, 0, 1], offer.port()));
    let wait = move || offer.wait(&fleet(), &fleet().public_line(FeedRole::Full), within, 7, &taken).expect("no error");
    (address, std::thread::spawn(wait))
}

fn code_of(text: &str) -> PairingCode {
    PairingCode::of_text(text).expect("a code")
}

fn host() -> HostState {
    HostState::in_memory(HostPair::of_secret([5; 32]), Vec::new())
}

fn join_at(address: SocketAddr, code: &str, state: &mut HostState) -> Result<PublicLine, Error> {
    join(&[address], "viewer", &code_of(code), &HostName::new(b"web7"), state, FeedRole::Full)
}

#[test]
fn the_right_code_brings_the_line_and_a_ticket_and_is_good_once() {
    let (address, viewer) = offer("7-guitar-orbit", LONG);
    let mut state = host();
    let line = join_at(address, "7-guitar-orbit", &mut state).expect("paired");
    assert_eq!((line.name.as_str(), line.role), ("site", FeedRole::Full));
    assert!(state.lines == [line] && state.tickets[0].is_of(&fleet().public()));
    let PairingEnd::Paired { name, host } = viewer.join().expect("no panic") else { panic!("not paired") };
    assert_eq!((name.as_str(), host), ("web7", state.pair.public()));
    let again = join_at(address, "7-guitar-orbit", &mut self::host()).expect_err("used");
    assert!(again.to_string().contains("it was used or has expired"), "{again}");
}

#[test]
fn a_wrong_code_is_seen_by_both_and_uses_the_code_up() {
    let (address, viewer) = offer("7-guitar-orbit", LONG);
    let mut state = host();
    let refused = join_at(address, "7-guitar-orange", &mut state).expect_err("another code");
    assert!(refused.to_string().contains("nothing was kept"), "{refused}");
    assert!(state.lines.is_empty() && state.tickets.is_empty());
    let PairingEnd::Wrong { peer } = viewer.join().expect("no panic") else { panic!("not seen") };
    assert_eq!(peer, "127.0.0.1");
    assert!(join_at(address, "7-guitar-orbit", &mut state).is_err(), "the right one comes too late");
}

#[test]
fn a_third_party_between_both_is_seen_by_both() {
    let (address, viewer) = offer("7-guitar-orbit", LONG);
    let between = TcpListener::bind("127.0.0.1:0").expect("a port");
    let shown = between.local_addr().expect("bound");
    // It passes everything on but one bit of the viewer's last message.
    let third = std::thread::spawn(move || {
        let (mut host, _) = between.accept().expect("the host");
        let mut viewer = TcpStream::connect(address).expect("the viewer");
        let frame = |from: &mut TcpStream| {
            let mut length = [0; 2];
            from.read_exact(&mut length).expect("a frame");
            let mut frame = vec![0; usize::from(u16::from_le_bytes(length))];
            from.read_exact(&mut frame).expect("a frame");
            [length.to_vec(), frame].concat()
        };
        for _ in 0..2 {
            let sent = frame(&mut host);
            viewer.write_all(&sent).expect("sent");
            let answered = frame(&mut viewer);
            let last = answered.len() - 1;
            let changed = [&answered[..last], &[answered[last] ^ u8::from(answered.len() > 40)]].concat();
            host.write_all(&changed).expect("sent");
        }
    });
    let mut state = host();
    let refused = join_at(shown, "7-guitar-orbit", &mut state).expect_err("changed");
    assert!(refused.to_string().contains("somebody stands between"), "{refused}");
    assert!(state.lines.is_empty());
    third.join().expect("no panic");
    // It has sent the line, and cannot know that the host got something else.
    assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Unsure { .. }));
}

#[test]
fn a_code_expires_and_whoever_does_not_speak_of_pairing_is_no_try() {
    let (_, viewer) = offer("7-guitar-orbit", Duration::from_millis(1));
    assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Expired));
    let (address, viewer) = offer("7-guitar-orbit", LONG);
    for noise in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff", b"\x03\x00abc"] {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(noise).expect("sent");
    }
    join_at(address, "7-guitar-orbit", &mut host()).expect("paired");
    assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Paired { .. }));
}

#[test]
fn one_who_greets_and_sends_nonsense_uses_the_code_up() {
    for greeting in [&b"mhpair1"[..], b"mhpair1Axxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"] {
        let (address, viewer) = offer("7-guitar-orbit", LONG);
        let mut stream = TcpStream::connect(address).expect("it listens");
        let length = u16::try_from(greeting.len()).expect("short").to_le_bytes();
        stream.write_all(&[&length, greeting].concat()).expect("sent");
        // Its answer is what it can learn something from.
        let mut answer = [0];
        assert!(matches!(stream.read(&mut answer), Ok(1)), "it is answered");
        drop(stream);
        assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Wrong { .. }));
    }
}

#[test]
fn one_who_greets_and_is_gone_before_there_is_an_answer_is_no_try() {
    let (address, viewer) = offer("7-guitar-orbit", LONG);
    // The silent one is heard first, for as long as a greeting may take: the next has gone by then.
    let silent = TcpStream::connect(address).expect("it listens");
    let mut gone = TcpStream::connect(address).expect("it listens");
    let greeting = [HELLO, &[b'A'; 33]].concat();
    gone.write_all(&[&(greeting.len() as u16).to_le_bytes(), &greeting[..]].concat()).expect("sent");
    drop(gone);
    drop(silent);
    join_at(address, "7-guitar-orbit", &mut host()).expect("paired");
    assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Paired { .. }));
}

#[test]
fn a_name_that_stands_for_another_key_is_sent_nothing() {
    let (address, viewer) = offer_where("7-guitar-orbit", LONG, |name, _key| name.as_str() == "web7");
    let mut state = host();
    join_at(address, "7-guitar-orbit", &mut state).expect_err("refused");
    assert!(state.lines.is_empty() && state.tickets.is_empty());
    let PairingEnd::OtherKey { name, host } = viewer.join().expect("no panic") else { panic!("not seen") };
    assert_eq!((name.as_str(), host), ("web7", state.pair.public()));
}

#[test]
fn a_viewer_gets_no_more_than_the_host_allows_and_no_more_than_it_had() {
    let mut state = host();
    for most in [FeedRole::Numbers, FeedRole::Full] {
        let (address, viewer) = offer("7-guitar-orbit", LONG);
        let line = join(&[address], "viewer", &code_of("7-guitar-orbit"), &HostName::new(b"web7"), &mut state, most);
        assert_eq!(line.expect("paired").role, FeedRole::Numbers, "{most:?}");
        assert!(matches!(viewer.join().expect("no panic"), PairingEnd::Paired { .. }));
    }
    assert_eq!(state.lines.len(), 1);
}
