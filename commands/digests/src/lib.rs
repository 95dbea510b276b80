//! Digests of files: `mh sum`, also under the names of md5sum, sha256sum, cksum, b3sum, xxhsum and their relatives.

mod check;
mod hands;
mod lines;
mod nodes;
mod old_names;
mod print;
mod report;
mod request;
mod sum;
mod words;

pub use sum::ENTRY as SUM;
