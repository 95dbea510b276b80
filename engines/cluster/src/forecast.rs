//! How long a list takes on many workers: times of its jobs from a journal, and chunks that suit them. Pure figures; theory: "Forecast"
//! in `README.md` beside this crate's manifest.

pub mod chunks;
pub mod times;
