//! Names of users, from `/etc/passwd` (passwd(5)). Users that only a directory service knows are shown by number: asking it
//! may take seconds, and an instrument must not wait for a network.

use super::words::{lines, number, text_of};
use std::collections::BTreeMap;

/// Names by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    names: BTreeMap<u32, String>,
}

impl Accounts {
    /// Reads the file's text; lines that are none are skipped. Of two names for a number the first counts.
    pub fn parse(text: &[u8]) -> Self {
        let mut names = BTreeMap::new();
        for line in lines(text) {
            let mut columns = line.split(|&byte| byte == b':');
            let (Some(name), Some(user)) = (columns.next(), columns.nth(1).and_then(number)) else { continue };
            let Ok(user) = u32::try_from(user) else { continue };
            names.entry(user).or_insert_with(|| text_of(name));
        }
        Self { names }
    }

    /// These, as a recording has them.
    pub fn of(names: BTreeMap<u32, String>) -> Self {
        Self { names }
    }

    /// All of them, for a recording.
    pub fn all(&self) -> BTreeMap<u32, String> {
        self.names.clone()
    }

    /// The name, or the number where there is none.
    pub fn name(&self, user: u32) -> String {
        self.names.get(&user).cloned().unwrap_or_else(|| user.to_string())
    }

    /// The number that `typed` means: a name of the file, or a number.
    pub fn number(&self, typed: &str) -> Option<u32> {
        let named = self.names.iter().filter(|(_, name)| name.as_str() == typed).map(|(user, _)| *user).min();
        named.or_else(|| typed.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_counts_and_unknown_users_are_numbers() {
        let accounts = Accounts::parse(b"root:x:0:0::/:/bin/sh\ntoor:x:0:0::/:/bin/sh\nbad line\nx:y:z\nmysql:x:27:\n");
        assert_eq!(accounts.name(0), "root");
        assert_eq!(accounts.name(27), "mysql");
        assert_eq!(accounts.name(4_294_967_295), "4294967295");
        assert_eq!(
            (accounts.number("mysql"), accounts.number("1000"), accounts.number("no")),
            (Some(27), Some(1000), None)
        );
    }
}
