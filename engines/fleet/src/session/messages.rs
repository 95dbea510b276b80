//! What is said inside a session: a kind of one byte, then its content. Kinds that are not known are skipped, and so is
//! what follows the content that is known, so that versions may differ.

use crate::keys::{FeedRole, HostTicket, Rotation};
use crate::wire::WireReader;

const CREDIT: u8 = 1;
const ROTATE: u8 = 2;
const TICKET: u8 = 3;
const DATA: u8 = 16;
const LAST_DATA: u8 = 17;

/// What a viewer allows an agent to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    /// So many more samples.
    pub samples: u32,
    /// One every so many milliseconds.
    pub interval_ms: u32,
    /// At most this.
    pub role: FeedRole,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Credit(Credit),
    /// From a viewer: its fleet's key has changed.
    Rotate(Box<Rotation>),
    /// From a viewer: its fleet's word for this host.
    Ticket(Box<HostTicket>),
    /// From an agent: the next bytes of the stream of envelopes, and whether a sample ends with them.
    Data {
        bytes: &'a [u8],
        is_last: bool,
    },
    /// Of a later version.
    Unknown,
}

impl<'a> Message<'a> {
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Credit(credit) => {
                out.push(CREDIT);
                out.extend_from_slice(&credit.samples.to_le_bytes());
                out.extend_from_slice(&credit.interval_ms.to_le_bytes());
                out.push(credit.role.code());
            }
            Self::Rotate(rotation) => {
                out.push(ROTATE);
                out.extend_from_slice(&rotation.to_bytes());
            }
            Self::Ticket(ticket) => {
                out.push(TICKET);
                out.extend_from_slice(&ticket.to_bytes());
            }
            Self::Data { bytes, is_last } => {
                out.push(if *is_last { LAST_DATA } else { DATA });
                out.extend_from_slice(bytes);
            }
            Self::Unknown => {}
        }
    }

    /// None if a kind that is known has not its content.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = WireReader::new(bytes);
        Some(match reader.u8()? {
            CREDIT => {
                let (samples, interval_ms) = (reader.u32()?, reader.u32()?);
                // A role of a later version shows no more than the least does.
                let role = FeedRole::of_code(reader.u8()?).unwrap_or_default();
                Self::Credit(Credit { samples, interval_ms, role })
            }
            ROTATE => Self::Rotate(Box::new(Rotation::from_bytes(reader.bytes(Rotation::BYTES)?)?)),
            TICKET => Self::Ticket(Box::new(HostTicket::from_bytes(reader.rest())?)),
            DATA => Self::Data { bytes: reader.rest(), is_last: false },
            LAST_DATA => Self::Data { bytes: reader.rest(), is_last: true },
            _ => Self::Unknown,
        })
    }
}

/// For fuzzing: a message as it is written once it was read; none if it is none.
pub fn message_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let message = Message::read(bytes)?;
    let mut written = Vec::new();
    message.put(&mut written);
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;
    use crate::keys::{FleetPair, HostPublic};

    #[test]
    fn messages_are_read_as_they_were_written() {
        let fleet = |byte| FleetPair::of_seed([byte; 32], HostName::new(b"home"));
        let ticket = HostTicket::sign(&fleet(1), HostPublic([1; 32]), HostName::new(b"web7"), 5);
        let rotation = Rotation::sign(&fleet(1), fleet(2).public(), 5);
        for message in [
            Message::Credit(Credit { samples: 60, interval_ms: 1000, role: FeedRole::Full }),
            Message::Rotate(Box::new(rotation)),
            Message::Ticket(Box::new(ticket)),
            Message::Data { bytes: b"bytes", is_last: false },
            Message::Data { bytes: b"", is_last: true },
        ] {
            let mut bytes = Vec::new();
            message.put(&mut bytes);
            assert_eq!(Message::read(&bytes), Some(message.clone()));
            let is_data = matches!(message, Message::Data { .. });
            (0..bytes.len()).filter(|_| !is_data).for_each(|cut| assert_eq!(Message::read(&bytes[..cut]), None));
            if matches!(message, Message::Credit(_) | Message::Rotate(_)) {
                bytes.extend_from_slice(b"of a later version");
                assert_eq!(Message::read(&bytes), Some(message));
            }
        }
        assert_eq!(Message::read(b"\xffanything"), Some(Message::Unknown));
    }
}
