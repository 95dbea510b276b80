//! Pages that did not pass are read again before they are called corrupt: a server that writes to the file meanwhile may have been in the middle of
//! a page. Waits longer for files that are being written to.

use crate::judge::{PageVerdict, judge};
use crate::outcome::CorruptPage;
use crate::page::PageType;
use crate::tablespace::Tablespace;
use std::thread::sleep;
use std::time::Duration;

/// How long a page may stay as it is before it is called corrupt; after the first wait only in a file that is in use. LIMIT: a write takes microseconds, or as
/// long as its thread has no CPU.
const WAITS: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];

/// What came of the pages that were read again.
#[derive(Debug, Default)]
pub struct Rechecked {
    /// Passed.
    pub good: u64,
    /// All zeros by now.
    pub zero: u64,
    /// Free by now.
    pub free: u64,
    /// Beyond the file's end by now: a server has cut it off.
    pub gone: u64,
    /// Not checkable.
    pub not_checkable: Vec<crate::judge::Reason>,
    /// Corrupt for good.
    pub corrupt: Vec<CorruptPage>,
}

/// Reads suspect pages again until they pass or have had their time. `is_live` says whether somebody writes to the file: a server has it open, or its time of
/// change has moved.
pub fn recheck(space: &Tablespace, suspects: Vec<CorruptPage>, is_live: &dyn Fn() -> bool) -> Rechecked {
    let mut rechecked = Rechecked { corrupt: suspects, ..Rechecked::default() };
    let mut page = vec![0; space.facts().layout.physical_bytes];
    for (round, wait) in WAITS.iter().enumerate() {
        if rechecked.corrupt.is_empty() || (round > 0 && !is_live()) {
            break;
        }
        sleep(*wait);
        for suspect in std::mem::take(&mut rechecked.corrupt) {
            look_again(space, suspect, &mut page, &mut rechecked);
        }
    }
    rechecked
}

/// Whether something that should not be so is still so when a page has had its time.
pub fn stays(is_so: &dyn Fn() -> bool, is_live: &dyn Fn() -> bool) -> bool {
    for (round, wait) in WAITS.iter().enumerate() {
        if !is_so() {
            return false;
        }
        if round > 0 && !is_live() {
            break;
        }
        sleep(*wait);
    }
    is_so()
}

fn look_again(space: &Tablespace, suspect: CorruptPage, page: &mut [u8], rechecked: &mut Rechecked) {
    let number = suspect.number;
    match space.read(number, page) {
        Ok(filled) if filled < page.len() => {
            rechecked.gone += 1;
            return;
        }
        Err(_same_as_before) => {
            rechecked.corrupt.push(suspect);
            return;
        }
        Ok(_) => {}
    }
    match judge(page, number, space.facts()) {
        PageVerdict::Good => rechecked.good += 1,
        PageVerdict::Zero => rechecked.zero += 1,
        PageVerdict::NotCheckable(reason) => rechecked.not_checkable.push(reason),
        PageVerdict::Corrupt(_) if is_free_now(space, number) => rechecked.free += 1,
        PageVerdict::Corrupt(mismatches) => {
            let type_name = PageType::of(page).name();
            rechecked.corrupt.push(CorruptPage { type_name, mismatches, ..suspect });
        }
    }
}

fn is_free_now(space: &Tablespace, number: u32) -> bool {
    space.free_map(number).ok().flatten().is_some_and(|map| space.is_free(&map, number))
}
