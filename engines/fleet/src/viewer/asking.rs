//! Asking the network who is there: often at first, every half minute later, by both families, on every interface, and
//! by unicast where a host may be. Says which answers belong to a question; does not open them.

use crate::keys::FleetPair;
use crate::network::{InterfaceWatch, NetworkView, QuerySocket, SleepList};
use crate::query::{Nonce, PACKET_BYTES, TokenBucket, make_query};
use crate::{Error, answer, wall_ms};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Times between questions; the last one goes on.
const PAUSES_MS: &[u64] = &[250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000];

/// LIMIT: questions whose answers still count. Four keys, three ways and two repetitions are 24.
const OPEN_MAX: usize = 32;

/// LIMIT: answers that are opened in a second, at 0.1 ms each.
const ANSWERS_PER_SECOND: u32 = 2048;

/// LIMIT: answers in one turn.
const ANSWERS_MAX: usize = 256;

/// An answer to a question of ours, still sealed.
#[derive(Debug)]
pub(super) struct SealedAnswer {
    pub packet: [u8; PACKET_BYTES],
    pub source: SocketAddr,
    /// To which of the pairs.
    pub pair: usize,
}

/// Both families' sockets, and when to ask.
#[derive(Debug)]
pub(super) struct Asker {
    sockets: [Option<QuerySocket>; 2],
    watch: InterfaceWatch,
    view: NetworkView,
    interfaces: Vec<String>,
    port: u16,
    has_multicast: bool,
    round: usize,
    due: Instant,
    open: VecDeque<(Nonce, usize)>,
    bucket: TokenBucket,
}

impl Asker {
    pub fn open(port: u16, has_multicast: bool, interfaces: Vec<String>, now: Instant) -> Result<Self, Error> {
        let [v4, v6] = [false, true].map(|is_v6| QuerySocket::open(is_v6, 0));
        let sockets = match (v4, v6) {
            (Err(cause), Err(_)) => return Err(Error::system("ask the network with", "UDP", cause)),
            (v4, v6) => [v4.ok(), v6.ok()],
        };
        let view = NetworkView::look(&interfaces)?;
        Ok(Self {
            sockets,
            watch: InterfaceWatch::new()?,
            view,
            interfaces,
            port,
            has_multicast,
            round: 0,
            due: now,
            open: VecDeque::new(),
            bucket: TokenBucket::new(ANSWERS_PER_SECOND, now),
        })
    }

    pub fn add_to(&self, sleep: &SleepList, [v4, v6, watch]: [u64; 3]) -> Result<(), rustix::io::Errno> {
        for (socket, token) in self.sockets.iter().zip([v4, v6]) {
            socket.as_ref().map_or(Ok(()), |socket| sleep.add(socket, token, false))?;
        }
        sleep.add(&self.watch, watch, false)
    }

    pub fn due(&self) -> Instant {
        self.due
    }

    /// Interfaces may have changed: then what was learned of the network is void, and it is asked as at first.
    pub fn look_again(&mut self, now: Instant) {
        if self.watch.has_changed()
            && let Ok(view) = NetworkView::look(&self.interfaces)
            && view != self.view
        {
            self.view = view;
            (self.round, self.due) = (0, now);
        }
    }

    /// Asks, if it is time.
    pub fn ask(&mut self, pairs: &[&FleetPair], places: &[SocketAddr], now: Instant) -> Result<(), Error> {
        if now < self.due {
            return Ok(());
        }
        self.due = now + Duration::from_millis(PAUSES_MS[self.round.min(PAUSES_MS.len() - 1)]);
        self.round += 1;
        for (number, pair) in pairs.iter().enumerate() {
            for is_v6 in [false, true] {
                self.ask_groups(pair, number, is_v6)?;
            }
            if !places.is_empty() {
                let packet = self.question(pair, number)?;
                for place in places {
                    // It may be away.
                    let _is_asked_again =
                        self.sockets[usize::from(place.is_ipv6())].as_ref().map(|socket| socket.send(&packet, place));
                }
            }
        }
        Ok(())
    }

    fn ask_groups(&mut self, pair: &FleetPair, number: usize, is_v6: bool) -> Result<(), Error> {
        if !self.has_multicast || self.sockets[usize::from(is_v6)].is_none() {
            return Ok(());
        }
        let packet = self.question(pair, number)?;
        let Some(socket) = &self.sockets[usize::from(is_v6)] else { return Ok(()) };
        for index in self.view.multicast_indexes() {
            // Without an address of the family it refuses; the other family has one.
            let _is_asked_otherwise = socket.send_to_group(&packet, index, self.port);
        }
        Ok(())
    }

    /// Each family and each way has a question of its own, because a host answers a question once.
    fn question(&mut self, pair: &FleetPair, number: usize) -> Result<[u8; PACKET_BYTES], Error> {
        let nonce: Nonce = crate::keys::random("ask the network with")?;
        self.open.push_back((nonce, number));
        if self.open.len() > OPEN_MAX {
            self.open.pop_front();
        }
        Ok(make_query(pair, &nonce, wall_ms()))
    }

    /// Answers that have arrived by one family and belong to a question.
    pub fn answers(&mut self, is_v6: bool, now: Instant, is_wanted: impl Fn(&SocketAddr) -> bool) -> Vec<SealedAnswer> {
        let mut answers = Vec::new();
        let Some(socket) = &self.sockets[usize::from(is_v6)] else { return answers };
        while answers.len() < ANSWERS_MAX {
            let Some((packet, source)) = socket.receive() else { break };
            let nonce = answer::answered_nonce(&packet);
            let question = self.open.iter().find(|(open, _)| nonce == Some(*open));
            if let Some((_, pair)) = question.filter(|_| is_wanted(&source))
                && self.bucket.take(now)
            {
                answers.push(SealedAnswer { packet, source, pair: *pair });
            }
        }
        answers
    }
}
