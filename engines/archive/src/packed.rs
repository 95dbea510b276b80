//! Packed archives: their decoder works beside whoever reads the archive, on hands of the same lease, and hands blocks over.

mod as_one;

pub use as_one::as_one;

use crate::blocks::{BLOCK_TARGET_BYTES, Block, BlockFeed};
use codec::byte_buffer::ByteBuffer;
use codec::decompress::{Decompression, decompress};
use codec::error::CodecError;
use codec::format::DecodeLimits;
use codec::lane::{Lane, LaneInput, LaneOutcome, LaneOutput, OutputCare, OutputTaker, SourceFate};
use crew::budget::{Lease, LeaseShare};
use crew::measures::Measures;
use crew::pipeline::Staffing;
use crew::tally::Tally;
use files::staged_file::Unfinished;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};

/// LIMIT: decoded blocks that wait to be read. More would only be memory: the decoder has slots of its own.
const BLOCKS_AHEAD: usize = 2;

/// How an archive is decoded.
pub struct Decoding<'a> {
    /// The packed archive.
    pub input: LaneInput,
    /// What one unit may hold.
    pub limits: DecodeLimits,
    /// How many hands, and how much room.
    pub staffing: Staffing,
    /// What its hands are a part of.
    pub lease: &'a dyn Lease,
    /// How much may come of it.
    pub growth: Growth,
    /// Where its compressed bytes are counted.
    pub tally: Arc<Tally>,
    /// How large memory may be that several blocks share. It is used again when all of them were read.
    pub shared_bytes_max: usize,
}

/// How much plain may come of packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Whatever the format can express: 20,000 bytes of one and more.
    Any,
    /// No more than honest archives have.
    Bounded,
}

/// LIMIT: plain bytes that cost nothing: small archives of nothing but zeros fill no disk.
const FREE_BYTES: u64 = 64 << 20;
/// LIMIT: plain bytes beyond those, for each packed one. Sources have 5 to 10, logs 100, and deflate cannot express many more than this.
const PLAIN_PER_PACKED: u64 = 1000;

fn is_too_much(plain_bytes: u64, packed_bytes: u64) -> bool {
    plain_bytes.saturating_sub(FREE_BYTES) > packed_bytes.saturating_mul(PLAIN_PER_PACKED)
}

/// Blocks of an archive that is being decoded.
pub struct Decoded {
    blocks: Receiver<Block>,
    /// One that was taken to see whether there is any.
    ahead: Option<Block>,
    emptied: Sender<Vec<u8>>,
    failed: Arc<Mutex<Option<CodecError>>>,
    growth: Growth,
    plain_bytes: u64,
    /// What the decoder has read: counted before anything that comes of it is handed over.
    packed: Arc<Tally>,
}

impl BlockFeed for Decoded {
    fn next_block(&mut self, emptied: Vec<u8>) -> io::Result<Block> {
        // All are kept, since memory that was freed costs a fault a page; there are no more of them than were ever in use at once.
        if emptied.capacity() > 0 {
            let _nobody_wants_it = self.emptied.send(emptied);
        }
        if let Some(block) = self.ahead.take().or_else(|| self.blocks.recv().ok()) {
            self.plain_bytes += block.len() as u64;
            if self.growth == Growth::Bounded && is_too_much(self.plain_bytes, self.packed.bytes_in()) {
                return Err(io::Error::other("each packed byte becomes more than 1000 (--untrusted)"));
            }
            return Ok(block);
        }
        match self.failed.lock().take() {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(Block::default()),
        }
    }

    fn is_waiting(&mut self) -> bool {
        if self.ahead.is_none() {
            match self.blocks.try_recv() {
                Ok(block) => self.ahead = Some(block),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        false
    }
}

/// Decodes while `read` reads, and says what the decoder measured. What `read` has left is not decoded to its end.
pub fn decode_beside<T>(what: &Decoding<'_>, read: impl FnOnce(Decoded) -> T) -> (T, Measures) {
    let (sender, blocks) = sync_channel::<Block>(BLOCKS_AHEAD);
    let (emptied, recycled) = channel::<Vec<u8>>();
    let failed = Arc::new(Mutex::new(None));
    let packed = Arc::clone(&what.tally);
    let decoded = Decoded {
        blocks,
        ahead: None,
        emptied,
        failed: Arc::clone(&failed),
        growth: what.growth,
        plain_bytes: 0,
        packed: Arc::clone(&packed),
    };
    let (recycled, shared_bytes_max) = (Mutex::new(recycled), what.shared_bytes_max);
    let taker =
        OutputTaker(Arc::new(move |buffer: &mut ByteBuffer| hand_over(buffer, shared_bytes_max, &sender, &recycled)));
    let lane = Lane {
        input: what.input.clone(),
        output: LaneOutput::Handed(taker),
        source: SourceFate::Keep,
        care: OutputCare::default(),
    };
    let share = LeaseShare::of(what.lease);
    std::thread::scope(|scope| {
        let decoding = scope.spawn(|| {
            // The lane holds the sender: the blocks end when it goes, after the error stands where it is looked for.
            let lanes = [lane];
            let on_close = |_: usize, closed: LaneOutcome| {
                *failed.lock() = closed.outcome.err();
            };
            let unfinished = Unfinished::default();
            let decompression = Decompression::new(&lanes, false, what.limits, &unfinished, &on_close);
            decompress(&decompression, &what.staffing, &share, &packed)
        });
        let done = read(decoded);
        (done, decoding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Hands over what was decoded, in parts of the length of a block, in exchange for memory that was read. What is large, or takes much more room than it needs, is copied.
fn hand_over(
    decoded: &mut ByteBuffer,
    shared_bytes_max: usize,
    to: &SyncSender<Block>,
    recycled: &Mutex<Receiver<Vec<u8>>>,
) -> io::Result<()> {
    let emptied = || recycled.lock().try_recv().unwrap_or_default();
    // Nobody reads any more: the decoder stops.
    let send = |block| Ok(to.send(block).ok().ok_or(io::ErrorKind::BrokenPipe)?);
    if decoded.is_empty() {
        return Ok(());
    }
    let fills_its_memory = decoded.capacity() <= 2 * decoded.len().max(BLOCK_TARGET_BYTES);
    let is_of_a_block = decoded.len() <= BLOCK_TARGET_BYTES;
    let may_be_kept = is_of_a_block || decoded.capacity() <= shared_bytes_max;
    if fills_its_memory && may_be_kept && !decoded.has_history() {
        let whole = decoded.exchange(emptied());
        return Block::parts(whole, BLOCK_TARGET_BYTES).try_for_each(send);
    }
    for part in decoded.content().chunks(BLOCK_TARGET_BYTES) {
        let mut block = emptied();
        block.clear();
        block.extend_from_slice(part);
        send(block.into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_block_in_a_large_buffer_leaves_that_where_it_is() {
        let ((sender, blocks), (_emptied, recycled)) = (sync_channel(2), channel());
        let recycled = Mutex::new(recycled);
        let mut decoded = ByteBuffer::default();
        for room in [8 * BLOCK_TARGET_BYTES, 10] {
            decoded.clear();
            decoded.room(room)[..10].fill(7);
            decoded.grow(10);
            hand_over(&mut decoded, 8 * BLOCK_TARGET_BYTES, &sender, &recycled).expect("somebody reads");
            let block = blocks.recv().expect("sent");
            assert_eq!(*block, [7; 10]);
            let held_bytes = block.emptied().capacity();
            assert!(held_bytes <= 2 * BLOCK_TARGET_BYTES, "{held_bytes}");
        }
    }

    #[test]
    fn parts_of_a_unit_share_its_memory_which_comes_back_with_the_last() {
        let ((sender, blocks), (emptied, recycled)) = (sync_channel(3), channel());
        let recycled = Mutex::new(recycled);
        let plain: Vec<u8> = (0..2 * BLOCK_TARGET_BYTES + 5).map(|at| (at % 251) as u8).collect();
        emptied.send(Vec::with_capacity(plain.len())).expect("somebody takes it");
        let mut decoded = ByteBuffer::default();
        decoded.append(&plain);
        let memory = decoded.content().as_ptr();
        hand_over(&mut decoded, 8 * BLOCK_TARGET_BYTES, &sender, &recycled).expect("somebody reads");
        assert!(decoded.is_empty() && decoded.capacity() >= plain.len(), "the decoder goes on in what came back");
        let parts: Vec<Block> = blocks.try_iter().collect();
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [BLOCK_TARGET_BYTES, BLOCK_TARGET_BYTES, 5]
        );
        assert_eq!(parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<_>>(), plain);
        let given_back: Vec<Vec<u8>> = parts.into_iter().map(Block::emptied).collect();
        assert!(given_back[..2].iter().all(|memory| memory.capacity() == 0));
        assert_eq!(given_back[2].as_ptr(), memory);
    }

    #[test]
    fn what_grows_beyond_measure_is_too_much_and_what_is_small_is_not() {
        assert!(!is_too_much(FREE_BYTES, 0) && is_too_much(FREE_BYTES + 1, 0));
        assert!(!is_too_much(FREE_BYTES + 1000, 1) && is_too_much(FREE_BYTES + 1001, 1));
        assert!(!is_too_much(u64::MAX, u64::MAX));
    }
}
