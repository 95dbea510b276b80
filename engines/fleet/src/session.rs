//! A session: Noise IK over TCP. Frames are a length of two bytes and a Noise message; the first two are the handshake.
//! Knows neither who may look nor what is sent: `agent` and `viewer` do.

mod channel;
mod frame_socket;
mod handshake;
mod messages;

pub(crate) use channel::{Channel, PIECE_BYTES, SessionEnd};
pub(crate) use frame_socket::FrameSocket;
pub use handshake::AgentFacts;
pub(crate) use handshake::{
    MESSAGE_1_MAX, MESSAGE_2_MAX, Opening, PendingHandshake, VERSION, answer_handshake, seen_before_key,
};
pub(crate) use messages::{Credit, Message};
#[doc(hidden)]
pub mod payloads {
    //! The parsers of what a peer sends, for fuzzing.
    pub use super::handshake::{bytes_of_facts, facts_of, opening_is_read};
    pub use super::messages::message_again;
}
