//! Where the numbers come from: programs in the kernel where that is allowed, looks from outside where it is not and was not
//! asked for. Says which, and why.

use super::plan::{Plan, Subject};
use super::{ByArg, NAME, SystimeArgs};
use jobs::start::Programs;
use mh_kit::context::{Context, variable};
use mh_kit::failure::{Failure, program_not_run, with_causes};
use observe::calls::measure::{MeasureError, Measurement, MeasuringCost, MeasuringMethod};
use observe::calls::names::CALL_RUNNING;
use observe::calls::snapshot::{CallSnapshot, TimeOwner};
use observe::calls::traced::{Traced, cost_of_a_call};
use observe::calls::without_rights::{CallSampler, Process, SampledCalls};
use observe::source::words::text_of;
use observe::tier::Tier;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use sys::reap::How;
use sys::signals::{ENDING, SignalSet, as_at_start};

/// The command, under way.
pub struct Started {
    /// Its process.
    pub process: Child,
    /// Just before.
    pub began: Instant,
}

/// A measurement under way.
pub enum Source {
    /// In the kernel.
    InKernel(Box<Measurement>),
    /// From outside; only these calls, if there are any.
    Outside(Box<CallSampler>, Vec<u32>),
    /// By stopping at each call.
    Traced {
        /// The run.
        run: Traced,
        /// What stopping at a call costs.
        call_cost: Duration,
    },
}

/// How the numbers were made: printed with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "method")]
pub enum Made {
    /// Every call counted in the kernel.
    Exact(MeasuringCost),
    /// Waits counted, CPUs sampled.
    Sampled(MeasuringCost),
    /// Every call counted by stopping at it.
    Traced {
        /// How much longer each took.
        call_cost_ns: u64,
    },
    /// Threads looked at from outside.
    Outside {
        /// CPU time that the looking took.
        own_cpu_ns: u64,
        /// Threads that could not be looked at.
        unreadable: u64,
    },
}

impl Made {
    /// Which rights it needed.
    pub fn tier(&self) -> Tier {
        match self {
            Self::Exact(_) | Self::Sampled(_) => Tier::Bpf,
            Self::Traced { .. } | Self::Outside { .. } => Tier::NoRights,
        }
    }
}

impl Source {
    /// Begins; a command is started last, and followed from its first call.
    pub fn start(context: &Context, args: &SystimeArgs, plan: &Plan) -> Result<(Self, Option<Started>), Failure> {
        if args.trace {
            return Self::traced(context, args);
        }
        match Measurement::start(&context.host, &plan.request) {
            Ok(measurement) => {
                let child = match plan.subject {
                    // What it takes to find the program is no time of the command.
                    Subject::Command => Some(spawned(args, |command| measurement.follow_born_in(|| command.spawn()))?),
                    _ => None,
                };
                Ok((Self::InKernel(Box::new(measurement)), child))
            }
            Err(error) if plan.request.method == MeasuringMethod::Exact || !is_obstacle(&error) => Err(refused(&error)),
            Err(error) => {
                let reason = with_causes(&error);
                context.messages.warning(NAME, &format!("looking from outside, since it could not {reason}"), &[]);
                Self::from_outside(context, args, plan)
            }
        }
    }

    /// The slowdown is said before the command is started.
    fn traced(context: &Context, args: &SystimeArgs) -> Result<(Self, Option<Started>), Failure> {
        let failed = |error: &io::Error| Failure::Environment {
            command: NAME,
            message: format!("trace a command: {}", with_causes(error)),
        };
        let call_cost = cost_of_a_call().map_err(|error| failed(&error))?;
        let slower = terminal::duration(call_cost);
        context
            .messages
            .note(NAME, &format!("stopping at every call: each takes about {slower} longer, measured here"));
        let (command, held_back) = command(args)?;
        let run = Traced::start(command).map_err(|error| not_run(args, &held_back, &error))?;
        Ok((Self::Traced { run, call_cost }, None))
    }

    /// How the command ended, where nobody else can wait for it.
    pub fn ended(&self) -> Option<How> {
        match self {
            Self::Traced { run, .. } => run.ended(),
            Self::InKernel(_) | Self::Outside(..) => None,
        }
    }

    /// The command that is traced.
    pub fn traced_command(&self) -> Option<u32> {
        match self {
            Self::Traced { run, .. } => Some(run.leader()),
            Self::InKernel(_) | Self::Outside(..) => None,
        }
    }

    fn from_outside(context: &Context, args: &SystimeArgs, plan: &Plan) -> Result<(Self, Option<Started>), Failure> {
        let owner = match args.by {
            ByArg::All => |_: &Process| TimeOwner::All,
            ByArg::Comm => |process: &Process| TimeOwner::Name(process.name.clone()),
            ByArg::Pid => |process: &Process| TimeOwner::Process { pid: process.pid, name: process.name.clone() },
            ByArg::Thread | ByArg::Cgroup => {
                let message = "rows by thread and by control group need CAP_BPF and CAP_PERFMON".to_owned();
                return Err(Failure::Usage { command: NAME, message });
            }
        };
        let child = if plan.subject == Subject::Command { Some(spawned(args, Command::spawn)?) } else { None };
        let target = match (&plan.subject, &child) {
            (Subject::Named(name), _) => SampledCalls::Named(text_of(name.as_bytes())),
            (Subject::Process(pid), _) => SampledCalls::Tree(*pid),
            (Subject::Command, Some(child)) => SampledCalls::Tree(child.process.id()),
            (Subject::All | Subject::Command, _) => SampledCalls::AllBut(std::process::id()),
        };
        let sampler = CallSampler::start(&context.host, target, owner)
            .map_err(|error| Failure::Environment { command: NAME, message: with_causes(&error) })?;
        Ok((Self::Outside(Box::new(sampler), plan.request.wanted.clone()), child))
    }

    /// How often it wants to be woken.
    pub fn pace(&self) -> Duration {
        match self {
            // Only to look at the files of slow calls while they are open, and at what others add to each call.
            Self::InKernel(_) => Duration::from_millis(250),
            Self::Outside(..) => Duration::from_millis(10),
            // Only to see the command's end.
            Self::Traced { .. } => Duration::from_millis(20),
        }
    }

    /// To be called at that pace.
    pub fn look(&mut self) {
        match self {
            Self::Outside(sampler, _) => sampler.look(),
            Self::InKernel(measurement) => measurement.follow_changes(),
            Self::Traced { .. } => {}
        }
    }

    /// Everything up to now.
    pub fn read(&self) -> CallSnapshot {
        match self {
            Self::InKernel(measurement) => measurement.read(),
            Self::Outside(sampler, wanted) => of_calls(sampler.read(), wanted),
            Self::Traced { run, .. } => run.read(),
        }
    }

    /// Everything up to the end.
    pub fn finish(self) -> (CallSnapshot, Made) {
        let made = self.made();
        match self {
            Self::InKernel(measurement) => (measurement.finish(), made),
            Self::Outside(sampler, wanted) => (of_calls(sampler.read(), &wanted), made),
            Self::Traced { run, .. } => (run.read(), made),
        }
    }

    /// How the numbers are made.
    pub fn made(&self) -> Made {
        match self {
            Self::InKernel(measurement) if measurement.method() == MeasuringMethod::Exact => {
                Made::Exact(measurement.cost())
            }
            Self::InKernel(measurement) => Made::Sampled(measurement.cost()),
            Self::Traced { call_cost, .. } => {
                Made::Traced { call_cost_ns: u64::try_from(call_cost.as_nanos()).unwrap_or(u64::MAX) }
            }
            Self::Outside(sampler, _) => {
                Made::Outside { own_cpu_ns: sys::cpu_clock::process_cpu_ns(), unreadable: sampler.unreadable() }
            }
        }
    }
}

/// Without the time of calls that were not asked for.
fn of_calls(mut snapshot: CallSnapshot, wanted: &[u32]) -> CallSnapshot {
    if !wanted.is_empty() {
        snapshot.owners.iter_mut().for_each(|owner| owner.keep(|call| call == CALL_RUNNING || wanted.contains(&call)));
    }
    snapshot
}

fn is_obstacle(error: &MeasureError) -> bool {
    matches!(error, MeasureError::Obstacle(_) | MeasureError::Container)
}

fn refused(error: &MeasureError) -> Failure {
    let mut message = with_causes(error);
    if is_obstacle(error) {
        message.push_str("; without --exact threads are looked at from outside, which needs no rights");
    }
    Failure::Environment { command: NAME, message }
}

/// Looked for in PATH here: the attempts of a child to execute it where it is not would be calls of the command's.
/// From here on signals are held back (the set is returned) for whoever passes them on to it: none ends us between, and leaves it behind.
fn command(args: &SystimeArgs) -> Result<(Command, SignalSet), Failure> {
    let (program, rest) = args.line.split_first().expect("a command has a name");
    let path = variable("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    // What is in no directory is tried all the same: then the kernel's own words tell why not.
    let found = Programs::new(path.as_bytes()).find(program.as_bytes()).ok();
    let mut command =
        Command::new(found.as_ref().map_or(program.as_os_str(), |path| OsStr::from_bytes(path.to_bytes())));
    let held_back = SignalSet::hold_back(ENDING).map_err(|error| Failure::Environment {
        command: NAME,
        message: format!("hold signals back: {}", with_causes(&error)),
    })?;
    as_at_start(command.arg0(program).args(rest));
    Ok((command, held_back))
}

fn spawned(args: &SystimeArgs, spawn: impl FnOnce(&mut Command) -> io::Result<Child>) -> Result<Started, Failure> {
    let (mut command, held_back) = command(args)?;
    let began = Instant::now();
    let process = spawn(&mut command).map_err(|error| not_run(args, &held_back, &error))?;
    Ok(Started { process, began })
}

/// There is nobody to pass signals on to: they have their way again.
fn not_run(args: &SystimeArgs, held_back: &SignalSet, error: &io::Error) -> Failure {
    held_back.let_go();
    program_not_run(NAME, args.line.first().map_or(OsStr::new(""), OsString::as_os_str), error)
}
