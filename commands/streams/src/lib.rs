//! Streams of bytes and the files that hold them: `mh tamp`, also under the names of the tools before it.

mod tamp;

pub use tamp::ENTRY as TAMP;
