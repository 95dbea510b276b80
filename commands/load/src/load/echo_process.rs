//! The echo server in a process of its own, so that what it costs can be told from what the generator costs. It ends with us.

use super::environment;
use ::load::target::echo::{EchoScheduler, EchoServer, EchoStep, Service};
use mh_kit::failure::{Failure, Outcome};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use terminal::parse_duration;

/// A server that was started.
pub struct EchoProcess {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl EchoProcess {
    /// Starts this program as an echo server, on a free port of the loopback interface.
    pub fn start(scheduler: &str, service: &str) -> Result<Self, Failure> {
        // Told here, where the user sees it.
        parse_scheduler(scheduler)?;
        parse_service(service)?;
        let failed = |error: std::io::Error| environment(format!("could not start the echo server: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["load", "--serve-echo", &format!("{scheduler}/{service}")]);
        // Its end is that of our side of this pipe.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = sys::signals::as_at_start(&mut command).spawn().map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let address = line.trim().parse().ok();
        let mut started = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        started.address = address.ok_or_else(|| started.complaint())?;
        Ok(started)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn complaint(&mut self) -> Failure {
        let end = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        environment(format!("could not start the echo server: it ended with {end}"))
    }
}

impl Drop for EchoProcess {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Serves until whoever started us has ended.
pub fn serve(how: &str) -> Result<Outcome, Failure> {
    let (scheduler, service) = how.split_once('/').unwrap_or((how, ""));
    let (scheduler, service) = (parse_scheduler(scheduler)?, parse_service(service)?);
    let failed = |error: std::io::Error| environment(format!("could not serve: {error}"));
    let server = EchoServer::listen(([127, 0, 0, 1], 0).into()).map_err(failed)?;
    mh_kit::report::print(&format!("{}\n", server.address().map_err(failed)?))?;
    std::thread::spawn(move || server.serve(scheduler, Service::new(service)));
    // Ends with the other side of the pipe.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(failed)?;
    Ok(Outcome::Done)
}

fn usage(message: String) -> Failure {
    Failure::Usage { command: super::NAME, message }
}

fn parse_scheduler(text: &str) -> Result<EchoScheduler, Failure> {
    let pool = text.strip_prefix("pool:").and_then(|count| count.parse::<NonZeroUsize>().ok());
    match (text, pool.filter(|count| count.get() <= 1024)) {
        ("each", _) => Ok(EchoScheduler::ThreadEach),
        (_, Some(count)) => Ok(EchoScheduler::Pool(count)),
        _ => Err(usage(format!("--echo-scheduler '{text}' is neither each nor pool:COUNT (1 to 1024)"))),
    }
}

/// LIMIT: steps of a service.
const STEPS_MAX: usize = 100_000;

fn parse_service(text: &str) -> Result<Vec<EchoStep>, Failure> {
    let mut steps = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (count, step) = part.split_once('x').unwrap_or(("1", part));
        let count = count.parse::<usize>().ok().filter(|count| steps.len() + count <= STEPS_MAX);
        let time = step.split_once(':').and_then(|(what, time)| Some((what, parse_duration(time).ok()?)));
        let time = time.filter(|(_, time)| *time <= Duration::from_secs(60));
        let step = match (count, time) {
            (Some(_), Some(("wait", wait))) => EchoStep { wait, ..EchoStep::default() },
            (Some(_), Some(("work", work))) => EchoStep { work, ..EchoStep::default() },
            _ => return Err(usage(format!("--echo-service: '{part}' is not [COUNTx]wait:TIME or [COUNTx]work:TIME"))),
        };
        steps.extend(std::iter::repeat_n(step, count.unwrap_or(1)));
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_lists_of_times() {
        let Ok(steps) = parse_service("3xwait:1ms,work:2ms") else { panic!("it is a service") };
        assert_eq!(steps.len(), 4);
        assert_eq!((steps[0].wait, steps[3].work), (Duration::from_millis(1), Duration::from_millis(2)));
        assert!(parse_service("").ok().is_some_and(|steps| steps.is_empty()));
        for wrong in ["wait", "wait:x", "xwait:1ms", "200000xwait:1ms", "sleep:1ms", "wait:2h"] {
            assert!(parse_service(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schedulers_have_two_names() {
        assert!(matches!(parse_scheduler("each"), Ok(EchoScheduler::ThreadEach)));
        assert!(matches!(parse_scheduler("pool:4"), Ok(EchoScheduler::Pool(_))));
        for wrong in ["", "pool", "pool:0", "pool:5000"] {
            assert!(parse_scheduler(wrong).is_err(), "{wrong}");
        }
    }
}
