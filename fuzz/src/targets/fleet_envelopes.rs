//! Streams of envelopes, as ssh and sessions bring them: in pieces of any size the same envelopes are found, each with
//! the length that its head says.

use fleet::envelope::{BODY_BYTES_MAX, EnvelopeSplitter, HEAD_BYTES, NoEnvelope};

/// The first byte is the size of the pieces, and a bit of it says whether junk may come first.
pub fn run(input: &[u8]) {
    let Some((&choice, stream)) = input.split_first() else { return };
    let junk_max = if choice & 1 == 0 { 0 } else { 64 };
    let whole = split(stream, stream.len().max(1), junk_max);
    assert_eq!(split(stream, usize::from(choice / 2) + 1, junk_max), whole);
    for envelope in &whole.0 {
        let length = u32::from_le_bytes(envelope[3..7].try_into().expect("four bytes"));
        assert!(envelope.len() == HEAD_BYTES + length as usize && envelope.len() <= HEAD_BYTES + BODY_BYTES_MAX);
    }
}

fn split(stream: &[u8], piece: usize, junk_max: usize) -> (Vec<Vec<u8>>, Result<(), NoEnvelope>) {
    let mut splitter = EnvelopeSplitter::new(junk_max);
    let mut found = Vec::new();
    let ended = stream.chunks(piece).try_for_each(|piece| splitter.push(piece, |envelope| found.push(envelope)));
    (found, ended)
}

/// Envelopes alone, and behind a greeting.
pub fn seeds() -> Vec<Vec<u8>> {
    let envelope = |body: &[u8]| [b"mh\x01", &(body.len() as u32).to_le_bytes()[..], &[7; 12], body].concat();
    let three = [envelope(b""), envelope(b"one"), envelope(&[9; 300])].concat();
    vec![[&[14], &three[..]].concat(), [b"\x21Welcome to mh\n", &three[..]].concat()]
}
