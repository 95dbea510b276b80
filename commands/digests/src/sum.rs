//! `mh sum`: digests of files, several from one read, and checks of manifests, on all cores.
//! Decides what is asked for; `print` and `check` carry it out. Does not hash (engines/digest).

use crate::check::check;
use crate::hands::{self, RunWidth};
use crate::lines::{LineForm, LineOrder};
use crate::nodes::{self, SumDivisionArgs};
use crate::old_names;
use crate::print::{print, what};
use crate::request::{Judging, Says, SumRequest, ToolVoice};
use crate::words::NAME;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use crew::plan::Plan;
use digests::algorithm::Algorithm;
use digests::manifest::{LineEnd, ManifestRules, NameEscape, Tags, Untagged};
use mh_kit::context::Context;
use mh_kit::entry::{Entry, Group, Signals};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::show_plan;
use mh_kit::shared_args::SharedArgs;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use terminal::Verbosity;

/// The registry's line.
pub const ENTRY: Entry =
    Entry { old_names: old_names::OLD, ..Entry::new("sum", Group::Do, Signals::TidyUp, command, run) };

/// What is computed without -a: what most others can check.
const USUAL: Algorithm = Algorithm::Sha256;

/// Compute and check digests on all cores, several in one read
///
/// With no FILE, or with -, standard input is read. CRCs and BLAKE3 of one file are computed by all cores; of other digests each file, and each
/// algorithm, has a core of its own. Lines come in the order of the files.
#[derive(Args, Clone, Debug)]
pub struct SumArgs {
    /// Files to digest, or manifests to check; - is standard input
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Algorithms (default: sha256): crc32, crc32c, crc64, crc64nvme, cksum, xxh32, xxh64, xxh3, xxh128, blake3, md5, sha1, sha224 to sha512,
    /// sha3-224 to sha3-512, blake2b, blake2b-256, sm3
    #[arg(short = 'a', long, value_name = "ALGO", value_delimiter = ',', value_parser = Algorithm::typed)]
    algorithm: Vec<Algorithm>,

    /// Check the files that manifests name: of md5sum, sha256sum, cksum, b3sum, xxhsum, or this program
    #[arg(short = 'c', long)]
    check: bool,

    /// Write lines with the algorithm's name: SHA256 (FILE) = VALUE; the default for several algorithms, and for one that a value's length
    /// does not show
    #[arg(long, conflicts_with = "check")]
    tag: bool,

    /// Write lines without the algorithm's name; -c then needs -a, unless the value's length shows it
    #[arg(long, conflicts_with_all = ["check", "tag", "json"], hide_short_help = true)]
    untagged: bool,

    /// End lines with a zero byte, and do not escape names
    #[arg(short = 'z', long)]
    zero: bool,

    /// Digest all files below directories, in the order of their names
    #[arg(short = 'r', long, conflicts_with = "check")]
    recursive: bool,

    /// With -c: report files that no line names, below DIR or the directory that all names share
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", requires = "check")]
    exact: Option<OsString>,

    /// With -c: print only files that failed
    #[arg(long, requires = "check")]
    quiet: bool,

    /// With -c: print nothing; the exit code shows the result
    #[arg(long, requires = "check")]
    status: bool,

    /// With -c: fail if a line is misformatted
    #[arg(long, requires = "check", hide_short_help = true)]
    strict: bool,

    /// With -c: report each misformatted line
    #[arg(short = 'w', long, requires = "check", hide_short_help = true)]
    warn: bool,

    /// With -c: pass over missing files
    #[arg(long, requires = "check", hide_short_help = true)]
    ignore_missing: bool,

    /// Print one JSON object a file
    #[arg(long, conflicts_with_all = ["tag", "zero"], hide_short_help = true)]
    json: bool,

    /// Other machines.
    #[command(flatten)]
    division: SumDivisionArgs,

    /// Hands, priority, memory, plan and report.
    #[command(flatten)]
    shared: SharedArgs,
}

fn command() -> Command {
    SumArgs::augment_args(Command::new("sum")).args_override_self(true).version(env!("CARGO_PKG_VERSION")).after_help(
        "Examples:\n  mh sum -a blake3,sha256 disk.img     both, from one read\n  \
         mh sum -r tree > tree.sums           a manifest of a tree\n  \
         mh sum -c --exact tree.sums          what is changed, missing or extra",
    )
}

fn run(context: &mut Context, matches: &ArgMatches) -> Result<Outcome, Failure> {
    let args = SumArgs::from_arg_matches(matches).map_err(Failure::CommandLine)?;
    let verbosity = if args.status { Verbosity::Quiet } else { Verbosity::Normal };
    context.messages = context.terminals.messages(verbosity);
    if let Some(path) = &args.division.shard {
        return nodes::digest_shard(context, path);
    }
    let division = args.division.clone();
    if !division.on.is_asked() {
        return carry_out(context, request(args));
    }
    let asked = asked(&args);
    let mut request = request(args);
    request.shared.settle(&context.settings.crew);
    nodes::run(context, request, &division, asked)
}

/// The command without what may differ when it goes on.
fn asked(args: &SumArgs) -> String {
    let mut asked = args.clone();
    asked.division = SumDivisionArgs::default();
    asked.shared = SharedArgs { hands: None, standing: Default::default(), memory: None, explain: false, report: None };
    format!("{:?} {asked:?}", std::env::current_dir().ok())
}

/// What a command line asks for.
pub fn request_of(words: impl Iterator<Item = OsString>) -> Result<SumRequest, Failure> {
    let matches = command().try_get_matches_from([OsString::from("sum")].into_iter().chain(words));
    let args = SumArgs::from_arg_matches(&matches.map_err(Failure::CommandLine)?);
    args.map(request).map_err(Failure::CommandLine)
}

/// What the arguments ask for.
fn request(args: SumArgs) -> SumRequest {
    let names: Vec<Vec<u8>> = args.files.into_iter().map(OsString::into_vec).collect();
    let mut algorithms = args.algorithm;
    if algorithms.is_empty() && !args.check {
        algorithms.push(USUAL);
    }
    let mut known = Vec::new();
    algorithms.retain(|algorithm| {
        !known.contains(algorithm) && {
            known.push(*algorithm);
            true
        }
    });
    // Of several algorithms a line's tag or length says which; all others are refused by the reader.
    let fixed = if let [one] = algorithms[..] { Some(one) } else { None };
    let needs_tags = algorithms.len() > 1 || algorithms.iter().any(|algorithm| !algorithm.is_shown_by_length());
    let order = if args.tag || (needs_tags && !args.untagged) { LineOrder::Tagged } else { LineOrder::ValueFirst };
    let form = LineForm { order, ..LineForm::GNU };
    let rules = ManifestRules {
        algorithm: fixed,
        tags: Tags::All,
        untagged: if fixed.is_some() { Untagged::OfAlgorithm } else { Untagged::ByLength },
        escapes: if args.zero { NameEscape::None } else { NameEscape::Lines },
    };
    let judging = args.check.then(|| Judging {
        rules,
        line_end: if args.zero { LineEnd::Zero } else { LineEnd::AsFound },
        says: match (args.status, args.quiet) {
            (true, _) => Says::Nothing,
            (false, true) => Says::Failures,
            (false, false) => Says::All,
        },
        is_strict: args.strict,
        warns: args.warn,
        ignores_missing: args.ignore_missing,
        exact: args.exact.map(OsString::into_vec),
    });
    SumRequest {
        voice: ToolVoice::Own,
        algorithms: algorithms.into(),
        files: names,
        form: if args.zero { form.ended_by_zero() } else { form },
        judging,
        is_recursive: args.recursive,
        left_out: None,
        is_json: args.json,
        shared: args.shared,
    }
}

/// What all names have in common.
pub fn carry_out(context: &Context, mut request: SumRequest) -> Result<Outcome, Failure> {
    request.shared.settle(&context.settings.crew);
    if request.is_recursive && request.files.is_empty() {
        return Err(Failure::Usage { command: NAME, message: "-r needs a directory, such as .".to_owned() });
    }
    if request.files.is_empty() {
        request.files.push(b"-".to_vec());
    }
    let sizes = sizes(&request);
    let width = hands::width(context, &request, sizes.as_deref());
    if request.shared.explain {
        show_plan(context, &plan(&request, &width, sizes.as_deref()), request.shared.report)?;
        return Ok(Outcome::Done);
    }
    lower_priority(context, &request.shared);
    match &request.judging {
        Some(judging) => check(context, &request, judging, &width),
        None => print(context, &request, &width, sizes.map(|sizes| sizes.iter().sum())),
    }
}

/// LIMIT: arguments that are looked at before the run, for its plan and its progress.
const LOOKED_AT: usize = 1024;

/// The sizes of the files that were typed, if all of them are regular files and not too many.
fn sizes(request: &SumRequest) -> Option<Vec<u64>> {
    if request.judging.is_some() || request.is_recursive || request.files.len() > LOOKED_AT {
        return None;
    }
    let size = |name: &Vec<u8>| {
        let metadata = std::fs::metadata(Path::new(std::ffi::OsStr::from_bytes(name))).ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    request.files.iter().map(size).collect()
}

/// A refusal costs politeness, not the run.
fn lower_priority(context: &Context, shared: &SharedArgs) {
    let steps = shared.priority().nicer_by();
    if steps > 0
        && let Err(error) = sys::scheduling::be_as_nice_as(steps)
    {
        context.messages.warning(NAME, &format!("could not lower its priority: {error}"), &[]);
    }
}

fn plan(request: &SumRequest, width: &RunWidth, sizes: Option<&[u64]>) -> Plan {
    let mut plan = Plan::new(what(request));
    let (divided, ordered): (Vec<_>, Vec<_>) =
        request.algorithms.iter().partition(|algorithm| algorithm.is_divisible());
    let names =
        |algorithms: &[&Algorithm]| algorithms.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(", ");
    match &request.judging {
        Some(_) => {
            let by: Vec<String> = request.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let by = if by.is_empty() { "as each line says".to_owned() } else { by.join(", ") };
            plan.choose("check", by, "a line names its algorithm by its tag or by the length of its value");
        }
        None if !divided.is_empty() => {
            plan.choose("pieces", names(&divided), "values of pieces combine: all hands on one file")
        }
        None => {}
    }
    if !ordered.is_empty() {
        plan.choose("in order", names(&ordered), "one core for each file and algorithm");
    }
    match sizes {
        Some(_) => plan.choose(
            "read",
            "in each worker, at offsets",
            "regular files; each byte is read once for all algorithms",
        ),
        None if request.judging.is_some() || request.is_recursive => {
            plan.choose(
                "read",
                "small files in batches, large ones at offsets",
                "each byte is read once for all algorithms",
            );
        }
        None => plan.choose("read", "streams in a thread of their own", "a pipe gives its bytes in one order only"),
    }
    plan.choose("hash", format!("up to {}", width.shown), width.why.clone());
    let room = hands::room(request, width.workers);
    plan.choose(
        "memory",
        terminal::bytes(room.bytes()),
        format!("{} pieces of {} at most", room.slots.given, terminal::bytes(room.piece_bytes as u64)),
    );
    mh_kit::sharing::explain(&mut plan);
    plan
}

/// What is asked for by nothing but a list of files: old names begin with it.
pub fn without_options(voice: ToolVoice, algorithm: Algorithm) -> SumRequest {
    let typed = command().try_get_matches_from(["sum"]).and_then(|matches| SumArgs::from_arg_matches(&matches));
    let request = request(typed.expect("no argument is needed"));
    SumRequest { voice, algorithms: Arc::new([algorithm]), ..request }
}

#[cfg(test)]
mod tests;
