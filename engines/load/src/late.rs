//! Who was late: the server, or the generator that measures it. Where it was the generator, percentiles say nothing about the server.

use crate::generator::ThreadUse;
use crate::ledger::{Failing, Ledger};
use serde::Serialize;

/// What bound a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "who", rename_all = "kebab-case")]
pub enum WhoWasLate {
    /// Nobody: what was due was sent in time and answered in time.
    Nobody,
    /// The server: transactions waited for a connection, or the closed load had no rest.
    Server,
    /// A thread of the generator had no CPU time left, or sent too late. Times are the generator's, too.
    Generator {
        /// Why that is known.
        reason: String,
    },
}

/// A thread that computes for this share of its time cannot send on time.
const BUSY_SHARE: f64 = 0.95;
/// Lateness above this share of the response time spoils it.
const SLIP_SHARE: f64 = 0.1;
/// Lateness below this is the clock's and the scheduler's, on any machine.
const SLIP_LEAST_NS: u64 = 200_000;

/// What a run was like.
#[derive(Clone, Copy, Debug)]
pub struct LoadKind {
    /// Transactions are due whatever the server does.
    pub is_open: bool,
    /// The database works in the generator's own threads, so that their CPU time is its.
    pub is_embedded: bool,
}

/// Judges a run.
pub fn judge(ledger: &Ledger, threads: &[ThreadUse], kind: LoadKind) -> WhoWasLate {
    let is_open = kind.is_open;
    let share = |used: &ThreadUse| used.cpu_ns as f64 / used.elapsed_ns.max(1) as f64;
    let busiest = threads.iter().map(share).fold(0.0, f64::max);
    if busiest >= BUSY_SHARE && !kind.is_embedded {
        let reason = format!("a thread of the generator computed for {:.0} % of the time", busiest * 100.0);
        return WhoWasLate::Generator { reason };
    }
    let response = ledger.response();
    let lost = ledger.failed.get(&Failing::Lost).copied().unwrap_or(0);
    let left: u64 = threads.iter().map(|used| used.waiting + used.unfinished).sum();
    // Percentiles are those of transactions that were done: of the others it is the server that was not there.
    if is_open && (lost > 0 || left * 100 > response.count()) {
        return WhoWasLate::Server;
    }
    for percent in [50.0, 95.0, 99.0] {
        let (slip_ns, response_ns) = (ledger.slip.percentile_ns(percent), response.percentile_ns(percent));
        if is_open && slip_ns > SLIP_LEAST_NS && slip_ns as f64 > SLIP_SHARE * response_ns as f64 {
            let reason = format!(
                "it sent {:.2} ms late, where response times are {:.2} ms ({percent} % were below)",
                slip_ns as f64 / 1e6,
                response_ns as f64 / 1e6
            );
            return WhoWasLate::Generator { reason };
        }
    }
    let (waited_ns, service_ns) = (response.percentile_ns(95.0), ledger.service().percentile_ns(95.0));
    let waits = threads.iter().any(|used| used.waiting > 0) || ledger.dropped > 0;
    match is_open && (waits || waited_ns > 2 * service_ns) {
        true => WhoWasLate::Server,
        false if is_open => WhoWasLate::Nobody,
        false => WhoWasLate::Server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::TransactionTimes;

    const OPEN: LoadKind = LoadKind { is_open: true, is_embedded: false };
    const CLOSED: LoadKind = LoadKind { is_open: false, is_embedded: false };

    fn ledger(slip_ns: u64, wait_ns: u64) -> Ledger {
        let mut ledger = Ledger::default();
        for number in 0..1000_u64 {
            let ready = number * 1_000_000 + wait_ns;
            let times = TransactionTimes {
                planned: number * 1_000_000,
                ready,
                sent: ready + slip_ns,
                done: ready + slip_ns + 400_000,
            };
            ledger.done(0, &times);
        }
        ledger
    }

    fn threads(cpu_ns: u64) -> [ThreadUse; 1] {
        [ThreadUse { cpu_ns, elapsed_ns: 1_000_000_000, ..ThreadUse::default() }]
    }

    #[test]
    fn a_late_sender_is_told_from_a_late_server() {
        assert_eq!(judge(&ledger(20_000, 0), &threads(100_000_000), OPEN), WhoWasLate::Nobody);
        assert_eq!(judge(&ledger(20_000, 5_000_000), &threads(100_000_000), OPEN), WhoWasLate::Server);
        assert!(matches!(judge(&ledger(900_000, 0), &threads(100_000_000), OPEN), WhoWasLate::Generator { .. }));
        assert!(matches!(judge(&ledger(20_000, 0), &threads(990_000_000), CLOSED), WhoWasLate::Generator { .. }));
    }

    #[test]
    fn a_database_in_the_generators_threads_may_use_all_of_their_time() {
        let embedded = LoadKind { is_embedded: true, ..CLOSED };
        assert_eq!(judge(&ledger(20_000, 0), &threads(999_000_000), embedded), WhoWasLate::Server);
        assert!(matches!(judge(&ledger(20_000, 0), &threads(999_000_000), CLOSED), WhoWasLate::Generator { .. }));
    }

    #[test]
    fn a_closed_load_is_bound_by_its_server_and_transactions_that_wait_are_its_debt() {
        assert_eq!(judge(&ledger(900_000, 0), &threads(100_000_000), CLOSED), WhoWasLate::Server);
        let waiting = [ThreadUse { waiting: 7, ..threads(1)[0] }];
        assert_eq!(judge(&ledger(20_000, 0), &waiting, OPEN), WhoWasLate::Server);
    }

    #[test]
    fn a_server_that_was_gone_is_not_made_up_for_by_a_late_generator() {
        let many_left = [ThreadUse { waiting: 700, ..threads(1)[0] }];
        assert_eq!(judge(&ledger(900_000, 0), &many_left, OPEN), WhoWasLate::Server);
        let mut with_lost = ledger(900_000, 0);
        with_lost.fail(Failing::Lost);
        assert_eq!(judge(&with_lost, &threads(1), OPEN), WhoWasLate::Server);
    }
}
