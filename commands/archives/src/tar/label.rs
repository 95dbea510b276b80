//! `-V` and `--test-label`: the label of an archive that is read.

use super::{DIFFERENT, TarArgs, archive, could_not, memory};
use ::archive::member::{Kind, Member};
use ::archive::pattern::{Manner, Pattern, PatternGroups};
use ::archive::read::{Reader, Step};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use terminal::{StandardStream, TextOutput};

/// How labels are compared with what `-V` says.
const LABELS: Manner = Manner { anchored: true, beneath: false, ..Manner::EXCLUDED };

/// The first thing in an archive, if that is its label.
fn label_of(context: &Context, args: &TarArgs) -> Result<Option<Member>, Failure> {
    let opened = archive::open(args)?;
    let name = opened.name.clone();
    let width = 1;
    let (_shared, lease) = super::lease(context, args, width, "look at the label");
    let room = memory::room(context, args);
    let (found, _decoding) = opened.with_feed(room, lease.as_ref(), width, &Default::default(), |mut feed| {
        let mut reader = Reader::new(super::list::rules(args), &feed);
        loop {
            match reader.next(&mut feed) {
                Ok(Step::Member(member)) => return Ok(Some(*member)),
                Ok(Step::Note(_)) => {}
                Ok(Step::End) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    })?;
    let first = found.map_err(|error| could_not("read", Path::new(&name).as_os_str(), &error))?;
    Ok(first.filter(|member| member.kind == Kind::VolumeLabel))
}

/// Refuses an archive that has another label than `-V` says. COMPAT: GNU tar's words.
pub fn check(context: &Context, args: &TarArgs) -> Result<(), Failure> {
    let Some(wanted) = args.writing.label.as_deref().filter(|_| !args.operation.create) else { return Ok(()) };
    if args.archive().is_none_or(|path| path == Path::new("-")) {
        return Err(super::usage("-V needs an archive in a file when it is read: -f".to_owned()));
    }
    let shown = terminal::quote(wanted);
    let failure = |theirs: String, message: String| {
        let ours = Failure::Environment { command: super::NAME, message };
        Err(Failure::ByName {
            ours: Box::new(ours),
            theirs: format!("{theirs}\nError is not recoverable: exiting now"),
        })
    };
    match label_of(context, args)? {
        None => failure(
            format!("Archive not labeled to match {shown}"),
            format!("use the archive: it is not labeled to match {shown}"),
        ),
        Some(member) if !Pattern::new(wanted.as_bytes(), LABELS).matches(&member.path) => {
            let label = super::list::quoted(&member.path);
            failure(
                format!("Volume {label} does not match {shown}"),
                format!("use the archive: volume {label} does not match {shown}"),
            )
        }
        Some(_) => Ok(()),
    }
}

/// `--test-label`: prints the label, or says whether it is one of the names.
pub fn test(context: &Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let label = label_of(context, args)?;
    let names: Vec<_> = args.selection.named().map(|named| (named.name.clone(), named.manner)).collect();
    let is_shown = names.is_empty() || args.verbose > 0;
    if let Some(label) = label.as_ref().filter(|_| is_shown) {
        let mut output = TextOutput::to(StandardStream::Output);
        let text = args.quoting.shown(&label.path);
        let delivered = output.line(text).and_then(|_| output.finish());
        let _reader_may_have_left =
            delivered.map_err(|error| could_not("write to", "standard output".as_ref(), &error))?;
    }
    if names.is_empty() {
        return Ok(Outcome::Done);
    }
    let patterns = PatternGroups::new(&names);
    if label.is_some_and(|label| patterns.matches(&label.path)) {
        return Ok(Outcome::Done);
    }
    if args.verbose > 0 {
        super::messages::failed(context, "Archive label mismatch", "match the archive's label: it is another one");
    }
    Ok(DIFFERENT)
}
