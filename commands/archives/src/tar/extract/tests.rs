//! Plans of extractions on fake machines.

use super::super::{command, width, workers_on};
use super::*;
use clap::FromArgMatches;
use machine::Host;
use mh_kit::context::Terminals;
use mh_kit::settings::Settings;
use testkit::fake_machine::FakeMachine;

/// The plan to extract an archive of these bytes.
fn planned(machine: &FakeMachine, bytes: &[u8], options: &str) -> Plan {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let archive = directory.path().join("a.tar");
    std::fs::write(&archive, bytes).expect("an archive");
    let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
    let typed = ["tar", "-x"].into_iter().chain(options.split_whitespace()).map(std::ffi::OsString::from);
    let matches = command().get_matches_from(typed.chain(["-f".into(), archive.into_os_string()]));
    let args = TarArgs::from_arg_matches(&matches).expect("good options");
    let opened = archive::open(&args).expect("it can be opened");
    let placing = workers_on(&context, &args, &places(&args, &opened));
    plan(&context, &args, &opened, width(&context, &args), &placing)
}

const PLAIN: [u8; 10_240] = [0; 10_240];
/// The header of a gzip member is enough to be recognised.
const PACKED: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn decided(machine: &FakeMachine, bytes: &[u8], options: &str, subject: &str) -> String {
    let plan = planned(machine, bytes, options);
    plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
}

#[test]
fn hands_follow_the_machine_the_options_and_the_disk() {
    let machine = FakeMachine::new(4, 8 << 30).with_rotating_disk("/slow").with_network_directory("/far");
    assert_eq!(decided(&machine, &PLAIN, "", "extract"), "up to 4 hands");
    assert_eq!(decided(&machine, &PLAIN, "--hands 2", "extract"), "up to 2 hands");
    assert_eq!(decided(&machine, &PLAIN, "-C /slow", "extract"), "up to 1 hand");
    assert_eq!(decided(&machine, PACKED, "-C /slow", "extract"), "up to 1 hand");
    assert_eq!(decided(&machine, &PLAIN, "-C /far", "extract"), "up to 16 workers on 4 hands");
    assert_eq!(decided(&machine, &PLAIN, "--hands 3 -C /slow", "extract"), "up to 3 hands", "who asks gets it");
}

#[test]
fn content_decides_how_it_is_read_and_memory_is_divided_by_it() {
    let machine = FakeMachine::new(2, 8 << 30);
    let reason = |bytes: &[u8]| planned(&machine, bytes, "").about("memory").map(|choice| choice.reason.clone());
    let (plain, packed) = (reason(&PLAIN).expect("decided"), reason(PACKED).expect("decided"));
    assert!(plain.ends_with(" blocks of 1 MiB"), "{plain}");
    assert!(packed.contains(" blocks of 1 MiB, and ") && packed.contains(" units of up to "), "{packed}");
    assert_ne!(decided(&machine, &PLAIN, "", "read"), decided(&machine, PACKED, "", "read"));
    let held = decided(&machine, &PLAIN, "--memory 64M", "memory");
    assert!(held.ends_with(&format!(" of {} allowed", terminal::bytes(64 << 20))), "{held}");
}

#[test]
fn the_purpose_names_the_archive_and_its_size() {
    let purpose = planned(&FakeMachine::new(1, 1 << 30), &PLAIN, "").purpose;
    let size = terminal::bytes(PLAIN.len() as u64);
    assert!(purpose.starts_with("extract '") && purpose.ends_with(&format!("a.tar' ({size})")), "{purpose}");
}
