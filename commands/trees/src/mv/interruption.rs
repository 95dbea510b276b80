//! What a signal is followed by while something is copied to another file system and removed: which side is whole, and how to go on.

use crate::trees::shown;
use mh_kit::context::Context;
use mh_kit::report::counted;
use parking_lot::Mutex;
use std::sync::Arc;
use transfer::copy::Job;

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
            context.last_acts.add(move || {
                if let Some(stage) = &*at_signal.0.lock() {
                    messages.error("mh mv", &format!("{}: interrupted", stage.deed), &stage.hints);
                }
            });
        }
        interruption
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
    let Job { source, target } = jobs.first()?;
    let (source, target) = (shown(source), shown(target));
    let (deed, stay) = match jobs.len() {
        1 => (format!("move {source}"), "the source is whole".to_owned()),
        count => (format!("move {}", counted(count as u64, "argument")), "all sources are whole".to_owned()),
    };
    let way = format!("mh cp -aT --resume {source} {target}");
    let hints = vec![
        format!("{stay}; {target} may have a part of {source}"),
        format!("`{way}` goes on with the copy; then remove the source"),
    ];
    Some(Stage { deed, hints })
}

fn removing(sources: &[Vec<u8>]) -> Option<Stage> {
    let first = shown(sources.first()?);
    let (deed, what) = match sources.len() {
        1 => (format!("remove all of {first}"), "the copy is complete".to_owned()),
        count => (format!("remove all of {count} sources"), "their copies are complete".to_owned()),
    };
    Some(Stage { deed, hints: vec![format!("{what}; `mh rm -r {first}` removes the rest")] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_on_names_both_sides() {
        let job = |name: &str| Job { source: name.into(), target: format!("/mnt/{name}").into() };
        let one = copying(&[job("a b")]).expect("something is copied");
        assert_eq!(one.deed, "move 'a b'");
        assert_eq!(one.hints[0], "the source is whole; '/mnt/a b' may have a part of 'a b'");
        assert_eq!(one.hints[1], "`mh cp -aT --resume 'a b' '/mnt/a b'` goes on with the copy; then remove the source");
        let two = copying(&[job("a"), job("b")]).expect("something is copied");
        assert_eq!(two.deed, "move 2 arguments");
        assert!(two.hints[0].starts_with("all sources are whole"), "{two:?}");
        assert_eq!(copying(&[]), None);
        let rest = removing(&[b"a".to_vec()]).expect("something is removed");
        assert_eq!(rest.hints, ["the copy is complete; `mh rm -r 'a'` removes the rest"]);
        assert_eq!(removing(&[]), None);
    }
}
