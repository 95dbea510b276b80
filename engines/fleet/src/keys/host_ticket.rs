//! A ticket: the fleet's statement that a host key is the host of that name. A viewer that holds the fleet's key trusts
//! it at once.

use super::{FleetPair, FleetPublic, HostPublic};
use crate::base32::{checked_bytes, checked_text};
use crate::wire::{WireReader, put_short};
use crate::{Error, HostName};
use std::fmt;

const PURPOSE: &[u8] = b"manyhands fleet ticket 1\0";
const MARK: &str = "mhticket1";

/// A host key and a name, signed by a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTicket {
    /// Whose.
    pub host: HostPublic,
    /// What it is called.
    pub name: HostName,
    /// When it was signed, seconds since 1970.
    pub signed_s: u64,
    signature: [u8; 64],
}

impl HostTicket {
    /// LIMIT: host key, date, name and its length, signature.
    pub const BYTES_MAX: usize = 32 + 8 + 1 + 63 + 64;

    /// Signs that `host` is `name`.
    pub fn sign(fleet: &FleetPair, host: HostPublic, name: HostName, now_s: u64) -> Self {
        let signature = fleet.sign(PURPOSE, &statement(host, &name, now_s));
        Self { host, name, signed_s: now_s, signature }
    }

    /// Whether this fleet signed it.
    pub fn is_of(&self, fleet: &FleetPublic) -> bool {
        fleet.has_signed(PURPOSE, &statement(self.host, &self.name, self.signed_s), &self.signature)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = statement(self.host, &self.name, self.signed_s);
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = WireReader::new(bytes);
        let host = HostPublic(reader.array()?);
        let signed_s = reader.u64()?;
        let name = HostName::exact(std::str::from_utf8(reader.short()?).ok()?)?;
        let signature = reader.array()?;
        reader.rest().is_empty().then_some(Self { host, name, signed_s, signature })
    }

    /// Reads a ticket's line: `mhticket1 BASE32`.
    pub fn read(line: &str) -> Result<Self, Error> {
        let bytes = line.trim().strip_prefix(MARK).and_then(|text| checked_bytes(text.trim()));
        let ticket = bytes.and_then(|bytes| Self::from_bytes(&bytes));
        ticket.ok_or_else(|| Error::refused("read ticket", "mhticket1 ...", "it has a typing error, or is no ticket"))
    }
}

fn statement(host: HostPublic, name: &HostName, signed_s: u64) -> Vec<u8> {
    let mut bytes = host.0.to_vec();
    bytes.extend_from_slice(&signed_s.to_le_bytes());
    put_short(&mut bytes, name.as_str().as_bytes());
    bytes
}

impl fmt::Display for HostTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MARK} {}", checked_text(&self.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_holds_for_its_host_name_and_fleet() {
        let fleet = |byte| FleetPair::of_seed([byte; 32], HostName::new(b"home"));
        let ticket = HostTicket::sign(&fleet(1), HostPublic([9; 32]), HostName::new(b"web7"), 1_700_000_000);
        let read = HostTicket::read(&ticket.to_string()).expect("a ticket");
        assert_eq!(read, ticket);
        assert!(read.is_of(&fleet(1).public()) && !read.is_of(&fleet(2).public()));
        assert!(!HostTicket { host: HostPublic([8; 32]), ..ticket.clone() }.is_of(&fleet(1).public()));
        assert!(!HostTicket { name: HostName::new(b"web8"), ..ticket.clone() }.is_of(&fleet(1).public()));
        assert!(!HostTicket { signed_s: 1, ..ticket.clone() }.is_of(&fleet(1).public()));
        let bytes = ticket.to_bytes();
        (0..bytes.len()).for_each(|cut| assert!(HostTicket::from_bytes(&bytes[..cut]).is_none()));
        assert!(HostTicket::read("mhticket1 ABC").is_err());
    }
}
