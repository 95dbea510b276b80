//! Starts that learn what jobs need: what has been learnt holds back what would not fit, and nothing else does.

use super::{stdout, xjobs};
use crate::place::{Place, said};
use testkit::program::Exit;

/// Takes so many MiB, and tells how many of its kind ran beside it when it had them.
const HUNGRY: &str = r#"
: > run.$$
bytes=$(head -c "$1"M /dev/zero | tr '\0' x)
sleep 0.3
ls | grep -c '^run' >> beside
rm run.$$
"#;

fn most_beside(place: &Place) -> u32 {
    let text = String::from_utf8(place.read("beside")).expect("text");
    text.lines().filter_map(|line| line.parse().ok()).max().expect("jobs have run")
}

#[test]
fn what_earlier_runs_have_taught_holds_starts_back() {
    let place = Place::new();
    place.write("hungry", HUNGRY);
    let options = ["-j4", "--memory", "150M", "--journal", "journal", "--report", "sh", "hungry"];
    assert_eq!(xjobs(&place, &options, "40\n").exit, Exit::Code(0));
    let again = xjobs(&place, &options, "40\n40\n40\n40\n40\n");
    assert_eq!(again.exit, Exit::Code(0));
    assert!(most_beside(&place) < 4, "{}", most_beside(&place));
    let report = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(report.contains("bound by memory"), "{report}");
}

#[test]
fn a_job_that_fits_nowhere_runs_alone_and_ends() {
    let place = Place::new();
    let list = r#"{"argv":["echo","a"],"memory":"1000T"}
{"argv":["echo","b"]}
{"argv":["echo","c"],"memory":"1000T"}
"#;
    let outcome = xjobs(&place, &["-k", "-j3", "--memory", "10M"], list);
    assert_eq!((stdout(&outcome).as_str(), outcome.exit), ("a\nb\nc\n", Exit::Code(0)));
    // It is reported once, not of every such job.
    let told = said(&outcome);
    assert!(
        told.contains("warning: job 1 is expected to need 1.10 PB of memory, more than the 10.5 MB for all"),
        "{told}"
    );
    assert_eq!(told.matches("run alone").count(), 1, "{told}");
}

#[test]
fn what_the_runner_itself_once_needed_is_no_jobs_peak() {
    let place = Place::new();
    // A line that is too long for a program, but not for a list.
    let list = [b"true ", &vec![b'x'; 40_000_000][..], b"\ntrue\nsh hungry 60\ntrue\n"].concat();
    place.write("hungry", HUNGRY);
    assert_eq!(xjobs(&place, &["-j1", "--journal", "j"], list).exit, Exit::Code(1));
    let journal = place.read("j");
    let ends =
        journal.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let peaks: Vec<Option<u64>> =
        ends.filter(|line| line["outcome"] == "ok").map(|line| line["rss_peak_bytes"].as_u64()).collect();
    let [unknown, large, small] = peaks[..] else { panic!("{peaks:?}") };
    assert_eq!(unknown, None, "it began with the runner's own");
    assert!(large.is_some_and(|peak| peak > 60_000_000) && small.is_some_and(|peak| peak < 30_000_000), "{peaks:?}");
}
