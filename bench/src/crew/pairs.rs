//! Two runs, and one alone: whether a high run minds a low one, whether equals share equally, what the table costs a run that
//! has the machine to itself. Judges nothing.

use super::sampling::cpu_s;
use super::{Bench, Sharing};
use crate::measure::{Run, Tool};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Until a run in the background is at full width.
const WARM_UP: Duration = Duration::from_millis(500);

/// A run that packs `input` into a file.
fn packing(bench: &Bench, sharing: Sharing, class: &str) -> Tool {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let variable = format!("MH_CREW_DIR={}", text(&bench.directory_of(sharing)));
    let output = bench.file(&format!("pair-{class}.zst"));
    let (program, input, out) = (text(bench.program), text(&bench.pair_input), text(&output));
    let words = ["env", &variable, &program, "tamp", "-q", "-k", "-f", "-3", "--priority", class, &input, "-o", &out];
    Tool::new(class, &words, &output)
}

/// A run that is killed before its end.
pub struct Background {
    child: Child,
}

impl Background {
    /// Packs one file again and again, as `how` says.
    pub fn start(bench: &Bench, sharing: Sharing, class: &str, how: &[String]) -> Result<Self, String> {
        let mut command = Command::new(bench.program);
        command.args(["tamp", "-q", "-c", "--priority", class]).args(how);
        // LIMIT: a thousand times is longer than what runs beside it.
        command.args(std::iter::repeat_n(&bench.pair_input, 1000)).env("MH_CREW_DIR", bench.directory_of(sharing));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("could not run {}: {error}", bench.program.display()))?;
        std::thread::sleep(WARM_UP);
        Ok(Self { child })
    }

    /// An error if it had ended by itself: then nothing ran beside.
    pub fn end(mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            ended => Err(format!("the run in the background ended too soon: {ended:?}")),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

/// A high run with the machine to itself.
pub fn high_alone(bench: &Bench) -> Result<Run, String> {
    packing(bench, Sharing::Budget, "high").run()
}

/// The same beside a low one.
pub fn high_beside_low(bench: &Bench, sharing: Sharing) -> Result<Run, String> {
    let low = Background::start(bench, sharing, "low", &["-3".to_owned()])?;
    let run = packing(bench, sharing, "high").run()?;
    low.end()?;
    Ok(run)
}

/// A normal run alone, with a table or without one.
pub fn alone(bench: &Bench, sharing: Sharing) -> Result<Run, String> {
    packing(bench, sharing, "normal").run()
}

/// CPU seconds of two equal runs in one stretch of time, the smaller first.
pub fn equals(bench: &Bench, stretch: Duration) -> Result<(f64, f64), String> {
    let one = Background::start(bench, Sharing::Budget, "normal", &["-3".to_owned()])?;
    let other = Background::start(bench, Sharing::Budget, "normal", &["-3".to_owned()])?;
    let both = || {
        let gone = || "a run ended too soon".to_owned();
        Ok::<_, String>((cpu_s(one.child.id()).ok_or_else(gone)?, cpu_s(other.child.id()).ok_or_else(gone)?))
    };
    let before = both()?;
    std::thread::sleep(stretch);
    let after = both()?;
    one.end()?;
    other.end()?;
    let (one_s, other_s) = (after.0 - before.0, after.1 - before.1);
    Ok((one_s.min(other_s), one_s.max(other_s)))
}
