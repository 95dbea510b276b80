//! A job of divided files: compresses one range of one file into a part, which appears complete or not at all. One that is there is not made
//! again. A file of a single part is finished by the same job.

use super::super::plan::{self, Direction, Inputs};
use super::super::{NAME, carry_out, lower_priority};
use super::records::{DoneFile, changed_name, part_path};
use super::{Work, finish};
use codec::lane::{Lane, LaneInput, LaneOutput, OutputCare, SourceFate};
use files::staged_file::{Readers, Replace, StagedFile};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::environment;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Makes the part `path`.
pub fn run(context: &mut Context, path: &Path) -> Result<Outcome, Failure> {
    let (work, name) = Work::open(context, path)?;
    if DoneFile::read(&work.place, work.number)?.is_none() {
        let path = part_path(&work.place, work.number, name.part);
        if !path.exists() && make(context, &work, name.part, &path)? == Outcome::Partial {
            return Ok(Outcome::Partial);
        }
    }
    if work.file.parts() == 1 { finish::finish(context, &work) } else { Ok(Outcome::Done) }
}

/// As [`Work::is_as_planned`]; a change is reported by one of the file's parts.
fn is_as_planned(context: &Context, work: &Work) -> Result<bool, Failure> {
    let path = work.place.path(changed_name(work.number));
    if path.exists() {
        return Ok(false);
    }
    let is_so = work.is_as_planned(context);
    if !is_so {
        File::create(&path).map_err(|error| environment(NAME, "write", &path, &error))?;
    }
    Ok(is_so)
}

fn make(context: &Context, work: &Work, part: u64, path: &Path) -> Result<Outcome, Failure> {
    if !is_as_planned(context, work)? {
        return Ok(Outcome::Partial);
    }
    let failed = |error| environment(NAME, "write", path, &error);
    let staged = StagedFile::create(path, Readers::OwnerAlone, &context.unfinished).map_err(failed)?;
    let (format, options) = work.encoding()?;
    let lane = Lane {
        input: LaneInput::Path(work.file.source().to_owned()),
        output: LaneOutput::Open(Arc::new(staged.file().try_clone().map_err(failed)?)),
        source: SourceFate::Keep,
        care: OutputCare::default(),
    };
    let direction = Direction::Compress { format, options, keep_up: None };
    let job = plan::plan(context, &work.args, Inputs { direction, lanes: vec![lane], left_alone: Vec::new() })?;
    lower_priority(context, &work.args.shared);
    let range = work.file.range(part);
    let bytes = range.end - range.start;
    let ran = carry_out(context, &job, &work.args.shared, None, Some(range));
    // Its lane has reported a failure.
    if ran.failed > 0 || !is_as_planned(context, work)? {
        return Ok(Outcome::Partial);
    }
    if ran.totals.bytes_in != bytes {
        work.report(context, "it holds less than its size says");
        return Ok(Outcome::Partial);
    }
    staged.file().sync_all().map_err(failed)?;
    staged.commit(Replace::Yes).map_err(failed)?;
    Ok(Outcome::Done)
}
