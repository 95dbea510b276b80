//! `mh tamp --on ENGINE`: files compressed by several machines. `divided` cuts each file into ranges, has `mh xjobs --on` run a job for each and
//! says how it ended; `part` compresses a range; `finish` joins the parts of a file. `records` is what they find in the plan's directory.

mod divided;
mod finish;
mod part;
mod records;

pub use divided::run;

use super::plan::{Direction, encode_direction};
use super::{NAME, TampArgs, command};
use clap::{Args, FromArgMatches};
use codec::format::{EncodeOptions, Format};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{OnArgs, PlanDirectory, environment};
use mh_kit::shared_args::parse_size;
use records::{DICTIONARY, PartName, PlannedFile, TampPlan};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use terminal::quote;

/// Options of files that are divided over machines.
#[derive(Args, Debug, Default)]
pub struct TampDivisionArgs {
    #[command(flatten)]
    pub on: OnArgs,

    /// With --on: compress files in ranges of SIZE (default: eight for each worker, of 32M to 1G)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true, help_heading = "Other machines")]
    pub range: Option<u64>,

    // What jobs of the list are started with.
    #[arg(long, hide = true, value_name = "PART")]
    part: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "FILE")]
    finish_file: Option<PathBuf>,
}

/// Carries out a job of a plan's list, if this is one.
pub fn job(context: &mut Context, args: &TampArgs) -> Option<Result<Outcome, Failure>> {
    if let Some(path) = &args.division.part {
        return Some(part::run(context, path));
    }
    args.division.finish_file.as_ref().map(|path| finish::run(context, path))
}

/// A file of a plan as a job works on it: in the directory in which the plan was made, with its options.
struct Work {
    place: PlanDirectory,
    args: TampArgs,
    number: u32,
    file: PlannedFile,
}

impl Work {
    /// Opens the plan that `path` is in: a part or the record of a file, two directories below. The working directory becomes the plan's.
    fn open(context: &mut Context, path: &Path) -> Result<(Self, PartName), Failure> {
        let missing = || Failure::Environment { command: NAME, message: format!("find the plan of {}", quote(path)) };
        let name = path.file_name().and_then(OsStr::to_str).and_then(PartName::parsed).ok_or_else(missing)?;
        let root = path.parent().and_then(Path::parent).ok_or_else(missing)?;
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let root = root.canonicalize().map_err(|error| environment(NAME, "find", root, &error))?;
        let place = PlanDirectory::at(&root);
        let plan = TampPlan::read(&place)?.ok_or_else(missing)?;
        let file = PlannedFile::read(&place, name.file)?.ok_or_else(missing)?;
        let directory = Path::new(OsStr::from_bytes(&plan.directory.0));
        std::env::set_current_dir(directory).map_err(|error| environment(NAME, "enter", directory, &error))?;
        let typed = plan.words.iter().map(|word| OsString::from(OsStr::from_bytes(&word.0)));
        let matches = command().try_get_matches_from([OsString::from("tamp")].into_iter().chain(typed));
        let mut args =
            TampArgs::from_arg_matches(&matches.map_err(Failure::CommandLine)?).map_err(Failure::CommandLine)?;
        args.shared.settle(&context.settings.crew);
        // Results are reported when all have ended.
        args.verbose = 0;
        args.dictionary = args.dictionary.map(|_| place.path(DICTIONARY));
        context.messages = context.terminals.messages(super::verbosity(&args));
        Ok((Self { place, args, number: name.file, file }, name))
    }

    fn encoding(&self) -> Result<(&'static dyn Format, EncodeOptions), Failure> {
        match encode_direction(&self.args)? {
            Direction::Compress { format, options, .. } => Ok((format, options)),
            Direction::Decompress { .. } => Err(super::plan::usage("a plan of compressing is asked to decompress")),
        }
    }

    /// The file as messages name it.
    fn name(&self) -> String {
        quote(self.file.source())
    }

    fn report(&self, context: &Context, cause: &str) {
        context.messages.error(NAME, &format!("compress {}: {cause}", self.name()), &[]);
    }

    /// Whether the source is what it was when the plan was made; if not, that is reported.
    fn is_as_planned(&self, context: &Context) -> bool {
        match self.file.changed() {
            Ok(None) => true,
            Ok(Some(how)) => {
                self.report(context, &format!("it has changed since it was planned: {how}"));
                false
            }
            Err(error) => {
                self.report(context, &mh_kit::failure::with_causes(&error));
                false
            }
        }
    }
}

/// Removes a file that may be gone.
fn forget(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
