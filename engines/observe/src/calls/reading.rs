//! From the programs' memory to a snapshot. Reads while they write: a number may be a call older than its neighbour.

use super::layout::{self, CallMemory, CallRow, cell, header, owner, thread};
use super::programs::births::CallGrouping;
use super::snapshot::{CallSnapshot, DURATION_KINDS, Losses, OwnerTimes, Slowest, TimeOwner};
use crate::source::words::text_of;

/// LIMIT: readings of a memory in which threads begin and end all the while; the last one is taken as it is.
const READINGS_MAX: usize = 8;

/// All that is in the memory, and when that was by `clock`.
///
/// A thread that ends while it is read has its calls in the cells and its life nowhere: then it is read once more.
pub fn read(memory: &CallMemory, grouping: CallGrouping, clock: fn() -> u64) -> (CallSnapshot, u64) {
    let mut reading = 0;
    loop {
        reading += 1;
        let before = comings_and_goings(memory);
        let mut owners: Vec<OwnerTimes> =
            (0..owners_given(memory)).map(|number| read_owner(memory, grouping, number)).collect();
        // After the calls that are over: none of them ended later than now.
        let now_ns = clock();
        add_living(memory, &mut owners, now_ns);
        if reading == READINGS_MAX || comings_and_goings(memory) == before {
            return (snapshot(memory, owners), now_ns);
        }
    }
}

fn owners_given(memory: &CallMemory) -> u32 {
    memory.header(header::OWNERS_NEXT).min(u64::from(layout::OWNERS)) as u32
}

/// How many threads have begun and ended.
fn comings_and_goings(memory: &CallMemory) -> (u64, u64) {
    let rows = (0..owners_given(memory)).map(|number| memory.owner(number));
    rows.fold((0, 0), |(begun, ended), row| (begun + row.word(owner::BEGUN), ended + row.word(owner::ENDED)))
}

fn snapshot(memory: &CallMemory, mut owners: Vec<OwnerTimes>) -> CallSnapshot {
    let others = &mut owners[layout::OWNER_OTHERS as usize];
    add_cell(memory, others, layout::CALL_OTHER, layout::CELL_OTHERS);
    let owners = owners.into_iter().enumerate();
    let shown = owners.filter(|(number, owner)| {
        ![layout::OWNER_NONE, layout::OWNER_OURSELVES].contains(&(*number as u32))
            && (owner.threads > 0 || !owner.calls.is_empty())
    });
    CallSnapshot {
        elapsed_ns: 0,
        owners: shown.map(|(_, owner)| owner).collect(),
        bystander_calls: memory.bystander_calls(),
        samples: 0,
        lost: Losses {
            owners_merged: memory.header(header::OWNERS_REFUSED),
            calls_merged: memory.header(header::CELLS_REFUSED),
            threads_missed: memory.header(header::THREADS_REFUSED),
            events_missed: 0,
            returns_unseen: memory.header(header::RETURNS_UNSEEN),
        },
    }
}

fn read_owner(memory: &CallMemory, grouping: CallGrouping, number: u32) -> OwnerTimes {
    let row = memory.owner(number);
    let mut times = OwnerTimes {
        threads: row.word(owner::BEGUN),
        life_ns: row.word(owner::LIFE),
        between_waiting_ns: row.word(owner::IDLE),
        cut_ns: row.word(owner::CUT),
        cut_waiting_ns: row.word(owner::CUT_WAITED),
        ..OwnerTimes::new(who(row, grouping, number))
    };
    for call in 0..layout::CALLS {
        let place = memory.place(number, call);
        if place != 0 && place != layout::CELL_OTHERS {
            add_cell(memory, &mut times, call, place);
        }
    }
    times
}

fn who(row: CallRow<'_>, grouping: CallGrouping, number: u32) -> TimeOwner {
    if number < layout::OWNER_FIRST {
        return if number == layout::OWNER_ALL { TimeOwner::All } else { TimeOwner::Others };
    }
    match grouping {
        CallGrouping::Together => TimeOwner::All,
        CallGrouping::Process => TimeOwner::Process { pid: row.half(owner::TGID), name: name(row) },
        CallGrouping::Thread => {
            TimeOwner::Thread { pid: row.half(owner::TGID), thread: row.half(owner::THREAD), name: name(row) }
        }
        CallGrouping::Name => TimeOwner::Name(name(row)),
        CallGrouping::Group => TimeOwner::Group { number: row.word(owner::GROUP), path: None },
    }
}

fn name(row: CallRow<'_>) -> String {
    let bytes = [row.word(owner::NAME), row.word(owner::NAME + 8)].map(u64::to_ne_bytes).concat();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    text_of(&bytes[..end])
}

/// Adds a cell of all CPUs to the row of `call`.
fn add_cell(memory: &CallMemory, owner: &mut OwnerTimes, call: u32, number: u32) {
    for cpu in 0..memory.size.cpus {
        let row = memory.cell(cpu, number);
        let durations: [u64; DURATION_KINDS] = std::array::from_fn(|kind| row.word(cell::DURATIONS + 8 * kind as i16));
        let ended: u64 = durations.iter().sum();
        if ended == 0 {
            continue;
        }
        let times = owner.call(call);
        times.ended += ended;
        times.total_ns += row.word(cell::TOTAL);
        times.waiting_ns += row.word(cell::WAITED);
        times.durations.iter_mut().zip(durations).for_each(|(sum, count)| *sum += count);
        for kind in 0..cell::ERROR_KINDS {
            let word = row.word(cell::ERRORS + 8 * kind);
            if word != 0 {
                times.add_errors((word >> cell::ERROR_SHIFT) as u16, word & ((1 << cell::ERROR_SHIFT) - 1));
            }
        }
        if row.word(cell::ERRORS_OTHER) != 0 {
            times.add_errors(0, row.word(cell::ERRORS_OTHER));
        }
        times.errors.sort_by_key(|(number, count)| (std::cmp::Reverse(*count), *number));
        let duration_ns = row.word(cell::MAX);
        if times.slowest.as_ref().is_none_or(|slowest| slowest.duration_ns < duration_ns) {
            let who = row.word(cell::MAX_WHO);
            times.slowest = Some(Slowest {
                duration_ns,
                pid: (who >> 32) as u32,
                thread: who as u32,
                first_argument: row.word(cell::MAX_ARGUMENT),
                path: None,
            });
        }
    }
}

/// Threads that are still followed have not settled yet: what they did up to now, and the call they are in.
fn add_living(memory: &CallMemory, owners: &mut [OwnerTimes], now_ns: u64) {
    for number in 0..memory.size.threads {
        let row = memory.thread(number);
        let Some(owner) = owners.get_mut(row.half(thread::OWNER) as usize) else { continue };
        if row.half(thread::OWNER) == layout::OWNER_NONE {
            continue;
        }
        let since = |at| now_ns.saturating_sub(row.word(at));
        let off_ns = if row.word(thread::OFF_SINCE) == 0 { 0 } else { since(thread::OFF_SINCE) };
        owner.threads_living += 1;
        owner.life_ns += since(thread::BORN);
        owner.between_waiting_ns += row.word(thread::IDLE);
        match row.half(thread::CALL) {
            0 => owner.between_waiting_ns += off_ns,
            call => {
                let times = owner.call((call - 1) & (layout::CALLS - 1));
                times.add_under_way(since(thread::SINCE));
                times.waiting_ns += row.word(thread::WAITED) + off_ns;
            }
        }
    }
}
