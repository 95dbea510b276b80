//! A host's own pair, made when its agent first starts, and the short code that two people compare.

use super::private_file::{read_private, write_private};
use super::seed::random;
use crate::Error;
use crate::base32::{checked_bytes, checked_text, letters};
use std::fmt;
use std::path::Path;
use x25519_dalek::{PublicKey, StaticSecret};

const MARK: &str = "mhhost1";
const READ: &str = "read host key";

/// A host by its public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPublic(pub [u8; 32]);

impl HostPublic {
    /// Twelve letters of a hash, to be compared by eye: `7G4K-2PQD-9XVA`. They are 60 bits; a key with the same 40
    /// could be searched for.
    pub fn short_code(&self) -> String {
        let hash = blake3::derive_key("manyhands fleet 2026 short code", &self.0);
        let text = letters(&hash[..8]);
        format!("{}-{}-{}", &text[..4], &text[4..8], &text[8..12])
    }

    /// The key as text, as files of known hosts have it.
    pub fn text(&self) -> String {
        checked_text(&self.0)
    }

    /// Reads [`Self::text`].
    pub fn of_text(text: &str) -> Option<Self> {
        checked_bytes(text)?.try_into().ok().map(Self)
    }
}

/// A host's private key.
#[derive(Clone)]
pub struct HostPair(StaticSecret);

impl HostPair {
    /// The pair of a secret that was kept.
    pub fn of_secret(secret: [u8; 32]) -> Self {
        Self(StaticSecret::from(secret))
    }

    /// A new pair.
    pub fn generate() -> Result<Self, Error> {
        Ok(Self::of_secret(random("make host key")?))
    }

    /// The pair in `path`, which is made if there is none.
    pub fn open_or_make(path: &Path) -> Result<Self, Error> {
        let Some(text) = read_private(READ, path)? else {
            let made = Self::generate()?;
            write_private("write host key", path, &format!("{MARK} {}\n", checked_text(made.secret())))?;
            return Ok(made);
        };
        let secret = text.trim().strip_prefix(MARK).and_then(|key| checked_bytes(key.trim()));
        let secret = secret.and_then(|secret| secret.try_into().ok());
        let secret = secret.ok_or_else(|| Error::refused(READ, path.display().to_string(), "holds no host key"))?;
        Ok(Self::of_secret(secret))
    }

    /// Its public half.
    pub fn public(&self) -> HostPublic {
        HostPublic(PublicKey::from(&self.0).to_bytes())
    }

    pub(crate) fn secret(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for HostPair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HostPair").field(&self.public()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_made_once_and_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("host.key");
        let made = HostPair::open_or_make(&path).expect("made");
        assert_eq!(HostPair::open_or_make(&path).expect("read").public(), made.public());
        assert_eq!(HostPublic::of_text(&made.public().text()), Some(made.public()));
        std::fs::write(&path, "mhhost1 damaged\n").expect("written");
        assert!(HostPair::open_or_make(&path).is_err(), "a damaged key is not replaced");
    }

    #[test]
    fn short_codes_differ_with_the_key() {
        let code = |byte| HostPublic([byte; 32]).short_code();
        assert_eq!(code(1).len(), 14);
        assert_eq!(code(1), code(1));
        assert_ne!(code(1), code(2));
    }
}
