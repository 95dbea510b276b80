//! What one worker keeps between chunks: encoders by level, few at a time, since each has tables of its own.
//! Chooses no level (`keep_up` does) and knows no format.

use crate::error::CodecError;
use crate::filter_chain::FilterChain;
use crate::format::{EncodeOptions, Encoder, Format};

/// LIMIT: encoders kept where a format's cannot change its level. The controller mostly goes to and fro between two.
pub const ENCODERS_KEPT_MAX: u64 = 2;

/// Level and filters that an encoder was made for.
type Made = (i32, Option<FilterChain>);

/// One worker's encoders, the one used last in front.
#[derive(Default)]
pub struct Encoders {
    kept: Vec<(Made, Box<dyn Encoder>)>,
    has_given_way: bool,
}

impl Encoders {
    /// The encoder for the options' level.
    pub(crate) fn at(&mut self, format: &dyn Format, options: &EncodeOptions) -> Result<&mut dyn Encoder, CodecError> {
        let wanted = (options.level, options.blocks.chain);
        if let Some(at) = self.kept.iter().position(|(made, _)| *made == wanted) {
            self.kept.swap(0, at);
        } else if !self.changes_level(wanted)? {
            self.kept.truncate(ENCODERS_KEPT_MAX as usize - 1);
            self.kept.insert(0, (wanted, format.encoder(options)?));
        }
        Ok(self.kept[0].1.as_mut())
    }

    fn changes_level(&mut self, to: Made) -> Result<bool, CodecError> {
        let Some((made, encoder)) = self.kept.first_mut().filter(|(made, _)| made.1 == to.1) else { return Ok(false) };
        let changed = encoder.set_level(to.0)?;
        if changed {
            *made = to;
        }
        Ok(changed)
    }

    /// Lets the producer's own work go first on this worker's core, from now on: what a higher level costs must not be taken from
    /// the producer. Lanes have their reading and writing threads by the time a chunk is worked on; those stay as they were.
    pub(crate) fn give_way(&mut self, steps: u8) {
        if !std::mem::replace(&mut self.has_given_way, true) {
            // A refusal costs politeness, not the run.
            let _as_before = sys::scheduling::be_nicer(steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_buffer::ByteBuffer;
    use crate::format::UnitLayout;
    use crate::registry;
    use crew::pipeline::Pause;

    #[test]
    fn an_encoder_that_changes_its_level_packs_as_a_fresh_one() {
        let uncompressed = testkit::data::mixed(300_000, 3);
        for format in ["zst", "gz", "bz2", "lz4", "xz"].map(|name| registry::by_name(name).expect("registered")) {
            let mut encoders = Encoders::default();
            for level in [1, 9, 4, 1, 9, 6] {
                let options = EncodeOptions::new(level, UnitLayout::ParallelUnits);
                let (mut compressed, mut fresh) = (ByteBuffer::default(), ByteBuffer::default());
                let mut made = format.encoder(&options).expect("an encoder");
                made.encode(&uncompressed, &mut fresh, &mut Pause::never()).expect("encode");
                let kept = encoders.at(format, &options).expect("an encoder");
                kept.encode(&uncompressed, &mut compressed, &mut Pause::never()).expect("encode");
                assert!(compressed.content() == fresh.content(), "{} -{level}", format.facts().name);
                assert!(encoders.kept.len() as u64 <= ENCODERS_KEPT_MAX);
            }
        }
    }
}
