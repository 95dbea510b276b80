//! Whole files, made page by page: their format and verdicts, on one hand and on several.

use super::*;
use crate::page::{EXTENT_BITMAP, EXTENT_DESCRIPTORS, HEADER_FLAGS, HEADER_PAGES, HEADER_SPACE_ID, TYPE};
use crate::test_pages as made;
use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::measures::Slots;
use crew::pipeline::Executor;
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

type Checked = Result<FileOutcome, OpenError>;

fn checked_by(files: &[PathBuf], width: usize) -> Vec<Checked> {
    let outcomes = Mutex::new(Vec::new());
    let on_file = |number: usize, outcome: Checked| outcomes.lock().push((number, outcome));
    let what = PageCheck { files, takes_census: true, on_file: &on_file };
    let mode = if width == 1 { Executor::SingleCore } else { Executor::Threaded };
    let slots = Slots { given: width + 2, wanted: width + 2, hands_wanted: width };
    let request =
        Request { priority: Priority::Normal, weight: Weight::default(), useful_width: width, what: String::new() };
    let lease = InProcess::new(width).lease(request);
    check(&what, &Staffing { width, slots, lanes_at_once: 4, mode }, lease.as_ref(), &Tally::default());
    let mut outcomes = outcomes.into_inner();
    outcomes.sort_by_key(|(number, _)| *number);
    assert_eq!(outcomes.len(), files.len(), "every file has an outcome");
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn checked(path: &Path) -> Checked {
    checked_by(&[path.to_owned()], 1).remove(0)
}

/// A tablespace of full_crc32 pages. The header says how many there are, and which are free.
struct Made {
    page_bytes: usize,
    pages: Vec<Vec<u8>>,
}

impl Made {
    fn new(count: u32, page_bytes: usize, free: &[u32]) -> Self {
        let mut pages: Vec<Vec<u8>> = (0..count).map(|number| made::full_crc32(number, page_bytes)).collect();
        let shift = page_bytes.trailing_zeros() - 9;
        let header = &mut pages[0];
        header[38..page_bytes - 8].fill(0);
        header[TYPE..TYPE + 2].copy_from_slice(&8_u16.to_be_bytes());
        made::put(header, HEADER_SPACE_ID, 7);
        made::put(header, HEADER_PAGES, count);
        made::put(header, HEADER_FLAGS, 0x10 | shift);
        let extent = ((1 << 20) / page_bytes as u32).max(64);
        for number in free {
            let descriptor = EXTENT_DESCRIPTORS + (number / extent) as usize * (EXTENT_BITMAP + extent as usize / 4);
            let bit = number % extent * 2;
            header[descriptor + EXTENT_BITMAP + bit as usize / 8] |= 1 << (bit % 8);
        }
        let mut made = Self { page_bytes, pages };
        made.sign(0);
        made
    }

    fn sign(&mut self, number: usize) {
        let (page, end) = (&mut self.pages[number], self.page_bytes - 4);
        let sum = made::crc(&[&page[..end]]);
        made::put(page, end, sum);
    }

    fn write(&self, place: &TempDir, name: &str) -> PathBuf {
        let path = place.path().join(name);
        fs::write(&path, self.pages.concat()).expect("written");
        path
    }
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn a_sound_file_is_good_whatever_the_width() {
    let place = place();
    let mut made = Made::new(700, 4096, &[9, 10, 300]);
    made.pages[9].fill(0x55);
    made.pages[20].fill(0);
    let files: Vec<PathBuf> = (0..5).map(|number| made.write(&place, &format!("t{number}x.ibd"))).collect();
    for width in [1, 2, 7] {
        for outcome in checked_by(&files, width) {
            let outcome = outcome.expect("it is a tablespace");
            let counts = PageCounts { good: 696, zero: 1, free: 3, ..PageCounts::default() };
            assert_eq!((outcome.counts, outcome.defects.len()), (counts, 0));
            assert_eq!((outcome.format, outcome.page_bytes, outcome.space_id), ("full_crc32", 4096, 7));
            let census = outcome.census.expect("it was asked for");
            assert_eq!(census.types["index"], 695);
            assert_eq!(census.types.values().sum::<u64>(), 696);
        }
    }
}

#[test]
fn corrupt_pages_are_listed_in_order_with_what_is_wrong() {
    let place = place();
    let mut made = Made::new(600, 4096, &[]);
    made.pages[599][100] ^= 1;
    made.pages[3][2000] ^= 1;
    made.pages.swap(40, 41);
    let path = made.write(&place, "t.ibd");
    let outcomes = [1, 3].map(|width| checked_by(std::slice::from_ref(&path), width).remove(0).expect("checked"));
    let [one, three] = outcomes;
    assert_eq!(one.corrupt, three.corrupt);
    let place = |page: &CorruptPage| (page.number, page.offset, page.mismatches[0].field);
    use crate::judge::Field::{Checksum, PageNumber};
    let expected = [
        (3, 3 * 4096, Checksum),
        (40, 40 * 4096, PageNumber),
        (41, 41 * 4096, PageNumber),
        (599, 599 * 4096, Checksum),
    ];
    assert_eq!(one.corrupt.iter().map(place).collect::<Vec<_>>(), expected);
    assert_eq!((one.counts.corrupt, one.counts.good, one.is_corrupt()), (4, 596, true));
}

#[test]
fn descriptors_that_are_damaged_free_no_page() {
    let place = place();
    let mut made = Made::new(64, 16384, &[5]);
    made.pages[5].fill(0x55);
    made.pages[0][15000] ^= 1;
    let outcome = checked(&made.write(&place, "t.ibd")).expect("the other pages say what it is");
    assert_eq!(outcome.corrupt.iter().map(|page| page.number).collect::<Vec<_>>(), [0, 5]);
    assert_eq!((outcome.counts.free, outcome.has_header, outcome.page_bytes), (0, false, 16384));
}

#[test]
fn a_header_that_lies_about_the_page_size_is_not_believed() {
    let place = place();
    for page_bytes in [4096, 8192, 16384, 32768, 65536] {
        let mut made = Made::new(40, page_bytes, &[]);
        for flags in [0x13, 0x15, 0x17, 0, 0x29, u32::MAX] {
            made::put(&mut made.pages[0], HEADER_FLAGS, flags);
            let outcome = checked(&made.write(&place, "t.ibd")).expect("its pages say what it is");
            let found = (outcome.page_bytes, outcome.counts.good, outcome.counts.corrupt);
            let is_lie = flags != 0x10 | (page_bytes.trailing_zeros() - 9);
            assert_eq!(
                found,
                (page_bytes as u64, 40 - u64::from(is_lie), u64::from(is_lie)),
                "{page_bytes} {flags:#x}"
            );
        }
    }
}

#[test]
fn a_file_that_is_cut_off_is_corrupt() {
    let place = place();
    let made = Made::new(64, 4096, &[]);
    let path = made.write(&place, "t.ibd");
    let cut = |bytes: u64| {
        let file = fs::File::options().write(true).open(&path).expect("opened");
        file.set_len(bytes).expect("cut");
        checked(&path).expect("it is a tablespace").defects
    };
    assert_eq!(cut(64 * 4096), []);
    let missing = FileDefect::PagesMissing { found: 60, expected: 64 };
    let page = FileDefect::CutOff { page: 60, bytes: 1000, page_bytes: 4096 };
    assert_eq!(cut(60 * 4096 + 1000), [page, missing]);
    assert_eq!(cut(60 * 4096), [missing]);
}

#[test]
fn a_file_whose_first_pages_are_zeros_is_corrupt() {
    let place = place();
    // Up to so many that the header's first 64 KiB, and a sample from the beginning, hold nothing else.
    for zeros in [1, 2, 16, 200] {
        let mut made = Made::new(256, 4096, &[]);
        made.pages[..zeros].iter_mut().for_each(|page| page.fill(0));
        let outcome = checked(&made.write(&place, "t.ibd")).expect("the other pages say what it is");
        let counts = PageCounts { good: 256 - zeros as u64, zero: zeros as u64, ..PageCounts::default() };
        assert_eq!((outcome.counts.clone(), outcome.first_page, outcome.has_header), (counts, 0, false));
        assert_eq!((outcome.defects.as_slice(), outcome.is_corrupt()), ([FileDefect::NoHeader].as_slice(), true));
        let temporary = checked(&made.write(&place, "ibtmp1")).expect("the same pages");
        assert!(!temporary.is_corrupt(), "a server writes its header when it likes");
    }
}

#[test]
fn what_is_no_tablespace_is_said_to_be_none() {
    let place = place();
    let opened = |bytes: &[u8]| {
        let path = place.path().join("file");
        fs::write(&path, bytes).expect("written");
        checked(&path).err()
    };
    assert!(matches!(opened(b""), Some(OpenError::Empty)));
    assert!(matches!(opened(b"short"), Some(OpenError::NotInnodb)));
    let noise: Vec<u8> = (0..500_000_u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    assert!(matches!(opened(&noise), Some(OpenError::NotInnodb)));
    assert!(matches!(checked(place.path()), Err(OpenError::NotAFile)));
    assert!(matches!(checked(&place.path().join("missing")), Err(OpenError::Read(_))));
}

#[test]
fn a_file_of_zeros_was_made_by_a_server_that_has_written_nothing_of_it_so_far() {
    let place = place();
    let path = place.path().join("t.ibd");
    for (bytes, page_bytes) in [(163_840, 16384), (98_304 + 4096, 4096), (5 * 1024, 1024)] {
        fs::write(&path, vec![0; bytes]).expect("written");
        let outcome = checked(&path).expect("it may become a tablespace");
        let counts = PageCounts { zero: bytes as u64 / page_bytes, ..PageCounts::default() };
        assert_eq!((outcome.format, outcome.is_corrupt()), ("only zeros", false));
        assert_eq!(outcome.counts, counts);
    }
    // Opened when it was all zeros, written before it was read.
    fs::write(&path, vec![0; 64 * 4096]).expect("written");
    let files = [path.clone()];
    let on_file = |_number: usize, _outcome: Checked| {};
    let what = PageCheck { files: &files, takes_census: false, on_file: &on_file };
    let opened = what.open(0).expect("a file of zeros");
    fs::write(&path, Made::new(64, 4096, &[]).pages.concat()).expect("written");
    let (mut source, mut chunk) = (opened.source, what.new_chunk());
    while let Ok(Cut::Noted(_)) = what.cut(&mut source, &mut chunk, &mut CutTurn::with_a_hand()) {
        what.work(&mut what.new_scratch(), &mut chunk, &mut Pause::never()).expect("read");
        what.place(&opened.sink, &mut chunk).expect("added");
    }
    let outcome = what.conclude(opened.sink).expect("read");
    assert_eq!((outcome.counts.good, outcome.counts.pages()), (64, 64));
    assert_eq!(outcome.format, "full_crc32");
}

#[test]
fn later_files_of_a_system_tablespace_go_on_where_the_one_before_ends() {
    let place = place();
    let mut first = Made::new(64, 16384, &[70]);
    for page in &mut first.pages {
        made::put(page, 34, 0);
    }
    made::put(&mut first.pages[0], HEADER_SPACE_ID, 0);
    // The transaction system's page, which names no doublewrite area.
    first.pages[5][TYPE..TYPE + 2].copy_from_slice(&7_u16.to_be_bytes());
    (0..64).for_each(|number| first.sign(number));
    let one = first.write(&place, "ibdata1");
    let mut second =
        Made { page_bytes: 16384, pages: (64..96).map(|number| made::full_crc32(number, 16384)).collect() };
    second.pages.iter_mut().for_each(|page| made::put(page, 34, 0));
    (0..32).for_each(|number| second.sign(number));
    second.pages[6].fill(0x33);
    second.pages[8].fill(0);
    let two = second.write(&place, "ibdata2");
    let outcomes = checked_by(&[one.clone(), two.clone()], 2);
    let counts = |outcome: &Checked| outcome.as_ref().map(|outcome| outcome.counts.clone()).expect("checked");
    assert_eq!(counts(&outcomes[0]).good, 64);
    let expected = PageCounts { good: 30, zero: 1, free: 1, ..PageCounts::default() };
    assert_eq!(counts(&outcomes[1]), expected, "page 70 is free by the descriptors in ibdata1");
    fs::remove_file(one).expect("removed");
    let alone = checked(&two).expect("its pages say what it is");
    assert_eq!((alone.first_page, alone.counts.good, alone.counts.corrupt, alone.has_header), (64, 30, 1, false));
}

#[test]
fn a_page_that_a_server_has_just_written_is_read_again() {
    let place = place();
    let mut made = Made::new(64, 4096, &[]);
    let whole = made.pages[7].clone();
    made.pages[7][3000..].fill(0x77);
    let path = made.write(&place, "t.ibd");
    let space = Tablespace::open(&path).expect("a tablespace");
    let suspect = |number: u32| CorruptPage {
        number,
        offset: u64::from(number) * 4096,
        type_name: "index",
        mismatches: Vec::new(),
    };
    let torn = recheck(&space, vec![suspect(7), suspect(70)], &|| false);
    assert_eq!((torn.corrupt.len(), torn.gone, torn.good), (1, 1, 0), "page 70 lies beyond the end");
    let writer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(60));
        let mut file = fs::File::options().write(true).open(&path).expect("opened");
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(7 * 4096)).expect("there");
        file.write_all(&whole).expect("written");
    });
    let written = recheck(&space, vec![suspect(7)], &|| true);
    writer.join().expect("written");
    assert_eq!((written.corrupt.len(), written.good), (0, 1));
}
