//! Waiting times of queues that have closed forms: what a generator must find when it loads a server of known times.

/// A queue before one server, with independent arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownQueue {
    /// Arrivals a second.
    pub arrivals: f64,
    /// Seconds that the server takes, on average.
    pub service: f64,
    /// Whether that varies exponentially (M/M/1); otherwise it is always the same (M/D/1).
    pub is_exponential: bool,
}

impl KnownQueue {
    /// The share of time that the server is busy; from 1 on no queue is known.
    pub fn utilization(&self) -> f64 {
        self.arrivals * self.service
    }

    /// Seconds that one waits before service, on average; none if the server cannot keep up.
    pub fn mean_wait(&self) -> Option<f64> {
        let busy = self.utilization();
        let half = if self.is_exponential { 1.0 } else { 0.5 };
        (busy < 1.0).then(|| half * busy * self.service / (1.0 - busy))
    }

    /// Seconds from arrival to the end of service, on average.
    pub fn mean_response(&self) -> Option<f64> {
        self.mean_wait().map(|wait| wait + self.service)
    }

    /// The probability of a wait of more than so many seconds; none where the closed form cannot be computed.
    pub fn wait_above(&self, seconds: f64) -> Option<f64> {
        let busy = self.utilization();
        if busy >= 1.0 {
            return None;
        }
        if self.is_exponential {
            return Some(busy * libm::exp(-(1.0 / self.service - self.arrivals) * seconds));
        }
        erlang_wait_above(busy, seconds / self.service)
    }

    /// Seconds that a share of all responses takes at most (0.99 for the 99th percentile); none where it is not known.
    pub fn response_percentile(&self, share: f64) -> Option<f64> {
        if !(0.0..1.0).contains(&share) || self.utilization() >= 1.0 {
            return None;
        }
        if self.is_exponential {
            return Some(-libm::log(1.0 - share) / (1.0 / self.service - self.arrivals));
        }
        // Bisection: the probability falls with the time.
        let (mut low, mut high) = (0.0, SERVICES_MAX * self.service);
        if self.wait_above(high)? > 1.0 - share {
            return None;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.wait_above(middle)? > 1.0 - share { low = middle } else { high = middle }
        }
        Some(high + self.service)
    }
}

/// LIMIT: waits in services, beyond which the terms of Erlang's sum are too large for doubles to cancel each other.
const SERVICES_MAX: f64 = 20.0;

/// Erlang's sum for constant service: `busy` is the utilization, `wait` counts services.
fn erlang_wait_above(busy: f64, wait: f64) -> Option<f64> {
    if !(0.0..=SERVICES_MAX).contains(&wait) {
        return None;
    }
    let mut below = 0.0;
    let mut factorial = 1.0;
    for k in 0..=wait as u32 {
        factorial *= f64::from(k.max(1));
        let x = busy * (f64::from(k) - wait);
        below += libm::pow(x, f64::from(k)) / factorial * libm::exp(-x);
    }
    Some((1.0 - (1.0 - busy) * below).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::RandomSource;

    /// Waits of a queue that is played, customer by customer (Lindley).
    fn waits(queue: &KnownQueue, customers: usize) -> Vec<f64> {
        let (mut random, mut wait) = (RandomSource::new(31, 0), 0.0_f64);
        (0..customers)
            .map(|_| {
                let found = wait;
                let service = if queue.is_exponential { queue.service * random.exponential() } else { queue.service };
                wait = (wait + service - random.exponential() / queue.arrivals).max(0.0);
                found
            })
            .collect()
    }

    #[test]
    fn means_are_the_textbooks() {
        let constant = KnownQueue { arrivals: 800.0, service: 0.001, is_exponential: false };
        let exponential = KnownQueue { is_exponential: true, ..constant };
        assert!((constant.mean_wait().expect("it keeps up") - 0.002).abs() < 1e-12);
        assert!((exponential.mean_wait().expect("it keeps up") - 0.004).abs() < 1e-12);
        assert!((exponential.mean_response().expect("it keeps up") - 0.005).abs() < 1e-12);
        assert_eq!(KnownQueue { arrivals: 1000.0, ..constant }.mean_wait(), None);
    }

    #[test]
    fn a_queue_that_is_played_agrees() {
        for is_exponential in [false, true] {
            for busy in [0.3, 0.7] {
                let queue = KnownQueue { arrivals: busy * 1000.0, service: 0.001, is_exponential };
                let waits = waits(&queue, 400_000);
                let mean = waits.iter().sum::<f64>() / waits.len() as f64;
                let expected = queue.mean_wait().expect("it keeps up");
                assert!((mean / expected - 1.0).abs() < 0.03, "{queue:?}: {mean}, not {expected}");
                for seconds in [0.0, 0.0005, 0.001, 0.0025] {
                    let share = waits.iter().filter(|wait| **wait > seconds).count() as f64 / waits.len() as f64;
                    let expected = queue.wait_above(seconds).expect("it is known");
                    assert!((share - expected).abs() < 0.01, "{queue:?} above {seconds}: {share}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn percentiles_undo_probabilities() {
        for is_exponential in [false, true] {
            let queue = KnownQueue { arrivals: 600.0, service: 0.001, is_exponential };
            let found = queue.response_percentile(0.99).expect("it is known");
            if is_exponential {
                assert!((found - 0.011_512_9).abs() < 1e-6, "{found}");
            } else {
                let above = queue.wait_above(found - queue.service).expect("it is known");
                assert!((above - 0.01).abs() < 1e-6, "{above}");
            }
            assert_eq!(queue.response_percentile(1.0), None);
        }
        let busy = KnownQueue { arrivals: 990.0, service: 0.001, is_exponential: false };
        assert_eq!(busy.response_percentile(0.999), None);
    }
}
