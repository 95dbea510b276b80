//! What a host keeps: its pair, the public lines of the fleets that may look, their tickets for it, and rotations it
//! was told of. One file each, in a directory of its own.

use super::private_file::{read_private, write_private};
use super::{FeedRole, HostPair, HostTicket, PublicLine, Rotation};
use crate::Error;
use rustix::fs::Mode;
use std::fmt::Display;
use std::path::{Path, PathBuf};

const KEY: &str = "host.key";
const FLEETS: &str = "fleets";
const TICKETS: &str = "tickets";
const ROTATIONS: &str = "rotations";

/// LIMIT: of each file. Only who is trusted already can add an entry.
const ENTRIES_MAX: usize = 64;

/// The state of one host.
#[derive(Clone, Debug)]
pub struct HostState {
    directory: Option<PathBuf>,
    /// The host's own keys.
    pub pair: HostPair,
    /// Fleets that may look.
    pub lines: Vec<PublicLine>,
    /// At most one of each fleet.
    pub tickets: Vec<HostTicket>,
    /// In the order in which they came.
    pub rotations: Vec<Rotation>,
}

impl HostState {
    /// A state that no file holds.
    pub fn in_memory(pair: HostPair, lines: Vec<PublicLine>) -> Self {
        Self { directory: None, pair, lines, tickets: Vec::new(), rotations: Vec::new() }
    }

    /// The state in `directory`, which is made with a new pair if it is not there.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        match rustix::fs::mkdir(directory, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(cause) => return Err(Error::at("create directory", directory, cause)),
        }
        Ok(Self {
            directory: Some(directory.to_owned()),
            pair: HostPair::open_or_make(&directory.join(KEY))?,
            lines: read(&directory.join(FLEETS), PublicLine::read)?,
            tickets: read(&directory.join(TICKETS), HostTicket::read)?,
            rotations: read(&directory.join(ROTATIONS), Rotation::read)?,
        })
    }

    /// What a fleet may see by a line that comes from elsewhere: no more than `most`, and no more than a line of it that is here allows.
    pub fn role_allowed(&self, line: &PublicLine, most: FeedRole) -> FeedRole {
        let here = self.lines.iter().find(|other| other.public == line.public).map(|other| other.role);
        let is_numbers = [Some(line.role), Some(most), here].contains(&Some(FeedRole::Numbers));
        if is_numbers { FeedRole::Numbers } else { line.role }
    }

    /// Lets a fleet look from now on. A line with the same key takes the place of the one before.
    pub fn add_line(&mut self, line: PublicLine) -> Result<(), Error> {
        self.lines.retain(|other| other.public != line.public);
        self.lines.push(line);
        self.keep(FLEETS, &self.lines)
    }

    /// Keeps a ticket for this host. One of the same fleet takes the place of the one before.
    pub fn add_ticket(&mut self, ticket: HostTicket) -> Result<(), Error> {
        let fleet = self.lines_in_force(0).into_iter().find(|line| ticket.is_of(&line.public));
        let fleet = fleet.filter(|_| ticket.host == self.pair.public());
        let refuse = || {
            Error::refused("keep ticket", ticket.name.as_str(), "not for this host, or of no fleet that may look here")
        };
        let fleet = fleet.ok_or_else(refuse)?;
        self.tickets.retain(|other| !other.is_of(&fleet.public));
        self.tickets.push(ticket);
        self.keep(TICKETS, &self.tickets)
    }

    /// Takes a rotation. Returns whether it is new and signed by a fleet that may look.
    pub fn add_rotation(&mut self, rotation: Rotation, now_s: u64) -> Result<bool, Error> {
        let is_signed = self.lines_in_force(now_s).iter().any(|line| rotation.is_of(&line.public));
        let is_known = self.rotations.iter().any(|known| known.old == rotation.old);
        if !is_signed || is_known || self.rotations.len() >= ENTRIES_MAX {
            return Ok(false);
        }
        self.rotations.push(rotation);
        self.keep(ROTATIONS, &self.rotations)?;
        Ok(true)
    }

    /// The lines that count at a moment, rotations included.
    pub fn lines_in_force(&self, now_s: u64) -> Vec<PublicLine> {
        Rotation::in_force(&self.lines, &self.rotations, now_s)
    }

    fn keep(&self, name: &str, entries: &[impl Display]) -> Result<(), Error> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        write_private("keep fleet state", &directory.join(name), &text)
    }
}

fn read<T>(path: &Path, one: impl Fn(&str) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    let text = read_private("read fleet state", path)?.unwrap_or_default();
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    if lines.len() > ENTRIES_MAX {
        let reason = format!("more than {ENTRIES_MAX} entries");
        return Err(Error::refused("read fleet state", path.display().to_string(), reason));
    }
    lines.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostName;
    use crate::keys::{FeedRole, FleetPair};

    fn fleet(byte: u8) -> FleetPair {
        FleetPair::of_seed([byte; 32], HostName::new(b"home"))
    }

    #[test]
    fn what_is_added_is_there_after_a_restart() {
        let above = tempfile::tempdir().expect("a directory");
        let directory = above.path().join("state");
        let mut state = HostState::open(&directory).expect("made");
        state.add_line(fleet(1).public_line(FeedRole::Numbers)).expect("kept");
        state.add_line(fleet(1).public_line(FeedRole::Full)).expect("kept");
        let ticket = |by: u8, name: &[u8]| HostTicket::sign(&fleet(by), state.pair.public(), HostName::new(name), 5);
        let (first, second, foreign) = (ticket(1, b"web7"), ticket(1, b"web8"), ticket(2, b"web9"));
        state.add_ticket(first).expect("kept");
        state.add_ticket(second).expect("kept");
        assert!(state.add_ticket(foreign).is_err(), "of another fleet");
        assert!(state.add_rotation(Rotation::sign(&fleet(1), fleet(3).public(), 100), 50).expect("kept"));
        assert!(!state.add_rotation(Rotation::sign(&fleet(1), fleet(4).public(), 100), 50).expect("refused"));
        assert!(!state.add_rotation(Rotation::sign(&fleet(2), fleet(4).public(), 100), 50).expect("refused"));
        let again = HostState::open(&directory).expect("read");
        assert_eq!(again.pair.public(), state.pair.public());
        assert_eq!(again.lines, [fleet(1).public_line(FeedRole::Full)]);
        assert_eq!(again.tickets.iter().map(|ticket| ticket.name.as_str()).collect::<Vec<_>>(), ["web8"]);
        let in_force = again.lines_in_force(101);
        assert_eq!(in_force.iter().map(|line| line.public).collect::<Vec<_>>(), [fleet(3).public()]);
    }
}
