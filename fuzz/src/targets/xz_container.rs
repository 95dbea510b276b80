//! Any bytes as an xz file: survey, cutter, Index, blocks that tell their sizes and blocks in series, in large and in odd
//! pieces. Files that we accept, liblzma's own loop over streams must accept, and read the same bytes; and the list of its blocks has
//! as many.

use crate::decode::{Decoded, assert_agreement, decode, format, piece_bytes};
use codec::compressed_reader::CompressedReader;
use codec::formats::xz::survey::{detail, streams};
use codec::list::survey_reader;
use liblzma::read::XzDecoder;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

/// Runs one input.
pub fn run(input: &[u8]) {
    let _told_or_refused = survey_reader(&mut CompressedReader::memory(input.to_vec()));
    let large = decode(format("xz"), input, 1 << 20);
    let small = decode(format("xz"), input, piece_bytes(input));
    assert_agreement(&large, &small);
    if let Decoded::Whole { plain, .. } = &large
        && format("xz").recognises(input)
    {
        let mut theirs = Vec::new();
        let outcome = XzDecoder::new_multi_decoder(input).read_to_end(&mut theirs);
        assert!(outcome.is_ok() && *plain == theirs, "liblzma reads it otherwise: {outcome:?}");
        let listed = listed(input);
        assert_eq!(listed, Some(plain.len() as u64), "the list has other sizes");
    } else {
        let _listed_or_refused = listed(input);
    }
}

/// Uncompressed bytes by the Indexes; each block is looked at.
fn listed(input: &[u8]) -> Option<u64> {
    let file = File::from(memfd_create("xz", MemfdFlags::CLOEXEC).expect("memory"));
    file.write_all_at(input, 0).expect("memory");
    let streams = streams(&file).ok()?;
    for stream in &streams {
        for block in &stream.blocks {
            let _told_or_refused = detail(&file, stream.check, block);
        }
    }
    streams.iter().try_fold(0_u64, |sum, stream| sum.checked_add(stream.uncompressed_bytes()))
}
