//! What a run of a command shows of itself on a terminal while it lasts, and in one line at its end. Under the name of an old tool it shows
//! nothing that the tool does not: scripts compare what stands on standard error.

use crate::context::Context;
use files::survey::{Survey, Surveyed};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

/// Shorter runs end without a summary: they showed no progress either.
const SUMMARY_AFTER: Duration = Duration::from_millis(500);

/// Between two lines of progress the total is counted for at most so long: a tenth of one core's time.
const SURVEYED_A_TIME: Duration = Duration::from_millis(20);

/// Whether progress is shown at all.
pub fn is_shown(context: &Context) -> bool {
    context.has_own_name() && context.messages.shows_progress()
}

/// Prints `line` for a run that `took` so long, if somebody has seen its progress or asked for details.
pub fn summarize(context: &Context, took: Duration, is_verbose: bool, line: impl FnOnce() -> String) {
    if is_shown(context) && (is_verbose || took >= SUMMARY_AFTER) {
        context.messages.report(&line());
    }
}

/// Whether standard output goes to another program, which may have the terminal for itself (`less`).
pub fn output_is_piped() -> bool {
    let own = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let kind = own.and_then(|file| file.metadata()).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

/// The total of a run, as far as it is known. Asked for before each line of progress.
pub struct Total {
    survey: Option<Survey>,
    is_first: bool,
}

impl Total {
    /// What `survey` will find; none if the run may do less than it finds.
    pub fn of(survey: Option<Survey>) -> Self {
        Self { survey, is_first: true }
    }

    /// Counts on for a little while. What a short run amounts to nobody sees: nothing is counted when it begins.
    pub fn look(&mut self) -> Option<Surveyed> {
        if std::mem::take(&mut self.is_first) {
            return None;
        }
        self.survey.as_mut()?.go_on(SURVEYED_A_TIME)
    }
}
