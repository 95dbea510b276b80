//! The two messages of Noise IK and what they carry: from the viewer its versions and clock, from the agent who it is.
//! The viewer knows the agent's key before it connects; the agent learns the viewer's from the first message, and
//! answers nothing if no fleet of its own is meant.

use crate::HostName;
use crate::keys::{FleetPair, HostPair, HostPublic, HostTicket};
use crate::wire::{WireReader, put_short};
use snow::{Builder, HandshakeState, TransportState};

const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";

/// Both sides' roles and the version that both must mean.
const PROLOGUE: &[u8] = b"manyhands fleet 1 viewer agent";

/// The only version there is.
pub(crate) const VERSION: u8 = 1;

/// LIMIT: ephemeral key, sealed key, sealed payload; room for what later versions add.
pub(crate) const MESSAGE_1_MAX: usize = 256;

/// LIMIT: facts and a ticket; room for what later versions add.
pub(crate) const MESSAGE_2_MAX: usize = 1024;

/// What a viewer says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Its lowest and highest version.
    pub versions: (u8, u8),
    /// Its clock.
    pub wall_ms: u64,
}

impl Opening {
    fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [self.versions.0, self.versions.1, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..].copy_from_slice(&self.wall_ms.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = WireReader::new(bytes);
        Some(Self { versions: (reader.u8()?, reader.u8()?), wall_ms: reader.u64()? })
    }
}

/// What an agent says of its host, authenticated by the host's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// Its name; the ticket's counts more.
    pub name: HostName,
    /// Different after each start of the host.
    pub boot_id: [u8; 16],
    /// Logical CPUs.
    pub cores: u32,
    /// Its clock when it answered.
    pub wall_ms: u64,
    /// Lowest and highest version of the protocol that it speaks.
    pub versions: (u8, u8),
    /// The version of its program, as text.
    pub program: HostName,
    /// The fleet's word for it, if the host has one for this fleet.
    pub ticket: Option<HostTicket>,
}

impl AgentFacts {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.versions.0, self.versions.1];
        bytes.extend_from_slice(&self.wall_ms.to_le_bytes());
        bytes.extend_from_slice(&self.cores.to_le_bytes());
        bytes.extend_from_slice(&self.boot_id);
        put_short(&mut bytes, self.name.as_str().as_bytes());
        put_short(&mut bytes, self.program.as_str().as_bytes());
        put_short(&mut bytes, &self.ticket.as_ref().map(HostTicket::to_bytes).unwrap_or_default());
        bytes
    }

    /// What later versions add behind is not looked at.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = WireReader::new(bytes);
        let versions = (reader.u8()?, reader.u8()?);
        let (wall_ms, cores, boot_id) = (reader.u64()?, reader.u32()?, reader.array()?);
        let (name, program) = (HostName::new(reader.short()?), HostName::new(reader.short()?));
        let ticket = match reader.short()? {
            [] => None,
            ticket => Some(HostTicket::from_bytes(ticket)?),
        };
        Some(Self { name, boot_id, cores, wall_ms, versions, program, ticket })
    }
}

/// For fuzzing: facts that bytes are read as.
pub fn facts_of(bytes: &[u8]) -> Option<AgentFacts> {
    AgentFacts::from_bytes(bytes)
}

/// For fuzzing: facts as they are sent.
pub fn bytes_of_facts(facts: &AgentFacts) -> Vec<u8> {
    facts.to_bytes()
}

/// For fuzzing: whether bytes are an opening.
pub fn opening_is_read(bytes: &[u8]) -> bool {
    Opening::from_bytes(bytes).is_some()
}

/// A handshake of which the first message was sent.
#[derive(Debug)]
pub(crate) struct PendingHandshake(Box<HandshakeState>);

impl PendingHandshake {
    /// Begins, as a viewer of `fleet`, with the host that has this key. None if the key is none, or the kernel has no
    /// random bytes.
    pub fn begin(fleet: &FleetPair, host: &HostPublic, opening: Opening) -> Option<(Self, Vec<u8>)> {
        let builder = Builder::new(PATTERN.parse().ok()?).local_private_key(fleet.exchange_secret()).ok()?;
        let mut noise = builder.remote_public_key(&host.0).ok()?.prologue(PROLOGUE).ok()?.build_initiator().ok()?;
        let mut message = vec![0; MESSAGE_1_MAX];
        let written = noise.write_message(&opening.to_bytes(), &mut message).ok()?;
        message.truncate(written);
        Some((Self(Box::new(noise)), message))
    }

    /// Takes the second message. None if the peer does not hold the host's key.
    pub fn finish(mut self, message: &[u8]) -> Option<(TransportState, AgentFacts)> {
        let mut payload = [0; MESSAGE_2_MAX];
        let read = self.0.read_message(message, &mut payload).ok()?;
        let facts = AgentFacts::from_bytes(&payload[..read])?;
        Some((self.0.into_transport_mode().ok()?, facts))
    }
}

/// What a first message is remembered by, so that it is answered once: its ephemeral key.
pub(crate) fn seen_before_key(message: &[u8]) -> Option<[u8; 32]> {
    message.first_chunk().copied()
}

/// A first message of a viewer that may look.
pub(crate) struct AnsweredHandshake<T> {
    pub transport: TransportState,
    pub opening: Opening,
    pub viewer: T,
    /// To be sent.
    pub message: Vec<u8>,
}

/// Answers a first message, if `authorise` knows the viewer's key. `facts` are what the viewer is told.
pub(crate) fn answer_handshake<T>(
    host: &HostPair,
    message: &[u8],
    authorise: impl FnOnce(&[u8; 32]) -> Option<T>,
    facts: impl FnOnce(&T) -> AgentFacts,
) -> Option<AnsweredHandshake<T>> {
    let builder = Builder::new(PATTERN.parse().ok()?).local_private_key(host.secret()).ok()?;
    let mut noise = builder.prologue(PROLOGUE).ok()?.build_responder().ok()?;
    let mut payload = [0; MESSAGE_1_MAX];
    let read = noise.read_message(message, &mut payload).ok()?;
    let opening = Opening::from_bytes(&payload[..read])?;
    let viewer = authorise(noise.get_remote_static()?.try_into().ok()?)?;
    let mut message = vec![0; MESSAGE_2_MAX];
    let written = noise.write_message(&facts(&viewer).to_bytes(), &mut message).ok()?;
    message.truncate(written);
    Some(AnsweredHandshake { transport: noise.into_transport_mode().ok()?, opening, viewer, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fleet(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    fn facts(ticket: Option<HostTicket>) -> AgentFacts {
        let name = HostName::new(&[b'n'; 63]);
        let program = HostName::new(b"0.1.0");
        AgentFacts { name, boot_id: [3; 16], cores: 8, wall_ms: 99, versions: (1, 1), program, ticket }
    }

    const OPENING: Opening = Opening { versions: (1, 1), wall_ms: 1234 };

    #[test]
    fn both_sides_learn_who_the_other_is() {
        let host = HostPair::of_secret([5; 32]);
        let ticket = HostTicket::sign(&fleet(1), host.public(), HostName::new(&[b't'; 63]), 7);
        let (pending, message) = PendingHandshake::begin(&fleet(1), &host.public(), OPENING).expect("begun");
        let authorise = |key: &[u8; 32]| (*key == fleet(1).public().exchange).then_some("fleet 1");
        let answered = answer_handshake(&host, &message, authorise, |_| facts(Some(ticket.clone()))).expect("answered");
        assert_eq!((answered.opening, answered.viewer), (OPENING, "fleet 1"));
        let (mut viewer, told) = pending.finish(&answered.message).expect("finished");
        assert_eq!(told, facts(Some(ticket)));
        let (mut agent, mut sealed, mut opened) = (answered.transport, [0; 64], [0; 64]);
        let written = agent.write_message(b"sample", &mut sealed).expect("sealed");
        let read = viewer.read_message(&sealed[..written], &mut opened).expect("opened");
        assert_eq!(&opened[..read], b"sample");
    }

    #[test]
    fn another_fleet_another_host_or_a_changed_bit_get_nothing() {
        let host = HostPair::of_secret([5; 32]);
        let authorise = |key: &[u8; 32]| (*key == fleet(1).public().exchange).then_some(());
        let answer = |message: &[u8]| answer_handshake(&host, message, authorise, |()| facts(None));
        let begin = |fleet: &FleetPair, host: &HostPair| {
            PendingHandshake::begin(fleet, &host.public(), OPENING).expect("begun")
        };
        assert!(answer(&begin(&fleet(2), &host).1).is_none(), "no fleet of ours");
        let other = HostPair::of_secret([6; 32]);
        assert!(answer(&begin(&fleet(1), &other).1).is_none(), "meant for another host");
        let (_, message) = begin(&fleet(1), &host);
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            assert!(answer(&changed).is_none(), "byte {at}");
            assert!(answer(&message[..at]).is_none());
        }
        let (pending, message) = begin(&fleet(1), &host);
        let mut second = answer(&message).expect("answered").message;
        second[0] ^= 1;
        assert!(pending.finish(&second).is_none());
    }

    proptest! {
        #[test]
        fn facts_are_read_as_they_were_written(
            boot_id in any::<[u8; 16]>(), cores in any::<u32>(), wall_ms in any::<u64>(), more in any::<[u8; 5]>(),
        ) {
            let facts = AgentFacts { boot_id, cores, wall_ms, ..facts(None) };
            prop_assert_eq!(AgentFacts::from_bytes(&[&facts.to_bytes()[..], &more].concat()), Some(facts));
        }
    }
}
