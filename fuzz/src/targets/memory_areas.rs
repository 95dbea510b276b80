//! Any bytes as `smaps`, and each line of them as one of `numa_maps`: no mapping is smaller than asked for or ends before it begins, and none has
//! less than nothing missing.

use memory::look::{MappingChoice, large_mappings, note_placement};
use memory::numa_maps::parse_line;

/// Runs one input.
pub fn run(input: &[u8]) {
    for (bytes_min, has_files_for_reading) in [(1, true), (64 << 20, false)] {
        let choice = MappingChoice { bytes_min, has_files_for_reading, is_by_flags: has_files_for_reading };
        let (mut mappings, has_areas) = large_mappings(input, choice).expect("memory can be read");
        assert!(has_areas || mappings.is_empty());
        for placed in String::from_utf8_lossy(input).lines().filter_map(parse_line) {
            assert!(!placed.policy.contains('\n'));
            note_placement(&mut mappings, placed);
        }
        for mapping in &mappings {
            assert!(mapping.bytes >= bytes_min && mapping.missing_bytes() <= mapping.bytes, "{mapping:?}");
            assert!(mapping.address.checked_add(mapping.bytes).is_some(), "{mapping:?}");
        }
    }
}

/// This process's own, and lines that few processes have.
pub fn seeds() -> Vec<Vec<u8>> {
    let own = ["/proc/self/smaps", "/proc/self/numa_maps"].into_iter().filter_map(|path| std::fs::read(path).ok());
    let written = [
        "7f0000000000-7f0040000000 rw-s 00000000 00:01 4711    /dev/zero (deleted)\nKernelPageSize: 4 kB\nRss: 524288 kB\n\
         ShmemPmdMapped: 2048 kB\nSwap: 8 kB\nVmFlags: rd wr sh lo\n7f0040000000-7f0080000000 rw-s 0 0 4711 /dev/zero (deleted)\n\
         KernelPageSize: 4 kB\nPrivate_Hugetlb: 4096 kB\n",
        "7f0000000000 weighted interleave=static:0-1 file=/a\\040b huge dirty=6 N0=4 N1=2 kernelpagesize_kB=2048\n\
         ffffffffffffffff prefer (many):0 N0=18446744073709551615 kernelpagesize_kB=18446744073709551615\n",
        "0-ffffffffffffffff rw-p 0 0 0\nRss: 18446744073709551615 kB\n1000-2000 ---p 0 0 0\n",
    ];
    own.chain(written.into_iter().map(|text| text.as_bytes().to_vec())).collect()
}
