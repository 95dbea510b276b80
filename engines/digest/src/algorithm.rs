//! The algorithms: names, tags, lengths, and which of them can be computed in pieces. Computes nothing.

/// A digest that can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// CRC-32 of gzip, zip and Ethernet (ISO-HDLC).
    Crc32,
    /// The checksum of POSIX cksum: a CRC-32 of the data and their length.
    Cksum,
    /// CRC-32C (Castagnoli), as iSCSI, ext4 and databases have it.
    Crc32c,
    /// CRC-64 of xz.
    Crc64,
    /// CRC-64 of NVMe.
    Crc64Nvme,
    /// The 16-bit checksum of BSD's sum.
    BsdSum,
    /// The 16-bit checksum of System V's sum.
    SysvSum,
    /// XXH32.
    Xxh32,
    /// XXH64.
    Xxh64,
    /// XXH3 with 64 bits.
    Xxh3,
    /// XXH3 with 128 bits.
    Xxh128,
    /// BLAKE3 with 256 bits.
    Blake3,
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// BLAKE2b with so many bytes: 1 to 64.
    Blake2b(u8),
    /// SM3.
    Sm3,
}

use Algorithm::{
    Blake2b, Blake3, BsdSum, Cksum, Crc32, Crc32c, Crc64, Crc64Nvme, Md5, Sha1, Sha3_224, Sha3_256, Sha3_384, Sha3_512,
    Sha224, Sha256, Sha384, Sha512, Sm3, SysvSum, Xxh3, Xxh32, Xxh64, Xxh128,
};

/// Bytes of BLAKE2b without a length.
pub const BLAKE2B_BYTES: u8 = 64;

/// Algorithm, name as typed, tag in lines of the BSD form, bytes, names as typed by others.
type Facts = (Algorithm, &'static str, &'static str, u8, &'static [&'static str]);

const TABLE: &[Facts] = &[
    (Crc32, "crc32", "CRC32", 4, &[]),
    (Cksum, "cksum", "CKSUM", 4, &["crc"]),
    (Crc32c, "crc32c", "CRC32C", 4, &["crc32-c"]),
    (Crc64, "crc64", "CRC64", 8, &["crc64xz", "crc64-xz"]),
    (Crc64Nvme, "crc64nvme", "CRC64NVME", 8, &["crc64-nvme"]),
    (BsdSum, "bsd", "BSD", 2, &[]),
    (SysvSum, "sysv", "SYSV", 2, &[]),
    (Xxh32, "xxh32", "XXH32", 4, &[]),
    (Xxh64, "xxh64", "XXH64", 8, &["xxhash"]),
    (Xxh3, "xxh3", "XXH3", 8, &[]),
    (Xxh128, "xxh128", "XXH128", 16, &[]),
    (Blake3, "blake3", "BLAKE3", 32, &["b3"]),
    (Md5, "md5", "MD5", 16, &[]),
    (Sha1, "sha1", "SHA1", 20, &["sha-1"]),
    (Sha224, "sha224", "SHA224", 28, &["sha-224"]),
    (Sha256, "sha256", "SHA256", 32, &["sha-256", "sha2"]),
    (Sha384, "sha384", "SHA384", 48, &["sha-384"]),
    (Sha512, "sha512", "SHA512", 64, &["sha-512"]),
    (Sha3_224, "sha3-224", "SHA3-224", 28, &[]),
    (Sha3_256, "sha3-256", "SHA3-256", 32, &["sha3"]),
    (Sha3_384, "sha3-384", "SHA3-384", 48, &[]),
    (Sha3_512, "sha3-512", "SHA3-512", 64, &[]),
    (Blake2b(BLAKE2B_BYTES), "blake2b", "BLAKE2b", BLAKE2B_BYTES, &["b2", "blake2"]),
    (Sm3, "sm3", "SM3", 32, &[]),
];

impl Algorithm {
    /// All of them, in the order of their table; BLAKE2b once.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|facts| facts.0)
    }

    /// The one that is called `name`, in any case; `blake2b-256` has a length in bits.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let is_called = |facts: &&Facts| facts.1 == name || facts.4.contains(&name.as_str());
        if let Some(facts) = TABLE.iter().find(is_called) {
            return Some(facts.0);
        }
        blake2b_of_bits(name.strip_prefix("blake2b-")?)
    }

    /// The one that a person has typed.
    ///
    /// # Errors
    /// When there is none of this name: the text lists those that there are.
    pub fn typed(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| {
            let names: Vec<String> = Self::all().map(Self::name).collect();
            format!("there are {}", names.join(", "))
        })
    }

    /// The one that lines of the BSD form mean by `tag`.
    pub fn tagged(tag: &str) -> Option<Self> {
        if let Some(facts) = TABLE.iter().find(|facts| facts.2 == tag) {
            return Some(facts.0);
        }
        match tag.strip_prefix("BLAKE2b-") {
            Some(bits) => blake2b_of_bits(bits),
            // Others write it so: openssl, shasum, OpenBSD.
            None if tag.starts_with("SHA2-") => Self::named(&tag.replacen("SHA2-", "sha", 1)),
            None => Self::named(tag).filter(|_| tag.starts_with("SHA") && !tag.contains(' ')),
        }
    }

    /// Its name as typed.
    pub fn name(self) -> String {
        match self {
            Blake2b(bytes) if bytes != BLAKE2B_BYTES => format!("blake2b-{}", u32::from(bytes) * 8),
            _ => self.facts().1.to_owned(),
        }
    }

    /// Its tag in lines of the BSD form.
    pub fn tag(self) -> String {
        match self {
            Blake2b(bytes) if bytes != BLAKE2B_BYTES => format!("BLAKE2b-{}", u32::from(bytes) * 8),
            _ => self.facts().2.to_owned(),
        }
    }

    /// Bytes of its value.
    pub fn bytes(self) -> usize {
        match self {
            Blake2b(bytes) => bytes.into(),
            _ => self.facts().3.into(),
        }
    }

    /// Whether one file's value can be combined from those of its pieces.
    pub fn is_divisible(self) -> bool {
        matches!(self, Crc32 | Cksum | Crc32c | Crc64 | Crc64Nvme | Blake3)
    }

    /// The algorithm assumed for an untagged value of so many digits, and the others that have as many.
    pub fn of_digits(digits: usize) -> Option<(Self, Vec<Self>)> {
        let usual = match digits {
            8 => Crc32,
            16 => Xxh64,
            32 => Md5,
            40 => Sha1,
            56 => Sha224,
            64 => Sha256,
            96 => Sha384,
            128 => Sha512,
            _ => return None,
        };
        let others = Self::all().filter(|other| other.bytes() * 2 == digits && *other != usual).collect();
        Some((usual, others))
    }

    /// Whether a line with nothing but its value and a name is read as this algorithm's. Those that are written as numbers have a form of
    /// their own, which is asked for by name.
    pub fn is_shown_by_length(self) -> bool {
        let is_number = matches!(self, Cksum | BsdSum | SysvSum);
        is_number || Self::of_digits(self.bytes() * 2).is_some_and(|(usual, _)| usual == self)
    }

    fn facts(self) -> &'static Facts {
        let is_same = |facts: &&Facts| match (facts.0, self) {
            (Blake2b(_), Blake2b(_)) => true,
            (one, other) => one == other,
        };
        TABLE.iter().find(is_same).expect("every algorithm is in the table")
    }
}

/// BLAKE2b of so many bits: a multiple of 8 up to 512, without a sign or a zero in front.
fn blake2b_of_bits(bits: &str) -> Option<Algorithm> {
    let number: u16 =
        bits.parse().ok().filter(|_| bits.starts_with(|first: char| first.is_ascii_digit() && first != '0'))?;
    let is_length = number > 0 && number.is_multiple_of(8) && number <= 512;
    is_length.then(|| Blake2b(u8::try_from(number / 8).expect("at most 64")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_lead_back_to_their_algorithm() {
        for algorithm in Algorithm::all().chain([Blake2b(32), Blake2b(1)]) {
            assert_eq!(Algorithm::named(&algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::tagged(&algorithm.tag()), Some(algorithm));
        }
        assert_eq!(Algorithm::named("CRC"), Some(Cksum));
        assert_eq!(Algorithm::named("SHA3"), Some(Sha3_256));
        for name in ["", "sha", "blake2b-", "blake2b-0", "blake2b-7", "blake2b-520", "blake2b-+8", "blake2b-08"] {
            assert_eq!(Algorithm::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_length_means_the_usual_algorithm_and_names_the_others() {
        let (usual, others) = Algorithm::of_digits(64).expect("a length");
        assert_eq!((usual, others), (Sha256, vec![Blake3, Sha3_256, Sm3]));
        assert_eq!(Algorithm::of_digits(40), Some((Sha1, Vec::new())));
        assert_eq!(Algorithm::of_digits(63), None);
    }
}
