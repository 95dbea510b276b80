//! What reaches past the safe binding of libzstd, on one core, one block at a time. It knows no files; whoever calls it cuts the blocks.
//! Parts: `blocks`, what decodes one frame in two steps; `finder`, what compresses level 3 (a build may do without it); `stepper`, the library's own encoder for the slow levels;
//! `trainer`, which makes dictionaries.

#[cfg(target_arch = "x86_64")]
pub(super) mod blocks;
#[cfg(feature = "zstd-finder")]
pub(super) mod finder;
mod stepper;
mod trainer;

pub(super) use stepper::{SteppedFrames, Stepper, library_parameters};
pub(crate) use trainer::train;

/// Whether the library is the one whose reading of repeat offsets and whose borders of blocks are known (`finder`, `stepper`).
/// A program may be linked with another.
pub(super) fn is_library_known() -> bool {
    zstd_safe::version_number() == 1_05_07
}
