//! How fast the producer's bytes come, as far as we let them: time in which we did not read is not the producer's.
//! Decides nothing.

/// What the hands must keep pace with is a mean over at most this time: what is shorter is a burst, and the slots are there for
/// bursts. Where the slots fill in less, it is a mean over twice that time.
const MEAN_NS: f64 = 3e9;

/// A burst is known as such after this time; where it would fill the slots sooner, after a quarter of that, but never within less than
/// the other: after a wait of ours the pipe is full, and its bytes come faster than any producer.
const BURST_NS: f64 = 0.15e9;
const BURST_LEAST_NS: f64 = 0.03e9;

/// And it is remembered for about this long, so that the next one finds room.
const MEMORY_NS: f64 = 10e9;

/// A chunk from the producer.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Uncompressed bytes.
    pub bytes: u64,
    /// How long we waited for them and read them.
    pub reading_ns: u64,
    /// How long, before that, we could not read for want of a slot.
    pub waited_ns: u64,
}

/// What is known of the producer. Rates are bytes a nanosecond.
pub(super) struct Arrivals {
    rate: f64,
    burst: f64,
    peak: f64,
    /// With the time included in which we did not read: what got through.
    admitted: f64,
    last_ns: u64,
    chunk_bytes: f64,
    buffer_bytes: f64,
    /// Sum of all [`Arrival::waited_ns`].
    pub waited_ns: u64,
}

impl Arrivals {
    /// `buffer_bytes` is what all slots hold.
    pub fn new(buffer_bytes: f64) -> Self {
        Self {
            rate: 0.0,
            burst: 0.0,
            peak: 0.0,
            admitted: 0.0,
            last_ns: 0,
            chunk_bytes: 0.0,
            buffer_bytes,
            waited_ns: 0,
        }
    }

    pub fn arrived(&mut self, now_ns: u64, arrival: Arrival) {
        let took_ns = arrival.reading_ns.max(1) as f64;
        let rate = arrival.bytes as f64 / took_ns;
        let span_ns = took_ns + arrival.waited_ns as f64;
        let admitted = arrival.bytes as f64 / span_ns;
        if self.last_ns == 0 {
            (self.rate, self.burst, self.admitted) = (rate, rate, admitted);
        }
        self.rate = follow(self.rate, rate, took_ns, self.mean_ns());
        let burst_ns = (self.buffer_bytes / rate / 4.0).clamp(BURST_LEAST_NS, BURST_NS);
        self.burst = follow(self.burst, rate, took_ns, burst_ns);
        self.admitted = follow(self.admitted, admitted, span_ns, MEAN_NS / 4.0);
        self.peak = (self.peak * libm::exp(-span_ns / MEMORY_NS)).max(self.burst);
        self.last_ns = now_ns;
        self.chunk_bytes = self.chunk_bytes.max(arrival.bytes as f64);
        self.waited_ns += arrival.waited_ns;
    }

    /// What the producer gives, pauses included. A chunk that is overdue tells that it has become slower.
    pub fn rate(&self, now_ns: u64) -> f64 {
        let silent_ns = now_ns.saturating_sub(self.last_ns) as f64;
        let at_most = self.chunk_bytes / silent_ns.max(1.0);
        if at_most < self.rate { follow(self.rate, at_most, silent_ns, self.mean_ns()) } else { self.rate }
    }

    /// The most it gave lately.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// What gets through, waits of ours included.
    pub fn admitted(&self) -> f64 {
        self.admitted
    }

    fn mean_ns(&self) -> f64 {
        (2.0 * self.buffer_bytes / self.peak.max(1e-9)).clamp(BURST_NS, MEAN_NS)
    }
}

/// Exponential smoothing over time.
fn follow(from: f64, to: f64, during_ns: f64, time_ns: f64) -> f64 {
    to + (from - to) * libm::exp(-during_ns / time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(arrivals: &mut Arrivals, now_ns: &mut u64, chunks: u64, reading_ns: u64, waited_ns: u64) {
        for _ in 0..chunks {
            *now_ns += reading_ns + waited_ns;
            arrivals.arrived(*now_ns, Arrival { bytes: 1_000_000, reading_ns, waited_ns });
        }
    }

    #[test]
    fn waits_of_ours_are_not_the_producers() {
        let (mut arrivals, mut now_ns) = (Arrivals::new(1e12), 0);
        feed(&mut arrivals, &mut now_ns, 100, 10_000_000, 40_000_000);
        assert!((arrivals.rate(now_ns) - 0.1).abs() < 1e-3, "100 MB/s");
        assert!((arrivals.admitted() - 0.02).abs() < 1e-3, "20 MB/s");
        assert_eq!(arrivals.waited_ns, 4_000_000_000);
    }

    #[test]
    fn silence_lowers_the_rate_and_a_burst_is_remembered() {
        let (mut arrivals, mut now_ns) = (Arrivals::new(1e12), 0);
        feed(&mut arrivals, &mut now_ns, 1000, 10_000_000, 0);
        assert!(arrivals.rate(now_ns + 3_000_000_000) < 0.04);
        assert!(arrivals.rate(now_ns + 5_000_000) > 0.09);
        feed(&mut arrivals, &mut now_ns, 5, 1_000_000_000, 0);
        assert!(arrivals.rate(now_ns) < 0.025);
        assert!(arrivals.peak() > 0.05);
    }
}
