//! The query of a viewer: 160 bytes that only the holder of the fleet's key can make, and that cost nothing to refuse.
//! `filter` decides what is answered; who asks and when is the viewer's.

mod filter;
mod nonces;
mod token_bucket;

pub use filter::{QueryCounts, QueryFilter, QueryRefusal};
pub(crate) use nonces::NonceTable;
pub(crate) use token_bucket::TokenBucket;

use crate::keys::{FleetPair, FleetPublic, KeyId};
use crate::wire::WireReader;

/// All queries, and so all answers, have this size: an answer is never larger than what asked for it.
pub const PACKET_BYTES: usize = 160;

const MAGIC: &[u8; 4] = b"mhfq";
const VERSION: u8 = 1;
const PURPOSE: &[u8] = b"manyhands fleet query 1\0";

/// Up to here the signature counts; it is followed by itself and the filter's code.
const SIGNED_BYTES: usize = PACKET_BYTES - 64 - MAC_BYTES;
const MAC_BYTES: usize = 16;

/// What makes a query unique.
pub type Nonce = [u8; 16];

/// A query that is well formed. Nothing in it is to be believed before [`Self::is_signed_by`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetQuery<'a> {
    /// Which fleet asks.
    pub key: KeyId,
    /// The viewer's clock.
    pub wall_ms: u64,
    /// Echoed by the answer.
    pub nonce: Nonce,
    packet: &'a [u8; PACKET_BYTES],
}

impl<'a> FleetQuery<'a> {
    /// Reads a packet.
    pub fn read(packet: &'a [u8]) -> Option<Self> {
        let packet: &[u8; PACKET_BYTES] = packet.try_into().ok()?;
        let mut reader = WireReader::new(packet);
        let is_ours = reader.array()? == *MAGIC && reader.u8()? == VERSION;
        let (key, wall_ms, nonce) = (KeyId(reader.array()?), reader.u64()?, reader.array()?);
        is_ours.then_some(Self { key, wall_ms, nonce, packet })
    }

    /// Whether the packet was made by somebody who knows the fleet's public line: a fifth of a microsecond.
    pub fn passes(&self, filter_key: &[u8; 32]) -> bool {
        let (covered, code) = self.packet.split_at(PACKET_BYTES - MAC_BYTES);
        code == filter_code(filter_key, covered)
    }

    /// Whether the fleet made it: 45 microseconds.
    pub fn is_signed_by(&self, fleet: &FleetPublic) -> bool {
        let signature = self.packet[SIGNED_BYTES..].first_chunk().expect("the signature and the code follow");
        fleet.has_signed(PURPOSE, &self.packet[..SIGNED_BYTES], signature)
    }
}

fn filter_code(filter_key: &[u8; 32], covered: &[u8]) -> [u8; MAC_BYTES] {
    *blake3::keyed_hash(filter_key, covered).as_bytes().first_chunk().expect("a hash has 32 bytes")
}

/// A query of the fleet that `pair` belongs to.
pub fn make_query(pair: &FleetPair, nonce: &Nonce, wall_ms: u64) -> [u8; PACKET_BYTES] {
    let public = pair.public();
    let mut packet = Vec::with_capacity(PACKET_BYTES);
    packet.extend_from_slice(MAGIC);
    packet.push(VERSION);
    packet.extend_from_slice(&public.id().0);
    packet.extend_from_slice(&wall_ms.to_le_bytes());
    packet.extend_from_slice(nonce);
    packet.resize(SIGNED_BYTES, 0);
    let signature = pair.sign(PURPOSE, &packet);
    packet.extend_from_slice(&signature);
    let code = filter_code(&public.filter_key(), &packet);
    packet.extend_from_slice(&code);
    packet.try_into().expect("the parts add up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;
    use proptest::prelude::*;

    fn pair(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    proptest! {
        #[test]
        fn a_query_is_read_as_it_was_made(nonce in any::<[u8; 16]>(), wall_ms in any::<u64>()) {
            let packet = make_query(&pair(1), &nonce, wall_ms);
            let query = FleetQuery::read(&packet).expect("well formed");
            let public = pair(1).public();
            prop_assert_eq!((query.key, query.wall_ms, query.nonce), (public.id(), wall_ms, nonce));
            prop_assert!(query.passes(&public.filter_key()) && query.is_signed_by(&public));
            prop_assert!(!query.passes(&pair(2).public().filter_key()) && !query.is_signed_by(&pair(2).public()));
        }

        #[test]
        fn a_changed_bit_is_noticed(at in 0..PACKET_BYTES * 8) {
            let mut packet = make_query(&pair(1), &[3; 16], 77);
            packet[at / 8] ^= 1 << (at % 8);
            let public = pair(1).public();
            let passes = FleetQuery::read(&packet).is_some_and(|query| query.passes(&public.filter_key()));
            prop_assert!(!passes);
        }
    }

    #[test]
    fn another_length_is_no_query() {
        let packet = make_query(&pair(1), &[3; 16], 77);
        assert!(FleetQuery::read(&packet[..PACKET_BYTES - 1]).is_none());
        assert!(FleetQuery::read(&[&packet[..], b"x"].concat()).is_none());
        assert!(FleetQuery::read(b"").is_none());
    }
}
