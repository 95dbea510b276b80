//! Borders that depend on what stands around them and on nothing before: for `--rsyncable`. A change in the input then moves the
//! borders near it, and all later units stay the same bytes, so that rsync and deduplicating stores find them again.

/// Bytes that a border depends on: one bit of the hash each.
const WINDOW_BYTES: usize = 64;

/// A random-looking number for each byte value (SplitMix64, Steele, Lea and Flood 2014).
const GEAR: [u64; 256] = {
    let mut table = [0; 256];
    let mut state: u64 = 0;
    let mut at = 0;
    while at < table.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    table
};

/// Length of the first part of `uncompressed` that ends at a border, at most `chunk_bytes`: on average three eighths of that. The whole
/// where there is none.
pub(crate) fn first_part(uncompressed: &[u8], chunk_bytes: usize) -> usize {
    let least = chunk_bytes / 8;
    // A border every quarter of a chunk: one chunk in thirty has none, and ends where it must.
    let bits = (chunk_bytes / 4).max(2).ilog2();
    let from = least.saturating_sub(WINDOW_BYTES);
    let mut hash: u64 = 0;
    for (at, &byte) in uncompressed.iter().enumerate().skip(from) {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
        if at >= least && hash >> (u64::BITS - bits) == 0 {
            return at + 1;
        }
    }
    uncompressed.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(mut uncompressed: &[u8], chunk_bytes: usize) -> Vec<&[u8]> {
        let mut parts = Vec::new();
        while !uncompressed.is_empty() {
            let (part, rest) =
                uncompressed.split_at(first_part(&uncompressed[..uncompressed.len().min(chunk_bytes)], chunk_bytes));
            parts.push(part);
            uncompressed = rest;
        }
        parts
    }

    #[test]
    fn what_stands_far_behind_a_change_is_divided_as_before() {
        let uncompressed = testkit::data::log_lines(20 << 20, 1);
        let mut changed = uncompressed.clone();
        changed.splice(3_000_000..3_000_000, *b"inserted");
        let (before, after) = (parts(&uncompressed, 1 << 20), parts(&changed, 1 << 20));
        assert!((40..100).contains(&before.len()), "{} parts", before.len());
        let same = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
        assert!(same * 10 > before.len() * 7, "{same} of {} parts are the same", before.len());
    }

    #[test]
    fn data_without_borders_are_divided_where_they_must_be() {
        assert_eq!(first_part(&[7; 1000], 1000), 1000);
        assert_eq!(first_part(&[], 1000), 0);
    }
}
