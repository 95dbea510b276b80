//! `mh tar -A` and `--delete`: archives behind an archive, and an archive without some of its members. Bytes are moved as they are;
//! nothing is laid out anew. Whatever fails leaves the archive as it was.

mod filter;

use super::archive::{self, Opened, Way};
use super::chosen::{Chosen, not_found};
use super::destination::{self, Destination};
use super::extract::tell_note;
use super::list::{quoted, rules};
use super::member_lines::MemberLines;
use super::messages;
use super::old_end::OldEnd;
use super::questions::MemberQuestions;
use super::selection::{self, SelectionStep as Said};
use super::{FAILED, TarArgs, could_not, usage};
use ::archive::extract::Feed;
use ::archive::read::{Defect, Note, ReadError, Reader, Step};
use ::archive::source::{FileSource, Source};
use ::archive::write::end_archive;
use crew::plan::Plan;
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::{self, counted};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::at_offset::write_all_at;

/// The archive that is changed: a plain one in a regular file; none where nothing has its name.
fn target(args: &TarArgs, option: &str) -> Result<(PathBuf, Option<Arc<File>>), Failure> {
    let Some(path) = args.archive().map(Path::to_owned).filter(|path| path != Path::new("-")) else {
        return Err(usage(format!("{option} needs an archive in a file: -f")));
    };
    if args.packing.use_compress_program.is_some() || archive::said(args).is_some() {
        return Err(is_packed());
    }
    let told = |error: io::Error| could_not("open", path.as_os_str(), &error);
    let file = match File::options().read(true).write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((path, None)),
        opened => opened.map_err(told)?,
    };
    if !file.metadata().map_err(told)?.is_file() {
        return Err(usage(format!("{option} needs an archive in a regular file")));
    }
    refuse_packed(args)?;
    Ok((path, Some(Arc::new(file))))
}

/// Only a plain archive can be changed.
pub fn refuse_packed(args: &TarArgs) -> Result<(), Failure> {
    if matches!(archive::open(args)?.way, Way::Packed { .. }) { Err(is_packed()) } else { Ok(()) }
}

fn is_packed() -> Failure {
    messages::usage("Cannot update compressed archives", "a compressed archive cannot be changed")
}

/// What other archives are added to.
enum Grown {
    /// What is there.
    There(OldEnd),
    /// An archive that gets its name when it is complete.
    New(StagedFile, Replace),
}

impl Grown {
    /// COMPAT: an archive that is not there is made; where its name is a link, what that leads to.
    fn new(context: &Context, path: &Path) -> io::Result<Self> {
        // A link has made the file that it leads to.
        let replace = if path.is_symlink() { Replace::Yes } else { Replace::Never };
        let Destination::Beside(path) = destination::of(path)? else {
            return Err(io::Error::other("it has no name that an archive could get"));
        };
        // `-C` leads elsewhere before it gets its name.
        Ok(Self::New(
            StagedFile::create(&std::path::absolute(path)?, Readers::AsOfAnyFile, &context.unfinished)?,
            replace,
        ))
    }

    fn file(&self) -> &File {
        match self {
            Self::There(end) => end.file(),
            Self::New(staged, _) => staged.file(),
        }
    }

    fn base(&self) -> u64 {
        if let Self::There(end) = self { end.base } else { 0 }
    }

    fn put_back(&self) {
        if let Self::There(end) = self {
            end.put_back();
        }
    }

    /// `bytes` were added, and nothing that was read behind the end of the last archive stays.
    fn commit(self, bytes: u64) -> io::Result<()> {
        let (staged, replace) = match self {
            Self::There(end) => return end.leave(bytes),
            Self::New(staged, replace) => (staged, replace),
        };
        staged.file().set_len(bytes)?;
        sys::at_offset::report_late_errors(staged.file())?;
        staged.commit(replace)
    }
}

/// `-A`: what the named archives have, packed or not, behind what this one has.
pub fn concatenate(context: &Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let (path, there) = target(args, "-A")?;
    let names = args.selection.names();
    if args.shared.explain {
        let mut plan =
            Plan::new(format!("add {} to {}", counted(names.len() as u64, "archive"), terminal::quote(&path)));
        plan.choose("copy", "one after the other", "members are moved as they are");
        report::show_plan(context, &plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let mut failed = false;
    let grown = behind(context, args, &path, there, &mut failed)?;
    let width = super::width(context, args);
    let (_shared, lease) = super::lease(context, args, width, "concatenate");
    let mut end = grown.base();
    let (questions, mut lines) = (MemberQuestions::of(args)?, MemberLines::of(args, MemberLines::on_stdout)?);
    for step in &args.selection.steps {
        let name = match step {
            Said::Enter(directory) => {
                selection::enter(directory)?;
                continue;
            }
            Said::Name(named) => &named.name,
        };
        if questions.as_ref().is_some_and(|asked| !asked.confirm("add", name, &mut lines)) {
            continue;
        }
        let other = PathBuf::from(std::ffi::OsStr::from_bytes(name));
        let is_itself = is_same(&other, grown.file());
        let copied = archive::open_at(args, Some(other)).and_then(|opened: Opened| {
            // Its end would move away as fast as it is read.
            if is_itself {
                return Err(usage(format!("{} cannot be added to itself", quoted(name))));
            }
            let copy = |feed| copy_members(context, args, feed, grown.file(), end);
            opened
                .with_feed(super::memory::room(context, args), lease.as_ref(), width, &Default::default(), copy)
                .map(|(copied, _)| copied)
        });
        let copied = copied.and_then(|copied| {
            copied.map_err(|refused| match refused {
                Refused::Reading(error) => could_not("add", quoted(name).as_ref(), &error),
                Refused::Writing(error) => could_not("write", path.as_os_str(), &error),
            })
        });
        match copied {
            Ok(copied) => {
                end += copied.bytes;
                failed |= copied.failed;
            }
            Err(failure) => {
                grown.put_back();
                return Err(failure);
            }
        }
    }
    let mut mark = Vec::new();
    end_archive(end, &mut mark);
    let written = write_all_at(grown.file(), &mark, end);
    if written.is_err() {
        grown.put_back();
    }
    let bytes = end + mark.len() as u64 - grown.base();
    written.and_then(|()| grown.commit(bytes)).map_err(|error| could_not("write", path.as_os_str(), &error))?;
    Ok(if failed { FAILED } else { Outcome::Done })
}

/// The archive that is added to, its end found.
fn behind(
    context: &Context,
    args: &TarArgs,
    path: &Path,
    there: Option<Arc<File>>,
    failed: &mut bool,
) -> Result<Grown, Failure> {
    let told = |error: &(dyn std::error::Error + 'static)| could_not("add to", path.as_os_str(), error);
    let Some(file) = there else {
        return Grown::new(context, path).map_err(|error| could_not("create", path.as_os_str(), &error));
    };
    let mut source = FileSource::new(Arc::clone(&file), 0).map_err(|error| told(&error))?;
    let mut reader = Reader::new(rules(args), &source);
    // COMPAT: to a file without a byte, which is no archive, others can be added all the same.
    while file.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        match reader.next(&mut source).map_err(|error| told(&error))? {
            Step::Member(_) | Step::Note(Note::Unusable { .. }) => {}
            Step::Note(note) => *failed |= tell_note(context, args, &note),
            Step::End => break,
        }
    }
    Ok(Grown::There(OldEnd::note(context, file, reader.end_offset()).map_err(|error| told(&error))?))
}

fn is_same(path: &Path, file: &File) -> bool {
    let (one, other) = (std::fs::metadata(path), file.metadata());
    matches!((one, other), (Ok(one), Ok(other)) if (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Bytes of members that were copied.
struct Copied {
    bytes: u64,
    failed: bool,
}

/// Why members were not copied.
enum Refused {
    Reading(ReadError),
    Writing(io::Error),
}

/// Copies everything up to the end mark.
fn copy_members(context: &Context, args: &TarArgs, feed: Feed, to: &File, at: u64) -> Result<Copied, Refused> {
    let mut source = Copying { feed, to, at, begin: 0, write_error: None };
    source.begin = source.feed.position();
    let mut reader = Reader::new(rules(args), &source);
    let mut failed = false;
    loop {
        let step = reader.next(&mut source);
        if let Some(error) = source.write_error.take() {
            return Err(Refused::Writing(error));
        }
        match step.map_err(Refused::Reading)? {
            // Members are moved as they are: no value of theirs is used.
            Step::Member(_) | Step::Note(Note::Unusable { .. }) => {}
            Step::Note(note) => failed |= tell_note(context, args, &note),
            Step::End => {
                source.feed.drain().map_err(Refused::Reading)?;
                return Ok(Copied { bytes: reader.end_offset() - source.begin, failed });
            }
        }
    }
}

/// A source whose bytes are written as they are read.
struct Copying<'a> {
    feed: Feed,
    to: &'a File,
    at: u64,
    begin: u64,
    /// What was read could not be written: the reader of the archive is told of an error of its source.
    write_error: Option<io::Error>,
}

impl Source for Copying<'_> {
    fn position(&self) -> u64 {
        self.feed.position()
    }

    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let position = self.feed.position();
        let read = self.feed.read(target)?;
        write_all_at(self.to, &target[..read], self.at + (position - self.begin)).map_err(|error| {
            let kind = error.kind();
            self.write_error = Some(error);
            io::Error::from(kind)
        })?;
        Ok(read)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let mut buffer = vec![0; bytes.min(256 << 10) as usize];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(buffer.len() as u64) as usize;
            let read = self.read(&mut buffer[..count])?;
            left -= read as u64;
            if read < count {
                break;
            }
        }
        Ok(bytes - left)
    }
}

/// `--delete`: a new archive without the named members takes the old one's place.
pub fn delete(context: &Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let names = args.selection.names();
    if names.is_empty() {
        return Err(usage("--delete needs the names of members".to_owned()));
    }
    if args.archive().is_none_or(|path| path == Path::new("-")) {
        return filter::run(context, args);
    }
    let (path, file) = target(args, "--delete")?;
    let Some(file) = file else {
        return Err(could_not("open", path.as_os_str(), &io::Error::from(Errno::NOENT)));
    };
    if args.shared.explain {
        let mut plan = Plan::new(format!("delete from {}", terminal::quote(&path)));
        plan.choose("copy", "what stays, beside it", "the old archive stays until the new one is whole");
        report::show_plan(context, &plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let told = |error: &(dyn std::error::Error + 'static)| could_not("delete from", path.as_os_str(), error);
    let mut chosen = Chosen::new(args, None)?;
    let mut source = FileSource::new(Arc::clone(&file), 0).map_err(|error| told(&error))?;
    let mut reader = Reader::new(rules(args), &source);
    let (mut kept, mut failed) = (Kept::default(), false);
    let end = loop {
        let from = reader.end_offset();
        let step = reader.next(&mut source).map_err(|error| told(&error))?;
        match step {
            // What global headers in front of it say is said of all that follows.
            Step::Member(member) if chosen.means(&member.path) => {
                reader.globals().iter().for_each(|(from, to)| kept.keep(*from, *to));
            }
            Step::End => break from,
            // Of what is moved as it is only the name is used, which may stand in a malformed record.
            Step::Note(Note::Unusable { defect: Defect::Number(_), .. }) => {}
            Step::Note(note) => {
                failed |= tell_note(context, args, &note);
                kept.keep(from, reader.end_offset());
            }
            Step::Member(_) => kept.keep(from, reader.end_offset()),
        }
    };
    kept.keep_up_to(end);
    let missing = not_found(&chosen.wanted);
    for name in &missing {
        messages::not_found(context, name);
    }
    if missing.len() < names.len() {
        kept.write(context, &path, &file).map_err(|error| could_not("write", path.as_os_str(), &error))?;
    }
    Ok(if failed || !missing.is_empty() { FAILED } else { Outcome::Done })
}

/// Stretches of an archive, in order, neighbours as one.
#[derive(Default)]
struct Kept(Vec<(u64, u64)>);

impl Kept {
    fn keep(&mut self, from: u64, to: u64) {
        match self.0.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ if from < to => self.0.push((from, to)),
            _ => {}
        }
    }

    /// Nothing reaches beyond the end.
    fn keep_up_to(&mut self, end: u64) {
        self.0.retain_mut(|(from, to)| {
            *to = (*to).min(end);
            from < to
        });
    }

    fn write(&self, context: &Context, path: &Path, from: &File) -> io::Result<()> {
        let Destination::Beside(path) = destination::of(path)? else {
            return Err(io::Error::other("it has no name that another archive could get"));
        };
        let staged = StagedFile::create(&path, Readers::OwnerAlone, &context.unfinished)?;
        let mut bytes = 0;
        for (begin, end) in &self.0 {
            let mut source: &File = from;
            io::Seek::seek(&mut source, io::SeekFrom::Start(*begin))?;
            let copied = io::copy(&mut io::Read::take(source, end - begin), &mut staged.file())?;
            if copied < end - begin {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes += copied;
        }
        let mut mark = Vec::new();
        end_archive(bytes, &mut mark);
        write_all_at(staged.file(), &mark, bytes)?;
        sys::at_offset::report_late_errors(staged.file())?;
        let _what_a_user_cannot_carry = files::carry::carry_rights(from, staged.file())?;
        staged.commit(Replace::Yes)
    }
}
