//! The answer of an agent: as large as the query, sealed to the fleet, so that nobody on the link reads names and keys,
//! and names of any length look alike. Whoever has the public line can make one: it says where to try, and the
//! handshake shows who is there.

use crate::HostName;
use crate::keys::{FleetPair, FleetPublic, HostPublic};
use crate::query::{Nonce, PACKET_BYTES};
use crate::wire::{WireReader, put_short};

const MAGIC: &[u8; 4] = b"mhfa";
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 4 + 1 + 16;

/// An ephemeral key in front, a tag behind.
const SEAL_BYTES: usize = 32 + 16;
const INSIDE_BYTES: usize = PACKET_BYTES - HEAD_BYTES - SEAL_BYTES;

const PATTERN: &str = "Noise_N_25519_ChaChaPoly_BLAKE2s";

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetAnswer {
    /// Its key.
    pub host: HostPublic,
    /// Where it listens by TCP.
    pub port: u16,
    /// What it is called, as it says.
    pub name: HostName,
}

/// The nonce of the query that a packet claims to answer.
pub fn answered_nonce(packet: &[u8]) -> Option<Nonce> {
    let packet: &[u8; PACKET_BYTES] = packet.try_into().ok()?;
    let mut reader = WireReader::new(packet);
    let is_ours = reader.array()? == *MAGIC && reader.u8()? == VERSION;
    is_ours.then_some(reader.array()?)
}

/// Seals an answer to the fleet that asked. None if the kernel has no random bytes.
pub fn seal_answer(answer: &FleetAnswer, fleet: &FleetPublic, nonce: &Nonce) -> Option<[u8; PACKET_BYTES]> {
    let mut packet = [0; PACKET_BYTES];
    packet[..4].copy_from_slice(MAGIC);
    packet[4] = VERSION;
    packet[5..HEAD_BYTES].copy_from_slice(nonce);
    let mut inside = answer.host.0.to_vec();
    inside.extend_from_slice(&answer.port.to_le_bytes());
    put_short(&mut inside, &answer.name.as_str().as_bytes()[..answer.name.as_str().len().min(INSIDE_BYTES - 35)]);
    inside.resize(INSIDE_BYTES, 0);
    let (head, sealed) = packet.split_at_mut(HEAD_BYTES);
    let builder = snow::Builder::new(PATTERN.parse().ok()?).remote_public_key(&fleet.exchange).ok()?;
    let mut noise = builder.prologue(head).ok()?.build_initiator().ok()?;
    let written = noise.write_message(&inside, sealed).ok()?;
    (written == sealed.len()).then_some(packet)
}

/// Opens what was sealed to `pair`; none if it was not, or was changed.
pub fn open_answer(packet: &[u8], pair: &FleetPair) -> Option<FleetAnswer> {
    let _is_one = answered_nonce(packet)?;
    let (head, sealed) = packet.split_at(HEAD_BYTES);
    let builder = snow::Builder::new(PATTERN.parse().ok()?).local_private_key(pair.exchange_secret()).ok()?;
    let mut noise = builder.prologue(head).ok()?.build_responder().ok()?;
    let mut inside = [0; INSIDE_BYTES];
    let read = noise.read_message(sealed, &mut inside).ok()?;
    let mut reader = WireReader::new(&inside[..read]);
    let (host, port) = (HostPublic(reader.array()?), reader.u16()?);
    let name = HostName::new(reader.short()?);
    (port != 0).then_some(FleetAnswer { host, port, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    proptest! {
        #[test]
        fn an_answer_is_read_as_it_was_sealed(
            host in any::<[u8; 32]>(), port in 1..=u16::MAX, name in "[a-z.]{1,56}", nonce in any::<[u8; 16]>(),
        ) {
            let answer = FleetAnswer { host: HostPublic(host), port, name: HostName::new(name.as_bytes()) };
            let packet = seal_answer(&answer, &pair(1).public(), &nonce).expect("sealed");
            prop_assert_eq!(answered_nonce(&packet), Some(nonce));
            prop_assert_eq!(open_answer(&packet, &pair(1)), Some(answer));
            prop_assert_eq!(open_answer(&packet, &pair(2)), None);
        }
    }

    #[test]
    fn it_is_no_larger_than_a_query_and_whole_or_nothing() {
        let name = HostName::new(&[b'n'; 63]);
        let answer = FleetAnswer { host: HostPublic([4; 32]), port: 7764, name };
        let packet = seal_answer(&answer, &pair(1).public(), &[1; 16]).expect("sealed");
        assert_eq!(open_answer(&packet, &pair(1)).expect("opened").name.as_str(), &answer.name.as_str()[..56]);
        for at in 0..PACKET_BYTES {
            let mut changed = packet;
            changed[at] ^= 1;
            assert_eq!(open_answer(&changed, &pair(1)), None, "byte {at}");
            assert_eq!(open_answer(&packet[..at], &pair(1)), None);
        }
    }
}
