//! Whether a run may be over in a millisecond, as far as paths show it. Decides nothing about such a run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outset {
    /// It may be over in a millisecond: until then it has one hand, takes part in no budget, and ending signals wait.
    MayBeBrief,
    /// Something in it may take its time from the start: a question, a pipe, another machine.
    Lasts,
}

/// LIMIT: with more arguments a run is not brief, and to look at each of them first costs more than it saves.
const ARGUMENTS_LOOKED_AT: usize = 64;

/// Whether calls on all of `paths` end by themselves, whatever other machines and programs do. LIMIT: what else is mounted below them is hardly
/// met within a millisecond.
pub fn outset<'a>(paths: impl ExactSizeIterator<Item = &'a [u8]>) -> Outset {
    let is_ours = |path: &[u8]| machine::is_on_this_machine(Path::new(OsStr::from_bytes(path)));
    let is_brief = paths.len() <= ARGUMENTS_LOOKED_AT && { paths }.all(is_ours);
    if is_brief { Outset::MayBeBrief } else { Outset::Lasts }
}
