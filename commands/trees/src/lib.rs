//! File trees: `mh cp`, `mh mv` and `mh rm`.

mod cp;
mod mv;
mod rm;
mod trees;

pub use cp::ENTRY as CP;
pub use mv::ENTRY as MV;
pub use rm::ENTRY as RM;
