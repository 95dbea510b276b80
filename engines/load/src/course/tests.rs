//! Whole runs in simulated time: a server with scripted service times, and what queueing theory says of it.

use super::*;
use crate::arrivals::{RateProfile, Spacing};
use crate::ledger::{Ledger, TransactionTimes};

const SECOND: u64 = 1_000_000_000;

/// A server that serves one transaction of each client at a time on `servers` processors, first come first served.
struct Simulation {
    ledger: Ledger,
    begun: u64,
    waiting: usize,
}

fn simulate(
    arrivals: &ArrivalModel,
    overload: Overload,
    clients: usize,
    seconds: u64,
    mut service: impl FnMut(u64) -> u64,
) -> Simulation {
    let part = CoursePart { thread: 0, threads: 1, clients, first_client: 0, clients_of_all: clients };
    let mut course = Course::new(arrivals, overload, part, 42, seconds * SECOND);
    (0..clients).for_each(|client| course.back(client, 0));
    let (mut ledger, mut begun, mut now) = (Ledger::default(), 0, 0);
    let mut serving: BinaryHeap<Reverse<(u64, usize, u64, u64)>> = BinaryHeap::new();
    loop {
        while let Some(Reverse((done, client, planned, ready))) = serving.peek().copied().filter(|next| next.0.0 <= now)
        {
            serving.pop();
            ledger.done(0, &TransactionTimes { planned, ready, sent: ready, done });
            course.ended(client, done);
        }
        while let Some(beginning) = course.begin(now) {
            begun += 1;
            let done = now + service(begun);
            serving.push(Reverse((done, beginning.client, beginning.planned, beginning.ready)));
        }
        let next_end = serving.peek().map(|Reverse((done, ..))| *done);
        match course.next_due().into_iter().chain(next_end).min() {
            Some(next) => now = next,
            None => break,
        }
    }
    ledger.dropped = course.take_dropped();
    Simulation { ledger, begun, waiting: course.waiting() }
}

fn poisson(rate: f64) -> ArrivalModel {
    ArrivalModel::Open { rate: RateProfile::constant(rate).expect("a rate"), spacing: Spacing::Poisson }
}

/// M/D/1: the mean wait is rho / (2 (1 - rho)) of a service time (Pollaczek and Khinchine).
#[test]
fn one_connection_at_eight_tenths_of_capacity_waits_as_long_as_theory_says() {
    let (rate, service_ns) = (800.0, 1_000_000_u64);
    let run = simulate(&poisson(rate), Overload::default(), 1, 2000, |_| service_ns);
    let rho = rate * service_ns as f64 / 1e9;
    let expected_ns = service_ns as f64 * (1.0 + rho / (2.0 * (1.0 - rho)));
    let mean_ns = run.ledger.response().mean_ns();
    assert!((mean_ns / expected_ns - 1.0).abs() < 0.02, "{mean_ns} against {expected_ns}");
    assert!(run.ledger.service().max_ns() <= service_ns + service_ns / 500);
}

#[test]
fn a_server_that_stands_still_is_seen_in_every_transaction_that_was_due_meanwhile() {
    // One transaction of 60,000 takes a second; a clock that starts when a transaction is sent sees one slow one for each of eight connections.
    let fixed = ArrivalModel::Open { rate: RateProfile::constant(1000.0).expect("a rate"), spacing: Spacing::Fixed };
    let run = simulate(&fixed, Overload::default(), 8, 60, |number| match number {
        30_000..30_008 => SECOND,
        _ => 500_000,
    });
    assert_eq!(run.ledger.succeeded(), 60_000);
    assert!(run.ledger.response().percentile_ns(99.0) > 300_000_000);
    assert!(run.ledger.response().percentile_ns(99.9) > 900_000_000);
    assert!(run.ledger.service().percentile_ns(99.9) < 1_000_000);
    assert_eq!(run.ledger.slip.max_ns(), 0, "it was not the generator");
}

/// Every percentile that is printed, of a queue whose times are scripted, against the waits one after the other (Lindley: the next one waits for what is left of
/// this one's wait and service when it comes).
#[test]
fn percentiles_of_scripted_times_are_right_within_one_per_cent() {
    let service = |number: u64| if number.is_multiple_of(100) { 60_000_000 } else { 500_000 + number % 7 * 100_000 };
    let fixed = ArrivalModel::Open { rate: RateProfile::constant(500.0).expect("a rate"), spacing: Spacing::Fixed };
    let run = simulate(&fixed, Overload::default(), 1, 100, service);
    let (mut wait_ns, mut exact) = (0_u64, Vec::new());
    for number in 1..=50_000 {
        exact.push(wait_ns + service(number));
        wait_ns = (wait_ns + service(number)).saturating_sub(2_000_000);
    }
    exact.sort_unstable();
    assert_eq!(run.ledger.succeeded(), exact.len() as u64);
    for percent in [50.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
        let right = exact[((exact.len() as f64 * percent / 100.0).ceil() as usize - 1).min(exact.len() - 1)] as f64;
        let found = run.ledger.response().percentile_ns(percent) as f64;
        assert!((found / right - 1.0).abs() < 0.01, "{percent}: {found} against {right}");
    }
}

#[test]
fn what_finds_no_connection_is_dropped_where_that_is_the_policy_and_counted() {
    let fixed = ArrivalModel::Open { rate: RateProfile::constant(100.0).expect("a rate"), spacing: Spacing::Fixed };
    let run = simulate(&fixed, Overload::Drop, 1, 10, |_| 15_000_000);
    assert_eq!((run.begun, run.ledger.dropped), (500, 500));
    assert!(run.ledger.response().max_ns() < 16_000_000, "what is sent does not wait");
    let queue = simulate(&fixed, Overload::Queue(10), 1, 10, |_| 15_000_000);
    assert_eq!(queue.begun + queue.ledger.dropped, 1000);
    assert!(queue.ledger.response().max_ns() < 12 * 16_000_000);
}

#[test]
fn users_who_think_are_as_fast_as_the_law_of_response_times_says() {
    // X = N / (Z + R): 20 users, 200 ms of thought, 50 ms of service each.
    let think = Think { mean_ns: 200_000_000, is_exponential: false };
    let run = simulate(&ArrivalModel::Closed(think), Overload::default(), 20, 100, |_| 50_000_000);
    assert!((run.begun as f64 / (100.0 * 20.0 / 0.250) - 1.0).abs() < 0.01, "{}", run.begun);
    let varied = Think { is_exponential: true, ..think };
    let run = simulate(&ArrivalModel::Closed(varied), Overload::default(), 20, 1000, |_| 50_000_000);
    assert!((run.begun as f64 / (1000.0 * 20.0 / 0.250) - 1.0).abs() < 0.02, "{}", run.begun);
}

#[test]
fn connections_with_clocks_of_their_own_keep_the_rate_of_all() {
    let clocked = ArrivalModel::Clocked { rate: 500.0, jitter_ns: None };
    let run = simulate(&clocked, Overload::default(), 16, 60, |_| 1_000_000);
    assert!((run.begun as i64 - 30_000).abs() <= 30, "{}", run.begun);
    // A transaction that takes two periods makes the next ones late, and nothing is left out.
    let late =
        simulate(&clocked, Overload::default(), 16, 60, |number| if number == 100 { 64_000_000 } else { 1_000_000 });
    assert!((late.begun as i64 - 30_000).abs() <= 30, "{}", late.begun);
}

#[test]
fn flat_out_every_connection_is_always_busy_and_nothing_waits() {
    let run = simulate(&ArrivalModel::Closed(Think::default()), Overload::default(), 4, 1, |_| 1_000_000);
    assert_eq!((run.begun, run.waiting), (4000, 0));
    assert_eq!(run.ledger.response().percentile_ns(100.0), run.ledger.service().percentile_ns(100.0));
}
