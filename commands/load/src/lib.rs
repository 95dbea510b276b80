//! Load on databases: `mh load`, and the page with plots that reports of this crate are.

mod load;
pub mod page;
pub mod plots;

pub use load::ENTRY as LOAD;
