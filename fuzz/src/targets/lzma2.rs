//! Any bytes as an LZMA2 stream: the kernel and liblzma must accept the same ones, give the same bytes and end at the same byte.
//! The first byte is the dictionary's size as a block header has it.

use codec::formats::xz::kernel::{self, LzmaDecoded};
use liblzma::stream::{Action, Filters, LzmaOptions, Status, Stream};

/// More than any seed gives; streams that give more are not compared.
const PLAIN_BYTES: usize = 1 << 20;

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((&code, stream)) = input.split_first() else { return };
    // Up to 1 MiB: larger ones are no larger for so little output.
    let code = code % 17;
    let (mut ours, mut theirs) = (vec![0; PLAIN_BYTES], vec![0; PLAIN_BYTES]);
    let by_kernel = kernel::decode(stream, (2 | u64::from(code & 1)) << (code / 2 + 11), &mut ours);
    let by_library = with_liblzma(stream, code, &mut theirs);
    match (&by_kernel, by_library) {
        (Ok(decoded), Some(expected)) => {
            assert_eq!(*decoded, expected, "both take it, and not as far");
            assert!(ours[..decoded.produced] == theirs[..expected.produced], "the kernel gives other bytes");
        }
        (Ok(_), None) => panic!("liblzma refuses what the kernel takes"),
        (Err(error), Some(_)) => panic!("the kernel refuses what liblzma takes: {error}"),
        (Err(_), None) => {}
    }
}

fn filters(code: u8) -> Filters {
    let mut filters = Filters::new();
    filters.lzma2_properties(&[code]).expect("a size that there is");
    filters
}

/// None where it refuses the stream, or more comes out than there is room for.
fn with_liblzma(stream: &[u8], code: u8, plain: &mut [u8]) -> Option<LzmaDecoded> {
    let mut decoder = Stream::new_raw_decoder(&filters(code)).expect("a decoder");
    let status = decoder.process(stream, plain, Action::Finish).ok()?;
    let whole = |bytes: u64| usize::try_from(bytes).expect("no more than there is");
    let decoded = LzmaDecoded { consumed: whole(decoder.total_in()), produced: whole(decoder.total_out()) };
    (status == Status::StreamEnd).then_some(decoded)
}

/// Streams of several properties, behind a size of the dictionary.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, plain) in crate::seeds::plain().into_iter().enumerate() {
        for (preset, contexts, literal_positions, positions) in [(0, 3, 0, 2), (6, 0, 4, 0), (9, 2, 2, 4)] {
            let mut options = LzmaOptions::new_preset(preset).expect("a preset");
            options.literal_context_bits(contexts).literal_position_bits(literal_positions).position_bits(positions);
            options.dict_size(64 << 10);
            let mut filters = Filters::new();
            filters.lzma2(&options);
            let mut encoder = Stream::new_raw_encoder(&filters).expect("an encoder");
            let mut stream = Vec::with_capacity(plain.len() * 2 + 1000);
            // Two chunks and more where there is anything.
            let (front, back) = plain.split_at(plain.len() / 2);
            let flush = if number % 2 == 0 { Action::SyncFlush } else { Action::Run };
            encoder.process_vec(front, &mut stream, flush).expect("packed");
            encoder.process_vec(back, &mut stream, Action::Finish).expect("packed");
            seeds.push([&[10][..], &stream].concat());
        }
    }
    seeds
}
