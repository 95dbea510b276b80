//! `mh tar -c`, `-r`: which files, what is written of them, how it is packed; what is told, in archive order.

mod owner_map;
mod packing;
mod remove;
mod set_mtime;
mod target;
mod told;
mod verify;

use self::packing::packing;
use self::remove::FilesToRemove;
use self::target::ArchiveTarget;
use self::told::CreationTold;
pub use self::told::tell_of_tag;
use super::incremental::{self, Increment};
use super::memory::{self, Fitting};
use super::messages;
use super::moment;
use super::pax_options;
use super::questions::MemberQuestions;
use super::selection::SelectionStep;
use super::volumes::{self, DividedArchive};
use super::{DIFFERENT, FAILED, TarArgs, Workers, chosen, could_not, totals, usage};
use archive::create::{
    Choice, CreateError, Creation, Event, HardLinks, HoleSearch, IgnoreFile, IgnoreReach, IgnoreSyntax, Index, Instead,
    Keeps, Links, Members, ModeRule, NewTime, Newer, Operand, OperandDepth, Packing, Scope, Sort, Tag, create,
};
use archive::member::Time;
use archive::pattern::PatternGroups;
use archive::write::{Format, OtherTimes, SparseForm, Style};
use clap::ArgMatches;
use clap::parser::ValueSource;
use crew::measures::Measures;
use crew::pipeline::Staffing;
use crew::plan::Plan;
use crew::tally::Tally;
use crew::verdict::Circumstances;
use files::survey::Survey;
use files::{Directory, how};
use mh_kit::context::Context;
use mh_kit::descriptors::half_of_descriptors;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::progress::output_is_piped;
use mh_kit::report::ReportTotals;
use mh_kit::report::{self, Finished, counted};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
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
        return Err(messages::usage("Cannot update compressed archives", "a compressed archive cannot be appended to"));
    }
    let style = style(args, matches)?;
    verify::refuse(args, !is_plain)?;
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
        let ours = "an empty archive is not made by mistake: name files, or -T /dev/null";
        return Err(messages::usage("Cowardly refusing to create an empty archive", ours));
    }
    let mut choice = choice(args)?;
    let target = match args.operation.append || args.operation.update {
        true => ArchiveTarget::behind(context, args, &mut choice)?,
        false if args.volumes.are_several() => {
            let label = args.writing.label.as_ref().map(|label| label.as_bytes().to_vec());
            ArchiveTarget::Volumes(DividedArchive::start(args, &style, label)?)
        }
        false => ArchiveTarget::open(context, args)?,
    };
    choice.never = target.never();
    let (operands, increment) = match incremental::is_wanted(args) {
        true => {
            let mut increment = Increment::of(context, args, &choice, operands)?;
            (std::mem::take(&mut increment.operands), Some(increment))
        }
        false => (operands, None),
    };
    let survey = super::progress::survey(args, &choice.never);
    let run = Run { args, choice, style, packing, fitting, plan, workers };
    let ran = run.carry_out(context, (operands, survey), &target)?;
    let mut outcome = run.show(context, ran, target)?;
    if let Some(increment) = increment {
        increment.commit(context, args)?;
        outcome = if increment.failed > 0 { FAILED } else { outcome };
    }
    if args.writing.verify {
        outcome = verify::run(context, args, outcome)?;
    }
    // COMPAT: GNU tar refuses to take options behind the last name for what was meant when it makes or updates an archive, and not when it appends
    // to one.
    let idle = if args.operation.append { &[][..] } else { &args.selection.idle };
    if !idle.is_empty() && messages::is_called_tar(context) {
        context.messages.conclusion(&context.program, messages::POSITIONAL);
    }
    for option in idle {
        let theirs = format!("{option} has no effect");
        messages::failed(context, &theirs, &format!("use {option}: no name stands behind it"));
    }
    Ok(if idle.is_empty() { outcome } else { FAILED })
}

/// LIMIT: descriptors of a run besides files: streams, the archive, directories on the way.
const OTHERS_OPEN: usize = 8;

/// Where files are read: the first name stands for all; and where the archive goes.
fn places(args: &TarArgs) -> Vec<PathBuf> {
    let directory = args.choice.directory.first().map_or(Path::new("."), PathBuf::as_path);
    let source = args.names.first().map_or(directory.to_owned(), |name| directory.join(name));
    std::iter::once(source).chain(args.archive().map(Path::to_owned).filter(|path| path != Path::new("-"))).collect()
}

fn plan(context: &Context, args: &TarArgs, packing: Option<&Packing>, fitting: Fitting, workers: &Workers) -> Plan {
    // Memory may be enough for fewer.
    let width = if fitting.width < workers.most { &counted(fitting.width as u64, "hand") } else { &workers.shown };
    let name = args.archive().filter(|path| *path != Path::new("-"));
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
    let sparse = match args.writing.sparse_version.as_deref() {
        Some("0.0" | "0") => SparseForm::Records,
        Some("0.1") => SparseForm::Map,
        _ => SparseForm::InData,
    };
    if matches!(format, Format::Ustar | Format::V7) && (finds_holes(args) || args.writing.label.is_some()) {
        return Err(usage("GNU features wanted on incompatible archive format".to_owned()));
    }
    // COMPAT: incremental archives in GNU's formats have all times.
    let is_incremental = incremental::is_wanted(args);
    if is_incremental && matches!(format, Format::Ustar | Format::V7) {
        return Err(usage("GNU features wanted on incompatible archive format".to_owned()));
    }
    let has_times = is_incremental && format != Format::Pax;
    Ok(Style {
        format,
        other_times: if has_times { OtherTimes::Told } else { OtherTimes::LeftOut },
        extended,
        is_numeric: args.metadata.numeric_owner,
        sparse,
        label: label(args, format)?,
    })
}

/// Whether sparse files are archived as such.
fn finds_holes(args: &TarArgs) -> bool {
    args.sparse || args.writing.sparse_version.is_some() || args.writing.hole_detection.is_some()
}

/// The label in front of all members. Its time is what `--mtime` says: the same label gives the same bytes.
fn label(args: &TarArgs, format: Format) -> Result<Option<(Vec<u8>, i64)>, Failure> {
    let Some(label) = args.writing.label.as_deref().filter(|_| args.operation.create) else { return Ok(None) };
    const LABEL_BYTES_MAX: usize = 99;
    if format != Format::Pax && label.len() > LABEL_BYTES_MAX {
        let shown = terminal::quote(label);
        return Err(usage(format!("{shown}: volume label is too long (limit is {LABEL_BYTES_MAX} bytes)")));
    }
    let seconds = args.metadata.mtime.as_deref().map(time).transpose()?.map_or(0, |time| time.seconds);
    let label = label.as_bytes();
    let label = if args.volumes.are_several() { volumes::first_label(label) } else { label.to_vec() };
    Ok(Some((label, seconds)))
}

/// The format to write. COMPAT: what only pax can hold makes it pax where it stands behind `--format`, and is refused before another one.
fn archive_format(args: &TarArgs, matches: &ArgMatches) -> Result<Format, Failure> {
    let format = match args.format.as_deref() {
        Some("gnu") => Format::Gnu,
        Some("oldgnu") => Format::OldGnu,
        Some("ustar") => Format::Ustar,
        Some("v7") => Format::V7,
        None if args.metadata.old || args.habits.old_archive => Format::V7,
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
        Some(id) => {
            let option = format!("--{}", id.replace('_', "-"));
            let theirs = format!("{option} can be used only on POSIX archives");
            Err(messages::usage(&theirs, &format!("{option} is for archives in the pax format alone")))
        }
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
            listing: None,
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
        hard_links: match (args.walk.hard_dereference, args.writing.check_links) {
            (true, _) => HardLinks::Doubled,
            (false, true) => HardLinks::Counted,
            (false, false) => HardLinks::Kept,
        },
        keeps_absolute: args.absolute_names,
        holes: match args.writing.hole_detection.as_deref() {
            _ if !finds_holes(args) => HoleSearch::Read,
            Some("raw") => HoleSearch::Zeros,
            _ => HoleSearch::Asked,
        },
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
    type Owner = (Option<u64>, Vec<u8>);
    type Names = (fn(&[u8]) -> Option<u32>, fn(u32) -> Option<Vec<u8>>);
    let who = |text: &Option<String>, (number_of, name_of): Names| -> Result<Option<Owner>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let refused = || {
            let theirs = format!("'{text}': Invalid owner or group ID");
            messages::usage(&theirs, &format!("'{text}' has no number behind its colon"))
        };
        match text.split_once(':') {
            Some((name, number)) if !name.is_empty() => {
                Ok(Some((Some(number.parse().ok().ok_or_else(refused)?), name.into())))
            }
            // COMPAT: a number's name is written, too, where it has one here; a colon in front of it changes nothing.
            _ => match text.trim_start_matches(':').parse::<u32>() {
                Ok(number) => Ok(Some((Some(number.into()), name_of(number).unwrap_or_default()))),
                // COMPAT: a name that there is not here is written with the file's own number.
                Err(_) => Ok(Some((number_of(text.as_bytes()).map(u64::from), text.as_bytes().to_vec()))),
            },
        }
    };
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    let no_mode = |text: &str| usage(format!("--mode takes what chmod takes, not '{text}'"));
    let rule = |text: &String| ModeRule::parse(text, umask.as_raw_mode()).ok_or_else(|| no_mode(text));
    let [owners, groups] = owner_map::maps(args)?;
    let new_time = if args.metadata.clamp_mtime { NewTime::AtMost } else { NewTime::Always };
    Ok(Instead {
        owner: who(&args.metadata.owner, (sys::names::user_number, sys::names::user_name))?,
        group: who(&args.metadata.group, (sys::names::group_number, sys::names::group_name))?,
        owners,
        groups,
        mode: args.metadata.mode.as_ref().map(rule).transpose()?,
        mtime: match set_mtime::asked(args) {
            Some(asked) => Some(NewTime::Asked(asked)),
            None => args.metadata.mtime.as_deref().map(time).transpose()?.map(new_time),
        },
    })
}

/// A moment, or that of a file. COMPAT: a text that begins as a path is one.
pub fn time(given: &std::ffi::OsStr) -> Result<Time, Failure> {
    let is_path = given.as_bytes().starts_with(b"/") || given.as_bytes().starts_with(b".");
    if let Some(time) = given.to_str().filter(|_| !is_path).and_then(moment::parse) {
        return Ok(time);
    }
    let metadata = std::fs::metadata(given).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if !is_path => usage(format!(
            "{} is no date (such as 2020-01-02 03:04 or '2 days ago') and no file",
            terminal::quote(given)
        )),
        _ => could_not("take the time of", given, &error),
    })?;
    Ok(Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() as u32 })
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
    told: CreationTold,
    hands_from: Option<&'static str>,
}

impl Run<'_> {
    fn carry_out(
        &self,
        context: &Context,
        (operands, survey): (Vec<Operand>, Option<Survey>),
        target: &ArchiveTarget,
    ) -> Result<Ran, Failure> {
        let (shared, lease) =
            super::lease(context, self.args, self.workers.hands(self.fitting.width), &self.plan.purpose);
        let removal = self.args.writing.remove_files.then(|| FilesToRemove::of(&operands));
        let told = parking_lot::Mutex::new(CreationTold::new(self.args, target.growing_name(), removal)?);
        let on_event = |event| {
            told.lock().tell(context, self.args, event);
        };
        let questions = MemberQuestions::of(self.args)?;
        let confirm = |path: &[u8], events: &mut Vec<Event>| {
            let Some(questions) = &questions else { return true };
            // Earlier reports are printed before the question.
            events.drain(..).for_each(on_event);
            questions.confirm("add", path, &mut told.lock().lines)
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
            // Those that are few go to directories, the archive and the signals first: then each file is read as soon as it is open.
            open_files: half_of_descriptors().saturating_sub(OTHERS_OPEN),
            members: if self.sees_members() { Members::Shown } else { Members::Counted },
            confirm: &confirm,
            on_event: &on_event,
            ended: Default::default(),
        };
        let Fitting { width, slots, .. } = self.fitting;
        let staffing = Staffing { width, slots, lanes_at_once: 1, mode: super::mode(self.args) };
        let tally = Arc::new(Tally::default());
        lease.show_progress(mh_kit::sharing::bytes_done(&tally, None));
        let name = self.args.archive().map_or("standard output".to_owned(), terminal::quote);
        let progress = super::progress::of_creating(context, self.args, &name, &tally, survey);
        let measures = create(&what, &staffing, &*self.workers.share_of(lease.as_ref()), &tally);
        drop(progress);
        let error = what.ended.lock().take();
        drop(what);
        let mut told = told.into_inner();
        told.lines.flush();
        Ok(Ran { measures, error, told, hands_from: shared.hands_from(lease.as_ref()) })
    }

    /// Whether each member is of interest, and not their number alone.
    fn sees_members(&self) -> bool {
        self.args.verbose > 0 || self.args.telling.checkpoint.is_some() || self.args.writing.remove_files
    }

    /// What another program has made of the archive, if it went through one into a file.
    fn packed_bytes(&self) -> Option<u64> {
        let path = self.args.archive().filter(|_| self.args.packing.use_compress_program.is_some())?;
        std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len())
    }

    fn show(&self, context: &Context, ran: Ran, target: ArchiveTarget) -> Result<Outcome, Failure> {
        let Ran { measures, error, mut told, hands_from } = ran;
        let name = self.args.archive().map_or("standard output".to_owned(), terminal::quote);
        match error {
            Some(error) if error.is_broken_pipe() => {
                // It has ended too early: it says why, or its exit code does.
                match target {
                    ArchiveTarget::Through(packer, _) => packer.finish(&name)?,
                    ArchiveTarget::Volumes(divided) => divided.finish()?,
                    _ => {}
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
        if self.args.shared.report.is_some() || self.args.archive().is_some() || !output_is_piped() {
            report::conclude(context, &finished, self.args.shared.report, self.args.verbose > 0);
        }
        totals::show(context, self.args, "written", bytes_in);
        if let Some(removal) = told.removal.take() {
            told.failed += removal.carry_out(context);
        }
        if told.failed > 0 && told.members > 1 && !messages::is_called_tar(context) {
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
