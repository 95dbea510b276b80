//! Load on a database.

pub mod arrivals;
pub mod course;
pub mod ledger;
pub mod session;
pub mod target;
