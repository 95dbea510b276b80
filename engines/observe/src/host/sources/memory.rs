//! `/proc/meminfo`, `/proc/vmstat` (proc(5)) and ZFS's `/proc/spl/kstat/zfs/arcstats`.

use crate::host::fields::*;
use crate::host::values::{Values, WHOLE};
use crate::source::words::{lines, number, words};

/// Lines of `/proc/meminfo`, in KiB.
const MEMINFO: &[(&[u8], FieldId)] = &[
    (b"MemTotal:", MEM_TOTAL),
    (b"MemFree:", MEM_FREE),
    (b"Buffers:", MEM_BUFFERS),
    (b"Cached:", MEM_CACHED),
    (b"SwapTotal:", SWAP_TOTAL),
    (b"SwapFree:", SWAP_FREE),
    (b"Dirty:", MEM_DIRTY),
    (b"Writeback:", MEM_WRITEBACK),
    (b"AnonPages:", MEM_APP),
    (b"Shmem:", MEM_SHARED),
    (b"SReclaimable:", MEM_SLAB_CACHE),
    (b"SUnreclaim:", MEM_SLAB),
    (b"PageTables:", MEM_TABLES),
    (b"Committed_AS:", MEM_COMMITTED),
    (b"AnonHugePages:", MEM_HUGE_APP),
    (b"Hugetlb:", HUGE_TOTAL),
];

/// `/proc/meminfo`; `arc` is ZFS's cache and its minimum, where there is one.
pub fn meminfo(text: &[u8], arc: Option<(u64, u64)>, values: &mut Values) {
    let (mut huge_free, mut huge_size) = (None, None);
    for line in lines(text) {
        let mut columns = words(line);
        let (Some(name), Some(value)) = (columns.next(), columns.next().and_then(number)) else { continue };
        let bytes = value.saturating_mul(1024);
        match name {
            // What ZFS gives up if asked is free to have, and the kernel does not know it.
            b"MemAvailable:" => {
                let more = arc.map_or(0, |(size, least)| size.saturating_sub(least));
                values.push(MEM_AVAILABLE, WHOLE, bytes.saturating_add(more));
            }
            b"HugePages_Free:" => huge_free = Some(value),
            b"Hugepagesize:" => huge_size = Some(bytes),
            name => {
                let field = MEMINFO.iter().find(|(known, _)| *known == name);
                field.into_iter().for_each(|(_, field)| values.push(*field, WHOLE, bytes));
            }
        }
    }
    if let Some((free, size)) = huge_free.zip(huge_size) {
        values.push(HUGE_FREE, WHOLE, free.saturating_mul(size));
    }
    if let Some((size, least)) = arc {
        values.push(MEM_ARC, WHOLE, size);
        values.push(MEM_ARC_LEAST, WHOLE, least);
    }
}

/// ZFS's cache and its minimum, in bytes: lines of name, type, value.
pub fn arc(text: &[u8]) -> Option<(u64, u64)> {
    let value = |wanted: &[u8]| {
        lines(text).find_map(|line| {
            let mut columns = words(line);
            (columns.next()? == wanted).then(|| columns.nth(1).and_then(number)).flatten()
        })
    };
    Some((value(b"size")?, value(b"c_min")?))
}

/// `/proc/vmstat`. Pages have `page_bytes`.
pub fn vmstat(text: &[u8], page_bytes: u64, values: &mut Values) {
    let (mut scanned, mut stalls) = (None::<u64>, None::<u64>);
    let add = |sum: &mut Option<u64>, value: u64| *sum = Some(sum.unwrap_or(0).saturating_add(value));
    for line in lines(text) {
        let mut columns = words(line);
        let (Some(name), Some(value)) = (columns.next(), columns.next().and_then(number)) else { continue };
        match name {
            // LIE: "pages" that are KiB.
            b"pgpgin" => values.push(PAGED_IN, WHOLE, value.saturating_mul(1024)),
            b"pgpgout" => values.push(PAGED_OUT, WHOLE, value.saturating_mul(1024)),
            b"pswpin" => values.push(SWAPPED_IN, WHOLE, value.saturating_mul(page_bytes)),
            b"pswpout" => values.push(SWAPPED_OUT, WHOLE, value.saturating_mul(page_bytes)),
            b"pgfault" => values.push(FAULTS, WHOLE, value),
            b"pgmajfault" => values.push(FAULTS_MAJOR, WHOLE, value),
            b"oom_kill" => values.push(OOM_KILLS, WHOLE, value),
            b"pgscan_kswapd" | b"pgscan_direct" => add(&mut scanned, value),
            name if name.starts_with(b"allocstall") => add(&mut stalls, value),
            _ => {}
        }
    }
    scanned.into_iter().for_each(|pages| values.push(SCANNED, WHOLE, pages));
    stalls.into_iter().for_each(|times| values.push(STALLS, WHOLE, times));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_bytes_and_what_zfs_gives_up_is_available() {
        let text =
            b"MemTotal: 100 kB\nMemAvailable: 10 kB\nHugePages_Free: 3\nHugepagesize: 2048 kB\nOdd\nShmem: x kB\n";
        let mut values = Values::default();
        let zfs = arc(b"13 1 0x01\nname type data\nsize 4 5000\nc_min 4 1000\n");
        assert_eq!((zfs, arc(b"size 4 5000\n")), (Some((5000, 1000)), None));
        meminfo(text, zfs, &mut values);
        values.sort();
        let found = [MEM_TOTAL, MEM_AVAILABLE, HUGE_FREE, MEM_ARC, MEM_SHARED].map(|field| values.get(field));
        assert_eq!(found, [Some(102_400), Some(14_240), Some(6 << 20), Some(5000), None]);
    }

    #[test]
    fn pages_become_bytes_and_zones_are_added_up() {
        let mut values = Values::default();
        let text = b"pgpgin 2\npswpin 3\npgscan_kswapd 4\npgscan_direct 5\nallocstall_dma 1\nallocstall_normal 2\npgfault 18446744073709551616\n";
        vmstat(text, 4096, &mut values);
        values.sort();
        let found = [PAGED_IN, SWAPPED_IN, SCANNED, STALLS, FAULTS].map(|field| values.get(field));
        assert_eq!(found, [Some(2048), Some(12_288), Some(9), Some(3), None]);
    }
}
