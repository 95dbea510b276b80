//! Archives of trees made here: the same bytes for any number of hands, plain and packed; what changes while it is read is told.

use super::data::Counted;
use super::*;
use crate::member::Extent;
use crate::read::{Reader, Rules, Step};
use crate::source::MemorySource;
use codec::format::UnitLayout as Units;
use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use crew::measures::Slots;
use crew::pipeline::Executor;
use files::Status;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

fn packing(name: &str) -> Packing {
    let format = codec::registry::by_name(name).expect("registered");
    let options = EncodeOptions::new(1, Units::ParallelUnits);
    Packing { format, options }
}

/// The archive of `directory`, and how many things were told of it that are no members.
fn archive(directory: &Path, packing: Option<Packing>, width: usize) -> (Vec<u8>, usize) {
    let output = tempfile::NamedTempFile::new().expect("a file");
    let (choice, style, told) = (Choice::default(), Style::default(), AtomicUsize::new(0));
    let on_event = |event| {
        if !matches!(event, Event::Taken { .. } | Event::Counted(_) | Event::Reached(_)) {
            told.fetch_add(1, Ordering::Relaxed);
        }
    };
    let operand = Operand {
        directory: Arc::new(File::open(directory).expect("open").into()),
        name: b".".to_vec(),
        depth: Default::default(),
        scope: Default::default(),
        listing: None,
    };
    let what = Creation {
        choice: &choice,
        operands: Mutex::new(vec![operand]),
        style: &style,
        packing,
        index: Index::Kept,
        output: output.as_file(),
        writing: if width.is_multiple_of(2) { By::Workers } else { By::OwnThread },
        base: 0,
        open_files: if width == 8 { 3 } else { 1000 },
        members: if width == 2 { Members::Counted } else { Members::Shown },
        confirm: &|_, _| true,
        on_event: &on_event,
        ended: Mutex::default(),
    };
    let mode = if width == 0 { Executor::SingleCore } else { Executor::Threaded };
    let slots = Slots { given: width + 2, wanted: width + 2, hands_wanted: width };
    let staffing = Staffing { width: width.max(1), slots, lanes_at_once: 1, mode };
    let request = Request {
        priority: Priority::Normal,
        weight: Weight::default(),
        useful_width: width.max(1),
        what: "a test".to_owned(),
    };
    let lease = InProcess::new(width.max(1)).lease(request);
    create(&what, &staffing, lease.as_ref(), &Tally::default());
    assert!(what.ended.lock().is_none());
    (std::fs::read(output.path()).expect("read"), told.load(Ordering::Relaxed))
}

fn tree() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for number in 0..200_usize {
        let directory = place.path().join(format!("d{}", number / 20));
        std::fs::create_dir_all(&directory).expect("mkdir");
        std::fs::write(directory.join(format!("f{number}")), vec![number as u8; number * 97]).expect("write");
    }
    std::fs::write(place.path().join("large"), testkit::data::mixed(3_000_000, 1)).expect("write");
    std::fs::hard_link(place.path().join("large"), place.path().join("other")).expect("link");
    place
}

#[test]
fn the_same_bytes_for_any_number_of_hands() {
    let place = tree();
    for packed in [None, Some(packing("zst")), Some(packing("gz")), Some(packing("xz"))] {
        let (expected, told) = archive(place.path(), packed, 0);
        assert_eq!(told, 0);
        for width in [1, 2, 8] {
            assert!(archive(place.path(), packed, width).0 == expected, "{width} hands");
        }
    }
}

#[test]
fn members_come_in_the_order_of_their_names() {
    let (bytes, _) = archive(tree().path(), None, 2);
    let mut source = MemorySource::new(&bytes);
    let mut reader = Reader::new(Rules::default(), &source);
    let mut members = Vec::new();
    while let Ok(Step::Member(member)) = reader.next(&mut source) {
        members.push(*member);
    }
    assert_eq!(members.len(), 213);
    assert_eq!(members[0].path, b"./");
    assert_eq!((members[1].path.as_slice(), members[2].path.as_slice()), (&b"./d0/"[..], &b"./d0/f0"[..]));
    let other = members.last().expect("some");
    assert_eq!((other.path.as_slice(), other.link.as_slice()), (&b"./other"[..], &b"./large"[..]));
    assert!(reader.end_offset() + 1024 <= bytes.len() as u64);
}

#[test]
fn what_is_missing_of_a_file_becomes_zeros_and_is_told() {
    let file = tempfile::tempfile().expect("a file");
    write_all_at(&file, b"12345678", 0).expect("write");
    let status = Status::of(&file).expect("stat");
    file.set_len(5).expect("truncate");
    let source = Arc::new(Source::new(file, None, b"shrunk".to_vec(), &status, Counted::among(&Arc::default(), 1)));
    let mut told = Vec::new();
    let mut target = [7; 8];
    fill(&Data { source: Arc::clone(&source), from: 0, bytes: 8, is_last: true }, &mut target, &mut told);
    assert_eq!(&target, b"12345\0\0\0");
    assert!(matches!(told[..], [Event::Shrank { missing_bytes: 3, .. }]), "{told:?}");
    source.file.set_len(9).expect("truncate");
    for (from, is_last) in [(0, false), (1, true)] {
        let source = Arc::clone(&source);
        fill(&Data { source, from, bytes: 4, is_last }, &mut target[..4], &mut told);
    }
    assert!(matches!(told[1..], [Event::Changed { .. }]), "it is told once: {told:?}");
}

/// However a file is cut into pieces: /sys says a page of each, and what there is ends somewhere before that.
#[test]
fn a_file_that_ends_before_its_size_is_told_once_and_by_how_much() {
    let told_of = |file: File, size: u64, piece_bytes: usize| {
        let status = Status::of(&file).expect("stat");
        let mut source = Source::new(file, None, b"f".to_vec(), &status, Counted::among(&Arc::default(), 1));
        source.size = size;
        let (source, mut told, mut bytes) = (Arc::new(source), Vec::new(), vec![7; size as usize]);
        for (at, target) in bytes.chunks_mut(piece_bytes).enumerate() {
            let from = (at * piece_bytes) as u64;
            let is_last = from + target.len() as u64 == size;
            fill(&Data { source: Arc::clone(&source), from, bytes: target.len(), is_last }, target, &mut told);
        }
        (bytes, told)
    };
    for (there, piece_bytes) in (0..12).flat_map(|there| [1, 4, 12].map(|bytes| (there, bytes))) {
        let file = tempfile::tempfile().expect("a file");
        write_all_at(&file, &b"abcdefghijkl"[..there], 0).expect("write");
        let (bytes, told) = told_of(file, 12, piece_bytes);
        assert!(bytes[..there] == b"abcdefghijkl"[..there] && bytes[there..].iter().all(|&byte| byte == 0));
        let missing = 12 - there as u64;
        assert!(matches!(told[..], [Event::Shrank { missing_bytes, .. }] if missing_bytes == missing), "{told:?}");
    }
    let page = "/sys/devices/system/cpu/possible";
    let content = std::fs::read(page).expect("every Linux has it");
    for piece_bytes in [1, content.len(), content.len() + 1, 4096] {
        let (bytes, told) = told_of(File::open(page).expect("open"), 4096, piece_bytes);
        assert!(bytes[..content.len()] == content && bytes[content.len()..].iter().all(|&byte| byte == 0));
        let missing = 4096 - content.len() as u64;
        assert!(matches!(told[..], [Event::Shrank { missing_bytes, .. }] if missing_bytes == missing), "{told:?}");
    }
}

#[test]
fn stored_bytes_of_a_sparse_file_are_read_from_their_stretches() {
    let file = tempfile::tempfile().expect("a file");
    write_all_at(&file, b"abcdefghij", 0).expect("write");
    let extents = [(1, 2), (5, 3), (10, 0)].map(|(offset, bytes)| Extent { offset, bytes });
    let status = Status::of(&file).expect("stat");
    let source = Source::new(file, Some(extents.to_vec()), Vec::new(), &status, Counted::among(&Arc::default(), 1));
    for from in 0..=5 {
        for to in from..=5 {
            let mut target = vec![0; to - from];
            source.read(from as u64, &mut target).expect("read");
            assert_eq!(target, b"bcfgh"[from..to], "{from}..{to}");
        }
    }
}
