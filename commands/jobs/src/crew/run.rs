//! `mh crew run`: an outside program with its share of the cores. Takes hands for it, starts it on their CPUs, and lets its
//! whole tree of processes follow them. Who may hold what is decided elsewhere (`crew::steward`, `crew::budget`).

use super::NAME;
use crate::job_slots::{self, SlotStyle, with_pool};
use clap::{Args, Command};
use crew::budget::lease_token::VARIABLE;
use crew::budget::{LeaseToken, MachineWide, Priority, Proxy, Request, Surroundings};
use crew::jobserver::CountedPool;
use crew::plan::Plan;
use crew::steward::{Guest, Steward};
use jobs::start::{Programs, StartFault};
use mh_kit::context::{Context, temporary_directory, variable};
use mh_kit::failure::{Failure, NOT_FOUND, NOT_RUNNABLE, Outcome, with_causes};
use mh_kit::report::counted;
use mh_kit::shared_args::{PriorityArg, SharedArgs, StandingArgs, parse_hands};
use mh_kit::sharing;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, getpid};
use rustix::time::Timespec;
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::process_tree;
use sys::reap::{self, How};
use sys::scheduling::{self, Class};
use sys::signals::{Arrived, ENDING, FOR_ANOTHER, JOB_CONTROL, SignalQueue, die_by, number, stop_here};
use sys::spawn::{Launch, Spawner, Words};
use sys::wake::{Waited, Wake};

/// LIMIT: how long a program without a hand may run after an ending signal, to tidy up. Longer uses cores of others; shorter
/// stops it in the middle.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Run a program with a share of the cores
///
/// It is held to as many CPUs as its share is at the moment, all its processes together, and stopped while it has none.
/// Exit code: the program's; 128 and the signal's number where one ended it; 126 it could not be run, 127 it was not found.
#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    standing: StandingArgs,

    /// It can use N cores at most (default, and 0: all that this process may use)
    #[arg(short = 'j', long = "hands", value_name = "N", value_parser = parse_hands)]
    hands: Option<usize>,

    /// Description in mh crew (default: its command line)
    #[arg(long, value_name = "TEXT")]
    what: Option<String>,

    /// How make, ninja and cargo in the program get job slots, one for each core beyond the first
    #[arg(long, value_enum, value_name = "STYLE", default_value = "fds")]
    jobserver: SlotStyle,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    explain: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// `NAME=VALUE` that the program gets beside this process's variables.
    #[arg(skip)]
    variables: Vec<OsString>,

    /// Which command of ours runs it.
    #[arg(skip = NAME)]
    name: &'static str,
}

impl RunArgs {
    /// For the command `name`, which runs `command` with `variables` beside its own.
    #[cfg_attr(not(feature = "mtwrite"), expect(dead_code, reason = "mtwrite alone runs programs this way"))]
    pub fn of(name: &'static str, shared: &SharedArgs, command: Vec<OsString>, variables: Vec<OsString>) -> Self {
        Self {
            standing: shared.standing.clone(),
            hands: shared.hands,
            what: None,
            jobserver: SlotStyle::Off,
            explain: false,
            command,
            variables,
            name,
        }
    }

    /// For the command `name`, whose program is like any other to the kernel and to other runs.
    #[cfg_attr(not(feature = "mtwrite"), expect(dead_code, reason = "as run_beside"))]
    pub fn unheld(name: &'static str, command: Vec<OsString>, variables: Vec<OsString>) -> Self {
        Self {
            standing: StandingArgs::default(),
            hands: None,
            what: None,
            jobserver: SlotStyle::Off,
            explain: false,
            command,
            variables,
            name,
        }
    }

    fn class(&self) -> Priority {
        self.standing.priority().class()
    }
}

/// The options of a run that are about its program, in words of that.
pub fn described(command: Command) -> Command {
    let class = "Its class (default: the runner's, else the settings file's, else normal)";
    let weight = "Its share among the runs of its class (usual: 100)";
    command.mut_args(|option| match option.get_id().as_str() {
        "priority" => option.help(class).hide_short_help(false),
        "weight" => option.help(weight).hide_short_help(false),
        _ => option,
    })
}

/// How it ended.
enum End {
    Program(How),
    NotStarted(StartFault),
    /// A signal came before there was a program to pass it on to.
    Signal(i32),
}

/// Runs the program.
pub fn run(context: &mut Context, args: RunArgs) -> Result<Outcome, Failure> {
    run_as(context, args, IsHeld::Yes, |_context| Ok(())).map(|(outcome, _nothing)| outcome)
}

/// Runs the program on all CPUs, without a share of the cores; beside it is what `begin` starts, after the supervisor has been divided off,
/// so that it may have threads.
#[cfg_attr(
    not(feature = "mtwrite"),
    expect(dead_code, reason = "programs with a preloaded library alone are run this way")
)]
pub fn run_beside<Beside>(
    context: &mut Context,
    args: RunArgs,
    begin: impl FnOnce(&Context) -> Result<Beside, Failure>,
) -> Result<(Outcome, Option<Beside>), Failure> {
    run_as(context, args, IsHeld::No, begin)
}

/// Whether a program is held to a share of the cores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsHeld {
    Yes,
    No,
}

fn run_as<Beside>(
    context: &mut Context,
    mut args: RunArgs,
    is_held: IsHeld,
    begin: impl FnOnce(&Context) -> Result<Beside, Failure>,
) -> Result<(Outcome, Option<Beside>), Failure> {
    args.standing.settle(&context.settings.crew);
    let args = &args;
    if args.explain {
        mh_kit::report::show_plan(context, &plan(context, args), None)?;
        return Ok((Outcome::Done, None));
    }
    let path = match find(args) {
        Ok(path) => path,
        Err(fault) => return Ok((not_started(context, args, &fault), None)),
    };
    let divided = sys::guard::divide(FOR_ANOTHER);
    if let Err(error) = &divided {
        let words = with_causes(error);
        context.messages.warning(
            args.name,
            &format!("could not start a supervisor: {words}; a killed run leaves its program"),
            &[],
        );
    }
    let signals = SignalQueue::open(&[JOB_CONTROL, FOR_ANOTHER].concat()).map_err(|error| environment(&error))?;
    let surroundings = Surroundings::look_as(&context.host, sharing::known_as(&divided));
    let surroundings = surroundings.map_err(|error| environment(&error))?;
    let surroundings = sharing::reserve(context, surroundings, args.class());
    let allowed: Vec<usize> = surroundings.cpus.iter().collect();
    let beside = begin(context)?;
    let proxy = if is_held == IsHeld::Yes { proxy(context, args, surroundings) } else { None };
    let guest = Tree {
        root: getpid(),
        stopped: Mutex::default(),
        awake_until: Mutex::default(),
        refused: OnceLock::new(),
        slots: slots(context, args),
    };
    let outside = Outside { args, path, signals: &signals, guest: &guest, allowed };
    let end = match &proxy {
        Some(proxy) => outside.run_shared(proxy.as_ref())?,
        None => outside.run_alone()?,
    };
    drop(proxy);
    guest.leave(&outside.allowed);
    if let Some(words) = guest.refused.get() {
        let message = format!("could not hold all its processes to its CPUs: {words}");
        context.messages.warning(args.name, &message, &[]);
    }
    Ok((outcome(context, args, &end), Some(beside)))
}

fn outcome(context: &Context, args: &RunArgs, end: &End) -> Outcome {
    match *end {
        End::Program(How::Exit(code)) => Outcome::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        // A shell ends its loop only when it sees that the signal of the key ended us too.
        End::Program(How::Signal(number::SIGINT)) => die_by(number::SIGINT),
        End::Program(How::Signal(signal)) => Outcome::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        End::Signal(signal) => die_by(signal),
        End::NotStarted(ref fault) => not_started(context, args, fault),
    }
}

fn not_started(context: &Context, args: &RunArgs, fault: &StartFault) -> Outcome {
    let program = terminal::quote(args.command.first().expect("clap asks for one"));
    let (code, words) = match fault {
        StartFault::NotFound(_) => (NOT_FOUND, "it is in no directory of PATH".to_owned()),
        StartFault::Run { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound => {
            (NOT_FOUND, with_causes(cause))
        }
        StartFault::Run { cause, .. } => (NOT_RUNNABLE, with_causes(cause)),
        fault => (NOT_RUNNABLE, with_causes(fault)),
    };
    context.messages.error(args.name, &format!("run {program}: {words}"), &[]);
    Outcome::Code(code)
}

fn environment(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Environment { command: NAME, message: format!("prepare the run: {}", with_causes(error)) }
}

fn find(args: &RunArgs) -> Result<CString, StartFault> {
    find_program(args.command.first().expect("clap asks for one"))
}

/// The file that runs for the first word of a command line.
pub fn find_program(word: &OsStr) -> Result<CString, StartFault> {
    let path = variable("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    Programs::new(path.as_bytes()).find(word.as_bytes())
}

/// What takes the hands; none, and a warning, where runs do not share.
fn proxy(context: &Context, args: &RunArgs, surroundings: Surroundings) -> Option<Box<dyn Proxy>> {
    let gives_way = context.settings.crew.gives_way.up_to();
    let budget =
        MachineWide::open(sharing::crew_directory()?, surroundings).marked_by_first_thread().giving_way(gives_way);
    let budget = match sharing::inheritance() {
        Some(lease_token) => budget.with_inheritance(lease_token),
        None => budget,
    };
    let proxy = budget.proxy(Request {
        priority: args.class(),
        weight: args.standing.weight(),
        useful_width: width(context, args),
        what: what(args),
    });
    if let Some(why) = budget.why_alone() {
        context.messages.warning(
            args.name,
            &format!("could not {why}; the program shares its cores with no other run"),
            &[],
        );
    }
    proxy
}

/// Job slots for a make that it is, or runs; none where a make above has some for it.
fn slots(context: &Context, args: &RunArgs) -> Option<CountedPool> {
    if !has_slots(context, args) {
        return None;
    }
    match job_slots::pool(args.jobserver, &temporary_directory()) {
        Ok(pool) => Some(CountedPool::new(pool)),
        Err(error) => {
            let words = with_causes(&error);
            context.messages.warning(
                args.name,
                &format!("could not open job slots: {words}; make in it uses its own -j"),
                &[],
            );
            None
        }
    }
}

fn has_slots(context: &Context, args: &RunArgs) -> bool {
    args.jobserver != SlotStyle::Off && width(context, args) > 1 && !sharing::is_below_a_make()
}

fn width(context: &Context, args: &RunArgs) -> usize {
    args.hands.filter(|&hands| hands > 0).unwrap_or_else(|| context.machine.hands_allowed())
}

fn what(args: &RunArgs) -> String {
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    args.what.clone().unwrap_or_else(|| words.join(" "))
}

/// What the child is for the kernel's scheduler, beside its hands.
fn class(args: &RunArgs) -> Option<Class> {
    match args.standing.priority() {
        PriorityArg::High | PriorityArg::Normal => None,
        PriorityArg::Low => Some(Class::Batch { nicer_by: PriorityArg::Low.nicer_by() }),
        PriorityArg::Idle => Some(Class::Idle),
    }
}

fn plan(context: &Context, args: &RunArgs) -> Plan {
    let mut plan = Plan::new(format!("run {}", terminal::printable(&what(args))));
    let why = if args.hands.is_some_and(|hands| hands > 0) { "-j" } else { "the CPUs that this process may use" };
    plan.choose("cores", format!("up to {}", counted(width(context, args) as u64, "hand")), why);
    plan.choose("held to", "the CPUs of its hands", "all threads of all its processes, as hands come and go");
    let name = format!("{:?}", args.class()).to_lowercase();
    plan.choose("class", format!("{name}, weight {}", args.standing.weight().get()), "among all runs of this user");
    let (kernel, why) = match class(args) {
        None => ("as it is".to_owned(), "rising above others needs rights"),
        Some(Class::Batch { nicer_by }) => {
            (format!("SCHED_BATCH, nice +{nicer_by}"), "among programs of the same session")
        }
        Some(Class::Idle) => ("SCHED_IDLE".to_owned(), "among programs of the same session; it cannot leave it"),
    };
    plan.choose("scheduler", kernel, why);
    let (slots, why) = match has_slots(context, args) {
        true => ("one for each core it may have beside the first", "for make, ninja and cargo: in MAKEFLAGS"),
        false => ("none", "--jobserver=off, one core, or a make above has them"),
    };
    plan.choose("job slots", slots, why);
    plan.choose("no hand", "stopped", "paused, or others of a higher class want every core");
    plan.choose("guard", "a parent process", "ends the program when this run is killed");
    plan
}

/// The program's processes: all that descend from this one.
struct Tree {
    root: Pid,
    stopped: Mutex<Vec<Pid>>,
    awake_until: Mutex<Option<Instant>>,
    refused: OnceLock<String>,
    /// One for each core it may have beside the first, for a make among them.
    slots: Option<CountedPool>,
}

impl Guest for Tree {
    fn offer(&self, jobs: usize) {
        if let Some(slots) = &self.slots {
            slots.set(jobs.saturating_sub(1));
        }
    }

    fn hold_to(&self, cpus: &[usize]) {
        if let Err(error) = process_tree::hold_to(self.root, cpus) {
            // Told once, at the end.
            let _known_already = self.refused.set(with_causes(&error));
        }
    }

    fn rest(&self) {
        let awake_until = *self.awake_until.lock();
        if awake_until.is_none_or(|until| Instant::now() >= until) {
            self.stopped.lock().extend(process_tree::stop(self.root));
        }
    }

    fn go_on(&self) {
        let stopped = std::mem::take(&mut *self.stopped.lock());
        process_tree::go_on(&stopped);
    }

    fn runnable(&self, most: usize) -> Option<usize> {
        process_tree::runnable(self.root, most)
    }
}

impl Tree {
    /// Lets it hear a signal that may be its last, though it has no hand.
    fn wake_for_a_while(&self) {
        *self.awake_until.lock() = Some(Instant::now() + LAST_WORDS);
        self.go_on();
    }

    /// How long it still may run without a hand; none where it is not awake for a while, or that is over and has been told.
    fn time_awake(&self) -> Option<Duration> {
        let mut awake_until = self.awake_until.lock();
        let left = awake_until.as_ref()?.saturating_duration_since(Instant::now());
        if left.is_zero() {
            *awake_until = None;
        }
        Some(left)
    }

    /// What the program leaves behind runs on as if we had never been there.
    fn leave(&self, allowed: &[usize]) {
        self.offer(allowed.len());
        self.hold_to(allowed);
        self.go_on();
    }
}

/// The run of an outside program.
struct Outside<'a> {
    args: &'a RunArgs,
    path: CString,
    signals: &'a SignalQueue,
    guest: &'a Tree,
    allowed: Vec<usize>,
}

/// What the two threads of a run tell each other.
struct Signs {
    /// Rings when there is a program, or will be none.
    bell: Wake,
    started: Mutex<Option<Result<Pid, StartFault>>>,
    /// No program is wanted any more.
    is_given_up: AtomicBool,
    /// The program has ended.
    is_over: AtomicBool,
}

impl Signs {
    fn new() -> Result<Self, Failure> {
        let bell = Wake::new().map_err(|error| environment(&error))?;
        Ok(Self {
            bell,
            started: Mutex::default(),
            is_given_up: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    fn tell(&self, outcome: Option<Result<Pid, StartFault>>) {
        *self.started.lock() = outcome;
        self.bell.ring();
    }
}

impl Outside<'_> {
    /// One thread keeps the hands and starts the program, this one listens to signals.
    fn run_shared(&self, proxy: &dyn Proxy) -> Result<End, Failure> {
        let signs = Signs::new()?;
        std::thread::scope(|scope| {
            let keeper = scope.spawn(|| {
                let mut steward = Steward::new(proxy, self.width(), self.allowed.clone());
                let outcome = steward.begin(&signs.is_given_up).map(|cpus| {
                    self.guest.offer(steward.jobs());
                    self.start(&cpus, steward.lease_token())
                });
                let is_started = matches!(outcome, Some(Ok(_)));
                signs.tell(outcome);
                if is_started {
                    steward.keep(self.guest, &signs.is_over);
                }
                steward.end();
            });
            let end = self.listen(&signs, || proxy.wake());
            signs.is_given_up.store(true, Ordering::SeqCst);
            signs.is_over.store(true, Ordering::SeqCst);
            proxy.wake();
            keeper.join().expect("the keeper of the hands does not panic");
            end
        })
    }

    /// Without a table: on as many CPUs as it can use.
    fn run_alone(&self) -> Result<End, Failure> {
        let signs = Signs::new()?;
        let cpus = &self.allowed[..self.width().min(self.allowed.len())];
        self.guest.offer(cpus.len());
        signs.tell(Some(self.start(cpus, None)));
        self.listen(&signs, || {})
    }

    fn width(&self) -> usize {
        self.args.hands.filter(|&hands| hands > 0).unwrap_or(usize::MAX)
    }

    /// Starts it from a thread that has put on the CPUs and the class which the program inherits, and that ends with this.
    fn start(&self, cpus: &[usize], lease_token: Option<LeaseToken>) -> Result<Pid, StartFault> {
        std::thread::scope(|scope| {
            let spawner = scope.spawn(|| {
                let _on_all_then = scheduling::stay_on(cpus);
                if let Some(class) = class(self.args) {
                    let _as_it_is_then = scheduling::enter(class);
                }
                self.spawn(lease_token)
            });
            spawner.join().expect("the starting thread does not panic")
        })
    }

    fn spawn(&self, lease_token: Option<LeaseToken>) -> Result<Pid, StartFault> {
        let mut arguments = Words::default();
        for word in &self.args.command {
            arguments.push(word.as_bytes()).map_err(|nul| StartFault::Words(std::io::Error::other(nul)))?;
        }
        let mut environment = variables(lease_token, &self.args.variables)?;
        let pool = self.guest.slots.as_ref().map(CountedPool::pool);
        if let Some(pool) = pool {
            environment = with_pool(&environment, self.width().min(self.allowed.len()), pool);
        }
        let mut spawner = Spawner::in_callers_group(self.signals, environment);
        if let Some(pool) = pool {
            spawner.hand_down(&pool.descriptors());
        }
        let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
        let streams: [BorrowedFd<'_>; 3] = [stdin, stdout, stderr];
        let launch = Launch {
            program: &self.path,
            arguments: &arguments,
            environment: None,
            besides: None,
            directory: None,
            streams,
        };
        let failed = |cause| StartFault::Run { program: self.path.to_string_lossy().into_owned(), cause };
        spawner.spawn(&launch).map_err(failed)
    }

    /// Passes signals on until the program has ended. `wake` ends the waiting for a first hand.
    fn listen(&self, signs: &Signs, wake: impl Fn()) -> Result<End, Failure> {
        let (mut ended, mut early) = (Vec::new(), None);
        while signs.bell.readable(self.signals).map_err(|error| environment(&error))? == Waited::Readable {
            for arrived in self.signals.take().unwrap_or_default() {
                match arrived.signal {
                    number::SIGCHLD => ended.extend(reaped()),
                    number::SIGTSTP => stop_here(),
                    signal if ENDING.contains(&signal) => {
                        early = Some(signal);
                        signs.is_given_up.store(true, Ordering::SeqCst);
                        wake();
                    }
                    _ => {}
                }
            }
        }
        let started = signs.started.lock().take();
        let program = match (started, early) {
            (Some(Ok(program)), _) => program,
            (Some(Err(fault)), _) => return Ok(End::NotStarted(fault)),
            (None, signal) => return Ok(End::Signal(signal.unwrap_or(number::SIGTERM))),
        };
        // It was started while the signal came.
        early.into_iter().for_each(|signal| self.pass_on(program, Arrived { signal, is_sent_by_process: true }));
        loop {
            ended.extend(reaped());
            if let Some(ended) = ended.iter().find(|ended| ended.pid == program) {
                return Ok(End::Program(ended.how));
            }
            ended.clear();
            let awake = self.guest.time_awake();
            if awake.is_some_and(|left| left.is_zero()) {
                // What was woken for its last words has had its time.
                wake();
            }
            let _or_interrupted = poll(&mut [PollFd::new(self.signals, PollFlags::IN)], awake.map(timespec).as_ref());
            for arrived in self.signals.take().unwrap_or_default() {
                self.pass_on(program, arrived);
                if matches!(arrived.signal, number::SIGCONT | number::SIGTSTP) {
                    // It goes on now, though it may be resting.
                    wake();
                }
            }
        }
    }

    /// A key at the terminal reaches the program by itself, since it is of our process group.
    fn pass_on(&self, program: Pid, arrived: Arrived) {
        let pass = |signal| {
            let _ended_meanwhile = reap::signal_process(program, signal);
        };
        match arrived.signal {
            number::SIGCHLD => {}
            number::SIGTSTP => {
                if arrived.is_sent_by_process {
                    pass(number::SIGTSTP);
                }
                stop_here();
                pass(number::SIGCONT);
            }
            signal => {
                if arrived.is_sent_by_process {
                    pass(signal);
                }
                if ENDING.contains(&signal) && sys::guard::is_lost() {
                    sys::guard::end_children(self.signals);
                    die_by(signal);
                }
                if ENDING.contains(&signal) {
                    self.guest.wake_for_a_while();
                }
            }
        }
    }
}

/// This process's variables, and the hands that the program, or one `mh` below it, may use as its own.
fn variables(lease_token: Option<LeaseToken>, besides: &[OsString]) -> Result<Words, StartFault> {
    let mut words = Words::default();
    let given = crate::xjobs::environment();
    let is_named = |word: &[u8], name: &[u8]| word.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="));
    let name_of = |word: &[u8]| word.split(|&byte| byte == b'=').next().unwrap_or_default().to_vec();
    let is_replaced = |word: &[u8]| besides.iter().any(|other| is_named(word, &name_of(other.as_bytes())));
    let lease_token = lease_token.map(|lease_token| format!("{VARIABLE}={lease_token}").into_bytes());
    let inherited = given.iter().filter(|word| !is_named(word, VARIABLE.as_bytes()) && !is_replaced(word));
    let kept = inherited.chain(lease_token.as_deref()).chain(besides.iter().map(|word| word.as_bytes()));
    for word in kept {
        words.push(word).map_err(|nul| StartFault::Words(std::io::Error::other(nul)))?;
    }
    Ok(words)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(time.subsec_nanos()) }
}

/// All that has ended: the program, and what came to us as its orphans.
fn reaped() -> Vec<reap::Ended> {
    std::iter::from_fn(|| reap::next_ended().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    fn planned(cpus: usize, typed: &str) -> Plan {
        let machine = FakeMachine::new(cpus, 1 << 30);
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let command = RunArgs::augment_args(Command::new("run"));
        let matches = command.get_matches_from(["run"].into_iter().chain(typed.split(' ')));
        plan(&context, &RunArgs::from_arg_matches(&matches).expect("good options"))
    }

    fn decided(cpus: usize, typed: &str, subject: &str) -> String {
        planned(cpus, typed).about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn the_machine_and_the_options_decide_how_many_cores_it_may_have() {
        assert_eq!(planned(4, "-- make -j8 x\u{1b}").purpose, "run make -j8 x\\x1b");
        assert_eq!(decided(4, "make", "cores"), "up to 4 hands");
        assert_eq!(decided(4, "-j 0 make", "cores"), "up to 4 hands");
        assert_eq!(decided(4, "-j 1 make", "cores"), "up to 1 hand");
        assert_eq!(decided(1, "make", "cores"), "up to 1 hand");
        assert_eq!(planned(4, "--what build make").purpose, "run build");
    }

    #[test]
    fn lower_classes_are_lower_for_the_kernel_too() {
        assert_eq!(decided(2, "make", "class"), "normal, weight 100");
        assert_eq!(decided(2, "--priority high --weight 7 make", "class"), "high, weight 7");
        assert_eq!(decided(2, "--priority high make", "scheduler"), "as it is");
        assert_eq!(decided(2, "--priority low make", "scheduler"), "SCHED_BATCH, nice +10");
        assert_eq!(decided(2, "--priority idle make", "scheduler"), "SCHED_IDLE");
    }

    #[test]
    fn job_slots_are_for_several_cores() {
        assert_eq!(decided(4, "--jobserver off make", "job slots"), "none");
        assert_eq!(decided(1, "make", "job slots"), "none");
    }
}
