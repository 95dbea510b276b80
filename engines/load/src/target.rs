//! The targets that there are: an embedded database, servers by their protocols, and a server of our own whose times are known.

pub mod echo;
pub mod server;
pub mod sqlite;
