//! liblzma's decoder of LZMA2 data, kept from block to block: one made anew would map its dictionary anew, which costs a block 1.3 % of its time in
//! page faults (docs/journal/0009-trees.md).

#![expect(unsafe_code, reason = "the safe binding cannot begin another block with the memory of the last one")]

use liblzma::stream::Error;
use liblzma_sys::{
    LZMA_BUF_ERROR, LZMA_DATA_ERROR, LZMA_FILTER_LZMA2, LZMA_FINISH, LZMA_MEM_ERROR, LZMA_OK, LZMA_OPTIONS_ERROR,
    LZMA_STREAM_END, LZMA_VLI_UNKNOWN, lzma_code, lzma_end, lzma_filter, lzma_options_lzma, lzma_raw_decoder, lzma_ret,
    lzma_stream,
};
use std::mem::zeroed;

/// A decoder of LZMA2 without other filters.
pub(super) struct Lzma2Decoder {
    stream: lzma_stream,
}

// SAFETY: a stream belongs to no thread: it may go to another as long as one at a time uses it, which `&mut self` sees to.
unsafe impl Send for Lzma2Decoder {}

/// What became of a block's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// Packed bytes up to the end of the data, or all there were.
    pub consumed: usize,
    /// Plain bytes.
    pub produced: usize,
    /// Whether the data's end was met.
    pub has_ended: bool,
}

impl Lzma2Decoder {
    /// One without memory yet.
    pub fn new() -> Self {
        // SAFETY: LZMA_STREAM_INIT of lzma/base.h is all zeros.
        Self { stream: unsafe { zeroed() } }
    }

    /// Decodes data that refer back at most `dictionary_bytes`, from the beginning, until they end or either slice does.
    ///
    /// # Errors
    ///
    /// The library's: no such data, or no memory.
    pub fn decode(&mut self, packed: &[u8], dictionary_bytes: u32, plain: &mut [u8]) -> Result<Decoded, Error> {
        // SAFETY: the structure is numbers and pointers, none of which needs a value: of LZMA2 a decoder reads the dictionary's size and
        // whether there is another one to begin with (lzma/lzma12.h).
        let mut options: lzma_options_lzma = unsafe { zeroed() };
        options.dict_size = dictionary_bytes;
        let filters = [
            lzma_filter { id: LZMA_FILTER_LZMA2, options: (&raw mut options).cast() },
            lzma_filter { id: LZMA_VLI_UNKNOWN, options: std::ptr::null_mut() },
        ];
        // SAFETY: a stream that was zeroed or initialised before, and a chain that ends as it must; both outlive the call, which keeps
        // neither chain nor options.
        told(unsafe { lzma_raw_decoder(&raw mut self.stream, filters.as_ptr()) })?;
        (self.stream.next_in, self.stream.avail_in) = (packed.as_ptr(), packed.len());
        (self.stream.next_out, self.stream.avail_out) = (plain.as_mut_ptr(), plain.len());
        // SAFETY: the stream was initialised; the library reads and writes no farther than the lengths just set, which are the slices'.
        let returned = unsafe { lzma_code(&raw mut self.stream, LZMA_FINISH) };
        let has_ended = match returned {
            LZMA_STREAM_END => true,
            // No room, or no data.
            LZMA_OK | LZMA_BUF_ERROR => false,
            error => return Err(told(error).err().unwrap_or(Error::Program)),
        };
        let consumed = packed.len() - self.stream.avail_in;
        Ok(Decoded { consumed, produced: plain.len() - self.stream.avail_out, has_ended })
    }
}

impl Drop for Lzma2Decoder {
    fn drop(&mut self) {
        // SAFETY: a stream that was zeroed, or initialised by the library; nobody uses it again.
        unsafe { lzma_end(&raw mut self.stream) }
    }
}

fn told(returned: lzma_ret) -> Result<(), Error> {
    match returned {
        LZMA_OK => Ok(()),
        LZMA_MEM_ERROR => Err(Error::Mem),
        LZMA_OPTIONS_ERROR => Err(Error::Options),
        LZMA_DATA_ERROR => Err(Error::Data),
        _ => Err(Error::Program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::stream::{Action, Filters, LzmaOptions, Stream};

    fn packed(plain: &[u8], dictionary_bytes: u32) -> Vec<u8> {
        let mut options = LzmaOptions::new_preset(1).expect("a level");
        options.dict_size(dictionary_bytes);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        let mut stream = Stream::new_raw_encoder(&filters).expect("valid options");
        let mut packed = Vec::with_capacity(2 * plain.len() + 100);
        stream.process_vec(plain, &mut packed, Action::Finish).expect("packed");
        packed
    }

    #[test]
    fn blocks_come_back_one_after_another_whatever_their_dictionaries() {
        let mut decoder = Lzma2Decoder::new();
        for (bytes, dictionary_bytes) in
            [(300_000, 1 << 20), (70_000, 1 << 16), (1, 4096), (0, 4096), (500_000, 1 << 16)]
        {
            let plain = testkit::data::mixed(bytes, bytes as u64);
            let packed = packed(&plain, dictionary_bytes);
            let mut room = vec![0; bytes + 1];
            let decoded = decoder.decode(&packed, dictionary_bytes, &mut room).expect("sound");
            assert_eq!(decoded, Decoded { consumed: packed.len(), produced: bytes, has_ended: true });
            assert!(room[..bytes] == plain);
        }
    }

    #[test]
    fn damage_is_told_and_the_next_block_is_decoded_all_the_same() {
        let plain = testkit::data::mixed(200_000, 1);
        let packed = packed(&plain, 1 << 20);
        let mut room = vec![0; plain.len() + 1];
        let mut decoder = Lzma2Decoder::new();
        let sound = |decoder: &mut Lzma2Decoder, room: &mut [u8]| {
            let decoded = decoder.decode(&packed, 1 << 20, room).expect("sound");
            assert!(decoded.has_ended && room[..plain.len()] == plain);
        };
        sound(&mut decoder, &mut room);
        let cut = decoder.decode(&packed[..packed.len() / 2], 1 << 20, &mut room).expect("sound as far as it goes");
        assert!(!cut.has_ended && cut.consumed == packed.len() / 2 && cut.produced < plain.len());
        sound(&mut decoder, &mut room);
        let full = decoder.decode(&packed, 1 << 20, &mut [0; 1000]).expect("as far as there is room");
        assert!(!full.has_ended && full.produced == 1000);
        let mut damaged = packed.clone();
        damaged[0] = 0x7f;
        assert_eq!(decoder.decode(&damaged, 1 << 20, &mut room), Err(Error::Data));
        sound(&mut decoder, &mut room);
    }
}
