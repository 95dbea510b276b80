//! `--dry-run`: the commands as a shell would take them, one a line, in the order of the list. Runs nothing.
//! The slot `{%}` is not known before a run and is shown as 1.

use super::NAME;
use super::plan::Job;
use jobs::Variables;
use jobs::list::ListItem;
use jobs::run::JobSource;
use jobs::shell_words::{self, Controls};
use jobs::spec::{ExistingOutput, More, OutputTarget};
use jobs::template::JobPosition;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use rustix::event::{PollFd, PollFlags, poll};
use terminal::{Delivery, TextOutput};

/// Prints all commands.
pub fn show(context: &Context, mut job: Job) -> Result<Outcome, Failure> {
    let failure = |error: &std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("write to standard output: {}", with_causes(error)),
    };
    let mut source = job.source.take().expect("a plan has a source, and it is taken once").open()?;
    let mut output = TextOutput::standard();
    loop {
        let line = match next(&mut source) {
            Ok(None) => break,
            Ok(Some(ListItem::Barrier)) => "%%".to_owned(),
            Ok(Some(ListItem::Job(spec))) => {
                let place = JobPosition { number: spec.number, slot: 1 };
                let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
                // Words of a list have no NUL, so composing them cannot fail.
                let words = job.options.template.compose(&spec.words, place, is_for_shell).unwrap_or_default();
                around(&shell_line(&words), spec.more.as_deref(), &job.options.defaults)
            }
            Err(message) => {
                context.messages.error(NAME, &format!("read {}: {message}", job.list_name), &[]);
                output.finish().map(drop).map_err(|error| failure(&error))?;
                return Ok(Outcome::Partial);
            }
        };
        match output.line(&line).map_err(|error| failure(&error))? {
            Delivery::Taken => {}
            Delivery::ReaderGone => return Err(Failure::BrokenPipe),
        }
    }
    match output.finish().map_err(|error| failure(&error))? {
        Delivery::Taken => Ok(Outcome::Done),
        Delivery::ReaderGone => Err(Failure::BrokenPipe),
    }
}

/// A command with its directory, variables and files, as a shell would be told of them. `>` stands for what makes a new file, too.
fn around(command: &str, own: Option<&More>, defaults: &More) -> String {
    let none = More::default();
    let own = own.unwrap_or(&none);
    let mut line = own.directory.iter().map(|directory| format!("cd {}; ", quoted(directory))).collect::<String>();
    line.extend(own.variables.iter().map(|variable| format!("{} ", assignment(variable))));
    line.push_str(command);
    line.extend(own.stdin.as_ref().or(defaults.stdin.as_ref()).map(|path| format!(" < {}", quoted(path))));
    let stdout = own.stdout.as_ref().or(defaults.stdout.as_ref());
    let stderr = own.stderr.as_ref().or(defaults.stderr.as_ref());
    let sign = |target: &OutputTarget| if target.opening == ExistingOutput::Append { ">>" } else { ">" };
    line.extend(stdout.map(|target| format!(" {} {}", sign(target), quoted(&target.path))));
    match stderr {
        Some(_) if stderr == stdout => line.push_str(" 2>&1"),
        Some(target) => line.push_str(&format!(" 2{} {}", sign(target), quoted(&target.path))),
        None => {}
    }
    line
}

/// `NAME=VALUE` with the value quoted, as a shell takes it before a command.
fn assignment(variable: &[u8]) -> String {
    let at = variable.iter().position(|&byte| byte == b'=').map_or(variable.len(), |at| at + 1);
    let (name, value) = variable.split_at(at);
    format!("{}{}", String::from_utf8_lossy(name), quoted(value))
}

fn quoted(word: &[u8]) -> String {
    String::from_utf8_lossy(&shell_words::join(std::iter::once(word), Controls::Raw)).into_owned()
}

/// The next item, waiting for it.
pub fn next(source: &mut JobSource) -> Result<Option<ListItem>, String> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Some(item) = source.next_item().map_err(|fault| with_causes(&fault))? {
            return Ok(Some(item));
        }
        if source.is_exhausted() {
            return Ok(None);
        }
        if let Some(input) = source.descriptor() {
            // Interrupted, it is asked again below.
            let _or_interrupted = poll(&mut [PollFd::from_borrowed_fd(input, PollFlags::IN)], None);
        }
        source.read_once(&mut buffer).map_err(|error| with_causes(&error))?;
    }
}

/// Words as a POSIX shell reads them back.
pub fn shell_line(words: &Variables) -> String {
    String::from_utf8_lossy(&shell_words::join(words.iter(), Controls::Raw)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_would_read_the_same_words() {
        let mut words = Variables::default();
        [&b"a-b"[..], b"", b"c d", b"it's", b"$x"].iter().try_for_each(|word| words.push(word)).expect("no NUL");
        assert_eq!(shell_line(&words), r"a-b '' 'c d' 'it'\''s' '$x'");
    }

    #[test]
    fn directory_variables_and_files_stand_around_a_command() {
        let target = |path: &str, opening| Some(OutputTarget { path: path.as_bytes().to_vec(), opening });
        let own = More {
            directory: Some(b"a b".to_vec()),
            variables: vec![b"X=1 2".to_vec()],
            stdin: Some(b"i".to_vec()),
            stdout: target("o", ExistingOutput::New),
            stderr: target("e", ExistingOutput::Append),
            ..More::default()
        };
        assert_eq!(around("c", Some(&own), &More::default()), "cd 'a b'; X='1 2' c < i > o 2>> e");
        let both = More {
            stdout: target("o", ExistingOutput::Append),
            stderr: target("o", ExistingOutput::Append),
            ..More::default()
        };
        assert_eq!(around("c", None, &both), "c >> o 2>&1");
    }
}
