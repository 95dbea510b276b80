//! Instruments: what processes, threads and CPUs did, and what fits beside them.
//! Here is what they share: a feed of samples, live or recorded, and how processes and shares are named.

mod ceiling;
mod feed;
mod fit;
mod pstime;
mod shares;
mod sysstat;
mod systime;
mod targets;

pub use ceiling::ENTRY as CEILING;
pub use fit::ENTRY as FIT;
pub use pstime::ENTRY as PSTIME;
pub use sysstat::ENTRY as SYSSTAT;
pub use systime::ENTRY as SYSTIME;

use clap::builder::{OsStringValueParser, TypedValueParser};
use observe::source::accounts::Accounts;
use observe::source::words::text_of;
use std::os::unix::ffi::OsStrExt;

/// Names of this host's users; numbers where they cannot be read.
pub fn accounts() -> Accounts {
    std::fs::read("/etc/passwd").map(|text| Accounts::parse(&text)).unwrap_or_default()
}

/// Names of processes as they are typed: any bytes, and what is no text becomes what samples make of it.
pub fn name_parser() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|typed| text_of(typed.as_bytes()))
}
