//! When transactions are due: closed, open at a rate that may change, or each connection by a clock of its own. Pure: times are nanoseconds since the
//! run began, and nothing here looks at a clock.

mod profile;

pub use profile::{ProfileError, RateProfile, RateSegment};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What makes a transaction due.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalModel {
    /// A connection begins its next transaction when its last one has ended and its user has thought.
    Closed(Think),
    /// Transactions are due at a rate, whatever the server does.
    Open {
        /// How many a second.
        rate: RateProfile,
        /// How they lie beside each other.
        spacing: Spacing,
    },
    /// Each connection has its own period, as sysbench's `--tx-rate` had it.
    Clocked {
        /// Transactions a second of all connections.
        rate: f64,
        /// How far a transaction may lie from its place, to either side; none for a tenth of a connection's period.
        jitter_ns: Option<u64>,
    },
}

/// How arrivals of an open load lie beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Independent of each other: exponential gaps, as many users who do not know each other make them.
    Poisson,
    /// All gaps alike.
    Fixed,
}

/// The time between the end of a transaction and the next one of the same connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// On average.
    pub mean_ns: u64,
    /// Whether it varies exponentially; otherwise it is always the same.
    pub is_exponential: bool,
}

impl Think {
    /// One time.
    pub fn draw_ns(&self, random: &mut RandomSource) -> u64 {
        if self.is_exponential { (random.exponential() * self.mean_ns as f64) as u64 } else { self.mean_ns }
    }
}

/// Random numbers of one thread.
#[derive(Clone, Debug)]
pub struct RandomSource(Xoshiro256PlusPlus);

impl RandomSource {
    /// The source of one thread of a run: other numbers for each, the same for the same seed.
    pub fn new(seed: u64, thread: usize) -> Self {
        let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _earlier in 0..thread {
            source.jump();
        }
        Self(source)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponentially distributed with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

/// The planned instants of an open load, or of one thread's part of it, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    profile: RateProfile,
    spacing: Spacing,
    random: RandomSource,
    /// How many parts the load has; this one takes every so manieth.
    parts: f64,
    /// Arrivals of all parts before the next one.
    count: f64,
}

impl Schedule {
    /// Part `part` of `parts`: together they are the whole load, without knowing each other.
    pub fn new(profile: RateProfile, spacing: Spacing, seed: u64, part: usize, parts: usize) -> Self {
        let mut random = RandomSource::new(seed, part);
        let parts = parts.max(1) as f64;
        let count = match spacing {
            Spacing::Poisson => random.exponential() * parts,
            Spacing::Fixed => part as f64,
        };
        Self { profile, spacing, random, parts, count }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let seconds = self.profile.time_of(self.count)?;
        self.count += match self.spacing {
            Spacing::Poisson => self.random.exponential() * self.parts,
            Spacing::Fixed => self.parts,
        };
        Some(nanoseconds(seconds))
    }
}

/// The planned instants of one connection that has its own clock.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionClock {
    period_ns: f64,
    phase_ns: f64,
    jitter_ns: f64,
    turn: u64,
}

impl ConnectionClock {
    /// Connection `client` of `clients`: their phases are spread over the period.
    pub fn new(rate: f64, jitter_ns: Option<u64>, client: usize, clients: usize) -> Self {
        let period_ns = clients as f64 * 1e9 / rate;
        let jitter_ns = jitter_ns.map_or(period_ns / 10.0, |jitter| jitter as f64);
        Self { period_ns, phase_ns: period_ns * client as f64 / clients as f64, jitter_ns, turn: 0 }
    }

    /// The next instant. Jitter is taken from a place in an even grid, so that it adds up to nothing however long a run is.
    pub fn next_ns(&mut self, random: &mut RandomSource) -> u64 {
        let place = self.phase_ns + self.turn as f64 * self.period_ns;
        self.turn += 1;
        (place + (2.0 * random.unit() - 1.0) * self.jitter_ns).max(0.0) as u64
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(rate: f64) -> RateProfile {
        RateProfile::constant(rate).expect("a rate")
    }

    #[test]
    fn parts_of_a_fixed_load_are_the_whole() {
        let whole: Vec<u64> = Schedule::new(constant(1000.0), Spacing::Fixed, 1, 0, 1).take(300).collect();
        let mut parts: Vec<u64> =
            (0..3).flat_map(|part| Schedule::new(constant(1000.0), Spacing::Fixed, 1, part, 3).take(100)).collect();
        parts.sort_unstable();
        assert_eq!(whole, parts);
        assert_eq!(whole[..3], [0, 1_000_000, 2_000_000]);
    }

    #[test]
    fn gaps_of_a_poisson_load_have_the_mean_and_the_spread_of_exponentials() {
        let times: Vec<u64> = Schedule::new(constant(1000.0), Spacing::Poisson, 7, 1, 4).take(40_001).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 4e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn a_ramp_has_half_of_its_arrivals_where_its_area_is_halved() {
        let ramp: RateProfile = "0..1000@10s".parse().expect("a profile");
        let times: Vec<u64> =
            Schedule::new(ramp, Spacing::Fixed, 1, 0, 1).take_while(|time| *time < 10_000_000_000).collect();
        assert_eq!(times.len(), 5000);
        let expected = 10e9 * (0.5_f64).sqrt();
        assert!((times[2500] as f64 - expected).abs() < 2e3, "{}", times[2500]);
    }

    #[test]
    fn jitter_stays_around_its_places_and_shifts_no_rate() {
        let mut random = RandomSource::new(5, 0);
        let mut clock = ConnectionClock::new(100.0, None, 3, 10);
        for turn in 0..10_000_u64 {
            let place = 30_000_000.0 + turn as f64 * 100_000_000.0;
            assert!((clock.next_ns(&mut random) as f64 - place).abs() <= 10_000_001.0);
        }
    }

    #[test]
    fn sources_of_threads_differ_and_repeat() {
        let (mut first, mut again, mut second) =
            (RandomSource::new(9, 0), RandomSource::new(9, 0), RandomSource::new(9, 1));
        let numbers = |source: &mut RandomSource| (0..4).map(|_| source.bits()).collect::<Vec<_>>();
        assert_eq!(numbers(&mut first), numbers(&mut again));
        assert_ne!(numbers(&mut first), numbers(&mut second));
    }
}
