//! `mh rm`: removes files and trees on all cores, with rm's options, questions, words and exit codes.
//! Does not remove (engines/transfer); decides what is refused before anything is touched.

use crate::trees::{self, TreeReport, Words, cause, shown};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use crew::plan::Plan;
use files::{Directory, FileType, Follow, Status};
use mh_kit::context::Context;
use mh_kit::descriptors::directory_descriptors;
use mh_kit::entry::{Entry, Group, Refusal, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::outset::{self, Outset};
use mh_kit::report::show_plan;
use mh_kit::shared_args::SharedArgs;
use mh_kit::width::{self, Bound};
use rustix::process::geteuid;
use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use transfer::finding::Finding;
use transfer::operand;
use transfer::remove::{Asked, Caution, Complaint, DirectoryRemoval, Listener, Question, Removal, remove};
use transfer::tally::Tally;

/// The registry's line.
pub const ENTRY: Entry =
    Entry { refuse, link: trees::LINK, ..Entry::new("rm", Group::Do, Signals::TidyUpLater, command, run) };

/// Remove files and trees on all cores, as rm does
///
/// Nothing outside the named trees is ever touched, even if a directory is renamed meanwhile: each one is held open and its
/// entries are removed below it. Errors are reported at the end, in the order of the tree.
#[derive(Args, Debug)]
struct RmArgs {
    /// The files to remove
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Remove directories recursively
    #[arg(short = 'r', short_alias = 'R', long)]
    recursive: bool,

    /// Ignore missing files, and never ask
    #[arg(short = 'f', long, overrides_with_all = ["each", "once"])]
    force: bool,

    /// Ask before every removal; one core then removes in order
    #[arg(short = 'i', overrides_with_all = ["force", "once", "interactive"])]
    each: bool,

    /// Ask once before more than three removals, or before a recursive one
    #[arg(short = 'I', overrides_with_all = ["force", "each", "interactive"])]
    once: bool,

    /// Ask never, once (-I) or always (-i)
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always",
          overrides_with_all = ["each", "once"], hide_short_help = true)]
    interactive: Option<When>,

    /// Remove empty directories
    #[arg(short = 'd', long)]
    dir: bool,

    /// Print each file that is removed
    #[arg(short = 'v', long)]
    verbose: bool,

    /// Stay on the file system of each argument
    #[arg(long)]
    one_file_system: bool,

    /// Do not remove /: the default; with all, nor an argument on another device than its parent
    #[arg(long, value_name = "all", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = ["", "all"], overrides_with = "no_preserve_root", hide_short_help = true)]
    preserve_root: Option<String>,

    /// Treat / like any other directory
    #[arg(long, overrides_with = "preserve_root", hide_short_help = true)]
    no_preserve_root: bool,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Hands, priority, plan and report.
    #[command(flatten)]
    shared: SharedArgs,
}

/// When to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// As with -f, but what is not there is complained about without it
    #[value(aliases = ["no", "none"])]
    Never,
    /// As with -I
    Once,
    /// As with -i
    #[value(alias = "yes")]
    Always,
}

fn command() -> Command {
    let command = RmArgs::augment_args(Command::new("rm"))
        .args_override_self(true)
        .infer_long_args(true)
        .version(env!("CARGO_PKG_VERSION"));
    trees::fitted(command).after_help(
        "Examples:\n  mh rm -rf build              a tree, on all cores\n  \
         mh rm -r --dry-run build     what would be removed\n  \
         mh rm -rf --report build     and what bound it",
    )
}

/// COMPAT: what removes the root is typed in full.
fn refuse(typed: &[OsString]) -> Option<Refusal> {
    let options = typed.iter().map(|word| word.as_encoded_bytes()).take_while(|word| *word != b"--");
    let whole = b"--no-preserve-root";
    let is_cut_short = |word: &[u8]| word.len() > 2 && word.len() < whole.len() && whole.starts_with(word);
    let message = "you may not abbreviate the --no-preserve-root option".to_owned();
    options.into_iter().any(is_cut_short).then_some(Refusal { message, code: 1 })
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let mut args = RmArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    settle_force(&mut args, matches);
    args.shared.settle(&context.settings.crew);
    if args.files.is_empty() && !args.force {
        return Err(trees::usage(context, "missing operand"));
    }
    let words = Words::new(context);
    let typed: Vec<Vec<u8>> = args.files.iter().map(|file| file.clone().into_vec()).collect();
    if args.shared.explain {
        show_plan(context, &plan(context, &args, &typed), args.shared.report)?;
        return Ok(Outcome::Done);
    }
    if is_asked_once(&args) && !agrees_once(&words, &args) {
        words.finish()?;
        return Ok(Outcome::Done);
    }
    let all: HashSet<&[u8]> = typed.iter().map(|path| operand::trimmed(path)).collect();
    let (mut operands, mut go_with_another) = (Vec::new(), Vec::new());
    for path in &typed {
        let name = CString::new(path.as_slice()).ok();
        let there = name.and_then(|name| Directory::here().status(&name, Follow::No).ok());
        if is_allowed(&words, path, there.as_ref(), &args) {
            operands.push(path.clone());
            go_with_another.push(there.is_some() && is_below_one_of(&all, path));
        }
    }
    let refused = typed.len() - operands.len();
    let tally = Arc::new(Tally::default());
    let listener = Told { words: &words, pretends: args.dry_run };
    let removal = Removal {
        operands: &operands,
        directories: directories(&args),
        caution: caution(context, &args),
        ignores_missing: args.force,
        go_with_another: &go_with_another,
        one_file_system: args.one_file_system,
        tells_all: args.verbose || args.dry_run,
        pretends: args.dry_run,
        listener: &listener,
        tally: &tally,
        descriptors: directory_descriptors(),
    };
    let is_quick = removal.caution == Caution::Never && !removal.tells_all;
    let outset =
        if is_quick { outset::outset(operands.iter().map(|path| operand::directory_of(path))) } else { Outset::Lasts };
    let hands = trees::hands(context, &args.shared, what(&args), outset, || bound(context, &args.shared, &operands))?;
    trees::publish(&hands, &tally);
    let shows_names = removal.tells_all && context.terminals.stdout;
    let label = trees::label("removing", operands.iter().map(Vec::as_slice));
    let progress = if shows_names { None } else { trees::progress(context, label, None, &tally) };
    let measured = remove(&removal, hands.width, &hands.lease);
    drop(progress);
    let counts = tally.counts();
    let finished = TreeReport {
        verb: "removed",
        dry_run: removal.pretends,
        is_verbose: args.verbose,
        counts,
        measured: hands.told(measured),
        ways: Vec::new(),
        width_why: hands.why(),
        hands_from: hands.from(),
    };
    trees::report(context, &args.shared, &finished);
    words.finish()?;
    Ok(if counts.failed == 0 && refused == 0 { Outcome::Done } else { Outcome::Partial })
}

/// COMPAT: the last of -f and --interactive wins, but never to be asked is no reason to complain about what is not there.
fn settle_force(args: &mut RmArgs, matches: &ArgMatches) {
    if args.force && args.interactive.is_some() {
        if matches.index_of("force") > matches.index_of("interactive") {
            args.interactive = None;
        } else if args.interactive != Some(When::Never) {
            args.force = false;
        }
    }
}

/// Removes the sources of moved trees, whole and without a question. Failures.
pub fn remove_quietly(
    context: &Context,
    shared: &SharedArgs,
    words: &Words,
    operands: &[Vec<u8>],
) -> Result<u64, Failure> {
    let tally = Arc::new(Tally::default());
    let removal = Removal {
        operands,
        directories: DirectoryRemoval::Whole,
        caution: Caution::Never,
        ignores_missing: true,
        go_with_another: &[],
        one_file_system: false,
        tells_all: false,
        pretends: false,
        listener: &Told { words, pretends: false },
        tally: &tally,
        descriptors: directory_descriptors(),
    };
    let what = "mv: removing what was copied".to_owned();
    let hands = trees::hands(context, shared, what, Outset::Lasts, || bound(context, shared, operands))?;
    let progress = trees::progress(context, trees::label("removing", operands.iter().map(Vec::as_slice)), None, &tally);
    remove(&removal, hands.width, &hands.lease);
    drop(progress);
    Ok(tally.counts().failed)
}

fn bound(context: &Context, shared: &SharedArgs, operands: &[Vec<u8>]) -> Option<Bound> {
    width::bound(
        &context.host,
        shared.hands_asked(),
        || context.machine.hands_allowed(),
        operands.iter().map(Vec::as_slice),
    )
}

fn what(args: &RmArgs) -> String {
    match args.files.as_slice() {
        [one] => format!("rm {}", one.to_string_lossy()),
        many => format!("rm of {} arguments", many.len()),
    }
}

fn directories(args: &RmArgs) -> DirectoryRemoval {
    match (args.recursive, args.dir) {
        (true, _) => DirectoryRemoval::Whole,
        (false, true) => DirectoryRemoval::Empty,
        (false, false) => DirectoryRemoval::Never,
    }
}

fn caution(context: &Context, args: &RmArgs) -> Caution {
    match args.interactive {
        _ if args.each => Caution::Always,
        Some(When::Always) => Caution::Always,
        Some(When::Never) => Caution::Never,
        _ if args.force || args.dry_run => Caution::Never,
        // COMPAT: without -f rm asks about what is write-protected, if there is somebody to ask. Nothing is so for root.
        _ if context.terminals.stdin && !geteuid().is_root() => Caution::WriteProtected,
        _ => Caution::Never,
    }
}

fn is_asked_once(args: &RmArgs) -> bool {
    let is_once = args.once || args.interactive == Some(When::Once);
    is_once && (args.recursive || args.files.len() > 3)
}

fn agrees_once(words: &Words, args: &RmArgs) -> bool {
    let count = args.files.len();
    let arguments = if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
    let how = if args.recursive { " recursively" } else { "" };
    words.asks(&format!("remove {arguments}{how}"))
}

/// What is refused before anything is touched: `.`, `..` and the root.
fn is_allowed(words: &Words, path: &[u8], there: Option<&Status>, args: &RmArgs) -> bool {
    let last = operand::last_part(path);
    let Some(status) = there.filter(|there| there.file_type() == FileType::Directory && args.recursive) else {
        return true;
    };
    if last == b"." || last == b".." {
        words.say(&format!("refusing to remove '.' or '..' directory: skipping {}", shown(path)));
        return false;
    }
    let root = Directory::here().status(c"/", Follow::No);
    let is_root = root.is_ok_and(|root| status.identity() == root.identity());
    if is_root && !args.no_preserve_root {
        let same = if path == b"/" { String::new() } else { " (same as '/')".to_owned() };
        words.say(&format!("it is dangerous to operate recursively on {}{same}", shown(path)));
        words.say("use --no-preserve-root to override this failsafe");
        return false;
    }
    if args.preserve_root.as_deref() == Some("all") && !is_root && is_on_another_device(path, status) {
        words.say(&format!("skipping {}, since it's on a different device", shown(path)));
        words.say("and --preserve-root=all is in effect");
        return false;
    }
    true
}

/// Whether `path` lies, as it was typed, in a directory that was typed.
fn is_below_one_of(all: &HashSet<&[u8]>, path: &[u8]) -> bool {
    let path = operand::trimmed(path);
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.into_iter().any(|slash| all.contains(operand::trimmed(&path[..slash.max(1)])))
}

fn is_on_another_device(path: &[u8], status: &Status) -> bool {
    let parent = operand::Operand::open(path).and_then(|operand| operand.parent.directory().status(c".", Follow::No));
    parent.is_ok_and(|parent| status.identity().device != parent.identity().device)
}

fn plan(context: &Context, args: &RmArgs, operands: &[Vec<u8>]) -> Plan {
    let mut plan = Plan::new(what(args));
    let hands = args.shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed());
    match directories(args) {
        DirectoryRemoval::Whole => {
            plan.choose("remove", "a directory a task", "work in different directories shares no lock")
        }
        DirectoryRemoval::Empty => plan.choose("remove", "files and empty directories", "-d"),
        DirectoryRemoval::Never => plan.choose("remove", "files", "no -r"),
    }
    match (caution(context, args), bound(context, &args.shared, operands)) {
        (Caution::Always, _) => plan.choose("hands", "1", "questions come one after the other"),
        (_, Some(bound)) => plan.choose("hands", bound.shown(), bound.why),
        (Caution::WriteProtected, None) => {
            plan.choose("hands", format!("up to {hands}"), "asks about what is write-protected; the others go on");
        }
        (Caution::Never, None) => plan.choose("hands", format!("up to {hands}"), "nothing is asked"),
    }
    mh_kit::sharing::explain(&mut plan);
    plan
}

/// GNU's words.
struct Told<'a> {
    words: &'a Words,
    /// Whether nothing is done: then it says what would be.
    pretends: bool,
}

impl Listener for Told<'_> {
    fn agrees(&self, question: &Question<'_>) -> bool {
        let protected = if question.is_write_protected { "write-protected " } else { "" };
        let path = shown(question.path);
        self.words.asks(&match question.asked {
            Asked::Descend => format!("descend into {protected}directory {path}"),
            Asked::Remove(kind, bytes) => format!("remove {protected}{} {path}", kind_name(kind, bytes)),
        })
    }

    fn removed(&self, path: &[u8], is_directory: bool) {
        let kind = if is_directory { "directory " } else { "" };
        let done = if self.pretends { "would remove" } else { "removed" };
        self.words.shows(&format!("{done} {kind}{}", shown(path)));
    }

    fn complain(&self, findings: Vec<Finding<Complaint>>) {
        for Finding { path, complaint, .. } in findings {
            let path = shown(&path);
            self.words.say(&match complaint {
                Complaint::Refused(error) => format!("cannot remove {path}: {}", cause(&error)),
                Complaint::IsDirectory => format!("cannot remove {path}: Is a directory"),
                Complaint::OtherDevice => format!("skipping {path}, since it's on a different device"),
            });
        }
    }
}

/// COMPAT: GNU's names of kinds.
pub fn kind_name(kind: FileType, bytes: u64) -> &'static str {
    match kind {
        FileType::Regular if bytes == 0 => "regular empty file",
        FileType::Regular => "regular file",
        FileType::Directory => "directory",
        FileType::SymbolicLink => "symbolic link",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character special file",
        FileType::BlockDevice => "block special file",
        FileType::Other => "weird file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    fn planned(machine: &FakeMachine, typed: &str) -> Plan {
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let matches = command().get_matches_from(typed.split(' '));
        let args = RmArgs::from_arg_matches(&matches).expect("good options");
        let operands: Vec<Vec<u8>> = args.files.iter().map(|file| file.clone().into_vec()).collect();
        plan(&context, &args, &operands)
    }

    fn decided(machine: &FakeMachine, typed: &str, subject: &str) -> String {
        let plan = planned(machine, typed);
        plan.about(subject).map(|choice| choice.decision.clone()).expect("it is decided")
    }

    #[test]
    fn long_options_may_be_cut_short_but_for_the_one_that_removes_the_root() {
        let words = |typed: &str| typed.split(' ').map(OsString::from).collect::<Vec<_>>();
        let is_recursive = command().get_matches_from(words("rm --recur tree")).get_flag("recursive");
        assert!(is_recursive);
        assert!(refuse(&words("-r --no-preserve /")).is_some_and(|refusal| refusal.code == 1));
        assert!(refuse(&words("-r --no-preserve-root -- --no-pre")).is_none());
    }

    #[test]
    fn a_plan_says_how_far_it_goes_into_directories() {
        let machine = FakeMachine::new(4, 1 << 30);
        assert_eq!(planned(&machine, "rm -r tree").purpose, "rm tree");
        assert_eq!(planned(&machine, "rm a b").purpose, "rm of 2 arguments");
        assert_eq!(decided(&machine, "rm -r tree", "remove"), "a directory a task");
        assert_eq!(decided(&machine, "rm -d tree", "remove"), "files and empty directories");
        assert_eq!(decided(&machine, "rm tree", "remove"), "files");
    }

    #[test]
    fn hands_follow_the_machine_the_options_the_disk_and_the_questions() {
        let machine = FakeMachine::new(4, 1 << 30).with_rotating_disk("/slow").with_network_directory("/far");
        let hands = |typed: &str| decided(&machine, typed, "hands");
        assert_eq!(hands("rm -rf tree"), "up to 4");
        assert_eq!(hands("rm -rf -j 2 tree"), "up to 2");
        assert_eq!(hands("rm -rf /slow"), "1 hand");
        assert_eq!(hands("rm -rf -j 3 /slow"), "up to 3", "who asks gets it");
        assert_eq!(hands("rm -rf /far"), "16 workers on 4 hands");
        assert_eq!(hands("rm -ri /far"), "1", "questions come one after the other");
        assert_eq!(decided(&FakeMachine::new(1, 1 << 30), "rm -rf tree", "hands"), "up to 1");
    }
}
