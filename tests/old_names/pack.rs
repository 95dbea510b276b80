//! Files of pack(1), for which Debian has no program: made here, read by the real gzip and by ours.

use super::{Case, Family, says};
use crate::place::Place;
use testkit::data;

/// Packs `plain`, which has two different bytes at least.
fn packed(plain: &[u8]) -> Vec<u8> {
    let mut weights = [0_u64; 257];
    plain.iter().for_each(|&byte| weights[usize::from(byte)] += 1);
    let mut lengths = [0_usize; 257];
    // Nodes with the symbols below them; the end (256) weighs nothing, and so has one of the longest codes.
    let mut nodes: Vec<(u64, Vec<usize>)> =
        (0..257).filter(|&at| weights[at] > 0 || at == 256).map(|at| (weights[at], vec![at])).collect();
    while nodes.len() > 1 {
        nodes.sort_by_key(|node| std::cmp::Reverse(node.0));
        let (lightest, next) = (nodes.pop().expect("two are there"), nodes.pop().expect("two are there"));
        let below: Vec<usize> = [lightest.1, next.1].concat();
        below.iter().for_each(|&symbol| lengths[symbol] += 1);
        nodes.push((lightest.0 + next.0, below));
    }
    let longest = lengths[256];
    assert_eq!(lengths.iter().max(), Some(&longest), "the end is one of the deepest leaves");
    let of = |length: usize| (0..257).filter(move |&at| lengths[at] == length);
    let mut codes = [0_u32; 257];
    let mut nodes = 0;
    for length in (1..=longest).rev() {
        let inner = nodes / 2;
        of(length).zip(inner..).for_each(|(symbol, code)| codes[symbol] = code);
        nodes = inner + of(length).count() as u32;
    }
    let mut file = vec![0x1f, 0x1e];
    file.extend((plain.len() as u32).to_be_bytes());
    file.push(longest as u8);
    file.extend((1..=longest).map(|length| (of(length).count() - if length == longest { 2 } else { 0 }) as u8));
    file.extend((1..=longest).flat_map(of).filter(|&symbol| symbol < 256).map(|symbol| symbol as u8));
    let symbols = plain.iter().map(|&byte| usize::from(byte)).chain([256]);
    let bits: Vec<bool> =
        symbols.flat_map(|at| (0..lengths[at]).rev().map(move |bit| codes[at] >> bit & 1 == 1)).collect();
    let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at));
    file.extend(bits.chunks(8).map(byte));
    file
}

fn add(place: &Place) {
    let every_byte: Vec<u8> = (0..60_000_u32).map(|at| ((at * at) >> 7) as u8).collect();
    let skewed: Vec<u8> = (0..18_u32).flat_map(|at| vec![at as u8; 1 << at]).collect();
    for (name, plain) in
        [("text", data::text(200_000, 5)), ("every", every_byte), ("skewed", skewed), ("two", b"ab".to_vec())]
    {
        place.write(format!("{name}.z"), packed(&plain));
    }
    let sound = packed(&data::text(3000, 6));
    place.write("cut.z", &sound[..sound.len() - 40]).write("head.z", &sound[..9]);
    let changed = |at: usize, byte: u8| [&sound[..at], &[byte], &sound[at + 1..]].concat();
    place.write("longer.z", changed(5, sound[5] ^ 1)).write("deep.z", changed(6, 26)).write("many.z", changed(7, 3));
    place.write("followed.z", [&sound[..], b"junk"].concat()).write("twice.z", [&sound[..], &sound].concat());
}

const CASES: &[Case] = &[
    says("gzip -dc text.z | cksum; gzip -dc < every.z | cksum; gzip -dc skewed.z | cksum"),
    says("gunzip two.z every.z skewed.z; cksum two every skewed"),
    says("gunzip text"),
    says("zcat text.z | cksum"),
    says("gzip -tv text.z"),
    says("gzip -l text.z every.z"),
    says("gzip -lv skewed.z"),
    says("gzip -t cut.z"),
    says("gzip -t head.z"),
    says("gzip -t longer.z"),
    says("gzip -t deep.z"),
    says("gzip -t many.z"),
    says("gzip -dc followed.z | cksum"),
    says("gzip -dc twice.z | cksum"),
];

#[test]
fn files_of_pack_are_read_as_gzip_reads_them() {
    if let Some(family) = Family::new("gzip", "gz") {
        family.compare_with(CASES, add);
    }
}
