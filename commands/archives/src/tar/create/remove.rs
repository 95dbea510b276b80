//! `--remove-files`: what was archived is removed when the archive is complete, and not before. What could not be read whole, or changed
//! meanwhile, stays.

use super::super::list::quoted;
use archive::create::Operand;
use archive::member::{Kind, Member};
use files::{Directory, how};
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Removes a directory, `.` by the name that it has where it lies.
fn remove_directory(directory: Directory<'_>, path: &[u8]) -> io::Result<()> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let Some(above) = path.strip_suffix(b".").filter(|above| above.is_empty() || above.ends_with(b"/")) else {
        return directory.remove_directory(path);
    };
    let above = if above.is_empty() { b"." } else { above };
    let real = files::path_of(&directory.open(above, how::DIRECTORY, 0)?)?;
    Directory::here().remove_directory(&real)
}

/// What is to be removed. LIMIT: a name of each member is kept until the archive is complete.
#[derive(Default)]
pub struct FilesToRemove {
    /// Where the names that were given stand.
    directories: Vec<Arc<OwnedFd>>,
    archived: Vec<(usize, Vec<u8>, Kind)>,
    stays: HashSet<Vec<u8>>,
}

impl FilesToRemove {
    pub fn of(operands: &[Operand]) -> Self {
        Self { directories: operands.iter().map(|operand| Arc::clone(&operand.directory)).collect(), ..Self::default() }
    }

    /// A member was archived.
    pub fn note(&mut self, operand: usize, path: &[u8], member: &Member) {
        self.archived.push((operand, path.to_vec(), member.kind));
    }

    /// The archive does not have it as it is now.
    pub fn keep(&mut self, path: &[u8]) {
        self.stays.insert(path.to_vec());
    }

    /// Removes all of it, directories behind what is in them. How many could not be.
    pub fn carry_out(self, context: &Context) -> u64 {
        let mut failed = 0;
        for (operand, path, kind) in self.archived.iter().rev() {
            if self.stays.contains(path) {
                continue;
            }
            let directory = Directory::of(&self.directories[*operand]);
            let removed = match kind {
                Kind::Directory => remove_directory(directory, path),
                _ => directory.unlink(path),
            };
            let Err(error) = removed else { continue };
            // COMPAT: what is gone already was to go.
            if error.kind() == io::ErrorKind::NotFound {
                continue;
            }
            failed += 1;
            let why = with_causes(&error);
            let verb = if *kind == Kind::Directory { "rmdir" } else { "unlink" };
            let theirs = format!("{}: Cannot {verb}: {why}", super::super::messages::plain(path));
            super::super::messages::failed(context, &theirs, &format!("remove {}: {why}", quoted(path)));
        }
        failed
    }
}
