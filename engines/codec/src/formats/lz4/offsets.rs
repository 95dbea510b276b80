//! Offsets of 0 in the sequences of LZ4 blocks (lz4_Block_format.md: "0 is an invalid offset value"). liblz4 copies for them
//! whatever its output buffer held, which here was somebody else's data. Reads only, and only where two zero bytes stand.

/// Bytes looked at together; the compiler makes vectors of it.
const STEP_BYTES: usize = 64;

/// Whether a match of the block `compressed` has offset 0. What is broken in other ways is left to the decoder.
pub(super) fn any_is_zero(compressed: &[u8]) -> bool {
    has_two_zeros(compressed) && any_sequence_has_zero(compressed)
}

/// Whether two zero bytes stand side by side: few blocks have them, and without them no offset is 0.
fn has_two_zeros(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((step, _)) = rest.split_first_chunk::<{ STEP_BYTES + 1 }>() {
        let pairs = (0..STEP_BYTES).fold(0, |found, at| found | u8::from(step[at] | step[at + 1] == 0));
        if pairs != 0 {
            return true;
        }
        rest = &rest[STEP_BYTES..];
    }
    rest.windows(2).any(|pair| pair == [0, 0])
}

/// Goes from sequence to sequence.
fn any_sequence_has_zero(compressed: &[u8]) -> bool {
    let mut rest = compressed;
    while let Some((&token, behind)) = rest.split_first() {
        rest = behind;
        let literals = length(token >> 4, &mut rest);
        // The last sequence ends behind its literals.
        let Some((offset, behind)) = rest.get(literals..).and_then(<[u8]>::split_first_chunk::<2>) else {
            return false;
        };
        if *offset == [0, 0] {
            return true;
        }
        rest = behind;
        length(token & 15, &mut rest);
    }
    false
}

/// The length that a nibble begins.
fn length(nibble: u8, rest: &mut &[u8]) -> usize {
    let mut length = usize::from(nibble);
    let mut goes_on = nibble == 15;
    while let (true, Some((&more, behind))) = (goes_on, rest.split_first()) {
        length += usize::from(more);
        goes_on = more == 255;
        *rest = behind;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offsets_count() {
        // "abcd", a match of 8 at this distance, five letters.
        let block = |offset: [u8; 2]| [&[0x44][..], b"abcd", &offset, &[0x50], b"vwxyz"].concat();
        assert!(any_is_zero(&block([0, 0])));
        assert!(!any_is_zero(&block([4, 0])) && !any_is_zero(&block([0, 1])));
        // Zeros as literals, at every place of a step.
        for place in 0..200 {
            let mut literals = vec![b'x'; 300];
            literals[place..place + 2].fill(0);
            let front = [&[0xf0, 255, 30][..], &literals].concat();
            assert!(has_two_zeros(&front), "{place}");
            assert!(!any_is_zero(&front), "{place}");
            let sequence = |offset: [u8; 2]| [&front[..], &offset, &block([4, 0])].concat();
            assert!(any_is_zero(&sequence([0, 0])) && !any_is_zero(&sequence([1, 0])), "{place}");
        }
    }

    #[test]
    fn no_cut_is_too_short() {
        let block = [&[0xff, 255, 1][..], &[0; 271], &[4, 0, 255, 0, 0x50, 0, 0, 0, 0, 0]].concat();
        assert!((0..=block.len()).all(|end| !any_is_zero(&block[..end])));
    }
}
