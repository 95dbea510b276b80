//! `mh tar -d`: where an archive and the files differ, a line each, as GNU tar says it.

use super::archive;
use super::checkpoints::{CheckpointWay, Checkpoints};
use super::chosen::{Chosen, not_found};
use super::extract::tell_note;
use super::index;
use super::list::{quoted, rules};
use super::member_lines::MemberLines;
use super::messages;
use super::there::There;
use super::words::{BlockNumbers, LongLines};
use super::{DIFFERENT, FAILED, TarArgs, could_not, totals};
use ::archive::extract::{Choice, Chooser, Event, Feed};
use ::archive::member::{Extent, Kind, Member, Time};
use ::archive::read::{ReadError, Reader, Step};
use ::archive::source::Source;
use files::{FileType, Follow, Moment, Status, how};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::fs::File;
use std::io;
use std::path::Path;
use sys::at_offset::read_full_at;

/// Compares.
pub fn run(context: &mut Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let mut opened = archive::open(args)?;
    let name = opened.name.clone();
    let mut chosen = Chosen::new(args, None)?;
    chosen.wanted.lock().enter_directories(args)?;
    index::report(context, args, index::narrow(args, &mut opened, &chosen).as_ref());
    let (mut differing, mut failed) = (0, 0);
    let compared = all(context, args, opened, &mut chosen, ComparisonLines::Compared)?;
    let compared = compared.map_err(|error| could_not("compare", Path::new(&name).as_os_str(), &error))?;
    differing += compared.differing;
    failed += compared.failed;
    for name in not_found(&chosen.wanted) {
        failed += 1;
        messages::not_found(context, &name);
    }
    Ok(match (failed, differing) {
        (0, 0) => Outcome::Done,
        (0, _) => DIFFERENT,
        _ => FAILED,
    })
}

/// What `-v` shows of members that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonLines {
    /// Their names, or a line as of a list.
    Compared,
    /// That they are verified.
    Verified,
}

/// Compares all chosen members.
pub fn all(
    context: &Context,
    args: &TarArgs,
    opened: archive::Opened,
    chosen: &mut Chosen,
    shown: ComparisonLines,
) -> Result<Result<Comparison, ReadError>, Failure> {
    let width = super::width(context, args);
    let (_shared, lease) = super::lease(context, args, width, "compare");
    let mut lines = MemberLines::of(args, MemberLines::on_stdout)?;
    let mut checkpoints = match shown {
        ComparisonLines::Compared => Checkpoints::new(args, CheckpointWay::Read)?,
        ComparisonLines::Verified => None,
    };
    let room = super::memory::room(context, args);
    let (compared, _decoding) = opened.with_feed(room, lease.as_ref(), width, &Default::default(), |feed| {
        let telling = Telling { lines: &mut lines, checkpoints: checkpoints.as_mut(), shown };
        compare(context, args, feed, chosen, telling)
    })?;
    lines.finish()?;
    Ok(compared)
}

/// Where lines go.
struct Telling<'a> {
    lines: &'a mut MemberLines,
    checkpoints: Option<&'a mut Checkpoints>,
    shown: ComparisonLines,
}

impl Telling<'_> {
    fn reached(&mut self, context: &Context, args: &TarArgs, bytes: u64) {
        args.progress.reach(bytes);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.reach(bytes, context, self.lines);
        }
    }
}

/// What came of it.
#[derive(Default)]
pub struct Comparison {
    /// Members that differ.
    pub differing: u64,
    /// Those that could not be compared.
    pub failed: u64,
}

fn compare(
    context: &Context,
    args: &TarArgs,
    mut feed: Feed,
    chosen: &mut Chosen,
    mut telling: Telling<'_>,
) -> Result<Comparison, ReadError> {
    let mut reader = Reader::new(rules(args), &feed);
    let mut counted = Comparison::default();
    let mut long = LongLines::new(args);
    let (mut there, numbers) = (There::default(), BlockNumbers::new(args));
    loop {
        let mut member = match reader.next(&mut feed)? {
            Step::Member(member) => member,
            Step::Note(note) => {
                counted.failed += u64::from(tell_note(context, args, &note));
                continue;
            }
            Step::End => break,
        };
        telling.reached(context, args, member.header_offset);
        let original = (args.verbose > 0).then(|| (shown(&member), member.clone()));
        let name = member.path.clone();
        let mut refused = Vec::new();
        let choice = chosen.choose(&mut member, &mut |event| refused.push(event));
        for event in refused {
            if let (Event::Label(label), 1..) = (&event, args.verbose) {
                telling.lines.line(numbers.passed(label, args.quoting.shown(&label.path)));
            }
            counted.failed += u64::from(tell(context, event));
        }
        match choice {
            Choice::Take => {}
            Choice::PassOver => continue,
            Choice::Stop => break,
        }
        if let Some((name, member)) = original {
            let line = match (telling.shown, args.verbose) {
                (ComparisonLines::Verified, _) => [b"Verify ", &*args.quoting.shown(&name)].concat(),
                (ComparisonLines::Compared, 1) => args.quoting.shown(&name).into_owned(),
                (ComparisonLines::Compared, _) => long.line(&name, &member),
            };
            telling.lines.line(numbers.passed(&member, line));
        }
        let name = chosen.told(&name, &member);
        let name = name.strip_suffix(b"/").filter(|name| !name.is_empty()).unwrap_or(&name);
        let what = Compared { member: &member, is_extended: reader.is_extended() };
        let Found { differences, not_compared } = what.with_files(&mut there, &mut feed)?;
        for difference in differences {
            counted.differing += 1;
            telling.lines.line([&*args.quoting.shown(name), format!(": {difference}").as_bytes()].concat());
        }
        if let Some(error) = not_compared {
            // COMPAT: what is not there differs; what cannot be looked at may be the same.
            match error.kind() {
                io::ErrorKind::NotFound => counted.differing += 1,
                _ => counted.failed += 1,
            }
            let (what, why) = (quoted(name), words(&error));
            let theirs = format!("{}: Warning: Cannot stat: {}", messages::plain(name), why);
            messages::failed(context, &theirs, &format!("compare {what}: {why}"));
        }
    }
    telling.reached(context, args, totals::read(&reader, &feed));
    if telling.shown == ComparisonLines::Compared {
        let end = numbers.end(reader.end_offset(), feed.position() > reader.end_offset());
        end.into_iter().for_each(|line| telling.lines.line(line));
        totals::show_read(context, args, &reader, &feed);
    }
    feed.drain()?;
    Ok(counted)
}

/// Tells what came of choosing a member; whether it is a failure.
fn tell(context: &Context, event: Event) -> bool {
    match event {
        Event::Refused { name, why } => {
            let theirs = format!("{}: {why}", messages::plain(&name));
            messages::failed(context, &theirs, &format!("compare {}: {why}", quoted(&name)));
            true
        }
        Event::MadeRelative { removed } => {
            messages::made_relative(context, &removed);
            false
        }
        // Nothing is placed.
        Event::Removed { .. }
        | Event::KeptAs { .. }
        | Event::Label(_)
        | Event::Taken { .. }
        | Event::Note(_)
        | Event::NotPlaced { .. }
        | Event::Stays { .. } => false,
    }
}

/// What came of comparing a member.
#[derive(Default)]
struct Found {
    differences: Vec<String>,
    /// Why it, or a part of it, could not be.
    not_compared: Option<io::Error>,
}

/// What is compared.
struct Compared<'a> {
    member: &'a Member,
    /// Whether an extended header stood in front of it.
    is_extended: bool,
}

impl Compared<'_> {
    fn with_files(&self, there: &mut There, feed: &mut Feed) -> Result<Found, ReadError> {
        let mut found = Found::default();
        if let Err(failed) = self.differences(there, feed, &mut found.differences) {
            match failed {
                Failed::Archive(error) => return Err(error),
                Failed::File(error) => found.not_compared = Some(error),
            }
        }
        Ok(found)
    }

    fn differences(&self, there: &mut There, feed: &mut Feed, found: &mut Vec<String>) -> Result<(), Failed> {
        let member = self.member;
        let path: &[u8] = if member.path.is_empty() { b"." } else { &member.path };
        let (directory, name) = there.reach(path)?;
        let status = directory.status(name, Follow::No)?;
        if member.kind == Kind::HardLink {
            let (directory, name) = there.reach(&member.link)?;
            let other = directory.status(name, Follow::No)?;
            if other.identity() != status.identity() {
                found.push(format!("Not linked to {}", super::words::escaped(&member.link)));
            }
            return Ok(());
        }
        if !is_kind(member.kind, &status) {
            found.push("File type differs".to_owned());
            return Ok(());
        }
        let is_link = member.kind == Kind::Symlink;
        let has_time = !is_link && member.kind != Kind::Directory;
        for (differs, words) in [
            (!is_link && status.mode() != member.mode, "Mode differs"),
            (u64::from(status.user()) != member.uid, "Uid differs"),
            (u64::from(status.group()) != member.gid, "Gid differs"),
            (has_time && self.has_other_time(&status), "Mod time differs"),
            (member.kind == Kind::Regular && status.bytes() != member.size, "Size differs"),
            (
                is_device(member.kind) && status.device_numbers() != (member.device.major, member.device.minor),
                "Device number differs",
            ),
        ] {
            if differs {
                found.push(words.to_owned());
            }
        }
        if is_link && directory.read_link(name)? != member.link {
            found.push("Symlink differs".to_owned());
        }
        if member.kind == Kind::Regular && status.bytes() == member.size {
            let file = File::from(directory.open(name, how::FILE, 0)?);
            if !is_same(member, feed, &file)? {
                found.push("Contents differ".to_owned());
            }
        }
        Ok(())
    }

    /// COMPAT: parts of seconds count where an extended header could have told them.
    fn has_other_time(&self, status: &Status) -> bool {
        let Moment { seconds, nanoseconds } = status.changed_at();
        let Time { seconds: ours, nanoseconds: our_parts } = self.member.mtime;
        seconds != ours || self.is_extended && nanoseconds != our_parts
    }
}

/// Ends a comparison: of all that follows, or of the member at hand.
enum Failed {
    Archive(ReadError),
    File(io::Error),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Archive(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// As lists show it.
fn shown(member: &Member) -> Vec<u8> {
    let slash: &[u8] = if member.kind == Kind::Directory && !member.path.ends_with(b"/") { b"/" } else { b"" };
    [&member.path, slash].concat()
}

fn words(error: &io::Error) -> String {
    mh_kit::failure::with_causes(error)
}

fn is_device(kind: Kind) -> bool {
    matches!(kind, Kind::CharacterDevice | Kind::BlockDevice)
}

fn is_kind(kind: Kind, status: &Status) -> bool {
    let wanted = match kind {
        Kind::Symlink => FileType::SymbolicLink,
        Kind::Directory => FileType::Directory,
        Kind::CharacterDevice => FileType::CharacterDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::Fifo => FileType::Fifo,
        _ => FileType::Regular,
    };
    status.file_type() == wanted
}

/// Whether the stored bytes are those of the file, and zeros what the archive has as holes.
fn is_same(member: &Member, feed: &mut Feed, file: &File) -> Result<bool, Failed> {
    let whole = [Extent { offset: 0, bytes: member.stored_bytes }];
    let mut ours = vec![0; 64 << 10];
    let mut theirs = vec![0; 64 << 10];
    let mut behind = 0;
    for extent in member.sparse.as_deref().unwrap_or(&whole) {
        if !is_zeros(file, behind, extent.offset, &mut theirs)? {
            return Ok(false);
        }
        behind = extent.offset + extent.bytes;
        let mut done = 0;
        while done < extent.bytes {
            let count = (extent.bytes - done).min(ours.len() as u64) as usize;
            let offset = feed.position();
            let read = feed.read(&mut ours[..count]).map_err(|cause| ReadError::Read { offset, cause })?;
            if read < count {
                return Err(ReadError::Truncated { offset: member.header_offset }.into());
            }
            let there = read_full_at(file, &mut theirs[..count], extent.offset + done)?;
            if there != count || ours[..count] != theirs[..count] {
                return Ok(false);
            }
            done += count as u64;
        }
    }
    Ok(is_zeros(file, behind, member.size, &mut theirs)?)
}

/// Whether a file has nothing but zeros in a stretch. Its holes are stepped over.
fn is_zeros(file: &File, mut from: u64, to: u64, buffer: &mut [u8]) -> io::Result<bool> {
    while from < to {
        match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
            Ok(data) if data > from => from = data,
            Err(rustix::io::Errno::NXIO) => return Ok(true),
            // A file system that knows no holes has them read.
            Ok(_) | Err(_) => {
                let count = (to - from).min(buffer.len() as u64) as usize;
                let read = read_full_at(file, &mut buffer[..count], from)?;
                if read != count || buffer[..count].iter().any(|&byte| byte != 0) {
                    return Ok(false);
                }
                from += count as u64;
            }
        }
    }
    Ok(true)
}
