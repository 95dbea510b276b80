//! The whole list before anything runs: it is cut, so its end must be known. LIMIT: it is held in memory, some 150 bytes a job and its words.

use super::super::plan::Job;
use super::super::{NAME, dry_run};
use cluster::forecast::costs::RunCosts;
use cluster::forecast::times::JobTimes;
use cluster::forecast::{ClusterForecast, longest_chain};
use jobs::journal::{EarlierEnd, JournalDone};
use jobs::key::Keys;
use jobs::list::ListItem;
use jobs::spec::Spec;
use jobs::template::JobPosition;
use mh_kit::failure::Failure;
use std::collections::HashMap;

/// Reads the list to its end. A line that cannot be read is an error before anything has run.
pub fn read(job: &mut Job) -> Result<Vec<ListItem>, Failure> {
    let mut source = job.source.take().expect("a plan has a source, and it is taken once").open()?;
    let mut items = Vec::new();
    loop {
        match dry_run::next(&mut source) {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return Ok(items),
            Err(message) => {
                let message = format!("read {}: {message}; nothing was run", job.list_name);
                return Err(Failure::Environment { command: NAME, message });
            }
        }
    }
}

/// Takes out jobs that an earlier run has done; who waited for one that succeeded need not. How many those were.
pub fn leave_out(job: &Job, items: &mut Vec<ListItem>, done: &mut JournalDone) -> u64 {
    let keys = Keys::new(&job.options.directory, &job.options.defaults);
    let before = items.len();
    // The last bearer of each name so far, and whether it is one that is left out and had succeeded.
    let mut named: HashMap<String, bool> = HashMap::new();
    items.retain_mut(|item| {
        let ListItem::Job(spec) = item else { return true };
        let earlier = done.takes_out(key_of(job, &keys, spec));
        if let Some(more) = &mut spec.more {
            more.after.retain(|name| named.get(name) != Some(&true));
            named.extend(more.id.clone().map(|id| (id, earlier == Some(EarlierEnd::Succeeded))));
        }
        earlier.is_none()
    });
    (before - items.len()) as u64
}

/// Seconds that each job is expected to take, by its number; none where no job and no class of the list is known.
pub fn expected(job: &Job, items: &[ListItem], times: &JobTimes) -> Option<HashMap<u64, f64>> {
    let keys = Keys::new(&job.options.directory, &job.options.defaults);
    let template = &job.options.template;
    let specs: Vec<&Spec> = specs(items).collect();
    let classes: Vec<String> = specs
        .iter()
        .map(|spec| {
            let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
            template.class_name().unwrap_or_else(|| template.class_name_of(&spec.words, is_for_shell))
        })
        .collect();
    let list = specs.iter().zip(&classes).map(|(spec, class)| (key_of(job, &keys, spec), class.as_str()));
    let estimates = times.estimates(list)?;
    Some(specs.iter().map(|spec| spec.number).zip(estimates.seconds).collect())
}

fn specs(items: &[ListItem]) -> impl Iterator<Item = &Spec> {
    items.iter().filter_map(|item| match item {
        ListItem::Job(spec) => Some(spec),
        ListItem::Barrier => None,
    })
}

/// The figures of a list whose times are known.
pub struct ListFigures {
    seconds: Vec<f64>,
    cores: Vec<usize>,
    barriers: Vec<usize>,
    chain_s: f64,
    width: usize,
    costs: RunCosts,
}

impl ListFigures {
    /// Of a list for nodes that run `width` jobs at once.
    pub fn new(items: &[ListItem], times: &HashMap<u64, f64>, width: usize, costs: RunCosts) -> Self {
        let (mut seconds, mut cores, mut barriers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut names, mut after) = (HashMap::new(), Vec::new());
        for item in items {
            let ListItem::Job(spec) = item else {
                barriers.push(seconds.len());
                continue;
            };
            let position = seconds.len();
            seconds.push(times.get(&spec.number).copied().unwrap_or(0.0));
            cores.push(spec.hands());
            let Some(more) = spec.more.as_deref() else { continue };
            after.extend(more.after.iter().filter_map(|name| names.get(name)).map(|earlier| (position, *earlier)));
            names.extend(more.id.clone().map(|id| (id, position)));
        }
        let chain_s = longest_chain(&seconds, &after);
        Self { seconds, cores, barriers, chain_s, width, costs }
    }

    /// What they let expect.
    pub fn forecast(&self) -> ClusterForecast<'_> {
        let Self { chain_s, width, costs, .. } = *self;
        ClusterForecast { seconds: &self.seconds, cores: &self.cores, barriers: &self.barriers, chain_s, width, costs }
    }
}

/// What a job is known by. The slot is where it happens to run.
pub fn key_of(job: &Job, keys: &Keys, spec: &Spec) -> jobs::key::JobKey {
    let template = &job.options.template;
    let slot = if template.names_slot() { 0 } else { 1 };
    let is_for_shell = spec.more.as_ref().is_some_and(|more| more.is_for_shell);
    let place = JobPosition { number: spec.number, slot };
    // Words of a list have no NUL, so composing them cannot fail.
    keys.of(spec, &template.compose(&spec.words, place, is_for_shell).unwrap_or_default())
}
