//! A deflate stream that arrives and leaves in pieces of any size must come to the same as in one piece.
//! The first sixteen bytes are the sizes, used in turns: input pieces grow with each, output pieces too.

use super::inflate::{Inflated, PLAIN_BYTES, with_the_kernel};
use codec::formats::gzip::kernel::{InflateStatus, Inflater, SLACK_BYTES};

/// How far deflate refers back.
const WINDOW_BYTES: usize = 32 << 10;

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((cuts, stream)) = input.split_first_chunk::<16>() else { return };
    let whole = with_the_kernel(stream, PLAIN_BYTES);
    let pieces = in_pieces(stream, cuts);
    match (&whole, &pieces) {
        (Inflated::TooMuch, _) | (_, Inflated::TooMuch) => {}
        _ => assert!(whole == pieces, "pieces change the result"),
    }
}

/// Shows the kernel a piece of input at a time, keeps nothing but the window before each piece of output.
fn in_pieces(stream: &[u8], cuts: &[u8; 16]) -> Inflated {
    let mut inflater = Inflater::boxed();
    let (mut plain, mut consumed, mut shown) = (Vec::new(), 0, 0);
    let mut buffer = vec![0; WINDOW_BYTES + (64 << 10) + 258 + SLACK_BYTES];
    let mut turn = 0;
    while plain.len() <= PLAIN_BYTES {
        let cut = usize::from(cuts[turn % 16]);
        turn += 1;
        shown = shown.max(consumed);
        let ends = shown == stream.len();
        let history = plain.len().min(WINDOW_BYTES);
        buffer[..history].copy_from_slice(&plain[plain.len() - history..]);
        let room = (1 + cut * cut).min(64 << 10);
        let piece = &stream[consumed..shown];
        let Ok(step) = inflater.inflate(piece, ends, &mut buffer, history, history + room) else {
            return Inflated::Refused;
        };
        assert!(step.consumed <= piece.len(), "more was taken than shown");
        assert!(step.produced <= room + 258, "more came out than there was room for");
        plain.extend_from_slice(&buffer[history..history + step.produced]);
        consumed += step.consumed;
        match step.status {
            InflateStatus::Finished if plain.len() <= PLAIN_BYTES => return Inflated::Whole { plain, consumed },
            InflateStatus::Finished => return Inflated::TooMuch,
            InflateStatus::NeedsInput => {
                assert!(!ends, "it was told that the input ends");
                shown = (shown + 1 + cut / 4).min(stream.len());
            }
            InflateStatus::OutputFull | InflateStatus::BlockEnd => {}
        }
    }
    Inflated::TooMuch
}
