//! Keys: the fleet's pair, of which hosts have the public half; each host's own pair; and what one signs for the other.
//! A host that is broken into can lie about itself and see nothing of others, because nothing on it is a secret of the
//! fleet.

mod host_pair;
mod host_state;
mod host_ticket;
mod private_file;
mod public_line;
mod rotation;
mod seed;

pub use host_pair::{HostPair, HostPublic};
pub use host_state::HostState;
pub use host_ticket::HostTicket;
pub use public_line::{FeedRole, FleetPublic, KeyId, PublicLine};
pub use rotation::Rotation;
pub use seed::{FleetKeyFile, FleetPair, OlderPair};

pub(crate) use private_file::{read_private, write_private};
pub(crate) use seed::random;
