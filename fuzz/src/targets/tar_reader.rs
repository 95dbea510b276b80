//! Any bytes as a tar archive: headers of all dialects, in the lenient grammar and in the strict one.
//! What is read keeps its promises (order, bounds, maps), and a member written anew is read as the same.

use archive::member::Member;
use archive::read::{Grammar, Reader, Rules, Step, Zeros};
use archive::source::{MemorySource, Source};
use archive::write::{Format, OtherTimes, Style, begin_member, end_archive};

/// Runs one input.
pub fn run(input: &[u8]) {
    let lenient = members(input, Rules::default());
    let strict = members(input, Rules { grammar: Grammar::Strict, zeros: Zeros::End });
    assert!(strict.len() <= lenient.len(), "the strict grammar is the smaller one");
    members(input, Rules { grammar: Grammar::Lenient, zeros: Zeros::Ignored });
    for member in &lenient {
        write_and_read(member);
    }
}

fn members(input: &[u8], rules: Rules) -> Vec<Member> {
    let mut source = MemorySource::new(input);
    let mut reader = Reader::new(rules, &source);
    let mut members: Vec<Member> = Vec::new();
    let mut steps = 0;
    while let Ok(step) = reader.next(&mut source) {
        steps += 1;
        assert!(steps <= input.len() / 100 + 10, "each step takes a block, or few notes do");
        match step {
            Step::Member(member) => {
                assert!(source.position() <= input.len() as u64 && member.data_offset == source.position());
                assert!(members.last().is_none_or(|last| last.header_offset < member.header_offset));
                let mapped = member.sparse.as_ref().map(|map| map.iter().map(|extent| extent.bytes).sum::<u64>());
                assert!(mapped.is_none_or(|bytes| bytes == member.stored_bytes));
                assert!(member.mtime.nanoseconds < 1_000_000_000);
                members.push(*member);
            }
            Step::Note(_) => {}
            Step::End => break,
        }
    }
    members
}

fn write_and_read(member: &Member) {
    let style = Style { format: Format::Pax, other_times: OtherTimes::Told, ..Style::default() };
    let mut bytes = Vec::new();
    // A file named like a directory is read as one; names without bytes cannot be said.
    let says_itself = !member.path.is_empty() && !member.path.ends_with(b"/");
    if !says_itself || begin_member(member, &style, &mut bytes).is_err() {
        return;
    }
    let mut source = MemorySource::new(&bytes);
    let mut reader = Reader::new(Rules::default(), &source);
    let Ok(Step::Member(back)) = reader.next(&mut source) else { panic!("what was written is not read") };
    assert_eq!((&back.path, back.kind, back.mtime), (&member.path, member.kind, member.mtime));
    assert_eq!((back.size, back.stored_bytes, &back.sparse), (member.size, member.stored_bytes, &member.sparse));
}

/// Small archives of all three formats.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for format in [Format::Pax, Format::Gnu, Format::Ustar] {
        let mut archive = Vec::new();
        for (path, stored) in [("a/b", 700), ("long-".repeat(30).as_str(), 0)] {
            let member = Member { path: path.into(), size: stored, stored_bytes: stored, ..Member::default() };
            if begin_member(&member, &Style { format, ..Style::default() }, &mut archive).is_ok() {
                archive.resize(archive.len() + member.padded_bytes() as usize, b'x');
            }
        }
        end_archive(archive.len() as u64, &mut archive);
        archive.truncate(archive.len().min(8192));
        seeds.push(archive);
    }
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
    seeds.extend(crate::seeds::files_in(&corpus, Some("tar")));
    seeds
}
