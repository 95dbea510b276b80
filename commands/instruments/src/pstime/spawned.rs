//! `mh pstime -- COMMAND`: runs a program and tells at its end what the kernel charged it and its children, which is exact.
//! Tells it on standard error, since standard output is the program's. Looks at nothing meanwhile.

use super::NAME;
use super::plan::Plan;
use crate::shares::Base;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, program_not_run, with_causes};
use mh_kit::instrument::Format;
use mh_kit::instrument::csv_field;
use mh_kit::instrument::pace::{Pace, Woken};
use observe::model::MachineUsage;
use observe::source::words::text_of;
use observe::split::{Ticks, split};
use observe::tier::Tier;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use sys::reap::{Ended, How, next_ended};
use sys::signals::as_at_start;

/// Waiting for the program takes no turns: SIGCHLD ends it.
const UNPACED: Duration = Duration::from_secs(3600);

/// Runs the program. Its exit code is ours.
pub fn run(context: &Context, plan: &Plan) -> Result<Outcome, Failure> {
    let mut pace = Pace::begin(UNPACED, 1).map_err(|error| Failure::Environment {
        command: NAME,
        message: format!("set up waiting: {}", with_causes(&error)),
    })?;
    let began = Instant::now();
    let program = &plan.program[0];
    let mut command = Command::new(program);
    let child = as_at_start(command.args(&plan.program[1..])).spawn();
    let child = child.map_err(|error| program_not_run(NAME, program, &error))?;
    let ended = wait(&mut pace, &child)?;
    let used = Used::new(plan, &ended, began.elapsed());
    context.messages.report(&match plan.format {
        Format::Text => used.text(plan, context),
        Format::Json => mh_kit::report::json_line(&used),
        Format::Csv => used.csv(),
    });
    Ok(Outcome::Code(used.exit_code))
}

/// Sleeps until the program has ended. Signals from the terminal reach it too; it decides what they mean.
fn wait(pace: &mut Pace, child: &Child) -> Result<Ended, Failure> {
    let failure = |error: std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("wait for the program: {}", with_causes(&error)),
    };
    loop {
        while let Some(ended) = next_ended().map_err(failure)? {
            if ended.pid.as_raw_nonzero().get().cast_unsigned() == child.id() {
                return Ok(ended);
            }
        }
        match pace.sleep().map_err(failure)? {
            Woken::Ended(signal) => {
                let pid = rustix::process::Pid::from_child(child);
                let named = rustix::process::Signal::from_named_raw(signal);
                let _it_may_be_gone = named.map(|signal| rustix::process::kill_process(pid, signal));
            }
            Woken::Due | Woken::Part | Woken::Interrupted | Woken::Child => {}
        }
    }
}

/// What a program and the children it waited for used.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    tier: Tier,
    program: String,
    /// As a shell has it.
    exit_code: u8,
    elapsed_ns: u64,
    cpu_ns: u64,
    user_ns: u64,
    system_ns: u64,
    /// How far user and system time may be off, with 98 % confidence.
    error_ns: f64,
}

impl Used {
    fn new(plan: &Plan, ended: &Ended, wall: Duration) -> Self {
        let (user_ns, system_ns) = (ended.usage.user_ns, ended.usage.system_ns);
        let ticks = Ticks { user_ns, system_ns, lifetime_user_ns: user_ns, lifetime_system_ns: system_ns };
        let cpu_ns = user_ns.saturating_add(system_ns);
        Self {
            kind: "command",
            tier: Tier::NoRights,
            program: text_of(plan.program[0].as_bytes()),
            exit_code: exit_code(ended.how),
            elapsed_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            cpu_ns,
            user_ns,
            system_ns,
            error_ns: split(cpu_ns, ticks, sys::cpu_clock::tick_ns()).error_ns,
        }
    }

    fn text(&self, plan: &Plan, context: &Context) -> String {
        let machine = MachineUsage {
            online_cpus: u32::try_from(context.machine.online_cpus).unwrap_or(1),
            quota_millicores: context.machine.cpu_quota_millicores,
            ..MachineUsage::default()
        };
        let base = Base::new(plan.base, &machine);
        let amount = |name: &str, nanoseconds: u64, error: &str| {
            let percent = base.percent(nanoseconds as f64 / self.elapsed_ns.max(1) as f64);
            let (seconds, percent) = (terminal::four_digits(nanoseconds as f64 / 1e9), terminal::four_digits(percent));
            format!("{name:<5} {seconds:>8} s  {percent:>7} %{error}\n")
        };
        let error = format!("  +- {} s", terminal::error_digits(self.error_ns / 1e9));
        format!(
            "{} and the children it waited for, {}; {}; exact sum, split by ticks (tier: {})\n{}{}{}",
            terminal::quote(&plan.program[0]),
            terminal::duration(Duration::from_nanos(self.elapsed_ns)),
            base.label(),
            self.tier,
            amount("user", self.user_ns, &error),
            amount("sys", self.system_ns, &error),
            amount("cpu", self.cpu_ns, "")
        )
    }

    fn csv(&self) -> String {
        let Self { program, exit_code, elapsed_ns, cpu_ns, user_ns, system_ns, error_ns, tier, .. } = self;
        format!(
            "TIER,PROGRAM,EXIT CODE,ELAPSED ns,CPU ns,USR ns,SYS ns,+- ns\n\
             {tier},{},{exit_code},{elapsed_ns},{cpu_ns},{user_ns},{system_ns},{error_ns:.0}\n",
            csv_field(program)
        )
    }
}

fn exit_code(how: How) -> u8 {
    match how {
        How::Exit(code) => u8::try_from(code & 0xff).unwrap_or(1),
        How::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
    }
}
