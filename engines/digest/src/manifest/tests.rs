//! Lines as the tools write them, and lines that only look like them.

use super::*;

const MD5: &str = "5d41402abc4b2a76b9719d911017c592";
const ANY: ManifestRules =
    ManifestRules { algorithm: None, tags: Tags::All, untagged: Untagged::ByLength, escapes: NameEscape::Lines };

fn read_by(rules: ManifestRules, lines: &[&str]) -> Vec<Option<(String, Algorithm)>> {
    let mut reader = ManifestReader::new(rules);
    let entries = lines.iter().map(|line| match reader.read(line.as_bytes()) {
        ManifestRead::Entry(entry) => Some((String::from_utf8_lossy(&entry.name).into_owned(), entry.algorithm)),
        _ => None,
    });
    entries.collect()
}

fn name(line: &str) -> Option<String> {
    read_by(ANY, &[line]).pop().flatten().map(|(name, _)| name)
}

#[test]
fn every_form_names_its_file() {
    assert_eq!(name(&format!("{MD5}  a b")).as_deref(), Some("a b"));
    assert_eq!(name(&format!("{MD5} *a")).as_deref(), Some("a"));
    assert_eq!(name(&format!("{MD5} a")).as_deref(), Some("a"));
    assert_eq!(name(&format!("{MD5}\ta")).as_deref(), Some("a"));
    assert_eq!(name(&format!("  {}  a\r", MD5.to_uppercase())).as_deref(), Some("a"));
    assert_eq!(name(&format!("MD5 (a (b) = c) = {MD5}")).as_deref(), Some("a (b) = c"));
    assert_eq!(name(&format!("MD5(a)= {MD5}")).as_deref(), Some("a"));
    assert_eq!(name(&format!("\\{MD5}  a\\nb\\\\c\\r")).as_deref(), Some("a\nb\\c\r"));
    assert_eq!(name(&format!("\\MD5 (a\\nb) = {MD5}")).as_deref(), Some("a\nb"));
    assert_eq!(name(&format!("{MD5}  a\\nb")).as_deref(), Some("a\\nb"), "no backslash in front");
}

#[test]
fn what_only_looks_like_a_line_is_none() {
    for line in [
        MD5.to_owned(),
        format!("{MD5} "),
        format!("{MD5}a  b"),
        format!("{}  a", &MD5[1..]),
        format!("\\{MD5}  a\\x"),
        format!("\\{MD5}  a\\"),
        format!("MD5 (a) = {MD5}0"),
        format!("MD5 (a = {MD5}"),
        format!("MD5 a) = {MD5}"),
        format!("MD6 (a) = {MD5}"),
        format!("{MD5}  a\0b"),
    ] {
        assert_eq!(ManifestReader::new(ANY).read(line.as_bytes()), ManifestRead::Misformatted, "{line:?}");
    }
    for line in ["", "\r", "# x"] {
        assert_eq!(ManifestReader::new(ANY).read(line.as_bytes()), ManifestRead::Nothing, "{line:?}");
    }
}

#[test]
fn names_in_lines_that_end_with_a_zero_byte_are_as_they_are() {
    for (end, carriage_return, backslash) in
        [(LineEnd::Zero, &b"a\r"[..], None), (LineEnd::NewLine, b"a", Some(&b"a\nb"[..]))]
    {
        let name = |line: String| {
            let mut reader = ManifestReader::new(ANY);
            reader.lines_end_with(end);
            match reader.read(line.as_bytes()) {
                ManifestRead::Entry(entry) => Some(entry.name),
                _ => None,
            }
        };
        assert_eq!(name(format!("{MD5}  a\r")).as_deref(), Some(carriage_return));
        assert_eq!(name(format!("{MD5}  a\\nb")).as_deref(), Some(&b"a\\nb"[..]));
        assert_eq!(name(format!("\\{MD5}  a\\nb")).as_deref(), backslash);
    }
}

#[test]
fn one_blank_and_two_are_not_mixed() {
    let (one, two) = (format!("{MD5} a"), format!("{MD5}  a"));
    let found =
        |lines: &[&str]| read_by(ANY, lines).into_iter().map(|found| found.map(|(name, _)| name)).collect::<Vec<_>>();
    assert_eq!(found(&[&two, &one]), [Some("a".to_owned()), None]);
    assert_eq!(found(&[&one, &two]), [Some("a".to_owned()), Some(" a".to_owned())]);
}

#[test]
fn rules_decide_about_tags_and_lengths() {
    let lines: Vec<String> = [
        format!("{MD5}  a"),
        format!("MD5 (a) = {MD5}"),
        format!("XXH128 (a) = {MD5}"),
        format!("BLAKE2b-128 (a) = {MD5}"),
        format!("SHA2-256 (a) = {MD5}{MD5}"),
    ]
    .to_vec();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = |rules| {
        read_by(rules, &lines).into_iter().map(|found| found.map(|(_, algorithm)| algorithm)).collect::<Vec<_>>()
    };
    let (md5, xxh, b2) = (Some(Algorithm::Md5), Some(Algorithm::Xxh128), Some(Algorithm::Blake2b(16)));
    assert_eq!(found(ANY), [md5, md5, xxh, b2, Some(Algorithm::Sha256)]);
    let cksum = ManifestRules { tags: Tags::Coreutils, untagged: Untagged::Refused, ..ANY };
    assert_eq!(found(cksum), [None, md5, None, b2, None]);
    let own = |algorithm| ManifestRules {
        algorithm: Some(algorithm),
        tags: Tags::Own,
        untagged: Untagged::OfAlgorithm,
        ..ANY
    };
    assert_eq!(found(own(Algorithm::Md5)), [md5, md5, None, None, None]);
    assert_eq!(found(own(Algorithm::Sha1)), [None; 5]);
    assert_eq!(found(own(Algorithm::Blake2b(64))), [b2, None, None, b2, None]);
    let xxhsum = ManifestRules { untagged: Untagged::OfXxhsum, ..ANY };
    assert_eq!(found(xxhsum)[0], xxh);
}

#[test]
fn lines_of_other_algorithms_than_those_asked_for_are_none() {
    let lines = [format!("{MD5}  a"), format!("MD5 (a) = {MD5}"), "CRC32 (a) = 01020304".into(), "01020304  a".into()];
    let found = |only: &[Algorithm]| {
        let mut reader = ManifestReader::new(ANY).only(only);
        let algorithm = |line: &String| match reader.read(line.as_bytes()) {
            ManifestRead::Entry(entry) => Some(entry.algorithm),
            _ => None,
        };
        lines.iter().map(algorithm).collect::<Vec<_>>()
    };
    let (md5, crc32) = (Some(Algorithm::Md5), Some(Algorithm::Crc32));
    assert_eq!(found(&[]), [md5, md5, crc32, crc32]);
    assert_eq!(found(&[Algorithm::Md5]), [md5, md5, None, None]);
    assert_eq!(found(&[Algorithm::Sha256]), [None; 4]);
    assert_eq!(found(&[Algorithm::Sha256, Algorithm::Crc32]), [None, None, crc32, crc32]);
    assert_eq!(found(&[Algorithm::Sm3, Algorithm::Xxh128])[0], Some(Algorithm::Xxh128), "not what is usual");
}

#[test]
fn values_of_xxhsum_may_be_turned_round() {
    let ManifestRead::Entry(entry) = ManifestReader::new(ANY).read(b"XXH32_LE (a) = 01020304") else {
        panic!("it is an entry");
    };
    assert_eq!((entry.algorithm, entry.value.hex().as_str()), (Algorithm::Xxh32, "04030201"));
}

#[test]
fn lines_of_cksum_have_a_number_and_a_length() {
    let rules = ManifestRules { algorithm: Some(Algorithm::Cksum), untagged: Untagged::OfAlgorithm, ..ANY };
    let ManifestRead::Entry(entry) = ManifestReader::new(rules).read(b"3287646509 5 a b") else {
        panic!("it is an entry");
    };
    assert_eq!((entry.name.as_slice(), entry.value.number()), (b"a b".as_slice(), 3_287_646_509));
    for bad in ["3287646509 5", "4294967296 5 a", "1 5 a\0b", "x 5 a", "1 -5 a"] {
        assert_eq!(ManifestReader::new(rules).read(bad.as_bytes()), ManifestRead::Misformatted, "{bad}");
    }
}

#[test]
fn names_come_back_from_their_escapes() {
    for name in [&b"plain"[..], b"new\nline", b"back\\slash", b"\r\n\\", b"\xff\xfe", b" "] {
        for escapes in [NameEscape::Lines, NameEscape::NewLines, NameEscape::None] {
            let (escaped, is_escaped) = escaped_name(name, escapes);
            let escapes = if is_escaped { escapes } else { NameEscape::None };
            assert_eq!(unescaped_name(&escaped, escapes).as_deref(), Some(name));
        }
    }
}
