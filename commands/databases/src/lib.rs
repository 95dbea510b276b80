//! Databases and their files: `mh innodb`.

mod innodb;

pub use innodb::ENTRY as INNODB;
