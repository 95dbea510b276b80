//! The reader of InnoDB pages: whatever a file holds, it is opened, checked and dumped without a panic, counts add up, and a page that is called good
//! is not called good any more when a bit of it flips that its format covers.

use innodb::dump::dump;
use innodb::judge::{PageVerdict, SpaceFacts, judge};
use innodb::layout::{PageFormat, PageLayout};
use innodb::page::u32_at;
use innodb::tablespace::Tablespace;
use std::path::PathBuf;
use std::sync::OnceLock;

/// LIMIT: more makes each input slow and finds nothing else.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Judges the input as pages of every layout, and opens it as a file.
pub fn run(input: &[u8]) {
    let input = &input[..input.len().min(FILE_BYTES_MAX)];
    for layout in PageLayout::all() {
        for (number, page) in input.chunks_exact(layout.physical_bytes).enumerate() {
            judge_twice(page, number as u32, layout);
        }
    }
    open(input);
}

fn judge_twice(page: &[u8], number: u32, layout: PageLayout) {
    let facts = SpaceFacts { layout, space_id: u32_at(page, 34) };
    let is_covered = layout.format == PageFormat::FullCrc32 && page[24] & 0x80 == 0;
    if judge(page, number, &facts) == PageVerdict::Good && is_covered {
        let mut damaged = page.to_vec();
        let at = page.iter().map(|byte| usize::from(*byte)).sum::<usize>() % page.len();
        damaged[at] ^= 1;
        assert!(
            matches!(judge(&damaged, number, &facts), PageVerdict::Corrupt(_)),
            "a bit of byte {at} goes unnoticed"
        );
    }
}

fn open(input: &[u8]) {
    let path = file();
    std::fs::write(path, input).expect("a file in the temporary directory");
    let Ok(space) = Tablespace::open(path) else { return };
    for number in [0, 1, space.pages().saturating_sub(1), u32::MAX].map(|index| space.first_page().wrapping_add(index))
    {
        let map = space.free_map(number).expect("a file can be read");
        let _either = map.is_some_and(|map| space.is_free(&map, number)) || space.is_doublewrite(number);
        if let Some(page) = dump(path, number).expect("it was opened before") {
            assert_eq!(page.bytes.len() as u64, space.page_bytes());
        }
    }
    space.announced_pages().expect("a file can be read");
}

/// One for each process: targets run in one thread.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| std::env::temp_dir().join(format!("fuzz-innodb-{}.ibd", std::process::id())))
}

/// Tablespaces of four pages, in three formats.
pub fn seeds() -> Vec<Vec<u8>> {
    use innodb::checksum;
    let put = |page: &mut [u8], at: usize, number: u32| page[at..at + 4].copy_from_slice(&number.to_be_bytes());
    let page = |number: u32, bytes: usize, flags: u32| {
        let mut page: Vec<u8> = (0..bytes).map(|at| (at / 3) as u8).collect();
        page[..38].fill(0);
        put(&mut page, 4, number);
        put(&mut page, 20, 9);
        page[24..26].copy_from_slice(&if number == 0 { 8_u16 } else { 17855 }.to_be_bytes());
        put(&mut page, 34, 3);
        if number == 0 {
            page[38..].fill(0);
            put(&mut page, 38, 3);
            put(&mut page, 46, 4);
            put(&mut page, 54, flags);
        }
        page
    };
    let full = (0..4).flat_map(|number| {
        let mut page = page(number, 4096, 0x13);
        put(&mut page, 4088, 9);
        let sum = checksum::full_crc32(&page);
        put(&mut page, 4092, sum);
        page
    });
    let old = (0..4).flat_map(|number| {
        let mut page = page(number, 4096, 3 << 6);
        put(&mut page, 4092, 9);
        let sum = checksum::crc32(&page);
        put(&mut page, 0, sum);
        put(&mut page, 4088, sum);
        page
    });
    let compressed = (0..4).flat_map(|number| {
        let mut page = page(number, 2048, 0x25);
        let sum = checksum::compressed_crc32(&page);
        put(&mut page, 0, sum);
        page
    });
    vec![full.collect(), old.collect(), compressed.collect()]
}
