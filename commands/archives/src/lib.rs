//! Archives: `mh tar`.

mod tar;

pub use tar::ENTRY as TAR;
