//! What watching costs: the share of a core that `mh pstime` and `mh ceiling` use themselves, a sample a second, among many
//! sleeping processes; once they have run for a while, so that starting and the first look at all texts do not count.

use super::load::ran_ns;
use super::scan::Crowd;
use super::{Record, WITHOUT_RIGHTS};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROCESSES: usize = 2_000;
const PROCESSES_QUICK: usize = 200;
/// Before it is measured, and for how long it is: whole samples, each at the same place between two readings.
const SETTLING: Duration = Duration::from_millis(5_500);
const MEASURED_S: u64 = 20;
const MEASURED_QUICK_S: u64 = 3;
/// LIMIT: a watcher uses so many percent of a core: the issue's.
const PERCENT_MAX: f64 = 0.5;

/// An instrument that watches; it ends with this value.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        let _it_may_have_ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Measures and says.
pub fn run(program: &Path, is_quick: bool, record: &mut Record) -> Result<(), String> {
    let (count, seconds) = if is_quick { (PROCESSES_QUICK, MEASURED_QUICK_S) } else { (PROCESSES, MEASURED_S) };
    let _crowd = Crowd::start(count)?;
    record.say(&format!(
        "## the watcher's own CPU among {count} sleeping processes, a sample a second\n\n\
         {seconds} s; target {PERCENT_MAX} % of a core\n\n| watcher | % of a core | target |\n|---|---|---|\n"
    ));
    let program = program.to_string_lossy().into_owned();
    for (rights, prefix) in [("root", &[][..]), ("no rights", &WITHOUT_RIGHTS[..])] {
        for words in [&["pstime", "-n", "1000", "1"][..], &["ceiling", "--watch", "1"]] {
            let percent = percent_of(&[prefix, &[&*program], words].concat(), seconds)?;
            let verdict = record.verdict(percent <= PERCENT_MAX);
            record.raw("watching", &format!("{} {rights}", words[0]), 0, &[count as f64, percent]);
            record.say(&format!("| mh {}, {rights} | {percent:.3} | {verdict} |\n", words[0]));
        }
    }
    record.say("\n");
    Ok(())
}

fn percent_of(words: &[&str], seconds: u64) -> Result<f64, String> {
    let child = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let watcher = Watcher(child.map_err(|error| format!("could not start {}: {error}", words[0]))?);
    let used = || used_ns(watcher.0.id()).map_err(|error| format!("could not measure {}: {error}", words.join(" ")));
    std::thread::sleep(SETTLING);
    let (before_ns, began) = (used()?, Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let used_ns = used()?.saturating_sub(before_ns);
    Ok(100.0 * used_ns as f64 / began.elapsed().as_nanos() as f64)
}

/// What the threads of a process have used. It sleeps: none of them is ahead of its account.
fn used_ns(pid: u32) -> std::io::Result<u64> {
    let mut used_ns = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        used_ns += ran_ns(&text).ok_or(std::io::ErrorKind::InvalidData)?;
    }
    Ok(used_ns)
}
