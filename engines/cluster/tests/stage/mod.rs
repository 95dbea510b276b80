//! A spool's directory with a script in place of `mh`, and a throw-away sshd.

mod sshd;

pub use sshd::Sshd;

use cluster::launcher::{EngineEnvironment, WorkerRequest};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::tree::TempTree;

/// LIMIT: for anything that an engine does in some seconds when the machine is idle.
const PATIENCE: Duration = Duration::from_secs(120);

/// Says how it was called, and goes on until it may go or is to end.
const WORKER: &str = r#"#!/bin/sh
trap 'echo ended by TERM; exit 0' TERM
printf '%s|' started "$@"
echo
while test ! -e "${0%/*}/go"; do
    test ! -e "${0%/*}/fail" || exit 1
    sleep 0.05
done
echo done
"#;

/// One.
#[derive(Debug)]
pub struct Stage {
    place: TempTree,
    name: &'static str,
}

impl Stage {
    pub fn new() -> Self {
        Self::at("run")
    }

    /// In a directory of this name.
    pub fn at(name: &'static str) -> Self {
        let place = TempTree::new();
        place.directory(format!("{name}/spool/log"));
        let worker = format!("{name}/worker");
        place.file(&worker, WORKER).mode(&worker, 0o755);
        Self { place, name }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(self.name).join(name)
    }

    pub fn request(&self, first: u32, workers: u32) -> WorkerRequest {
        WorkerRequest {
            program: self.path("worker"),
            spool: self.path("spool"),
            run_id: "run-1".to_owned(),
            first,
            workers,
            cores: Some(1),
            time: None,
            engine_args: Vec::new(),
            name: "mh test".to_owned(),
        }
    }

    /// What a worker has said.
    pub fn said(&self, number: u32) -> String {
        fs::read_to_string(self.path(&format!("spool/log/{number}"))).unwrap_or_default()
    }

    /// What it says first.
    pub fn expected(&self, number: u32) -> String {
        let spool = self.path("spool");
        format!("started|xjobs|--worker|{}|--worker-run|run-1|--worker-number|{number}|\n", spool.display())
    }

    pub fn let_workers_go(&self) {
        fs::write(self.path("go"), "").expect("written");
    }

    pub fn fail_workers(&self) {
        fs::write(self.path("fail"), "").expect("written");
    }
}

/// The programs of this machine, and variables.
pub fn environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> EngineEnvironment {
    let path = std::env::var_os("PATH").expect("there is a PATH");
    let own = ["HOME", "USER"].map(|name| (OsString::from(name), std::env::var_os(name).unwrap_or_default()));
    EngineEnvironment::new(&path, own.into_iter().chain(variables))
}

/// Waits until something is so.
pub fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "in vain");
        std::thread::sleep(Duration::from_millis(50));
    }
}
