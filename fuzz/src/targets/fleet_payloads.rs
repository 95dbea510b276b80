//! What a host or a viewer says once its messages are opened: facts, openings, messages. Each is bounded and is written
//! as it was read.

use fleet::HostName;
use fleet::keys::{FleetPair, HostPublic, HostTicket};
use fleet::session::AgentFacts;
use fleet::session::payloads::{bytes_of_facts, facts_of, message_again, opening_is_read};

/// Reads the input as each of them.
pub fn run(input: &[u8]) {
    let _any_length_is_fine = opening_is_read(input);
    if let Some(facts) = facts_of(input) {
        let written = bytes_of_facts(&facts);
        assert!(written.len() <= 1024, "facts are bounded");
        assert_eq!(facts_of(&written), Some(facts));
    }
    if let Some(written) = message_again(input).filter(|written| !written.is_empty()) {
        assert_eq!(message_again(&written), Some(written.clone()));
    }
}

/// Facts with a ticket and without; credit, data, a ticket.
pub fn seeds() -> Vec<Vec<u8>> {
    let fleet = FleetPair::of_seed([1; 32], HostName::new(b"home"));
    let ticket = HostTicket::sign(&fleet, HostPublic([2; 32]), HostName::new(b"web7"), 5);
    let facts = |ticket| AgentFacts {
        name: HostName::new(b"web7"),
        boot_id: [3; 16],
        cores: 8,
        wall_ms: 99,
        versions: (1, 1),
        program: HostName::new(b"0.1.0"),
        ticket,
    };
    let mut seeds = vec![bytes_of_facts(&facts(None)), bytes_of_facts(&facts(Some(ticket)))];
    seeds.push(b"\x01\x3c\0\0\0\xe8\x03\0\0\x02".to_vec());
    seeds.push(b"\x10mh\x01\x02\0\0\0............hi".to_vec());
    seeds.push([&[3], &seeds[1][seeds[1].len() - 117..]].concat());
    seeds
}
