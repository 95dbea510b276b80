//! The large mappings of a process: areas that belong together as one, with residency, page sizes, lock, policy and nodes.
//! Reads `/proc/PID/smaps` and `numa_maps` once; a process that changes meanwhile is seen as it was line by line.

use crate::areas::{AreaReader, MemoryArea};
use crate::numa_maps;
use machine::Host;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Mappings that are looked at.
#[derive(Clone, Copy, Debug)]
pub struct MappingChoice {
    /// The smallest, in bytes.
    pub bytes_min: u64,
    /// Whether files that are mapped for reading alone count.
    pub has_files_for_reading: bool,
    /// Whether areas of a mapping that differ in locking or in the advice on huge pages are judged apart, if they are large enough.
    pub is_by_flags: bool,
}

/// One large mapping. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LargeMapping {
    /// Where it begins.
    pub address: u64,
    /// How large it is.
    pub bytes: u64,
    /// The file, or a name in brackets; empty for anonymous memory.
    pub name: String,
    /// Whether other processes see what is written.
    pub is_shared: bool,
    /// In memory and in this process's table of pages.
    pub resident_bytes: u64,
    /// In swap space.
    pub swapped_bytes: u64,
    /// In areas whose pages the kernel may not take.
    pub locked_bytes: u64,
    /// Resident in pages that take one entry of the middle table of pages (2 MiB on x86-64).
    pub huge_bytes: u64,
    /// Size of the pages of its smallest area's kind.
    pub page_bytes: u64,
    /// Policies of its areas; none where the kernel does not tell.
    pub policies: BTreeSet<String>,
    /// Bytes on each node that has any.
    pub nodes: BTreeMap<u32, u64>,
    /// Bytes of areas that are part of the same mapping, have other flags, and are too small to be looked at.
    pub beside_bytes: u64,
    /// `rw-p` and the like.
    #[serde(skip)]
    pub access: String,
    /// The file's number; 0 is no file.
    #[serde(skip)]
    pub inode: u64,
    /// Advice on huge pages, of its first area.
    #[serde(skip)]
    pub wants_huge: Option<bool>,
}

impl LargeMapping {
    /// Not in memory, or not in this process's table of pages.
    pub fn missing_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.resident_bytes)
    }

    fn of(area: MemoryArea) -> Self {
        Self {
            address: area.start,
            bytes: area.bytes(),
            is_shared: area.is_shared(),
            resident_bytes: area.resident_bytes,
            swapped_bytes: area.swapped_bytes,
            locked_bytes: if area.is_locked { area.bytes() } else { 0 },
            huge_bytes: area.huge_bytes,
            page_bytes: area.page_bytes,
            policies: BTreeSet::new(),
            nodes: BTreeMap::new(),
            beside_bytes: 0,
            wants_huge: area.wants_huge,
            inode: area.inode,
            access: area.access,
            name: area.name,
        }
    }

    /// Whether `area` goes on where this ends: locking, policies and advice divide what a program mapped at once.
    fn goes_on_with(&self, area: &MemoryArea) -> bool {
        self.address + self.bytes == area.start
            && self.access == area.access
            && self.inode == area.inode
            && self.name == area.name
            && self.page_bytes == area.page_bytes
    }

    /// Whether `area` is treated as this is. Meant for mappings of areas that all are.
    fn has_flags_of(&self, area: &MemoryArea) -> bool {
        (self.locked_bytes > 0) == area.is_locked && self.wants_huge == area.wants_huge
    }

    fn join(&mut self, more: Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.resident_bytes = self.resident_bytes.saturating_add(more.resident_bytes);
        self.swapped_bytes = self.swapped_bytes.saturating_add(more.swapped_bytes);
        self.locked_bytes = self.locked_bytes.saturating_add(more.locked_bytes);
        self.huge_bytes = self.huge_bytes.saturating_add(more.huge_bytes);
    }

    fn is_chosen(&self, choice: MappingChoice) -> bool {
        let is_only_read = self.inode != 0 && !self.access.contains('w');
        self.bytes >= choice.bytes_min && (choice.has_files_for_reading || !is_only_read)
    }
}

/// What a process has of large mappings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessMappings {
    /// The process.
    pub pid: u32,
    /// Its name, at most 15 bytes of it.
    pub command: String,
    /// By address.
    pub mappings: Vec<LargeMapping>,
}

impl LookError {
    /// Whether the kernel refused for want of rights.
    pub fn is_for_want_of_rights(&self) -> bool {
        matches!(self, Self::Read { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// Why a process could not be looked at. Reads after "could not".
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// There is no such process.
    #[error("find process {pid}")]
    Missing {
        /// Its number.
        pid: u32,
    },
    /// It ended, or it is one of the kernel's own.
    #[error("check process {pid}: it has no memory of its own: it has ended, or is a thread of the kernel")]
    WithoutMemory {
        /// Its number.
        pid: u32,
    },
    /// The kernel refused.
    #[error("read '{}'", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// Looks at process `pid`.
pub fn look(host: &Host, pid: u32, choice: MappingChoice) -> Result<ProcessMappings, LookError> {
    let path = PathBuf::from(format!("/proc/{pid}/smaps"));
    let failed = |cause: io::Error| match cause.raw_os_error() {
        Some(NO_SUCH_FILE) => LookError::Missing { pid },
        Some(NO_SUCH_PROCESS) => LookError::WithoutMemory { pid },
        _ => LookError::Read { path: path.clone(), cause },
    };
    let file = File::open(host.locate(&path)).map_err(failed)?;
    let (mut mappings, has_areas) = large_mappings(BufReader::new(file), choice).map_err(failed)?;
    if !has_areas {
        return Err(LookError::WithoutMemory { pid });
    }
    let path = PathBuf::from(format!("/proc/{pid}/numa_maps"));
    match place(host, &path, &mut mappings) {
        // A kernel without NUMA has no such file.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(LookError::Read { path, cause }),
        Ok(()) => {}
    }
    let command = machine::process_name(host, pid).ok().flatten().unwrap_or_default();
    Ok(ProcessMappings { pid, command, mappings })
}

const NO_SUCH_FILE: i32 = 2;
const NO_SUCH_PROCESS: i32 = 3;

/// The chosen mappings of a text of smaps, and whether it has any areas at all.
pub fn large_mappings(smaps: impl BufRead, choice: MappingChoice) -> io::Result<(Vec<LargeMapping>, bool)> {
    let (mut mappings, mut has_areas) = (Vec::new(), false);
    let mut under_way: Option<MappingParts> = None;
    for area in AreaReader::new(smaps) {
        let area = area?;
        has_areas = true;
        match &mut under_way {
            Some(parts) if parts.whole.goes_on_with(&area) => parts.join(area, choice),
            _ => {
                mappings.extend(under_way.take().into_iter().flat_map(|parts| parts.chosen(choice)));
                under_way = area.is_accessible().then(|| MappingParts::of(area));
            }
        }
    }
    mappings.extend(under_way.into_iter().flat_map(|parts| parts.chosen(choice)));
    Ok((mappings, has_areas))
}

/// A mapping while its areas are read: as a whole, and in parts of the same flags. A program's pool and what lies beside it by chance
/// are one mapping to `goes_on_with`, but only the pool is locked.
struct MappingParts {
    whole: LargeMapping,
    part: LargeMapping,
    large: Vec<LargeMapping>,
}

impl MappingParts {
    fn of(area: MemoryArea) -> Self {
        let part = LargeMapping::of(area);
        Self { whole: part.clone(), part, large: Vec::new() }
    }

    fn join(&mut self, area: MemoryArea, choice: MappingChoice) {
        let has_same_flags = self.part.has_flags_of(&area);
        let more = LargeMapping::of(area);
        self.whole.join(more.clone());
        if has_same_flags {
            self.part.join(more);
        } else {
            let ended = std::mem::replace(&mut self.part, more);
            self.large.extend(Some(ended).filter(|part| choice.is_by_flags && part.is_chosen(choice)));
        }
    }

    /// Its large parts, or all of it if no part is large enough by itself.
    fn chosen(self, choice: MappingChoice) -> Vec<LargeMapping> {
        let Self { whole, part, mut large } = self;
        large.extend(Some(part).filter(|part| choice.is_by_flags && part.is_chosen(choice)));
        let chosen_bytes = large.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
        match large.first_mut() {
            Some(first) => first.beside_bytes = whole.bytes.saturating_sub(chosen_bytes),
            None => large.extend(Some(whole).filter(|whole| whole.is_chosen(choice))),
        }
        large
    }
}

fn place(host: &Host, path: &Path, mappings: &mut [LargeMapping]) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(host.locate(path))?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some(placed) = numa_maps::parse_line(&String::from_utf8_lossy(&line)) {
            note_placement(mappings, placed);
        }
        line.clear();
    }
    Ok(())
}

/// Puts what numa_maps says of an area to the mapping that the area is part of.
pub fn note_placement(mappings: &mut [LargeMapping], placed: numa_maps::AreaPlacement) {
    let behind = mappings.partition_point(|mapping| mapping.address <= placed.start);
    let Some(mapping) = behind.checked_sub(1).and_then(|at| mappings.get_mut(at)) else { return };
    // Text that is not the kernel's need not be in order.
    if placed.start.checked_sub(mapping.address).is_none_or(|offset| offset >= mapping.bytes) {
        return;
    }
    mapping.policies.insert(placed.policy);
    for (node, bytes) in placed.nodes {
        let sum = mapping.nodes.entry(node).or_default();
        *sum = sum.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::fake_machine::FakeMachine;

    const ANY: MappingChoice = MappingChoice { bytes_min: 0x3000, has_files_for_reading: false, is_by_flags: false };
    const BY_FLAGS: MappingChoice = MappingChoice { is_by_flags: true, ..ANY };

    fn area(start: u64, end: u64, what: &str, resident_kb: u64, flags: &str) -> String {
        format!("{start:x}-{end:x} {what}\nKernelPageSize: 4 kB\nRss: {resident_kb} kB\nVmFlags: rd wr {flags}\n")
    }

    fn chosen(text: &str, choice: MappingChoice) -> Vec<LargeMapping> {
        large_mappings(text.as_bytes(), choice).expect("memory can be read").0
    }

    #[test]
    fn areas_that_locking_divided_are_one_mapping() {
        let what = "rw-p 0 0 0 ";
        let text = area(0x1000, 0x3000, what, 8, "lo") + &area(0x3000, 0x5000, what, 4, "");
        let mappings = chosen(&text, ANY);
        assert_eq!(mappings.len(), 1);
        let mapping = &mappings[0];
        assert_eq!((mapping.bytes, mapping.resident_bytes, mapping.locked_bytes), (0x4000, 12 << 10, 0x2000));
        assert_eq!(mapping.missing_bytes(), 4 << 10);
    }

    #[test]
    fn a_large_area_is_not_judged_by_neighbours_with_other_flags() {
        let what = "rw-p 0 0 0 ";
        let text = area(0x1000, 0x9000, what, 32, "lo") + &area(0x9000, 0xb000, what, 0, "");
        let mappings = chosen(&text, BY_FLAGS);
        assert_eq!(mappings.len(), 1);
        assert_eq!((mappings[0].bytes, mappings[0].missing_bytes(), mappings[0].locked_bytes), (0x8000, 0, 0x8000));
        assert_eq!(mappings[0].beside_bytes, 0x2000);
        // Two areas of the same flags are one, whatever policy divides them.
        let text = text + &area(0xb000, 0xf000, what, 16, "") + &area(0xf000, 0x12000, what, 12, "hg");
        let found: Vec<_> =
            chosen(&text, BY_FLAGS).iter().map(|one| (one.address, one.bytes, one.beside_bytes)).collect();
        assert_eq!(found, [(0x1000, 0x8000, 0), (0x9000, 0x6000, 0), (0xf000, 0x3000, 0)]);
    }

    /// Nothing large escapes the proof because locking has cut it into small areas.
    #[test]
    fn areas_that_are_all_too_small_are_judged_together() {
        let what = "rw-p 0 0 0 ";
        let text = area(0x1000, 0x3000, what, 8, "lo") + &area(0x3000, 0x5000, what, 4, "");
        assert_eq!(chosen(&text, BY_FLAGS), chosen(&text, ANY));
        assert_eq!(chosen(&text, BY_FLAGS).len(), 1);
    }

    #[test]
    fn a_gap_another_file_or_other_rights_divide() {
        let text = area(0x1000, 0x3000, "rw-p 0 0 0 ", 8, "")
            + &area(0x4000, 0x6000, "rw-p 0 0 0 ", 8, "")
            + &area(0x6000, 0x8000, "rw-s 0 0 5 /a", 8, "")
            + &area(0x8000, 0xa000, "rw-s 0 0 6 /b", 8, "")
            + &area(0xa000, 0xc000, "r--s 0 0 6 /b", 8, "");
        assert_eq!(chosen(&text, ANY), [], "each is smaller than asked for");
        assert_eq!(chosen(&text, MappingChoice { bytes_min: 0x2000, has_files_for_reading: true, ..ANY }).len(), 5);
    }

    #[test]
    fn reserved_room_never_counts_and_files_for_reading_when_asked() {
        let text = area(0x1000, 0x9000, "---p 0 0 0 ", 0, "") + &area(0x9000, 0xf000, "r--p 0 0 7 /locale", 4, "");
        assert_eq!(chosen(&text, ANY), []);
        let all = chosen(&text, MappingChoice { has_files_for_reading: true, ..ANY });
        assert_eq!(all.iter().map(|mapping| mapping.name.as_str()).collect::<Vec<_>>(), ["/locale"]);
    }

    fn machine_with(pid: u32, smaps: &str, numa_maps: &str) -> FakeMachine {
        let machine = FakeMachine::new(2, 1 << 30);
        machine.file(&format!("proc/{pid}/smaps"), smaps);
        machine.file(&format!("proc/{pid}/numa_maps"), numa_maps);
        machine.file(&format!("proc/{pid}/comm"), "postgres\n");
        machine
    }

    #[test]
    fn pages_and_policies_come_to_the_mapping_of_their_area() {
        let smaps = area(0x1000, 0x5000, "rw-p 0 0 0 ", 16, "") + &area(0x5000, 0x9000, "rw-p 0 0 0 ", 16, "lo");
        let lines = "0500 default N0=9\n1000 bind:0 anon=4 N0=4 kernelpagesize_kB=4\n\
            5000 interleave:0-1 anon=4 N0=2 N1=2 kernelpagesize_kB=4\n9000 default N1=7\n";
        let machine = machine_with(7, &smaps, lines);
        let found = look(&Host::rooted_at(machine.root()), 7, ANY).expect("it can be read");
        assert_eq!((found.command.as_str(), found.mappings.len()), ("postgres", 1));
        let mapping = &found.mappings[0];
        assert_eq!(mapping.nodes, BTreeMap::from([(0, 24 << 10), (1, 8 << 10)]));
        assert_eq!(mapping.policies.iter().map(String::as_str).collect::<Vec<_>>(), ["bind:0", "interleave:0-1"]);
    }

    #[test]
    fn who_is_not_there_and_who_has_no_memory_are_told_apart() {
        let machine = machine_with(7, "", "");
        let host = Host::rooted_at(machine.root());
        let text = |pid| look(&host, pid, ANY).expect_err("nothing to see").to_string();
        assert_eq!(text(8), "find process 8");
        assert!(text(7).starts_with("check process 7: it has no memory of its own"), "{}", text(7));
    }

    /// vm.max_map_count is 65,530 unless somebody raised it.
    #[test]
    fn a_map_of_many_areas_becomes_one_mapping_in_little_memory() {
        let areas: String = (0..32_000_u64)
            .map(|at| area(0x10000 + at * 0x1000, 0x11000 + at * 0x1000, "rw-p 0 0 0 ", 4, ""))
            .collect();
        let (mappings, has_areas) = large_mappings(areas.as_bytes(), ANY).expect("memory can be read");
        assert!(has_areas);
        assert_eq!(mappings.iter().map(|mapping| mapping.bytes).collect::<Vec<_>>(), [32_000 * 0x1000]);
    }

    #[test]
    fn this_process_is_understood() {
        let choice = MappingChoice { bytes_min: 4096, has_files_for_reading: true, ..ANY };
        let found = look(&Host::real(), std::process::id(), choice).expect("one may look at oneself");
        assert!(found.mappings.iter().any(|mapping| mapping.resident_bytes > 0 && mapping.page_bytes == 4096));
        assert!(found.mappings.iter().all(|mapping| mapping.resident_bytes <= mapping.bytes), "{found:?}");
    }
}
