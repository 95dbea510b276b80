//! How a client of MySQL proves its password: one function for the first answer of each plugin, one for what comes after.
//! A password goes out as it is only where nobody else can read it.

use crate::der;
use crate::error::WireError;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Digest, Sha512, VerifyingKey};
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use mysql_common::num_bigint::BigUint;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// A plugin that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
    Clear,
}

/// What a proof is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof<'a> {
    pub password: &'a [u8],
    /// The server's random bytes.
    pub nonce: &'a [u8],
    pub is_encrypted: bool,
    /// A socket of this host, which nobody reads along.
    pub is_socket: bool,
}

/// What the server said of a `caching_sha2_password` that it has seen before, or not.
const FAST_SUCCESS: u8 = 3;
const FULL_NEEDED: u8 = 4;

/// What asks for the server's public key.
const KEY_OF_CACHING_SHA2: u8 = 2;
const KEY_OF_SHA256: u8 = 1;

impl Plugin {
    /// The plugin of that name.
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"sha256_password" => Some(Self::Sha256),
            b"client_ed25519" => Some(Self::Ed25519),
            b"mysql_clear_password" => Some(Self::Clear),
            _ => None,
        }
    }

    /// Its answer to the server's random bytes.
    pub fn first_answer(self, proof: Proof) -> Result<Vec<u8>, WireError> {
        let has_password = !proof.password.is_empty();
        match self {
            Self::Native => Ok(scramble_native(nonce_20(proof)?, proof.password).map(Vec::from).unwrap_or_default()),
            Self::CachingSha2 if has_password => {
                Ok(scramble_sha256(nonce_20(proof)?, proof.password).map(Vec::from).unwrap_or_default())
            }
            Self::CachingSha2 => Ok(Vec::new()),
            Self::Ed25519 => Ok(signed(proof.password, proof.nonce)),
            Self::Sha256 if has_password && !proof.is_encrypted => Ok(vec![KEY_OF_SHA256]),
            Self::Sha256 => Ok(with_zero(proof.password)),
            Self::Clear if proof.is_encrypted => Ok(with_zero(proof.password)),
            Self::Clear => Err(WireError::Authentication(
                "the server asks for the password in clear text, which is sent over TLS only".to_owned(),
            )),
        }
    }

    /// Its answer to what the server says then; none if the server goes on by itself.
    pub fn next_answer(self, data: &[u8], proof: Proof) -> Result<Option<Vec<u8>>, WireError> {
        match (self, data) {
            (Self::CachingSha2, [FAST_SUCCESS]) => Ok(None),
            (Self::CachingSha2, [FULL_NEEDED]) if proof.is_encrypted || proof.is_socket => {
                Ok(Some(with_zero(proof.password)))
            }
            (Self::CachingSha2, [FULL_NEEDED]) => Ok(Some(vec![KEY_OF_CACHING_SHA2])),
            (Self::CachingSha2 | Self::Sha256, key) => sealed(proof, key).map(Some),
            _ => Err(WireError::protocol("more data than its way of authentication has")),
        }
    }
}

fn nonce_20<'a>(proof: Proof<'a>) -> Result<&'a [u8; 20], WireError> {
    proof.nonce.try_into().ok().ok_or_else(|| WireError::protocol("random bytes of another number than 20"))
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    [password, b"\0"].concat()
}

/// MariaDB's Ed25519: the password's hash is the expanded secret key.
fn signed(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let secret = ExpandedSecretKey::from_bytes(&hash);
    raw_sign::<Sha512>(&secret, nonce, &VerifyingKey::from(&secret)).to_vec()
}

/// The password under the server's public key, for a way that others may read.
fn sealed(proof: Proof, pem: &[u8]) -> Result<Vec<u8>, WireError> {
    let unusable = || WireError::protocol("a public key that cannot be used");
    let nonce = nonce_20(proof)?;
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok().ok_or_else(unusable)?;
    let (modulus, exponent) = rsa_numbers(&der).ok_or_else(unusable)?;
    let key = PublicKey::new(BigUint::from_bytes_be(modulus), BigUint::from_bytes_be(exponent));
    let hidden: Vec<u8> = with_zero(proof.password).iter().zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect();
    let sealed = key.encrypt_block(hidden, Pkcs1OaepPadding::new(GetRandom));
    sealed.map_err(|error| WireError::Authentication(error.to_string()))
}

/// LIMIT: sizes of a modulus that RSA keys have; beyond them, padding breaks or a server makes its client compute for long.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=1024;

/// Modulus and exponent out of a SubjectPublicKeyInfo.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut outer = der::take(&mut &*der, der::SEQUENCE)?;
    der::take(&mut outer, der::SEQUENCE)?;
    let bits = der::take(&mut outer, der::BITS)?.strip_prefix(b"\0")?;
    let mut key = der::take(&mut &*bits, der::SEQUENCE)?;
    let (modulus, exponent) = (der::take_number(&mut key)?, der::take_number(&mut key)?);
    let is_usable = MODULUS_BYTES.contains(&modulus.len()) && modulus[0] >= 0x80 && exponent.len() <= 8;
    is_usable.then_some((modulus, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof<'a>(password: &'a [u8], nonce: &'a [u8]) -> Proof<'a> {
        Proof { password, nonce, is_encrypted: false, is_socket: false }
    }

    const NONCE: &[u8] = b"01234567890123456789";

    #[test]
    fn a_password_in_clear_text_needs_tls() {
        let proof = proof(b"p", NONCE);
        assert!(Plugin::Clear.first_answer(proof).is_err());
        let safe = Proof { is_encrypted: true, ..proof };
        assert_eq!(Plugin::Clear.first_answer(safe).expect("safe"), b"p\0");
        assert_eq!(Plugin::CachingSha2.next_answer(&[FULL_NEEDED], safe).expect("safe"), Some(b"p\0".to_vec()));
        let asked = Plugin::CachingSha2.next_answer(&[FULL_NEEDED], proof).expect("it asks for a key");
        assert_eq!(asked, Some(vec![KEY_OF_CACHING_SHA2]));
    }

    #[test]
    fn lies_about_keys_and_random_bytes_are_errors() {
        assert!(Plugin::Native.first_answer(proof(b"p", b"short")).is_err());
        for key in ["", "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n", "-----BEGIN PUBLIC KEY-----\n"]
        {
            assert!(Plugin::Sha256.next_answer(key.as_bytes(), proof(b"p", NONCE)).is_err(), "{key}");
        }
        assert!(Plugin::Native.next_answer(b"x", proof(b"p", NONCE)).is_err());
    }

    /// That it can be opened again is tested with openssl, in tests/servers.
    #[test]
    fn a_password_is_sealed_under_a_key() {
        let pem = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCuCx7Cq0LRJ61XCYH1DBv7LLjL
n/K8I4UHwfl0MyGnW7LTCHxzWMedd1L58NHsqb74MQ0iABdL3O5c0a3ZNvMmNVXT
iSQstcRwStEJOIervPXlJgpuyKIA7tBUpO0Xo7eMd2UckCKR631r2vCV67KHqova
ZrvwFjf2bQFM5ZuWmQIDAQAB
-----END PUBLIC KEY-----
";
        let sealed = Plugin::Sha256.next_answer(pem.as_bytes(), proof(b"p", NONCE)).expect("a key");
        assert_eq!(sealed.map(|bytes| bytes.len()), Some(128));
    }
}
