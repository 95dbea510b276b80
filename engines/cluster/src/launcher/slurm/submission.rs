//! What sbatch is given.

use crate::launcher::WorkerRequest;
use crate::launcher::worker_command::{log_directory, quoted, words};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// How long before the end of a time that Slurm alone knows a worker is asked to take no more work; up to a minute earlier than that.
const NOTICE: Duration = Duration::from_secs(120);

/// The indexes of the array.
pub(super) fn array(workers: u32) -> String {
    format!("0-{}", workers.saturating_sub(1))
}

/// By what the array of this request is known in Slurm's lists, when its id was not heard.
pub(super) fn comment(request: &WorkerRequest) -> String {
    format!("mh {} {}", request.run_id, request.first)
}

/// All but partition, the user's own words and the script.
pub(super) fn arguments(request: &WorkerRequest, workers: u32) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--parsable".into(), format!("--array={}", array(workers)).into()];
    arguments.push(format!("--job-name={}", request.name).into());
    arguments.push(format!("--comment={}", comment(request)).into());
    arguments.extend(["--nodes=1", "--ntasks=1"].map(OsString::from));
    arguments.push(match request.cores {
        Some(cores) => format!("--cpus-per-task={cores}").into(),
        None => "--exclusive".into(),
    });
    arguments.push(match request.time {
        // A worker keeps to that by itself; a notice would be a second interrupt, which ends its jobs.
        Some(time) => format!("--time={}", time_limit(time)).into(),
        None => format!("--signal=B:INT@{}", NOTICE.as_secs()).into(),
    });
    arguments.extend(["--requeue", "--open-mode=append"].map(OsString::from));
    arguments.push(output(log_directory(request).as_os_str()));
    arguments
}

/// Where Slurm's own words about an element go. LIE: in a path with a backslash Slurm replaces nothing and leaves the backslash out, so
/// that the file would be none of ours, and the element would fail.
fn output(directory: &OsStr) -> OsString {
    let mut output = OsString::from("--output=");
    match directory.as_bytes().contains(&b'\\') {
        true => output.push("/dev/null"),
        false => output.extend([pattern(directory).as_os_str(), OsStr::new("/slurm-%A_%a")]),
    }
    output
}

/// Hours, minutes and seconds.
fn time_limit(time: Duration) -> String {
    let seconds = time.as_secs().max(1);
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A path in which a percent sign stands for itself.
fn pattern(path: &OsStr) -> OsString {
    let escaped = path.as_bytes().iter().flat_map(|&byte| std::iter::repeat_n(byte, 1 + usize::from(byte == b'%')));
    OsString::from_vec(escaped.collect())
}

/// What each element runs: the worker in place of the shell, so that signals reach it. Its words go to a file with its number; the
/// array's own file has Slurm's.
pub(super) fn script(request: &WorkerRequest) -> OsString {
    let mut script = OsString::from(format!("number=$(({} + ${{SLURM_ARRAY_TASK_ID:-0}}))\nexec >> ", request.first));
    script.push(quoted(&[log_directory(request)]));
    script.push("/\"$number\" 2>&1\nexec ");
    script.push(quoted(&words(request)));
    script.push(" \"$number\"\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_hours_minutes_and_seconds() {
        let of = |milliseconds| time_limit(Duration::from_millis(milliseconds));
        assert_eq!([10, 61_000, 360_000_999].map(of), ["0:00:01", "0:01:01", "100:00:00"]);
    }

    #[test]
    fn percent_signs_in_paths_are_doubled() {
        assert_eq!(output(OsStr::new("/50%/%a")), "--output=/50%%/%%a/slurm-%A_%a");
        assert_eq!(output(OsStr::new("/a\\b")), "--output=/dev/null");
    }
}
