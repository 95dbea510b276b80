//! The first step of packing: a run of four to 259 equal bytes becomes four of them and a count. It was meant to spare the
//! sorter of bzip2 its worst case; ours has none, but the format demands the step. And the way back, segment by segment: a block of
//! 900 000 bytes may come to 46 MB. Where memory is plenty mibz2 goes it at once, faster.

use super::container::defect;
use crate::error::UnitDefect;

/// The shortest run that gets a count.
const RUN_BYTES: usize = 4;

/// The longest: the count is a byte.
const RUN_BYTES_MAX: usize = RUN_BYTES + 255;

/// Bytes looked at together for the beginning of a run.
const STRIDE: usize = 32;

/// Appends `uncompressed` to `block` with its runs shortened, up to `room` bytes in all. Returns how many uncompressed bytes it took.
pub(super) fn shorten_runs(uncompressed: &[u8], room: usize, block: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while at < uncompressed.len() && block.len() < room {
        let literals = (room - block.len()).min(until_run(&uncompressed[at..]));
        block.extend_from_slice(&uncompressed[at..at + literals]);
        at += literals;
        if at == uncompressed.len() || block.len() == room || until_run(&uncompressed[at..]) > 0 {
            continue;
        }
        if room - block.len() <= RUN_BYTES {
            break;
        }
        let byte = uncompressed[at];
        let run = uncompressed[at..].iter().take(RUN_BYTES_MAX).take_while(|&&next| next == byte).count();
        block.extend_from_slice(&[byte, byte, byte, byte, (run - RUN_BYTES) as u8]);
        at += run;
    }
    at
}

/// Bytes in front of the first run of four.
fn until_run(uncompressed: &[u8]) -> usize {
    let mut at = 0;
    while let Some(window) = uncompressed.get(at..at + STRIDE + RUN_BYTES - 1) {
        // No early end inside: a loop without branches becomes vector code.
        let begins = (0..STRIDE).fold(false, |any, index| {
            any | ((window[index] == window[index + 1])
                & (window[index] == window[index + 2])
                & (window[index] == window[index + 3]))
        });
        if begins {
            break;
        }
        at += STRIDE;
    }
    uncompressed[at..]
        .windows(RUN_BYTES)
        .position(|four| four.iter().all(|&byte| byte == four[0]))
        .map_or(uncompressed.len(), |run| at + run)
}

/// How far the runs of a block have been undone.
#[derive(Clone, Copy, Default)]
pub(super) struct UndoneRuns {
    at: usize,
}

impl UndoneRuns {
    /// Whether that is the whole block.
    pub fn are_all(self, block: &[u8]) -> bool {
        self.at >= block.len()
    }

    /// Goes on until `segment` holds `wanted` bytes, or up to 258 more, or the block ends.
    pub fn go_on(&mut self, block: &[u8], wanted: usize, segment: &mut Vec<u8>) -> Result<(), UnitDefect> {
        while self.at < block.len() && segment.len() < wanted {
            let rest = &block[self.at..];
            let literals = until_run(&rest[..rest.len().min(wanted - segment.len() + RUN_BYTES)]);
            if literals > 0 {
                let literals = literals.min(wanted - segment.len());
                segment.extend_from_slice(&rest[..literals]);
                self.at += literals;
                continue;
            }
            let count = rest.get(RUN_BYTES).ok_or_else(|| defect(&mibz2::ErrorKind::RunUnfinished))?;
            segment.resize(segment.len() + RUN_BYTES + usize::from(*count), rest[0]);
            self.at += RUN_BYTES + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_without_its_count_is_refused() {
        let undo = |block: &[u8]| UndoneRuns::default().go_on(block, 100, &mut Vec::new());
        assert!(undo(b"aaaa").is_err() && undo(b"baaaa").is_err());
        assert!(undo(b"aaa").is_ok() && undo(b"aaaa\0").is_ok());
    }

    fn lengthened(block: &[u8]) -> Vec<u8> {
        let (mut uncompressed, mut alike, mut bytes) = (Vec::new(), 0, block.iter());
        while let Some(&byte) = bytes.next() {
            alike = if uncompressed.last() == Some(&byte) && alike > 0 { alike + 1 } else { 1 };
            uncompressed.push(byte);
            if alike == RUN_BYTES {
                let count = *bytes.next().expect("a count");
                uncompressed.resize(uncompressed.len() + usize::from(count), byte);
                alike = 0;
            }
        }
        uncompressed
    }

    proptest! {
        #[test]
        fn runs_come_back_and_the_room_is_kept(
            runs in proptest::collection::vec((0_u8..3, 1_usize..600), 0..20),
            room in 6_usize..3000,
        ) {
            let uncompressed: Vec<u8> = runs.iter().flat_map(|&(byte, count)| vec![byte; if count > 300 { count } else { count % 7 }]).collect();
            let mut block = Vec::new();
            let taken = shorten_runs(&uncompressed, room, &mut block);
            prop_assert!(block.len() <= room);
            prop_assert!(taken == uncompressed.len() || block.len() + RUN_BYTES >= room, "as much as there is room for");
            prop_assert_eq!(lengthened(&block), &uncompressed[..taken]);
        }

        #[test]
        fn runs_are_undone_in_segments_of_any_size(
            runs in proptest::collection::vec((0_u8..3, 1_usize..9, any::<u8>()), 0..50),
            wanted in 1_usize..2000,
        ) {
            let block = runs.iter().flat_map(|&(byte, bytes, count)| {
                if bytes >= RUN_BYTES { vec![byte, byte, byte, byte, count, 7] } else { [vec![byte; bytes], vec![7]].concat() }
            });
            let block: Vec<u8> = block.collect();
            let (mut undone, mut uncompressed) = (UndoneRuns::default(), Vec::new());
            while !undone.are_all(&block) {
                let mut segment = Vec::new();
                undone.go_on(&block, wanted, &mut segment).expect("every run has its count");
                prop_assert!(!segment.is_empty() && segment.len() < wanted + RUN_BYTES_MAX);
                uncompressed.extend(segment);
            }
            let mut at_once = Vec::new();
            mibz2::rle::unrle(&block, &mut at_once, mibz2::Kernels::detect()).expect("every run has its count");
            prop_assert_eq!(uncompressed, at_once);
        }
    }
}
