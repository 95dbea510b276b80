//! What stands behind numbers: the file of a slow call's descriptor, the path of a control group. Looked up while it is still
//! there, a bounded number at a time.

use super::names::is_on_descriptor;
use super::snapshot::{CallSnapshot, TimeOwner};
use crate::groups::Hierarchies;
use crate::source::words::text_of;
use machine::Host;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// LIMIT: descriptors looked up at once; what is left waits for the next look.
const LOOKS_MAX: usize = 64;
/// LIMIT: directories that are visited to find control groups.
const DIRECTORIES_MAX: usize = 20_000;

/// Files behind the descriptors of the slowest calls, as far as they were looked up in time.
///
/// LIE: between a call's end and the look the process may have closed the descriptor and opened another under its number.
#[derive(Debug, Default)]
pub struct Paths {
    /// Owner and call: how long the call took that was looked at last, and what was found.
    known: HashMap<(TimeOwner, u32), (u64, Option<String>)>,
}

impl Paths {
    /// Looks at those that are new in `snapshot`, and writes into it what is known.
    pub fn look(&mut self, snapshot: &mut CallSnapshot) {
        let mut looks = 0;
        for owner in &mut snapshot.owners {
            for call in owner.calls.iter_mut().filter(|call| is_on_descriptor(call.number)) {
                let Some(slowest) = &mut call.slowest else { continue };
                let key = (owner.who.clone(), call.number);
                let is_known = self.known.get(&key).is_some_and(|(duration, _)| *duration == slowest.duration_ns);
                if !is_known && looks < LOOKS_MAX {
                    looks += 1;
                    let link = format!("/proc/{}/fd/{}", slowest.pid, slowest.first_argument as u32);
                    // Gone: then nobody will ever know.
                    let path = std::fs::read_link(link).ok().map(|path| text_of(path.as_os_str().as_bytes()));
                    self.known.insert(key.clone(), (slowest.duration_ns, path));
                }
                slowest.path = self
                    .known
                    .get(&key)
                    .filter(|(duration, _)| *duration == slowest.duration_ns)
                    .and_then(|(_, path)| path.clone());
            }
        }
    }
}

/// Writes the paths of control groups into `snapshot`, those that still exist.
pub fn name_groups(host: &Host, snapshot: &mut CallSnapshot) {
    let mut wanted: Vec<(u64, &mut Option<String>)> = snapshot
        .owners
        .iter_mut()
        .filter_map(|owner| match &mut owner.who {
            TimeOwner::Group { number, path } => Some((*number, path)),
            _ => None,
        })
        .collect();
    if wanted.is_empty() {
        return;
    }
    let Some(hierarchy) = Hierarchies::find(host).usage else { return };
    let root = hierarchy.mount_point;
    let mut directories = vec![root.clone()];
    for _visit in 0..DIRECTORIES_MAX {
        let Some(folder) = directories.pop() else { break };
        let number = std::fs::metadata(&folder).map(|status| status.ino());
        for (_, path) in wanted.iter_mut().filter(|(group, _)| number.as_ref().is_ok_and(|number| number == group)) {
            **path = Some(format!("{}{}", hierarchy.root, below(&root, &folder)));
        }
        directories.extend(subdirectories(&folder));
    }
}

fn below(root: &Path, folder: &Path) -> String {
    format!("/{}", folder.strip_prefix(root).unwrap_or(folder).display())
}

/// A group that is gone has none.
fn subdirectories(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let directories = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{OwnerTimes, Slowest};
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_descriptor_of_this_process_has_a_path_and_keeps_it_when_closed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut owner = OwnerTimes::new(TimeOwner::All);
        let read = super::super::names::call_number("read").expect("there");
        let slowest = Slowest {
            duration_ns: 5,
            pid: std::process::id(),
            thread: 1,
            first_argument: file.as_raw_fd() as u64,
            path: None,
        };
        owner.call(read).slowest = Some(slowest);
        let mut snapshot = CallSnapshot { owners: vec![owner], ..CallSnapshot::default() };
        let mut paths = Paths::default();
        paths.look(&mut snapshot);
        let path = file.path().display().to_string();
        let found =
            |snapshot: &CallSnapshot| snapshot.owners[0].calls[0].slowest.as_ref().and_then(|call| call.path.clone());
        assert_eq!(found(&snapshot), Some(path.clone()));
        drop(file);
        paths.look(&mut snapshot);
        assert_eq!(found(&snapshot), Some(path), "as it was when the call was new");
        snapshot.owners[0].calls[0].slowest.as_mut().expect("there").pid = u32::MAX;
        snapshot.owners[0].calls[0].slowest.as_mut().expect("there").duration_ns = 6;
        paths.look(&mut snapshot);
        assert_eq!(found(&snapshot), None, "a slower call of a process that is gone");
    }

    #[test]
    fn the_root_group_of_this_host_has_a_path() {
        let host = Host::real();
        let Some(hierarchy) = Hierarchies::find(&host).usage else { return };
        let Ok(status) = std::fs::metadata(&hierarchy.mount_point) else { return };
        let who = TimeOwner::Group { number: status.ino(), path: None };
        let mut snapshot = CallSnapshot { owners: vec![OwnerTimes::new(who)], ..CallSnapshot::default() };
        name_groups(&host, &mut snapshot);
        let TimeOwner::Group { path: Some(path), .. } = &snapshot.owners[0].who else { panic!("{snapshot:?}") };
        assert_eq!(path, &format!("{}/", hierarchy.root));
    }
}
