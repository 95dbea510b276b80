//! zstd's options about frames: single parameters, checks, sizes, windows, limits. The output must be read by the real tool,
//! and its headers must say what the real tool's say.

use super::{Case, Family, ends, says};
use crate::place::Place;
use testkit::data;
use testkit::program::TestProgram;

const FRAMES: &[Case] = &[
    ends("zstd -q --zstd=wlog=23,ovlog=12 b; zstd -dc b.zst | cmp - b"),
    ends(
        "zstd -q --zstd=strategy=9,wlog=17,hlog=12,clog=13,slog=5,mml=3,tlen=99,ovlog=3 \
         --zstd=lhlog=10,lmml=40,lblog=3,lhrlog=4 --long b",
    ),
    ends("zstd -q --zstd=windowLog=18,strat=2 -c b a | zstd -dc | cmp - a"),
    says("zstd -c --zstd=wlog=40 b"),
    says("zstd -c --zstd=strategy=12 b"),
    ends("zstd -qc --zstd=foo=4 b"),
    ends("zstd -qc --zstd wlog=20 b"),
    ends("zstd -qc --zstd= b"),
    says("zstd -c --zstd=wlog=4294967296 b"),
    says("zstd -q --no-check b; zstd -l b.zst | cut -c -14,50-"),
    says("zstd -q --no-check -19 b; zstd -l b.zst | cut -c -14,50-"),
    says("zstd -q --no-check --check b; zstd -l b.zst | cut -c -14,50-"),
    says("zstd -q --no-content-size b; zstd -l b.zst | cut -c 28-"),
    says("zstd -q --long b; zstd -l b.zst | cut -c -14,50-"),
    says("zstd -q --stream-size=14000 < b > c.zst; zstd -l c.zst | cut -c 28-43,50-"),
    says("echo abc | zstd --stream-size=100 -c"),
    says("echo abc | zstd --stream-size=3 -c"),
    says("echo abc | zstd --stream-size=3x -c"),
    ends("zstd -q --size-hint=14K < b | zstd -dc"),
    ends("zstd -q --target-compressed-block-size=1400 b"),
    says("zstd --target-compressed-block-size=1000000000 -c b"),
    ends("zstd -q --no-compress-literals b; zstd -q --compress-literals -c a"),
    ends("zstd -q --no-row-match-finder -7 b; zstd -q --row-match-finder -5 -c a"),
    ends("zstd -q --rsyncable b; zstd -q --rsyncable --long -c a"),
    ends("zstd -q -T2 -B1M -9 b; zstd -q --block-size=64K -c a"),
    says("zstd --single-thread --rsyncable -c b"),
    says("zstd --single-thread --adapt -c b"),
    says("zstd -T0 --auto-threads=logical -q b; zstd -T0 --auto-threads=physical -qc a"),
    says("zstd -c --threads=3x b"),
    says("zstd -c --show-default-cparams b"),
    says("zstd -c -19 --show-default-cparams b a"),
    says("zstd -c --show-default-cparams < b"),
    says("zstd -d --show-default-cparams a.zst"),
    says("zstd -c --long=5 b"),
    says("zstd -c --long=40 b"),
    ends("zstd -qc --long27 b"),
    ends("zstd -qc --fast=0 b"),
    says("zstd -20 -q b; zstd --ultra -22 -qc a"),
    says("zstd -dc -M99 a.zst"),
    says("zstd -dc -M1K a.zst"),
    says("zstd -dc --memory=9K a.zst"),
    says("zstd -dc -M8K a.zst odd.name"),
    says("zstd -dc wide"),
    says("zstd -t wide"),
    says("zstd -dc --long=28 wide; zstd -dc -M256M wide; zstd -t --memory=256MB wide"),
    says("zstd --format=gzip --long -qc b | gzip -dc"),
];

#[test]
fn frames_are_made_and_bounded_as_zstd_does() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare_with(FRAMES, add_a_wide_frame);
    }
}

/// A frame with a window of 256 MiB, as zstd makes it of a stream that may become long.
fn add_a_wide_frame(place: &Place) {
    let zstd = TestProgram::find("zstd").expect("it was there");
    let plain = data::text(400_000, 5);
    place.write("wide", zstd.run(["-q", "--long=28"], &plain).expect("the tool starts").stdout_of_success());
}
