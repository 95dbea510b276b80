//! Uncompressed bytes as they pass, for whoever computes something of them in the same pass. Computes nothing itself.

/// Sees the uncompressed bytes of each lane, by its number, part by part and in order: those of one lane in one thread at a time, several lanes side by side.
pub type PassingBytes<'a> = dyn Fn(usize, &[u8]) + Sync + 'a;

/// Shows them to whoever wants to see them.
pub(crate) fn pass(passing: Option<&PassingBytes<'_>>, lane: usize, bytes: &[u8]) {
    if let Some(passing) = passing {
        passing(lane, bytes);
    }
}
