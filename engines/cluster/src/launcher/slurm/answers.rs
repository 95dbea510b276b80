//! What Slurm's programs print. Every text here is checked against the real ones by this crate's tests of launchers.

use crate::launcher::EngineState;
use std::collections::BTreeMap;
use std::fmt::Write;

/// LIMIT: reasons that are shown.
const REASONS_MAX: usize = 3;

/// The id that `sbatch --parsable` prints, `123` or `123;cluster`, behind what plugins of the site may print.
pub(super) fn submitted(text: &str) -> Option<String> {
    let is_id = |line: &&str| {
        let number = line.split(';').next().unwrap_or(line);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.lines().map(str::trim).rfind(is_id).map(str::to_owned)
}

/// Whether fewer workers could be taken.
pub(super) fn says_too_many(said: &str) -> bool {
    ["Invalid job array specification", "SubmitJob", "job submit limit"].iter().any(|text| said.contains(text))
}

/// Whether a client gave up waiting for slurmctld.
pub(super) fn says_that_time_was_up(said: &str) -> bool {
    said.contains("timed out")
}

/// Whether it is about a job that ended some time ago.
pub(super) fn says_forgotten(said: &str) -> bool {
    said.contains("Invalid job id")
}

/// The array, of lines `ID|COMMENT`.
pub(super) fn array_with_comment(text: &str, comment: &str) -> Option<String> {
    let found = text.lines().filter_map(|line| line.split_once('|')).find(|(_, other)| other.trim() == comment);
    found.map(|(id, _)| id.to_owned())
}

/// When a job would begin, in seconds since 1970: `Job 4 to start at 1795998097 using ...`.
pub(super) fn begin_of_test(said: &str) -> Option<u64> {
    said.split_once(" to start at ")?.1.split(' ').next()?.parse().ok()
}

/// A number of `scontrol show config`.
pub(super) fn setting(text: &str, name: &str) -> Option<u32> {
    let mut values = text.lines().filter_map(|line| line.split_once('='));
    values.find(|(key, _)| key.trim() == name)?.1.trim().parse().ok()
}

/// Nodes that could work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nodes {
    pub count: u32,
    /// CPUs of the smallest.
    pub cores: Option<u32>,
}

/// Those of some partitions, else of the default one, of lines `PARTITION|NODES|CPUS|STATE`. An error names the partitions that there
/// are.
pub(super) fn nodes(text: &str, partition: Option<&str>) -> Result<Nodes, String> {
    let lines: Vec<[&str; 4]> =
        text.lines().filter_map(|line| line.split('|').collect::<Vec<_>>().try_into().ok()).collect();
    let name = |shown: &str| shown.trim_end_matches('*').to_owned();
    let wanted = |[shown, ..]: &&[&str; 4]| match partition {
        Some(partition) => partition.split(',').any(|wanted| wanted == name(shown)),
        None => shown.ends_with('*'),
    };
    if let Some(partition) = partition
        && !lines.iter().any(|line| wanted(&line))
    {
        let mut names: Vec<String> = lines.iter().map(|[shown, ..]| name(shown)).collect();
        names.dedup();
        return Err(format!("no partition is called '{partition}'; there are: {}", names.join(", ")));
    }
    let mut nodes = Nodes::default();
    for [_, count, cores, state] in lines.iter().filter(wanted) {
        if could_work(state) {
            nodes.count += count.parse::<u32>().unwrap_or(0);
            nodes.cores = nodes.cores.into_iter().chain(cores.parse()).min();
        }
    }
    Ok(nodes)
}

/// Also what is busy now, or switched off to save power; not what does not answer (`*`).
fn could_work(state: &str) -> bool {
    let plain = state.trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric());
    !state.contains('*') && ["idle", "mix", "alloc", "comp", "plnd", "resv"].contains(&plain)
}

/// Of lines `ID|STATE|NODE|REASON`.
pub(super) fn state(text: &str) -> EngineState {
    let mut found = EngineState::default();
    let (mut waits, mut lost) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let Ok([id, state, node, reason]) = <[&str; 4]>::try_from(line.splitn(4, '|').collect::<Vec<_>>()) else {
            continue;
        };
        let count = elements(id);
        let reasons = match state {
            "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "STAGE_OUT" | "SIGNALING" | "RESIZING" => {
                found.running += count;
                (state == "SUSPENDED" || state == "STOPPED").then_some(&mut waits)
            }
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
                found.pending += count;
                (reason != "None").then_some(&mut waits)
            }
            "COMPLETED" => None,
            _ => Some(&mut lost),
        };
        if let Some(reasons) = reasons {
            let place = if node.is_empty() { String::new() } else { format!(" on {node}") };
            let why = if reason == "None" { String::new() } else { format!(": {reason}") };
            *reasons.entry(format!("{state}{place}{why}")).or_default() += count;
        }
    }
    (found.waits, found.lost) = (shown(&waits), shown(&lost));
    found
}

fn shown(reasons: &BTreeMap<String, u32>) -> Option<String> {
    let mut text = String::new();
    for (why, count) in reasons.iter().take(REASONS_MAX) {
        let comma = if text.is_empty() { "" } else { ", " };
        write!(text, "{comma}{count} {why}").expect("a string takes every write");
    }
    (!text.is_empty()).then_some(text)
}

/// How many are meant: `12_7` is one, `12_[3-7,9%2]` six; `12_[0-8:4]` three.
fn elements(id: &str) -> u32 {
    let Some((_, list)) = id.split_once("_[") else { return 1 };
    let list = list.trim_end_matches(']').split('%').next().unwrap_or(list);
    list.split(',').filter_map(range).sum()
}

fn range(text: &str) -> Option<u32> {
    let (range, step) = text.split_once(':').unwrap_or((text, "1"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last, step): (u32, u32, u32) = (first.parse().ok()?, last.parse().ok()?, step.parse().ok()?);
    (last.checked_sub(first)? / step.max(1)).checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_lists_are_counted() {
        let of =
            ["12", "12_7", "12_[3-7%2]", "12_[3-7,9%2]", "12_[0-8:4]", "12_[5]", "12_[1-3,5-7", "12_[3-1]", "12_[x]"];
        assert_eq!(of.map(elements), [1, 1, 5, 6, 3, 1, 6, 0, 0]);
    }

    #[test]
    fn pending_and_running_are_told_apart_and_ends_are_neither() {
        let text = "1_[2-3]|PENDING||Resources\n1_0|RUNNING|n1|None\n1_1|COMPLETING|n2|None\n\
                    1_4|FAILED|n3|NonZeroExitCode\n1_5|COMPLETED|n1|None\n1_6|CANCELLED||None\nCLUSTER: x\n\
                    1_7|NODE_FAIL|n4|None\n1_8|TIMEOUT|n5|TimeLimit\n";
        let found = state(text);
        assert_eq!((found.pending, found.running), (2, 2));
        assert_eq!(found.waits.as_deref(), Some("2 PENDING: Resources"));
        assert_eq!(found.lost.as_deref(), Some("1 CANCELLED, 1 FAILED on n3: NonZeroExitCode, 1 NODE_FAIL on n4"));
        let quiet = state("1_[2-3]|PENDING||None\n1_5|COMPLETED|n1|None\n");
        assert_eq!(quiet, EngineState { pending: 2, ..EngineState::default() });
        assert_eq!(state(""), EngineState::default());
    }

    #[test]
    fn ids_are_found_behind_other_words() {
        assert_eq!(submitted("12\n").as_deref(), Some("12"));
        assert_eq!(submitted("You have 3 hours left\n12;east\n").as_deref(), Some("12;east"));
        assert_eq!(submitted("Submitted batch job 12\n"), None);
        assert_eq!(submitted(""), None);
    }

    #[test]
    fn nodes_are_those_that_could_work_in_the_partition() {
        let text = "debug|2|4|idle\np*|3|8|alloc\np*|1|2|idle~\np*|5|16|down*\np*|1|1|drain\np*|1|64|idle*\n";
        assert_eq!(nodes(text, None), Ok(Nodes { count: 4, cores: Some(2) }));
        assert_eq!(nodes(text, Some("debug")), Ok(Nodes { count: 2, cores: Some(4) }));
        assert_eq!(nodes(text, Some("p,debug")), Ok(Nodes { count: 6, cores: Some(2) }));
        assert_eq!(nodes("x|2|4|idle\n", None), Ok(Nodes::default()), "no partition is the default one");
        let said = nodes(text, Some("q")).expect_err("it is not there");
        assert_eq!(said, "no partition is called 'q'; there are: debug, p");
    }

    #[test]
    fn begins_and_settings_are_found() {
        let said = "sbatch: Job 4 to start at 1795998097 using 1 processors on nodes n1 in partition p";
        assert_eq!(begin_of_test(said), Some(1_795_998_097));
        assert_eq!(begin_of_test("sbatch: error: Batch job submission failed: Invalid account"), None);
        assert_eq!(setting("MaxArray        = 7\nMaxArraySize            = 1001\n", "MaxArraySize"), Some(1001));
        assert_eq!(setting("MaxArraySize = n/a\n", "MaxArraySize"), None);
    }

    #[test]
    fn arrays_are_found_by_their_comment() {
        let text = "11|(null)\n12|mh ab 0\n13|mh ab 10\n";
        assert_eq!(array_with_comment(text, "mh ab 10").as_deref(), Some("13"));
        assert_eq!(array_with_comment(text, "mh ab 1"), None);
    }
}
