//! Any bytes as a manifest; the first byte chooses the rules. Reading ends, no name holds a zero byte, and an entry that is written anew is read as itself.

use digests::algorithm::Algorithm;
use digests::manifest::{
    LineEnd, ManifestEntry, ManifestLine, ManifestLines, ManifestRead, ManifestReader, ManifestRules, NameEscape, Tags,
    Untagged, escaped_name,
};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let rules = rules(choice);
    let end = [LineEnd::NewLine, LineEnd::Zero, LineEnd::AsFound][usize::from(choice >> 6) % 3];
    let (mut lines, mut reader) = (ManifestLines::new(text, end), ManifestReader::new(rules));
    reader.lines_end_with(lines.end().expect("memory can be read"));
    while let Some(line) = lines.read().expect("memory can be read") {
        let ManifestLine::Whole(line) = line else { continue };
        if let ManifestRead::Entry(entry) = reader.read(line) {
            check(&entry);
        }
    }
}

fn rules(choice: u8) -> ManifestRules {
    let algorithms =
        [None, Some(Algorithm::Md5), Some(Algorithm::Blake2b(64)), Some(Algorithm::Cksum), Some(Algorithm::Crc32)];
    ManifestRules {
        algorithm: algorithms[usize::from(choice & 7) % algorithms.len()],
        tags: [Tags::All, Tags::Coreutils, Tags::Own, Tags::None][usize::from(choice >> 3 & 3)],
        untagged: if choice & 32 == 0 { Untagged::ByLength } else { Untagged::OfXxhsum },
        escapes: if choice & 64 == 0 { NameEscape::Lines } else { NameEscape::NewLines },
    }
}

fn check(entry: &ManifestEntry) {
    assert!(!entry.name.contains(&0) && entry.value.bytes().len() == entry.algorithm.bytes());
    let (name, is_escaped) = escaped_name(&entry.name, NameEscape::Lines);
    let begin = if is_escaped { "\\" } else { "" };
    let mut line = format!("{begin}{} (", entry.algorithm.tag()).into_bytes();
    line.extend(&name);
    line.extend(format!(") = {}", entry.value.hex()).as_bytes());
    let rules =
        ManifestRules { algorithm: None, tags: Tags::All, untagged: Untagged::Refused, escapes: NameEscape::Lines };
    match ManifestReader::new(rules).read(&line) {
        ManifestRead::Entry(again) => {
            assert_eq!((again.name, again.algorithm, again.value), (entry.name.clone(), entry.algorithm, entry.value))
        }
        other => panic!("{:?} became {other:?}", String::from_utf8_lossy(&line)),
    }
}

/// Lines of all tools behind a byte that chooses the rules.
pub fn seeds() -> Vec<Vec<u8>> {
    let text = b"# a comment\n5d41402abc4b2a76b9719d911017c592  a\n5d41402abc4b2a76b9719d911017c592 *b c\r\n\
                 \\401b30e3b8b5d629635a5c613cdb7919  new\\nline\nMD5 (a) = 5d41402abc4b2a76b9719d911017c592\n\
                 BLAKE2b-16 (x) = 0102\nXXH32_LE (a) = 01020304\nSHA2-224 (a)= d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f\n\
                 3287646509 5 a\n3610a686\ta\njunk\n";
    let zeros = b"5d41402abc4b2a76b9719d911017c592  a\nb\x005d41402abc4b2a76b9719d911017c592  c\0";
    (0..8).flat_map(|choice: u8| [&text[..], zeros].map(|text| [&[choice.wrapping_mul(37)], text].concat())).collect()
}
