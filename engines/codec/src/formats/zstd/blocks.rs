//! Where a frame is cut into blocks, and what stands in front of each (RFC 8878, 3.1.1.2).
//! A block has its own entropy tables: it pays to begin another where the bytes change. Does not pack them.

use super::container::{BLOCK_HEADER_BYTES, ZstdBlockKind};
use super::kernel::finder::BLOCK_BYTES_MAX;

/// Blocks are cut at multiples of this.
const SEGMENT_BYTES: usize = 8 << 10;

/// Every so many bytes one is counted: a prime, so that records of any length are met at all their places.
const STRIDE_BYTES: usize = 43;

/// Bytes counted in a segment.
const SEGMENT_COUNTS: u16 = (SEGMENT_BYTES / STRIDE_BYTES) as u16;

/// How far a segment may differ from what stands before it in its block, in 32nds (none: the same counts; all: no byte in common).
/// Smaller cuts more often, which costs time: docs/journal/0003-five-formats.md chose it.
const DIFFERENCE_MAX: u16 = 11;

/// The more for a block that would be of one segment, one less with each segment more: few counts differ by chance.
const FIRST_SEGMENT_MORE: u16 = 3;

/// Kinds of bytes that are told apart: four that are neighbours are one. With all 256 two segments of random bytes have counts too few
/// to look alike, and each segment would be a block.
const KINDS: usize = 64;

/// How often each kind was counted. Narrow numbers, so that eight are compared at once.
type Counts = [u16; KINDS];
const _: () = assert!(
    2 * (BLOCK_BYTES_MAX / SEGMENT_BYTES) * SEGMENT_COUNTS as usize <= u16::MAX as usize,
    "all differences together fit, twice as many as a block has counts"
);

/// Length of the block that `rest`, the rest of a frame, begins with.
pub(super) fn next_block_bytes(rest: &[u8]) -> usize {
    if rest.len() < BLOCK_BYTES_MAX {
        return rest.len();
    }
    let (block, _) = rest.split_at(BLOCK_BYTES_MAX);
    let mut segments = block.chunks_exact(SEGMENT_BYTES);
    let mut before = [0; KINDS];
    if let Some(segment) = segments.next() {
        count(segment, &mut before);
    }
    for (number, segment) in (1..).zip(segments) {
        let mut counts = [0; KINDS];
        count(segment, &mut counts);
        let allowed = DIFFERENCE_MAX + FIRST_SEGMENT_MORE.saturating_sub(number - 1);
        if differ(&before, &counts, number, allowed) {
            return usize::from(number) * SEGMENT_BYTES;
        }
        before.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    BLOCK_BYTES_MAX
}

fn count(segment: &[u8], counts: &mut Counts) {
    // Whole strides, each its first byte.
    for stride in segment.chunks_exact(STRIDE_BYTES) {
        counts[usize::from(stride[0]) * KINDS / 256] += 1;
    }
}

/// Whether the counts of one segment are further than `allowed` from those of `number` segments: half the sum of differences of
/// shares, which is 0 to 1.
fn differ(before: &Counts, counts: &Counts, number: u16, allowed: u16) -> bool {
    let differences: u16 = before.iter().zip(counts).map(|(&sum, &count)| sum.abs_diff(count * number)).sum();
    16 * u32::from(differences) >= u32::from(number * SEGMENT_COUNTS) * u32::from(allowed)
}

/// A block's header: `bytes` is what it decodes to, or of a compressed one what stands behind the header.
pub(super) fn block_header(kind: ZstdBlockKind, bytes: usize, is_last: bool) -> [u8; BLOCK_HEADER_BYTES] {
    debug_assert!(bytes <= BLOCK_BYTES_MAX, "no block is larger");
    let word = (bytes as u32) << 3 | (kind as u32) << 1 | u32::from(is_last);
    let [low, middle, high, _] = word.to_le_bytes();
    [low, middle, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::data::{random, text, zeros};

    #[test]
    fn blocks_are_cut_where_the_bytes_change_and_nowhere_else() {
        let (text, random) = (text(BLOCK_BYTES_MAX, 1), random(BLOCK_BYTES_MAX, 2));
        assert_eq!(next_block_bytes(&text), BLOCK_BYTES_MAX);
        assert_eq!(next_block_bytes(&[random.as_slice(), &text].concat()), BLOCK_BYTES_MAX);
        for segments in 1..16 {
            let change = segments * SEGMENT_BYTES;
            assert_eq!(next_block_bytes(&[&text[..change], &random].concat()), change);
            assert_eq!(next_block_bytes(&[&zeros(change), &text[..]].concat()), change);
        }
        assert_eq!(
            next_block_bytes(&[&text[..SEGMENT_BYTES], &random[..SEGMENT_BYTES]].concat()),
            2 * SEGMENT_BYTES,
            "too few to divide"
        );
        assert_eq!(next_block_bytes(b""), 0);
    }

    #[test]
    fn headers_are_read_as_they_were_written() {
        use super::super::container::parse_block_header;
        for (kind, packed_bytes) in
            [(ZstdBlockKind::Raw, 99_999), (ZstdBlockKind::Compressed, 99_999), (ZstdBlockKind::Repeated, 1)]
        {
            for is_last in [false, true] {
                let header = parse_block_header(block_header(kind, 99_999, is_last)).expect("valid");
                assert_eq!((header.kind, header.size), (kind, 99_999));
                assert_eq!((header.is_last, header.packed_bytes), (is_last, packed_bytes));
            }
        }
    }
}
