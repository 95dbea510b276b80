//! `mh numa` as it is shipped. Most hosts of tests have one node: verdicts on several are unit tests on fake ones.

use crate::place::{Place, binary};
use testkit::program::TestProgram;

#[test]
fn on_one_node_it_claims_nothing() {
    let place = Place::new();
    let program = TestProgram::at(binary()).in_directory(place.directory());
    let own = std::process::id().to_string();
    let outcome = program.run(["numa", "check", "--json", "--min-size", "4K", &own], b"").expect("the program starts");
    let report: serde_json::Value = serde_json::from_slice(&outcome.stdout_of_success()).expect("JSON");
    let nodes = report["nodes"].as_array().expect("a list").len();
    let process = &report["processes"][0];
    assert!(!process["mappings"].as_array().expect("a list").is_empty(), "{report}");
    assert_eq!(process["verdict"]["is"] == "one_node", nodes < 2, "{report}");
}
