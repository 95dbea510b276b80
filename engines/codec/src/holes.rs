//! Sparse files: long runs of zeros are not written, so that the file system keeps holes in their place.
//! The file must be new there, and its length is set by the caller, since a hole at the end leaves none.

use std::fs::File;
use std::io;
use sys::at_offset::write_all_at;

/// Zeros that are worth a hole: the bytes of this many, at a multiple of it. Smaller saves more on disk and costs more writes;
/// file systems keep holes in blocks of 4 KiB and more.
const HOLE_BYTES: usize = 32 << 10;

/// Writes `bytes` at `offset`, except the aligned segments of them that are all zero.
pub(crate) fn write_around_zeros(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        // The remainder is less than a segment.
        let into_a_segment = ((offset + at as u64) % HOLE_BYTES as u64) as usize;
        let end = bytes.len().min(at + HOLE_BYTES - into_a_segment);
        if into_a_segment == 0 && end - at == HOLE_BYTES && is_zero(&bytes[at..end]) {
            write_all_at(file, &bytes[from..at], offset + from as u64)?;
            from = end;
        }
        at = end;
    }
    write_all_at(file, &bytes[from..], offset + from as u64)
}

/// Data that are not zero show it early; what is zero is looked at in strides that the compiler can widen.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(256).all(|stride| stride.iter().fold(0, |any, &byte| any | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use sys::at_offset::read_full_at;

    #[test]
    fn zeros_become_holes_and_the_bytes_stay() {
        let mut uncompressed = vec![0; 20 * HOLE_BYTES + 5];
        for at in [0, 3 * HOLE_BYTES - 1, 7 * HOLE_BYTES, 7 * HOLE_BYTES + 1] {
            uncompressed[at] = 1;
        }
        let file = tempfile::tempfile().expect("a file");
        for (number, segment) in uncompressed.chunks(3 * HOLE_BYTES + 100).enumerate() {
            write_around_zeros(&file, segment, (number * (3 * HOLE_BYTES + 100)) as u64).expect("write");
        }
        file.set_len(uncompressed.len() as u64).expect("its length");
        let mut back = vec![1; uncompressed.len()];
        assert_eq!(read_full_at(&file, &mut back, 0).expect("read"), uncompressed.len());
        assert!(back == uncompressed, "the bytes are others");
        let on_disk = file.metadata().expect("metadata").blocks() * 512;
        assert!(
            on_disk < uncompressed.len() as u64 * 3 / 4,
            "{on_disk} of {} bytes are on the disk",
            uncompressed.len()
        );
    }
}
