//! `mh sum --on ENGINE`: the files of a run divided over machines. `planned` names them once and cuts the list into shards of equal cost, `mh xjobs
//! --on` runs a job for each, which is a run of `mh sum` over its names; `divided` puts their outputs together in the order of the list. A file
//! is one shard's as a whole, however large it is.

mod divided;
mod planned;
mod shard;

pub use divided::run;
pub use shard::digest_shard;

use crate::check::CheckCounts;

use crate::request::SumRequest;
use crate::words::NAME;
use clap::Args;
use cluster::text::ByteText;
use mh_kit::failure::Failure;
use mh_kit::nodes::{OnArgs, PlanDirectory, environment};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Options of a run that is divided over machines.
#[derive(Args, Clone, Debug, Default)]
pub struct SumDivisionArgs {
    #[command(flatten)]
    pub on: OnArgs,

    // What jobs of the list are started with.
    #[arg(long, hide = true, value_name = "FILE")]
    pub shard: Option<PathBuf>,
}

/// A plan, written when its shards are.
#[derive(Debug, Serialize, Deserialize)]
struct SumPlan {
    /// The version of these records.
    format: u32,
    /// The command line.
    words: Vec<ByteText>,
    /// The same without what may differ when it goes on.
    asked: String,
    /// Where it was typed.
    directory: ByteText,
    shards: u32,
    /// Of a check: how many shards there are when each manifest has ended.
    manifests: Vec<u32>,
    files: u64,
    /// Directories that could not be listed, which has been reported.
    unlisted: u64,
    /// Entries without contents.
    others: u64,
}

/// How a shard has ended; written behind its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumPart {
    /// Whether all its files could be read, and are as they should be.
    pub is_good: bool,
    /// What came of a check.
    #[serde(default)]
    pub counts: CheckCounts,
}

const FORMAT: u32 = 1;
const PLAN: &str = "plan.json";

fn shard_name(number: u32) -> String {
    format!("{number:06}")
}

/// A record of the plan's directory; none where it is not there yet.
fn read_record<T: DeserializeOwned>(place: &PlanDirectory, name: &str) -> Result<Option<T>, Failure> {
    let path = place.path(name);
    match std::fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|error| environment(NAME, "read", &path, &error.into()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(environment(NAME, "read", &path, &error)),
    }
}

fn put_record<T: Serialize>(place: &PlanDirectory, name: &str, record: &T) -> Result<(), Failure> {
    let mut bytes = serde_json::to_vec(record).expect("records are numbers, text and lists");
    bytes.push(b'\n');
    place.put(name, &bytes).map_err(|error| environment(NAME, "write", &place.path(name), &error))
}

/// Whether a request is for one machine alone, and why.
fn why_undivided(request: &SumRequest) -> Option<&'static str> {
    match () {
        () if request.files.iter().any(|name| name == b"-") || request.files.is_empty() => {
            Some("standard input does not go with --on: it is read on one machine")
        }
        () if request.judging.as_ref().is_some_and(|judging| judging.warns) => {
            Some("-w does not go with --on: lines are read before they are divided")
        }
        () => None,
    }
}
