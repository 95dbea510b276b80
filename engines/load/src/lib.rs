//! Load on a database: transactions at planned times, what each took, who was late, what the server paid. Theory: `engines/load/README.md`.
//! Mute: shows nothing, reads no environment.

pub mod arrivals;
pub mod bakeoff;
pub mod cost;
pub mod course;
pub mod distribution;
pub mod filling;
pub mod generator;
pub mod goal;
mod kernel;
pub mod late;
pub mod ledger;
pub mod player;
pub mod run;
pub mod script;
pub mod search;
pub mod session;
pub mod statistics;
pub mod sweep;
pub mod target;
pub mod workload;
