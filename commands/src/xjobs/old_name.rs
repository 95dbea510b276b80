//! Under the old name: xjobs' own command line (20120412) and its lines about starts and ends.
//! Where a letter means the same in both, nothing is done.

use jobs::Variables;
use jobs::run::JobEnd;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use sys::reap::How;

/// Options of xjobs that take a value.
const WITH_VALUE: &[u8] = b"jslvq";

/// xjobs' verbosity when none is given: each start and each end is told.
const USUAL_VERBOSITY: &str = "-v3";

/// COMPAT: xjobs reads options up to `--` wherever they stand (GNU getopt); its `-h` is help, which ours is too. Options that
/// come after the utility are moved before it.
pub fn rewrite(words: Vec<OsString>) -> Vec<OsString> {
    let (mut options, mut others) = (vec![OsString::from(USUAL_VERBOSITY)], Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_encoded_bytes();
        if bytes == b"--" {
            others.extend(words.by_ref());
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            let value_follows = !bytes.starts_with(b"--")
                && bytes[1..].iter().position(|letter| WITH_VALUE.contains(letter)) == Some(bytes.len() - 2);
            if takes_verbosity(bytes) {
                options.retain(|option| option != USUAL_VERBOSITY);
            }
            options.push(word);
            if value_follows {
                options.extend(words.next());
            }
        } else {
            others.push(word);
        }
    }
    options.push(OsString::from("--"));
    options.extend(others);
    options
}

fn takes_verbosity(option: &[u8]) -> bool {
    let first = option[1..].iter().find(|letter| WITH_VALUE.contains(letter));
    !option.starts_with(b"--") && first == Some(&b'v')
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from).collect();
        rewrite(words).into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn options_are_read_wherever_they_stand() {
        assert_eq!(rewritten(&["gzip"]), ["-v3", "--", "gzip"]);
        assert_eq!(
            rewritten(&["-j2", "show", "-n", "-l", "3", "x"]),
            ["-v3", "-j2", "-n", "-l", "3", "--", "show", "x"]
        );
        assert_eq!(rewritten(&["-v", "1", "--", "show", "-x"]), ["-v", "1", "--", "show", "-x"]);
        assert_eq!(rewritten(&["-nv0", "a"]), ["-nv0", "--", "a"]);
    }
}
