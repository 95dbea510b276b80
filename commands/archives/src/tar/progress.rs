//! How far a run of `mh tar` is, on a terminal: bytes of the archive, or of what goes into one.

use super::archive::Opened;
use super::args::TarArgs;
use super::selection::SelectionStep;
use ::archive::member::{BLOCK_BYTES, padded};
use crew::tally::Tally;
use files::Identity;
use files::survey::{Survey, SurveyRules};
use mh_kit::context::Context;
use mh_kit::progress::{self, Total};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use terminal::{Progress, ProgressSample};

/// The line about an archive that is read, by a run with a decoder of its own or without.
pub fn of_reading(
    context: &Context,
    label: String,
    opened: &Opened,
    [own, decoder]: [&Arc<Tally>; 2],
) -> Option<Progress> {
    let (counted, total_bytes) = opened.counter(own, decoder);
    let (counted, own, decoder) = (Arc::clone(counted), Arc::clone(own), Arc::clone(decoder));
    shown(context, move || ProgressSample {
        label: label.clone(),
        done_bytes: counted.bytes_done(),
        total_bytes,
        hands: Some(own.hands() + decoder.hands()),
        ..ProgressSample::default()
    })
}

/// The line about an archive that is made of what `survey` counts.
pub fn of_creating(
    context: &Context,
    args: &TarArgs,
    name: &str,
    tally: &Arc<Tally>,
    survey: Option<Survey>,
) -> Option<Progress> {
    if args.verbose > 0 || args.telling.interactive {
        return None;
    }
    let (tally, label, mut total) = (Arc::clone(tally), format!("creating {name}"), Total::of(survey));
    shown(context, move || ProgressSample {
        label: label.clone(),
        done_bytes: tally.bytes_done(),
        total_bytes: total.look().map(|whole| whole.bytes),
        hands: Some(tally.hands()),
        ..ProgressSample::default()
    })
}

fn shown(context: &Context, sample: impl FnMut() -> ProgressSample + Send + 'static) -> Option<Progress> {
    progress::is_shown(context).then(|| Progress::start(&context.messages, sample))
}

/// Counts what there is to archive, without the files that are `never` archived; none if less than all of it may be.
pub fn survey(args: &TarArgs, never: &HashSet<Identity>) -> Option<Survey> {
    let signs = &args.signs;
    let are_tagged =
        [&signs.exclude_tag, &signs.exclude_tag_under, &signs.exclude_tag_all].iter().any(|names| !names.is_empty());
    let is_chosen = !args.selection.excluded.is_empty()
        || args.selection.has_list
        || args.selection.named().any(|named| !named.manner.beneath)
        || are_tagged;
    let is_cached = signs.exclude_caches
        || signs.exclude_caches_under
        || signs.exclude_caches_all
        || signs.exclude_vcs_ignores
        || !signs.exclude_ignore.is_empty()
        || !signs.exclude_ignore_recursive.is_empty();
    let is_newer =
        args.choice.newer.is_some() || args.choice.newer_mtime.is_some() || super::incremental::is_wanted(args);
    let walk = &args.walk;
    let is_cut = walk.one_file_system || walk.dereference || args.sparse || args.operation.update;
    if is_chosen || is_cached || is_newer || is_cut {
        return None;
    }
    let operands = paths_of_all(args)?;
    let rules = SurveyRules { weigh, follows_operands: false, weighs_links_once: !walk.hard_dereference };
    Some(Survey::new(operands, rules).without(never.clone()))
}

/// The names as paths from here; none if they are in several directories: a `-C` is for the names behind it.
fn paths_of_all(args: &TarArgs) -> Option<Vec<PathBuf>> {
    let (mut directory, mut paths) = (PathBuf::new(), Vec::new());
    for step in &args.selection.steps {
        match step {
            SelectionStep::Enter(_) if !paths.is_empty() => return None,
            SelectionStep::Enter(path) => directory.push(path),
            SelectionStep::Name(named) => paths.push(directory.join(OsStr::from_bytes(&named.name))),
        }
    }
    Some(paths)
}

/// Bytes of an entry in an archive as it is made by default: its header, one more for long values, the data.
fn weigh(metadata: &Metadata) -> u64 {
    let block = BLOCK_BYTES as u64;
    // Parts of a second are stored in a header of their own, with its own data.
    let extended = if metadata.mtime_nsec() == 0 { 0 } else { 2 * block };
    let data = if metadata.is_file() { padded(metadata.len()) } else { 0 };
    block + extended + data
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn what_is_counted_beforehand_is_what_is_archived() {
        let place = tempfile::tempdir().expect("a directory");
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("d")).expect("a directory");
        ["d/a", "d/b", "d/x.tar"].into_iter().for_each(|name| fs::write(path(name), name).expect("a file"));
        let own = Identity::from(&fs::metadata(path("d/x.tar")).expect("a file"));
        let counted = |typed: &[&str]| {
            let typed: Vec<_> = typed.iter().map(|word| word.replace('@', &place.path().to_string_lossy())).collect();
            let matches =
                crate::tar::command().get_matches_from(["tar", "-c"].map(str::to_owned).into_iter().chain(typed));
            let mut args = TarArgs::from_arg_matches(&matches).expect("good options");
            args.selection = crate::tar::selection::TypedSelection::of(&matches).expect("names");
            let mut survey = survey(&args, &HashSet::from([own]))?;
            survey.go_on(Duration::MAX).map(|whole| whole.entries)
        };
        assert_eq!(counted(&["@/d"]), Some(3), "the archive does not count itself");
        assert_eq!(counted(&["-C", "@/d", "a", "b"]), Some(2));
        assert_eq!(counted(&["a", "-C", "@/d", "b"]), None, "they are in two directories");
        assert_eq!(counted(&["@/d/a", "-C", "@/d"]), None);
        assert_eq!(counted(&["-C", "@", "-C", "d", "a"]), Some(1));
        assert_eq!(counted(&["-C", "@", "d/a", "-C", "d", "b"]), None);
    }
}
