//! What a job is, for `--resume`: equal for equal words, directory, variables of its own, files and stamps of inputs. Neither its place in the list
//! nor the slot that it runs in is part of it, nor are the runner's variables, which change from terminal to terminal.

use crate::spec::{More, Spec};
use crate::start::located;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::spawn::Words;

/// What a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobKey([u8; 16]);

impl JobKey {
    /// Of a command alone: all that GNU parallel's log tells of a job.
    pub fn of_command<'a>(words: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut digest = Sha256::new();
        for word in words {
            digest.update((word.len() as u64).to_le_bytes());
            digest.update(word);
        }
        Self::first_half(digest)
    }

    fn first_half(digest: Sha256) -> Self {
        let whole: [u8; 32] = digest.finalize().into();
        let mut key = [0; 16];
        key.copy_from_slice(&whole[..16]);
        Self(key)
    }

    pub(crate) fn text(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut key = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        for (index, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self(key))
    }
}

/// The keys of one run's jobs.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Where the runner is: the directory of jobs that name none.
    directory: PathBuf,
    /// What all jobs have.
    common: Sha256,
    /// The same with the runner's directory.
    here: Sha256,
}

impl Keys {
    /// Of a runner in `directory` that gives all its jobs `defaults`.
    pub fn new(directory: &Path, defaults: &More) -> Self {
        let mut common = Sha256::new();
        if defaults.stdout.is_some() || defaults.stderr.is_some() {
            // They lie where the runner is, wherever the job goes.
            add(&mut common, b"runner", directory.as_os_str().as_bytes());
        }
        add_files(&mut common, defaults, Some(directory.as_os_str().as_bytes()));
        let mut here = common.clone();
        add(&mut here, b"folder", directory.as_os_str().as_bytes());
        Self { directory: directory.to_owned(), common, here }
    }

    /// Of a job and the words that it runs. Inputs that are not there count as such.
    pub fn of(&self, spec: &Spec, words: &Words) -> JobKey {
        let no_more = More::default();
        let more = spec.more.as_deref().unwrap_or(&no_more);
        let mut digest = match &more.directory {
            None => self.here.clone(),
            Some(directory) => {
                let mut digest = self.common.clone();
                let directory = located(directory, Some(self.directory.as_os_str().as_bytes()));
                add(&mut digest, b"folder", directory.as_os_str().as_bytes());
                digest
            }
        };
        add(&mut digest, b"words", words.as_bytes());
        more.variables.iter().for_each(|variable| add(&mut digest, b"variable", variable));
        if let Some(block) = &more.block {
            add(&mut digest, b"block", block);
        }
        add_files(&mut digest, more, more.directory.as_deref());
        JobKey::first_half(digest)
    }
}

fn add(digest: &mut Sha256, label: &[u8], bytes: &[u8]) {
    digest.update(label);
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

fn add_files(digest: &mut Sha256, more: &More, directory: Option<&[u8]>) {
    for (label, target) in [(&b"stdout"[..], &more.stdout), (b"stderr", &more.stderr)] {
        if let Some(target) = target {
            add(digest, label, &target.path);
            add(digest, b"opening", &[target.opening as u8]);
        }
    }
    let stdin = more.stdin.iter().map(|path| (&b"stdin"[..], path));
    for (label, path) in stdin.chain(more.inputs.iter().map(|path| (&b"input"[..], path))) {
        add(digest, label, path);
        add(digest, b"stamp", stamp(&located(path, directory)).as_bytes());
    }
}

fn stamp(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(path) {
        Ok(file) => format!("{} {}.{}", file.len(), file.mtime(), file.mtime_nsec()),
        Err(error) => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ExistingOutput, OutputTarget};

    fn spec(word: &[u8]) -> Spec {
        let mut spec = Spec { number: 1, ..Spec::default() };
        spec.words.push(word).expect("no NUL");
        spec
    }

    fn keys(directory: &str) -> Keys {
        Keys::new(Path::new(directory), &More::default())
    }

    #[test]
    fn another_directory_variable_or_input_is_another_job() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("input").into_os_string().into_encoded_bytes();
        let key = |change: &dyn Fn(&mut More)| {
            let mut spec = spec(b"a");
            change(spec.more_mut());
            keys("/here").of(&spec, &spec.words)
        };
        let plain = key(&|_| {});
        let output = |opening| Some(OutputTarget { path: b"f".to_vec(), opening });
        let outputs: [&dyn Fn(&mut More); 4] = [
            &|more| more.stdout = output(ExistingOutput::New),
            &|more| more.stdout = output(ExistingOutput::Append),
            &|more| more.stderr = output(ExistingOutput::New),
            &|more| more.inputs = vec![path.clone()],
        ];
        let changes: [&dyn Fn(&mut More); 4] = [
            &|more| more.directory = Some(b"/".to_vec()),
            &|more| more.variables = vec![b"X=1".to_vec()],
            &|more| more.variables = vec![b"X=2".to_vec()],
            &|more| more.stdin = Some(path.clone()),
        ];
        let mut all: Vec<JobKey> = changes.map(key).to_vec();
        std::fs::write(directory.path().join("input"), "x").expect("written");
        all.extend([key(changes[3]), plain]);
        all.extend(outputs.map(key));
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 10);
    }

    #[test]
    fn the_runners_directory_counts_where_a_job_runs_in_it() {
        let (here, there) = (keys("/here"), keys("/there"));
        let mut job = spec(b"a");
        assert_ne!(here.of(&job, &job.words), there.of(&job, &job.words));
        job.more_mut().directory = Some(b"x".to_vec());
        assert_ne!(here.of(&job, &job.words), there.of(&job, &job.words));
        job.more_mut().directory = Some(b"/x".to_vec());
        assert_eq!(here.of(&job, &job.words), there.of(&job, &job.words), "the same place from anywhere");
    }

    #[test]
    fn an_input_of_all_jobs_is_part_of_each() {
        let defaults = More { stdin: Some(b"/dev/null".to_vec()), ..More::default() };
        let job = spec(b"a");
        let with = Keys::new(Path::new("/here"), &defaults);
        assert_ne!(with.of(&job, &job.words), keys("/here").of(&job, &job.words));
    }
}
