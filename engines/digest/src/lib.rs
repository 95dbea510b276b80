//! Digests of files on every core. A digest that combines (CRC, BLAKE3) is computed in pieces by all workers; one that does not is a chain,
//! and chains of different files and algorithms run side by side. Opens files and reads them; prints nothing and knows no flag.
//! Theory: `engines/digest/README.md`.

pub mod algorithm;
mod chains;
mod combine;
mod divided;
mod emitter;
mod error;
pub mod manifest;
mod pieces;
mod reading;
mod run;
mod stream;
mod tally;
pub mod value;
pub mod walk;
mod whole;

pub use error::DigestError;
pub use run::{DigestItem, DigestRoom, DigestSource, Digested, Digesting, digest_all};
pub use stream::{StreamHash, stream_hash};
pub use tally::DigestTally;
