//! `mh tar -d`: where an archive and the files differ, a line each, as GNU tar says it.

use super::archive;
use super::chosen::{Chosen, not_found};
use super::extract::tell_note;
use super::index;
use super::list::{quoted, rules};
use super::member_lines::MemberLines;
use super::words::LongLines;
use super::{DIFFERENT, FAILED, NAME, TarArgs, could_not, totals};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use ::archive::extract::Feed;
use ::archive::member::{Extent, Kind, Member};
use ::archive::read::{ReadError, Reader, Step};
use ::archive::source::Source;
use std::fs::File;
use std::io;
use std::path::Path;
use sys::at_offset::read_full_at;
use sys::tree_calls::{self, Open, Status};

/// Compares.
pub fn run(context: &mut Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let names = super::names(args)?;
    let mut opened = archive::open(args)?;
    let name = opened.name.clone();
    let width = super::width(context, args);
    super::enter_folders(args)?;
    let (_shared, lease) = super::lease(context, args, width, "compare");
    let mut chosen = Chosen::new(args, &names, None)?;
    index::report(context, args, index::narrow(args, &mut opened, &chosen).as_ref());
    let mut lines = MemberLines::on_stdout();
    let (compared, _decoding) =
        opened.with_feed(super::memory::room(context, args), lease.as_ref(), width, |feed| {
            compare(context, args, feed, &mut chosen, &mut lines)
        })?;
    lines.flush();
    let Counted { differing, mut failed } =
        compared.map_err(|error| could_not("compare", Path::new(&name).as_os_str(), &error))?;
    for name in not_found(&chosen.wanted) {
        failed += 1;
        context.messages.error(NAME, &format!("find {} in the archive", quoted(&name)), &[]);
    }
    lines.finish()?;
    Ok(match (failed, differing) {
        (0, 0) => Outcome::Done,
        (0, _) => DIFFERENT,
        _ => FAILED,
    })
}

#[derive(Default)]
struct Counted {
    differing: u64,
    failed: u64,
}

fn compare(
    context: &Context,
    args: &TarArgs,
    mut feed: Feed,
    chosen: &mut Chosen,
    lines: &mut MemberLines,
) -> Result<Counted, ReadError> {
    let mut reader = Reader::new(rules(args), &feed);
    let mut counted = Counted::default();
    let mut long = LongLines::new(args);
    loop {
        let member = match reader.next(&mut feed)? {
            Step::Member(member) => member,
            Step::Note(note) => {
                counted.failed += u64::from(tell_note(context, args, &note));
                continue;
            }
            Step::End => break,
        };
        if !chosen.means(&member.path) {
            continue;
        }
        if args.verbose > 0 {
            lines.line(&match args.verbose {
                1 => super::words::escaped(&shown(&member)).into_owned(),
                _ => long.line(&shown(&member), &member),
            });
        }
        let found = match differences(&member, &mut feed)? {
            Ok(found) => found,
            Err(error) => {
                counted.differing += 1;
                let path = quoted(member.path.strip_suffix(b"/").unwrap_or(&member.path));
                context.messages.error(NAME, &format!("compare {path}: {}", words(&error)), &[]);
                continue;
            }
        };
        for difference in found {
            counted.differing += 1;
            lines.line(&format!("{}: {difference}", super::words::escaped(&member.path)));
        }
    }
    totals::show_read(context, args, &reader, &feed);
    Ok(counted)
}

/// What is different of one member; the inner error is that it cannot be looked at.
fn differences(member: &Member, feed: &mut Feed) -> Result<io::Result<Vec<String>>, ReadError> {
    let here = rustix::fs::CWD;
    let status = match tree_calls::status_at(here, &member.path) {
        Ok(status) => status,
        Err(error) => return Ok(Err(error)),
    };
    let mut found = Vec::new();
    if member.kind == Kind::HardLink {
        let same = tree_calls::status_at(here, &member.link)
            .is_ok_and(|other| (other.dev, other.ino) == (status.dev, status.ino));
        if !same {
            found.push(format!("Not linked to {}", super::words::escaped(&member.link)));
        }
        return Ok(Ok(found));
    }
    if !is_kind(member.kind, &status) {
        found.push("File type differs".to_owned());
        return Ok(Ok(found));
    }
    let is_link = member.kind == Kind::Symlink;
    for (differs, words) in [
        (!is_link && status.mode & 0o7777 != member.mode, "Mode differs"),
        (u64::from(status.uid) != member.uid, "Uid differs"),
        (u64::from(status.gid) != member.gid, "Gid differs"),
        (!is_link && member.kind != Kind::Directory && status.mtime.0 != member.mtime.seconds, "Mod time differs"),
        (member.kind == Kind::Regular && status.size != member.size, "Size differs"),
        (is_link && !tree_calls::read_link(here, &member.path).is_ok_and(|to| to == member.link), "Symlink differs"),
        (
            is_device(member.kind) && status.device != (member.device.major, member.device.minor),
            "Device number differs",
        ),
    ] {
        if differs {
            found.push(words.to_owned());
        }
    }
    if member.kind == Kind::Regular && status.size == member.size {
        match tree_calls::open_at(here, &member.path, Open::File).map(File::from) {
            Ok(file) if !is_same(member, feed, &file)? => found.push("Contents differ".to_owned()),
            Ok(_) => {}
            Err(error) => found.push(format!("Cannot open: {}", words(&error))),
        }
    }
    Ok(Ok(found))
}

/// As lists show it.
fn shown(member: &Member) -> Vec<u8> {
    let slash: &[u8] = if member.kind == Kind::Directory && !member.path.ends_with(b"/") { b"/" } else { b"" };
    [&member.path, slash].concat()
}

fn words(error: &io::Error) -> String {
    crate::failure::with_causes(error)
}

fn is_device(kind: Kind) -> bool {
    matches!(kind, Kind::CharacterDevice | Kind::BlockDevice)
}

fn is_kind(kind: Kind, status: &Status) -> bool {
    let wanted = match kind {
        Kind::Symlink => 0o120_000,
        Kind::Directory => 0o040_000,
        Kind::CharacterDevice => 0o020_000,
        Kind::BlockDevice => 0o060_000,
        Kind::Fifo => 0o010_000,
        _ => 0o100_000,
    };
    status.kind() == wanted
}

/// Whether the stored bytes are those of the file. What the archive has as holes is not looked at.
fn is_same(member: &Member, feed: &mut Feed, file: &File) -> Result<bool, ReadError> {
    let whole = [Extent { offset: 0, bytes: member.stored_bytes }];
    let mut ours = vec![0; 64 << 10];
    let mut theirs = vec![0; 64 << 10];
    for extent in member.sparse.as_deref().unwrap_or(&whole) {
        let mut done = 0;
        while done < extent.bytes {
            let count = (extent.bytes - done).min(ours.len() as u64) as usize;
            let offset = feed.position();
            let read = feed.read(&mut ours[..count]).map_err(|cause| ReadError::Read { offset, cause })?;
            if read < count {
                return Err(ReadError::Truncated { offset: member.header_offset });
            }
            let there = read_full_at(file, &mut theirs[..count], extent.offset + done);
            if !there.is_ok_and(|there| there == count) || ours[..count] != theirs[..count] {
                return Ok(false);
            }
            done += count as u64;
        }
    }
    Ok(true)
}
