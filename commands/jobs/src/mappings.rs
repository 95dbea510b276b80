//! What `mh vmtasks check` and `mh numa check` have in common: which processes and mappings, how they are read, and how a mapping is shown.

use clap::Args;
use machine::NumaNode;
use memory::look::{LargeMapping, LookError, MappingChoice, ProcessMappings, look};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use mh_kit::instrument::look::{LookArgs, TextLook};
use mh_kit::shared_args::parse_size;
use serde::Serialize;
use std::collections::BTreeMap;

/// Which processes and mappings, as typed, and how the result is written.
#[derive(Args, Debug)]
pub struct MappingArgs {
    /// Processes to check
    #[arg(required = true, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pids: Vec<u32>,

    /// Smallest mapping to check
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_size)]
    min_size: u64,

    /// Check files that are mapped for reading, too
    #[arg(long)]
    all: bool,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    look: LookArgs,
}

impl MappingArgs {
    fn choice(&self, is_by_flags: bool) -> MappingChoice {
        MappingChoice { bytes_min: self.min_size.max(1), has_files_for_reading: self.all, is_by_flags }
    }

    /// How text looks.
    pub fn text_look(&self) -> TextLook {
        self.look.look()
    }

    /// `mapping of 67.1 MB or more`.
    pub fn sought(&self) -> String {
        format!("mapping of {} or more", terminal::bytes(self.min_size))
    }

    /// Looks at each process; those that cannot be looked at are reported. `is_by_flags`: locked and unlocked areas are apart.
    pub fn look_at_all(&self, context: &Context, name: &'static str, is_by_flags: bool) -> LookedAt {
        let mut looked_at = LookedAt { processes: Vec::new(), failures: 0 };
        for (at, &pid) in self.pids.iter().enumerate() {
            // Typed twice, it is one process all the same.
            if self.pids[..at].contains(&pid) {
                continue;
            }
            match look(&context.host, pid, self.choice(is_by_flags)) {
                Ok(process) => looked_at.processes.push(process),
                Err(error) => {
                    looked_at.failures += 1;
                    context.messages.error(name, &with_causes(&error), &hints(&error));
                }
            }
        }
        looked_at
    }
}

/// What could be looked at.
pub struct LookedAt {
    /// In the order of the command line.
    pub processes: Vec<ProcessMappings>,
    /// Processes that could not.
    pub failures: usize,
}

fn hints(error: &LookError) -> Vec<String> {
    let hint = "root and the user of a process may read its memory map";
    if error.is_for_want_of_rights() { vec![hint.to_owned()] } else { Vec::new() }
}

/// `postgres (4711)`.
pub fn process_label(process: &ProcessMappings) -> String {
    format!("{} ({})", terminal::printable(&process.command), process.pid)
}

/// `7f12a4000000`.
pub fn address(mapping: &LargeMapping) -> String {
    format!("{:x}", mapping.address)
}

/// The file, or the name in brackets.
pub fn mapping_label(mapping: &LargeMapping) -> String {
    match (mapping.name.as_str(), mapping.is_shared) {
        ("", _) => "anonymous".to_owned(),
        // LIE: the kernel gives anonymous memory that is shared the name of a file that it never had.
        ("/dev/zero (deleted)", true) => "anonymous, shared".to_owned(),
        (name, _) => terminal::printable(name).into_owned(),
    }
}

/// A share that is 100 % only where nothing is missing: `99.9 %` is rounded down.
pub fn share_label(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100 %".to_owned();
    }
    let thousandths = u128::from(part) * 1000 / u128::from(whole);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// Size of the pages: `4 KiB`, `2 MiB`, or how much of what is resident is in huge ones: `63 % 2 MiB`.
pub fn pages_label(mapping: &LargeMapping) -> String {
    if mapping.huge_bytes == 0 || mapping.page_bytes >= HUGE_BYTES {
        return page_label(mapping.page_bytes);
    }
    if mapping.huge_bytes >= mapping.resident_bytes {
        return page_label(HUGE_BYTES);
    }
    let share = mapping.huge_bytes as f64 / mapping.resident_bytes as f64;
    format!("{} {}", terminal::percentage_whole(share), page_label(HUGE_BYTES))
}

/// What one entry of the middle table of pages leads to on x86-64, and elsewhere with pages of 4 KiB.
pub const HUGE_BYTES: u64 = 2 << 20;

/// `4 KiB`: everybody names pages by powers of two.
pub fn page_label(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size));
    unit.map_or_else(|| format!("{bytes} B"), |(size, unit)| format!("{} {unit}", bytes / size))
}

/// `0: 6.44 GB, 1: 2.15 GB`; `-` where the kernel does not tell.
pub fn nodes_label(nodes: &BTreeMap<u32, u64>) -> String {
    let labels: Vec<String> =
        nodes.iter().map(|(node, &bytes)| format!("{node}: {}", terminal::bytes(bytes))).collect();
    if labels.is_empty() { "-".to_owned() } else { labels.join(", ") }
}

/// Nodes of the host, for JSON.
#[derive(Serialize)]
pub struct NodeRow {
    number: usize,
    total_bytes: u64,
    free_bytes: u64,
    available_bytes: u64,
    cpus: usize,
}

impl From<&NumaNode> for NodeRow {
    fn from(node: &NumaNode) -> Self {
        let (total_bytes, free_bytes, available_bytes) = (node.total_bytes, node.free_bytes, node.available_bytes);
        Self { number: node.number, total_bytes, free_bytes, available_bytes, cpus: node.cpus.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_whole_only_where_nothing_is_missing() {
        assert_eq!((share_label(10, 10), share_label(0, 10)), ("100 %".to_owned(), "0.0 %".to_owned()));
        assert_eq!(share_label((1 << 40) - 4096, 1 << 40), "99.9 %");
        assert_eq!(share_label(0, 0), "100 %");
    }

    #[test]
    fn pages_are_named_by_powers_of_two() {
        let label = |page_bytes, huge_bytes, resident_bytes| {
            pages_label(&LargeMapping { page_bytes, huge_bytes, resident_bytes, ..LargeMapping::default() })
        };
        assert_eq!(label(4096, 0, 1 << 30), "4 KiB");
        assert_eq!(label(4096, 1 << 30, 1 << 30), "2 MiB");
        assert_eq!(label(4096, 3 << 28, 1 << 30), "75 % 2 MiB");
        assert_eq!((label(1 << 30, 0, 1 << 30), page_label(65536)), ("1 GiB".to_owned(), "64 KiB".to_owned()));
        assert_eq!(page_label(1000), "1000 B");
    }

    #[test]
    fn mappings_and_nodes_have_names() {
        let named = |name: &str, is_shared| {
            mapping_label(&LargeMapping { name: name.to_owned(), is_shared, ..LargeMapping::default() })
        };
        assert_eq!(named("", false), "anonymous");
        assert_eq!(named("/dev/zero (deleted)", true), "anonymous, shared");
        assert_eq!(named("[heap]", false), "[heap]");
        assert_eq!(nodes_label(&BTreeMap::from([(0, 5), (3, 7)])), "0: 5 B, 3: 7 B");
        assert_eq!(nodes_label(&BTreeMap::new()), "-");
    }
}
