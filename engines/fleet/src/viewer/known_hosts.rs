//! Hosts whose keys were accepted, as ssh has them: `NAME KEY ADDRESS` a line. A name stands for one key.

use crate::keys::{HostPublic, read_private, write_private};
use crate::{Error, HostName};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

const READ: &str = "read known hosts";

/// LIMIT: hosts of one file.
const HOSTS_MAX: usize = 4096;

/// One host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownHost {
    /// Its key.
    pub key: HostPublic,
    /// Where it was last.
    pub address: Option<SocketAddr>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct KnownHosts {
    path: Option<PathBuf>,
    hosts: BTreeMap<HostName, KnownHost>,
    is_changed: bool,
}

impl KnownHosts {
    /// Those in a file that only its owner may read; none if there is no file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let text = read_private(READ, path)?.unwrap_or_default();
        let refuse = |reason: String| Error::refused(READ, path.display().to_string(), reason);
        let mut hosts = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, host) = read_line(line).ok_or_else(|| refuse(format!("line {} is no host", number + 1)))?;
            hosts.insert(name, host);
        }
        if hosts.len() > HOSTS_MAX {
            return Err(refuse(format!("more than {HOSTS_MAX} hosts")));
        }
        Ok(Self { path: Some(path.to_owned()), hosts, is_changed: false })
    }

    /// Each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&HostName, &KnownHost)> {
        self.hosts.iter()
    }

    /// The name that was accepted for a key.
    pub fn name_of(&self, key: &HostPublic) -> Option<&HostName> {
        self.hosts.iter().find(|(_, host)| host.key == *key).map(|(name, _)| name)
    }

    /// Whether the name stands for another key.
    pub fn has_another_key(&self, name: &HostName, key: &HostPublic) -> bool {
        self.hosts.get(name).is_some_and(|host| host.key != *key)
    }

    /// Lets a name stand for a key from now on.
    pub fn put(&mut self, name: &HostName, key: HostPublic, address: Option<SocketAddr>) {
        let host = KnownHost { key, address };
        let has_room = self.hosts.len() < HOSTS_MAX || self.hosts.contains_key(name);
        if has_room && self.hosts.get(name) != Some(&host) {
            self.hosts.insert(name.clone(), host);
            self.is_changed = true;
        }
    }

    /// Writes the file if something has changed.
    pub fn keep(&mut self) -> Result<(), Error> {
        let Some(path) = self.path.as_ref().filter(|_| self.is_changed) else { return Ok(()) };
        self.is_changed = false;
        let line = |(name, host): (&HostName, &KnownHost)| match host.address {
            Some(address) => format!("{name} {} {address}\n", host.key.text()),
            None => format!("{name} {}\n", host.key.text()),
        };
        let text: String = self.hosts.iter().map(line).collect();
        write_private("write known hosts", path, &text)
    }
}

fn read_line(line: &str) -> Option<(HostName, KnownHost)> {
    let mut words = line.split_ascii_whitespace();
    let name = HostName::exact(words.next()?)?;
    let key = HostPublic::of_text(words.next()?)?;
    // An address that is none is asked for again.
    let address = words.next().and_then(|address| address.parse().ok());
    Some((name, KnownHost { key, address }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_accepted_is_known_next_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("known");
        let mut known = KnownHosts::open(&path).expect("no file is no error");
        let (web7, web8) = (HostName::new(b"web7"), HostName::new(b"web8"));
        known.put(&web7, HostPublic([7; 32]), Some("[fe80::1%3]:7764".parse().expect("an address")));
        known.put(&web8, HostPublic([8; 32]), None);
        known.keep().expect("written");
        let again = KnownHosts::open(&path).expect("read");
        assert!(again.iter().eq(known.iter()));
        assert_eq!(again.name_of(&HostPublic([7; 32])), Some(&web7));
        assert!(
            again.has_another_key(&web7, &HostPublic([8; 32])) && !again.has_another_key(&web7, &HostPublic([7; 32]))
        );
        assert!(!again.has_another_key(&HostName::new(b"new"), &HostPublic([8; 32])));
        std::fs::write(&path, "web7 nonsense\n").expect("written");
        assert!(KnownHosts::open(&path).is_err(), "a damaged file trusts nobody");
    }
}
