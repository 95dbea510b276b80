//! What a run may hold in memory, and how many hands, slots and how large units fit under that. A tight cap costs hands, never the run.

use super::TarArgs;
use crate::context::Context;
use archive::create::Packing;
use crew::measures::Slots;

/// What a run holds without being told otherwise, besides the program itself.
const USUAL_BYTES: u64 = 112 << 20;

/// What may be held.
pub fn room(context: &Context, args: &TarArgs) -> u64 {
    let usual = || if args.is_small { USUAL_BYTES } else { USUAL_BYTES.min(context.machine.memory_budget_bytes() / 2) };
    args.shared.memory.unwrap_or_else(usual)
}

/// Hands, and slots of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitting {
    pub width: usize,
    pub slots: Slots,
    pub held_bytes: u64,
}

/// The most hands that fit, with `spare` more slots than hands, fewer where it is tight.
fn fit(width: usize, spare: usize, room: u64, slot_bytes: u64, hand_bytes: u64) -> Fitting {
    let wanted = width + spare;
    let held = |hands: usize, given: usize| given as u64 * slot_bytes + hands as u64 * hand_bytes;
    for hands in (1..=width).rev() {
        let given = (hands + 1..=hands + spare).rev().find(|&given| held(hands, given) <= room);
        if let Some(given) = given {
            return Fitting { width: hands, slots: Slots { given, wanted }, held_bytes: held(hands, given) };
        }
    }
    Fitting { width: 1, slots: Slots { given: 1, wanted }, held_bytes: held(1, 1) }
}

/// Of a creation: chunks plain and packed, and what encoders hold.
pub fn creating(room: u64, width: usize, packing: Option<&Packing>) -> Fitting {
    const SPARE: usize = 2;
    match packing {
        None => fit(width, SPARE, room, archive::create::PLAIN_CHUNK_BYTES as u64, 0),
        Some(Packing { format, options }) => {
            let plain = format.chunk_bytes(options);
            let slot = (plain + format.packed_bound(plain)) as u64;
            fit(width, SPARE, room, slot, format.encoder_bytes(options))
        }
    }
}

/// Of an extraction: blocks or stretches, in whatever share a decoder leaves.
pub fn extracting(room: u64, width: usize, is_packed: bool) -> Fitting {
    let share = if is_packed { room / 8 } else { room };
    fit(width, width + 2, share, archive::blocks::BLOCK_TARGET_BYTES as u64, 0)
}

/// Of a decoder: how many hands, and how large a unit one of them may decode as a whole.
pub fn decoding(room: u64, width: usize) -> (Fitting, u64) {
    // LIMIT: the blocks of `xz -6` have 24 MiB, our own units 1 to 16. Larger ones are decoded as a stream on one core.
    const UNITS: [u64; 5] = [24 << 20, 16 << 20, 8 << 20, 4 << 20, 2 << 20];
    // What is packed takes less than a third of what it holds, but for what was hardly worth packing.
    let slot = |unit: u64| unit + unit / 3;
    let share = room / 8 * 7;
    let all = UNITS.into_iter().find(|&unit| (width as u64 + 1) * slot(unit) <= share);
    let unit = all.unwrap_or(UNITS[UNITS.len() - 1]);
    (fit(width, 1, share, slot(unit), 0), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tight_cap_costs_hands_and_never_the_run() {
        for room in [0, 1 << 20, 16 << 20, USUAL_BYTES, 8 << 30] {
            for width in [1, 2, 8, 64, 1000] {
                let (decoding, unit) = decoding(room, width);
                for fitting in [creating(room, width, None), extracting(room, width, true), decoding] {
                    assert!((1..=width).contains(&fitting.width) && fitting.slots.given >= 1);
                    assert!(fitting.held_bytes <= room || fitting.width == 1, "{room} {width} {fitting:?}");
                }
                assert!(unit >= 2 << 20);
            }
        }
        assert_eq!(decoding(USUAL_BYTES, 2).1, 24 << 20, "two hands decode what xz -T2 writes");
        assert_eq!(extracting(USUAL_BYTES, 2, true).slots.given, 6);
        assert_eq!(creating(USUAL_BYTES, 64, None).width, 64);
    }
}
