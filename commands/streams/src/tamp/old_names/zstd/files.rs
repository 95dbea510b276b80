//! Which files zstd works on, and where several go: links are passed over, lists and directories are gone through, and
//! several inputs into one file are asked about. Opens no output (`tamp::gather` does).

use super::super::{Wish, name_of};
use super::{ERROR, say, say_notes, shown_name};
use crate::tamp::manners::OutputDirectory;
use crate::tamp::names::{self, Found, LeftAlone, OthersInside};
use crate::tamp::question;
use mh_kit::failure::with_causes;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use terminal::Verbosity;

/// LIMIT: as zstd has it.
const DICTIONARY_BYTES_MAX: u64 = 32 << 20;

/// Makes of what was named the files that are worked on.
pub(super) fn settle(wish: &mut Wish) -> Result<(), String> {
    pass_over_links(wish)?;
    for list in std::mem::take(&mut wish.zstd.lists) {
        let before = wish.args.files.len();
        let read = super::super::add_files_of(wish, list.as_os_str(), b'\n');
        // COMPAT: an empty list is an error too.
        if read.is_err() || wish.args.files.len() == before {
            return Err(format!("error reading {} ", name_of(&list)));
        }
    }
    if wish.args.recursive {
        let mut left_alone = Vec::new();
        // COMPAT: with -f links are none of these.
        let others = if wish.args.force { OthersInside::PassedOver } else { OthersInside::LeftAlone };
        let mut found = names::expand(&wish.args.files, true, others, &mut left_alone);
        let reads_anything = wish.args.stdout || wish.args.output.is_some() || wish.args.test || wish.args.list;
        for (path, why) in left_alone {
            let name = shown_name(&path);
            match why {
                LeftAlone::Unreadable(error) => {
                    say(wish, Verbosity::Quiet, &format!("Cannot open directory '{name}': {error}"));
                }
                LeftAlone::SymbolicLink => {
                    say(wish, Verbosity::Normal, &format!("Warning : {name} is a symbolic link, ignoring"));
                }
                // Without an output of its own, such a file would be read.
                LeftAlone::NotAFile if reads_anything => {
                    wish.args.manners.codes.note(1);
                    say(wish, Verbosity::Quiet, &format!("zstd: {name} is not a regular file -- ignored "));
                }
                // COMPAT: it counts as an input, and is reported with these.
                LeftAlone::NotAFile => found.push(Found { path, by_walking: true }),
                _ => {}
            }
        }
        wish.args.recursive = false;
        let named_any = !wish.args.files.is_empty();
        wish.args.files = found.into_iter().map(|found| found.path).collect();
        wish.names_files |= named_any;
        if named_any && wish.args.files.is_empty() {
            let words = "please provide correct input file(s) or non-empty directories -- ignored ";
            say(wish, Verbosity::Quiet, words);
        }
    }
    Ok(())
}

/// COMPAT: a link to a FIFO is none.
fn pass_over_links(wish: &mut Wish) -> Result<(), String> {
    if wish.args.force || wish.args.files.is_empty() {
        return Ok(());
    }
    let is_fifo = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
    let is_passed_over = |path: &Path| path.is_symlink() && !is_fifo(path);
    let files = std::mem::take(&mut wish.args.files);
    let (links, files): (Vec<PathBuf>, _) = files.into_iter().partition(|path| is_passed_over(path));
    for link in links {
        wish.notes.push(format!("Warning : {} is a symbolic link, ignoring ", shown_name(&link)));
    }
    if files.is_empty() {
        return Err(std::mem::take(&mut wish.notes).join("\n"));
    }
    wish.args.files = files;
    Ok(())
}

/// Whether the dictionary can be used, and not as an input, too.
pub(super) fn check_dictionary(wish: &mut Wish) -> Result<(), String> {
    let Some(dictionary) = wish.args.dictionary.clone() else { return Ok(()) };
    let name = shown_name(&dictionary);
    let there = match std::fs::metadata(&dictionary) {
        Ok(there) if there.is_file() => there,
        Ok(_) => return Err(format!("{ERROR}32 : Dictionary {name} must be a regular file. ")),
        Err(error) => {
            let words = with_causes(&error);
            return Err(format!("{ERROR}31 : Stat failed on dictionary file {name}: {words} "));
        }
    };
    if let Err(error) = std::fs::File::open(&dictionary) {
        return Err(format!("{ERROR}33 : Couldn't open dictionary {name}: {} ", with_causes(&error)));
    }
    if there.len() > DICTIONARY_BYTES_MAX {
        return Err(format!("{ERROR}34 : Dictionary file {name} is too large (> {DICTIONARY_BYTES_MAX} bytes) "));
    }
    if !wish.unpacks() {
        leave_out(wish, (there.dev(), there.ino()));
    }
    Ok(())
}

/// Leaves out the inputs that are the dictionary.
fn leave_out(wish: &mut Wish, dictionary: (u64, u64)) {
    let is_it =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == dictionary);
    let (same, files): (Vec<PathBuf>, _) = std::mem::take(&mut wish.args.files).into_iter().partition(is_it);
    wish.names_files |= !same.is_empty();
    wish.args.files = files;
    for path in same {
        wish.args.manners.codes.note(1);
        let words = format!("zstd: cannot use {} as an input file and dictionary ", shown_name(&path));
        say(wish, Verbosity::Quiet, &words);
    }
}

/// zstd's warning before several inputs become one output, and its question.
pub(super) fn settle_output(wish: &mut Wish) -> Result<(), String> {
    if wish.args.test {
        // COMPAT: nothing is written.
        wish.args.output = None;
    }
    if wish.args.output.as_deref() == Some(Path::new("-")) {
        (wish.args.output, wish.args.stdout) = (None, true);
    }
    tell_of_equal_names(wish);
    if wish.args.force && wish.args.output.is_none() && !wish.args.stdout {
        // Twice the same file is twice the same output.
        let mut seen = std::collections::HashSet::new();
        wish.args.files.retain(|file| file == Path::new("-") || seen.insert(file.clone()));
    }
    let is_read_alone = wish.args.test || wish.args.list || wish.args.files.len() < 2;
    if is_read_alone || (wish.args.output.is_none() && !wish.args.stdout) {
        return Ok(());
    }
    let loses = "The concatenated output CANNOT regenerate original file names nor directory structure. ";
    let Some(output) = wish.args.output.clone() else {
        let words = "zstd: WARNING: all input files will be processed and concatenated into stdout. ";
        say(wish, Verbosity::Verbose, &format!("{words}\n{loses}"));
        return Ok(());
    };
    let words = "zstd: WARNING: all input files will be processed and concatenated into a single output file: ";
    say(wish, Verbosity::Normal, &format!("{words}{} \n{loses}", shown_name(&output)));
    if wish.keep == Some(false) {
        say(wish, Verbosity::Normal, "Since it's a destructive operation, input files will not be removed. ");
        wish.keep = None;
    }
    wish.args.gathers = true;
    match wish.args.force {
        true => Ok(()),
        false if wish.args.quiet > 0 => Err("Concatenating multiple processed inputs into a single output loses file \
                                             metadata. \nAborting. "
            .to_owned()),
        false => ask(wish),
    }
}

fn ask(wish: &mut Wish) -> Result<(), String> {
    if wish.args.files.iter().any(|file| file == Path::new("-")) {
        return Err("stdin is an input - not proceeding.".to_owned());
    }
    say_notes(wish);
    if question::is_yes("Proceed? (y/n): ") { Ok(()) } else { Err("Aborting... ".to_owned()) }
}

/// Inputs whose outputs would have the same name in one directory.
fn tell_of_equal_names(wish: &mut Wish) {
    let is_flat = matches!(wish.args.manners.directory, Some(OutputDirectory::Flat(_)));
    if !is_flat || wish.args.stdout || wish.args.output.is_some() {
        return;
    }
    let mut names: Vec<String> = wish.args.files.iter().filter_map(|path| path.file_name()).map(shown_name).collect();
    names.sort_unstable();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        wish.notes.push(format!("WARNING: Two files have same filename: {}", pair[0]));
    }
}
