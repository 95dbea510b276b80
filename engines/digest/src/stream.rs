//! Hashing a stream from its beginning to its end, by any algorithm. Reads nothing.

use crate::algorithm::Algorithm;
use crate::combine::CrcFacts;
use crate::value::DigestValue;
use sha2::Digest;

/// A stream under way.
pub trait StreamHash: Send {
    /// Adds bytes.
    fn update(&mut self, bytes: &[u8]);
    /// The value of all of them.
    fn finish(self: Box<Self>) -> DigestValue;
}

/// Begins a stream.
pub fn stream_hash(algorithm: Algorithm) -> Box<dyn StreamHash> {
    match algorithm {
        Algorithm::Crc32 | Algorithm::Cksum | Algorithm::Crc32c | Algorithm::Crc64 | Algorithm::Crc64Nvme => {
            let facts = CrcFacts::of(algorithm).expect("a CRC");
            Box::new(WholeCrc { facts, digest: crc_fast::Digest::new(facts.fast), bytes: 0 })
        }
        Algorithm::BsdSum => Box::new(BsdSum(0)),
        Algorithm::SysvSum => Box::new(SysvSum(0)),
        Algorithm::Xxh32 => Box::new(xxhash_rust::xxh32::Xxh32::new(0)),
        Algorithm::Xxh64 => Box::new(xxhash_rust::xxh64::Xxh64::new(0)),
        Algorithm::Xxh3 => Box::new(Xxh3Short(xxhash_rust::xxh3::Xxh3::new())),
        Algorithm::Xxh128 => Box::new(Xxh3Long(xxhash_rust::xxh3::Xxh3::new())),
        Algorithm::Blake3 => Box::new(blake3::Hasher::new()),
        Algorithm::Md5 => of_crypto(md5::Md5::new()),
        Algorithm::Sha1 => of_crypto(sha1::Sha1::new()),
        Algorithm::Sha224 => of_crypto(sha2::Sha224::new()),
        Algorithm::Sha256 => of_crypto(sha2::Sha256::new()),
        Algorithm::Sha384 => of_crypto(sha2::Sha384::new()),
        Algorithm::Sha512 => of_crypto(sha2::Sha512::new()),
        Algorithm::Sha3_224 => of_crypto(sha3::Sha3_224::new()),
        Algorithm::Sha3_256 => of_crypto(sha3::Sha3_256::new()),
        Algorithm::Sha3_384 => of_crypto(sha3::Sha3_384::new()),
        Algorithm::Sha3_512 => of_crypto(sha3::Sha3_512::new()),
        Algorithm::Blake2b(bytes) => {
            let bytes = usize::from(bytes).clamp(1, blake2b_simd::OUTBYTES);
            Box::new(blake2b_simd::Params::new().hash_length(bytes).to_state())
        }
        Algorithm::Sm3 => of_crypto(sm3::Sm3::new()),
    }
}

fn of_crypto<Hash: Digest + Send + 'static>(hash: Hash) -> Box<dyn StreamHash> {
    Box::new(OfCrypto(hash))
}

struct OfCrypto<Hash>(Hash);

impl<Hash: Digest + Send> StreamHash for OfCrypto<Hash> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.0.finalize())
    }
}

struct WholeCrc {
    facts: CrcFacts,
    digest: crc_fast::Digest,
    bytes: u64,
}

impl StreamHash for WholeCrc {
    fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn finish(self: Box<Self>) -> DigestValue {
        self.facts.finish(self.digest.finalize(), self.bytes)
    }
}

impl StreamHash for blake3::Hasher {
    fn update(&mut self, bytes: &[u8]) {
        Self::update(self, bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(self.finalize().as_bytes())
    }
}

impl StreamHash for blake2b_simd::State {
    fn update(&mut self, bytes: &[u8]) {
        Self::update(self, bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(self.finalize().as_bytes())
    }
}

impl StreamHash for xxhash_rust::xxh32::Xxh32 {
    fn update(&mut self, bytes: &[u8]) {
        Self::update(self, bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.digest().to_be_bytes())
    }
}

impl StreamHash for xxhash_rust::xxh64::Xxh64 {
    fn update(&mut self, bytes: &[u8]) {
        Self::update(self, bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.digest().to_be_bytes())
    }
}

struct Xxh3Short(xxhash_rust::xxh3::Xxh3);

impl StreamHash for Xxh3Short {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.0.digest().to_be_bytes())
    }
}

struct Xxh3Long(xxhash_rust::xxh3::Xxh3);

impl StreamHash for Xxh3Long {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.0.digest128().to_be_bytes())
    }
}

/// COMPAT: sum -r. Rotates right by one bit and adds each byte.
struct BsdSum(u16);

impl StreamHash for BsdSum {
    fn update(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.rotate_right(1).wrapping_add(u16::from(*byte)));
    }

    fn finish(self: Box<Self>) -> DigestValue {
        DigestValue::new(&self.0.to_be_bytes())
    }
}

/// COMPAT: sum -s. Adds all bytes and folds what is above 16 bits twice.
struct SysvSum(u32);

impl StreamHash for SysvSum {
    fn update(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    }

    fn finish(self: Box<Self>) -> DigestValue {
        let once = (self.0 & 0xffff) + (self.0 >> 16);
        DigestValue::new(&(((once & 0xffff) + (once >> 16)) as u16).to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual check string, as the catalogue of CRCs and the papers have it.
    #[test]
    fn known_values() {
        let known = [
            (Algorithm::Crc32, "cbf43926"),
            (Algorithm::Cksum, "377a6011"),
            (Algorithm::Crc32c, "e3069283"),
            (Algorithm::Crc64, "995dc9bbdf1939fa"),
            (Algorithm::Crc64Nvme, "ae8b14860a799888"),
            (Algorithm::BsdSum, "d16f"),
            (Algorithm::SysvSum, "01dd"),
            (Algorithm::Xxh32, "937bad67"),
            (Algorithm::Xxh64, "8cb841db40e6ae83"),
            (Algorithm::Md5, "25f9e794323b453885f5181f1b624d0b"),
            (Algorithm::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
            (Algorithm::Sha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
        ];
        for (algorithm, value) in known {
            let mut hash = stream_hash(algorithm);
            hash.update(b"1234");
            hash.update(b"56789");
            assert_eq!(hash.finish().hex(), value, "{algorithm:?}");
        }
    }

    #[test]
    fn every_value_is_as_long_as_its_algorithm_says() {
        for algorithm in Algorithm::all().chain([Algorithm::Blake2b(1), Algorithm::Blake2b(20)]) {
            assert_eq!(stream_hash(algorithm).finish().bytes().len(), algorithm.bytes(), "{algorithm:?}");
        }
    }
}
