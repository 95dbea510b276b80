//! A job of a divided run: digests the names of one shard as `mh sum` digests any, with its standard output in a file of the plan.

use super::{PLAN, SumPart, SumPlan, put_record, read_record};
use crate::check::{CheckCounts, check_entries};
use crate::request::Says;
use crate::sum::{carry_out, request_of};
use crate::words::NAME;
use digests::algorithm::Algorithm;
use digests::manifest::ManifestEntry;
use digests::value::DigestValue;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::nodes::{PlanDirectory, environment, node_name};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use terminal::Verbosity;

/// Digests the shard in the file `path`.
pub fn digest_shard(context: &mut Context, path: &Path) -> Result<Outcome, Failure> {
    let missing =
        || Failure::Environment { command: NAME, message: format!("find the plan of {}", terminal::quote(path)) };
    let path = path.canonicalize().map_err(|error| environment(NAME, "find", path, &error))?;
    let root = path.parent().and_then(Path::parent).ok_or_else(missing)?;
    let name = path.file_name().and_then(OsStr::to_str).ok_or_else(missing)?;
    let place = PlanDirectory::at(root);
    let part = format!("part/{name}");
    if read_record::<SumPart>(&place, &part)?.is_some_and(|part| part.is_good) {
        return Ok(Outcome::Done);
    }
    let plan: SumPlan = read_record(&place, PLAN)?.ok_or_else(missing)?;
    let directory = Path::new(OsStr::from_bytes(&plan.directory.0));
    let names = std::fs::read(&path).map_err(|error| environment(NAME, "read", &path, &error))?;
    std::env::set_current_dir(directory).map_err(|error| environment(NAME, "enter", directory, &error))?;
    let typed = plan.words.iter().map(|word| OsString::from(OsStr::from_bytes(&word.0)));
    let mut request = request_of(typed)?;
    if request.judging.as_ref().is_some_and(|judging| judging.says == Says::Nothing) {
        context.messages = context.terminals.messages(Verbosity::Quiet);
    }
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut entries = Vec::new();
    match &request.judging {
        Some(_) => entries = names.map(|line| entry(line).ok_or_else(missing)).collect::<Result<Vec<_>, _>>()?,
        None => request.files = names.map(<[u8]>::to_vec).collect(),
    }
    (request.is_recursive, request.shared.report) = (false, None);
    let unfinished = place.path(format!("out/{name}.{}.{}", node_name(), std::process::id()));
    let failed = |error: std::io::Error| environment(NAME, "write", &unfinished, &error);
    let output = File::create(&unfinished).map_err(failed)?;
    rustix::stdio::dup2_stdout(&output).map_err(|error| failed(error.into()))?;
    let part_of = |(outcome, counts)| SumPart { is_good: outcome == Outcome::Done, counts };
    let ended = match request.judging.take() {
        Some(judging) => part_of(check_entries(context, &mut request, &judging, entries)?),
        None => part_of((carry_out(context, request)?, CheckCounts::default())),
    };
    let finished = place.path(format!("out/{name}"));
    output.sync_all().and_then(|()| std::fs::rename(&unfinished, finished)).map_err(failed)?;
    put_record(&place, &part, &ended)?;
    Ok(if ended.is_good { Outcome::Done } else { Outcome::Partial })
}

/// A file and the value that it should have, as the plan has written it.
fn entry(line: &[u8]) -> Option<ManifestEntry> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let algorithm = Algorithm::named(std::str::from_utf8(words.next()?).ok()?)?;
    let value = DigestValue::of_digits(words.next()?)?;
    Some(ManifestEntry { name: words.next()?.to_vec(), algorithm, value, is_guessed: false })
}
