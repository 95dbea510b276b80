//! Databases and their files: `mh innodb`, `mh db`.

mod db;
mod innodb;

pub use db::ENTRY as DB;
pub use innodb::ENTRY as INNODB;
