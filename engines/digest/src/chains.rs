//! Digests of one file that need its bytes in order: a chain each. Blocks come in order to all of them; any worker takes the next block of a
//! chain on which no other is. So several chains of one file run side by side, and each byte is read once.

use crate::algorithm::Algorithm;
use crate::stream::{StreamHash, stream_hash};
use crate::value::DigestValue;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that all chains of a file share.
pub(crate) type SharedBlock = Arc<Vec<u8>>;

/// The chains of one file.
pub(crate) struct DigestChains(Vec<Chain>);

struct Chain {
    algorithm: Algorithm,
    /// Who has it locked hashes.
    hash: Mutex<Option<Box<dyn StreamHash>>>,
    /// Blocks that it has not taken yet. LIMIT: no more than the pipeline has slots, since a block is put here while its slot is taken, and a slot
    /// that comes in between waits for the worker that is on a chain.
    waiting: Mutex<VecDeque<SharedBlock>>,
}

impl DigestChains {
    /// For those of `algorithms` that have no pieces.
    pub fn new(algorithms: &[Algorithm]) -> Self {
        let chains = algorithms.iter().filter(|algorithm| !algorithm.is_divisible());
        let new = |&algorithm: &Algorithm| Chain {
            algorithm,
            hash: Mutex::new(Some(stream_hash(algorithm))),
            waiting: Mutex::default(),
        };
        Self(chains.map(new).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next block, in order; then hashes until every block is taken or somebody else is on it.
    pub fn add(&self, block: &SharedBlock) {
        self.0.iter().for_each(|chain| chain.waiting.lock().push_back(Arc::clone(block)));
        while self.help() {}
    }

    /// Takes one block of a chain that nobody is on. Whether there was one.
    pub fn help(&self) -> bool {
        self.0.iter().any(|chain| {
            let Some(mut hash) = chain.hash.try_lock() else { return false };
            let Some(block) = chain.waiting.lock().pop_front() else { return false };
            hash.iter_mut().for_each(|hash| hash.update(&block));
            true
        })
    }

    /// The values, once all blocks have come.
    pub fn finish(&self) -> Vec<(Algorithm, DigestValue)> {
        while self.help() {}
        let ended = self.0.iter().filter_map(|chain| Some((chain.algorithm, chain.hash.lock().take()?.finish())));
        ended.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_hashed_in_order_however_many_help() {
        let algorithms = [Algorithm::Md5, Algorithm::Sha256, Algorithm::Crc32, Algorithm::Xxh3];
        let data = testkit::data::text(300_000, 5);
        let chains = DigestChains::new(&algorithms);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..2000).for_each(|_| while chains.help() {}));
            }
            data.chunks(1000).for_each(|block| chains.add(&Arc::new(block.to_vec())));
        });
        let values = chains.finish();
        assert_eq!(values.len(), 3, "a CRC has pieces");
        for (algorithm, value) in values {
            let mut whole = stream_hash(algorithm);
            whole.update(&data);
            assert_eq!(value, whole.finish(), "{algorithm:?}");
        }
    }
}
