//! What a run opens and allows itself before its first job: descriptors, journal and job log, its own output. Decides nothing about jobs.

use super::plan::{Job, usage};
use super::{NAME, XjobsArgs};
use jobs::joblog::{self, Commands, ExistingLog, Joblog};
use jobs::journal::{Journal, JournalDone, Resume};
use jobs::template::Template;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terminal::quote;

/// A job takes a handful of descriptors. Jobs inherit the limit, so it is raised only where the width needs it.
pub fn allow_descriptors(context: &Context, job: &Job) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = job.options.width as u64 * 8 + 600;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let wanted = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
    if setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_err() {
        context.messages.warning(
            NAME,
            "could not raise the limit of open files; jobs may have to wait for each other",
            &[],
        );
    }
}

/// What is written about jobs, and what an earlier run has done.
pub struct Books {
    pub journal: Option<Journal>,
    pub joblog: Option<Joblog>,
    pub done: Option<JournalDone>,
}

/// Opens journal and job log. What has been done is read from the journal, which knows more, else from the log.
pub fn open_books(context: &Context, args: &XjobsArgs, template: &Template) -> Result<Books, Failure> {
    let resume = match (args.resume, args.resume_failed) {
        (true, _) => Some(Resume::Ended),
        (_, true) => Some(Resume::Succeeded),
        _ => None,
    };
    let failure = |what: &str, path: &Path, error: &std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("{what} {}: {}", quote(path), with_causes(error)),
    };
    let opening_failure = |what: &str, path: &Path, error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock => Failure::Environment {
            command: NAME,
            message: format!("{what} {}: {}", quote(path), in_use(context, path)),
        },
        _ => failure(what, path, error),
    };
    // Opened before they are read: nobody else adds to them from now on.
    let journal = args
        .journal
        .as_deref()
        .map(|path| Journal::open(path).map_err(|error| opening_failure("open the journal", path, &error)))
        .transpose()?;
    let log = args.parallel.joblog.as_ref().map(|name| log_path(name, resume));
    let joblog = log.as_ref().map(|(path, opening)| {
        Joblog::open(path, *opening).map_err(|error| opening_failure("open the job log", path, &error))
    });
    let joblog = joblog.transpose()?;
    let done = match (resume, &args.journal, &log) {
        (None, ..) => None,
        (Some(resume), Some(path), _) => {
            Some(JournalDone::read(path, resume).map_err(|error| failure("read the journal", path, &error))?)
        }
        (Some(_), None, Some(_)) if template.names_slot() => {
            return Err(usage("--resume by --joblog cannot know jobs with {%} in their commands; by --journal it can"));
        }
        (Some(resume), None, Some((path, _))) => {
            let commands = if template.is_for_shell() { Commands::ForShell } else { Commands::Words };
            Some(joblog::read(path, resume, commands).map_err(|error| failure("read the job log", path, &error))?)
        }
        (Some(_), None, None) => return Err(usage("--resume needs --journal or --joblog")),
    };
    if let Some(done) = done.as_ref().filter(|done| done.lines_unread > 0) {
        let count = mh_kit::report::counted(done.lines_unread, "line");
        let book = if args.journal.is_some() { "journal" } else { "job log" };
        let message = format!("{count} of the {book} could not be read: an earlier run was cut off");
        context.messages.warning(NAME, &message, &[]);
    }
    Ok(Books { journal, joblog, done })
}

/// Who adds to a journal or log, as far as this can be seen.
fn in_use(context: &Context, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let holder = std::fs::metadata(path).ok().and_then(|file| {
        let device = machine::DeviceNumber::of(file.dev());
        machine::lock_holder(&context.host, device, file.ino()).ok().flatten()
    });
    let name = holder.and_then(|pid| machine::process_name(&context.host, pid).ok().flatten());
    match (holder, name) {
        (Some(pid), Some(name)) => format!("process {pid} ({name}) adds to it"),
        (Some(pid), None) => format!("process {pid} adds to it"),
        (None, _) => "another run adds to it".to_owned(),
    }
}

/// COMPAT: a log begins anew, unless its name begins with + or the run resumes.
fn log_path(name: &OsStr, resume: Option<Resume>) -> (PathBuf, ExistingLog) {
    match name.as_bytes().strip_prefix(b"+") {
        Some(name) => (PathBuf::from(OsStr::from_bytes(name)), ExistingLog::Append),
        None if resume.is_some() => (PathBuf::from(name), ExistingLog::Append),
        None => (PathBuf::from(name), ExistingLog::Replace),
    }
}

/// Standard output and error, for the engine.
pub fn own_streams() -> Result<[Arc<OwnedFd>; 2], Failure> {
    let copy = |stream: std::os::fd::BorrowedFd<'_>| {
        rustix::io::fcntl_dupfd_cloexec(stream, 3).map(Arc::new).map_err(|error| Failure::Environment {
            command: NAME,
            message: format!("use its own output: {}", with_causes(&std::io::Error::from(error))),
        })
    };
    Ok([copy(std::io::stdout().as_fd())?, copy(std::io::stderr().as_fd())?])
}
