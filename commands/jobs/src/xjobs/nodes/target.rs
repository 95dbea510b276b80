//! Which engine starts workers, from what was typed.

use super::super::plan::usage;
use cluster::launcher::SshHost;
use mh_kit::failure::{Failure, with_causes};

/// Where workers are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeTarget {
    /// By Slurm, in this partition.
    Slurm(Option<String>),
    /// On these hosts.
    Ssh(Vec<SshHost>),
    /// So many here.
    Local(u32),
    /// By Slurm where that is sooner, else as without `--on`.
    Auto,
}

/// LIMIT: workers on this machine: each is a process with threads.
const LOCAL_MAX: u32 = 256;

impl NodeTarget {
    /// Reads what was typed behind `--on`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (engine, rest) = text.split_once(':').map_or((text, None), |(engine, rest)| (engine, Some(rest)));
        let rest = rest.filter(|rest| !rest.is_empty());
        match (engine, rest) {
            ("slurm", partition) => Ok(Self::Slurm(partition.map(str::to_owned))),
            ("ssh", Some(hosts)) => match SshHost::list(hosts) {
                Ok(hosts) => Ok(Self::Ssh(hosts)),
                Err(fault) => Err(usage(format!("--on ssh:{hosts}: {}", with_causes(&fault)))),
            },
            ("ssh", None) => Err(usage("--on ssh: needs hosts: ssh:HOST,HOST")),
            ("local", Some(count)) => match count.parse() {
                Ok(count) if (1..=LOCAL_MAX).contains(&count) => Ok(Self::Local(count)),
                _ => Err(usage(format!("--on local:{count}: a number from 1 to {LOCAL_MAX} is needed"))),
            },
            ("auto", None) => Ok(Self::Auto),
            _ => Err(usage(format!("--on {text}: slurm, slurm:PARTITION, ssh:HOST,HOST, local:N and auto are known"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_others_refused() {
        let parse = |text| NodeTarget::parse(text).map_err(|failure| format!("{failure:?}"));
        assert_eq!(parse("slurm"), Ok(NodeTarget::Slurm(None)));
        assert_eq!(parse("slurm:long"), Ok(NodeTarget::Slurm(Some("long".to_owned()))));
        assert_eq!(parse("ssh:a,me@b"), Ok(NodeTarget::Ssh(SshHost::list("a,me@b").expect("hosts"))));
        assert_eq!((parse("local:3"), parse("auto")), (Ok(NodeTarget::Local(3)), Ok(NodeTarget::Auto)));
        for bad in ["local", "local:0", "local:x", "ssh", "ssh:", "ssh:-oProxyCommand=x", "pbs", "", "auto:1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
