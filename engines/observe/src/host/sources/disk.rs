//! `/proc/diskstats` (Documentation/admin-guide/iostats.rst).
//! LIE: the time in which a device was busy says how full it is only of those that serve one request at a time.

use crate::host::fields::*;
use crate::host::values::{InstanceNames, Values};
use crate::source::words::{lines, number, text_of, words};

/// Sectors of this file have 512 bytes, whatever the device's have.
const SECTOR_BYTES: u64 = 512;

/// Devices that `is_wanted` by name, and that have ever been used.
pub fn diskstats(text: &[u8], names: &mut InstanceNames, values: &mut Values, is_wanted: impl Fn(&str) -> bool) {
    for line in lines(text) {
        let mut columns = words(line).skip(2);
        let Some(name) = columns.next().map(text_of).filter(|name| is_wanted(name)) else { continue };
        let mut numbers = [None; 17];
        numbers.iter_mut().zip(columns).for_each(|(value, column)| *value = number(column));
        let [
            reads,
            _,
            sectors_read,
            ms_reading,
            writes,
            _,
            sectors_written,
            ms_writing,
            under_way,
            ms_busy,
            ms_queue,
            ..,
        ] = numbers;
        if reads.unwrap_or(0) == 0 && writes.unwrap_or(0) == 0 {
            continue;
        }
        let Some(disk) = names.number(&name) else { continue };
        let all = [
            (DISK_READS, reads, 1),
            (DISK_READ, sectors_read, SECTOR_BYTES),
            (DISK_READ_TIME, ms_reading, MILLISECOND),
            (DISK_WRITES, writes, 1),
            (DISK_WRITTEN, sectors_written, SECTOR_BYTES),
            (DISK_WRITE_TIME, ms_writing, MILLISECOND),
            (DISK_IN_FLIGHT, under_way, 1),
            (DISK_BUSY, ms_busy, MILLISECOND),
            (DISK_QUEUE, ms_queue, MILLISECOND),
            (DISK_FLUSHES, numbers[15], 1),
            (DISK_FLUSH_TIME, numbers[16], MILLISECOND),
        ];
        for (field, value, unit) in all {
            value.into_iter().for_each(|value| values.push(field, disk, value.saturating_mul(unit)));
        }
    }
}

const MILLISECOND: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_disks_are_listed_with_what_their_kernel_tells() {
        let text = b"7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n254 0 vda 10 1 16 5 20 2 32 7 3 8 9 0 0 0 0 4 6\n8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n8 1 sda1 1 0 8 1 0 0 0 0 0 1 1\n";
        let (mut names, mut values) = (InstanceNames::default(), Values::default());
        diskstats(text, &mut names, &mut values, |name| name != "sda1");
        values.sort();
        let disks: Vec<(&str, u64)> = values.each(DISK_READ).map(|(disk, bytes)| (names.name(disk), bytes)).collect();
        assert_eq!(disks, [("vda", 8192), ("sda", 4096)]);
        let vda = names.find("vda").expect("listed");
        let found = [DISK_WRITES, DISK_BUSY, DISK_FLUSHES, DISK_FLUSH_TIME].map(|field| values.of(field, vda));
        assert_eq!(found, [Some(20), Some(8_000_000), Some(4), Some(6_000_000)]);
        assert_eq!(values.each(DISK_FLUSHES).count(), 1, "an older kernel writes fewer columns");
        diskstats(b"8\n8 0\n\n\xff\xff 0 x\n", &mut names, &mut values, |_| true);
    }
}
