//! Sizes and filters of a lane's blocks: a list of sizes, the last of which is repeated, and a size that none may exceed.
//! Reads nothing.

use crate::filter_chain::FilterChain;
use crate::format::{BlockOptions, ListedBlock};

/// Tells the sizes of a lane's blocks in order.
pub(crate) struct BlockBorders {
    rest: &'static [ListedBlock],
    current: Option<ListedBlock>,
    /// Bytes of the listed block that the blocks so far have not taken.
    left: u64,
    most_bytes: u64,
}

impl BlockBorders {
    /// Of blocks with at most `most_bytes`.
    pub fn new(options: &BlockOptions, most_bytes: u64) -> Self {
        Self { rest: options.list.unwrap_or(&[]), current: None, left: 0, most_bytes }
    }

    /// Bytes of the next block if that many come, and its filters if they are its own.
    pub fn next(&mut self) -> (u64, Option<FilterChain>) {
        if self.left == 0 {
            if let Some((first, rest)) = self.rest.split_first() {
                (self.current, self.rest) = (Some(*first), rest);
            }
            self.left = self.current.map_or(u64::MAX, |block| block.bytes);
        }
        let bytes = self.left.min(self.most_bytes);
        // A block without an end is never used up.
        self.left = if self.left == u64::MAX { u64::MAX } else { self.left - bytes };
        (bytes, self.current.and_then(|block| block.chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter_chain::LzmaSettings;

    fn sizes(list: &'static [ListedBlock], most_bytes: u64) -> Vec<u64> {
        let mut borders = BlockBorders::new(&BlockOptions { list: Some(list), ..BlockOptions::default() }, most_bytes);
        (0..7).map(|_| borders.next().0).collect()
    }

    const SIZES: &[ListedBlock] = &[block(3), block(10), block(25)];
    const TO_THE_END: &[ListedBlock] = &[block(3), block(u64::MAX)];

    const fn block(bytes: u64) -> ListedBlock {
        ListedBlock { bytes, chain: None }
    }

    #[test]
    fn the_last_size_is_repeated_and_large_ones_are_divided() {
        assert_eq!(sizes(&[], 10), [10; 7]);
        assert_eq!(sizes(SIZES, 10), [3, 10, 10, 10, 5, 10, 10]);
        assert_eq!(sizes(TO_THE_END, 10), [3, 10, 10, 10, 10, 10, 10]);
    }

    #[test]
    fn filters_go_with_all_blocks_of_an_entry() {
        let chain = Some(FilterChain::lzma2(LzmaSettings::preset(1, false)));
        let list = vec![ListedBlock { bytes: 15, chain }, block(7)].leak();
        let mut borders = BlockBorders::new(&BlockOptions { list: Some(list), ..BlockOptions::default() }, 10);
        let blocks: Vec<_> = (0..4).map(|_| borders.next()).collect();
        assert_eq!(blocks, [(10, chain), (5, chain), (7, None), (7, None)]);
    }
}
