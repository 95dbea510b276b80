//! Options of old tools for reading compressed streams.

use crate::error::UnitDefect;
use crate::filter_chain::FilterChain;

/// The way streams are read. The default asks for nothing.
#[derive(Clone, Copy, Debug)]
pub struct StreamReading {
    /// Inputs are raw streams of this chain, whatever they begin with.
    pub raw: Option<FilterChain>,
    /// Bytes behind the first stream are left unread (xz, lzma, raw).
    pub is_first_alone: bool,
    /// Checks of blocks are not computed (xz).
    pub ignores_checks: bool,
    /// Memory that the filters of a file may take, as liblzma counts (xz, lzma, lz).
    pub filter_bytes: u64,
    /// Hands that may work on one unit, where that makes it faster (zst, gz).
    pub hands: usize,
}

impl Default for StreamReading {
    fn default() -> Self {
        Self { raw: None, is_first_alone: false, ignores_checks: false, filter_bytes: u64::MAX, hands: 1 }
    }
}

impl StreamReading {
    /// Whether filters may hold `need_bytes`.
    pub(crate) fn check_filter_bytes(&self, need_bytes: u64) -> Result<(), UnitDefect> {
        let allowed_bytes = self.filter_bytes;
        if need_bytes > allowed_bytes { Err(UnitDefect::Memory { need_bytes, allowed_bytes }) } else { Ok(()) }
    }
}
