//! Mutations of valid files: the mistakes that disks, networks and enemies make.

use testkit::random::Random;

/// One of `seeds` with one to eight mutations.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = pick(seeds, random).clone();
    for _ in 0..=random.below(8) {
        mutate(&mut bytes, seeds, random);
    }
    bytes
}

fn pick<'a>(seeds: &'a [Vec<u8>], random: &mut Random) -> &'a Vec<u8> {
    &seeds[index(seeds.len(), random)]
}

fn index(length: usize, random: &mut Random) -> usize {
    random.below(length.max(1))
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = index(bytes.len(), random);
    match random.below(8) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.next_u64() as u8,
        2 => bytes.truncate(at),
        3 => bytes.insert(at.min(bytes.len()), random.next_u64() as u8),
        4 if !bytes.is_empty() => {
            let end = (at + index(64, random)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => {
            let other = pick(seeds, random);
            let from = index(other.len(), random);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from.min(other.len())..]);
        }
        // Lengths and sizes live in little-endian words: near zero, near the end of the range, off by one.
        6 if bytes.len() >= at + 4 => {
            let word = [0, 1, 0x7fff_ffff, u32::MAX, u32::MAX - 1, bytes.len() as u32][index(6, random)];
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        7 => {
            let end = (at + index(512, random)).min(bytes.len());
            let part = bytes[at.min(end)..end].to_vec();
            bytes.extend(part);
        }
        _ => {}
    }
}
