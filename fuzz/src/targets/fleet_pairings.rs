//! What comes in a pairing: a typed code, halves of a key and messages from anybody, and what a proven peer says of itself. Nothing that was
//! not made with the key is believed; the others are written as they were read.

use fleet::HostName;
use fleet::keys::{FeedRole, FleetPair, HostPublic, HostTicket};
use fleet::pairing::PairingCode;
use fleet::pairing::payloads::{enrolment, enrolment_again, half_of_viewer, host_again, is_believed, is_half};

/// Reads the input as each of them.
pub fn run(input: &[u8]) {
    if let Some(code) = std::str::from_utf8(input).ok().and_then(PairingCode::of_text) {
        assert_eq!(PairingCode::of_text(&code.to_string()), Some(code));
    }
    for again in [host_again, enrolment_again] {
        if let Some(written) = again(input) {
            assert!(written.len() <= 1024, "what is said is bounded");
            assert_eq!(again(&written), Some(written.clone()));
        }
    }
    assert!(!is_half(&code(), input) || input.len() == 33, "another length is no half");
    assert!(!is_believed(input), "nobody has the key");
}

fn code() -> PairingCode {
    PairingCode::of_text("7-guitar-orbit").expect("a code")
}

/// A host of itself, a line with a ticket, half of a key, codes as people type them.
pub fn seeds() -> Vec<Vec<u8>> {
    let fleet = FleetPair::of_seed([1; 32], HostName::new(b"home"));
    let ticket = HostTicket::sign(&fleet, HostPublic([2; 32]), HostName::new(b"web7"), 5);
    vec![
        [&[2; 32][..], b"\x04web7"].concat(),
        enrolment(&fleet.public_line(FeedRole::Full), &ticket),
        half_of_viewer(&code()),
        b"7-guitar-orbit".to_vec(),
        b" 7 Guitar  ORBIT\n".to_vec(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_is_understood_by_the_reader_it_is_for() {
        let seeds = seeds();
        assert_eq!(host_again(&seeds[0]).as_ref(), Some(&seeds[0]));
        assert_eq!(enrolment_again(&seeds[1]).as_ref(), Some(&seeds[1]));
        assert!(is_half(&code(), &seeds[2]));
        for typed in &seeds[3..] {
            assert_eq!(std::str::from_utf8(typed).ok().and_then(PairingCode::of_text), Some(code()));
        }
    }
}
