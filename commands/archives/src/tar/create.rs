//! `mh tar -c`, `-r`: which files, what is written of them, how it is packed; what is told, in archive order.

mod packing;

use self::packing::packing;
use super::destination::{self, Destination};
use super::list::{quoted, rules};
use super::member_lines::MemberLines;
use super::memory::{self, Fitting};
use super::moment;
use super::old_end::OldEnd;
use super::packer::Packer;
use super::pax_options;
use super::selection::SelectionStep;
use super::warnings::warn;
use super::words::{LongLines, escaped, with_slash};
use super::{DIFFERENT, FAILED, TarArgs, Workers, chosen, could_not, totals, usage};
use archive::create::{
    Archived, Choice, CreateError, Creation, Event, HardLinks, IgnoreFile, IgnoreReach, IgnoreSyntax, Index, Instead,
    Keeps, Links, Members, ModeRule, NewTime, Newer, Operand, OperandDepth, Packing, Scope, Sort, Tag, create,
};
use archive::member::{Kind, Member, Time};
use archive::pattern::PatternGroups;
use archive::read::{Reader, Step};
use archive::source::FileSource;
use archive::write::{Format, OtherTimes, Style};
use clap::ArgMatches;
use clap::parser::ValueSource;
use crew::measures::Measures;
use crew::pipeline::{By, Staffing};
use crew::plan::Plan;
use crew::tally::Tally;
use crew::verdict::Circumstances;
use files::staged_file::{Readers, Replace, StagedFile};
use files::survey::Survey;
use files::{Directory, Identity, how};
use mh_kit::context::Context;
use mh_kit::descriptors::half_of_descriptors;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::progress::output_is_piped;
use mh_kit::report::ReportTotals;
use mh_kit::report::{self, Finished, counted};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates.
pub fn run(context: &mut Context, args: &TarArgs, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let packing = packing(args)?;
    // Packing takes longer than any disk; who does nothing else reads as that is fastest.
    let is_plain = packing.is_none() && args.packing.use_compress_program.is_none();
    let workers =
        if is_plain { super::workers_on(context, args, &places(args)) } else { super::workers(context, args) };
    if (packing.is_some() || args.packing.use_compress_program.is_some())
        && (args.operation.append || args.operation.update)
    {
        return Err(usage("a compressed archive cannot be appended to".to_owned()));
    }
    let style = style(args, matches)?;
    let room = memory::room(context, args);
    let fitting = memory::creating(room, workers.most, packing.as_ref());
    if args.shared.memory.is_some() && fitting.held_bytes > room {
        let (need, allowed) = (terminal::bytes(fitting.held_bytes), terminal::bytes(room));
        return Err(usage(format!("this level needs {need} on one hand, --memory allows {allowed}")));
    }
    let plan = plan(context, args, packing.as_ref(), fitting, &workers);
    if args.shared.explain {
        report::show_plan(context, &plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    let operands = operands(args)?;
    // COMPAT: nothing is added, and nobody is the worse for it.
    if operands.is_empty() && !args.selection.has_list && args.operation.create {
        return Err(usage("an empty archive is not made by mistake: name files, or -T /dev/null".to_owned()));
    }
    let mut choice = choice(args)?;
    let target = match args.operation.append || args.operation.update {
        true => Target::behind(context, args, &mut choice)?,
        false => Target::open(context, args)?,
    };
    choice.never = target.never();
    let survey = super::progress::survey(args, &choice.never);
    let run = Run { args, choice, style, packing, fitting, plan, workers };
    let ran = run.carry_out(context, (operands, survey), &target);
    let outcome = run.show(context, ran, target)?;
    // COMPAT: GNU tar refuses to take options behind the last name for what was meant when it makes or updates an archive, and not when it appends
    // to one.
    let idle = if args.operation.append { &[][..] } else { &args.selection.idle };
    for option in idle {
        let message = format!("use {option}: no name stands behind it");
        context.messages.error(&context.program, &message, &[]);
    }
    Ok(if idle.is_empty() { outcome } else { FAILED })
}

/// Where files are read: the first name stands for all; and where the archive goes.
fn places(args: &TarArgs) -> Vec<PathBuf> {
    let directory = args.choice.directory.first().map_or(Path::new("."), PathBuf::as_path);
    let source = args.names.first().map_or(directory.to_owned(), |name| directory.join(name));
    std::iter::once(source).chain(args.file.clone().filter(|path| path != Path::new("-"))).collect()
}

fn plan(context: &Context, args: &TarArgs, packing: Option<&Packing>, fitting: Fitting, workers: &Workers) -> Plan {
    // Memory may be enough for fewer.
    let width = if fitting.width < workers.most { &counted(fitting.width as u64, "hand") } else { &workers.shown };
    let name = args.file.as_deref().filter(|path| *path != Path::new("-"));
    let mut plan = Plan::new(format!("create {}", name.map_or("standard output".to_owned(), terminal::quote)));
    plan.choose("walk", "in one order", "the archive is the same for any number of hands");
    let (verb, what) = match packing {
        Some(packing) => ("read, pack", format!("{}, up to {width}", packing.format.facts().name)),
        None => ("read", format!("up to {width}")),
    };
    plan.choose(verb, what, &*workers.why);
    let held =
        format!("{} of {} allowed", terminal::bytes(fitting.held_bytes), terminal::bytes(memory::room(context, args)));
    plan.choose(
        "memory",
        held,
        format!("{}, read ahead of what is written", counted(fitting.slots.given as u64, "slot")),
    );
    mh_kit::sharing::explain(&mut plan);
    plan
}

fn style(args: &TarArgs, matches: &ArgMatches) -> Result<Style, Failure> {
    let format = archive_format(args, matches)?;
    let extended = pax_options::extended(args)?;
    Ok(Style { format, other_times: OtherTimes::LeftOut, extended, is_numeric: args.metadata.numeric_owner })
}

/// The format to write. COMPAT: what only pax can hold makes it pax where it stands behind `--format`, and is refused before another one.
fn archive_format(args: &TarArgs, matches: &ArgMatches) -> Result<Format, Failure> {
    let format = match args.format.as_deref() {
        Some("gnu") => Format::Gnu,
        Some("ustar") => Format::Ustar,
        // COMPAT: GNU tar's is v7; every reader of that reads this, and `tar chof -` is how sources have been packed for decades.
        None if args.metadata.old => Format::Ustar,
        _ => return Ok(Format::Pax),
    };
    let last_of = |id: &str| matches.indices_of(id).and_then(Iterator::max);
    let given = |ids: &[&'static str]| -> Vec<&'static str> {
        ids.iter().copied().filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine)).collect()
    };
    let needs_pax = given(&["xattrs", "xattrs_include", "xattrs_exclude", "acls", "selinux"]);
    if needs_pax.iter().any(|id| last_of(id) > last_of("format")) {
        return Ok(Format::Pax);
    }
    match needs_pax.into_iter().chain(given(&["pax_option"])).next() {
        Some(id) => Err(usage(format!("--{} is for archives in the pax format alone", id.replace('_', "-")))),
        None => Ok(format),
    }
}

/// Names in the order in which they were given, each with the directory that `-C` had led to by then.
fn operands(args: &TarArgs) -> Result<Vec<Operand>, Failure> {
    let open = |from: &OwnedFd, path: &Path| {
        Directory::of(&from)
            .open(path.as_os_str().as_bytes(), how::through_links(how::DIRECTORY), 0)
            .map_err(|error| could_not("enter", path.as_os_str(), &error))
    };
    let here = File::open(".").map_err(|error| could_not("open", ".".as_ref(), &error))?;
    let mut directory = Arc::new(OwnedFd::from(here));
    let mut scope = (0, Scope::default());
    let mut operands = Vec::new();
    for step in &args.selection.steps {
        let named = match step {
            SelectionStep::Enter(path) => {
                directory = Arc::new(open(&directory, path)?);
                continue;
            }
            SelectionStep::Name(named) => named,
        };
        if scope.0 != named.excluded {
            let patterns = PatternGroups::new(&args.selection.excluded[..named.excluded]);
            scope = (named.excluded, Scope::new(Arc::new(patterns)));
        }
        // COMPAT: a slash behind a link does not make it the directory that it leads to, and one behind a file is none.
        let name = &named.name;
        let bytes = name.iter().rposition(|&byte| byte != b'/').map_or(name.len().min(1), |last| last + 1);
        operands.push(Operand {
            directory: Arc::clone(&directory),
            name: name[..bytes].to_vec(),
            depth: if named.manner.beneath { OperandDepth::Whole } else { OperandDepth::Itself },
            scope: scope.1.clone(),
        });
    }
    Ok(operands)
}

fn choice(args: &TarArgs) -> Result<Choice, Failure> {
    let renames = chosen::renamer(args)?;
    Ok(Choice {
        ignore_files: ignore_files(args),
        sort: match args.sort.as_deref() {
            Some("none") => Sort::None,
            Some("inode") => Sort::Inode,
            _ => Sort::Name,
        },
        links: if args.walk.dereference { Links::Followed } else { Links::Kept },
        stays_on_device: args.walk.one_file_system,
        tags: tags(args),
        newer: newer(args)?,
        newer_than: HashMap::new(),
        hard_links: if args.walk.hard_dereference { HardLinks::Doubled } else { HardLinks::Kept },
        keeps_absolute: args.absolute_names,
        finds_holes: args.sparse,
        attributes: chosen::wants_attributes(args),
        leaves_attribute: chosen::leaves_attribute(args),
        lists: args.extended.acls,
        labels: args.extended.selinux,
        numeric: args.metadata.numeric_owner,
        instead: instead(args)?,
        never: HashSet::new(),
        rename: renames,
    })
}

/// Files of patterns that count where they stand.
fn ignore_files(args: &TarArgs) -> Vec<IgnoreFile> {
    let named = |names: &[OsString], reach| -> Vec<IgnoreFile> {
        let file = |name: &OsString| IgnoreFile { name: name.as_bytes().to_vec(), syntax: IgnoreSyntax::Git, reach };
        names.iter().map(file).collect()
    };
    let mut files = named(&args.signs.exclude_ignore, IgnoreReach::Directory);
    files.extend(named(&args.signs.exclude_ignore_recursive, IgnoreReach::Beneath));
    let of_version_control = [
        (".cvsignore", IgnoreSyntax::Cvs, IgnoreReach::Directory),
        (".gitignore", IgnoreSyntax::Git, IgnoreReach::Beneath),
        (".bzrignore", IgnoreSyntax::Bazaar, IgnoreReach::Beneath),
        (".hgignore", IgnoreSyntax::Mercurial, IgnoreReach::Beneath),
    ];
    if args.signs.exclude_vcs_ignores {
        let file = |(name, syntax, reach): (&str, _, _)| IgnoreFile { name: name.as_bytes().to_vec(), syntax, reach };
        files.extend(of_version_control.into_iter().map(file));
    }
    files
}

/// Files that say of their directories that they are to be left out. Who leaves out more goes first.
fn tags(args: &TarArgs) -> Vec<Tag> {
    let caches = [
        (args.signs.exclude_caches_all, Keeps::Nothing),
        (args.signs.exclude_caches_under, Keeps::Directory),
        (args.signs.exclude_caches, Keeps::DirectoryAndTag),
    ];
    let named = [
        (&args.signs.exclude_tag_all, Keeps::Nothing),
        (&args.signs.exclude_tag_under, Keeps::Directory),
        (&args.signs.exclude_tag, Keeps::DirectoryAndTag),
    ];
    let mut tags: Vec<Tag> =
        caches.into_iter().filter(|(is_said, _)| *is_said).map(|(_, keeps)| Tag::of_caches(keeps)).collect();
    for (names, keeps) in named {
        tags.extend(names.iter().map(|name| Tag { name: name.as_bytes().to_vec(), signature: b"", keeps }));
    }
    tags
}

fn newer(args: &TarArgs) -> Result<Option<Newer>, Failure> {
    match (&args.choice.newer, &args.choice.newer_mtime) {
        (Some(since), _) => Ok(Some(Newer::Anything(time(since)?))),
        (None, Some(since)) => Ok(Some(Newer::Bytes(time(since)?))),
        (None, None) => Ok(None),
    }
}

fn instead(args: &TarArgs) -> Result<Instead, Failure> {
    type Names = (fn(&[u8]) -> Option<u32>, fn(u32) -> Option<Vec<u8>>);
    let who = |text: &Option<String>, (number_of, name_of): Names| -> Result<Option<(u64, Vec<u8>)>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let refused = || usage(format!("there is no '{text}' here; NAME:NUMBER names any"));
        match text.split_once(':') {
            Some((name, number)) if !name.is_empty() => {
                Ok(Some((number.parse().ok().ok_or_else(refused)?, name.into())))
            }
            // COMPAT: a number's name is written, too, where it has one here; a colon in front of it changes nothing.
            _ => match text.trim_start_matches(':').parse::<u32>() {
                Ok(number) => Ok(Some((number.into(), name_of(number).unwrap_or_default()))),
                Err(_) => Ok(Some((number_of(text.as_bytes()).ok_or_else(refused)?.into(), text.as_bytes().to_vec()))),
            },
        }
    };
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    let no_mode = |text: &str| usage(format!("--mode takes what chmod takes, not '{text}'"));
    let rule = |text: &String| ModeRule::parse(text, umask.as_raw_mode()).ok_or_else(|| no_mode(text));
    let new_time = if args.metadata.clamp_mtime { NewTime::AtMost } else { NewTime::Always };
    Ok(Instead {
        owner: who(&args.metadata.owner, (sys::names::user_number, sys::names::user_name))?,
        group: who(&args.metadata.group, (sys::names::group_number, sys::names::group_name))?,
        mode: args.metadata.mode.as_ref().map(rule).transpose()?,
        mtime: args.metadata.mtime.as_deref().map(time).transpose()?.map(new_time),
    })
}

/// A moment, or that of a file.
pub fn time(given: &std::ffi::OsStr) -> Result<Time, Failure> {
    if let Some(time) = given.to_str().and_then(moment::parse) {
        return Ok(time);
    }
    let metadata = std::fs::metadata(given).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            usage(format!("{} is no date (@SECONDS or YYYY-MM-DD [HH:MM[:SS]]) and no file", terminal::quote(given)))
        }
        _ => could_not("take the time of", given, &error),
    })?;
    Ok(Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() as u32 })
}

/// Where the archive goes.
enum Target {
    /// A file that appears whole or not at all.
    Staged {
        /// Where it grows.
        staged: StagedFile,
        /// Whose place it takes.
        there: Option<File>,
        /// What never comes into it.
        never: HashSet<Identity>,
    },
    /// Standard output, a device, a pipe.
    Direct(File, By),
    /// Another program, whose output goes where one of the two above would.
    Through(Packer, Box<Target>),
    /// Behind what is in an archive already, from this byte on.
    Behind(OldEnd),
}

impl Target {
    fn open(context: &Context, args: &TarArgs) -> Result<Self, Failure> {
        let target = Self::open_plain(context, args)?;
        let Some(program) = &args.packing.use_compress_program else { return Ok(target) };
        let packer = Packer::start(program, target.file().0)?;
        Ok(Self::Through(packer, Box::new(target)))
    }

    fn open_plain(context: &Context, args: &TarArgs) -> Result<Self, Failure> {
        let Some(path) = args.file.as_deref().filter(|path| *path != Path::new("-")) else {
            if context.terminals.stdout {
                return Err(usage("an archive is not written to a terminal".to_owned()));
            }
            let stdout = std::io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.map_err(|error| could_not("write to", "standard output".as_ref(), &error))?;
            return Ok(Self::Direct(File::from(stdout), By::OwnThread));
        };
        let told = |error: std::io::Error| could_not("create", path.as_os_str(), &error);
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Ok(Self::Direct(File::options().write(true).open(path).map_err(told)?, By::OwnThread));
        }
        let path = match destination::of(path).map_err(told)? {
            Destination::Beside(path) => path,
            Destination::Into(file) => {
                file.set_len(0).map_err(told)?;
                return Ok(Self::Direct(file, By::OwnThread));
            }
        };
        // What may not be written to is not replaced either.
        let there = match File::options().write(true).open(&path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(told(error)),
        };
        let readers = if there.is_some() { Readers::OwnerAlone } else { Readers::AsOfAnyFile };
        let staged = StagedFile::create(&path, readers, &context.unfinished).map_err(told)?;
        let mut never = HashSet::new();
        for file in there.iter().chain([staged.file()]) {
            let metadata = file.metadata().map_err(told)?;
            never.insert(Identity::from(&metadata));
        }
        Ok(Self::Staged { staged, there, never })
    }

    fn never(&self) -> HashSet<Identity> {
        match self {
            Self::Staged { never, .. } => never.clone(),
            Self::Through(_, target) => target.never(),
            Self::Direct(..) | Self::Behind(..) => match self.file().0.metadata() {
                Ok(metadata) if metadata.is_file() => HashSet::from([Identity::from(&metadata)]),
                _ => HashSet::new(),
            },
        }
    }

    /// What the archive is called while it grows: nobody's file, of which nothing is to be said.
    fn growing_name(&self) -> Option<Vec<u8>> {
        match self {
            Self::Staged { staged, .. } => staged.path().file_name().map(|name| name.as_bytes().to_vec()),
            Self::Through(_, target) => target.growing_name(),
            Self::Direct(..) | Self::Behind(..) => None,
        }
    }

    fn file(&self) -> (&File, By) {
        match self {
            Self::Staged { staged, .. } => (staged.file(), By::Workers),
            Self::Direct(file, by) => (file, *by),
            Self::Through(packer, _) => (packer.input(), By::OwnThread),
            Self::Behind(end) => (end.file(), By::Workers),
        }
    }

    fn base(&self) -> u64 {
        if let Self::Behind(end) = self { end.base } else { 0 }
    }

    /// Finds the end of an archive. Where the run fails or is ended, the archive becomes again what it was.
    fn behind(context: &Context, args: &TarArgs, choice: &mut Choice) -> Result<Self, Failure> {
        let Some(path) = args.file.as_deref().filter(|path| *path != Path::new("-")) else {
            return Err(usage("-r and -u need an archive in a file: -f".to_owned()));
        };
        if !path.exists() {
            return Self::open(context, args);
        }
        let told = |error: std::io::Error| could_not("open", path.as_os_str(), &error);
        let file = Arc::new(File::options().read(true).write(true).open(path).map_err(told)?);
        let found = file.metadata().map_err(told)?;
        if !found.is_file() {
            return Err(usage("-r and -u need an archive in a regular file".to_owned()));
        }
        super::edit::refuse_packed(args)?;
        let mut source = FileSource::new(Arc::clone(&file), 0).map_err(told)?;
        let mut reader = Reader::new(rules(args), &source);
        // COMPAT: to a file without a byte, which is no archive, members can be added all the same.
        while found.len() > 0 {
            match reader.next(&mut source).map_err(|error| could_not("add to", path.as_os_str(), &error))? {
                Step::Member(mut member) if args.operation.update => {
                    member.path.truncate(member.path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1));
                    let there = Archived { mtime: member.mtime, is_directory: member.kind == Kind::Directory };
                    choice.newer_than.insert(member.path, there);
                }
                Step::Member(_) | Step::Note(_) => {}
                Step::End => break,
            }
        }
        Ok(Self::Behind(OldEnd::note(context, file, reader.end_offset()).map_err(told)?))
    }

    /// The run has failed.
    fn abandon(self) {
        match self {
            Self::Behind(end) => end.put_back(),
            Self::Through(packer, _) => packer.stop(),
            Self::Staged { .. } | Self::Direct(..) => {}
        }
    }

    /// It is complete.
    fn commit(self, args: &TarArgs, bytes: u64) -> Result<(), Failure> {
        let path = args.file.as_deref().unwrap_or(Path::new("-")).to_owned();
        let told = |error: std::io::Error| could_not("write", path.as_os_str(), &error);
        let (staged, there) = match self {
            Self::Staged { staged, there, .. } => (staged, there),
            Self::Through(packer, target) => {
                packer.finish(&terminal::quote(&path))?;
                return target.commit(args, bytes);
            }
            Self::Behind(end) => return end.leave(bytes).map_err(told),
            Self::Direct(..) => return Ok(()),
        };
        sys::at_offset::report_late_errors(staged.file()).map_err(told)?;
        if let Some(there) = there {
            let _what_a_user_cannot_carry = files::carry::carry_rights(there, staged.file()).map_err(told)?;
        }
        staged.commit(Replace::Yes).map_err(told)
    }
}

/// A run that is decided.
struct Run<'a> {
    args: &'a TarArgs,
    choice: Choice,
    style: Style,
    packing: Option<Packing>,
    fitting: Fitting,
    plan: Plan,
    workers: Workers,
}

/// What came of it.
struct Ran {
    measures: Measures,
    error: Option<CreateError>,
    told: Told,
    hands_from: Option<&'static str>,
}

/// What was told and counted.
struct Told {
    lines: MemberLines,
    long: LongLines,
    growing_name: Option<Vec<u8>>,
    members: u64,
    failed: u64,
    changed: u64,
}

impl Told {
    fn new(args: &TarArgs, growing_name: Option<Vec<u8>>) -> Self {
        // The archive has standard output for itself.
        let to_stdout = args.file.as_deref().is_none_or(|path| path == Path::new("-"));
        let lines = if to_stdout { MemberLines::on_stderr() } else { MemberLines::on_stdout() };
        Self { lines, long: LongLines::new(args), growing_name, members: 0, failed: 0, changed: 0 }
    }

    fn tell(&mut self, context: &Context, args: &TarArgs, event: Event) {
        let messages = &context.messages;
        match event {
            Event::Taken { path, member, .. } => self.taken(context, args, &path, &member),
            Event::Counted(members) => self.members += members,
            Event::NotArchived { path, operation, cause } => {
                self.failed += u64::from(!args.ignore_failed_read);
                let message = format!("archive {}: cannot {operation}: {}", quoted(&path), with_causes(&cause));
                messages.error(&context.program, &message, &[]);
            }
            Event::Unfit { path, cause } => {
                self.failed += 1;
                messages.error(&context.program, &format!("archive {}: {cause}", quoted(&path)), &[]);
            }
            Event::Vanished { path } => {
                self.changed += 1;
                warn(context, args, "file-removed", &format!("{} was removed before it was read", quoted(&path)));
            }
            Event::Changed { path } => {
                self.changed += 1;
                warn(context, args, "file-changed", &format!("{} changed while it was read", quoted(&path)));
            }
            Event::Shrank { path, missing_bytes } => {
                // COMPAT: it is a failed read.
                self.changed += u64::from(!args.ignore_failed_read);
                let missing = counted(missing_bytes, "byte");
                let text = format!("{}: file shrank by {missing}; padding with zeros", quoted(&path));
                warn(context, args, "file-shrank", &text);
            }
            Event::Socket { path } => {
                warn(context, args, "file-ignored", &format!("{} is a socket: left out", quoted(&path)));
            }
            Event::IsTheArchive { path } if self.is_growing(&path) => {}
            Event::IsTheArchive { path } => {
                warn(context, args, "ignore-archive", &format!("{} is the archive: left out", quoted(&path)));
            }
            Event::Tagged { path, tag, keeps } => {
                let kept = match keeps {
                    Keeps::All => return,
                    Keeps::DirectoryAndTag => "only the tag is archived",
                    Keeps::Directory => "only the directory is archived",
                    Keeps::Nothing => "left out",
                };
                // COMPAT: it was asked for; only who wants to hear of every member hears of it.
                if args.verbose > 0 {
                    let text = format!("{} holds {}: {kept}", quoted(&path), quoted(&tag));
                    warn(context, args, "cachedir", &text);
                }
            }
            Event::MadeRelative { removed } => {
                messages.note(&context.program, &format!("{} is taken off the front of names", quoted(&removed)));
            }
        }
    }

    fn is_growing(&self, path: &[u8]) -> bool {
        self.growing_name.as_ref().is_some_and(|name| path.rsplit(|&byte| byte == b'/').next() == Some(name))
    }

    fn taken(&mut self, context: &Context, args: &TarArgs, path: &[u8], member: &Member) {
        self.members += 1;
        if let Some(every) = args.checkpoint.filter(|&every| every > 0)
            && self.members.is_multiple_of(every)
        {
            context.messages.note(&context.program, &counted(self.members, "member"));
        }
        if args.verbose == 0 {
            return;
        }
        let name = if args.lists.show_transformed_names { &member.path } else { path };
        let name = with_slash(name, member.kind);
        let line = if args.verbose == 1 { escaped(&name).into_owned() } else { self.long.line(&name, member) };
        self.lines.line(&line);
    }
}

impl Run<'_> {
    fn carry_out(&self, context: &Context, (operands, survey): (Vec<Operand>, Option<Survey>), target: &Target) -> Ran {
        let (shared, lease) =
            super::lease(context, self.args, self.workers.hands(self.fitting.width), &self.plan.purpose);
        let told = parking_lot::Mutex::new(Told::new(self.args, target.growing_name()));
        let on_event = |event| {
            told.lock().tell(context, self.args, event);
        };
        let (output, writing) = target.file();
        let what = Creation {
            choice: &self.choice,
            operands: operands.into(),
            style: &self.style,
            packing: self.packing,
            index: if self.args.no_index { Index::LeftOut } else { Index::Kept },
            output,
            writing,
            base: target.base(),
            open_files: half_of_descriptors(),
            members: if self.args.verbose > 0 || self.args.checkpoint.is_some() {
                Members::Shown
            } else {
                Members::Counted
            },
            on_event: &on_event,
            ended: Default::default(),
        };
        let Fitting { width, slots, .. } = self.fitting;
        let staffing = Staffing { width, slots, lanes_at_once: 1, mode: super::mode(self.args) };
        let tally = Arc::new(Tally::default());
        lease.show_progress(mh_kit::sharing::bytes_read(&tally, None));
        let name = self.args.file.as_deref().map_or("standard output".to_owned(), terminal::quote);
        let progress = super::progress::of_creating(context, self.args, &name, &tally, survey);
        let measures = create(&what, &staffing, &*self.workers.share_of(lease.as_ref()), &tally);
        drop(progress);
        let error = what.ended.lock().take();
        drop(what);
        let mut told = told.into_inner();
        told.lines.flush();
        Ran { measures, error, told, hands_from: shared.hands_from(lease.as_ref()) }
    }

    /// What another program has made of the archive, if it went through one into a file.
    fn packed_bytes(&self) -> Option<u64> {
        let path = self.args.file.as_ref().filter(|_| self.args.packing.use_compress_program.is_some())?;
        std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len())
    }

    fn show(&self, context: &Context, ran: Ran, target: Target) -> Result<Outcome, Failure> {
        let Ran { measures, error, told, hands_from } = ran;
        let name = self.args.file.as_deref().map_or("standard output".to_owned(), terminal::quote);
        match error {
            Some(error) if error.is_broken_pipe() => {
                if let Target::Through(packer, _) = target {
                    // It has ended too early: it says why, or its exit code does.
                    packer.finish(&name)?;
                }
                return Err(Failure::BrokenPipe);
            }
            Some(error) => {
                target.abandon();
                return Err(could_not("create", Path::new(&name).as_os_str(), &error));
            }
            None => target.commit(self.args, measures.bytes_out)?,
        }
        let bytes_in = measures.bytes_in;
        let bytes_out = self.packed_bytes().unwrap_or(measures.bytes_out);
        let finished = Finished {
            subject: &name,
            totals: ReportTotals { bytes_in, bytes_out, units: told.members, streamed_units: 0 },
            failed: None,
            is_compression: self.packing.is_some() || self.args.packing.use_compress_program.is_some(),
            measures: &measures,
            kept_up: None,
            hands_from,
            width_why: Some(self.workers.sentence()),
            index: None,
            members: Some(told.members),
            made: None,
            circumstances: Circumstances {
                hands_allowed: context.machine.hands_allowed(),
                hands_asked: self.args.shared.hands_asked(),
                ..Circumstances::default()
            },
        };
        if self.args.shared.report.is_some() || self.args.file.is_some() || !output_is_piped() {
            report::conclude(context, &finished, self.args.shared.report, self.args.verbose > 0);
        }
        totals::show(context, self.args, "written", bytes_in);
        if told.failed > 0 && told.members > 1 {
            let failed = counted(told.failed, "file");
            context.messages.conclusion(&context.program, &format!("{failed} not archived"));
        }
        told.lines.finish()?;
        Ok(match (told.failed, told.changed) {
            (0, 0) => Outcome::Done,
            (0, _) => DIFFERENT,
            _ => FAILED,
        })
    }
}

#[cfg(test)]
mod tests;
