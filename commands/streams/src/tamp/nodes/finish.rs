//! The last job of a divided file: joins its parts beside the output, gives it the source's metadata and its name, and removes the source only
//! then. It may run twice, even at the same time: an output that holds just what it would write is its own.

use super::super::NAME;
use super::Work;
use super::records::{DoneFile, part_path};
use codec::error::CodecError;
use codec::joining::{JoinedPart, Joining, remove_joined_source};
use codec::lane::{Lane, LaneInput, LaneOutput, OutputCare, SourceFate};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::nodes::environment;
use mh_kit::report::counted;
use std::fs::File;
use std::path::Path;

/// Finishes the file with the record `path`.
pub fn run(context: &mut Context, path: &Path) -> Result<Outcome, Failure> {
    let (work, _) = Work::open(context, path)?;
    finish(context, &work)
}

/// Finishes a file.
pub fn finish(context: &Context, work: &Work) -> Result<Outcome, Failure> {
    let input = match File::open(work.file.source()) {
        Ok(input) => input,
        // Removed by a job that has ended before this one.
        Err(_) if work.file.removes && done(work)?.is_some() => return Ok(Outcome::Done),
        Err(error) => {
            work.report(context, &with_causes(&CodecError::Open(error)));
            return Ok(Outcome::Partial);
        }
    };
    if done(work)?.is_none() {
        match join(context, work)? {
            Some(done) => done.put(&work.place, work.number)?,
            None if done(work)?.is_some() => {}
            None => return Ok(Outcome::Partial),
        }
    }
    for part in 0..work.file.parts() {
        let path = part_path(&work.place, work.number, part);
        super::forget(&path).map_err(|error| environment(NAME, "remove", &path, &error))?;
    }
    if !work.file.removes {
        return Ok(Outcome::Done);
    }
    if !work.is_as_planned(context) {
        return Ok(Outcome::Partial);
    }
    match remove_joined_source(&lane(work), &input) {
        Err(error) if work.file.source().exists() => {
            work.report(context, &with_causes(&error));
            Ok(Outcome::Partial)
        }
        _ => Ok(Outcome::Done),
    }
}

fn done(work: &Work) -> Result<Option<DoneFile>, Failure> {
    DoneFile::read(&work.place, work.number)
}

fn lane(work: &Work) -> Lane {
    Lane {
        input: LaneInput::Path(work.file.source().to_owned()),
        output: LaneOutput::Path { path: work.file.output(), replace: work.file.replaces },
        source: if work.file.removes { SourceFate::Remove } else { SourceFate::Keep },
        care: OutputCare { syncs: true, ..OutputCare::default() },
    }
}

/// Makes the output; none if it could not be made, which has been reported unless another job has made it.
fn join(context: &Context, work: &Work) -> Result<Option<DoneFile>, Failure> {
    if !work.is_as_planned(context) {
        return Ok(None);
    }
    let part = |part| {
        let range = work.file.range(part);
        JoinedPart { path: part_path(&work.place, work.number, part), uncompressed_bytes: range.end - range.start }
    };
    let parts: Vec<JoinedPart> = (0..work.file.parts()).map(part).collect();
    let missing = parts.iter().filter(|part| !part.path.exists()).count() as u64;
    if missing > 0 {
        if done(work)?.is_none() {
            let of = counted(work.file.parts(), "part");
            work.report(context, &format!("{} of {of} were not compressed", terminal::integer(missing)));
        }
        return Ok(None);
    }
    let (format, options) = work.encoding()?;
    let joining = Joining { format, options: &options, parts: &parts };
    let bytes_in = work.file.bytes;
    // The source goes when it is on record that its output is there.
    let written = joining.write(&Lane { source: SourceFate::Keep, ..lane(work) }, &context.unfinished);
    match written {
        Ok((bytes_out, not_carried)) => {
            for lost in not_carried {
                let text =
                    format!("could not carry over {} of {}: {}", lost.what, work.name(), with_causes(&lost.cause));
                context.messages.warning(NAME, &text, &[]);
            }
            Ok(Some(DoneFile { bytes_in, bytes_out }))
        }
        Err(CodecError::Exists { path }) if joining.is_written(&path).unwrap_or(false) => {
            let bytes_out = path.metadata().map_or(0, |there| there.len());
            Ok(Some(DoneFile { bytes_in, bytes_out }))
        }
        Err(error) => {
            if done(work)?.is_none() {
                work.report(context, &with_causes(&error));
            }
            Ok(None)
        }
    }
}
