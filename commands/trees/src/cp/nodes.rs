//! `mh cp --on ENGINE`: a copy divided over machines. `plan` walks the sources once, makes the directories and cuts the rest into shards;
//! `mh xjobs --on` runs a job for each: `shard` copies one with the usual engine, `finish` does what needs all of them, `verify` reads copies
//! back. `records` is how they leave each other notes; `divided` starts it all and says how it ended.

mod divided;
mod finish;
mod plan;
mod records;
mod shard;
mod verify;

pub use divided::run;

use super::{CpArgs, NAME, manner, settle_links};
use crate::trees::Words;
use clap::{Args, FromArgMatches};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{OnArgs, PlanDirectory};
use mh_kit::shared_args::parse_size;
use records::CopyPlan;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use transfer::copy::{Existing, Manner};

/// Options of a copy that is divided over machines.
#[derive(Args, Clone, Debug, Default)]
pub struct CopyDivisionArgs {
    #[command(flatten)]
    pub on: OnArgs,

    /// With --on: do not read the copies back
    #[arg(long, hide_short_help = true, help_heading = "Other machines")]
    pub no_verify: bool,

    /// With --on: copy files larger than SIZE in ranges of SIZE (default: 256M)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true, help_heading = "Other machines")]
    pub range: Option<u64>,

    // What jobs of the list are started with.
    #[arg(long, hide = true, value_name = "FILE")]
    shard: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "DIR")]
    shard_finish: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "FILE")]
    shard_verify: Option<PathBuf>,
}

/// Carries out a job of a plan's list, if this is one.
pub fn job(context: &Context, args: &CopyDivisionArgs) -> Option<Result<Outcome, Failure>> {
    if let Some(path) = &args.shard {
        return Some(shard::copy_shard(context, path));
    }
    if let Some(path) = &args.shard_verify {
        return Some(verify::verify_shard(context, path));
    }
    args.shard_finish.as_ref().map(|path| finish::finish(context, path))
}

/// A plan as a job works on it: in the directory in which it was made, with its options.
struct Work {
    place: PlanDirectory,
    plan: CopyPlan,
    args: CpArgs,
    manner: Manner,
    words: Words,
}

impl Work {
    /// Opens the plan in `root`. The working directory and the mask of this process become those of the plan.
    fn open(context: &Context, root: &Path) -> Result<Self, Failure> {
        let root = root.canonicalize().map_err(|error| mh_kit::nodes::environment(NAME, "find", root, &error))?;
        let place = PlanDirectory::at(&root);
        let plan = CopyPlan::read(&place)?.ok_or_else(|| Failure::Environment {
            command: NAME,
            message: format!("find a plan in {}", terminal::quote(&root)),
        })?;
        let directory = Path::new(std::ffi::OsStr::from_bytes(&plan.directory.0));
        std::env::set_current_dir(directory)
            .map_err(|error| mh_kit::nodes::environment(NAME, "enter", directory, &error))?;
        files::set_umask(plan.umask);
        let typed = plan.words.iter().map(|word| OsString::from(std::ffi::OsStr::from_bytes(&word.0)));
        let matches = super::command().try_get_matches_from([OsString::from("cp")].into_iter().chain(typed));
        let matches = matches.map_err(Failure::CommandLine)?;
        let mut args = CpArgs::from_arg_matches(&matches).map_err(Failure::CommandLine)?;
        args.shared.settle(&context.settings.crew);
        settle_links(&mut args, &matches);
        let manner = manner::of(context, &args, &matches)?;
        // The plan has left out what stays, and a job that is done again may find a part of a file.
        let manner = Manner { existing: Existing::Replace, update: false, ..manner };
        Ok(Self { place, plan, args, manner, words: Words::new(context) })
    }

    /// The plan of the file `path`, which is in a directory of it, and the name of the file.
    fn of_file(context: &Context, path: &Path) -> Result<(Self, String), Failure> {
        let missing =
            || Failure::Environment { command: NAME, message: format!("find the plan of {}", terminal::quote(path)) };
        let root = path.parent().and_then(Path::parent).ok_or_else(missing)?;
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?.to_owned();
        Ok((Self::open(context, root)?, name))
    }
}
