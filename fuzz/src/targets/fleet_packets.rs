//! Queries and answers of a fleet, as anybody on the network may send them: only the very packets that were made pass.

use fleet::HostName;
use fleet::answer::{FleetAnswer, answered_nonce, open_answer, seal_answer};
use fleet::keys::{FeedRole, FleetPair, HostPair};
use fleet::query::{FleetQuery, PACKET_BYTES, QueryFilter, make_query};
use std::time::Instant;

const NOW_MS: u64 = 1_700_000_000_000;

fn pair() -> FleetPair {
    FleetPair::of_seed([1; 32], HostName::new(b"home"))
}

/// Reads the input as either.
pub fn run(input: &[u8]) {
    let mut filter = QueryFilter::new(Instant::now());
    filter.set_lines(&[pair().public_line(FeedRole::Full)]);
    if let Ok((_, nonce)) = filter.check(input, NOW_MS, Instant::now()) {
        let wall_ms = FleetQuery::read(input).expect("it was accepted").wall_ms;
        assert_eq!(input, make_query(&pair(), &nonce, wall_ms), "a query that the fleet has not made is accepted");
    }
    if let Some(answer) = open_answer(input, &pair()) {
        assert!(answered_nonce(input).is_some() && input.len() == PACKET_BYTES);
        assert!(answer.port != 0 && !answer.name.as_str().is_empty());
    }
}

/// One of each.
pub fn seeds() -> Vec<Vec<u8>> {
    let host = HostPair::of_secret([2; 32]).public();
    let answer = FleetAnswer { host, port: 7764, name: HostName::new(b"web7") };
    let sealed = seal_answer(&answer, &pair().public(), &[5; 16]).expect("the kernel has random bytes");
    vec![make_query(&pair(), &[5; 16], NOW_MS).to_vec(), sealed.to_vec()]
}
