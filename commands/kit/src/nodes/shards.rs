//! Cutting a sequence of files into shards of equal cost, for machines that take one after the other: enough of them that the last ones end
//! together, and not so small that starting a job costs more than what it does. Files of one directory stay together where that can be.

/// LIMIT: what a file costs besides its bytes, as bytes: opening, making and dating one takes a network file system about as long as moving so
/// many bytes.
const FILE_BYTES: u64 = 256 << 10;

/// LIMIT: shards for each worker. More make the ends more even, fewer cost less.
const SHARDS_A_WORKER: u64 = 8;

/// LIMIT: the cost of a shard is that of so many small files at least: a job takes some 20 ms to start.
const COST_MIN: u64 = 32 * FILE_BYTES;

/// What files of so many bytes together cost.
pub fn cost(files: u64, bytes: u64) -> u64 {
    files * FILE_BYTES + bytes
}

/// Decides where one shard ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCutter {
    wanted: u64,
    held: u64,
}

impl ShardCutter {
    /// For work of this cost in all.
    pub fn new(total_cost: u64, workers: u32) -> Self {
        let shards = SHARDS_A_WORKER * u64::from(workers.max(1));
        Self { wanted: total_cost.div_ceil(shards).max(COST_MIN), held: 0 }
    }

    /// Whether a shard ends before what comes next. `is_together`: whether that is better done by the same worker as what came before.
    pub fn ends_before(&mut self, next_cost: u64, is_together: bool) -> bool {
        let wanted = if is_together { self.wanted + self.wanted / 2 } else { self.wanted };
        let ends = self.held > 0 && (self.held >= wanted || self.held + next_cost > wanted + self.wanted / 2);
        self.held = if ends { next_cost } else { self.held + next_cost };
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs of the shards of files, each with its directory.
    fn shards(files: &[(u64, u32)], workers: u32) -> Vec<u64> {
        let total = files.iter().map(|(cost, _)| cost).sum();
        let (mut cutter, mut shards, mut before) = (ShardCutter::new(total, workers), Vec::new(), None);
        for (cost, directory) in files {
            if cutter.ends_before(*cost, before == Some(*directory)) || shards.is_empty() {
                shards.push(0);
            }
            *shards.last_mut().expect("one is there") += cost;
            before = Some(*directory);
        }
        shards
    }

    #[test]
    fn equal_files_make_shards_of_like_cost_eight_a_worker() {
        let files: Vec<_> = (0..10_000).map(|number| (cost(1, 1000), number / 10)).collect();
        let shards = shards(&files, 4);
        assert!((32..=33).contains(&shards.len()), "{}", shards.len());
        let most = shards.iter().max().expect("some");
        assert!(*most < 2 * shards[0]);
    }

    #[test]
    fn little_work_is_not_cut_and_a_large_file_is_alone() {
        assert_eq!(shards(&[(cost(1, 10), 1); 30], 16).len(), 1);
        let files = [(cost(1, 0), 1), (cost(1, 1 << 30), 1), (cost(1, 0), 1), (cost(1, 0), 1)];
        assert_eq!(shards(&files, 2), [cost(1, 0), cost(1, 1 << 30), cost(2, 0)]);
        assert_eq!(shards(&[], 2), [0_u64; 0]);
    }

    #[test]
    fn a_directory_is_kept_together_where_it_fits() {
        // Two workers: 16 shards of 64 files' cost; directories have 70.
        let files: Vec<_> = (0..1050).map(|number| (cost(1, 0), number / 70)).collect();
        assert_eq!(shards(&files, 2), [cost(70, 0); 15]);
    }
}
