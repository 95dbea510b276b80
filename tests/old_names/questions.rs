//! Questions on a terminal before a file is replaced: the real tool and ours, each on a terminal of its own.

use crate::place::{Place, binary};
use std::path::Path;
use testkit::program::{TestProgram, left_out};

/// Output and answers on a terminal, with the exit code and the files that were there afterwards.
fn on_terminal(line: &str, answers: &str, links: Option<&Path>) -> String {
    let place = Place::new();
    let script = TestProgram::find("script").expect("it was there").in_directory(place.directory());
    let path = std::env::var("PATH").expect("a path");
    let path = links.map_or(path.clone(), |links| format!("{}:{path}", links.display()));
    place.write(
        "line",
        // With an echo, the answer stood within the question if it was typed between two writes of the tool.
        format!(
            "stty -echo; printf aaaaaaaaaaaaaaaa > a; echo old > a.gz; echo old > a.lz4; echo old > a.bz2; {line}\necho exit $?"
        ),
    );
    let script = script.with_variable("PATH", path).with_variable("LC_ALL", "C").with_variable("TERM", "dumb");
    let ran = script.run(["-qec", "sh line", "/dev/null"], answers.as_bytes()).expect("it starts");
    // An answer that is typed before the echo is off stands in front of all.
    let printed = String::from_utf8_lossy(&ran.stdout).replace(['\r', '\n'], " ");
    let words = printed.split(' ').filter(|word| !matches!(*word, "" | "y" | "n" | "yes"));
    let old = ["a.gz", "a.lz4", "a.bz2"].map(|name| place.has(name) && place.read(name) == b"old\n");
    format!("{} {old:?} {}", words.collect::<Vec<_>>().join(" "), place.has("a"))
}

#[test]
fn tools_ask_on_a_terminal_as_they_did() {
    if TestProgram::find("script").is_none() {
        return left_out("there is no script(1)");
    }
    let links = Place::new();
    let made = TestProgram::at(binary()).run([Path::new("links"), links.directory()], b"").expect("it starts");
    made.stdout_of_success();
    let both = &["yes\n", "n\n"][..];
    for (tool, line, answers) in [
        ("gzip", "gzip a", both),
        ("gzip", "gzip -q a", both),
        ("pigz", "pigz a", both),
        ("pigz", "pigz -q a", both),
        ("bzip2", "bzip2 a", both),
        ("lbzip2", "lbzip2 a", both),
        ("lz4", "lz4 -m a", both),
        // Sizes differ, and are printed.
        ("lz4", "lz4 a a.lz4", &["n\n"]),
        ("lz4", "lz4 a a.lz4 2> err; rm err", &["y\n"]),
    ] {
        if TestProgram::find(tool).is_none() {
            left_out(&format!("{tool} is not installed"));
            continue;
        }
        // script(1) waits for a second behind each: side by side they wait once.
        std::thread::scope(|scope| {
            let at = |answers, links| scope.spawn(move || on_terminal(line, answers, links));
            let asked = |&answers| (answers, at(answers, None), at(answers, Some(links.directory())));
            for (answers, real, ours) in answers.iter().map(asked).collect::<Vec<_>>() {
                let (real, ours) = (real.join().expect("it ran"), ours.join().expect("it ran"));
                assert_eq!(ours, real, "{line} {answers:?}");
            }
        });
    }
}
