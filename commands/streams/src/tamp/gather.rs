//! Several inputs into one named file, one behind another, as zstd's -o takes them: the file is opened here, its lanes write to it in
//! their order, and it gets its name when they are done. Nothing of it is left where an input turned out damaged.

use super::manners::Manners;
use super::names::is_special;
use super::plan::Job;
use codec::lane::LaneOutput;
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use std::fs::File;
use std::io;
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
pub fn begin(context: &Context, job: &mut Job, path: &Path, force: bool) -> Result<Gathering, Failure> {
    let name = terminal::printable(&path.to_string_lossy()).into_owned();
    let failure = |error: &io::Error| wrong(&job.manners, &name, &with_causes(error));
    let (file, staged) = if is_special(path) {
        (File::options().write(true).open(path).map_err(|error| failure(&error))?, None)
    } else {
        if !force && std::fs::symlink_metadata(path).is_ok() {
            let text = format!("{}: {name} already exists; not overwritten  ", job.manners.name);
            return Err(Failure::InWordsOfOthers { text, code: 1 });
        }
        let staged =
            StagedFile::create(path, Readers::AsOfAnyFile, &context.unfinished).map_err(|error| failure(&error))?;
        (staged.file().try_clone().map_err(|error| failure(&error))?, Some(staged))
    };
    let file = Arc::new(file);
    for lane in job.lanes.iter_mut().filter(|lane| lane.output == LaneOutput::Stdout) {
        lane.output = LaneOutput::Open(Arc::clone(&file));
    }
    let replace = if force { Replace::Yes } else { Replace::Never };
    Ok(Gathering { staged, replace, name })
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
