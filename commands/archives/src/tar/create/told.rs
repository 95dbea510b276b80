//! Reports while an archive is made, in archive order, and counts.

use super::super::TarArgs;
use super::super::checkpoints::{CheckpointWay, Checkpoints};
use super::super::list::quoted;
use super::super::member_lines::MemberLines;
use super::super::messages::{failed, made_relative, of_file, plain};
use super::super::warnings::warn;
use super::super::words::{BlockNumbers, LongLines, with_slash};
use super::remove::FilesToRemove;
use archive::create::{Event, Keeps, Tag};
use archive::member::{Kind, Member};
use archive::write::{NameLimit, Unfit};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use mh_kit::report::counted;
use std::path::Path;

/// What was told and counted.
pub struct CreationTold {
    pub lines: MemberLines,
    long: LongLines,
    growing_name: Option<Vec<u8>>,
    checkpoints: Option<Checkpoints>,
    /// What is to be removed.
    pub removal: Option<FilesToRemove>,
    pub members: u64,
    pub failed: u64,
    pub changed: u64,
}

impl CreationTold {
    pub fn new(args: &TarArgs, growing_name: Option<Vec<u8>>, removal: Option<FilesToRemove>) -> Result<Self, Failure> {
        // The archive has standard output for itself.
        let to_stdout = args.archive().is_none_or(|path| path == Path::new("-"));
        let lines = MemberLines::of(args, if to_stdout { MemberLines::on_stderr } else { MemberLines::on_stdout })?;
        let checkpoints = Checkpoints::new(args, CheckpointWay::Written)?;
        let long = LongLines::new(args);
        Ok(Self { lines, long, growing_name, checkpoints, removal, members: 0, failed: 0, changed: 0 })
    }

    pub fn tell(&mut self, context: &Context, args: &TarArgs, event: Event) {
        let messages = &context.messages;
        match event {
            Event::Taken { operand, path, member } => {
                self.reached(context, args, member.header_offset);
                if let Some(removal) = &mut self.removal {
                    removal.note(operand, &path, &member);
                }
                self.taken(args, &path, &member);
            }
            Event::Reached(bytes) => self.reached(context, args, bytes),
            Event::Counted(members) => self.members += members,
            Event::MissingLinks { path } => {
                self.lines.flush();
                messages.report(&format!("{}: Missing links to {}.", context.program, quoted(&path)));
            }
            Event::NotArchived { path, operation, cause } => {
                self.keep(&path);
                self.failed += u64::from(!args.ignore_failed_read);
                let why = with_causes(&cause);
                let theirs = of_file(&path, operation, None, &why);
                if args.ignore_failed_read {
                    let theirs = theirs.replacen(": Cannot", ": Warning: Cannot", 1);
                    let ours = format!("{} is left out: cannot {operation}: {why}", quoted(&path));
                    return warn(context, args, "failed-read", (&theirs, &ours));
                }
                failed(context, &theirs, &format!("archive {}: cannot {operation}: {why}", quoted(&path)));
            }
            Event::Unfit { path, cause } => {
                self.failed += 1;
                let theirs = match cause {
                    Unfit::Name(NameLimit::Split) => "file name is too long (cannot be split); not dumped".to_owned(),
                    Unfit::Name(NameLimit::Bytes(most)) => format!("file name is too long (max {most}); not dumped"),
                    _ => cause.to_string(),
                };
                let theirs = format!("{}: {theirs}", plain(&path));
                failed(context, &theirs, &format!("archive {}: {cause}", quoted(&path)));
            }
            Event::NoTime { path, why } => {
                self.failed += 1;
                failed(
                    context,
                    &format!("{}: {why}", plain(&path)),
                    &format!("find the time of {}: {why}", quoted(&path)),
                );
            }
            Event::MadeRelative { removed } => {
                made_relative(context, &removed);
            }
            event => self.warn_of(context, args, event),
        }
    }

    /// Tells of a file that is in the archive in another way than it was found, or is left out.
    fn warn_of(&mut self, context: &Context, args: &TarArgs, event: Event) {
        match event {
            Event::Vanished { path } => {
                self.changed += 1;
                let theirs = format!("{}: File removed before we read it", plain(&path));
                let ours = format!("{} was removed before it was read", quoted(&path));
                warn(context, args, "file-removed", (&theirs, &ours));
            }
            Event::Changed { path } => {
                self.keep(&path);
                self.changed += 1;
                let theirs = format!("{}: file changed as we read it", plain(&path));
                let ours = format!("{} changed while it was read", quoted(&path));
                warn(context, args, "file-changed", (&theirs, &ours));
            }
            Event::Shrank { path, missing_bytes } => {
                self.keep(&path);
                // COMPAT: it is a failed read.
                self.changed += u64::from(!args.ignore_failed_read);
                let missing = counted(missing_bytes, "byte");
                let theirs = format!("{}: File shrank by {missing}; padding with zeros", plain(&path));
                let ours = format!("{}: file shrank by {missing}; padding with zeros", quoted(&path));
                warn(context, args, "file-shrank", (&theirs, &ours));
            }
            Event::Socket { path } => {
                let theirs = format!("{}: socket ignored", plain(&path));
                warn(context, args, "file-ignored", (&theirs, &format!("{} is a socket: left out", quoted(&path))));
            }
            Event::IsTheArchive { path } if self.is_growing(&path) => {}
            Event::IsTheArchive { path } => {
                let theirs = format!("{}: file is the archive; not dumped", plain(&path));
                let ours = format!("{} is the archive: left out", quoted(&path));
                warn(context, args, "ignore-archive", (&theirs, &ours));
            }
            Event::Tagged { path, tag, keeps } => {
                tell_of_tag(context, args, &path, &Tag { name: tag, signature: b"", keeps });
            }
            // Told by `tell`.
            Event::Taken { .. }
            | Event::Reached(_)
            | Event::Counted(_)
            | Event::MissingLinks { .. }
            | Event::NotArchived { .. }
            | Event::Unfit { .. }
            | Event::NoTime { .. }
            | Event::MadeRelative { .. } => {}
        }
    }

    fn is_growing(&self, path: &[u8]) -> bool {
        self.growing_name.as_ref().is_some_and(|name| path.rsplit(|&byte| byte == b'/').next() == Some(name))
    }

    /// What is not in the archive as it is now stays.
    fn keep(&mut self, path: &[u8]) {
        if let Some(removal) = &mut self.removal {
            removal.keep(path);
        }
    }

    fn reached(&mut self, context: &Context, args: &TarArgs, bytes: u64) {
        args.progress.reach(bytes);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.reach(bytes, context, &mut self.lines);
        }
    }

    fn taken(&mut self, args: &TarArgs, path: &[u8], member: &Member) {
        self.members += 1;
        if args.verbose == 0 {
            return;
        }
        let name = if args.lists.show_transformed_names { &member.path } else { path };
        let name = with_slash(name, member.kind);
        let line = match args.verbose {
            1 => args.quoting.shown(&name),
            _ => self.long.line(&name, member).into(),
        };
        self.lines.line(BlockNumbers::new(args).line(member.header_offset, line));
    }
}

/// Tells of a directory that is not archived whole for a file in it. COMPAT: it was asked for; only who hears of every member hears of it.
pub fn tell_of_tag(context: &Context, args: &TarArgs, path: &[u8], tag: &Tag) {
    let (theirs, kept) = match tag.keeps {
        Keeps::All => return,
        Keeps::DirectoryAndTag => ("contents not dumped", "only the tag is archived"),
        Keeps::Directory => ("contents not dumped", "only the directory is archived"),
        Keeps::Nothing => ("directory not dumped", "left out"),
    };
    if args.verbose == 0 {
        return;
    }
    let slash =
        if super::super::incremental::is_wanted(args) { path.into() } else { with_slash(path, Kind::Directory) };
    let theirs = format!("{}: contains a cache directory tag {}; {theirs}", plain(&slash), plain(&tag.name));
    let ours = format!("{} holds {}: {kept}", quoted(path), quoted(&tag.name));
    warn(context, args, "cachedir", (&theirs, &ours));
}
