//! Load on a database.

pub mod arrivals;
pub mod cost;
pub mod course;
pub mod generator;
pub mod late;
pub mod ledger;
pub mod player;
pub mod run;
pub mod session;
pub mod target;
