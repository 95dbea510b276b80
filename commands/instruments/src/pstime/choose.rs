//! Which processes become rows: those asked for, by number, name and user.

use super::NAME;
use super::plan::Plan;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::instrument::live::Output;
use observe::model::{EndedOne, EndedUsage, Idlers, Interval, ProcessUsage};
use observe::process_tree::ProcessTree;
use observe::row::{ProcessRow, RowGrouping, grouped, of_processes, of_threads, sort};
use observe::sample::{HostSample, ProcessIdentity, ProcessSample};
use observe::source::accounts::Accounts;

/// Those asked for that no sample has had.
pub struct Unseen {
    pids: Vec<u32>,
    names: Vec<String>,
}

impl Unseen {
    /// Whether all have been there.
    pub fn is_empty(&self) -> bool {
        self.pids.is_empty() && self.names.is_empty()
    }
}

/// What a table holds.
pub struct Content {
    /// Its rows, in order.
    pub rows: Vec<ProcessRow>,
    /// Where rows are threads: what their processes used and no row has, since its thread has ended. A little below zero where
    /// the processes were read before their threads.
    pub ended_threads_ns: Option<i64>,
    /// Where somebody was asked for in particular: those of them that ended. With their children they are counted there.
    pub ended: Option<EndedUsage>,
}

/// Who was asked for.
pub struct Chosen<'plan> {
    plan: &'plan Plan,
    users: Vec<u32>,
}

impl<'plan> Chosen<'plan> {
    /// Users by their numbers; one that does not exist is an error of usage.
    pub fn new(plan: &'plan Plan, accounts: &Accounts) -> Result<Self, Failure> {
        let number = |typed: &String| {
            accounts.number(typed).ok_or_else(|| Failure::Environment {
                command: NAME,
                message: format!("find user {}: there is none", terminal::quote(typed)),
            })
        };
        Ok(Self { plan, users: plan.users.iter().map(number).collect::<Result<_, _>>()? })
    }

    /// Tells which of those asked for are not there.
    pub fn missing(&self, context: &Context, output: &Output, sample: &HostSample) {
        for pid in self.plan.targets.pids.iter().filter(|pid| sample.process(**pid).is_none()) {
            output.remark(&context.messages, NAME, &format!("there is no process {pid}"));
        }
        for name in &self.plan.targets.names {
            let is_called =
                |process: &ProcessSample| process.identity.as_ref().is_some_and(|identity| identity.is_called(name));
            if !sample.processes.iter().any(is_called) {
                output.remark(
                    &context.messages,
                    NAME,
                    &format!("no process is called {} yet", terminal::quote_text(name)),
                );
            }
        }
    }

    /// Takes those off of `unseen` that are there, or have ended since the sample before.
    pub fn note_seen(&self, unseen: &mut Unseen, sample: &HostSample) {
        let ended = || sample.endings.iter().flat_map(|endings| &endings.named);
        unseen.pids.retain(|pid| sample.process(*pid).is_none() && !ended().any(|ending| ending.pid == *pid));
        unseen.names.retain(|name| !ended().any(|ending| ProcessIdentity::may_be_called(&ending.name, name)));
        let is_called = |process: &ProcessSample, name: &str| {
            process.identity.as_ref().is_some_and(|identity| identity.is_called(name))
        };
        unseen.names.retain(|name| !sample.processes.iter().any(|process| is_called(process, name)));
    }

    /// All that were asked for.
    pub fn all(&self) -> Unseen {
        Unseen { pids: self.plan.targets.pids.clone(), names: self.plan.targets.names.clone() }
    }

    /// The processes whose children are followed.
    pub fn families(&self, sample: &HostSample) -> Vec<ProcessTree> {
        let mut families: Vec<ProcessTree> = sample
            .processes
            .iter()
            .filter(|process| self.is_one(process))
            .map(|process| ProcessTree::of(process.pid))
            .collect();
        families.iter_mut().for_each(|family| family.follow(sample));
        families
    }

    /// Whether nobody is left to watch.
    pub fn are_all_gone(&self, sample: &HostSample, families: &[ProcessTree]) -> bool {
        let only_numbers = !self.plan.targets.pids.is_empty() && self.plan.targets.names.is_empty();
        let all_ended = self.plan.targets.pids.iter().all(|pid| sample.process(*pid).is_none());
        only_numbers && all_ended && families.iter().all(ProcessTree::is_extinct)
    }

    /// The rows of an interval, filtered, added up, sorted; `families` stand for processes where children are followed.
    pub fn content(
        &self,
        interval: &Interval,
        families: Vec<ProcessUsage>,
        earlier: &HostSample,
        later: &HostSample,
    ) -> Content {
        // The threads of one that was asked for may be thousands that did nothing: they are shown to who asks for them.
        let idlers = if self.plan.all { Idlers::Listed } else { Idlers::Counted };
        let rows = match (self.plan.children, self.plan.grouping) {
            (true, _) => of_processes(&families, later),
            (false, RowGrouping::Thread) => self.thread_rows(interval, later, idlers),
            (false, _) => self.chosen_rows(of_processes(&interval.processes, later), later),
        };
        let mut rows = grouped(rows, self.plan.grouping);
        sort(&mut rows, self.plan.order);
        let ended_threads_ns = self.plan.is_of_threads().then(|| self.of_ended_threads(interval, later, &rows));
        let is_of_some = (self.plan.is_selective() || !self.users.is_empty()) && !self.plan.children;
        let ended = is_of_some.then(|| EndedUsage::between(earlier, later, |one| self.is_ended_one(one)));
        Content { rows, ended_threads_ns, ended }
    }

    /// LIMIT: whose process it was is known of those that were seen before.
    fn is_ended_one(&self, one: &EndedOne<'_>) -> bool {
        let is_called = || {
            self.users.is_empty()
                && one.name.is_some_and(|name| {
                    self.plan.targets.names.iter().any(|typed| ProcessIdentity::may_be_called(name, typed))
                })
        };
        one.seen.is_some_and(|process| self.is_one(process)) || is_called()
    }

    fn of_ended_threads(&self, interval: &Interval, later: &HostSample, rows: &[ProcessRow]) -> i64 {
        let is_chosen = |usage: &&ProcessUsage| later.process(usage.pid).is_some_and(|process| self.is_one(process));
        let of_processes = interval.processes.iter().filter(is_chosen).map(|usage| usage.cpu.total_ns);
        let of_threads = rows.iter().map(|row| row.cpu_ns);
        let sum = |times: &mut dyn Iterator<Item = u64>| times.fold(0, u64::saturating_add).cast_signed();
        sum(&mut { of_processes }).saturating_sub(sum(&mut { of_threads }))
    }

    /// Of processes that were asked for and did nothing the first threads are shown: they slept, or waited for a device.
    fn thread_rows(&self, interval: &Interval, later: &HostSample, idlers: Idlers) -> Vec<ProcessRow> {
        let rows = self.chosen_rows(of_threads(interval, later, idlers), later);
        if !rows.is_empty() || !self.plan.is_selective() {
            return rows;
        }
        let all = self.chosen_rows(of_threads(interval, later, Idlers::Listed), later);
        all.into_iter().filter(|row| row.tid == row.pid).collect()
    }

    fn chosen_rows(&self, rows: Vec<ProcessRow>, later: &HostSample) -> Vec<ProcessRow> {
        let process = |row: &ProcessRow| row.pid.and_then(|pid| later.process(pid));
        rows.into_iter().filter(|row| process(row).is_some_and(|process| self.is_one(process))).collect()
    }

    fn is_one(&self, process: &ProcessSample) -> bool {
        let plan = self.plan;
        let identity = process.identity.as_deref();
        let is_listed = plan.targets.pids.contains(&process.pid)
            || identity.is_some_and(|identity| plan.targets.names.iter().any(|name| identity.is_called(name)));
        let is_of_user = identity.and_then(|identity| identity.user).is_some_and(|user| self.users.contains(&user));
        (!plan.is_selective() || is_listed) && (self.users.is_empty() || is_of_user)
    }
}
