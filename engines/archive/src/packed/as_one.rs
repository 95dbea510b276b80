//! Two pipelines with the hands of one lease, told as one run: a decoder and what its bytes go to. Judges nothing.

use crew::clocks::{Clocks, StageClock};
use crew::measures::{Access, Measures};

/// What `reading` and the decoder beside it measured. Where the decoder takes its input at offsets or in turns, its work is the run's reading, called `unpack`;
/// where it comes through a pipe, that is the reading, and unpacking stands with the work.
///
/// Each pipeline has as many threads as there are hands, so that where one works a thread of the other has none: that is no time
/// that anybody lost. What the hands did not work is divided as the threads that read divide their waiting.
pub fn as_one(reading: &Measures, decoding: &Measures) -> Measures {
    let (reader, decoder) = (&reading.clocks, &decoding.clocks);
    let [decoder_reads, ..] = decoding.stage_names;
    let [_, works, writes] = reading.stage_names;
    // One stream is unpacked by the thread that reads it, from a pipe too: it takes a hand for that.
    let is_one_stream = decoder_reads == ONE_STREAM;
    let (read, cut, work_too, stage_names) = match decoding.reading {
        Access::OwnThread if is_one_stream => {
            (decoder.read, decoder.cut, computing(&decoder.work), ["unpack", works, writes])
        }
        Access::OwnThread => {
            (decoder.read, decoder.cut, computing(&decoder.work), [decoder_reads, "unpack and extract", writes])
        }
        // Units are decoded by all hands. In order are finding them, and the slicing behind them.
        Access::AtOffsets => {
            let mut read = computing(&decoder.read);
            read.add(&StageClock { starved_ns: decoder.read.starved_ns, ..computing(&decoder.work) });
            let slice = only_busy(&reader.read);
            let cut = if decoder.cut.busy_ns > slice.busy_ns { decoder.cut } else { slice };
            (read, cut, StageClock::default(), ["unpack", works, writes])
        }
        Access::InTurns => (decoder.read, decoder.cut, computing(&decoder.work), ["unpack", works, writes]),
    };
    let wider = if decoding.width > reading.width { decoding } else { reading };
    let workers = reading.workers.max(decoding.workers);
    let read_in_hands_ns = match decoding.reading {
        Access::OwnThread if is_one_stream => read.busy_ns,
        Access::OwnThread => 0,
        Access::AtOffsets | Access::InTurns => read.total_ns(),
    };
    let unpacked_ns = read_in_hands_ns + work_too.total_ns();
    let (write, written_ns) = match reading.writing {
        Access::OwnThread => (reader.write, 0),
        Access::AtOffsets | Access::InTurns => (only_busy(&reader.write), reader.write.busy_ns),
    };
    let worked_ns = unpacked_ns + reader.work.busy_ns + reader.lanes.busy_ns + written_ns;
    let left_ns = (workers as u64 * reading.wall_ns).saturating_sub(worked_ns);
    let mut work = StageClock { busy_ns: reader.work.busy_ns, ..idle(&reader.work, unpacked_ns, left_ns) };
    work.add(&work_too);
    Measures {
        reading: decoding.reading,
        stage_names,
        workers,
        width: wider.width,
        divided_turns: decoding.divided_turns,
        slots: wider.slots,
        clocks: Clocks { read, cut, work, write, lanes: only_busy(&reader.lanes) },
        ..reading.clone()
    }
}

/// What a decoder calls its reading where that unpacks as well.
const ONE_STREAM: &str = "decompress";

/// What a stage computed, and was ready to.
fn computing(clock: &StageClock) -> StageClock {
    let StageClock { busy_ns, cpu_wait_ns, .. } = *clock;
    StageClock { busy_ns, unstaffed_ns: cpu_wait_ns, cpu_wait_ns, ..StageClock::default() }
}

fn only_busy(clock: &StageClock) -> StageClock {
    StageClock { busy_ns: clock.busy_ns, ..StageClock::default() }
}

/// `left_ns` of waiting, as `clock` has it once `elsewhere_ns` are not counted as time without a hand.
fn idle(clock: &StageClock, elsewhere_ns: u64, left_ns: u64) -> StageClock {
    let unstaffed_ns = clock.unstaffed_ns.saturating_sub(elsewhere_ns);
    let whole = clock.starved_ns + clock.blocked_ns + unstaffed_ns;
    if whole == 0 {
        return StageClock { unstaffed_ns: left_ns, ..StageClock::default() };
    }
    let part = |nanoseconds: u64| (left_ns as f64 * (nanoseconds as f64 / whole as f64)) as u64;
    StageClock {
        busy_ns: 0,
        starved_ns: part(clock.starved_ns),
        blocked_ns: part(clock.blocked_ns),
        unstaffed_ns: part(unstaffed_ns),
        cpu_wait_ns: part(clock.cpu_wait_ns.min(unstaffed_ns)),
        asleep_ns: part(clock.asleep_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::measures::Slots;
    use crew::verdict::{Bound, Circumstances, verdict};

    const MS: u64 = 1_000_000;

    fn measures(reading: Access, names: [&'static str; 3], clocks: Clocks) -> Measures {
        Measures {
            wall_ns: 1000 * MS,
            reading,
            writing: Access::AtOffsets,
            stage_names: names,
            width: 2,
            workers: 2,
            slots: Slots { given: 4, wanted: 4, hands_wanted: 2 },
            chunks: 300,
            lanes: 1,
            bytes_in: 1 << 30,
            bytes_out: 1 << 30,
            clocks,
            process_cpu_ns: 1900 * MS,
            divided_turns: None,
        }
    }

    fn clock(busy: u64, starved: u64, unstaffed: u64) -> StageClock {
        StageClock {
            busy_ns: busy * MS,
            starved_ns: starved * MS,
            unstaffed_ns: unstaffed * MS,
            ..StageClock::default()
        }
    }

    /// Extraction: 700 ms of two hands; its threads had none while the decoder worked.
    fn extraction() -> Measures {
        let clocks = Clocks { read: clock(100, 400, 0), work: clock(700, 200, 1100), ..Clocks::default() };
        measures(Access::OwnThread, ["slice", "extract", "finish"], clocks)
    }

    #[test]
    fn hands_that_unpack_are_busy_and_the_forecast_divides_their_work() {
        let clocks = Clocks { read: clock(50, 0, 0), work: clock(1000, 0, 900), ..Clocks::default() };
        let decoding = measures(Access::AtOffsets, ["read", "decompress", "write"], clocks);
        let told = as_one(&extraction(), &decoding);
        assert_eq!((told.clocks.read.busy_ns, told.clocks.cut.busy_ns), (1050 * MS, 100 * MS));
        let work = told.clocks.work;
        assert_eq!(work.total_ns() + told.clocks.read.total_ns(), 2000 * MS, "all the time of two hands");
        assert_eq!((work.busy_ns, work.starved_ns, work.unstaffed_ns), (700 * MS, 200 * MS, 50 * MS));
        let verdict = verdict(&told, &Circumstances::default());
        assert!(matches!(verdict.bound, Bound::Work { stage: "unpack", hands: 2, .. }), "{:?}", verdict.bound);
        let forecast = verdict.forecast.expect("a run with chunks");
        assert!(forecast.points.iter().any(|point| point.cores == 8 && point.seconds < 0.35), "{forecast:?}");
    }

    #[test]
    fn a_decoder_that_cannot_be_divided_is_what_binds() {
        let read = clock(950, 0, 0);
        let clocks = Clocks { read, cut: read, work: clock(20, 900, 0), ..Clocks::default() };
        let decoding = measures(Access::InTurns, ["decompress", "check", "write"], clocks);
        let told = as_one(&extraction(), &decoding);
        let verdict = verdict(&told, &Circumstances::default());
        assert!(matches!(verdict.bound, Bound::Source { stage: "unpack", .. }), "{:?}", verdict.bound);
        assert_eq!(verdict.forecast.and_then(|forecast| forecast.then_bound_by), Some("unpack"));
    }

    #[test]
    fn a_slow_pipe_is_the_source() {
        let clocks = Clocks { read: clock(50, 900, 0), work: clock(300, 1700, 0), ..Clocks::default() };
        let decoding = measures(Access::OwnThread, ["read", "decompress", "write"], clocks);
        let told = as_one(&extraction(), &decoding);
        assert_eq!(told.clocks.work.busy_ns, 1000 * MS);
        assert_eq!(told.clocks.work.total_ns(), 2000 * MS, "all the time of two hands");
        let bound = verdict(&told, &Circumstances::default()).bound;
        assert!(matches!(bound, Bound::Source { stage: "read", .. }), "{bound:?}");
    }

    #[test]
    fn a_slow_pipe_is_the_source_for_one_hand_too() {
        let clocks = Clocks { read: clock(50, 950, 0), work: clock(60, 900, 0), ..Clocks::default() };
        let decoding = Measures { workers: 1, ..measures(Access::OwnThread, ["decompress", "check", "write"], clocks) };
        let clocks = Clocks { read: clock(5, 0, 0), work: clock(40, 950, 0), ..Clocks::default() };
        let extraction = Measures { workers: 1, ..measures(Access::OwnThread, ["slice", "extract", "finish"], clocks) };
        let told = as_one(&extraction, &decoding);
        // The thread that reads unpacks, with a hand, for 50 ms.
        assert_eq!(told.clocks.work.total_ns(), 950 * MS);
        let bound = verdict(&told, &Circumstances::default()).bound;
        assert!(matches!(bound, Bound::Source { stage: "unpack", waiting, .. } if waiting > 0.9), "{bound:?}");
    }

    #[test]
    fn a_decoder_without_a_cpu_waits_for_one_wherever_it_reads() {
        let without = |busy: u64, waited: u64| StageClock { cpu_wait_ns: waited * MS, ..clock(busy, 0, waited) };
        let clocks = Clocks { work: clock(200, 0, 1000), ..Clocks::default() };
        for (access, names, read, work) in [
            (Access::InTurns, ["decompress", "check", "write"], without(300, 650), clock(0, 0, 0)),
            (Access::AtOffsets, ["read", "decompress", "write"], clock(10, 0, 0), without(500, 1200)),
        ] {
            // Input that is read in turns is cut as a whole.
            let cut = if access == Access::InTurns { read } else { StageClock::default() };
            let decoder = Clocks { read, cut, work, ..Clocks::default() };
            let told = as_one(
                &measures(Access::OwnThread, ["slice", "extract", "finish"], clocks),
                &measures(access, names, decoder),
            );
            let whole_ns = told.clocks.read.total_ns() + told.clocks.work.total_ns();
            assert_eq!(whole_ns, 2000 * MS, "all the time of two hands");
            let bound = verdict(&told, &Circumstances::default()).bound;
            assert!(matches!(bound, Bound::Cpu { .. }), "{bound:?}");
        }
    }
}
