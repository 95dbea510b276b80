//! Load on databases: `mh load`.

mod load;

pub use load::ENTRY as LOAD;
