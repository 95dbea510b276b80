//! Runs over real files: every width, room and mixture of algorithms gives what hashing the bytes at once gives.

use super::*;
use crate::error::DigestError;
use crate::stream::stream_hash;
use crew::budget::{Budget, InProcess, Lease, Priority, Request, Weight};
use std::path::Path;

fn lease(width: usize) -> Box<dyn Lease> {
    let request =
        Request { priority: Priority::Normal, weight: Weight::default(), useful_width: width, what: String::new() };
    InProcess::new(width).lease(request)
}

/// Digests `items`; names and results in the order in which they came.
fn digested(items: &[DigestItem], width: usize, memory: u64) -> Vec<(Vec<u8>, Result<Digested, DigestError>)> {
    let (tally, mut results) = (DigestTally::default(), Vec::new());
    let how = Digesting { width, room: DigestRoom::new(width, memory), tally: &tally };
    let mut items = items.iter().cloned();
    let mut sink = |item: &DigestItem, result: Result<Digested, DigestError>| results.push((item.name.clone(), result));
    digest_all(&how, &mut || items.next(), &mut sink, lease(width).as_ref());
    assert_eq!(tally.files(), results.len() as u64);
    results
}

fn of_bytes(algorithm: Algorithm, bytes: &[u8]) -> String {
    let mut hash = stream_hash(algorithm);
    hash.update(bytes);
    hash.finish().hex()
}

fn item(path: &Path, algorithms: &[Algorithm]) -> DigestItem {
    use std::os::unix::ffi::OsStrExt;
    DigestItem::path(path.as_os_str().as_bytes().to_vec(), algorithms.into())
}

#[test]
fn every_width_and_mixture_gives_the_digests_of_the_bytes() {
    let place = tempfile::tempdir().expect("a directory");
    let sizes = [0, 1, 1023, 65_536, 262_144, 262_145, 2 << 20, (3 << 20) + 17, (9 << 20) + 1, 300];
    let files = sizes.iter().enumerate().map(|(number, &size)| {
        let (path, bytes) = (place.path().join(format!("{number}")), testkit::data::text(size, number as u64));
        std::fs::write(&path, &bytes).expect("written");
        (path, bytes)
    });
    let files: Vec<_> = files.collect();
    let mixtures: [&[Algorithm]; 4] = [
        &[Algorithm::Blake3],
        &[Algorithm::Crc32c, Algorithm::Cksum],
        &[Algorithm::Md5],
        &[Algorithm::Sha1, Algorithm::Blake3, Algorithm::Xxh64, Algorithm::Crc64, Algorithm::Xxh128],
    ];
    for (width, memory) in [(1, 1 << 30), (2, 1 << 30), (5, 1 << 30), (3, 200_000), (1, 1)] {
        for mixture in mixtures {
            let items: Vec<_> = files.iter().map(|(path, _)| item(path, mixture)).collect();
            let results = digested(&items, width, memory);
            assert_eq!(results.len(), files.len());
            for ((path, bytes), (name, result)) in files.iter().zip(results) {
                assert_eq!(name, item(path, &[]).name, "in order");
                let found = result.expect("it can be read");
                let values: Vec<_> = found.values.iter().map(DigestValue::hex).collect();
                let expected: Vec<_> = mixture.iter().map(|&algorithm| of_bytes(algorithm, bytes)).collect();
                assert_eq!((values, found.bytes), (expected, bytes.len() as u64), "{mixture:?} at {width}, {memory}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_fails_alone_and_what_has_no_size_is_read() {
    let place = tempfile::tempdir().expect("a directory");
    let there = place.path().join("there");
    std::fs::write(&there, b"x").expect("written");
    let all = [Algorithm::Sha256];
    let items = [
        item(Path::new("/no/such file"), &all),
        item(place.path(), &all),
        item(Path::new("/proc/version"), &all),
        item(&there, &all),
    ];
    let results = digested(&items, 2, 1 << 30);
    assert!(results[0].1.as_ref().expect_err("it is not there").is_missing());
    assert!(matches!(results[1].1, Err(DigestError::Directory)));
    let version = std::fs::read("/proc/version").expect("Linux has it");
    assert_eq!(results[2].1.as_ref().expect("it is read").values[0].hex(), of_bytes(all[0], &version));
    assert_eq!(results[3].1.as_ref().expect("it is read").values[0].hex(), of_bytes(all[0], b"x"));
}

#[test]
fn a_fifo_is_read_to_its_end_beside_files() {
    let place = tempfile::tempdir().expect("a directory");
    let (fifo, file) = (place.path().join("fifo"), place.path().join("file"));
    let open = std::fs::File::open(place.path()).expect("open");
    files::Directory::of(&open).make_node(c"fifo", files::FileType::Fifo, 0o600, 0).expect("mkfifo");
    let (piped, stored) = (testkit::data::text(3 << 20, 1), testkit::data::text(5 << 20, 2));
    std::fs::write(&file, &stored).expect("written");
    // Held open from before, so that reading finds a writer.
    let mut writer = std::fs::File::options().read(true).write(true).open(&fifo).expect("open");
    let (all, size) = ([Algorithm::Sha1, Algorithm::Blake3], piped.len() as u64);
    let items = [item(&fifo, &all), item(&file, &all)];
    let results = std::thread::scope(|scope| {
        let bytes = &piped;
        scope.spawn(move || std::io::Write::write_all(&mut writer, bytes).expect("it is read"));
        digested(&items, 2, 1 << 30)
    });
    for (bytes, (_, result)) in [&piped, &stored].into_iter().zip(results) {
        let values: Vec<_> = result.expect("it is read").values.iter().map(DigestValue::hex).collect();
        assert_eq!(values, all.map(|algorithm| of_bytes(algorithm, bytes)), "of {size} bytes");
    }
}

#[test]
fn more_items_than_a_window_holds_stay_in_order() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("one");
    std::fs::write(&path, b"one").expect("written");
    let items: Vec<_> = (0..2 * WINDOW_ITEMS + 5)
        .map(|number| match number % 7 {
            0 => item(&place.path().join(format!("missing {number}")), &[Algorithm::Crc32]),
            _ => item(&path, &[Algorithm::Crc32]),
        })
        .collect();
    let results = digested(&items, 3, 1 << 30);
    assert_eq!(results.len(), items.len());
    for (number, (name, result)) in results.iter().enumerate() {
        assert_eq!((name, result.is_err()), (&items[number].name, number % 7 == 0), "{number}");
    }
}

#[test]
fn the_room_never_exceeds_its_cap_by_more_than_a_slot() {
    for width in [1, 2, 16, 64, 256, 1024] {
        for memory in [0, 1 << 20, 16 << 20, 1 << 40] {
            let room = DigestRoom::new(width, memory);
            assert!(
                room.bytes() <= (memory / 2).clamp(PIECE_BYTES_MIN as u64, SLOT_BYTES_MAX as u64),
                "{width} {memory}"
            );
            assert!(room.piece_bytes.is_power_of_two() && room.slots.given >= 1);
        }
    }
}
