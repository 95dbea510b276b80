//! Rows of COPY's text, added up as they come; of a row that two slices have parts of, only its hash so far is kept.

use super::RowDigest;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Takes rows in slices that end anywhere.
#[derive(Default)]
pub struct RowDigester {
    digest: RowDigest,
    /// Of the row that has not ended.
    open: Option<Box<Xxh3>>,
}

impl RowDigester {
    /// Takes a slice. A row's own line ends are written as `\n`: a line end is a row's end.
    pub fn take(&mut self, bytes: &[u8]) {
        self.digest.bytes += bytes.len() as u64;
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let row = &bytes[begin..end];
            let hash = match self.open.take() {
                Some(mut open) => {
                    open.update(row);
                    open.digest128()
                }
                None => xxh3_128(row),
            };
            self.digest.sum = self.digest.sum.wrapping_add(hash);
            self.digest.rows += 1;
            begin = end + 1;
        }
        if begin < bytes.len() {
            self.open.get_or_insert_with(|| Box::new(Xxh3::new())).update(&bytes[begin..]);
        }
    }

    /// All rows are there.
    pub fn finish(self) -> RowDigest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::digest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digests_are_those_of_a_dump_whatever_the_slices_are(
            rows in proptest::collection::vec("[a-z\t]{0,600}", 0..20),
            slice in 1_usize..700,
        ) {
            let text: Vec<u8> = rows.iter().flat_map(|row| [row.as_bytes(), b"\n"].concat()).collect();
            let mut digester = RowDigester::default();
            text.chunks(slice).for_each(|slice| digester.take(slice));
            let found = digester.finish();
            prop_assert_eq!((found.rows, found.sum), digest(&text));
            prop_assert_eq!(found.bytes, text.len() as u64);
        }
    }
}
