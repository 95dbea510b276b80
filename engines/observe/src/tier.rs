//! Which rights produced a number. Every output names its tier, so that two outputs are never compared unawares.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The rights that a number needed, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// None: clocks of other processes and the files of `/proc`.
    NoRights,
    /// `CAP_NET_ADMIN`: the kernel's accounting of tasks as they end, besides.
    Taskstats,
    /// `CAP_BPF` and `CAP_PERFMON`: programs of ours inside the kernel.
    Bpf,
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoRights => "no rights",
            Self::Taskstats => "taskstats",
            Self::Bpf => "BPF",
        })
    }
}
