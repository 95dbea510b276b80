//! Takes down what a bench set up, however the bench ends: a shell of its own process group gets the steps through a pipe and
//! runs them, the last one first, when the pipe is closed. The system closes it for who was interrupted or killed.
//! Undoes nothing by itself: whoever sets something up says how it is taken down.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Steps to be taken when this is dropped, or when this process ends in whatever way.
pub struct Undo {
    shell: Child,
}

/// A tool that was interrupted may still hold a mount, or write into a directory: some seconds of patience.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
steps=
while IFS= read -r step; do
    steps="$step
$steps"
done
printf '%s' "$steps" | while IFS= read -r step; do
    for try in 1 2 3 4 5 6 7 8 9 10; do
        said=$(sh -c "$step" 2>&1 </dev/null) && continue 2
        sleep 0.5
    done
    echo "  left behind: $step: $said"
done
"#;

impl Undo {
    pub fn begin() -> Result<Self, String> {
        // A process group of its own: an interrupt at the terminal is not for it.
        let shell = Command::new("sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).process_group(0).spawn();
        Ok(Self { shell: shell.map_err(|error| format!("could not run sh: {error}"))? })
    }

    /// Adds a step, a line of shell, to be taken before all earlier ones.
    pub fn later(&mut self, step: &str) -> Result<(), String> {
        let pipe = self.shell.stdin.as_mut().expect("it is open until this is dropped");
        writeln!(pipe, "{step}").map_err(|error| format!("could not note '{step}': {error}"))
    }

    /// Sets something up, and notes how it is taken down if that went well.
    pub fn step(&mut self, script: &str, down: &str) -> Result<(), String> {
        shell(script)?;
        if down.is_empty() { Ok(()) } else { self.later(down) }
    }
}

/// What a line of shell says on standard output; an error with what it says on standard error.
pub fn shell(script: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", script]).output().map_err(|error| format!("{script}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

impl Drop for Undo {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _said_what_it_left = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_not_taken_down() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = directory.path().join("a").display().to_string();
        let mut undo = Undo::begin().expect("a shell");
        undo.step(&format!("mkdir '{made}'"), &format!("rmdir '{made}'")).expect("a directory");
        assert!(undo.step("exit 3", &format!("touch '{made}'")).is_err());
        drop(undo);
        assert!(!directory.path().join("a").exists());
    }

    #[test]
    fn steps_are_taken_last_first_and_one_that_fails_holds_none_up() {
        let directory = tempfile::tempdir().expect("a directory");
        let inner = directory.path().join("a/b");
        std::fs::create_dir_all(&inner).expect("directories");
        let outer = inner.parent().expect("it has one");
        let mut undo = Undo::begin().expect("a shell");
        undo.later(&format!("rmdir '{}'", outer.display())).expect("it is noted");
        undo.later("exit 3").expect("it is noted");
        undo.later(&format!("rmdir '{}'", inner.display())).expect("it is noted");
        assert!(inner.exists(), "not before the end");
        drop(undo);
        assert!(!outer.exists());
    }
}
