//! Makers of the corpus: the formats written out by hand, so that any field of them can lie.
//! No compressor is used; nothing here is shared with the product.

pub mod bz2;
mod gz;
mod lz4;
pub mod xz;
mod zst;

/// A file of the corpus.
pub struct Case {
    /// Its file name.
    pub name: &'static str,
    /// Why it is there.
    pub why: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// What decoding it must come to.
    pub expected: Expected,
}

/// What decoding must come to.
pub enum Expected {
    /// These bytes, and not a word.
    Plain(Vec<u8>),
    /// An error with these words in it, and no output.
    Refused(&'static str),
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = gz::cases();
    cases.extend(bz2::cases());
    cases.extend(zst::cases());
    cases.extend(lz4::cases());
    cases.extend(xz::cases());
    cases
}

fn good(name: &'static str, why: &'static str, bytes: Vec<u8>, plain: impl Into<Vec<u8>>) -> Case {
    Case { name, why, bytes, expected: Expected::Plain(plain.into()) }
}

fn bad(name: &'static str, why: &'static str, bytes: Vec<u8>, words: &'static str) -> Case {
    Case { name, why, bytes, expected: Expected::Refused(words) }
}

/// CRC-32 by its definition, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// The lower half of XXH64 with seed 0, for less than 32 bytes (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
fn xxh64_of_short(bytes: &[u8]) -> u32 {
    const PRIMES: [u64; 5] = [
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    assert!(bytes.len() < 32, "longer data need the stripes, which are not written here");
    let mut hash = PRIMES[4].wrapping_add(bytes.len() as u64);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let lane = u64::from_le_bytes(*word).wrapping_mul(PRIMES[1]).rotate_left(31).wrapping_mul(PRIMES[0]);
        hash = (hash ^ lane).rotate_left(27).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]);
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk::<4>() {
        hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(PRIMES[0]);
        hash = hash.rotate_left(23).wrapping_mul(PRIMES[1]).wrapping_add(PRIMES[2]);
        rest = after;
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(PRIMES[4])).rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIMES[2]);
    (hash ^ hash >> 32) as u32
}
