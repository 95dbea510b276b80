//! Load on databases: `mh load`, `mh bakeoff`, and the page with plots that reports of this crate are.

mod bakeoff;
mod load;
pub mod page;
pub mod page_target;
pub mod plots;

pub use bakeoff::ENTRY as BAKEOFF;
pub use load::ENTRY as LOAD;
