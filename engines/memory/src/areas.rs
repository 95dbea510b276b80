//! `/proc/PID/smaps` (proc_pid_smaps(5)): one area of a process's memory after the other, as the kernel lists them, in bounded memory.
//! Knows nothing of what areas belong together: `look` does.

use std::io::{self, BufRead, Read};

/// LIMIT: a longer line is cut off. A path has at most 4,096 bytes, of which each may take four.
const LINE_BYTES_MAX: u64 = 17 << 10;

/// A page of this processor where the kernel does not name it.
const PAGE_BYTES: u64 = 4096;

/// One area, which the kernel calls a VMA. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryArea {
    /// Where it begins.
    pub start: u64,
    /// Where the next one could begin.
    pub end: u64,
    /// `rw-p` and the like.
    pub access: String,
    /// The file's number on its file system; 0 is no file.
    pub inode: u64,
    /// The file, or a name in brackets; empty for anonymous memory.
    pub name: String,
    /// Size of the smallest pages that it is made of.
    pub page_bytes: u64,
    /// In memory and in the process's table of pages.
    pub resident_bytes: u64,
    /// Of these, in pages that take one entry of the middle table of pages.
    pub huge_bytes: u64,
    /// In swap space.
    pub swapped_bytes: u64,
    /// Whether the kernel may not take its pages (mlock).
    pub is_locked: bool,
    /// Whether transparent huge pages are wanted (`MADV_HUGEPAGE`) or not (`MADV_NOHUGEPAGE`); none if nothing was advised.
    pub wants_huge: Option<bool>,
}

impl MemoryArea {
    /// From start to end.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    fn may(&self, letter: char) -> bool {
        self.access.contains(letter)
    }

    /// Whether the process may read, write or run it at all; otherwise it is reserved room.
    pub fn is_accessible(&self) -> bool {
        self.access.contains(['r', 'w', 'x'])
    }

    /// Whether the process may write to it.
    pub fn is_writable(&self) -> bool {
        self.may('w')
    }

    /// Whether other processes see what is written.
    pub fn is_shared(&self) -> bool {
        self.may('s')
    }
}

/// Areas out of the text of smaps. Lines that it does not know are skipped.
pub struct AreaReader<Source> {
    source: Source,
    line: Vec<u8>,
    next: Option<MemoryArea>,
}

impl<Source: BufRead> AreaReader<Source> {
    /// Reads from `source`.
    pub fn new(source: Source) -> Self {
        Self { source, line: Vec::new(), next: None }
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        Ok((&mut self.source).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)? > 0)
    }
}

impl<Source: BufRead> Iterator for AreaReader<Source> {
    type Item = io::Result<MemoryArea>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read_line() {
                Ok(true) => {}
                Ok(false) => return self.next.take().map(Ok),
                Err(error) => {
                    self.next = None;
                    return Some(Err(error));
                }
            }
            let line = String::from_utf8_lossy(&self.line);
            let line = line.trim_end_matches('\n');
            if let Some(area) = heading(line) {
                if let Some(whole) = self.next.replace(area) {
                    return Some(Ok(whole));
                }
            } else if let (Some(area), Some((name, value))) = (&mut self.next, line.split_once(':')) {
                note(area, name, value);
            }
        }
    }
}

/// `7f00-7f10 rw-p 00000000 00:01 4711    /path with blanks`.
fn heading(line: &str) -> Option<MemoryArea> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let mut rest = rest.splitn(4, ' ');
    let (access, _offset, _device) = (rest.next()?, rest.next()?, rest.next()?);
    let (inode, name) = rest.next()?.split_once(' ').unwrap_or_default();
    Some(MemoryArea {
        start,
        end: end.max(start),
        access: access.to_owned(),
        inode: inode.parse().unwrap_or(0),
        name: name.trim_start().to_owned(),
        page_bytes: PAGE_BYTES,
        ..MemoryArea::default()
    })
}

fn note(area: &mut MemoryArea, name: &str, value: &str) {
    // LIE: the kernel writes kB and means KiB.
    let bytes = || {
        let number = value.trim().trim_end_matches("kB").trim_end().parse::<u64>();
        number.unwrap_or(0).saturating_mul(1024)
    };
    match name {
        "KernelPageSize" => area.page_bytes = bytes().max(1),
        // Pages of hugetlbfs are in neither of these sums but their own.
        "Rss" | "Shared_Hugetlb" | "Private_Hugetlb" => {
            area.resident_bytes = area.resident_bytes.saturating_add(bytes());
        }
        "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => {
            area.huge_bytes = area.huge_bytes.saturating_add(bytes());
        }
        "Swap" => area.swapped_bytes = bytes(),
        "VmFlags" => value.split_ascii_whitespace().for_each(|flag| match flag {
            "lo" => area.is_locked = true,
            "hg" => area.wants_huge = Some(true),
            "nh" => area.wants_huge = Some(false),
            _ => {}
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(text: &str) -> Vec<MemoryArea> {
        AreaReader::new(text.as_bytes()).map(|area| area.expect("memory can be read")).collect()
    }

    const TWO: &str = "7f0000000000-7f0040000000 rw-s 00000000 00:01 4711                     /dev/zero (deleted)\n\
        Size:            1048576 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\nRss:              524288 kB\n\
        Shared_Dirty:     524288 kB\nShmemPmdMapped:     2048 kB\nSwap:                  8 kB\n\
        VmFlags: rd wr sh mr mw me ms lo sd \n\
        7f0040000000-7f0080000000 rw-p 00000000 00:0f 5 /anon_hugepage (deleted)\n\
        KernelPageSize:     2048 kB\nRss:                   0 kB\nPrivate_Hugetlb: 4096 kB\nShared_Hugetlb: 0 kB\n\
        VmFlags: rd wr ht sd nh\n";

    #[test]
    fn fields_are_read_in_bytes() {
        let areas = areas(TWO);
        assert_eq!(areas.len(), 2);
        let shared = &areas[0];
        assert_eq!((shared.bytes(), shared.resident_bytes, shared.huge_bytes), (1 << 30, 512 << 20, 2 << 20));
        assert_eq!((shared.page_bytes, shared.swapped_bytes, shared.inode), (4096, 8192, 4711));
        assert!(shared.is_locked && shared.is_shared() && shared.is_writable());
        assert_eq!(shared.name, "/dev/zero (deleted)");
        let huge = &areas[1];
        assert_eq!((huge.page_bytes, huge.resident_bytes), (2 << 20, 4 << 20), "huge pages are not in Rss");
        assert!(!huge.is_locked && !huge.is_shared());
        assert_eq!((shared.wants_huge, huge.wants_huge), (None, Some(false)));
    }

    #[test]
    fn anonymous_memory_has_no_name_and_reserved_room_no_access() {
        let areas = areas("1000-2000 ---p 00000000 00:00 0 \nRss: 0 kB\n2000-3000 rw-p 00000000 00:00 0\nRss: 4 kB\n");
        assert_eq!(areas.iter().map(|area| area.name.as_str()).collect::<Vec<_>>(), ["", ""]);
        assert_eq!(areas.iter().map(MemoryArea::is_accessible).collect::<Vec<_>>(), [false, true]);
        assert_eq!(areas[1].resident_bytes, 4096);
    }

    #[test]
    fn text_that_is_none_of_the_kernels_is_skipped() {
        assert_eq!(areas(""), []);
        assert_eq!(areas("Rss: 4 kB\nnonsense\n"), []);
        let one = areas("3000-2000 rw-p 0 0 0\nRss: many kB\nSwap: 99999999999999999999 kB\n: \nRss\n");
        assert_eq!((one.len(), one[0].bytes(), one[0].resident_bytes), (1, 0, 0));
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let text = format!("1000-2000 rw-p 0 0 7 /{}\nRss: 4 kB\n", "x".repeat(1 << 20));
        let mut reader = AreaReader::new(text.as_bytes());
        let area = reader.next().expect("one").expect("memory can be read");
        assert_eq!((area.inode, area.resident_bytes), (7, 4096));
        assert!(reader.line.capacity() < 64 << 10, "{}", reader.line.capacity());
    }
}
