//! InnoDB tablespaces of MariaDB and MySQL: whether every page is what the server wrote, checked on every core without the server's lock.
//! Repairs nothing and decrypts nothing.
//!
//! Mute: outcomes are values. Theory: `engines/innodb/README.md`.

pub mod census;
pub mod check;
pub mod checksum;
pub mod crc32c;
pub mod datadir;
mod detect;
pub mod dump;
mod inside;
pub mod judge;
pub mod layout;
pub mod outcome;
pub mod page;
mod recheck;
pub mod tablespace;
#[cfg(test)]
mod test_pages;
