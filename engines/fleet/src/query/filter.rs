//! Which queries an agent answers. What is cheap comes first: a signature is checked last, and twenty times a second at
//! most.

use super::{FleetQuery, Nonce, NonceTable, TokenBucket};
use crate::keys::{FleetPublic, KeyId, PublicLine};
use std::time::Instant;

/// Clocks of viewer and host may differ by so much.
const WINDOW_MS: u64 = 30_000;

/// LIMIT: signature checks a second, at 45 us each: a thousandth of a core.
const PER_SECOND: u32 = 20;

/// LIMIT: nonces are noted once the signature was right, so 20 a second for the 60 s of the window, and the first 20:
/// 1,220 at most. None is forgotten while it could be used again.
const NONCES_MAX: usize = 4096;

/// Why a query is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryRefusal {
    /// No query of this version.
    Malformed,
    /// Made without the public line of a fleet that may look here.
    Filter,
    /// Viewer's clock minus ours, in milliseconds, is beyond 30 s: it is old, or one of the clocks is wrong.
    Clock(i64),
    /// Was answered before.
    Seen,
    /// Too many in this second.
    TooMany,
    /// Made with the public line and without the key.
    Signature,
}

/// What became of the queries so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryCounts {
    /// Answered.
    pub accepted: u64,
    /// [`QueryRefusal::Malformed`].
    pub malformed: u64,
    /// [`QueryRefusal::Filter`].
    pub filter: u64,
    /// [`QueryRefusal::Clock`].
    pub clock: u64,
    /// [`QueryRefusal::Seen`].
    pub seen: u64,
    /// [`QueryRefusal::TooMany`].
    pub too_many: u64,
    /// [`QueryRefusal::Signature`].
    pub signature: u64,
    /// Signatures that were checked, right or wrong.
    pub signatures_checked: u64,
}

/// What is known of one fleet.
#[derive(Clone, Debug)]
struct FilteredFleet {
    id: KeyId,
    filter_key: [u8; 32],
    public: FleetPublic,
}

/// Decides, and remembers what it must.
#[derive(Clone, Debug)]
pub struct QueryFilter {
    fleets: Vec<FilteredFleet>,
    nonces: NonceTable<Nonce>,
    bucket: TokenBucket,
    counts: QueryCounts,
}

impl QueryFilter {
    /// A filter that nothing passes before [`Self::set_lines`].
    pub fn new(now: Instant) -> Self {
        Self {
            fleets: Vec::new(),
            nonces: NonceTable::new(NONCES_MAX),
            bucket: TokenBucket::new(PER_SECOND, now),
            counts: QueryCounts::default(),
        }
    }

    /// Fleets that may ask from now on. What was seen stays seen.
    pub fn set_lines(&mut self, lines: &[PublicLine]) {
        let fleet = |line: &PublicLine| FilteredFleet {
            id: line.public.id(),
            filter_key: line.public.filter_key(),
            public: line.public,
        };
        self.fleets = lines.iter().map(fleet).collect();
    }

    /// Counts of all packets so far.
    pub fn counts(&self) -> QueryCounts {
        self.counts
    }

    /// The fleet to answer, with the nonce of its query.
    pub fn check(&mut self, packet: &[u8], wall_ms: u64, now: Instant) -> Result<(FleetPublic, Nonce), QueryRefusal> {
        let checked = self.judge(packet, wall_ms, now);
        let count = match checked {
            Ok(_) => &mut self.counts.accepted,
            Err(QueryRefusal::Malformed) => &mut self.counts.malformed,
            Err(QueryRefusal::Filter) => &mut self.counts.filter,
            Err(QueryRefusal::Clock(_)) => &mut self.counts.clock,
            Err(QueryRefusal::Seen) => &mut self.counts.seen,
            Err(QueryRefusal::TooMany) => &mut self.counts.too_many,
            Err(QueryRefusal::Signature) => &mut self.counts.signature,
        };
        *count += 1;
        checked
    }

    fn judge(&mut self, packet: &[u8], wall_ms: u64, now: Instant) -> Result<(FleetPublic, Nonce), QueryRefusal> {
        let query = FleetQuery::read(packet).ok_or(QueryRefusal::Malformed)?;
        let passes = |fleet: &&FilteredFleet| fleet.id == query.key && query.passes(&fleet.filter_key);
        let fleet = self.fleets.iter().find(passes).ok_or(QueryRefusal::Filter)?;
        if query.wall_ms.abs_diff(wall_ms) > WINDOW_MS {
            return Err(QueryRefusal::Clock(query.wall_ms.wrapping_sub(wall_ms).cast_signed()));
        }
        if self.nonces.has(&query.nonce) {
            return Err(QueryRefusal::Seen);
        }
        if !self.bucket.take(now) {
            return Err(QueryRefusal::TooMany);
        }
        self.counts.signatures_checked += 1;
        if !query.is_signed_by(&fleet.public) {
            return Err(QueryRefusal::Signature);
        }
        self.nonces.note(query.nonce);
        Ok((fleet.public, query.nonce))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAC_BYTES, PACKET_BYTES, filter_code, make_query};
    use super::*;
    use crate::HostName;
    use crate::keys::{FeedRole, FleetPair};
    use std::time::Duration;
    use testkit::random::Random;

    const NOW_MS: u64 = 1_700_000_000_000;

    fn pair(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    fn filter(now: Instant) -> QueryFilter {
        let mut filter = QueryFilter::new(now);
        filter.set_lines(&[pair(1).public_line(FeedRole::Full), pair(2).public_line(FeedRole::Numbers)]);
        filter
    }

    /// With the public line and without the key.
    fn forged(public: &FleetPublic, nonce: &Nonce, seed: u64) -> [u8; PACKET_BYTES] {
        let mut packet = make_query(&pair(9), nonce, NOW_MS);
        let mut random = Random::seeded(seed);
        packet[5..13].copy_from_slice(&public.id().0);
        packet[80..144].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
        let code = filter_code(&public.filter_key(), &packet[..PACKET_BYTES - MAC_BYTES]);
        packet[PACKET_BYTES - MAC_BYTES..].copy_from_slice(&code);
        packet
    }

    #[test]
    fn each_query_is_answered_once() {
        let now = Instant::now();
        let mut filter = filter(now);
        let packet = make_query(&pair(2), &[5; 16], NOW_MS);
        assert_eq!(filter.check(&packet, NOW_MS, now), Ok((pair(2).public(), [5; 16])));
        for _ in 0..199 {
            assert_eq!(filter.check(&packet, NOW_MS, now), Err(QueryRefusal::Seen));
        }
        assert_eq!((filter.counts().accepted, filter.counts().seen, filter.counts().signatures_checked), (1, 199, 1));
    }

    #[test]
    fn old_and_early_ones_and_another_key_are_refused_without_a_signature_check() {
        let now = Instant::now();
        let mut filter = filter(now);
        let mut refusal = |pair: &FleetPair, wall_ms: u64| {
            filter.check(&make_query(pair, &[5; 16], wall_ms), NOW_MS, now).expect_err("refused")
        };
        assert_eq!(refusal(&pair(1), NOW_MS - 3_600_000), QueryRefusal::Clock(-3_600_000));
        assert_eq!(refusal(&pair(1), NOW_MS + 30_001), QueryRefusal::Clock(30_001));
        assert!(matches!(refusal(&pair(1), u64::MAX), QueryRefusal::Clock(_)));
        assert_eq!(refusal(&pair(3), NOW_MS), QueryRefusal::Filter);
        assert_eq!(filter.check(b"x", NOW_MS, now), Err(QueryRefusal::Malformed));
        assert_eq!(filter.counts().signatures_checked, 0);
        let packet = make_query(&pair(1), &[5; 16], NOW_MS - 30_000);
        assert!(filter.check(&packet, NOW_MS, now).is_ok(), "what was refused is not used up");
    }

    #[test]
    fn a_flood_without_the_line_costs_no_signature_check() {
        let now = Instant::now();
        let mut filter = filter(now);
        let mut random = Random::seeded(1);
        for _ in 0..20_000 {
            let mut packet = make_query(&pair(1), &[7; 16], NOW_MS);
            packet[5 + (random.next_u64() % 155) as usize] ^= 1 + (random.next_u64() % 255) as u8;
            assert_eq!(filter.check(&packet, NOW_MS, now), Err(QueryRefusal::Filter));
        }
        assert_eq!((filter.counts().filter, filter.counts().signatures_checked), (20_000, 0));
        assert!(filter.check(&make_query(&pair(1), &[7; 16], NOW_MS), NOW_MS, now).is_ok());
    }

    #[test]
    fn a_flood_with_the_line_costs_twenty_checks_a_second_and_forgets_nothing() {
        let now = Instant::now();
        let mut filter = filter(now);
        let answered = make_query(&pair(1), &[200; 16], NOW_MS);
        assert!(filter.check(&answered, NOW_MS, now).is_ok());
        for number in 0..6000_u64 {
            let mut nonce = [0; 16];
            nonce[..8].copy_from_slice(&number.to_le_bytes());
            let at = now + Duration::from_millis(number);
            assert!(filter.check(&forged(&pair(1).public(), &nonce, number), NOW_MS, at).is_err());
        }
        assert_eq!(filter.counts().accepted, 1);
        assert!((100..=140).contains(&filter.counts().signatures_checked), "{:?}", filter.counts());
        assert_eq!(filter.check(&answered, NOW_MS, now), Err(QueryRefusal::Seen));
    }
}
