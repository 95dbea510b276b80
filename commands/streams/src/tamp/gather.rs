//! Several inputs into one named file, one behind another, as zstd's -o takes them: the file is opened here, its lanes write to it in
//! their order, and it gets its name when they are done. Nothing of it is left where an input turned out damaged.

use super::TampArgs;
use super::manners::Manners;
use super::names::is_special;
use super::plan::Job;
use super::question::is_yes;
use codec::lane::LaneOutput;
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// The common output.
pub struct Gathering {
    /// None where a FIFO or device is written.
    staged: Option<StagedFile>,
    replace: Replace,
    name: String,
}

/// Opens the output and gives it to all lanes.
pub fn begin(context: &Context, args: &TampArgs, job: &mut Job, path: &Path) -> Result<Gathering, Failure> {
    let name = terminal::printable(&path.to_string_lossy()).into_owned();
    let failure = |error: &io::Error| wrong(&job.manners, &name, &with_causes(error));
    refuse(args, path).map_err(|cause| wrong(&job.manners, &name, cause))?;
    let mut replace = if args.force { Replace::Yes } else { Replace::Never };
    let (file, staged) = if is_special(path) {
        (File::options().write(true).open(path).map_err(|error| failure(&error))?, None)
    } else {
        if !args.force && std::fs::symlink_metadata(path).is_ok() {
            ask(args, &name)?;
            replace = Replace::Yes;
        }
        let staged = StagedFile::create(path, Readers::AsOfAnyFile, &context.unfinished);
        let staged = staged.map_err(|error| failure(&error))?;
        (staged.file().try_clone().map_err(|error| failure(&error))?, Some(staged))
    };
    let file = Arc::new(file);
    for lane in job.lanes.iter_mut().filter(|lane| lane.output == LaneOutput::Stdout) {
        lane.output = LaneOutput::Open(Arc::clone(&file));
    }
    Ok(Gathering { staged, replace, name })
}

/// Why the output cannot be this one, whatever is answered.
fn refuse(args: &TampArgs, path: &Path) -> Result<(), &'static str> {
    let Ok(there) = std::fs::metadata(path) else { return Ok(()) };
    if there.is_dir() {
        return Err("Is a directory");
    }
    let is_it = |input: &Path| {
        std::fs::metadata(input).is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino()))
    };
    if there.is_file() && args.files.iter().any(|input| is_it(input)) {
        return Err("Refusing to open an output file which will overwrite the input file");
    }
    Ok(())
}

/// Whether a file that exists may be replaced.
fn ask(args: &TampArgs, name: &str) -> Result<(), Failure> {
    let text = match args.question {
        Some(question) if is_yes(&(question.asked)(&args.manners, name)) => return Ok(()),
        Some(question) => (question.refused)(&args.manners, name).trim_end().to_owned(),
        None => format!("{}: {name} already exists; not overwritten  ", args.manners.name),
    };
    Err(Failure::InWordsOfOthers { text, code: 1 })
}

fn wrong(manners: &Manners, name: &str, cause: &str) -> Failure {
    Failure::InWordsOfOthers { text: format!("{}: {name}: {cause} ", manners.name), code: 1 }
}

impl Gathering {
    /// Gives the file its name.
    pub fn finish(self, manners: &Manners) -> Result<(), Failure> {
        let Some(staged) = self.staged else { return Ok(()) };
        staged.commit(self.replace).map_err(|error| wrong(manners, &self.name, &with_causes(&error)))
    }
}
