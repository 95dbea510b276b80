//! What a reader reports: errors that end it, defects of a member, and notes beside members. Decides nothing.

use std::io;

/// Why reading an archive ended.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The source failed.
    #[error("cannot read the archive at byte {offset}")]
    Read {
        /// Where.
        offset: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The first block is no header.
    #[error("it does not look like a tar archive")]
    NoArchive,
    /// It ends inside a member.
    #[error("it ends too early: the member at byte {offset} is not whole")]
    Truncated {
        /// Where the member begins.
        offset: u64,
    },
    /// A header says something that nothing behind it can be found after.
    #[error("the header at byte {offset} is damaged: {defect}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong.
        defect: Defect,
    },
}

/// What is wrong with a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// A field is no number, or one that cannot be.
    #[error("its {0} is not a number that can be")]
    Number(&'static str),
    /// Pax records.
    #[error("its extended header is malformed")]
    Records,
    /// One pax record.
    #[error("its record '{0}' has a value that cannot be")]
    Record(String),
    /// A name, link or extended header longer than any that we take.
    #[error("its {what} of {bytes} bytes is longer than any that is read here")]
    TooLong {
        /// Which.
        what: &'static str,
        /// How long.
        bytes: u64,
    },
    /// A sparse file.
    #[error("{0}")]
    Sparse(&'static str),
    /// Extended headers or long names with nothing behind them.
    #[error("nothing follows its extended header")]
    Dangling,
    /// A kind of header that nobody writes any more and that is not followed, for safety.
    #[error("a header of old GNU tar that renames files is not followed")]
    Renames,
    /// A part of a file that began in another volume.
    #[error("it continues a file of an earlier volume")]
    Continuation,
    /// Two readers would see different archives; only where the grammar is strict.
    #[error("readers disagree about it: {0}")]
    Ambiguous(&'static str),
}

/// What a reader tells besides members. The member behind it, if any, is not affected unless it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A member was passed over.
    PassedOver {
        /// Where its header stands.
        offset: u64,
        /// Its name, as far as it is known.
        path: Vec<u8>,
        /// Why.
        defect: Defect,
    },
    /// A value of a member cannot be: the member comes without it.
    Unusable {
        /// The member.
        path: Vec<u8>,
        /// What is wrong with the value.
        defect: Defect,
        /// A name that counts before the number, if this machine knows it; or nothing.
        unless_known: Vec<u8>,
    },
    /// Bytes that are no header were passed over.
    Resynchronised {
        /// Where they begin.
        offset: u64,
    },
    /// One zero block where two end an archive: what may stand behind it is left.
    LoneZeroBlock {
        /// Where.
        offset: u64,
    },
    /// Two common readers would see different things.
    ReadersDisagree {
        /// The member.
        path: Vec<u8>,
        /// About what.
        about: &'static str,
    },
    /// A type that is not known: taken for a file.
    UnknownType {
        /// The member.
        path: Vec<u8>,
        /// Its type.
        type_flag: u8,
    },
}

impl Note {
    /// The name of the member that it is about, as far as it is known.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::PassedOver { path, .. }
            | Self::Unusable { path, .. }
            | Self::ReadersDisagree { path, .. }
            | Self::UnknownType { path, .. } => path,
            Self::Resynchronised { .. } | Self::LoneZeroBlock { .. } => b"",
        }
    }
}
