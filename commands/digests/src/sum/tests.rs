//! Plans on machines that are not there.

use super::*;
use machine::Host;
use mh_kit::context::Terminals;
use mh_kit::settings::Settings;
use std::fmt::Write as _;
use testkit::fake_machine::FakeMachine;

fn asked(words: &[&str]) -> SumRequest {
    let matches = command().try_get_matches_from([&["sum"], words].concat()).expect("a command line");
    request(SumArgs::from_arg_matches(&matches).expect("arguments"))
}

fn planned(words: &[&str], sizes: Option<&[u64]>) -> String {
    let machine = FakeMachine::new(8, 8 << 30).with_rotating_disk("/disk");
    let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
    let request = asked(words);
    let width = hands::width(&context, &request, sizes);
    let plan = plan(&request, &width, sizes);
    plan.choices.iter().fold(String::new(), |mut text, choice| {
        write!(text, "{}: {}; ", choice.subject, choice.decision).expect("written");
        text
    })
}

#[test]
fn one_file_gets_as_many_hands_as_its_digests_can_use() {
    let one: Option<&[u64]> = Some(&[1 << 30]);
    assert_eq!(
        planned(&["x", "-a", "blake3,crc32c"], one),
        "pieces: blake3, crc32c; read: in each worker, at offsets; hash: up to 8 hands; memory: 18.9 MB; "
    );
    assert_eq!(
        planned(&["x"], one),
        "in order: sha256; read: in each worker, at offsets; hash: up to 2 hands; memory: 6.29 MB; "
    );
    let both = planned(&["x", "-a", "md5,sha1,md5"], one);
    assert!(both.starts_with("in order: md5, sha1; ") && both.contains("up to 3 hands"), "{both}");
    assert!(planned(&["x", "y"], Some(&[1, 1])).contains("up to 8 hands"));
    assert!(planned(&["x", "-j", "5", "-a", "crc32"], one).contains("up to 5 hands"));
    assert!(planned(&["x", "-j", "1"], one).contains("up to 1 hand;"));
}

#[test]
fn streams_trees_and_manifests_are_read_in_their_own_ways() {
    assert!(planned(&["-"], None).contains("read: streams in a thread of their own; "));
    assert!(
        planned(&["-r", "tree"], None)
            .contains("read: small files in batches, large ones at offsets; hash: up to 8 hands")
    );
    let checked = planned(&["-c", "sums"], None);
    assert!(checked.starts_with("check: as each line says; read: small files in batches"), "{checked}");
    assert!(planned(&["-c", "-a", "md5", "sums"], None).starts_with("check: md5; "));
}

#[test]
fn a_rotating_disk_has_one_reader() {
    assert!(planned(&["-r", "/disk"], None).contains("hash: up to 1 hand;"));
    assert!(planned(&["-r", "/disk", "-j", "3"], None).contains("hash: up to 3 hands;"), "who asks gets it");
}

#[test]
fn memory_stays_small_however_many_cores_there_are() {
    assert!(planned(&["x", "-j", "256"], None).contains("memory: 33.6 MB"));
    assert!(planned(&["x", "-j", "8", "--memory", "1M"], None).contains("memory: 524 kB"));
}

#[test]
fn options_of_a_check_need_one() {
    for words in
        [&["--quiet", "x"][..], &["--strict"], &["--exact"], &["-c", "--tag"], &["-c", "-r"], &["-a", "sha", "x"]]
    {
        assert!(command().try_get_matches_from([&["sum"], words].concat()).is_err(), "{words:?}");
    }
    let request = asked(&["-a", "md5,blake3,md5", "x"]);
    assert_eq!(request.algorithms.as_ref(), [Algorithm::Md5, Algorithm::Blake3], "each once");
    assert_eq!(request.form.order, LineOrder::Tagged);
}
