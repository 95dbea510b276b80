//! Other people's tools, both ways: what `mh tamp` writes they read, what they write `mh tamp` reads, from files and from
//! pipes, on any number of hands. A tool that is not installed is named as left out.

mod before;
mod bz2;
mod dictionary;
mod gz;
mod lz4;
mod tar;
mod xz;
mod zst;

use crate::place::{Place, is_long, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

/// Around every border: nothing, one byte, BGZF's block, our member, several members and a frame.
const SIZES: [usize; 7] = [0, 1, 64 << 10, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20];

/// A kind of data and its generator.
type Kind = (&'static str, fn(usize, u64) -> Vec<u8>);

const KINDS: [Kind; 6] = [
    ("text", data::text),
    ("zeros", |bytes, _| data::zeros(bytes)),
    ("random", data::random),
    ("records", data::records),
    ("sparse", data::sparse),
    ("mixed", data::mixed),
];

/// One file to be sent through a tool.
struct Item {
    what: String,
    plain: Vec<u8>,
    level: usize,
}

/// Every size, level and kind of data, each with some of the others. The long tier takes every size with every level.
fn items(levels: &[usize], sizes: &[usize]) -> Vec<Item> {
    let all_pairs = || (0..sizes.len()).flat_map(|size| (0..levels.len()).map(move |level| (size, level)));
    let largest = sizes.len() - 1;
    let chosen = |&(size, level): &(usize, usize)| is_long() || size == largest || size % levels.len() == level;
    let mut items: Vec<Item> = all_pairs()
        .filter(chosen)
        .map(|(size, level)| item(KINDS[(size + 2 * level) % KINDS.len()], sizes[size], levels[level]))
        .collect();
    items.extend(KINDS.iter().map(|&kind| item(kind, (1 << 20) + 1, levels[0])));
    items
}

fn item((name, generate): Kind, bytes: usize, level: usize) -> Item {
    Item { what: format!("{bytes} bytes of {name}, -{level}"), plain: generate(bytes, bytes as u64), level }
}

/// The tools among `names` that are here; the others are told.
fn present(names: &[&'static str]) -> Vec<(&'static str, TestProgram)> {
    let mut found = Vec::new();
    for &name in names {
        match TestProgram::find(name) {
            Some(program) => found.push((name, program)),
            None => left_out(&format!("{name} is not installed")),
        }
    }
    found
}

/// Runs a tool as a filter.
fn filter(program: &TestProgram, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    program.run(arguments, input).expect("the tool starts").stdout_of_success()
}

/// Whether we turn `packed` back into `plain`, from a file and from a pipe, with `-t` and with output, on all `hands`.
fn check_that_we_read(what: &str, packed: &[u8], plain: &[u8], hands: &[&str]) {
    let place = Place::new();
    place.write("packed", packed);
    for hands in hands {
        let outcome = place.tamp(["-f", "-d", "-j", hands, "-o", "back", "packed"]);
        assert_eq!(outcome.exit, Exit::Code(0), "{what}, file, -j {hands}: {}", said(&outcome));
        assert!(place.read("back") == plain, "{what}, file, -j {hands}: other bytes");
        let outcome = place.tamp_fed(["-d", "-j", hands], packed);
        assert_eq!(outcome.exit, Exit::Code(0), "{what}, pipe, -j {hands}: {}", said(&outcome));
        assert!(outcome.stdout == plain, "{what}, pipe, -j {hands}: other bytes");
    }
    let outcome = place.tamp(["-t", "packed"]);
    assert_eq!(outcome.exit, Exit::Code(0), "{what}: -t says {}", said(&outcome));
    let outcome = place.tamp(["-l", "--json", "packed"]);
    let listed = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(listed.contains(&format!("\"plain_bytes\":{},", plain.len())), "{what}: -l says {listed}");
}

/// The hands for an item: all counts if it is several units, two counts around the border of one, one count if there is nothing to
/// divide.
fn hands_for(plain: &[u8]) -> &'static [&'static str] {
    match plain.len() {
        ..0xf_ffff => &["2"],
        0x20_0000.. => &["1", "2", "3", "64"],
        _ if is_long() => &["1", "2", "3", "64"],
        _ => &["1", "3"],
    }
}
