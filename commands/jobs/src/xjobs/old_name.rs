//! Under the old name: what xjobs (20120412) prints about starts and ends. Its options are those of `mh xjobs`.

use jobs::Variables;
use jobs::run::JobEnd;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use sys::reap::How;

/// xjobs' verbosity when none is given: each start and each end is told.
pub const USUAL_VERBOSITY: u8 = 3;

/// `### started job #1, pid 1724: /bin/echo a`
pub fn started(number: u64, pid: i32, words: &Variables) -> String {
    format!("### started job #{number}, pid {pid}: {}", line(words))
}

/// What stands before a job's output.
pub fn heading(number: u64, pid: i32, words: &Variables) -> Vec<u8> {
    format!("### output of job #{number}, pid {pid}: {}\n", line(words)).into_bytes()
}

/// How a job ended, and what it used unless `-r` leaves that out.
pub fn ended(number: u64, words: &Variables, end: &JobEnd, shows_usage: bool) -> String {
    let how = match end.ended.how {
        How::Exit(code) => format!("exitcode {code}"),
        How::Signal(signal) => format!("terminated by signal {signal}"),
    };
    let pid = end.ended.pid.as_raw_nonzero();
    let times = match shows_usage {
        true => format!(
            ", user: {}, sys: {}",
            seconds(end.spent.usage.user_ns as f64 / 1e9),
            seconds(end.spent.usage.system_ns as f64 / 1e9)
        ),
        false => String::new(),
    };
    let real = seconds(end.wall.as_secs_f64());
    match end.printed_bytes {
        [0, 0] => format!("### job #{number} ({}), pid {pid:>6}, {how}, real: {real}{times}", line(words)),
        _ => format!("### {how}, real: {real}{times}"),
    }
}

fn seconds(time: f64) -> String {
    let minutes = (time / 60.0).floor();
    format!("{minutes}:{:.6} secs.", time - minutes * 60.0)
}

fn line(words: &Variables) -> String {
    let bytes = words.iter().collect::<Vec<_>>().join(&b' ');
    terminal::printable(&OsString::from_vec(bytes).to_string_lossy()).into_owned()
}
