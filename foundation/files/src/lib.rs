//! The file system as this program sees it: directories by their descriptors, what stands in them, and what a file carries besides its
//! bytes. Knows no archive, no flag of a command and no worker. Theory: `foundation/files/README.md`.

pub mod access_list;
mod argument;
mod attributes;
pub mod carry;
mod directory;
mod kept;
mod listing;
mod metadata;
mod root;
pub mod staged_file;
mod status;
pub mod straight;
pub mod survey;

pub use argument::{PATH_BYTES_MAX, PathArgument};
pub use attributes::{FileReference, UNCHANGED};
pub use directory::{Directory, Follow, LinksOnTheWay, Replace, how, own_path, path_of};
pub use kept::{DescriptorBudget, KeptDirectory, WorkerTables};
pub use listing::{ListBuffer, list_buffer, list_some, rewind};
pub use metadata::{AttributeSetter, Metadata, MetadataPart, MetadataRules};
pub use root::{Reach, Root};
pub use status::{FileType, Identity, Moment, Status};
pub use sys::own_table::{HandedFd, OwnTable, tidy};
pub use sys::tree_calls::close;

/// Whether the program has root's rights over files, or believes so under fakeroot.
pub fn acts_as_root() -> bool {
    sys::tree_calls::effective_user() == 0
}

/// Sets the mask of bits that new files do not get, for the whole process, and returns the one before.
pub fn set_umask(mask: u32) -> u32 {
    rustix::process::umask(rustix::fs::Mode::from_bits_retain(mask)).bits()
}
