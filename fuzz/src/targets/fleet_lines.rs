//! Keys, tickets, rotations and lists of hosts, as people type and paste them: what is read is written as it was.

use fleet::HostName;
use fleet::keys::{FeedRole, FleetPair, HostPublic, HostTicket, PublicLine, Rotation};
use fleet::ssh::expand_hosts;

/// Reads the input as each of them.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for line in PublicLine::read_all(&text).unwrap_or_default() {
        assert_eq!(PublicLine::read(&line.to_string()).ok(), Some(line));
    }
    if let Ok(ticket) = HostTicket::read(&text) {
        assert_eq!(HostTicket::read(&ticket.to_string()).ok(), Some(ticket));
    }
    if let Ok(rotation) = Rotation::read(&text) {
        assert_eq!(Rotation::read(&rotation.to_string()).ok(), Some(rotation));
    }
    if let Ok(hosts) = expand_hosts(text.lines()) {
        assert!(hosts.len() <= 4096 && hosts.iter().all(|host| !host.starts_with('-')));
    }
    assert!(HostName::exact(HostName::new(input).as_str()).is_some());
}

/// One of each.
pub fn seeds() -> Vec<Vec<u8>> {
    let fleet = |byte| FleetPair::of_seed([byte; 32], HostName::new(b"home"));
    let line = fleet(1).public_line(FeedRole::Full);
    let ticket = HostTicket::sign(&fleet(1), HostPublic([2; 32]), HostName::new(b"web7"), 5);
    let rotation = Rotation::sign(&fleet(1), fleet(2).public(), 9);
    let texts = [line.to_string(), format!("# ours\n{line}\n"), ticket.to_string(), rotation.to_string()];
    let lists = ["web[1-3,7]", "root@db[01-12].example.org\nweb1", "r[1-9]n[1-9]"];
    texts.into_iter().map(String::into_bytes).chain(lists.map(|list| list.as_bytes().to_vec())).collect()
}
