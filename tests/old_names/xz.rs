//! xz, unxz, xzcat; lzma and its relatives where the format is written.

use super::{Case, Family, ends, says};
use crate::place::Place;

const XZ: &[Case] = &[
    says("xz a"),
    says("xz b"),
    says("xz -f a"),
    says("xz -k b"),
    says("xz sym"),
    says("xz -f sym"),
    says("xz h1"),
    says("xz -k h1"),
    says("xz dir"),
    says("xz a.xz"),
    says("xz -f a.xz"),
    says("xz -Q a.xz"),
    says("xz -q a.xz"),
    says("xz nosuch"),
    says("xz -T0 -k b"),
    says("xz -T4 -k b"),
    says("xz -Tfoo b"),
    says("xz -10 b"),
    says("xz --foo b"),
    says("xz -S .foo b"),
    says("xz -S"),
    says("xz --suffix= b"),
    says("xz --format=foo b"),
    ends("xz --format=raw b"),
    says("xz --check=foo b"),
    says("xz -C crc32 b"),
    says("xz -kC sha256 b && xz --robot -l b.xz | cut -f 7"),
    says("xz -k9e b"),
    says("xz -e b"),
    says("xz --files=empty"),
    says("xz --files0=empty b"),
    says("XZ_OPT=-foo xz b"),
    says("XZ_OPT='-9 b' xz h1"),
    says("XZ_DEFAULTS=-T0 xz b"),
    says("xz -T2 -M 100M b"),
    says("xz --memlimit=50% -k b"),
    says("xz --lzma2=preset=9 -k b"),
    says("xz < b"),
    says("xz -d < a.xz"),
    says("xz --single-stream -k b"),
    says("xz --block-size=1MiB -k b"),
    says("xz --keep --stdout b"),
    says("xz --stdo b"),
    says("xz --std < b"),
    says("xz -t short.xz plain.xz"),
    says("xz -t bad.xz"),
    says("xz -tv a.xz"),
    says("xz -c plain.xz"),
    says("xz -dcf plain.xz"),
    says("xz -dc empty"),
    says("xz --dec -f a.xz"),
    says("xz -dk -S .xz a.xz"),
    says("xz -dk odd.name"),
    says("unxz nosuch"),
    says("unxz b"),
    says("unxz lone.xz"),
    says("unxz short.xz"),
    says("unxz -f plain.xz"),
    says("unlzma lone.xz"),
    says("xzcat b"),
    says("xzcat -f b"),
    says("xzcat -f empty"),
    says("xzcat a.xz lone.xz"),
    says("xz --robot -l a.xz"),
    says("xz -l b"),
    says("ln -s lone.xz link.xz; xz -t link.xz"),
    says("ln lone.xz other.xz; xz -t other.xz"),
    says("xz -c /sys/class/net/lo/mtu | xz -dc"),
];

const LZMA: &[Case] = &[
    says("lzma b"),
    says("xz --format=lzma -k b"),
    ends("lzma -c b | unlzma"),
    ends("lzma -k b && rm b && unlzma b.lzma"),
    ends("lzma -c b | lzcat"),
    ends("lzma -c b | xz -dc"),
];

/// Files of lzip, and of xz with a check that nobody knows.
const OTHERS: &[Case] = &[
    says("xz -dc two.lz"),
    says("xz -d two.lz"),
    says("xz -dk -F lzip two.lz"),
    says("xz -t two.lz && xz -dc < two.lz"),
    says("xz -F xz -dc two.lz"),
    says("xz -F lzma -dc two.lz"),
    says("unlzma -c two.lz"),
    says("xz -F lzip -c b"),
    says("mv two.lz two.odd; xz -d two.odd; xz -d -S .odd two.odd"),
    says("(cat two.lz; echo junk) | xz -dc"),
    says("(cat two.lz; head -c 9 /dev/zero) | xz -dc"),
    says("head -c 70 two.lz | xz -dc"),
    says("head -c 50 two.lz > cut.lz; xz -d cut.lz"),
    ends("(xz -c a; cat two.lz) | xz -dc"),
    says("(head -c 20 two.lz; printf x; tail -c +22 two.lz) | xz -dc"),
    says("xz -dc unknown.xz"),
    says("xz -dk unknown.xz"),
    says("xz -d unknown.xz"),
    says("xz -t unknown.xz lone.xz"),
    says("xz -dcq unknown.xz"),
    says("xz -dcQ unknown.xz"),
    says("xz -dc --ignore-check unknown.xz"),
    says("xz -dc < unknown.xz"),
    says("(xz -c a; cat unknown.xz) | xz -dc"),
    says("(cat unknown.xz; xz -c a) | xz -dc"),
    says("xz -l unknown.xz"),
    says("xz --robot -l unknown.xz"),
    says("head -c 40 unknown.xz | xz -dc"),
];

/// Members with the lines `one` and `two`.
const TWO_MEMBERS: &[u8] = b"LZIP\x01\x14\x00\x37\x9b\x88\xcc\xfb\xd7\x07\xff\xff\xfb\xc5\x40\x00\x9f\xa8\x17\xf8\x04\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0\
LZIP\x01\x14\x00\x3a\x1d\xca\x1b\xa1\x41\x61\xff\xff\xfb\xe5\xe0\x00\x74\x08\x17\x96\x04\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0";

/// A file with the line `hello` and a check of type 2.
const UNKNOWN_CHECK: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x02\xd3\x73\xd7\xaf\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x05\x68\x65\x6c\x6c\x6f\x0a\x00\x00\x00\x20\x30\x3a\x36\x00\x01\x1a\x06\xc5\xea\xc8\x79\x2a\x13\x90\x94\x01\x00\x00\x00\x00\x02\x59\x5a";

#[test]
fn files_of_lzip_and_unknown_checks_are_read_as_xz_reads_them() {
    if let Some(family) = Family::new("xz", "xz") {
        family.compare_with(OTHERS, |place: &Place| {
            place.write("two.lz", TWO_MEMBERS).write("unknown.xz", UNKNOWN_CHECK);
        });
    }
}

#[test]
fn xz_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("xz", "xz") {
        family.compare(XZ);
    }
}

#[test]
fn lzma_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("lzma", "lzma") {
        family.compare(LZMA);
    }
}
