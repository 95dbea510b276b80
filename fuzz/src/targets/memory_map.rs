//! `smaps_rollup` and the memory lines of `status`: what one process has to itself is never more than what it has.

use observe::source::memory_map::MemoryOwner;
use observe::source::{memory_map, memory_status};

/// Any bytes.
pub fn run(input: &[u8]) {
    if let Some(map) = memory_map::parse(input) {
        for sharers in [0, 1, 2, 14, usize::MAX] {
            let exclusive = map.own_anonymous_bytes(MemoryOwner::Process(sharers));
            assert!(exclusive <= map.anonymous_bytes && exclusive <= map.private_bytes, "{map:?}");
        }
    }
    let _any_text_is_taken = memory_status::parse(input);
}
