//! What a run may hold in memory, and how many hands, slots and how large units fit under that. A tight cap costs hands, never the run.

use super::TarArgs;
use archive::create::Packing;
use codec::format::FormatFacts;
use codec::registry;
use crew::measures::Slots;
use mh_kit::context::Context;

/// What a run on up to two CPUs holds without being told otherwise, besides the program itself.
const USUAL_BYTES: u64 = 112 << 20;

/// The share of the memory at hand that a run takes on more of them, as `mh tamp` does.
const MEMORY_SHARE: u64 = 8;

/// What may be held.
pub fn room(context: &Context, args: &TarArgs) -> u64 {
    let usual = || match args.is_small {
        true => USUAL_BYTES,
        false => usual_bytes(context.machine.hands_allowed(), context.machine.memory_budget_bytes()),
    };
    args.shared.memory.unwrap_or_else(usual)
}

/// What so many CPUs may hold: as much again for each from the third on, which is what a hand that packs `.tar.xz` takes, as far as the
/// machine has it. With less, hands would stay away, and units that are too large for a share would be decoded on one core.
fn usual_bytes(cpus: usize, at_hand: u64) -> u64 {
    let wanted = USUAL_BYTES * (cpus as u64).saturating_sub(1).max(1);
    wanted.min((at_hand / MEMORY_SHARE).max(USUAL_BYTES.min(at_hand / 2)))
}

/// Hands, and slots of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitting {
    pub width: usize,
    pub slots: Slots,
    pub held_bytes: u64,
}

/// The most hands that fit, with `spare` more slots than hands, one at least where there are any, fewer where it is tight.
fn fit(width: usize, spare: usize, room: u64, slot_bytes: u64, hand_bytes: u64) -> Fitting {
    let wanted = width + spare;
    let held = |hands: usize, given: usize| given as u64 * slot_bytes + hands as u64 * hand_bytes;
    for hands in (1..=width).rev() {
        let given = (hands + spare.min(1)..=hands + spare).rev().find(|&given| held(hands, given) <= room);
        if let Some(given) = given {
            return Fitting {
                width: hands,
                slots: Slots { given, wanted, hands_wanted: width },
                held_bytes: held(hands, given),
            };
        }
    }
    Fitting { width: 1, slots: Slots { given: 1, wanted, hands_wanted: width }, held_bytes: held(1, 1) }
}

/// Of a creation: chunks plain and packed, and what encoders hold.
pub fn creating(room: u64, width: usize, packing: Option<&Packing>) -> Fitting {
    const SPARE: usize = 2;
    match packing {
        None => fit(width, SPARE, room, archive::create::PLAIN_CHUNK_BYTES as u64, 0),
        Some(Packing { format, options }) => {
            let plain = format.chunk_bytes(options);
            let held = if format.takes_segments() { archive::create::PLAIN_CHUNK_BYTES } else { plain };
            let slot = (held + format.compressed_bound(plain)) as u64;
            fit(width, SPARE, room, slot, format.encoder_bytes(options))
        }
    }
}

/// How far matches may reach; none where that is what the level says.
///
/// LIMIT: with the dictionary of 8 MiB that `xz -6` has, one encoder and a block that cannot be packed take 135 MB. A quarter less of it is 20 MB and an eighth of the
/// time less, and archives of sources become 0.4 % longer (docs/journal/0009-trees.md). Higher levels say that they want more.
pub fn reach_bytes(facts: &FormatFacts, level: i32) -> Option<u32> {
    (facts.name == "xz" && level <= facts.default_level).then_some(6 << 20)
}

/// Of an extraction: blocks or stretches, in whatever share a decoder leaves.
pub fn extracting(room: u64, width: usize, packed: Option<&FormatFacts>) -> Fitting {
    let share = match packed {
        None => room,
        Some(facts) if has_large_units(facts) => room / 32,
        Some(_) => room / 8,
    };
    fit(width, width + 2, share, archive::blocks::BLOCK_TARGET_BYTES as u64, 0)
}

/// xz cuts into blocks of three dictionaries, whoever writes them.
fn has_large_units(facts: &FormatFacts) -> bool {
    facts.name == "xz"
}

/// All that a hand may hold of a unit of xz: a dictionary of a third of it, and packed bytes of half of it. What is packed worse, or refers back farther, is decoded as
/// a stream on one core.
pub fn unit_held_bytes(unit_plain_bytes: u64) -> u64 {
    unit_plain_bytes / 6 * 11
}

/// LIMIT: what each hand of an extraction may hold besides: names of a chunk, paths of open directories, and their part of what is noted of directories. Trees need hardly any of it;
/// with directories by the thousand in one another, 64 hands take as much (docs/journal/0009-trees.md).
const NAMES_A_HAND: u64 = 320 << 10;

/// How large memory may be that a decoded unit shares with the blocks it is handed over in: until all of those were read, the decoder has other
/// memory in its place. Besides blocks that are counted this holds two more units at most, the first and the last of those under way: what extraction leaves of its share. Hands that
/// may decode units of xz that are large leave as much where they are small.
pub fn shared_bytes(room: u64, width: usize, facts: &FormatFacts) -> u64 {
    if has_large_units(facts) {
        return room / 24;
    }
    (room / 8).saturating_sub(extracting(room, width, Some(facts)).held_bytes) / 2
}

/// Extraction's share, and blocks on their way to it, are left to others.
fn decoders_share(room: u64) -> u64 {
    (room / 8 * 7).saturating_sub(room / 16)
}

/// What a decoder may hold of what is decoded ahead of a stream's turn: of members of gz that do not tell their length.
pub fn ahead_bytes(room: u64, facts: &FormatFacts) -> u64 {
    if facts.name == "gz" { decoders_share(room) / 3 } else { 0 }
}

/// Of a decoder: how many hands, and how large a unit one of them may decode as a whole.
pub fn decoding(room: u64, width: usize, facts: &FormatFacts) -> (Fitting, u64) {
    // LIMIT: the blocks of `xz -6` have 24 MiB, our own units of other formats 1 to 16. Larger ones are decoded as a stream on one core.
    const UNITS: [u64; 5] = [24 << 20, 16 << 20, 8 << 20, 4 << 20, 2 << 20];
    let smallest = UNITS[UNITS.len() - 1];
    let share = decoders_share(room) - ahead_bytes(room, facts);
    if has_large_units(facts) {
        // Two hands that decode blocks are worth more than many that find none small enough. While one block is handed over, whoever takes it
        // has work for the hand that waits for its slot: a third one would be 24 MiB for nothing.
        let fits = |unit: u64| fit(width, 0, share, unit_held_bytes(unit), 0);
        let unit = UNITS.into_iter().find(|&unit| fits(unit).width >= width.min(2)).unwrap_or(smallest);
        return (fits(unit), unit);
    }
    // Decoding takes a third of what making the files takes, so that fewer hands for it delay nobody.
    let share = share.saturating_sub(width as u64 * NAMES_A_HAND);
    // What is packed takes less than a quarter of what it holds, but for what was hardly worth packing.
    let slot = |unit: u64| unit + unit / 4;
    let hand_bytes = |unit| registry::by_name(facts.name).map_or(0, |format| format.decoder_bytes(unit));
    let all = |&unit: &u64| (width as u64 + 1) * slot(unit) + width as u64 * hand_bytes(unit) <= share;
    let unit = UNITS.into_iter().find(all).unwrap_or(smallest);
    (fit(width, 1, share, slot(unit), hand_bytes(unit)), unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codec::format::{EncodeOptions, UnitLayout};

    #[test]
    fn a_tight_cap_costs_hands_and_never_the_run() {
        let facts = ["zst", "gz", "xz", "bz2", "lz4"].map(|name| registry::by_name(name).expect("registered").facts());
        for room in [0, 1 << 20, 16 << 20, USUAL_BYTES, 8 << 30] {
            for width in [1, 2, 8, 64, 1000] {
                for facts in facts {
                    let (decoding, unit) = decoding(room, width, facts);
                    for fitting in [creating(room, width, None), extracting(room, width, Some(facts)), decoding] {
                        assert!((1..=width).contains(&fitting.width) && fitting.slots.given >= 1);
                        assert!(fitting.held_bytes <= room || fitting.width == 1, "{room} {width} {fitting:?}");
                    }
                    assert!(decoding.width == 1 || decoding.held_bytes + ahead_bytes(room, facts) <= room);
                    let shared = if facts.name == "xz" { 0 } else { 2 * shared_bytes(room, width, facts) };
                    let held = decoding.held_bytes + extracting(room, width, Some(facts)).held_bytes + shared;
                    assert!(held <= room || decoding.width == 1, "{room} {width} {}", facts.name);
                    assert!(unit >= 2 << 20);
                }
            }
        }
        let [zst, _, xz, bz2, _] = facts;
        for width in [2, 64] {
            let (fitting, unit) = decoding(USUAL_BYTES, width, xz);
            assert_eq!((fitting.width, unit), (2, 24 << 20), "two hands decode what xz -T2 writes");
        }
        assert_eq!(extracting(USUAL_BYTES, 2, Some(zst)).slots.given, 6);
        assert_eq!(shared_bytes(USUAL_BYTES, 2, zst), 4 << 20, "frames of our own, of any level");
        assert_eq!(creating(USUAL_BYTES, 64, None).width, 64);
        // A third of them: see `decoding`.
        assert!(decoding(USUAL_BYTES, 64, zst).0.width > 64 / 3);
        // Each needs a scratch of 8 MiB.
        assert!((4..=10).contains(&decoding(USUAL_BYTES, 64, bz2).0.width));
    }

    fn usual_packing(name: &str) -> Packing {
        let format = registry::by_name(name).expect("registered");
        let level = format.facts().default_level;
        let reach_bytes = reach_bytes(format.facts(), level);
        Packing {
            format,
            options: EncodeOptions { reach_bytes, ..EncodeOptions::new(level, UnitLayout::ParallelUnits) },
        }
    }

    #[test]
    fn as_many_cpus_as_there_are_find_room_on_machines_that_have_them() {
        const GIB: u64 = 1 << 30;
        assert_eq!((usual_bytes(1, 64 * GIB), usual_bytes(2, 64 * GIB)), (USUAL_BYTES, USUAL_BYTES));
        assert_eq!((usual_bytes(64, 2 * GIB), usual_bytes(64, 100 << 20)), (GIB / 4, 50 << 20));
        for (cpus, at_hand) in [(4, 8 * GIB), (16, 32 * GIB), (64, 128 * GIB), (256, 512 * GIB)] {
            let room = usual_bytes(cpus, at_hand);
            for name in ["zst", "gz", "xz", "bz2", "lz4"] {
                let format = registry::by_name(name).expect("registered");
                let (fitting, unit) = decoding(room, cpus, format.facts());
                assert_eq!((fitting.width, unit), (cpus, 24 << 20), "{name} on {cpus}");
                assert_eq!(extracting(room, cpus, Some(format.facts())).width, cpus, "{name} on {cpus}");
            }
            assert_eq!(extracting(room, cpus, None).width, cpus);
            assert_eq!(creating(room, cpus, None).width, cpus);
            for name in ["zst", "gz", "lz4"] {
                assert_eq!(creating(room, cpus, Some(&usual_packing(name))).width, cpus, "{name} on {cpus}");
            }
            // The first of them takes as much as two CPUs have.
            assert!(creating(room, cpus, Some(&usual_packing("xz"))).width >= cpus - 1, "xz on {cpus}");
        }
    }
}
