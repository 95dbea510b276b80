//! `mh.index` of an archive, which anybody may have changed: a frame that it names is read as what stands in the archive's file, or is refused.

use database::dump::{ArchiveFrame, ArchiveIndex, ArchiveTable, DumpCodec, PartBytes, RowFrameWriter};
use database::dump_mysql::MySqlArchive;
use database::restore::RowFrameReader;
use std::cell::RefCell;

/// LIMIT: frames of an input that are read.
const FRAMES_MAX: usize = 64;

/// How files of rows are compressed, and what their names end with.
const FILES: [(&str, &str); 3] = [("none", "dat"), ("gzip:1", "dat.gz"), ("zstd:1", "dat.zst")];

thread_local! {
    static READERS: RefCell<Vec<RowFrameReader>> = RefCell::new(FILES.iter().map(reader).collect());
}

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut frames: Vec<ArchiveFrame> = Vec::new();
    if let Ok(index) = serde_json::from_slice::<ArchiveIndex>(input) {
        frames.extend(index.tables.into_iter().flat_map(|table| table.frames));
    }
    if let Ok(index) = serde_json::from_slice::<MySqlArchive>(input) {
        let parts = index.tables.into_iter().flat_map(|table| table.parts);
        frames.extend(parts.flat_map(|part| part.frames));
    }
    let rows = rows();
    READERS.with_borrow_mut(|readers| {
        for frame in frames.iter().take(FRAMES_MAX) {
            for reader in &mut *readers {
                let Ok(found) = reader.read(frame) else { continue };
                assert_eq!(
                    (found.len() as u64, memchr::memchr_iter(b'\n', found).count() as u64),
                    (frame.bytes, frame.rows)
                );
                assert!(memchr::memmem::find(&rows, found).is_some(), "rows that nobody has dumped");
            }
        }
    });
}

fn rows() -> Vec<u8> {
    (0..3000_u32).flat_map(|number| format!("{number}\ta row\t{}\n", number % 7).into_bytes()).collect()
}

fn part(codec: &str) -> PartBytes {
    let codec = DumpCodec::parse(codec).expect("one of ours");
    let mut writer = RowFrameWriter::new(&codec, "t").expect("a compressor");
    writer.take(&rows()).expect("memory");
    writer.finish(b"").expect("memory")
}

/// Of a file that nobody else sees.
fn reader((codec, suffix): &(&str, &str)) -> RowFrameReader {
    let name = format!("archive-index-{}-{:?}.{suffix}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, part(codec).bytes).expect("a temporary directory");
    let reader = RowFrameReader::open(&path).expect("it is there");
    std::fs::remove_file(&path).expect("our own file");
    reader
}

/// Indexes of both kinds, of each file.
pub fn seeds() -> Vec<Vec<u8>> {
    let json = |frames: Vec<ArchiveFrame>| {
        let table = ArchiveTable { table: "public.t".to_owned(), rows: 3000, frames, ..ArchiveTable::default() };
        serde_json::to_vec(&ArchiveIndex { version: 1, tables: vec![table], ..ArchiveIndex::default() }).expect("JSON")
    };
    let mut seeds: Vec<Vec<u8>> = FILES.iter().map(|(codec, _)| json(part(codec).frames)).collect();
    let frames = serde_json::to_string(&part("zstd:1").frames).expect("JSON");
    seeds.push(
        format!(
            r#"{{"version":1,"kind":"mysql","server":"","database":"d","character_set":"","collation":"","is_consistent":true,
            "compression":"zstd:1","before":[],"after":[],"tables":[{{"table":"t","is_transactional":true,"columns":[],"rows":3000,
            "bytes":1,"stored":1,"digest":"","parts":[{{"file":"t","rows":3000,"bytes":1,"stored":1,"frames":{frames}}}]}}]}}"#
        )
        .into_bytes(),
    );
    seeds
}
