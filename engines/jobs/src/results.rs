//! Outputs in files that stay (`--results`), in GNU parallel's layout: `DIR/1/VALUE/2/VALUE/{stdout,stderr,seq}`, or with
//! placeholders in the name NAME, NAME.err and NAME.seq. What is kept so is not passed on besides.

use crate::start::StartFault;
use crate::template::{JobPosition, Template};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use sys::spawn::Words;

/// How the files are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultLayout {
    /// Below this directory, two levels for each of the job's words.
    Directory(PathBuf),
    /// This name, filled in.
    Name(Template),
}

/// LIMIT: the longest name of a file on Linux.
const NAME_BYTES_MAX: usize = 255;

/// One job's files.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    names: [PathBuf; 2],
    files: [Option<File>; 2],
}

impl OutputFiles {
    /// Makes the directories, and notes the job's number beside the files that are to come.
    pub fn prepare(layout: &ResultLayout, own: &Words, place: JobPosition) -> Result<Self, StartFault> {
        let (names, number_name) = match layout {
            ResultLayout::Directory(directory) => {
                let directory = own_directory(directory, own, place.number);
                ([directory.join("stdout"), directory.join("stderr")], directory.join("seq"))
            }
            ResultLayout::Name(template) => {
                let words = template
                    .compose(own, place, false)
                    .map_err(|nul| StartFault::Words(io::Error::new(io::ErrorKind::InvalidInput, nul)))?;
                let name = words.get(0).unwrap_or_default();
                let with = |ending: &str| PathBuf::from(OsStr::from_bytes(&[name, ending.as_bytes()].concat()));
                ([with(""), with(".err")], with(".seq"))
            }
        };
        // A value is data: it does not lead anywhere that the user did not name.
        if names[0].components().any(|part| part == Component::ParentDir) && matches!(layout, ResultLayout::Name(_)) {
            return Err(failed(&names[0])(io::Error::other("'..' leads out of the directory for results")));
        }
        let directory = names[0].parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(failed(directory))?;
        std::fs::write(&number_name, place.number.to_string()).map_err(failed(&number_name))?;
        Ok(Self { names, files: [None, None] })
    }

    /// The file for a stream. One that is there is another run's, or an equal job's: it is replaced, not written into.
    pub fn open(&mut self, stream: usize) -> Result<OwnedFd, StartFault> {
        let name = &self.names[stream];
        match std::fs::remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(name)(error)),
            _ => {}
        }
        let file = File::options().read(true).write(true).create_new(true).open(name).map_err(failed(name))?;
        let own = file.try_clone().map_err(failed(name))?;
        self.files[stream] = Some(own);
        Ok(file.into())
    }

    /// How much was printed.
    pub fn finish(self) -> [u64; 2] {
        self.files.map(|file| file.and_then(|file| file.metadata().ok()).map_or(0, |file| file.len()))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StartFault {
    let path = path.to_string_lossy().into_owned();
    move |cause| StartFault::Open { path, cause }
}

fn own_directory(directory: &Path, own: &Words, number: u64) -> PathBuf {
    if own.is_empty() {
        return directory.join(number.to_string());
    }
    let levels = own.iter().enumerate().map(|(index, value)| ((index + 1).to_string(), name_of(value)));
    levels.fold(directory.to_path_buf(), |directory, (number, name)| {
        directory.join(number).join(OsStr::from_bytes(&name))
    })
}

/// A value as a name. COMPAT: `\_` for a slash, `\t` for a tab, `\\` for a backslash, as GNU parallel does; what would be no name
/// there is one here: `\.` in front of dots alone, `\e` for nothing, and long values end in a digest.
fn name_of(value: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'/' => name.extend_from_slice(b"\\_"),
            b'\t' => name.extend_from_slice(b"\\t"),
            b'\\' => name.extend_from_slice(b"\\\\"),
            other => name.push(other),
        }
    }
    match name.as_slice() {
        b"" => name.extend_from_slice(b"\\e"),
        b"." | b".." => name.insert(0, b'\\'),
        long if long.len() > NAME_BYTES_MAX => {
            let digest = crate::key::JobKey::of_command(std::iter::once(value)).text();
            name.truncate(NAME_BYTES_MAX - digest.len() - 1);
            name.push(b'~');
            name.extend_from_slice(digest.as_bytes());
        }
        _ => {}
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_names_and_stay_below_their_directory() {
        for (value, name) in
            [("a b/c", "a b\\_c"), ("x\ty\\", "x\\ty\\\\"), ("", "\\e"), ("..", "\\.."), ("...", "...")]
        {
            assert_eq!(name_of(value.as_bytes()), name.as_bytes(), "{value:?}");
        }
        let (long, other) = (name_of(&[b'x'; 300]), name_of(&[b'x'; 301]));
        assert!(long.len() == NAME_BYTES_MAX && other.len() == NAME_BYTES_MAX && long != other);
    }

    #[test]
    fn placeholders_make_names_that_do_not_lead_away() {
        let directory = tempfile::tempdir().expect("a directory");
        let word = [directory.path().as_os_str().as_bytes(), b"/{1}-{#}"].concat();
        let template = Template::with_placeholders(&[word], b"{}", crate::template::Shell::None);
        let place = JobPosition { number: 7, slot: 1 };
        let mut own = Words::default();
        own.push(b"a/b").expect("no NUL");
        let mut files =
            OutputFiles::prepare(&ResultLayout::Name(template.clone()), &own, place).expect("it can be made");
        drop(files.open(0).expect("it is new"));
        drop(files.open(1).expect("it is new"));
        for name in ["b-7", "b-7.err", "b-7.seq"] {
            assert!(directory.path().join("a").join(name).exists(), "{name}");
        }
        let mut own = Words::default();
        own.push(b"../../b").expect("no NUL");
        assert!(OutputFiles::prepare(&ResultLayout::Name(template), &own, place).is_err());
    }
}
