//! `mh tar -t`: what is in an archive.

use super::archive;
use super::chosen::{Chosen, not_found};
use super::extract::tell_note;
use super::words::{LongLines, Numeric, escaped};
use super::{FAILED, NAME, TarArgs, could_not};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use ::archive::extract::Feed;
use ::archive::member::Kind;
use ::archive::read::{Grammar, ReadError, Reader, Rules, Step, Zeros};
use std::path::Path;
use terminal::{Delivery, Output, quote};

/// How archives are read under these options.
pub fn rules(args: &TarArgs) -> Rules {
    Rules {
        grammar: if args.untrusted { Grammar::Strict } else { Grammar::Lenient },
        zeros: if args.ignore_zeros { Zeros::Ignored } else { Zeros::End },
    }
}

/// Lists.
pub fn run(context: &mut Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let names = super::names(args)?;
    let opened = archive::open(args)?;
    let name = opened.name.clone();
    let width = super::width(context, args);
    let (_shared, lease) = super::lease(context, args, width, "list");
    let mut chosen = Chosen::new(args, &names, None)?;
    let read = |feed| list(context, args, feed, &mut chosen);
    let listed = opened.with_feed(context, lease.as_ref(), width, read)?;
    let mut failed = match listed {
        Ok(Listed::Whole { failed }) => failed,
        Ok(Listed::ReaderGone) => return Err(Failure::BrokenPipe),
        Err(Problem::Archive(error)) => return Err(could_not("read", Path::new(&name).as_os_str(), &error)),
        Err(Problem::Output(error)) => return Err(could_not("write to", "standard output".as_ref(), &error)),
    };
    for name in not_found(&chosen.wanted) {
        failed = true;
        context.messages.error(NAME, &format!("find {} in the archive", quoted(&name)), &[]);
    }
    Ok(if failed { FAILED } else { Outcome::Done })
}

/// A name of bytes in quotes.
pub fn quoted(name: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    quote(std::ffi::OsStr::from_bytes(name))
}

enum Listed {
    Whole { failed: bool },
    ReaderGone,
}

enum Problem {
    Archive(ReadError),
    Output(std::io::Error),
}

fn list(context: &Context, args: &TarArgs, mut feed: Feed, chosen: &mut Chosen) -> Result<Listed, Problem> {
    let mut output = Output::standard();
    let mut reader = Reader::new(rules(args), &feed);
    let mut long = LongLines::new(if args.numeric_owner { Numeric::Yes } else { Numeric::No });
    let mut failed = false;
    let outcome = loop {
        match reader.next(&mut feed) {
            Ok(Step::Member(member)) => {
                if !chosen.means(&member.path) {
                    continue;
                }
                let mut name = chosen.renamed(&member.path);
                if member.kind == Kind::Directory && !name.ends_with(b"/") {
                    name.push(b'/');
                }
                let line = if args.verbose > 0 { long.line(&name, &member) } else { escaped(&name) };
                if output.line(&line).map_err(Problem::Output)? == Delivery::ReaderGone {
                    return Ok(Listed::ReaderGone);
                }
            }
            Ok(Step::Note(note)) => failed |= tell_note(context, args, &note),
            Ok(Step::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if output.finish().map_err(Problem::Output)? == Delivery::ReaderGone {
        return Ok(Listed::ReaderGone);
    }
    outcome.map_err(Problem::Archive)?;
    if let Feed::Blocks(source) = &mut feed {
        // A checksum at the end of what is packed is only known when it is reached.
        source.drain().map_err(|cause| Problem::Archive(ReadError::Read { offset: 0, cause }))?;
    }
    Ok(Listed::Whole { failed })
}
