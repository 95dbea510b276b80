//! The LZMA2 kernel: one whole LZMA2 stream in, uncompressed bytes out, on one core, in one call.
//! It knows nothing of xz, checksums, files or threads. The output slice is the dictionary: nothing is copied out of another.
//! What is accepted is what liblzma accepts, down to the range coder's state at the end of a chunk.
//! Layers: `model` (probabilities and what they stand for), `careful` (the symbols in safe code, for every processor and for
//! the ends of input and output), `fast` (the hot loop, for x86-64), `trees` (its steps in assembly), and here the chunks.

mod careful;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod fast;
mod model;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod trees;

use careful::RangeDecoder;
use model::{Model, Properties};
use std::mem;
use thiserror::Error;

/// Bytes the range decoder reads before a chunk's first symbol: a zero, and the first four of the code.
const RANGE_DECODER_BYTES: usize = 5;

/// liblzma makes smaller dictionaries this large.
const DICTIONARY_BYTES_MIN: u64 = 4 << 10;

/// What a call of [`decode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LzmaDecoded {
    /// Bytes of the input up to the end marker, it included.
    pub consumed: usize,
    /// Bytes written to the front of the output. Those behind them may have been overwritten with anything.
    pub produced: usize,
}

/// Why data are not an LZMA2 stream, or not one that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lzma2Error {
    /// The input ends inside the stream.
    #[error("the compressed data end too early")]
    Truncated,
    /// More comes out than there is room for.
    #[error("the data are longer than {room} bytes")]
    TooLong {
        /// Bytes of the output slice.
        room: usize,
    },
    /// A control byte that is none.
    #[error("a chunk has the control byte {control:#04x}, which means nothing")]
    Control {
        /// The byte.
        control: u8,
    },
    /// A first chunk that keeps a dictionary there is none of.
    #[error("the first chunk does not reset the dictionary")]
    NoDictionaryReset,
    /// A chunk that keeps properties where none were told since the dictionary was reset.
    #[error("a chunk needs properties that were not told")]
    NoProperties,
    /// Properties outside the format's limits.
    #[error("a chunk has the properties byte {byte:#04x}, which is not allowed")]
    Properties {
        /// The byte.
        byte: u8,
    },
    /// A chunk's range coder data begin with another byte than zero.
    #[error("a chunk's first byte is not zero")]
    FirstByte,
    /// A match that begins before the dictionary.
    #[error("a distance of {distance} reaches back to before the dictionary, of which there are {available} bytes")]
    DistanceTooFar {
        /// How far back.
        distance: u64,
        /// How far back there is something.
        available: u64,
    },
    /// A match that goes on behind the end of its chunk.
    #[error("a match is longer than what is left of its chunk")]
    MatchTooLong,
    /// A chunk whose data do not end where the chunk does.
    #[error("a chunk's compressed data do not end where it does")]
    ChunkEnd,
}

/// Decodes one LZMA2 stream, from its first control byte to its end marker, from the start of `compressed` into `uncompressed`.
///
/// # Errors
///
/// If `compressed` is not one, or if `uncompressed` has not room enough.
pub fn decode(compressed: &[u8], dictionary_bytes: u64, uncompressed: &mut [u8]) -> Result<LzmaDecoded, Lzma2Error> {
    LzmaDecoder::boxed().decode(compressed, dictionary_bytes, uncompressed, |_| ())
}

/// What decoding needs beside its input and output, to be used again.
#[derive(Debug)]
pub struct LzmaDecoder {
    model: Model,
    /// Whether symbols are left to `careful` even where `fast` could take them.
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "there is no other loop"))]
    is_careful: bool,
}

impl LzmaDecoder {
    /// A decoder of its own 28 KiB.
    #[must_use]
    pub fn boxed() -> Box<Self> {
        Box::new(Self { model: Model::new(), is_careful: false })
    }

    /// One that never takes the hot loop.
    #[cfg(test)]
    fn careful() -> Box<Self> {
        Box::new(Self { is_careful: true, ..*Self::boxed() })
    }

    /// As [`decode`] does, with a call of `between` behind each chunk, which comes to 2 MiB at most, with its compressed bytes. Earlier streams leave no trace.
    ///
    /// # Errors
    ///
    /// If `compressed` is not an LZMA2 stream, or if `uncompressed` has not room enough.
    pub fn decode(
        &mut self,
        compressed: &[u8],
        dictionary_bytes: u64,
        uncompressed: &mut [u8],
        mut between: impl FnMut(usize),
    ) -> Result<LzmaDecoded, Lzma2Error> {
        let room = uncompressed.len();
        let dictionary_bytes = dictionary_bytes.max(DICTIONARY_BYTES_MIN).next_multiple_of(16);
        let mut output = Output {
            // More than the output can hold is no limit.
            dictionary_bytes: usize::try_from(dictionary_bytes).unwrap_or(usize::MAX),
            buffer: uncompressed,
            at: 0,
            chunk_end: 0,
        };
        let mut input = compressed;
        // Bytes of finished dictionaries, in front of the output's part that is still in use.
        let mut produced_before = 0;
        let (mut needs_dictionary, mut needs_properties) = (true, true);
        loop {
            let control = take_byte(&mut input)?;
            if control == 0 {
                return Ok(LzmaDecoded {
                    consumed: compressed.len() - input.len(),
                    produced: produced_before + output.at,
                });
            }
            if control >= 0xe0 || control == 1 {
                (needs_dictionary, needs_properties) = (false, true);
                produced_before += output.at;
                output.buffer = &mut mem::take(&mut output.buffer)[output.at..];
                output.at = 0;
            } else if needs_dictionary {
                return Err(Lzma2Error::NoDictionaryReset);
            }
            if control < 0x80 {
                if control > 2 {
                    return Err(Lzma2Error::Control { control });
                }
                let length = take_size(&mut input)?;
                let (stored, rest) = input.split_at_checked(length).ok_or(Lzma2Error::Truncated)?;
                output.begin_chunk(length).ok_or(Lzma2Error::TooLong { room })?;
                output.buffer[output.at..output.chunk_end].copy_from_slice(stored);
                output.at = output.chunk_end;
                input = rest;
                continue;
            }
            let plain_bytes = (usize::from(control & 0x1f) << 16) + take_size(&mut input)?;
            let packed_bytes = take_size(&mut input)?;
            if control >= 0xc0 {
                let byte = take_byte(&mut input)?;
                self.model.set_properties(Properties::of(byte).ok_or(Lzma2Error::Properties { byte })?);
                self.model.reset();
                needs_properties = false;
            } else if needs_properties {
                return Err(Lzma2Error::NoProperties);
            } else if control >= 0xa0 {
                self.model.reset();
            }
            output.begin_chunk(plain_bytes).ok_or(Lzma2Error::TooLong { room })?;
            self.chunk(input, packed_bytes, &mut output)?;
            input = &input[packed_bytes..];
            between(packed_bytes);
        }
    }

    /// Decodes the chunk of `packed_bytes` that `input` begins with.
    fn chunk(&mut self, input: &[u8], packed_bytes: usize, output: &mut Output<'_>) -> Result<(), Lzma2Error> {
        let chunk = input.get(..packed_bytes).ok_or(Lzma2Error::Truncated)?;
        let mut coder = RangeDecoder::begin(chunk)?;
        // The hot loop may run past the chunk's end into what follows: that is found out here, and it asks less often.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if !self.is_careful {
            fast::symbols(&mut self.model, &mut coder, input, output)?;
        }
        careful::symbols(&mut self.model, &mut coder, chunk, output)?;
        coder.end(chunk)
    }
}

/// The output from the dictionary's first byte on.
#[derive(Debug)]
struct Output<'a> {
    buffer: &'a mut [u8],
    /// Where the next byte goes; at most `chunk_end`.
    at: usize,
    /// Where the chunk ends; inside the buffer.
    chunk_end: usize,
    /// How far back a match may reach.
    dictionary_bytes: usize,
}

impl Output<'_> {
    /// Begins a chunk of `length`; nothing if it does not fit.
    fn begin_chunk(&mut self, length: usize) -> Option<()> {
        let is_room = length <= self.buffer.len() - self.at;
        self.chunk_end = self.at + if is_room { length } else { 0 };
        is_room.then_some(())
    }
}

/// What a match says that begins before the dictionary. `distance` is one less than how far back it means.
#[cold]
fn too_far(distance: u32, available: usize) -> Lzma2Error {
    Lzma2Error::DistanceTooFar { distance: u64::from(distance) + 1, available: available as u64 }
}

fn take_byte(input: &mut &[u8]) -> Result<u8, Lzma2Error> {
    let (&byte, rest) = input.split_first().ok_or(Lzma2Error::Truncated)?;
    *input = rest;
    Ok(byte)
}

/// A size as chunk headers have it: one less, in two bytes.
fn take_size(input: &mut &[u8]) -> Result<usize, Lzma2Error> {
    let (&size, rest) = input.split_first_chunk().ok_or(Lzma2Error::Truncated)?;
    *input = rest;
    Ok(usize::from(u16::from_be_bytes(size)) + 1)
}
