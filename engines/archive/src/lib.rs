//! Tar archives: how they are read, written, extracted and created, by as many hands as there are.
//!
//! [`read`] is a pure parser over a [`source`], [`write`] its counterpart. Theory: `engines/archive/README.md`.

pub mod blocks;
pub mod create;
pub mod extract;
pub mod index;
pub mod member;
pub mod operation;
pub mod packed;
pub mod pattern;
pub mod place;
pub mod read;
pub mod select;
pub mod source;
pub mod volumes;
pub mod write;
