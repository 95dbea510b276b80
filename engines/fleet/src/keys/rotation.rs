//! A rotation: the old key's statement that a new one takes its place, and how long the old one still counts. Hosts
//! take it at their next contact. Whoever stole the old key can sign one, too: the grace is the window in which that
//! matters.

use super::{FleetPair, FleetPublic, KeyId, PublicLine};
use crate::Error;
use crate::base32::{checked_bytes, checked_text};
use crate::wire::WireReader;
use std::fmt;

const PURPOSE: &[u8] = b"manyhands fleet rotation 1\0";
const MARK: &str = "mhrotate1";

/// LIMIT: rotations that follow each other from one line, so that a circle of them ends.
const CHAIN_MAX: usize = 16;

/// The new public half, signed by the old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The fleet that signed.
    pub old: KeyId,
    /// What takes its place.
    pub new: FleetPublic,
    /// The old key counts until then, seconds since 1970.
    pub old_until_s: u64,
    signature: [u8; 64],
}

impl Rotation {
    pub(crate) const BYTES: usize = 8 + FleetPublic::BYTES + 8 + 64;

    /// Signs that `new` takes the place of `old`.
    pub fn sign(old: &FleetPair, new: FleetPublic, old_until_s: u64) -> Self {
        let id = old.public().id();
        let signature = old.sign(PURPOSE, &statement(id, &new, old_until_s));
        Self { old: id, new, old_until_s, signature }
    }

    /// Whether this fleet signed it.
    pub fn is_of(&self, old: &FleetPublic) -> bool {
        let statement = statement(self.old, &self.new, self.old_until_s);
        old.id() == self.old && old.has_signed(PURPOSE, &statement, &self.signature)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = statement(self.old, &self.new, self.old_until_s);
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = WireReader::new(bytes);
        let old = KeyId(reader.array()?);
        let new = FleetPublic::from_bytes(reader.bytes(FleetPublic::BYTES)?)?;
        let old_until_s = reader.u64()?;
        let signature = reader.array()?;
        reader.rest().is_empty().then_some(Self { old, new, old_until_s, signature })
    }

    /// Reads a rotation's line: `mhrotate1 BASE32`.
    pub fn read(line: &str) -> Result<Self, Error> {
        let bytes = line.trim().strip_prefix(MARK).and_then(|text| checked_bytes(text.trim()));
        let rotation = bytes.and_then(|bytes| Self::from_bytes(&bytes));
        rotation.ok_or_else(|| Error::refused("read rotation", "mhrotate1 ...", "it has a typing error, or is none"))
    }

    /// The lines that count now: those given, but for rotated ones whose grace has ended, and what they were rotated
    /// to, under the same name and role.
    pub fn in_force(lines: &[PublicLine], rotations: &[Self], now_s: u64) -> Vec<PublicLine> {
        let mut counted: Vec<PublicLine> = Vec::new();
        for line in lines {
            let mut line = line.clone();
            for _ in 0..=CHAIN_MAX {
                let next = rotations.iter().find(|rotation| rotation.is_of(&line.public));
                let counts = next.is_none_or(|rotation| now_s < rotation.old_until_s);
                if counts && counted.iter().all(|other| other.public != line.public) {
                    counted.push(line.clone());
                }
                let Some(next) = next else { break };
                line.public = next.new;
            }
        }
        counted
    }
}

fn statement(old: KeyId, new: &FleetPublic, old_until_s: u64) -> Vec<u8> {
    [&old.0[..], &new.to_bytes(), &old_until_s.to_le_bytes()].concat()
}

impl fmt::Display for Rotation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MARK} {}", checked_text(&self.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;
    use crate::keys::FeedRole;

    fn fleet(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    #[test]
    fn the_old_line_counts_until_its_grace_ends() {
        let lines = [fleet(1).public_line(FeedRole::Full), fleet(9).public_line(FeedRole::Numbers)];
        let rotations =
            [Rotation::sign(&fleet(1), fleet(2).public(), 1000), Rotation::sign(&fleet(2), fleet(3).public(), 2000)];
        let ids = |now_s| {
            let lines = Rotation::in_force(&lines, &rotations, now_s);
            lines.iter().map(|line| (line.public, line.role)).collect::<Vec<_>>()
        };
        let with = |byte: u8, role| (fleet(byte).public(), role);
        let (full, other) = (FeedRole::Full, with(9, FeedRole::Numbers));
        assert_eq!(ids(999), [with(1, full), with(2, full), with(3, full), other]);
        assert_eq!(ids(1000), [with(2, full), with(3, full), other]);
        assert_eq!(ids(3000), [with(3, full), other]);
    }

    #[test]
    fn a_rotation_by_anybody_else_counts_for_nothing() {
        let lines = [fleet(1).public_line(FeedRole::Full)];
        let mut forged = Rotation::sign(&fleet(5), fleet(5).public(), 0);
        forged.old = fleet(1).public().id();
        assert_eq!(Rotation::in_force(&lines, &[forged], 10), lines);
    }

    #[test]
    fn a_circle_of_rotations_ends() {
        let circle = [Rotation::sign(&fleet(1), fleet(2).public(), 0), Rotation::sign(&fleet(2), fleet(1).public(), 0)];
        assert_eq!(Rotation::in_force(&[fleet(1).public_line(FeedRole::Full)], &circle, 10), []);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let rotation = Rotation::sign(&fleet(1), fleet(2).public(), 77);
        assert_eq!(Rotation::read(&rotation.to_string()).expect("a rotation"), rotation);
        let bytes = rotation.to_bytes();
        assert_eq!(bytes.len(), Rotation::BYTES);
        (0..bytes.len()).for_each(|cut| assert!(Rotation::from_bytes(&bytes[..cut]).is_none()));
    }
}
