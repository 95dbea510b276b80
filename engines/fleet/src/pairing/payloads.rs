//! The parsers of what a peer sends in a pairing, for fuzzing.

use super::*;

/// What a host says of itself, as it is written once it was read; none if it is none.
pub fn host_again(bytes: &[u8]) -> Option<Vec<u8>> {
    host_of(bytes).map(|(name, host)| bytes_of_host(&name, host))
}

/// A line and a ticket as a viewer sends them.
pub fn enrolment(line: &PublicLine, ticket: &HostTicket) -> Vec<u8> {
    bytes_of_enrolment(line, ticket)
}

/// A line and a ticket, as they are written once they were read; none if they are none.
pub fn enrolment_again(bytes: &[u8]) -> Option<Vec<u8>> {
    enrolment_of(bytes).map(|(line, ticket)| bytes_of_enrolment(&line, &ticket))
}

/// The half of SPAKE2 that a viewer with this code sends.
pub fn half_of_viewer(code: &PairingCode) -> Vec<u8> {
    Spake2::<Ed25519Group>::start_b(&Password::new(code.bytes()), &host_id(), &viewer_id()).1
}

/// Whether a host takes these bytes for the other half of SPAKE2. Anybody may send them, before anything is proven.
pub fn is_half(code: &PairingCode, bytes: &[u8]) -> bool {
    let (exchange, _) = Spake2::<Ed25519Group>::start_a(&Password::new(code.bytes()), &host_id(), &viewer_id());
    exchange.finish(bytes).is_ok()
}

/// Whether a viewer believes these bytes, which nobody made who has its key.
pub fn is_believed(bytes: &[u8]) -> bool {
    noise(&[7; 32], b"host", b"viewer", false).is_some_and(|mut noise| open(&mut noise, bytes).is_ok())
}
