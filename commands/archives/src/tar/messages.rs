//! Messages about failures, in GNU tar's words under its name and in ours elsewhere: scripts look for the former. COMPAT: its sentences are those of 1.35.

use super::NAME;
use super::list::quoted;
use archive::operation::Operation;
use archive::read::ReadError;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use std::error::Error;
use std::ffi::OsStr;
use std::io;

/// The last line of a run that went on after an error, and of one that did not.
const AFTER_ERRORS: &str = "Exiting with failure status due to previous errors";
const AT_ONCE: &str = "Error is not recoverable: exiting now";

/// In front of options behind the last name.
pub const POSITIONAL: &str = "The following options were used after any non-optional arguments in archive create or update mode.  \
    These options are positional and affect only arguments that follow them.  Please, rearrange them properly.";

/// Says what failed: `theirs` is GNU tar's line without its name, `ours` goes on after "could not".
pub fn failed(context: &Context, theirs: &str, ours: &str) {
    match is_called_tar(context) {
        true => context.messages.conclusion(&context.program, theirs),
        false => context.messages.error(&context.program, ours, &[]),
    }
}

/// A member that was asked for is not there.
pub fn not_found(context: &Context, name: &[u8]) {
    failed(
        context,
        &format!("{}: Not found in archive", plain(name)),
        &format!("find {} in the archive", quoted(name)),
    );
}

/// Names lose what they begin with.
pub fn made_relative(context: &Context, removed: &[u8]) {
    match is_called_tar(context) {
        true => {
            let text = format!("Removing leading `{}' from member names", plain(removed));
            context.messages.note(&context.program, &text);
        }
        false => {
            context.messages.note(&context.program, &format!("{} is taken off the front of names", quoted(removed)));
        }
    }
}

/// `x: Cannot open: Permission denied`, of a file; `to` is where a link leads.
pub fn of_file(name: &[u8], operation: Operation, to: Option<&[u8]>, why: &str) -> String {
    let to = to.map_or(String::new(), |to| format!(" to '{}'", plain(to)));
    format!("{}: Cannot {}{to}: {why}", plain(name), verb(operation))
}

/// A name in a sentence without quotes.
pub fn plain(name: &[u8]) -> String {
    super::words::escaped(name).into_owned()
}

/// Whether it speaks as GNU tar does.
pub fn is_called_tar(context: &Context) -> bool {
    context.program != NAME
}

fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::OpenItsDirectory
        | Operation::Open
        | Operation::Name
        | Operation::GoInto
        | Operation::GoBackInto
        | Operation::ReadIgnoreFile => "open",
        Operation::MakeItsDirectory | Operation::Make => "mkdir",
        Operation::TakeItsPlace => "unlink",
        Operation::Look | Operation::LookAtWhatIsThere => "stat",
        Operation::Rename => "rename",
        Operation::MakeLink => "create symlink",
        Operation::MakeNode => "mknod",
        Operation::Link => "hard link",
        Operation::Read | Operation::FindHoles => "read",
        Operation::ReadLink => "readlink",
        Operation::Write => "write",
        Operation::Close => "close",
        Operation::SetOwner => "change ownership",
        Operation::SetMode => "change mode",
        Operation::SetTimes => "utime",
        Operation::SetAttributes => "set attributes",
    }
}

/// A request that cannot be carried out, in both words.
pub fn usage(theirs: &str, ours: &str) -> Failure {
    Failure::ByName { ours: Box::new(super::usage(ours.to_owned())), theirs: theirs.to_owned() }
}

/// `operation` failed on an archive or a file beside it.
pub fn could_not(operation: &str, object: &OsStr, cause: &(dyn Error + 'static)) -> Failure {
    // A text that is quoted already, or is no name, stays as it is.
    let text = object.to_string_lossy();
    let is_name = !(text.starts_with('\'') || text.starts_with("standard "));
    let quoted = if is_name { terminal::quote(object) } else { text.to_string() };
    let ours = Failure::Environment { command: NAME, message: format!("{operation} {quoted}: {}", with_causes(cause)) };
    match theirs(operation, &text, cause) {
        Some(theirs) => Failure::ByName { ours: Box::new(ours), theirs },
        None => ours,
    }
}

fn theirs(operation: &str, object: &str, cause: &(dyn Error + 'static)) -> Option<String> {
    match cause.downcast_ref::<ReadError>() {
        Some(ReadError::NoArchive) => return Some(format!("This does not look like a tar archive\n{AFTER_ERRORS}")),
        Some(ReadError::Truncated { .. }) => return Some(format!("Unexpected EOF in archive\n{AT_ONCE}")),
        Some(ReadError::Read { cause, .. }) => {
            return Some(format!("{object}: Cannot read: {}\n{AT_ONCE}", with_causes(cause)));
        }
        Some(ReadError::Damaged { .. }) => return None,
        None => {}
    }
    cause.downcast_ref::<io::Error>()?;
    let verb = match operation {
        "open" | "create" | "enter" => "open",
        "read" => "read",
        "write" | "write to" => "write",
        _ => return None,
    };
    Some(format!("{object}: Cannot {verb}: {}\n{AT_ONCE}", with_causes(cause)))
}

/// How a run ends that did not fail as a whole. COMPAT: whatever ends tar ends it with 2.
pub fn end(context: &Context, outcome: Result<Outcome, Failure>) -> Result<Outcome, Failure> {
    let is_tar = is_called_tar(context);
    let said = |text: &str| {
        text.lines().for_each(|line| context.messages.conclusion(&context.program, line));
        Ok(super::FAILED)
    };
    match outcome {
        Ok(super::FAILED) if is_tar => said(AFTER_ERRORS),
        Err(Failure::ByName { ours, theirs }) => match (*ours, is_tar) {
            (Failure::Usage { .. }, true) => {
                let program = &context.program;
                let hint = format!("Try '{program} --help' or '{program} --usage' for more information.");
                Err(Failure::InWordsOfOthers { text: format!("{program}: {theirs}\n{hint}"), code: 2 })
            }
            (_, true) => said(&theirs),
            (ours, false) => end(context, Err(ours)),
        },
        Err(Failure::Environment { message, .. }) => {
            context.messages.error(&context.program, &message, &[]);
            Ok(super::FAILED)
        }
        Err(Failure::Usage { message, .. }) if is_tar => {
            let text =
                format!("{0}: {message}\nTry '{0} --help' or '{0} --usage' for more information.", context.program);
            Err(Failure::InWordsOfOthers { text, code: 2 })
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn what_failed_has_the_words_of_gnu_tar() {
        let missing = io::Error::from_raw_os_error(2);
        let text = |operation, cause: &(dyn Error + 'static)| theirs(operation, "a.tar", cause).unwrap_or_default();
        assert_eq!(text("open", &missing), format!("a.tar: Cannot open: No such file or directory\n{AT_ONCE}"));
        assert_eq!(
            text("read", &ReadError::NoArchive),
            format!("This does not look like a tar archive\n{AFTER_ERRORS}")
        );
        let cut = ReadError::Truncated { offset: 512 };
        assert_eq!(text("read", &cut), format!("Unexpected EOF in archive\n{AT_ONCE}"));
        assert_eq!(theirs("verify", "a.tar", &io::Error::from(ErrorKind::NotFound)), None);
        assert_eq!(of_file(b"l", Operation::Link, Some(b"a\n"), "no"), "l: Cannot hard link to 'a\\n': no");
    }
}
