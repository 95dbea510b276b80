//! Rows of a plain statement, passed on from where they were read. What is no row, or goes over several packets, is left for `step`.

use super::packets::{Header, PREFIX_BYTES};
use super::rows::{RowPart, pass_text_row};
use super::{MySqlSession, Phase, RequestKind};
use crate::channel::WireChannel;
use crate::error::WireError;
use crate::reply::ReplyTally;
use std::io;

impl MySqlSession {
    /// Passes on the rows that are whole in the input.
    pub fn pass_rows(
        &mut self,
        channel: &mut WireChannel,
        tally: &mut ReplyTally,
        take: &mut impl FnMut(RowPart<'_>) -> io::Result<()>,
    ) -> Result<(), WireError> {
        while self.phase == Phase::Rows && self.kind() == Some(RequestKind::Text) && self.long.is_empty() {
            let data = channel.input.data();
            let Some(header) = Header::of(data).filter(|header| !header.is_full()) else { return Ok(()) };
            let Some(payload) = header.payload(data) else { return Ok(()) };
            if !self.is_row(header.payload_bytes, data.get(PREFIX_BYTES).copied().filter(|_| !payload.is_empty())) {
                return Ok(());
            }
            self.check_sequence(header)?;
            pass_text_row(payload, take)?;
            tally.rows += 1;
            channel.input.consume(header.bytes());
        }
        Ok(())
    }
}
