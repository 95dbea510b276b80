//! Starts that learn what jobs need: what has been learnt holds back what would not fit, and nothing else does.

use super::{stdout, xjobs};
use crate::place::Place;
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
}
