//! The private half of a fleet's key: one seed of 32 bytes, from which both pairs come, and the file that it is kept
//! in. Whoever has it sees every host of the fleet. Pairs before the last rotation stay in the file until their grace
//! ends.

use super::private_file::{read_private, write_private};
use super::{FeedRole, FleetPublic, PublicLine};
use crate::base32::{checked_bytes, checked_text};
use crate::{Error, HostName};
use ed25519_dalek::{Signer, SigningKey};
use std::fmt::{self, Write};
use std::path::Path;
use x25519_dalek::{PublicKey, StaticSecret};

const MARK: &str = "mhsecret1";
const READ: &str = "read fleet key";

/// LIMIT: rotations whose grace has not ended; each asks the network once more.
const PAIRS_MAX: usize = 4;

/// Both private keys of a fleet.
#[derive(Clone)]
pub struct FleetPair {
    seed: StaticSecret,
    exchange: StaticSecret,
    signing: SigningKey,
    /// Of the fleet; for people.
    pub name: HostName,
}

impl FleetPair {
    /// The pairs of a seed that was kept.
    pub fn of_seed(seed: [u8; 32], name: HostName) -> Self {
        let exchange = StaticSecret::from(blake3::derive_key("manyhands fleet 2026 x25519", &seed));
        let signing = SigningKey::from_bytes(&blake3::derive_key("manyhands fleet 2026 ed25519", &seed));
        // Both kinds of secrets are overwritten when they are dropped.
        Self { seed: StaticSecret::from(seed), exchange, signing, name }
    }

    /// New pairs.
    pub fn generate(name: HostName) -> Result<Self, Error> {
        Ok(Self::of_seed(random("make fleet key")?, name))
    }

    /// The half that hosts have.
    pub fn public(&self) -> FleetPublic {
        FleetPublic::new(PublicKey::from(&self.exchange).to_bytes(), self.signing.verifying_key())
    }

    /// That half as a line of text.
    pub fn public_line(&self, role: FeedRole) -> PublicLine {
        PublicLine { public: self.public(), name: self.name.clone(), role }
    }

    pub(crate) fn exchange_secret(&self) -> &[u8; 32] {
        self.exchange.as_bytes()
    }

    pub(crate) fn sign(&self, purpose: &[u8], message: &[u8]) -> [u8; 64] {
        self.signing.sign(&[purpose, message].concat()).to_bytes()
    }
}

impl fmt::Debug for FleetPair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FleetPair").field("id", &self.public().id()).finish_non_exhaustive()
    }
}

/// Random bytes of the kernel.
pub(crate) fn random<const N: usize>(operation: &'static str) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|cause| Error::refused(operation, "random bytes", cause.to_string()))?;
    Ok(bytes)
}

/// A pair that was rotated away, and until when hosts still take it.
#[derive(Clone, Debug)]
pub struct OlderPair {
    /// The pair.
    pub pair: FleetPair,
    /// End of its grace, seconds since 1970.
    pub until_s: u64,
}

/// What the file of a fleet's key holds.
#[derive(Clone, Debug)]
pub struct FleetKeyFile {
    /// The pair that counts.
    pub current: FleetPair,
    /// Older ones, newest first.
    pub older: Vec<OlderPair>,
}

impl FleetKeyFile {
    /// A file with one pair.
    pub fn of(current: FleetPair) -> Self {
        Self { current, older: Vec::new() }
    }

    /// Reads a file; none if there is none. Refused if others may read it, or if it belongs to somebody else.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let Some(text) = read_private(READ, path)? else { return Ok(None) };
        let refuse = |reason: String| Error::refused(READ, path.display().to_string(), reason);
        let mut pairs = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            pairs.push(read_line(line).ok_or_else(|| refuse(format!("line {} is no key", number + 1)))?);
        }
        if pairs.is_empty() || pairs.len() > PAIRS_MAX {
            return Err(refuse(format!("has {} keys; 1 to {PAIRS_MAX} are expected", pairs.len())));
        }
        let older = pairs.split_off(1);
        let current = pairs.remove(0).pair;
        Ok(Some(Self { current, older }))
    }

    /// Writes the file with mode 0600.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = String::new();
        for (pair, until_s) in self.pairs() {
            let line = format!("{MARK} {} {}", checked_text(pair.seed.as_bytes()), pair.name);
            let until = until_s.map(|until_s| format!(" until={until_s}")).unwrap_or_default();
            writeln!(text, "{line}{until}").expect("a string takes everything");
        }
        write_private("write fleet key", path, &text)
    }

    /// The current pair, then the older ones with the end of their grace.
    pub fn pairs(&self) -> impl Iterator<Item = (&FleetPair, Option<u64>)> {
        let older = self.older.iter().map(|older| (&older.pair, Some(older.until_s)));
        std::iter::once((&self.current, None)).chain(older)
    }

    /// Puts a new pair in front, and keeps the old one until its grace ends. Pairs whose grace has ended, and those
    /// that are too many, are dropped.
    pub fn rotate(&mut self, new: FleetPair, now_s: u64, grace_s: u64) {
        let old = std::mem::replace(&mut self.current, new);
        self.older.retain(|older| older.until_s > now_s);
        self.older.insert(0, OlderPair { pair: old, until_s: now_s.saturating_add(grace_s) });
        self.older.truncate(PAIRS_MAX - 1);
    }
}

fn read_line(line: &str) -> Option<OlderPair> {
    let mut words = line.split_ascii_whitespace();
    let is_key = words.next() == Some(MARK);
    let seed = checked_bytes(words.next()?)?.try_into().ok()?;
    let name = HostName::exact(words.next()?)?;
    let until_s = words.next().map_or(Some(0), |word| word.strip_prefix("until=")?.parse().ok())?;
    (is_key && words.next().is_none()).then(|| OlderPair { pair: FleetPair::of_seed(seed, name), until_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    #[test]
    fn a_seed_has_one_pair_and_another_has_another() {
        assert_eq!(pair(1).public(), pair(1).public());
        assert_ne!(pair(1).public(), pair(2).public());
        assert_ne!(pair(1).public().id(), pair(2).public().id());
        let made = FleetPair::generate(HostName::new(b"x")).expect("random bytes");
        assert_ne!(made.public(), FleetPair::generate(HostName::new(b"x")).expect("random bytes").public());
        assert!(!format!("{:?}", pair(1)).contains(&format!("{:?}", [1_u8; 32])), "no secret in messages");
    }

    #[test]
    fn signatures_hold_for_their_purpose_and_text() {
        let signature = pair(1).sign(b"a", b"text");
        assert!(pair(1).public().has_signed(b"a", b"text", &signature));
        for (by, purpose, text) in [(2, b"a", b"text"), (1, b"b", b"text"), (1, b"a", b"next")] {
            assert!(!pair(by).public().has_signed(purpose, text, &signature));
        }
    }

    #[test]
    fn a_file_keeps_older_pairs_until_their_grace_ends() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("fleet.key");
        assert!(FleetKeyFile::read(&path).expect("no file is no error").is_none());
        let mut file = FleetKeyFile::of(pair(1));
        file.rotate(pair(2), 1000, 60);
        file.rotate(pair(3), 1010, 60);
        file.write(&path).expect("written");
        let read = FleetKeyFile::read(&path).expect("readable").expect("there");
        let seen: Vec<_> = read.pairs().map(|(pair, until)| (pair.public(), until)).collect();
        let expected = [(pair(3).public(), None), (pair(2).public(), Some(1070)), (pair(1).public(), Some(1060))];
        assert_eq!(seen, expected);
        file.rotate(pair(4), 1065, 60);
        assert_eq!(file.pairs().count(), 3, "the first is gone");
        std::fs::write(&path, "mhsecret1 nonsense home\n").expect("written");
        assert!(FleetKeyFile::read(&path).is_err());
    }
}
