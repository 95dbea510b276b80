//! The public half of a fleet's key, as one line of text: `mhfleet1 BASE32 NAME [role=full|numbers]`.
//! It may be printed, put into an image or distributed by any tool: who has it can check and cannot look.

use super::private_file::read_public;
use crate::base32::{checked_bytes, checked_text};
use crate::{Error, HostName};
use ed25519_dalek::{Signature, VerifyingKey};
use std::fmt;
use std::path::Path;

const MARK: &str = "mhfleet1";

/// LIMIT: each line costs every query one more keyed hash.
const LINES_MAX: usize = 64;

/// What a viewer may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FeedRole {
    /// Figures of the host as a whole: the CPU time of single processes is a side channel.
    #[default]
    Numbers,
    /// Processes, users and command lines besides.
    Full,
}

impl FeedRole {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Numbers => 1,
            Self::Full => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        [Self::Numbers, Self::Full].into_iter().find(|role| role.code() == code)
    }
}

impl fmt::Display for FeedRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Numbers => "numbers",
            Self::Full => "full",
        })
    }
}

/// Which fleet, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 8]);

/// The public half of a fleet's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FleetPublic {
    /// For sessions and sealed answers: X25519.
    pub exchange: [u8; 32],
    verifying: VerifyingKey,
}

impl FleetPublic {
    pub(crate) const BYTES: usize = 64;

    pub(super) fn new(exchange: [u8; 32], verifying: VerifyingKey) -> Self {
        Self { exchange, verifying }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (exchange, verifying) = bytes.split_at_checked(32)?;
        let verifying = VerifyingKey::from_bytes(verifying.try_into().ok()?).ok()?;
        // Under a weak key a signature of one text passes for another.
        (!verifying.is_weak()).then_some(Self { exchange: exchange.try_into().ok()?, verifying })
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..32].copy_from_slice(&self.exchange);
        bytes[32..].copy_from_slice(self.verifying.as_bytes());
        bytes
    }

    /// The first bytes of a hash of the public half.
    pub fn id(&self) -> KeyId {
        let hash = blake3::derive_key("manyhands fleet 2026 key id", &self.to_bytes());
        KeyId(*hash.first_chunk().expect("a hash has 32 bytes"))
    }

    /// What queries are filtered with before a signature is checked. No secret: whoever has the line can compute it.
    pub(crate) fn filter_key(&self) -> [u8; 32] {
        blake3::derive_key("manyhands fleet 2026 query filter", &self.to_bytes())
    }

    /// Whether `signature` is the fleet's, of `message`, for `purpose`.
    pub(crate) fn has_signed(&self, purpose: &[u8], message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.verifying.verify_strict(&[purpose, message].concat(), &signature).is_ok()
    }
}

/// A public half with the name and the role that its host's administrator gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicLine {
    /// The keys.
    pub public: FleetPublic,
    /// Of the fleet; for people.
    pub name: HostName,
    /// What its viewers may see here.
    pub role: FeedRole,
}

impl PublicLine {
    /// Reads one line.
    pub fn read(line: &str) -> Result<Self, Error> {
        let refuse = |reason: &str| Error::refused("read public line", shortened(line), reason);
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some(MARK) {
            return Err(refuse("does not begin with mhfleet1"));
        }
        let key = words.next().ok_or_else(|| refuse("has no key"))?;
        let bytes = checked_bytes(key).ok_or_else(|| refuse("the key has a typing error"))?;
        let public = FleetPublic::from_bytes(&bytes).ok_or_else(|| refuse("the key is none"))?;
        let name = words.next().and_then(HostName::exact).ok_or_else(|| refuse("has no plain name behind the key"))?;
        let role = match words.next() {
            None | Some("role=numbers") => FeedRole::Numbers,
            Some("role=full") => FeedRole::Full,
            Some(_) => return Err(refuse("the fourth word must be role=full or role=numbers")),
        };
        match words.next() {
            None => Ok(Self { public, name, role }),
            Some(_) => Err(refuse("has more than four words")),
        }
    }

    /// Reads all lines of a file that only its owner may write; empty ones and those behind `#` are skipped.
    pub fn read_file(path: &Path) -> Result<Vec<Self>, Error> {
        let text = read_public("read public lines", path)?.unwrap_or_default();
        Self::read_all(&text)
    }

    /// Reads all lines of a text.
    pub fn read_all(text: &str) -> Result<Vec<Self>, Error> {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        if lines.len() > LINES_MAX {
            return Err(Error::refused("read public lines", lines.len().to_string(), format!("more than {LINES_MAX}")));
        }
        lines.into_iter().map(Self::read).collect()
    }
}

/// A line in a message: what is too long, or no text, is left out.
fn shortened(line: &str) -> String {
    line.chars().take(24).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl fmt::Display for PublicLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MARK} {} {}", checked_text(&self.public.to_bytes()), self.name)?;
        if self.role == FeedRole::Full { formatter.write_str(" role=full") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::FleetPair;

    fn line() -> PublicLine {
        FleetPair::of_seed([7; 32], HostName::new(b"home")).public_line(FeedRole::Full)
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        assert_eq!(PublicLine::read(&line().to_string()).expect("a line"), line());
        let numbers = PublicLine { role: FeedRole::Numbers, ..line() };
        assert!(!numbers.to_string().contains("role"), "the default is not written");
        assert_eq!(PublicLine::read(&numbers.to_string()).expect("a line").role, FeedRole::Numbers);
        let two = format!("# ours\n\n  {}\n{}\n", line(), numbers);
        assert_eq!(PublicLine::read_all(&two).expect("two lines"), [line(), numbers]);
    }

    #[test]
    fn mistakes_are_refused_with_their_reason() {
        let text = line().to_string();
        let typo = text.replacen(&text[20..21], if &text[20..21] == "7" { "8" } else { "7" }, 1);
        for (line, reason) in [
            ("mhfleet2 x y", "does not begin"),
            ("mhfleet1", "no key"),
            (typo.as_str(), "typing error"),
            (text.split(" home").next().expect("a part"), "no plain name"),
            (&format!("{text} more"), "more than four"),
            (&text.replace("full", "root"), "role=full or"),
        ] {
            let error = PublicLine::read(line).expect_err(line).to_string();
            assert!(error.contains(reason), "{line}: {error}");
        }
        assert!(PublicLine::read_all(&format!("{text}\n").repeat(65)).is_err());
    }

    #[test]
    fn a_weak_key_is_none() {
        let mut bytes = line().public.to_bytes();
        bytes[32..].fill(0);
        bytes[32] = 1;
        assert!(FleetPublic::from_bytes(&bytes).is_none());
    }
}
