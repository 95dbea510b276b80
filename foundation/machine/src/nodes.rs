//! Nodes of memory (`/sys/devices/system/node`): how much each has, and how much of it a program may still have.
//! A kernel without NUMA has no such directory, and no node here.

use crate::affinity::numbers_in;
use crate::host::{Host, HostError, parse_number};
use std::path::{Path, PathBuf};

/// Memory near to some CPUs, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NumaNode {
    /// Its number.
    pub number: usize,
    /// CPUs that are near to it; none where it is memory alone.
    pub cpus: Vec<usize>,
    /// All of it.
    pub total_bytes: u64,
    /// Used by nobody.
    pub free_bytes: u64,
    /// Free, or in caches of files that can be dropped.
    pub available_bytes: u64,
}

const DIRECTORY: &str = "/sys/devices/system/node";

/// All nodes that are switched on, by their numbers.
pub fn numa_nodes(host: &Host) -> Result<Vec<NumaNode>, HostError> {
    let path = Path::new(DIRECTORY).join("online");
    let Some(list) = host.read_if_there(&path)? else { return Ok(Vec::new()) };
    numbers_in(&path, "the list of nodes", &list)?.into_iter().map(|number| node(host, number)).collect()
}

/// Free huge pages of `page_bytes` that are reserved on node `number`; none where the kernel has none of that size.
pub fn free_huge_pages(host: &Host, number: usize, page_bytes: u64) -> Result<Option<u64>, HostError> {
    let size = page_bytes >> 10;
    let path = PathBuf::from(format!("{DIRECTORY}/node{number}/hugepages/hugepages-{size}kB/free_hugepages"));
    host.read_if_there(&path)?.map(|text| parse_number(&path, "free huge pages", &text)).transpose()
}

fn node(host: &Host, number: usize) -> Result<NumaNode, HostError> {
    let directory = Path::new(DIRECTORY).join(format!("node{number}"));
    let path = directory.join("meminfo");
    let text = host.read(&path)?;
    let field = |name: &'static str| field_bytes(&path, &text, name)?.ok_or_else(|| HostError::absent(&path, name));
    let (total_bytes, free_bytes) = (field("MemTotal")?, field("MemFree")?);
    let mut available_bytes = free_bytes;
    for name in ["Active(file)", "Inactive(file)"] {
        available_bytes = available_bytes.saturating_add(field_bytes(&path, &text, name)?.unwrap_or(0));
    }
    let list_path = directory.join("cpulist");
    let list = host.read_if_there(&list_path)?.unwrap_or_default();
    let cpus = if list.is_empty() { Vec::new() } else { numbers_in(&list_path, "the list of CPUs", &list)? };
    Ok(NumaNode { number, cpus, total_bytes, free_bytes, available_bytes: available_bytes.min(total_bytes) })
}

/// The value of the line `Node 0 NAME:   123 kB`.
fn field_bytes(path: &Path, text: &str, name: &'static str) -> Result<Option<u64>, HostError> {
    let mut values = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let is_it = words.next()?.strip_suffix(':')? == name;
        is_it.then(|| words.next())?
    });
    let Some(value) = values.next() else { return Ok(None) };
    // LIE: the kernel writes kB and means KiB.
    let bytes = parse_number(path, name, value)?.checked_mul(1024);
    bytes.map(Some).ok_or_else(|| HostError::not_a_number(path, name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn with_node(fake: &FakeHost, number: usize, free_kb: u64, cpus: &str) {
        let directory = format!("{DIRECTORY}/node{number}");
        let lines =
            [("MemTotal", 1000), ("MemFree", free_kb), ("Active", 500), ("Active(file)", 20), ("Inactive(file)", 30)];
        let text: String = lines.iter().map(|(name, kb)| format!("Node {number} {name}:  {kb} kB\n")).collect();
        fake.file(&format!("{directory}/meminfo"), &text);
        fake.file(&format!("{directory}/cpulist"), cpus);
    }

    #[test]
    fn nodes_have_cpus_and_memory_and_caches_count_as_available() {
        let fake = FakeHost::new();
        fake.file("/sys/devices/system/node/online", "0,2\n");
        with_node(&fake, 0, 100, "0-1,4\n");
        with_node(&fake, 2, 990, "\n");
        let nodes = numa_nodes(&fake.host()).expect("good files");
        let expected = NumaNode {
            number: 0,
            cpus: vec![0, 1, 4],
            total_bytes: 1_024_000,
            free_bytes: 102_400,
            available_bytes: 153_600,
        };
        assert_eq!((nodes.len(), &nodes[0]), (2, &expected));
        assert_eq!(
            (nodes[1].number, nodes[1].cpus.len(), nodes[1].available_bytes),
            (2, 0, 1_024_000),
            "never above all"
        );
    }

    #[test]
    fn a_kernel_without_nodes_has_none_and_half_a_node_is_an_error() {
        let fake = FakeHost::new();
        assert_eq!(numa_nodes(&fake.host()).expect("nothing to read"), []);
        fake.file("/sys/devices/system/node/online", "0\n");
        fake.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 5 kB\n");
        let error = numa_nodes(&fake.host()).expect_err("no free memory");
        assert_eq!(error.to_string(), "find MemFree in '/sys/devices/system/node/node0/meminfo'");
        fake.file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: much kB\n");
        assert!(numa_nodes(&fake.host()).is_err());
    }

    #[test]
    fn free_huge_pages_are_counted_by_size() {
        let fake = FakeHost::new();
        fake.file("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "17\n");
        assert_eq!(free_huge_pages(&fake.host(), 1, 2 << 20).expect("a number"), Some(17));
        assert_eq!(free_huge_pages(&fake.host(), 1, 1 << 30).expect("not there"), None);
    }

    #[test]
    fn the_real_host_is_understood() {
        let nodes = numa_nodes(&Host::real()).expect("Linux has nodes or none");
        assert!(nodes.iter().all(|node| node.free_bytes <= node.total_bytes));
    }
}
