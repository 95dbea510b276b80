//! Many hosts in one viewer: how hosts are found, why they are believed, and sessions that carry their samples. A
//! sample is an opaque envelope here. Mute: shows nothing, reads no environment. Theory and threats: `README.md` beside
//! the manifest.

pub mod agent;
pub mod answer;
mod base32;
mod clock;
pub mod envelope;
mod error;
pub mod keys;
mod name;
mod network;
pub mod pairing;
pub mod query;
pub mod session;
pub mod ssh;
pub mod viewer;
mod wire;

pub use clock::wall_ms;
pub use error::Error;
pub use name::HostName;
