//! What one scan of many sleeping processes costs: the CPU time of runs with many scans less that of runs with few, so that
//! starting and the first look at all texts do not count.

use super::{Record, WITHOUT_RIGHTS};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROCESSES: usize = 10_000;
const PROCESSES_QUICK: usize = 500;
const SCANS: usize = 20;
/// LIMIT: a scan of 10,000 processes without rights, and with a program in the kernel: the issue's.
const SCAN_MS_MAX: f64 = 30.0;
const SCAN_IN_KERNEL_MS_MAX: f64 = 5.0;

/// Sleeping processes that end with this value.
pub struct Crowd(Vec<Child>);

impl Crowd {
    /// So many.
    pub fn start(count: usize) -> Result<Self, String> {
        let mut crowd = Self(Vec::with_capacity(count));
        for _ in 0..count {
            let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn();
            crowd.0.push(child.map_err(|error| format!("could not start a sleeper: {error}"))?);
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _it_may_have_ended = child.kill();
        }
        for child in &mut self.0 {
            let _reaped = child.wait();
        }
    }
}

/// Measures and says.
pub(super) fn run(program: &Path, is_quick: bool, record: &mut Record) -> Result<(), String> {
    let count = if is_quick { PROCESSES_QUICK } else { PROCESSES };
    let _crowd = Crowd::start(count)?;
    record.say(&format!(
        "## one scan of {count} sleeping processes\n\n| tool | CPU ms a scan | target |\n|---|---|---|\n"
    ));
    let program = program.to_string_lossy().into_owned();
    let scans = |scans: usize| vec![program.clone(), "pstime".into(), "-n".into(), scans.to_string(), "0.2".into()];
    let without_rights = WITHOUT_RIGHTS.map(str::to_owned);
    for (name, prefix, ms_max) in
        [("BPF", &without_rights[..0], SCAN_IN_KERNEL_MS_MAX), ("no rights", &without_rights[..], SCAN_MS_MAX)]
    {
        let told = output(&[prefix, &scans(1)].concat())?;
        // Some rows may be of another tier: the kernel hides process 1 from programs in it here and there.
        if !told.contains(&format!("(tier: {name}")) {
            record.say(&format!("| mh pstime, {name} | left out: not possible here | |\n"));
            continue;
        }
        let of = |count| cpu_ms(&[prefix, &scans(count)].concat());
        let ours = (of(SCANS + 1)? - of(1)?) / SCANS as f64;
        let verdict = record.verdict(ours <= ms_max * count as f64 / PROCESSES as f64);
        record.raw("scan", name, 0, &[count as f64, ours]);
        record.say(&format!("| mh pstime, {name} | {ours:.2} | {verdict} |\n"));
    }
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let ps = cpu_ms(&words(&["ps", "-eo", "pid,cputimes"]))?;
    let pidstat = |scans| words(&["pidstat", "-u", "-p", "ALL", "1", scans]);
    let pidstat = (cpu_ms(&pidstat("5"))? - cpu_ms(&pidstat("1"))?) / 4.0;
    for (name, cost) in [("ps -eo pid,cputimes (a whole run)", ps), ("pidstat -u -p ALL", pidstat)] {
        record.raw("scan", name, 0, &[count as f64, cost]);
        record.say(&format!("| {name} | {cost:.2} | |\n"));
    }
    record.say("\n");
    Ok(())
}

fn output(words: &[String]) -> Result<String, String> {
    let output = Command::new(&words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| format!("could not start {}: {error}", words[0]))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// User and system time of a program, by the kernel's account.
fn cpu_ms(words: &[String]) -> Result<f64, String> {
    let output = Command::new("time").args(["-f", "%U %S"]).args(words).stdout(Stdio::null()).output();
    let output = output.map_err(|error| format!("could not start time: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds: Vec<f64> =
        said.lines().last().unwrap_or_default().split(' ').filter_map(|word| word.parse().ok()).collect();
    match seconds.as_slice() {
        [user, system] => Ok((user + system) * 1000.0),
        _ => Err(format!("could not measure {}: {said}", words.join(" "))),
    }
}
