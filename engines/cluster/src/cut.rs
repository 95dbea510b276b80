//! Cutting a list into chunks. Jobs that wait for each other (`after`) stay in one chunk, in the order of the list, so that one runner knows them
//! all; barriers divide generations, which no chunk crosses. Where times are known, chunks are numbered longest first.

use crate::forecast::chunks::{ListToCut, ListedJobs, chunks};
use crate::spool::JobNeed;
use jobs::list::ListItem;
use jobs::spec::Spec;
use std::collections::{BTreeMap, HashMap};

/// A list in chunks.
#[derive(Debug, Default)]
pub struct CutList {
    /// Jobs of each chunk, in the order of the list.
    pub chunks: Vec<Vec<Spec>>,
    /// Where each generation ends.
    pub generations: Vec<u32>,
    /// Jobs that wait for jobs of an earlier generation.
    pub needs: BTreeMap<u64, Vec<JobNeed>>,
    /// Jobs of the largest group of those that wait for each other: one worker runs them all.
    pub largest_group: usize,
}

/// Jobs that stay together.
#[derive(Debug, Default)]
struct Unit {
    jobs: Vec<Spec>,
    seconds: f64,
}

/// Cuts a list for so many workers with so many places each. `expected` knows how long a job may take, if anything does.
pub fn cut(items: Vec<ListItem>, workers: usize, width: usize, expected: impl Fn(&Spec) -> Option<f64>) -> CutList {
    let (mut all, mut barriers, mut is_timed) = (Vec::new(), Vec::new(), true);
    let (mut earlier, mut needs) = (HashMap::new(), BTreeMap::new());
    for mut jobs in generations(items) {
        name_needs(&mut jobs, &mut earlier, &mut needs);
        barriers.push(all.len());
        is_timed &= jobs.iter().all(|spec| expected(spec).is_some());
        all.extend(units(jobs, &expected));
    }
    let seconds: Vec<f64> = all.iter().map(|unit| unit.seconds).collect();
    let jobs = if is_timed { ListedJobs::Timed(&seconds) } else { ListedJobs::Untimed(seconds.len()) };
    let ranges = chunks(&ListToCut { jobs, barriers: &barriers, workers, width });
    let mut list =
        CutList { largest_group: all.iter().map(|unit| unit.jobs.len()).max().unwrap_or(0), ..CutList::default() };
    let mut all: Vec<Option<Unit>> = all.into_iter().map(Some).collect();
    for range in ranges {
        let units = all[range.positions()].iter_mut().filter_map(Option::take);
        let mut jobs: Vec<Spec> = units.flat_map(|unit| unit.jobs).collect();
        jobs.sort_by_key(|spec| spec.number);
        list.chunks.push(jobs);
        list.generations.resize(range.generation + 1, list.chunks.len() as u32);
        list.generations[range.generation] = list.chunks.len() as u32;
    }
    if !needs.is_empty() {
        let chunks = list.chunks.iter().zip(0_u32..);
        let chunk_of: HashMap<u64, u32> =
            chunks.flat_map(|(jobs, chunk)| jobs.iter().map(move |spec| (spec.number, chunk))).collect();
        needs.values_mut().flatten().for_each(|need: &mut JobNeed| need.chunk = chunk_of[&need.job]);
    }
    list.needs = needs;
    list
}

/// Takes names out of `after` whose last bearer stands in an earlier generation: it has ended when this one begins, and only how is open.
fn name_needs(jobs: &mut [Spec], earlier: &mut HashMap<String, u64>, needs: &mut BTreeMap<u64, Vec<JobNeed>>) {
    let mut own: HashMap<String, u64> = HashMap::new();
    for spec in jobs {
        let Some(more) = &mut spec.more else { continue };
        more.after.retain(|name| match earlier.get(name) {
            Some(job) if !own.contains_key(name) => {
                let need = JobNeed { name: name.clone(), job: *job, chunk: 0 };
                needs.entry(spec.number).or_default().push(need);
                false
            }
            _ => true,
        });
        own.extend(more.id.clone().map(|id| (id, spec.number)));
    }
    earlier.extend(own);
}

/// Jobs between barriers.
fn generations(items: Vec<ListItem>) -> Vec<Vec<Spec>> {
    let mut generations: Vec<Vec<Spec>> = Vec::new();
    let mut is_open = false;
    for item in items {
        match item {
            ListItem::Barrier => is_open = false,
            ListItem::Job(spec) if is_open => generations.last_mut().expect("it is open").push(spec),
            ListItem::Job(spec) => {
                generations.push(vec![spec]);
                is_open = true;
            }
        }
    }
    generations
}

/// Jobs that name each other together, others alone, each where its first job stands. Jobs of an earlier generation have ended.
fn units(jobs: Vec<Spec>, expected: &impl Fn(&Spec) -> Option<f64>) -> Vec<Unit> {
    let mut groups: Vec<usize> = (0..jobs.len()).collect();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (index, spec) in jobs.iter().enumerate() {
        let Some(more) = spec.more.as_deref() else { continue };
        for name in &more.after {
            if let Some(named) = names.get(name.as_str()) {
                let (one, other) = (root(&mut groups, *named), root(&mut groups, index));
                groups[one.max(other)] = one.min(other);
            }
        }
        if let Some(id) = &more.id {
            names.insert(id, index);
        }
    }
    drop(names);
    let roots: Vec<usize> = (0..jobs.len()).map(|index| root(&mut groups, index)).collect();
    let mut unit_of: HashMap<usize, usize> = HashMap::new();
    let mut units: Vec<Unit> = Vec::new();
    for (spec, root) in jobs.into_iter().zip(roots) {
        let unit = *unit_of.entry(root).or_insert_with(|| {
            units.push(Unit::default());
            units.len() - 1
        });
        units[unit].seconds += expected(&spec).unwrap_or(0.0);
        units[unit].jobs.push(spec);
    }
    units
}

fn root(groups: &mut [usize], mut index: usize) -> usize {
    while groups[index] != index {
        groups[index] = groups[groups[index]];
        index = groups[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(number: u64, id: Option<&str>, after: &[&str]) -> ListItem {
        let mut spec = Spec { number, ..Spec::default() };
        if id.is_some() || !after.is_empty() {
            spec.more_mut().id = id.map(str::to_owned);
            spec.more_mut().after = after.iter().map(|name| (*name).to_owned()).collect();
        }
        ListItem::Job(spec)
    }

    fn numbers(list: &CutList) -> Vec<Vec<u64>> {
        list.chunks.iter().map(|chunk| chunk.iter().map(|spec| spec.number).collect()).collect()
    }

    #[test]
    fn jobs_that_wait_for_each_other_stay_together() {
        let items = vec![
            job(1, Some("a"), &[]),
            job(2, None, &[]),
            job(3, Some("b"), &["a"]),
            job(4, Some("a"), &[]),
            job(5, None, &["a", "b"]),
            job(6, None, &["nobody"]),
        ];
        let list = cut(items, 1, 1, |_| None);
        assert_eq!(numbers(&list), [vec![1, 3, 4, 5], vec![2], vec![6]]);
        assert_eq!(list.largest_group, 4);
    }

    #[test]
    fn barriers_divide_generations_and_what_stands_before_them_has_ended() {
        let items = vec![
            ListItem::Barrier,
            job(1, Some("a"), &[]),
            ListItem::Barrier,
            ListItem::Barrier,
            job(2, None, &["a"]),
            job(3, None, &[]),
            ListItem::Barrier,
        ];
        let list = cut(items, 2, 1, |_| None);
        assert_eq!(numbers(&list), [[1], [2], [3]]);
        assert_eq!(list.generations, [1, 3]);
        let need = JobNeed { name: "a".to_owned(), job: 1, chunk: 0 };
        assert_eq!(list.needs, BTreeMap::from([(2, vec![need])]));
    }

    #[test]
    fn known_times_make_chunks_of_like_work_longest_first() {
        let items = (1..=100).map(|number| job(number, None, &[])).collect();
        let list = cut(items, 2, 1, |spec| Some(if spec.number > 95 { 10.0 } else { 0.1 }));
        assert!(numbers(&list)[..5].iter().flatten().all(|number| *number > 90), "{:?}", numbers(&list));
        let items = (1..=3).map(|number| job(number, None, &[])).collect();
        let list = cut(items, 1, 1, |spec| (spec.number > 1).then_some(spec.number as f64));
        assert_eq!(numbers(&list), [[1], [2], [3]], "the order of the list, where one is not known");
    }

    #[test]
    fn long_lists_have_few_chunks_and_short_ones_a_chunk_a_job() {
        let of =
            |jobs: u64, workers| cut((1..=jobs).map(|number| job(number, None, &[])).collect(), workers, 1, |_| None);
        assert_eq!((of(96, 4).chunks.len(), of(1000, 2).chunks.len(), of(0, 4).chunks.len()), (96, 63, 0));
    }

    proptest! {
        #[test]
        fn every_job_is_in_one_chunk(
            kinds in proptest::collection::vec((0_u8..6, 0_u8..4, 0_u8..4), 0..200),
            workers in 1_usize..9,
            known: bool,
        ) {
            let items: Vec<ListItem> = kinds.iter().enumerate().map(|(index, (kind, id, after))| match kind {
                0 => ListItem::Barrier,
                1 => job(index as u64 + 1, Some(&format!("n{id}")), &[&format!("n{after}")]),
                2 => job(index as u64 + 1, None, &[&format!("n{after}")]),
                _ => job(index as u64 + 1, None, &[]),
            }).collect();
            let expected: Vec<u64> = items.iter().filter_map(|item| match item {
                ListItem::Job(spec) => Some(spec.number),
                ListItem::Barrier => None,
            }).collect();
            let list = cut(items, workers, 2, |spec| known.then_some(spec.number as f64));
            let mut all: Vec<u64> = numbers(&list).concat();
            all.sort_unstable();
            prop_assert_eq!(all, expected);
            prop_assert_eq!(list.generations.last().copied().unwrap_or(0) as usize, list.chunks.len());
            prop_assert!(list.generations.is_sorted());
        }
    }
}
