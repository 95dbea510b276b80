//! lz4, unlz4, lz4cat.

use super::{Case, Family, ends, says};

const LZ4: &[Case] = &[
    says("lz4 b"),
    ends("lz4 b x"),
    ends("lz4 a a.lz4"),
    ends("lz4 -f a a.lz4"),
    says("lz4 -m b a"),
    says("lz4 -m b odd.name"),
    says("lz4 -q b x"),
    says("lz4 -c b"),
    says("lz4 -dc a.lz4"),
    says("lz4 -d a.lz4"),
    says("lz4 -d a.lz4 x"),
    says("lz4 -df a.lz4"),
    says("lz4 -d -m a.lz4"),
    says("lz4 -dfm a.lz4"),
    says("unlz4 a.lz4"),
    says("unlz4 -f a.lz4 a"),
    says("lz4 nosuch"),
    says("lz4 nosuch x"),
    says("lz4 -d b"),
    says("lz4 -dc plain.lz4"),
    says("lz4 -dcf plain.lz4"),
    says("lz4 -t short.lz4"),
    ends("lz4 -t bad.lz4"),
    ends("lz4 -t trailed.lz4"),
    says("lz4 -t a.lz4"),
    says("lz4cat a.lz4"),
    says("lz4cat b"),
    says("lz4cat -f b"),
    ends("lz4 --rm b x"),
    says("lz4 -r dir"),
    says("lz4 dir"),
    ends("lz4 sym x"),
    ends("lz4 -9 b x"),
    ends("lz4 -12 b x"),
    ends("lz4 --best b x"),
    ends("lz4 --fast=3 b x"),
    ends("lz4 --foo b"),
    ends("lz4 -y b x"),
    ends("lz4 -B4 b x"),
    ends("lz4 -B4D b x"),
    ends("lz4 -BX b x"),
    ends("lz4 -B9 b x"),
    ends("lz4 --no-frame-crc --content-size --sparse --favor-decSpeed b x"),
    says("lz4 b x y"),
    says("lz4 < b"),
    says("lz4 -d < a.lz4"),
    says("lz4 -dc empty"),
    says("lz4 -c empty"),
    ends("lz4 -z b x"),
    ends("lz4 -k b x"),
    says("lz4 a.lz4 x"),
    says("lz4 -mk b nosuch"),
    says("lz4 --rm -m b"),
    says("lz4 b -"),
    says("lz4 b stdout"),
    ends("lz4 b null"),
];

#[test]
fn lz4_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("lz4", "lz4") {
        family.compare(LZ4);
    }
}
