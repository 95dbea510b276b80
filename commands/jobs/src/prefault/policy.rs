//! Memory policies as typed, and as mbind(2) has them.

use machine::Host;
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

/// What is typed: `interleave`, `bind=0,1`, `preferred=1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRequest {
    pub policy: MemoryPolicy,
    /// A bit for each node; 0 for all that have memory.
    pub nodes: u64,
}

/// Policies (set_mempolicy(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// On the node of the thread that touches a page first.
    Local,
    /// Page by page over the nodes.
    Interleave,
    /// The same by each node's weight (Linux 6.9).
    WeightedInterleave,
    /// On these nodes only.
    Bind,
    /// On this node while it has room.
    Preferred,
}

impl MemoryPolicy {
    const ALL: [(Self, &str, u64); 5] = [
        (Self::Local, "local", 4),
        (Self::Interleave, "interleave", 3),
        (Self::WeightedInterleave, "weighted-interleave", 6),
        (Self::Bind, "bind", 2),
        (Self::Preferred, "preferred", 1),
    ];

    /// As the kernel numbers it.
    pub fn number(self) -> u64 {
        Self::ALL.iter().find(|(policy, _, _)| *policy == self).map_or(0, |(_, _, number)| *number)
    }

    /// By that number.
    pub fn name_of(number: u64) -> &'static str {
        Self::ALL.iter().find(|(_, _, other)| *other == number).map_or("unknown", |(_, name, _)| name)
    }
}

impl FromStr for PolicyRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, nodes) = text.split_once('=').map_or((text, None), |(name, nodes)| (name, Some(nodes)));
        let names = || MemoryPolicy::ALL.map(|(_, name, _)| name).join(", ");
        let (policy, _, _) = MemoryPolicy::ALL
            .into_iter()
            .find(|(_, known, _)| *known == name)
            .ok_or_else(|| format!("a policy is one of {}, with =NODES behind it", names()))?;
        let nodes = nodes.map(parse_nodes).transpose()?.unwrap_or(0);
        match policy {
            MemoryPolicy::Local if nodes != 0 => Err("local has no nodes: it is where the thread is".to_owned()),
            MemoryPolicy::Preferred if nodes.count_ones() != 1 => {
                Err("preferred needs one node: preferred=0".to_owned())
            }
            MemoryPolicy::Bind if nodes == 0 => Err("bind needs nodes: bind=0,1".to_owned()),
            _ => Ok(Self { policy, nodes }),
        }
    }
}

/// LIMIT: nodes 0 to 63; the largest machines sold have 32.
const NODES_MAX: usize = 64;

fn parse_nodes(text: &str) -> Result<u64, String> {
    let number = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|&number| number < u64::BITS);
        number.ok_or_else(|| format!("'{word}' is no node: nodes are numbers from 0 to 63, as in 0,2-3"))
    };
    text.split(',').try_fold(0, |nodes, word| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("'{word}' is no range of nodes"));
        }
        Ok(nodes | (first..=last).fold(0, |nodes, node| nodes | 1 << node))
    })
}

fn counted_nodes(nodes: u64) -> String {
    let noun = if nodes.count_ones() == 1 { "node" } else { "nodes" };
    format!("{noun} {}", in_words(nodes))
}

/// Nodes as typed.
pub fn in_words(nodes: u64) -> String {
    let mut words = String::new();
    let is_one = |node: u32| node < u64::BITS && nodes >> node & 1 == 1;
    for first in (0..u64::BITS).filter(|&node| is_one(node) && (node == 0 || !is_one(node - 1))) {
        let last = (first..u64::BITS).take_while(|&node| is_one(node)).last().unwrap_or(first);
        let comma = if words.is_empty() { "" } else { "," };
        let _to_memory = match last - first {
            0 => write!(words, "{comma}{first}"),
            _ => write!(words, "{comma}{first}-{last}"),
        };
    }
    words
}

/// A policy for people: `interleave over nodes 0,1`.
pub fn described(request: Option<PolicyRequest>) -> String {
    let Some(PolicyRequest { policy, nodes }) = request else { return "as the process has it".to_owned() };
    let name = MemoryPolicy::name_of(policy.number());
    match nodes.count_ones() {
        0 => name.to_owned(),
        1 => format!("{name}, node {}", in_words(nodes)),
        _ => format!("{name}, nodes {}", in_words(nodes)),
    }
}

/// The nodes of this machine that have memory; node 0 alone where the kernel knows no nodes.
pub fn nodes_with_memory(host: &Host) -> u64 {
    let nodes = machine::numa_nodes(host).unwrap_or_default();
    let has_memory = nodes.iter().filter(|node| node.total_bytes > 0 && node.number < NODES_MAX);
    has_memory.fold(0, |mask, node| mask | 1 << node.number).max(1)
}

impl PolicyRequest {
    /// With its nodes, on this machine; an error where the kernel or the machine has not what it asks for.
    pub fn resolve(self, host: &Host) -> Result<Self, String> {
        let there = nodes_with_memory(host);
        if self.nodes & !there != 0 {
            return Err(format!(
                "no memory on {} here; nodes with memory: {}",
                counted_nodes(self.nodes & !there),
                in_words(there)
            ));
        }
        let weights = Path::new("/sys/kernel/mm/mempolicy/weighted_interleave");
        if self.policy == MemoryPolicy::WeightedInterleave && !host.locate(weights).is_dir() {
            return Err("this kernel has no weighted interleave (Linux 6.9 has)".to_owned());
        }
        let nodes = if self.policy == MemoryPolicy::Local || self.nodes != 0 { self.nodes } else { there };
        Ok(Self { nodes, ..self })
    }
}

/// Gives a fake machine nodes with memory.
#[cfg(test)]
pub fn with_nodes(fake: &testkit::fake_machine::FakeMachine, count: usize) {
    fake.file("/sys/devices/system/node/online", &format!("0-{}\n", count - 1));
    for node in 0..count {
        let directory = format!("/sys/devices/system/node/node{node}");
        let text = format!("Node {node} MemTotal: 1000 kB\nNode {node} MemFree: 500 kB\n");
        fake.file(&format!("{directory}/meminfo"), &text);
        fake.file(&format!("{directory}/cpulist"), &format!("{}-{},{}\n", node * 2, node * 2 + 1, node + 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::fake_machine::FakeMachine;

    #[test]
    fn policies_are_read_as_typed() {
        let read = |text: &str| text.parse::<PolicyRequest>();
        assert_eq!(read("interleave"), Ok(PolicyRequest { policy: MemoryPolicy::Interleave, nodes: 0 }));
        assert_eq!(read("bind=0,2-3"), Ok(PolicyRequest { policy: MemoryPolicy::Bind, nodes: 0b1101 }));
        assert_eq!(read("preferred=63").map(|request| request.nodes), Ok(1 << 63));
        for bad in
            ["", "near", "bind", "preferred", "preferred=0,1", "local=0", "bind=64", "bind=3-1", "bind=", "bind=-1"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!((in_words(0b1101), in_words(0)), ("0,2-3".to_owned(), String::new()));
    }

    #[test]
    fn nodes_are_those_of_the_machine() {
        let fake = FakeMachine::new(4, 1 << 30);
        with_nodes(&fake, 2);
        let read = |text: &str| text.parse::<PolicyRequest>().expect("good").resolve(&Host::rooted_at(fake.root()));
        assert_eq!(read("interleave").map(|request| request.nodes), Ok(0b11));
        assert_eq!(read("local").map(|request| request.nodes), Ok(0));
        assert!(read("bind=2").is_err_and(|words| words.contains("no memory on node 2")));
        assert!(read("weighted-interleave").is_err());
        fake.file("/sys/kernel/mm/mempolicy/weighted_interleave/node0", "1\n");
        assert!(read("weighted-interleave").is_ok());
    }
}
