//! How far a run of `mh tar` is, on a terminal: bytes of the archive, or of what goes into one.

use super::archive::Opened;
use super::args::TarArgs;
use ::archive::member::{BLOCK_BYTES, padded};
use clap::ArgMatches;
use crew::tally::Tally;
use files::Identity;
use files::survey::{Survey, SurveyRules};
use mh_kit::context::Context;
use mh_kit::progress::{self, Total};
use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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
    if args.verbose > 0 {
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
pub fn survey(args: &TarArgs, matches: &ArgMatches, never: &HashSet<Identity>) -> Option<Survey> {
    let chosen = [&args.choice.exclude, &args.choice.exclude_tag, &args.choice.exclude_tag_under];
    let is_chosen = chosen.iter().any(|names| !names.is_empty())
        || !args.choice.files_from.is_empty()
        || !args.choice.exclude_from.is_empty()
        || !args.choice.exclude_tag_all.is_empty();
    let is_cached = args.choice.exclude_vcs
        || args.choice.exclude_caches
        || args.choice.exclude_caches_under
        || args.choice.exclude_caches_all;
    let is_newer =
        args.choice.newer.is_some() || args.choice.newer_mtime.is_some() || args.listed_incremental.is_some();
    let walk = &args.walk;
    let is_cut = walk.one_file_system || walk.dereference || walk.no_recursion || args.sparse || args.operation.update;
    if is_chosen || is_cached || is_newer || is_cut {
        return None;
    }
    let directory = directory_of_all(args, matches)?;
    let operands = args.names.iter().map(|name| directory.join(name)).collect();
    let rules = SurveyRules { weigh, follows_operands: false, weighs_links_once: !walk.hard_dereference };
    Some(Survey::new(operands, rules).without(never.clone()))
}

/// The directory that all names are in; none if there are several: a `-C` is for the names behind it.
fn directory_of_all<'a>(args: &'a TarArgs, matches: &ArgMatches) -> Option<&'a Path> {
    match args.directory.as_slice() {
        [] => Some(Path::new("")),
        [directory] if matches.index_of("directory") < matches.index_of("names") => Some(directory),
        _ => None,
    }
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
            let args = TarArgs::from_arg_matches(&matches).expect("good options");
            let mut survey = survey(&args, &matches, &HashSet::from([own]))?;
            survey.go_on(Duration::MAX).map(|whole| whole.entries)
        };
        assert_eq!(counted(&["@/d"]), Some(3), "the archive does not count itself");
        assert_eq!(counted(&["-C", "@/d", "a", "b"]), Some(2));
        assert_eq!(counted(&["a", "-C", "@/d", "b"]), None, "they are in two directories");
        assert_eq!(counted(&["@/d/a", "-C", "@/d"]), None);
        assert_eq!(counted(&["-C", "@", "d/a", "-C", "d", "b"]), None);
    }
}
