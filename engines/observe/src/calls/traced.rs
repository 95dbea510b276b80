//! Every call counted without rights, by stopping the program at each: for when nothing else is possible. Many times slower,
//! and how many is measured first. Cannot tell work from waiting.

use super::layout::{CALL_OF_32_BIT, CALL_OTHER, CALLS_KNOWN};
use super::snapshot::{CallSnapshot, CallTimes, OwnerTimes, Slowest, TimeOwner, duration_end_ns};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use sys::reap::How;
use sys::signals::{ENDING, SignalSet};
use sys::trace::{Event, Seen, Tracer};

/// A traced run under way, in a thread of its own: only the thread that traces can wait for the stops.
pub struct Traced {
    run: Arc<Mutex<Run>>,
}

struct Run {
    leader: u32,
    ended: Option<How>,
    threads: HashMap<u32, Thread>,
    owner: OwnerTimes,
    began: Instant,
}

struct Thread {
    born: Instant,
    call: Option<(u32, Instant, u64)>,
}

/// How much longer a call takes when it is stopped at, measured on a program of known calls; the best of some.
pub fn cost_of_a_call() -> io::Result<Duration> {
    const TRIES: usize = 3;
    let program = || {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=1", "count=1000"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let (mut free, mut slowed, mut calls) = (Duration::MAX, Duration::MAX, 1);
    for _try in 0..TRIES {
        let began = Instant::now();
        program().status()?;
        free = free.min(began.elapsed());
        let began = Instant::now();
        let traced = Traced::start(program())?;
        while traced.ended().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        slowed = slowed.min(began.elapsed());
        calls = traced.run.lock().owner.calls.iter().map(|call| call.ended).sum::<u64>().max(1);
    }
    Ok(slowed.saturating_sub(free) / u32::try_from(calls).unwrap_or(u32::MAX))
}

impl Traced {
    /// Starts `command`, stopped at each call from its first on.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (told, started) = sync_channel(1);
        std::thread::Builder::new().name("tracer".to_owned()).spawn(move || {
            let began = Instant::now();
            let (tracer, child) = match Tracer::spawn(&mut command) {
                Ok(spawned) => spawned,
                // Who started this waits for the answer.
                Err(error) => return drop(told.send(Err(error))),
            };
            // This thread was there before the program held signals back; one that arrives here would end it, with no result.
            let _held_here = SignalSet::hold_back(ENDING);
            let owner = OwnerTimes::new(TimeOwner::All);
            let run = Run { leader: child.id(), ended: None, threads: HashMap::new(), owner, began };
            let run = Arc::new(Mutex::new(run));
            let _whoever_waited_is_gone = told.send(Ok(Arc::clone(&run)));
            follow(tracer, &run);
        })?;
        let run = started.recv().map_err(io::Error::other)??;
        Ok(Self { run })
    }

    /// The command's process.
    pub fn leader(&self) -> u32 {
        self.run.lock().leader
    }

    /// How the command ended, once it has.
    pub fn ended(&self) -> Option<How> {
        self.run.lock().ended
    }

    /// Everything up to now.
    pub fn read(&self) -> CallSnapshot {
        self.run.lock().read()
    }
}

/// Until nobody is left. An error other than that ends the run too: its command has ended for us.
fn follow(mut tracer: Tracer, run: &Mutex<Run>) {
    loop {
        match tracer.wait() {
            Ok(seen) => run.lock().take(seen, Instant::now()),
            Err(_nobody_is_left) => {
                let mut run = run.lock();
                run.ended = run.ended.or(Some(How::Exit(1)));
                return;
            }
        }
    }
}

impl Run {
    fn take(&mut self, Seen { thread: number, event }: Seen, now: Instant) {
        let thread = self.threads.entry(number).or_insert_with(|| {
            self.owner.threads += 1;
            Thread { born: now, call: None }
        });
        match event {
            Event::Begun => {}
            Event::Became { former } => self.become_first(number, former, now),
            Event::Entered { call, first_argument } => {
                let known = |call| u32::try_from(call).ok().filter(|call| *call < CALLS_KNOWN).unwrap_or(CALL_OTHER);
                let call = call.map_or(CALL_OF_32_BIT, known);
                thread.call = Some((call, now, first_argument));
            }
            Event::Left { result } => {
                if let Some((call, since, first_argument)) = thread.call.take() {
                    let duration_ns = nanoseconds(now.duration_since(since));
                    let slowest = Slowest { duration_ns, pid: number, thread: number, first_argument, path: None };
                    account(self.owner.call(call), slowest, result);
                }
            }
            Event::Ended(how) => {
                self.end(number, now);
                if number == self.leader {
                    self.ended = Some(how);
                }
            }
        }
    }

    /// A thread that executes another program, in place of the first one of its process: that one has ended, in the middle of its call.
    fn become_first(&mut self, first: u32, former: u32, now: Instant) {
        self.end(first, now);
        let thread = self.threads.remove(&former).unwrap_or(Thread { born: now, call: None });
        self.threads.insert(first, thread);
    }

    fn end(&mut self, number: u32, now: Instant) {
        let Some(thread) = self.threads.remove(&number) else { return };
        self.owner.life_ns += nanoseconds(now.duration_since(thread.born));
        if let Some((_, since, _)) = thread.call {
            self.owner.cut_ns += nanoseconds(now.duration_since(since));
        }
    }

    fn read(&self) -> CallSnapshot {
        let mut owner = self.owner.clone();
        owner.threads_living = self.threads.len() as u64;
        for thread in self.threads.values() {
            owner.life_ns += nanoseconds(thread.born.elapsed());
            if let Some((call, since, _)) = thread.call {
                owner.call(call).add_under_way(nanoseconds(since.elapsed()));
            }
        }
        CallSnapshot { elapsed_ns: nanoseconds(self.began.elapsed()), owners: vec![owner], ..CallSnapshot::default() }
    }
}

/// A call that is over. A thread's number stands for its process: under it, too, its descriptors are found.
fn account(call: &mut CallTimes, slowest: Slowest, result: i64) {
    let took_ns = slowest.duration_ns;
    call.ended += 1;
    call.total_ns += took_ns;
    let kinds = call.durations.len();
    let kind = (0..kinds).find(|kind| took_ns < duration_end_ns(*kind)).unwrap_or(kinds - 1);
    call.durations[kind] += 1;
    if let Some(error) =
        result.checked_neg().and_then(|error| u16::try_from(error).ok()).filter(|error| (1..=4095).contains(error))
    {
        call.add_errors(error, 1);
    }
    if call.slowest.as_ref().is_none_or(|known| known.duration_ns < took_ns) {
        call.slowest = Some(slowest);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::names::call_number;
    use super::*;

    #[test]
    fn a_traced_command_is_counted_call_by_call() {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=1", "count=500"]).stderr(Stdio::null());
        let traced = Traced::start(command).expect("dd starts");
        while traced.ended().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(traced.ended(), Some(How::Exit(0)));
        let snapshot = traced.read();
        let owner = &snapshot.owners[0];
        for name in ["read", "write"] {
            let number = call_number(name).expect("there");
            let call = owner.calls.iter().find(|call| call.number == number).expect("it was called");
            assert!((500..600).contains(&call.ended), "{name}: {call:?}");
            assert_eq!(call.durations.iter().sum::<u64>(), call.ended);
        }
        assert!(owner.in_calls_ns() <= owner.life_ns && owner.threads == 1);
    }

    #[test]
    fn results_below_zero_are_errors_and_no_other() {
        let mut call = OwnerTimes::new(TimeOwner::All).call(0).clone();
        let slowest = |duration_ns| Slowest { duration_ns, pid: 1, thread: 1, first_argument: 0, path: None };
        for (duration_ns, result) in [(1, 5), (u64::MAX, -9), (7, -9), (7, i64::MIN), (7, -5000)] {
            account(&mut call, slowest(duration_ns.min(1 << 50)), result);
        }
        assert_eq!((call.ended, call.errors.as_slice()), (5, &[(9, 2)][..]));
        assert_eq!(call.durations[27], 1, "a very long one");
    }
}
