//! Whether a run is so small that it is over before a second hand, or anybody else, could be of use. Such a run works on one core, takes
//! part in no budget, reads nothing about the machine, and is not ended by signals in its midst.

use super::TarArgs;
use crew::budget::Priority;
use mh_kit::outset::{Outset, outset};
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use transfer::operand::directory_of;

/// LIMIT: what one core reads or writes in less than a millisecond.
const SMALL_BYTES: u64 = 256 << 10;

/// LIMIT: to look at more entries beforehand costs more than it saves.
const FEW_ENTRIES: usize = 64;

/// Where a tar header says what it is (POSIX ustar).
const MAGIC: (u64, &[u8; 5]) = (257, b"ustar");

/// Whether this run is small. What may wait for somebody, or has to be unpacked, is not.
pub fn is_small(args: &TarArgs) -> bool {
    let Some(archive) = args.archive().filter(|path| *path != Path::new("-")) else { return false };
    let waits = args.verbose > 0
        || args.telling.interactive
        || args.to_stdout
        || args.packing.use_compress_program.is_some()
        || args.selection.has_list
        || args.volumes.are_several()
        || args.to_command.is_some()
        || super::incremental::is_wanted(args);
    let has_wishes = args.shared.hands_asked().is_some() || args.shared.priority().class() < Priority::Normal;
    if waits || has_wishes {
        return false;
    }
    let archive_bytes = archive.as_os_str().as_bytes();
    let (is_small, mut places) = match () {
        () if args.operation.extract => (is_small_and_plain(archive), vec![archive_bytes, b"."]),
        // Behind links may be anything, and a device or a pipe takes its time.
        () if args.operation.create && args.choice.directory.is_empty() && !args.walk.dereference => {
            let becomes_a_file = fs::metadata(archive).map_or(true, |there| there.is_file());
            (becomes_a_file && are_few_and_small(args), vec![directory_of(archive_bytes)])
        }
        () => return false,
    };
    places.extend(args.choice.directory.iter().map(|directory| directory.as_os_str().as_bytes()));
    places.extend(args.names.iter().filter(|_| args.operation.create).map(|name| name.as_bytes()));
    is_small && outset(places.into_iter()) == Outset::MayBeBrief
}

fn is_small_and_plain(archive: &Path) -> bool {
    let is_fit = |found: Metadata| found.is_file() && found.len() <= SMALL_BYTES;
    let mut magic = [0; MAGIC.1.len()];
    fs::metadata(archive).is_ok_and(is_fit)
        && File::open(archive).is_ok_and(|file| file.read_exact_at(&mut magic, MAGIC.0).is_ok())
        && magic == *MAGIC.1
}

fn are_few_and_small(args: &TarArgs) -> bool {
    let (mut entries, mut bytes) = (FEW_ENTRIES, SMALL_BYTES);
    args.names.iter().all(|name| spend(Path::new(name), &mut entries, &mut bytes).is_some())
}

/// Takes what is below `path` off both budgets; none where one is used up, or something is in the way.
fn spend(path: &Path, entries: &mut usize, bytes: &mut u64) -> Option<()> {
    *entries = entries.checked_sub(1)?;
    let found = fs::symlink_metadata(path).ok()?;
    if found.is_dir() {
        for entry in fs::read_dir(path).ok()? {
            spend(&entry.ok()?.path(), entries, bytes)?;
        }
    } else if found.is_file() {
        *bytes = bytes.checked_sub(found.len())?;
    } else if !found.is_symlink() {
        return None;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(path: &Path) -> Option<(usize, u64)> {
        let (mut entries, mut bytes) = (FEW_ENTRIES, SMALL_BYTES);
        spend(path, &mut entries, &mut bytes).map(|()| (FEW_ENTRIES - entries, SMALL_BYTES - bytes))
    }

    #[test]
    fn a_tree_is_small_by_entries_and_by_bytes() {
        let place = tempfile::tempdir().expect("a directory");
        let inner = place.path().join("inner");
        fs::create_dir(&inner).expect("make");
        fs::write(inner.join("file"), [1; 1000]).expect("write");
        std::os::unix::fs::symlink("nowhere", inner.join("link")).expect("link");
        assert_eq!(spent(place.path()), Some((4, 1000)));
        fs::write(inner.join("large"), vec![1; SMALL_BYTES as usize]).expect("write");
        assert_eq!(spent(place.path()), None);
        fs::remove_file(inner.join("large")).expect("remove");
        (0..FEW_ENTRIES).for_each(|number| fs::write(place.path().join(number.to_string()), "").expect("write"));
        assert_eq!(spent(place.path()), None);
        assert_eq!(spent(&inner.join("not there")), None);
    }

    #[test]
    fn an_archive_is_small_if_it_is_short_and_plain() {
        let place = tempfile::tempdir().expect("a directory");
        let archive = place.path().join("a.tar");
        let mut bytes = vec![0; 1024];
        bytes[257..262].copy_from_slice(b"ustar");
        fs::write(&archive, &bytes).expect("write");
        assert!(is_small_and_plain(&archive));
        fs::write(&archive, [0x1f, 0x8b, 8, 0]).expect("write");
        assert!(!is_small_and_plain(&archive), "packed");
        bytes.resize(SMALL_BYTES as usize + 1, 0);
        fs::write(&archive, &bytes).expect("write");
        assert!(!is_small_and_plain(&archive), "long");
        assert!(!is_small_and_plain(place.path()), "a directory");
    }
}
