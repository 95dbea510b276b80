//! Progress and the summary line: on a terminal of its own, under our names and those of old tools, in a pipe.
//! Each run waits for a writer that is slow enough for the first line to be drawn.

use crate::place::{Place, binary};
use std::os::unix::fs::symlink;
use testkit::program::{TestProgram, left_out};

/// What a script prints on a terminal of its own, with `$mh` and links of old names in the current directory.
fn on_terminal(place: &Place, script: &str) -> Option<String> {
    let terminal = TestProgram::find("script").filter(|_| TestProgram::find("bash").is_some())?;
    for name in ["cp", "gzip", "tar"] {
        let _there_from_the_run_before = symlink(binary(), place.path(name));
    }
    place.write("on-terminal", script);
    let terminal = terminal
        .in_directory(place.directory())
        .with_variable("mh", binary())
        .with_variable("TERM", "xterm")
        .with_variable("MH_CREW_DIR", "");
    let outcome = terminal.run(["-qec", "bash on-terminal", "/dev/null"], b"").expect("it starts");
    Some(String::from_utf8_lossy(&outcome.stdout).into_owned())
}

/// Commands that read `$1` from a FIFO, or standard input, and what progress calls them.
const RUNS: [(&str, &str, &str, &str); 4] = [
    ("tamp", "$mh tamp < fifo > out", "standard input  ", "standard input: 20 MB -> "),
    ("gzip", "./gzip < fifo > out", "", ""),
    ("cp", "$mh cp fifo out", "copying fifo  16.", "copied 1 entry, 20 MB in "),
    ("old cp", "./cp fifo out", "", ""),
];

#[test]
fn who_looks_sees_progress_and_a_summary_and_under_an_old_name_neither() {
    let place = Place::new();
    let writer = "rm -f fifo out; mkfifo fifo; { head -c 20000000 /dev/zero; sleep 1.2; } > fifo & ";
    for (name, command, progress, summary) in RUNS {
        let Some(text) = on_terminal(&place, &format!("{writer}{command}; wait")) else {
            return left_out("there is no script(1)");
        };
        assert_eq!(text.is_empty(), progress.is_empty(), "{name}: {text}");
        assert!(text.contains(progress) && text.contains(summary), "{name}: {text}");
        let last = text.trim_end().rsplit(['\r', '\n']).next().unwrap_or_default();
        assert!(last.contains(summary), "the summary is what remains, {name}: {text}");
        assert!(text.split(['\r', '\n']).all(|line| line.len() < 84), "{name}: {text}");
    }
}

#[test]
fn an_archive_out_of_a_slow_pipe_shows_how_far_it_is() {
    let place = Place::new();
    place.write("file", [7; 300_000]);
    let slow = "$mh tar cf a.tar file; mkdir -p x; { cat a.tar; sleep 1.2; }";
    let extracted = |program: &str| on_terminal(&place, &format!("{slow} | {program} xf - -C x"));
    let Some(text) = extracted("$mh tar") else { return left_out("there is no script(1)") };
    assert!(text.contains("extracting standard input  "), "{text}");
    assert!(text.contains("standard input: 307 kB in ") && text.trim_end().ends_with(", 1 member"), "{text}");
    assert_eq!(extracted("./tar").as_deref(), Some(""));
}

#[test]
fn nobody_sees_anything_in_a_pipe_or_quietly() {
    let place = Place::new();
    let slow = "{ head -c 20000000 /dev/zero; sleep 1.2; } | ";
    for command in ["$mh tamp > out 2> err; cat err", "$mh tamp -q > out", "$mh tamp -v 2>&1 > out | cat"] {
        let Some(text) = on_terminal(&place, &format!("{slow}{command}")) else {
            return left_out("there is no script(1)");
        };
        assert!(!text.contains("\u{1b}[K") && !text.contains(" in "), "{command}: {text}");
    }
}
