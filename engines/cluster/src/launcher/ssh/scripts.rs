//! Scripts for a POSIX shell on a host, and their answers. Each is a function called in its last line, so that one whose end was lost on
//! the way does nothing. Answers are lines that begin with a word of ours: login shells may print others before them.

use crate::launcher::WorkerRequest;
use crate::launcher::worker_command::{log, quoted, words};
use crate::launcher::worker_process::WorkerProcess;
use std::ffi::OsString;

/// LIMIT: tenths of a second for a worker to end its jobs.
const END_TENTHS: u32 = 100;

/// The word before answers.
const WORD: &str = "mh-answer";

fn whole(body: &str) -> OsString {
    format!("main() {{\n{body}\n}}\nmain\n").into()
}

pub(super) fn cores() -> OsString {
    whole(&format!("echo \"{WORD} $(nproc)\""))
}

pub(super) fn answered_cores(text: &str) -> Option<u32> {
    answer(text)?.parse().ok()
}

/// Starts a worker in a session of its own and prints its PID and its begin. The last shell becomes the worker and so keeps its PID; with
/// that it lets go of descriptor 3, for which this script waits. SIGHUP stays as it was, since jobs inherit it: without a terminal none comes.
pub(super) fn start(request: &WorkerRequest, number: u32) -> OsString {
    let mut script = OsString::from("main() {\nlog=");
    script.push(quoted(&[log(request, number)]));
    script.push("\nprogram=");
    script.push(quoted(&[&request.program]));
    script.push(format!(
        r#"
command -v "$program" > /dev/null || {{ echo "there is no program '$program'" >&2; exit 127; }}
: >> "$log" || exit 73
answer=$({{ setsid sh -c '
    begin() {{ shift 19; echo "$1"; }}
    stat=$(cat "/proc/$$/stat")
    echo "{WORD} $$@$(begin ${{stat##*) }})" >&3
    exec "$@" 3>&-
' sh "#
    ));
    script.push(quoted(&words(request)));
    script.push(format!(" {number}; }} 3>&1 < /dev/null >> \"$log\" 2>&1 &)\necho \"$answer\"\n}}\nmain\n"));
    script
}

pub(super) fn started(text: &str) -> Option<WorkerProcess> {
    answer(text)?.parse().ok()
}

/// Asks processes to end, if they are still those that were started, and waits until they have. A script that fails says which go on.
pub(super) fn end(processes: &[WorkerProcess]) -> OsString {
    let all: Vec<String> = processes.iter().map(WorkerProcess::to_string).collect();
    whole(&format!(
        r#"
begin() {{ shift 19; echo "$1"; }}
state() {{ echo "$1"; }}
lives() {{
    stat=$(cat "/proc/${{1%@*}}/stat" 2> /dev/null) || return 1
    stat=${{stat##*) }}
    case $(state $stat) in Z|X) return 1 ;; esac
    test "$(begin $stat)" = "${{1#*@}}"
}}
all='{}'
for process in $all; do
    if lives "$process"; then
        kill -s TERM "${{process%@*}}" && kill -s CONT "${{process%@*}}" || exit 1
    fi
done
tenths=0
for process in $all; do
    while lives "$process"; do
        test $tenths -lt {END_TENTHS} || {{ echo "PID ${{process%@*}} goes on after SIGTERM" >&2; exit 1; }}
        sleep 0.1
        tenths=$((tenths + 1))
    done
done"#,
        all.join(" ")
    ))
}

/// What stands behind our word in the last such line.
fn answer(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| line.strip_prefix(WORD)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_behind_what_login_shells_print() {
        assert_eq!(answered_cores("Welcome!\nmh-answer 64\n"), Some(64));
        assert_eq!(answered_cores("Welcome!\nmh-answer \n"), None);
        assert_eq!(started("mh-answer 12@34\n"), Some(WorkerProcess { pid: 12, begin: 34 }));
        assert_eq!(started("mh-answer 12@\n"), None);
        assert_eq!(started(""), None);
    }
}
