//! Test-only: data generators, a fake clock, a fake machine, faulty files, a golden runner, other programs, throw-away
//! database servers and a throw-away Slurm, directory snapshots.
//! Knows nothing of the product's crates, so that each of them may use it; nothing of it is shipped.
//! What goes wrong inside a test's own tools panics with the reason: a test has no better use for it.

pub mod data;
pub mod fake_clock;
pub mod fake_machine;
pub mod faulty;
pub mod golden;
pub mod mariadb_server;
pub mod postgres_server;
pub mod program;
pub mod random;
pub mod slurm;
pub mod small_disk;
pub mod tree;
