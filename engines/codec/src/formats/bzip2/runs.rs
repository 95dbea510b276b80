//! The first step of packing: a run of four to 259 equal bytes becomes four of them and a count. It was meant to spare the
//! sorter of bzip2 its worst case; ours has none, but the format demands the step. And the way back, piece by piece: a block of
//! 900 000 bytes may come to 46 MB. Where memory is plenty mibz2 goes it at once, faster.

use super::container::defect;
use crate::error::UnitDefect;

/// The shortest run that gets a count.
const RUN_BYTES: usize = 4;

/// The longest: the count is a byte.
const RUN_BYTES_MAX: usize = RUN_BYTES + 255;

/// Bytes looked at together for the beginning of a run.
const STRIDE: usize = 32;

/// Appends `plain` to `block` with its runs shortened, up to `room` bytes in all. Returns how many plain bytes it took.
pub(super) fn shorten_runs(plain: &[u8], room: usize, block: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while at < plain.len() && block.len() < room {
        let literals = (room - block.len()).min(until_run(&plain[at..]));
        block.extend_from_slice(&plain[at..at + literals]);
        at += literals;
        if at == plain.len() || block.len() == room || until_run(&plain[at..]) > 0 {
            continue;
        }
        if room - block.len() <= RUN_BYTES {
            break;
        }
        let byte = plain[at];
        let run = plain[at..].iter().take(RUN_BYTES_MAX).take_while(|&&next| next == byte).count();
        block.extend_from_slice(&[byte, byte, byte, byte, (run - RUN_BYTES) as u8]);
        at += run;
    }
    at
}

/// Bytes in front of the first run of four.
fn until_run(plain: &[u8]) -> usize {
    let mut at = 0;
    while let Some(window) = plain.get(at..at + STRIDE + RUN_BYTES - 1) {
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
    plain[at..]
        .windows(RUN_BYTES)
        .position(|four| four.iter().all(|&byte| byte == four[0]))
        .map_or(plain.len(), |run| at + run)
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

    /// Goes on until `piece` holds `wanted` bytes, or up to 258 more, or the block ends.
    pub fn go_on(&mut self, block: &[u8], wanted: usize, piece: &mut Vec<u8>) -> Result<(), UnitDefect> {
        while self.at < block.len() && piece.len() < wanted {
            let rest = &block[self.at..];
            let literals = until_run(&rest[..rest.len().min(wanted - piece.len() + RUN_BYTES)]);
            if literals > 0 {
                let literals = literals.min(wanted - piece.len());
                piece.extend_from_slice(&rest[..literals]);
                self.at += literals;
                continue;
            }
            let count = rest.get(RUN_BYTES).ok_or_else(|| defect(&mibz2::ErrorKind::RunUnfinished))?;
            piece.resize(piece.len() + RUN_BYTES + usize::from(*count), rest[0]);
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
        let (mut plain, mut alike, mut bytes) = (Vec::new(), 0, block.iter());
        while let Some(&byte) = bytes.next() {
            alike = if plain.last() == Some(&byte) && alike > 0 { alike + 1 } else { 1 };
            plain.push(byte);
            if alike == RUN_BYTES {
                let count = *bytes.next().expect("a count");
                plain.resize(plain.len() + usize::from(count), byte);
                alike = 0;
            }
        }
        plain
    }

    proptest! {
        #[test]
        fn runs_come_back_and_the_room_is_kept(
            runs in proptest::collection::vec((0_u8..3, 1_usize..600), 0..20),
            room in 6_usize..3000,
        ) {
            let plain: Vec<u8> = runs.iter().flat_map(|&(byte, count)| vec![byte; if count > 300 { count } else { count % 7 }]).collect();
            let mut block = Vec::new();
            let taken = shorten_runs(&plain, room, &mut block);
            prop_assert!(block.len() <= room);
            prop_assert!(taken == plain.len() || block.len() + RUN_BYTES >= room, "as much as there is room for");
            prop_assert_eq!(lengthened(&block), &plain[..taken]);
        }

        #[test]
        fn runs_are_undone_in_pieces_of_any_size(
            runs in proptest::collection::vec((0_u8..3, 1_usize..9, any::<u8>()), 0..50),
            wanted in 1_usize..2000,
        ) {
            let block = runs.iter().flat_map(|&(byte, bytes, count)| {
                if bytes >= RUN_BYTES { vec![byte, byte, byte, byte, count, 7] } else { [vec![byte; bytes], vec![7]].concat() }
            });
            let block: Vec<u8> = block.collect();
            let (mut undone, mut plain) = (UndoneRuns::default(), Vec::new());
            while !undone.are_all(&block) {
                let mut piece = Vec::new();
                undone.go_on(&block, wanted, &mut piece).expect("every run has its count");
                prop_assert!(!piece.is_empty() && piece.len() < wanted + RUN_BYTES_MAX);
                plain.extend(piece);
            }
            let mut at_once = Vec::new();
            mibz2::rle::unrle(&block, &mut at_once, mibz2::Kernels::detect()).expect("every run has its count");
            prop_assert_eq!(plain, at_once);
        }
    }
}
