//! xz, unxz, xzcat; lzma and its relatives where the format is written.

use super::{Case, Family, ends, says};

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
    says("xz -M 100M b"),
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
];

const LZMA: &[Case] = &[
    says("lzma b"),
    says("xz --format=lzma -k b"),
    ends("lzma -c b | unlzma"),
    ends("lzma -k b && rm b && unlzma b.lzma"),
    ends("lzma -c b | lzcat"),
    ends("lzma -c b | xz -dc"),
];

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
