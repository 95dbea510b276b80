//! A comparison of arms that are measured in turns: what to start next, what was found, and the life of a server that is started anew each time.

pub mod agenda;
pub mod arm_server;
pub mod comparison;
pub mod timed_command;
