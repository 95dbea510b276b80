//! What a signal is followed by while something is copied to another file system and removed: which side is whole, and how to go on.

use crate::trees::shown;
use mh_kit::context::Context;
use mh_kit::report::counted;
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use terminal::Messages;
use transfer::copy::Job;

/// LIMIT: for a terminal that takes no text; then the process ends without the message.
const PATIENCE: Duration = Duration::from_millis(300);

/// Says it when the signal comes. COMPAT: under the old name nothing is said.
#[derive(Clone, Default)]
pub struct Interruption(Arc<Mutex<Option<Stage>>>);

/// What is at work.
#[derive(Debug, PartialEq, Eq)]
struct Stage {
    deed: String,
    hints: Vec<String>,
}

impl Interruption {
    /// From here on signals are followed by it.
    pub fn of(context: &Context) -> Self {
        let interruption = Self::default();
        if context.program == "mh mv" {
            let (at_signal, messages) = (interruption.clone(), context.messages.clone());
            context.last_acts.add(move || at_signal.say(&messages));
        }
        interruption
    }

    /// Says what it is now. The process is about to end: no later stage begins, or what is said would be false.
    fn say(&self, messages: &Messages) {
        let stage = self.0.lock();
        if let Some(Stage { deed, hints }) = &*stage {
            let (messages, text, hints) = (messages.clone(), format!("{deed}: interrupted"), hints.clone());
            let (tell, told) = mpsc::sync_channel(1);
            let thread = std::thread::Builder::new().spawn(move || {
                messages.error("mh mv", &text, &hints);
                let _nobody_waits_any_more = tell.send(());
            });
            if thread.is_ok() {
                let _a_terminal_that_takes_nothing = told.recv_timeout(PATIENCE);
            }
        }
        std::mem::forget(stage);
    }

    /// Nothing is removed yet.
    pub fn copies(&self, jobs: &[Job]) {
        *self.0.lock() = copying(jobs);
    }

    /// All of these have a complete copy.
    pub fn removes(&self, sources: &[Vec<u8>]) {
        *self.0.lock() = removing(sources);
    }

    /// Neither.
    pub fn is_over(&self) {
        *self.0.lock() = None;
    }
}

fn copying(jobs: &[Job]) -> Option<Stage> {
    let (deed, whole, way) = match jobs {
        [] => return None,
        [Job { source, target }] => {
            let names = format!("{} {}", operand(source), operand(target));
            (format!("move {}", shown(source)), "the source is whole; the target may have a part of it", names)
        }
        jobs => {
            let deed = format!("move {}", counted(jobs.len() as u64, "argument"));
            (deed, "the sources are whole; each target may have a part of its source", "SOURCE TARGET".to_owned())
        }
    };
    let way = format!("`mh cp -aT --resume {way}` goes on with the copy; remove the source when that has succeeded");
    Some(Stage { deed, hints: vec![whole.to_owned(), way] })
}

fn removing(sources: &[Vec<u8>]) -> Option<Stage> {
    let (deed, hint) = match sources {
        [] => return None,
        [source] => {
            let way = format!("its copy is complete; `mh rm -r {}` removes the rest", operand(source));
            (format!("remove all of {}", shown(source)), way)
        }
        sources => {
            let way =
                "sources without a message have a complete copy; `mh rm -r` removes what is left of them".to_owned();
            (format!("remove all of {} sources", sources.len()), way)
        }
    };
    Some(Stage { deed, hints: vec![hint] })
}

/// A name as a shell and then a command take it.
fn operand(path: &[u8]) -> String {
    if path.starts_with(b"-") { shown(&[b"./", path].concat()) } else { shown(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_on_names_both_sides() {
        let job = |name: &str| Job { source: name.into(), target: format!("/mnt/{name}").into() };
        let one = copying(&[job("a b")]).expect("something is copied");
        assert_eq!(one.deed, "move 'a b'");
        assert!(one.hints[1].starts_with("`mh cp -aT --resume 'a b' '/mnt/a b'` goes on with the copy"), "{one:?}");
        let dash = copying(&[job("-f")]).expect("something is copied");
        assert!(dash.hints[1].contains(" './-f' '/mnt/-f'`"), "{dash:?}");
        let two = copying(&[job("a"), job("b")]).expect("something is copied");
        assert_eq!(two.deed, "move 2 arguments");
        assert!(two.hints.iter().all(|hint| !hint.contains("'a'")), "neither is named for both: {two:?}");
        assert_eq!(copying(&[]), None);
        let rest = removing(&[b"a".to_vec()]).expect("something is removed");
        assert_eq!(rest.hints, ["its copy is complete; `mh rm -r 'a'` removes the rest"]);
        assert_eq!(removing(&[]), None);
    }
}
