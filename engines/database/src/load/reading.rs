//! The reader: all inputs in their order, cut into chunks, what an earlier load has done passed over.

use super::control::{LoadClocks, LoadControl, PanicEnds};
use super::ledger::{ChunkLedger, LoadedRange};
use super::{HeaderUse, TableLoad};
use crate::chunks::{ChunkCutter, CutFailure, RowPlace};
use crate::error::{InputDefect, LoadFailure};
use crate::inputs::InputReading;
use crate::rows::{RowFormat, RowValues};
use std::io::{self, Read};
use std::time::{Duration, Instant};
use sys::cpu_clock::thread_cpu_ns;

/// Reads all inputs; ends the load if one is not what it should be.
pub fn read_all(load: &TableLoad<'_>, control: &LoadControl, ledger: Option<&ChunkLedger>) -> LoadClocks {
    let _panic_ends = PanicEnds(control);
    let mut clocks = LoadClocks::default();
    let cpu_before = thread_cpu_ns();
    for input in 0..load.inputs.len() {
        if control.is_stopped() {
            break;
        }
        if let Err(error) = read_one(load, control, ledger, input, &mut clocks) {
            control.fail(error, None);
        }
    }
    control.queue.close();
    clocks.cutting = Duration::from_nanos(thread_cpu_ns() - cpu_before);
    clocks
}

fn read_one(
    load: &TableLoad<'_>,
    control: &LoadControl,
    ledger: Option<&ChunkLedger>,
    input: usize,
    clocks: &mut LoadClocks,
) -> Result<(), LoadFailure> {
    let how = InputReading { lease: load.lease, decoders: load.decoders, tally: control.read_tally() };
    let done = ledger.map(|ledger| ledger.done_of(input)).unwrap_or_default();
    let failed = |failure| match failure {
        CutFailure::Read(cause) => LoadFailure::Read { input, cause },
        CutFailure::Defect(place, defect) => LoadFailure::Input { place, defect },
    };
    let outcome = load.inputs[input].with_bytes(&how, |reader| {
        let mut timed = TimedReader { reader, waited: Duration::ZERO };
        let mut waited_for_room = Duration::ZERO;
        let mut cutter = ChunkCutter::new(load.rules, input, &mut timed);
        let outcome = cut(load, control, &mut cutter, input, &done, &mut waited_for_room);
        clocks.reading += timed.waited;
        clocks.waiting_for_room += waited_for_room;
        outcome
    });
    outcome.map_err(|cause| LoadFailure::Read { input, cause })?.map_err(failed)
}

fn cut(
    load: &TableLoad<'_>,
    control: &LoadControl,
    cutter: &mut ChunkCutter<'_>,
    input: usize,
    done: &[LoadedRange],
    waited: &mut Duration,
) -> Result<(), CutFailure> {
    if let Some(header) = cutter.header()? {
        check_header(load, input, &header)?;
    }
    let mut done = done.iter().peekable();
    loop {
        while let Some(range) = done.next_if(|range| range.begin <= cutter.offset()) {
            cutter.skip_to(range.end, range.first_line + range.lines)?;
        }
        let until = done.peek().map(|range| range.begin);
        let Some(chunk) = cutter.next(until, control.queue.emptied())? else { return Ok(()) };
        let before = Instant::now();
        if !control.queue.push(chunk, load.held_bytes) {
            return Ok(());
        }
        *waited += before.elapsed();
    }
}

/// What a header's fields are.
pub fn header_names(format: &RowFormat, header: &[u8]) -> Result<Vec<String>, InputDefect> {
    let mut values = RowValues::default();
    values.read(format, header)?;
    Ok(values.iter().map(|value| String::from_utf8_lossy(value.unwrap_or_default()).into_owned()).collect())
}

fn check_header(load: &TableLoad<'_>, input: usize, header: &[u8]) -> Result<(), CutFailure> {
    let place = RowPlace { input, line: 1, offset: 0 };
    let defect = |defect| CutFailure::Defect(place, defect);
    let names = header_names(load.target.format(), header).map_err(defect)?;
    match header_fault(load.header, &names, load.target.columns()) {
        None => Ok(()),
        Some(message) => Err(defect(InputDefect::Header(message))),
    }
}

/// What is wrong with a header.
fn header_fault(how: HeaderUse, names: &[String], columns: &[String]) -> Option<String> {
    let is_same =
        names.len() == columns.len() && names.iter().zip(columns).all(|(name, column)| is_name_of(name, column));
    let is_permuted =
        names.len() == columns.len() && columns.iter().all(|column| names.iter().any(|name| is_name_of(name, column)));
    let (named, wanted) = (names.join(", "), columns.join(", "));
    match how {
        HeaderUse::Skipped => None,
        HeaderUse::Checked if is_permuted && !is_same => Some(format!(
            "the header has the columns in another order ({named}); --header=names loads by name, --header=skip by place"
        )),
        HeaderUse::Checked => None,
        HeaderUse::Matched | HeaderUse::Names if is_same => None,
        HeaderUse::Matched | HeaderUse::Names => Some(format!("the header is {named}; expected {wanted}")),
    }
}

/// Whether a field of a header names a column, whatever its case.
pub fn is_name_of(field: &str, column: &str) -> bool {
    field.trim().eq_ignore_ascii_case(column)
}

/// Measures how long reads wait.
struct TimedReader<'a> {
    reader: &'a mut dyn Read,
    waited: Duration,
}

impl Read for TimedReader<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (begin, cpu_begin) = (Instant::now(), thread_cpu_ns());
        let outcome = self.reader.read(room);
        self.waited += begin.elapsed().saturating_sub(Duration::from_nanos(thread_cpu_ns() - cpu_begin));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_in_another_order_is_no_header_to_pass_over() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let fault = |how, header: &str| header_fault(how, &names(header), &names("id,name")).is_some();
        assert!(!fault(HeaderUse::Checked, "ID, name") && !fault(HeaderUse::Checked, "Number,Title"));
        assert!(fault(HeaderUse::Checked, "name,id") && !fault(HeaderUse::Skipped, "name,id"));
        assert!(
            fault(HeaderUse::Matched, "name,id")
                && fault(HeaderUse::Matched, "id")
                && !fault(HeaderUse::Matched, "id,name")
        );
    }
}
