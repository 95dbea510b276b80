//! Any bytes as a journal and as GNU parallel's job log, read back by `--resume`; and as a command line that is divided into words:
//! what is divided, joined and divided again is the same.

use jobs::joblog::Commands;
use jobs::journal::{JournalDone, Resume};
use jobs::shell_words::{Controls, join, split};

/// Runs one input.
pub fn run(input: &[u8]) {
    for resume in [Resume::Ended, Resume::Succeeded] {
        JournalDone::read_from(input, resume).expect("memory can be read");
        for commands in [Commands::Words, Commands::ForShell] {
            jobs::joblog::read_from(input, resume, commands).expect("memory can be read");
        }
    }
    for line in input.split(|&byte| byte == b'\n') {
        let Some(words) = split(line) else { continue };
        for controls in [Controls::Raw, Controls::Escaped] {
            let joined = join(words.iter().map(Vec::as_slice), controls);
            assert_eq!(split(&joined).as_ref(), Some(&words));
        }
    }
}
