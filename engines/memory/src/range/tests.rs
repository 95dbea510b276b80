//! Ranges of every kind, small: all pages are there, are locked where that is asked for, and are gone afterwards.

use super::*;
use crate::look::{LargeMapping, MappingChoice, look};
use crate::pool::allowed_nodes;
use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use machine::Host;
use std::os::fd::AsRawFd;

const BYTES: u64 = 48 << 20;

fn pool(threads: usize) -> ThreadPool {
    let (priority, weight) = (Priority::Normal, Weight::default());
    let request = Request { priority, weight, useful_width: threads, what: "a test".to_owned() };
    let lease = Arc::from(InProcess::new(threads).lease(request));
    ThreadPool::new(lease, allowed_nodes(&Host::real()), threads).expect("threads can be had")
}

fn limits() -> MemoryLimits {
    MemoryLimits { available_bytes: 1 << 40, ..MemoryLimits::default() }
}

fn wish(kind: RangeKind) -> RangeWish {
    RangeWish { kind, pages: PageWish::Small, ..RangeWish::anonymous(BYTES) }
}

/// What the kernel says of a range.
fn seen(range: &MemoryRange) -> Vec<LargeMapping> {
    let choice = MappingChoice { bytes_min: 1, has_files_for_reading: true, is_by_flags: false };
    let (begin, end) = (range.address() as u64, range.address() as u64 + range.bytes());
    let mappings = look(&Host::real(), std::process::id(), choice).expect("one may look at oneself").mappings;
    mappings.into_iter().filter(|mapping| (begin..end).contains(&mapping.address)).collect()
}

fn resident(range: &MemoryRange) -> u64 {
    seen(range).iter().map(|mapping| mapping.resident_bytes).sum()
}

#[test]
fn each_kind_is_resident_as_a_whole_and_gone_afterwards() {
    let pool = pool(3);
    let file = || {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(BYTES).expect("there is room");
        RangeKind::File(file.into())
    };
    for kind in [RangeKind::Anonymous, RangeKind::SharedAnonymous, RangeKind::MemoryFiles, RangeKind::SystemV, file()] {
        let name = format!("{kind:?}");
        let (range, report) = MemoryRange::create(&pool, &limits(), wish(kind)).expect("there is room");
        assert_eq!((report.resident_bytes, resident(&range)), (BYTES, BYTES), "{name}");
        assert!((1..=3).contains(&report.threads) && report.faults.is_empty());
        let (begin, end) = (range.address() as u64, range.address() as u64 + BYTES);
        range.destroy(&pool).expect("it can be given back");
        let choice = MappingChoice { bytes_min: 1, has_files_for_reading: true, is_by_flags: false };
        let left = look(&Host::real(), std::process::id(), choice).expect("one may look at oneself").mappings;
        let is_left =
            |mapping: &LargeMapping| mapping.resident_bytes >= BYTES && (begin..end).contains(&mapping.address);
        assert!(!left.iter().any(is_left), "{name}");
    }
}

#[test]
fn what_the_first_thread_wrote_is_there_for_the_others_of_a_file() {
    let pool = pool(2);
    let (range, _) = MemoryRange::create(&pool, &limits(), wish(RangeKind::MemoryFiles)).expect("there is room");
    assert!(range.files().len() > 1);
    let mut sizes = range.files().iter().map(|file| rustix::fs::fstat(file).expect("it is open").st_size as u64);
    assert_eq!(sizes.by_ref().sum::<u64>(), BYTES);
    let numbers: Vec<i32> = range.files().iter().map(AsRawFd::as_raw_fd).collect();
    range.destroy(&pool).expect("it can be given back");
    assert!(numbers.len() <= FILES_MAX);
}

#[test]
fn a_locked_range_is_one_area_that_is_locked_and_can_be_given_back() {
    let pool = pool(2);
    let wanted = RangeWish { is_locked: true, ..wish(RangeKind::Anonymous) };
    let (range, report) = match MemoryRange::create(&pool, &limits(), wanted) {
        Err(MemoryError::Refused { step, .. }) if step == "lock the range" => {
            return testkit::program::left_out("this user may not lock memory");
        }
        created => created.expect("there is room"),
    };
    let mappings = seen(&range);
    assert_eq!((mappings.len(), mappings[0].locked_bytes, report.resident_bytes), (1, BYTES, BYTES));
    range.destroy(&pool).expect("locked pages can be given back");
}

#[test]
fn huge_pages_are_asked_for_before_pages_are_made() {
    let pool = pool(2);
    let wanted = RangeWish { pages: PageWish::Huge, ..wish(RangeKind::Anonymous) };
    let (range, _) = MemoryRange::create(&pool, &limits(), wanted).expect("there is room");
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if setting.is_empty() || setting.contains("[never]") {
        return testkit::program::left_out("this kernel makes no huge pages");
    }
    // Memory in pieces may leave the kernel without huge pages, but not without a single one.
    assert!(seen(&range)[0].huge_bytes > 0, "{:?}", seen(&range));
}

#[test]
fn a_limit_refuses_before_anything_is_tried() {
    let pool = pool(1);
    let short = MemoryLimits { available_bytes: 1 << 20, ..MemoryLimits::default() };
    let error = MemoryRange::create(&pool, &short, RangeWish::anonymous(1 << 21)).expect_err("too much");
    assert_eq!(error.to_string(), "get 2097152 bytes: MemAvailable leaves 1027605");
    let error = MemoryRange::create(&pool, &limits(), wish(RangeKind::HugePages(2 << 20))).expect_err("no pages");
    assert_eq!(error.to_string(), "get 24 huge pages: the pool of huge pages leaves 0");
}

#[test]
fn a_file_that_is_too_short_is_an_error_of_its_part_and_best_effort_names_it() {
    let pool = pool(2);
    let short = || {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(BYTES / 2).expect("there is room");
        wish(RangeKind::File(file.into()))
    };
    let error = MemoryRange::create(&pool, &limits(), short()).expect_err("half of it is missing");
    assert!(error.to_string().starts_with("populate bytes "), "{error}");
    let wanted = RangeWish { effort: RangeEffort::Best, ..short() };
    let (range, report) = MemoryRange::create(&pool, &limits(), wanted).expect("as much as there is");
    assert!(report.resident_bytes < range.bytes() && !report.faults.is_empty(), "{report:?}");
    assert!(report.faults.iter().all(|fault| fault.part.end > BYTES as usize / 2), "{report:?}");
}

#[test]
fn pages_come_to_the_nodes_that_were_named() {
    let pool = pool(2);
    let node = allowed_nodes(&Host::real())[0].number;
    for policy in [NodePolicy::Bind, NodePolicy::Interleave, NodePolicy::Prefer] {
        let placement = Some(Placement { policy, nodes: vec![node] });
        let wanted = RangeWish { placement, ..wish(RangeKind::Anonymous) };
        let (range, _) = match MemoryRange::create(&pool, &limits(), wanted) {
            Err(MemoryError::Refused { step, .. }) if step.starts_with("set the policy") => {
                return testkit::program::left_out("this kernel has no nodes");
            }
            created => created.expect("there is room"),
        };
        let nodes = &seen(&range)[0].nodes;
        assert_eq!(nodes.keys().map(|&node| node as usize).collect::<Vec<_>>(), [node], "{policy:?}");
    }
}
