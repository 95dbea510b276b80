//! Any bytes as a deflate stream: the kernel and zlib must accept the same ones, give the same bytes and end at the same byte.
//! The first byte says how much output the kernel may give at a time.

use codec::formats::gzip::kernel::{InflateStatus, Inflater, SLACK_BYTES};
use flate2::{Decompress, FlushDecompress};

/// More than any seed gives; streams that give more are not compared.
pub const PLAIN_BYTES: usize = 1 << 20;

/// What came of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Inflated {
    /// The plain bytes, and how many packed ones they took.
    Whole {
        /// What came out.
        plain: Vec<u8>,
        /// How far it went.
        consumed: usize,
    },
    /// It is no stream, or it breaks off.
    Refused,
    /// More than [`PLAIN_BYTES`] came out.
    TooMuch,
}

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((&cut, stream)) = input.split_first() else { return };
    let ours = with_the_kernel(stream, 1 + usize::from(cut) * 17);
    let theirs = with_zlib(stream);
    match (&ours, &theirs) {
        (Inflated::TooMuch, _) | (_, Inflated::TooMuch) => {}
        (Inflated::Refused, Inflated::Whole { .. }) => panic!("the kernel refuses what zlib takes"),
        (Inflated::Whole { .. }, Inflated::Refused) => panic!("zlib refuses what the kernel takes"),
        _ => assert!(ours == theirs, "the kernel gives other bytes than zlib, or ends elsewhere"),
    }
}

/// The whole input at once, the output in steps.
pub fn with_the_kernel(stream: &[u8], step_bytes: usize) -> Inflated {
    let mut inflater = Inflater::boxed();
    let mut buffer = vec![0; PLAIN_BYTES + step_bytes + 258 + SLACK_BYTES];
    let (mut consumed, mut filled) = (0, 0);
    while filled <= PLAIN_BYTES {
        let Ok(step) = inflater.inflate(&stream[consumed..], true, &mut buffer, filled, filled + step_bytes) else {
            return Inflated::Refused;
        };
        consumed += step.consumed;
        filled += step.produced;
        match step.status {
            InflateStatus::Finished if filled <= PLAIN_BYTES => {
                buffer.truncate(filled);
                return Inflated::Whole { plain: buffer, consumed };
            }
            InflateStatus::Finished => return Inflated::TooMuch,
            InflateStatus::NeedsInput => panic!("it was told that the input ends"),
            InflateStatus::OutputFull | InflateStatus::BlockEnd => {}
        }
    }
    Inflated::TooMuch
}

fn with_zlib(stream: &[u8]) -> Inflated {
    let mut zlib = Decompress::new(false);
    let mut plain = Vec::with_capacity(PLAIN_BYTES + 1);
    match zlib.decompress_vec(stream, &mut plain, FlushDecompress::Finish) {
        Ok(flate2::Status::StreamEnd) if plain.len() <= PLAIN_BYTES => {
            let consumed = usize::try_from(zlib.total_in()).expect("no more than there is");
            Inflated::Whole { plain, consumed }
        }
        _ if plain.len() > PLAIN_BYTES => Inflated::TooMuch,
        _ => Inflated::Refused,
    }
}
