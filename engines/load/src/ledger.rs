//! What was measured: three clocks of each transaction (planned, sent, done) as histograms, and counts of what did not go well. Each thread has a
//! ledger of its own, which the reporter takes away once in an interval and adds to the run's.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The instants of one transaction, in nanoseconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionTimes {
    /// When it was due.
    pub planned: u64,
    /// When it could begin: it was due, and a connection was free.
    pub ready: u64,
    /// When its first statement was sent.
    pub sent: u64,
    /// When its last reply was there.
    pub done: u64,
}

impl TransactionTimes {
    /// What a user waits: from when it was due.
    pub fn response_ns(&self) -> u64 {
        self.done.saturating_sub(self.planned)
    }

    /// What the server took: from when it was sent.
    pub fn service_ns(&self) -> u64 {
        self.done.saturating_sub(self.sent)
    }

    /// How late the generator was: it could have sent, and had not.
    pub fn slip_ns(&self) -> u64 {
        self.sent.saturating_sub(self.ready)
    }
}

/// How a transaction ended that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failing {
    /// The server ended it for a deadlock, and it was begun again, or given up.
    Deadlock,
    /// Two transactions could not both have happened: begun again, or given up.
    Serialization,
    /// A limit of time on a statement or a lock.
    Timeout,
    /// The connection went away in its midst: whether it happened is not known.
    Lost,
    /// Any other error of the server.
    Refused,
}

impl Failing {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Serialization => "serialization failure",
            Self::Timeout => "timeout",
            Self::Lost => "connection lost",
            Self::Refused => "error",
        }
    }
}

/// Times of one kind.
#[derive(Clone, Debug)]
pub struct Distribution(Histogram<u64>);

/// LIMIT: resolution of the shortest times; a counter for each nanosecond below would take more memory than it tells.
const LEAST_NS: u64 = 256;
/// LIMIT: longer times are counted as this long.
const MOST_NS: u64 = 3_600_000_000_000;
/// Significant digits: 0.1 %.
const DIGITS: u8 = 3;

impl Default for Distribution {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(LEAST_NS, MOST_NS, DIGITS);
        Self(histogram.unwrap_or_else(|error| unreachable!("bounds that hold: {error}")))
    }
}

impl Distribution {
    /// Adds a time.
    pub fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds all of another.
    pub fn join(&mut self, other: &Self) {
        if self.0.add(&other.0).is_err() {
            unreachable!("both have the same bounds");
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time that `percent` of all do not exceed, in nanoseconds; 0 where there is none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_percentile(percent) }
    }

    /// The mean in nanoseconds; 0 where there is none.
    pub fn mean_ns(&self) -> f64 {
        self.0.mean()
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The shortest, in nanoseconds; 0 where there is none.
    pub fn min_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    /// The standard deviation in nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        self.0.stdev()
    }

    /// The histogram itself, for those who write it as others read it.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

/// What one script or built-in transaction took.
#[derive(Clone, Debug, Default)]
pub struct ScriptLedger {
    /// From when it was due until it was done.
    pub response: Distribution,
    /// From when it was sent until it was done.
    pub service: Distribution,
    /// Each statement from when it was sent until its reply was there.
    pub statements: Vec<Distribution>,
}

impl ScriptLedger {
    fn join(&mut self, other: &Self) {
        self.response.join(&other.response);
        self.service.join(&other.service);
        for (index, statement) in other.statements.iter().enumerate() {
            statement_of(&mut self.statements, index).join(statement);
        }
    }
}

/// LIMIT: statements behind these share a place; a histogram of each takes some 200 KB.
const STATEMENTS_MAX: usize = 64;

fn statement_of(statements: &mut Vec<Distribution>, index: usize) -> &mut Distribution {
    let index = index.min(STATEMENTS_MAX - 1);
    if statements.len() <= index {
        statements.resize_with(index + 1, Distribution::default);
    }
    &mut statements[index]
}

/// What happened in an interval, or in a run.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By script, in the order of the workload.
    pub scripts: Vec<ScriptLedger>,
    /// How late the generator sent what it could have sent.
    pub slip: Distribution,
    /// Transactions that were sent, with those begun again counted once.
    pub sent: u64,
    /// Transactions that were due and never sent, as the policy for overload has it.
    pub dropped: u64,
    /// Statements that were answered, those of failed transactions included.
    pub statements: u64,
    /// Rows that came back.
    pub rows: u64,
    /// Transactions begun once more after a deadlock or a serialization failure.
    pub retries: u64,
    /// Transactions that did not succeed, by cause; those that succeeded when begun again are not here.
    pub failed: BTreeMap<Failing, u64>,
    /// Connections that were made anew.
    pub reconnects: u64,
    /// Of those that succeeded, the ones that were done behind the end, in the time that is left for what is under way.
    pub done_late: u64,
    /// Transactions that are due and wait for a connection, when it was last looked: of all threads, now.
    pub waiting: u64,
}

impl Ledger {
    /// Adds a transaction of `script` that succeeded.
    pub fn done(&mut self, script: usize, times: &TransactionTimes) {
        let ledger = self.script(script);
        ledger.response.add(times.response_ns());
        ledger.service.add(times.service_ns());
        self.slip.add(times.slip_ns());
    }

    /// Adds a statement's reply.
    pub fn statement(&mut self, script: usize, index: usize, took_ns: u64, rows: u64) {
        self.statements += 1;
        self.rows += rows;
        statement_of(&mut self.script(script).statements, index).add(took_ns);
    }

    /// Adds a transaction that did not succeed.
    pub fn fail(&mut self, cause: Failing) {
        *self.failed.entry(cause).or_default() += 1;
    }

    /// Adds all of another.
    pub fn join(&mut self, other: &Self) {
        for (index, script) in other.scripts.iter().enumerate() {
            self.script(index).join(script);
        }
        self.slip.join(&other.slip);
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.statements += other.statements;
        self.rows += other.rows;
        self.retries += other.retries;
        self.reconnects += other.reconnects;
        self.done_late += other.done_late;
        self.waiting += other.waiting;
        for (cause, count) in &other.failed {
            *self.failed.entry(*cause).or_default() += count;
        }
    }

    /// Empties it, with its room kept.
    pub fn clear(&mut self) {
        let mut scripts = std::mem::take(&mut self.scripts);
        let mut slip = std::mem::take(&mut self.slip);
        slip.clear();
        for script in &mut scripts {
            script.response.clear();
            script.service.clear();
            script.statements.iter_mut().for_each(Distribution::clear);
        }
        *self = Self { scripts, slip, waiting: self.waiting, ..Self::default() };
    }

    /// Transactions that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.scripts.iter().map(|script| script.response.count()).sum()
    }

    /// Transactions that did not.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// From when they were due until they were done, all scripts together.
    pub fn response(&self) -> Distribution {
        self.together(|script| &script.response)
    }

    /// From when they were sent until they were done, all scripts together.
    pub fn service(&self) -> Distribution {
        self.together(|script| &script.service)
    }

    fn together(&self, of: impl Fn(&ScriptLedger) -> &Distribution) -> Distribution {
        let mut all = Distribution::default();
        self.scripts.iter().for_each(|script| all.join(of(script)));
        all
    }

    fn script(&mut self, index: usize) -> &mut ScriptLedger {
        if self.scripts.len() <= index {
            self.scripts.resize_with(index + 1, ScriptLedger::default);
        }
        &mut self.scripts[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_clocks_are_told_apart() {
        let times = TransactionTimes { planned: 100, ready: 400, sent: 450, done: 1450 };
        assert_eq!((times.response_ns(), times.service_ns(), times.slip_ns()), (1350, 1000, 50));
    }

    #[test]
    fn percentiles_are_right_to_a_thousandth() {
        let mut distribution = Distribution::default();
        (1..=100_000_u64).for_each(|us| distribution.add(us * 1000));
        for percent in [1.0, 50.0, 95.0, 99.0, 99.9, 100.0] {
            let exact = percent * 1e6;
            let found = distribution.percentile_ns(percent) as f64;
            assert!((found / exact - 1.0).abs() <= 0.001, "{percent}: {found}");
        }
        assert_eq!(Distribution::default().percentile_ns(99.0), 0);
    }

    #[test]
    fn ledgers_of_threads_add_up_and_empty_ones_change_nothing() {
        let (mut all, mut one) = (Ledger::default(), Ledger::default());
        one.done(1, &TransactionTimes { planned: 0, ready: 0, sent: 0, done: 5_000 });
        one.statement(1, 2, 3_000, 7);
        one.fail(Failing::Lost);
        one.sent = 2;
        all.join(&one);
        all.join(&one);
        all.join(&Ledger::default());
        assert_eq!((all.succeeded(), all.failures(), all.sent, all.rows, all.statements), (2, 2, 4, 14, 2));
        assert_eq!(all.scripts[1].statements[2].count(), 2);
        one.clear();
        assert_eq!((one.succeeded(), one.failures(), one.statements, one.scripts.len()), (0, 0, 0, 2));
    }

    #[test]
    fn more_statements_than_there_is_room_for_share_the_last_place() {
        let mut ledger = Ledger::default();
        ledger.statement(0, 1_000_000, 1_000, 0);
        assert_eq!(ledger.scripts[0].statements.len(), STATEMENTS_MAX);
    }
}
