//! Cores that external programs keep busy: programs that take no part in the budget. A pure function of samples, so that every run that
//! gives way finds the same; what it finds goes into the run's CPU mask, so that all of them together leave these cores alone.
//!
//! Why nothing swings: what external programs use is what the machine uses less what *all* our runs use. How our runs divide the rest
//! among them, and who has followed already, does not enter.

/// What was measured between two looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalSample {
    /// Cores busy on the whole machine.
    pub busy: f64,
    /// Cores busy for runs of the table.
    pub own: f64,
    /// Share of the time in which somebody on the machine waited for a CPU (PSI, `some`); none where the kernel does not tell.
    pub pressure: Option<f64>,
    /// Threads of this run that waited for a CPU, on average: hands without a core.
    pub delayed: f64,
}

/// How many cores are counted out, and for how long another number has seemed right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalPrograms {
    counted: usize,
    too_few: u32,
    too_many: u32,
}

/// Somebody waits for so much of the time, or so many of our threads do: below that external programs are served as they are, and a
/// core that is counted out would idle.
const CROWDED: f64 = 0.10;
/// How far from what is counted a measurement must be. More than half a core, or one that is half busy would be counted and not
/// counted in turn.
const CLEARLY: f64 = 0.6;
/// Looks in a row before a core is counted out, or in again. More of them follow later; fewer follow a burst. Back in takes
/// longer: a compiler's external programs come and go.
const LOOKS_OUT: u32 = 2;
const LOOKS_IN: u32 = 4;

impl ExternalPrograms {
    /// Takes a sample in, on a machine where this run could use `cpus`; how many of these are to be left alone from now on. One
    /// more or one fewer at a time, and never all.
    pub fn note(&mut self, sample: ExternalSample, cpus: usize) -> usize {
        let used = (sample.busy - sample.own).max(0.0);
        let is_crowded = sample.pressure.is_some_and(|share| share >= CROWDED) || sample.delayed >= CROWDED;
        let counted = self.counted as f64;
        self.too_few = if is_crowded && used > counted + CLEARLY { self.too_few + 1 } else { 0 };
        self.too_many = if used < counted - CLEARLY { self.too_many + 1 } else { 0 };
        if self.too_few >= LOOKS_OUT {
            (self.counted, self.too_few) = (self.counted + 1, 0);
        } else if self.too_many >= LOOKS_IN {
            (self.counted, self.too_many) = (self.counted.saturating_sub(1), 0);
        }
        self.counted = self.counted.min(cpus.saturating_sub(1));
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of `cores` shared by external programs that want `external_programs` cores at the usual priority, and runs that give way and
    /// could use everything: what the kernel gives to each, with runs at so much of an external program's weight.
    struct Machine {
        cores: f64,
        weight: f64,
    }

    impl Machine {
        /// One second in which `runs` hold so many hands each.
        fn second(&self, external_programs: f64, hands: &[usize]) -> Vec<ExternalSample> {
            let threads: f64 = hands.iter().map(|&hands| hands as f64).sum();
            let own_wanted = threads * self.weight;
            let fair = (self.cores / (external_programs + own_wanted)).min(1.0);
            // External programs get their weight's share, runs what is left and no more than they have threads.
            let used = (external_programs * fair.max((self.cores - threads) / external_programs.max(1e-9)).min(1.0))
                .min(external_programs);
            let own = (self.cores - used).min(threads);
            let is_crowded = external_programs + threads > self.cores;
            let pressure = Some(if is_crowded { 0.8 } else { 0.0 });
            let of = |&hands: &usize| {
                let delayed = (hands as f64 - own * hands as f64 / threads.max(1.0)).max(0.0);
                ExternalSample { busy: used + own, own, pressure, delayed }
            };
            hands.iter().map(of).collect()
        }

        /// What runs have counted out after each second; `external_programs` tells how many want a core then.
        fn play(&self, runs: usize, external_programs: impl Fn(usize) -> f64, seconds: usize) -> Vec<Vec<usize>> {
            let cores = self.cores as usize;
            let mut found = vec![ExternalPrograms::default(); runs];
            let mut history = Vec::new();
            for second in 0..seconds {
                // Runs look at different times.
                let counted: Vec<usize> = found.iter().map(|external_programs| external_programs.counted).collect();
                let hands = hands_of(cores, &counted);
                let samples = self.second(external_programs(second), &hands);
                let looks = |run: usize| (second + run).is_multiple_of(1 + run % 2);
                for (run, (external_programs, sample)) in found.iter_mut().zip(samples).enumerate() {
                    if looks(run) {
                        external_programs.note(sample, cores);
                    }
                }
                history.push(found.iter().map(|external_programs| external_programs.counted).collect());
            }
            history
        }
    }

    /// What the entitlement gives to runs that have counted out so many cores: it divides what any of them may use, and the mask
    /// of each bounds it.
    fn hands_of(cores: usize, counted: &[usize]) -> Vec<usize> {
        let (open, runs) = (cores - counted.iter().min().expect("a run at least"), counted.len());
        counted.iter().map(|counted| (open / runs).min(cores - counted).max(1)).collect()
    }

    /// How often the number changes its direction.
    fn turns(history: &[Vec<usize>], run: usize) -> usize {
        let steps: Vec<isize> = history.windows(2).map(|pair| pair[1][run] as isize - pair[0][run] as isize).collect();
        let moves: Vec<isize> = steps.into_iter().filter(|step| *step != 0).collect();
        moves.windows(2).filter(|pair| pair[0].signum() != pair[1].signum()).count()
    }

    #[test]
    fn external_programs_are_counted_out_one_by_one_and_in_again_when_they_leave() {
        let machine = Machine { cores: 8.0, weight: 0.1 };
        let history = machine.play(1, |second| if second < 30 { 3.0 } else { 0.0 }, 80);
        assert_eq!(history[29], [3]);
        assert_eq!(history[79], [0]);
        assert_eq!(turns(&history, 0), 1, "once up, once down: {history:?}");
        assert!(history.windows(2).all(|pair| pair[0][0].abs_diff(pair[1][0]) <= 1));
    }

    #[test]
    fn several_runs_that_do_the_same_come_to_rest_and_leave_room() {
        for runs in [2, 3, 4] {
            for external_programs in [1.0, 2.0, 3.0, 5.0] {
                let machine = Machine { cores: 16.0, weight: 0.1 };
                let history = machine.play(runs, |_| external_programs, 120);
                let hands: usize = hands_of(16, &history[119]).iter().sum();
                assert!(
                    hands + external_programs as usize <= 16,
                    "{runs} runs, {external_programs} strangers: {:?}",
                    history[119]
                );
                for run in 0..runs {
                    assert!(history[119][run] <= external_programs as usize, "{:?}", history[119]);
                    assert_eq!(turns(&history, run), 0, "{history:?}");
                }
            }
        }
    }

    #[test]
    fn half_a_core_is_neither_in_nor_out_for_ever() {
        for wanted in [0.3, 0.5, 1.5, 2.5] {
            let history = Machine { cores: 8.0, weight: 0.1 }.play(2, |_| wanted, 200);
            assert!(turns(&history, 0) == 0 && turns(&history, 1) == 0, "{wanted}: {history:?}");
        }
    }

    #[test]
    fn a_burst_is_not_followed_and_idle_external_programs_do_not_count() {
        let machine = Machine { cores: 8.0, weight: 0.1 };
        let bursts = machine.play(1, |second| if second % 10 == 0 { 6.0 } else { 0.0 }, 100);
        assert!(bursts.iter().all(|counted| counted == &[0]), "{bursts:?}");
        let mut external_programs = ExternalPrograms::default();
        let calm = ExternalSample { busy: 5.0, own: 1.0, pressure: Some(0.01), delayed: 0.0 };
        assert!((0..50).all(|_| external_programs.note(calm, 8) == 0), "there is room for all");
        let untold = ExternalSample { pressure: None, ..calm };
        assert!((0..50).all(|_| external_programs.note(untold, 8) == 0));
        let delayed = ExternalSample { delayed: 0.9, ..untold };
        assert_eq!(
            (0..50).map(|_| external_programs.note(delayed, 8)).max(),
            Some(4),
            "without PSI the run's own delay tells"
        );
        let crowd = ExternalSample { busy: 9.0, own: 0.0, pressure: Some(1.0), delayed: 1.0 };
        assert_eq!((0..50).map(|_| external_programs.note(crowd, 2)).max(), Some(1), "one is left");
    }
}
