//! Any bytes as a packed archive with an index of its members behind: what is found keeps its promises, or is refused.
//! What entries claim is looked at as `mh tar` does before it believes them.

use archive::index::entry::Entry;
use archive::index::reader::{Index, Search};
use archive::index::stretch::{Begun, stretches};
use archive::index::writer::Writer;
use archive::member::Member;
use codec::format::DecodeLimits;
use std::cell::RefCell;
use std::fs::File;
use std::sync::Arc;
use sys::at_offset::write_all_at;

/// LIMIT: entries of an input that are looked at.
const ENTRIES_MAX: usize = 64;

thread_local! {
    static FILE: RefCell<Option<Arc<File>>> = const { RefCell::new(None) };
}

/// Runs one input.
pub fn run(input: &[u8]) {
    let file = FILE.with_borrow_mut(|file| Arc::clone(file.get_or_insert_with(|| Arc::new(unnamed()))));
    file.set_len(0).expect("our own file");
    write_all_at(&file, input, 0).expect("our own file");
    for name in ["zst", "gz"] {
        let format = codec::registry::by_name(name).expect("registered");
        let Some(Ok(index)) = Index::find(&file, format) else { continue };
        let mut entries: Vec<Entry> = Vec::new();
        let shown = index.all(|entry| {
            assert!(entry.member.path.len() <= 4096 && entry.member.link.len() <= 4096);
            entries.push(entry.clone());
            Ok(if entries.len() < ENTRIES_MAX { Search::On } else { Search::Done })
        });
        // Sound or refused: what follows must hold of either.
        let _sound_or_refused = shown.expect("nothing else can fail");
        let limits = DecodeLimits {
            unit_uncompressed_bytes: 1 << 20,
            unit_held_bytes: u64::MAX,
            window_bytes: 1 << 20,
            dictionary: None,
            prefix: None,
            stream_bytes: 1 << 20,
            ahead_bytes: 0,
            streams_lone_unit: false,
        };
        let mut units = index.units(limits);
        for entry in &entries {
            let _either = Index::is_true_of(&mut units, entry);
            let mut shown = 0;
            let _sound_or_refused = index.named(&[&entry.member.path], |_| shown += 1);
            assert!(shown <= input.len() << 16, "a block tells no more than it can hold");
        }
    }
}

fn unnamed() -> File {
    let path = std::env::temp_dir().join(format!("tar-index-{}-{:?}", std::process::id(), std::thread::current().id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
    let file = file.expect("a temporary directory");
    std::fs::remove_file(&path).expect("it was made");
    file
}

/// Indexes of both formats, with nothing before them.
pub fn seeds() -> Vec<Vec<u8>> {
    let indexes = ["zst", "gz"].map(|name| {
        let format = codec::registry::by_name(name).expect("registered");
        let mut writer = Writer::new(format).expect("it has a place for one");
        let mut last = Member::default();
        for unit in 0..6_u64 {
            let member = |at: u64| Member { path: format!("d{unit}/f{at}").into(), size: at, ..Member::default() };
            let begun = (0..3).map(|at| {
                let begins_block = (unit, at) == (0, 0);
                Begun { at: at * 512, bytes: 512, member: Some(member(at)), begins_block }
            });
            let entries = stretches(begun, Some(last)).expect("an index can say this");
            writer = writer.unit(unit * 100, &entries).expect("it can be packed");
            last = member(2);
        }
        writer.finish(0).expect("it is worth one")
    });
    indexes.into()
}
