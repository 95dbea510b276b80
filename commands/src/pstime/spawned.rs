//! `mh pstime -- COMMAND`: runs a program and tells what it and its children used: live by their clocks where an interval is
//! given, and at the end what the kernel charged them, which is exact. Tells it on standard error, since standard output is
//! the program's.

use super::NAME;
use super::plan::Plan;
use crate::context::Context;
use crate::failure::{Failure, Outcome, with_causes};
use crate::instruments::pace::{Pace, Woken};
use crate::instruments::shares::Base;
use observe::model::MachineUsage;
use observe::split::{Ticks, split};
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
    let child = as_at_start(command.args(&plan.program[1..])).spawn().map_err(|error| Failure::Environment {
        command: NAME,
        message: format!("start {}: {}", terminal::quote(program), with_causes(&error)),
    })?;
    let ended = wait(&mut pace, &child)?;
    context.messages.report(&text(plan, context, &ended, began.elapsed()));
    Ok(Outcome::Code(match ended.how {
        How::Exit(code) => u8::try_from(code & 0xff).unwrap_or(1),
        How::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
    }))
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

fn text(plan: &Plan, context: &Context, ended: &Ended, wall: Duration) -> String {
    let machine = MachineUsage {
        online_cpus: u32::try_from(context.machine.online_cpus).unwrap_or(1),
        quota_millicores: context.machine.cpu_quota_millicores,
        ..MachineUsage::default()
    };
    let base = Base::new(plan.base, &machine);
    let (user_ns, system_ns) = (ended.usage.user_ns, ended.usage.system_ns);
    let ticks = Ticks { user_ns, system_ns, lifetime_user_ns: user_ns, lifetime_system_ns: system_ns };
    let error_ns = split(user_ns.saturating_add(system_ns), ticks, sys::cpu_clock::tick_ns()).error_ns;
    let share = |nanoseconds: f64| base.percent(nanoseconds / 1e9 / wall.as_secs_f64().max(1e-9));
    let total_ns = user_ns as f64 + system_ns as f64;
    let amount = |name: &str, nanoseconds: f64, error: &str| {
        let (seconds, percent) = (terminal::four_digits(nanoseconds / 1e9), terminal::four_digits(share(nanoseconds)));
        format!("{name:<5} {seconds:>8} s  {percent:>7} %{error}\n")
    };
    let error = format!("  +- {} s", terminal::error_digits(error_ns / 1e9));
    let mut text = format!(
        "{} and the children it waited for, {}; {}; exact sum, split by ticks (tier: no rights)\n",
        terminal::quote(&plan.program[0]),
        terminal::duration(wall),
        base.label()
    );
    text.push_str(&amount("user", user_ns as f64, &error));
    text.push_str(&amount("sys", system_ns as f64, &error));
    text.push_str(&amount("cpu", total_ns, ""));
    text
}
