//! `--digest`: digests of what is copied, from the pass that copies it. A line a file, under the copy's name, so that `mh sum -c` reads the copies back.

use crate::trees::Words;
use digests::algorithm::Algorithm;
use digests::manifest::tagged_line;
use digests::{StreamHash, stream_hash};
use transfer::copy::FileWatch;

/// The digests of one file under way.
pub struct PassingDigests<'a> {
    algorithms: &'a [Algorithm],
    hashes: Vec<Box<dyn StreamHash>>,
    words: &'a Words,
}

impl<'a> PassingDigests<'a> {
    /// For these algorithms; none: nothing is computed.
    pub fn new(algorithms: &'a [Algorithm], words: &'a Words) -> Option<Self> {
        let hashes = || algorithms.iter().map(|algorithm| stream_hash(*algorithm)).collect();
        (!algorithms.is_empty()).then(|| Self { algorithms, hashes: hashes(), words })
    }
}

impl FileWatch for PassingDigests<'_> {
    fn see(&mut self, bytes: &[u8]) {
        self.hashes.iter_mut().for_each(|hash| hash.update(bytes));
    }

    fn is_whole(self: Box<Self>, target: &[u8]) {
        for (algorithm, hash) in self.algorithms.iter().zip(self.hashes) {
            let line = tagged_line(target, *algorithm, &hash.finish().hex());
            self.words.shows_bytes(&line);
        }
    }
}
