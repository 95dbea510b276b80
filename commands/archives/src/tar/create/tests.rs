//! Plans of creations on fake machines.

use super::super::{command, workers, workers_on};
use super::*;
use clap::FromArgMatches;
use machine::Host;
use mh_kit::context::Terminals;
use mh_kit::settings::Settings;
use testkit::fake_machine::FakeMachine;

fn args(typed: &str) -> TarArgs {
    let matches = command().get_matches_from(["tar"].into_iter().chain(typed.split(' ')));
    TarArgs::from_arg_matches(&matches).expect("good options")
}

fn planned(machine: &FakeMachine, typed: &str) -> Plan {
    let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
    let args = args(typed);
    let packing = packing(&args).expect("a packing");
    let workers = match packing {
        None => workers_on(&context, &args, &places(&args)),
        Some(_) => workers(&context, &args),
    };
    let fitting = memory::creating(memory::room(&context, &args), workers.most, packing.as_ref());
    plan(&context, &args, packing.as_ref(), fitting, &workers)
}

fn decided(machine: &FakeMachine, typed: &str, subject: &str) -> String {
    planned(machine, typed).about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
}

#[test]
fn hands_follow_the_machine_the_options_and_the_disk() {
    let machine = FakeMachine::new(4, 8 << 30).with_rotating_disk("/slow");
    assert_eq!(decided(&machine, "-c -f /a.tar x", "read"), "up to 4 hands");
    assert_eq!(decided(&machine, "-c --hands 2 -f /a.tar x", "read"), "up to 2 hands");
    assert_eq!(decided(&machine, "-c -f /slow/a.tar x", "read"), "up to 1 hand");
    assert_eq!(decided(&machine, "-c -f /a.tar -C /slow x", "read"), "up to 1 hand", "either side");
    assert_eq!(decided(&machine, "-c --hands 3 -f /slow/a.tar x", "read"), "up to 3 hands", "who asks gets it");
    assert_eq!(decided(&machine, "-c --zstd -f /slow/a.tar x", "read, pack"), "zst, up to 4 hands");
    let packed_with_xz = decided(&machine, "-c -a -f /a.tar.xz x", "read, pack");
    assert_eq!(packed_with_xz, "xz, up to 3 hands", "a fourth one would hold more than a run on four CPUs does");
}

#[test]
fn a_cap_of_memory_costs_hands() {
    let machine = FakeMachine::new(4, 8 << 30);
    let narrow = decided(&machine, "-c --xz --memory 200M -f /a.tar.xz x", "read, pack");
    assert_eq!(narrow, "xz, up to 1 hand");
    let held = decided(&machine, "-c --memory 200M -f /a.tar x", "memory");
    assert!(held.ends_with(&format!(" of {} allowed", terminal::bytes(200 << 20))), "{held}");
}

#[test]
fn the_purpose_names_the_archive() {
    let machine = FakeMachine::new(1, 1 << 30);
    assert_eq!(planned(&machine, "-c -f /a.tar x").purpose, "create '/a.tar'");
    assert_eq!(planned(&machine, "-c -f - x").purpose, "create standard output");
}

#[test]
fn formats_that_no_codec_writes_are_made_by_programs() {
    use super::super::packer::instead_of_codec;
    for (typed, program) in [
        ("-c -a -f a.tar.lz x", Some("lzip")),
        ("-c -Z -f a.tar x", Some("compress")),
        ("-c --lzma -f a.tar.gz x", Some("lzma")),
        ("-x --lzma -f a.tar.lzma", None),
        ("-x --lzop -f a.tar.lzo", Some("lzop")),
        ("-c -a -f a.tar.gz x", None),
    ] {
        assert_eq!(instead_of_codec(&args(typed)), program, "{typed}");
    }
}
