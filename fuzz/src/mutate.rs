//! Mutations of valid files: the mistakes that disks, networks and enemies make.

use testkit::random::Random;

/// LIMIT: longer inputs only make each run slower.
const INPUT_BYTES: usize = 1 << 18;

/// One of `seeds` with one to eight mutations.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = pick(seeds, random).to_vec();
    for _ in 0..=random.below(8) {
        mutate(&mut bytes, seeds, random);
    }
    bytes.truncate(INPUT_BYTES);
    bytes
}

fn pick<'a>(seeds: &'a [Vec<u8>], random: &mut Random) -> &'a [u8] {
    &seeds[random.below(seeds.len())]
}

/// A place in `bytes`, half of the time near its beginning or its end, where headers and trailers are.
fn place(bytes: &[u8], random: &mut Random) -> usize {
    let length = bytes.len();
    match random.below(4) {
        0 => random.below(length.min(32) + 1),
        1 => length - random.below(length.min(32) + 1),
        _ => random.below(length + 1),
    }
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = place(bytes, random);
    match random.below(9) {
        0 => change(bytes, at, |byte| byte ^ 1 << random.below(8)),
        1 => change(bytes, at, |_| random.next_u64() as u8),
        2 => bytes.truncate(at),
        3 => {
            let mut inserted = vec![0; 1 + random.below(8)];
            random.fill(&mut inserted);
            bytes.splice(at..at, inserted);
        }
        4 => {
            let end = (at + random.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => {
            let other = pick(seeds, random);
            let from = place(other, random);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        6 => edit_integer(bytes, at, random),
        7 => {
            let end = (at + random.below(512)).min(bytes.len());
            let part = bytes[at..end].to_vec();
            let target = place(bytes, random);
            bytes.splice(target..target, part);
        }
        _ => {
            let end = (at + random.below(64)).min(bytes.len());
            bytes[at..end].fill([0, 0xff, 0x55][random.below(3)]);
        }
    }
}

fn change(bytes: &mut [u8], at: usize, new: impl FnOnce(u8) -> u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte = new(*byte);
    }
}

/// Lengths and sizes are little-endian integers: off by one, at the ends of their ranges, or as long as the file.
fn edit_integer(bytes: &mut [u8], at: usize, random: &mut Random) {
    let width = [1, 2, 3, 4, 8][random.below(5)];
    let length = bytes.len() as u64;
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(field);
    let value = u64::from_le_bytes(wide);
    let choices = [value.wrapping_add(1), value.wrapping_sub(1), 0, u64::MAX, 1 << 31, length, length - 1, value << 1];
    let value = choices[random.below(choices.len())];
    field.copy_from_slice(&value.to_le_bytes()[..width]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_every_mutation_and_all_lengths_are_taken() {
        let seeds = [Vec::new(), b"x".to_vec(), vec![7; 3000]];
        let inputs = |seed| {
            let mut random = Random::seeded(seed);
            (0..2000).map(|_| mutated(&seeds, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }
}
