//! `mh vmtasks check`: proof that the large mappings of running programs are resident, and locked where that is asked for.

use super::NAME;
use crate::mappings::{MappingArgs, address, mapping_label, nodes_label, pages_label, process_label, share_label};
use clap::Args;
use memory::look::{LargeMapping, ProcessMappings};
use memory::residency::ResidencyVerdict;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::look::TextLook;
use mh_kit::report::{counted, json_line, print_as};
use serde::Serialize;
use terminal::{Align, TextTable, Tint};

/// What to check.
#[derive(Args, Debug)]
pub struct ResidencyArgs {
    #[command(flatten)]
    mappings: MappingArgs,

    /// Demand that all of it is locked, too
    #[arg(long)]
    locked: bool,
}

/// What was found.
#[derive(Serialize)]
struct CheckReport<'a> {
    is_proof: bool,
    verdict: ResidencyVerdict,
    processes: &'a [ProcessMappings],
}

/// Checks, and prints.
pub fn run(context: &Context, args: &ResidencyArgs) -> Result<Outcome, Failure> {
    let looked_at = args.mappings.look_at_all(context, NAME, true);
    let processes = &looked_at.processes;
    if processes.is_empty() {
        return Ok(Outcome::Partial);
    }
    let verdict = ResidencyVerdict::on(processes);
    let is_proof = looked_at.failures == 0 && verdict.is_proof(args.locked);
    let text = match args.mappings.json {
        true => json_line(&CheckReport { is_proof, verdict, processes }),
        false => {
            // One node: nothing to tell apart.
            let nodes = machine::numa_nodes(&context.host).map_or(0, |nodes| nodes.len());
            as_text(args, processes, verdict, nodes > 1)
        }
    };
    print_as(NAME, &text)?;
    Ok(if is_proof { Outcome::Done } else { Outcome::Partial })
}

fn as_text(args: &ResidencyArgs, processes: &[ProcessMappings], verdict: ResidencyVerdict, has_nodes: bool) -> String {
    let look = args.mappings.text_look();
    let tint = if verdict.is_proof(args.locked) { Tint::Bold } else { Tint::Bad };
    let sentence = sentence(processes, verdict, args.locked, &args.mappings.sought());
    let mut text = look.verdict(tint, &format!("{sentence}\n"));
    if verdict.beside_bytes > 0 {
        let beside = terminal::bytes(verdict.beside_bytes);
        text.push_str(
            &look.prose(&format!(
                "not checked: {beside} beside them, in areas smaller than --min-size with other flags\n"
            )),
        );
    }
    if verdict.mappings > 0 {
        text.push('\n');
        text.push_str(&table(look, processes, has_nodes));
    }
    text
}

/// LIMIT: processes that are named one by one.
const NAMED_MAX: usize = 4;

/// The answer in one line: first why it is no proof.
fn sentence(processes: &[ProcessMappings], verdict: ResidencyVerdict, wants_lock: bool, sought: &str) -> String {
    let (without, with): (Vec<_>, Vec<_>) = processes.iter().partition(|process| process.mappings.is_empty());
    let nothing = || {
        let mut names: Vec<String> = without.iter().take(NAMED_MAX).map(|process| process_label(process)).collect();
        names.extend((without.len() > NAMED_MAX).then(|| format!("{} more", without.len() - NAMED_MAX)));
        let verb = if without.len() == 1 { "has" } else { "have" };
        format!("nothing to check: {} {verb} no {sought}", names.join(", "))
    };
    if with.is_empty() {
        return nothing();
    }
    let whose = match with[..] {
        [process] => process_label(process),
        _ => format!("{} processes", with.len()),
    };
    let judged = judgement(&whose, verdict, wants_lock);
    let is_all_but_those = ResidencyVerdict { without_mappings: 0, ..verdict }.is_proof(wants_lock);
    match (without.is_empty(), is_all_but_those) {
        (true, _) => judged,
        (false, true) => format!("{}; {judged}", nothing()),
        (false, false) => format!("{judged}; {}", nothing()),
    }
}

/// Of processes that have large mappings.
fn judgement(whose: &str, verdict: ResidencyVerdict, wants_lock: bool) -> String {
    let mappings = counted(verdict.mappings as u64, "large mapping");
    let size = terminal::bytes(verdict.bytes);
    if verdict.incomplete > 0 {
        let swapped = match verdict.swapped_bytes {
            0 => String::new(),
            bytes => format!(", {} of that in swap space", terminal::bytes(bytes)),
        };
        let missing = terminal::bytes(verdict.missing_bytes);
        let incomplete = verdict.incomplete;
        return format!("not resident: {missing} of {size} in {incomplete} of {mappings} of {whose}{swapped}");
    }
    if wants_lock && verdict.unlocked > 0 {
        return format!("not locked: {} of {mappings} ({size}, all resident) of {whose}", verdict.unlocked);
    }
    let locked = if verdict.unlocked == 0 { " and locked" } else { "" };
    format!("all resident{locked}: {mappings} ({size}) of {whose}")
}

fn table(look: TextLook, processes: &[ProcessMappings], has_nodes: bool) -> String {
    let mut aligns = vec![Align::Right, Align::Left, Align::Right, Align::Right, Align::Left, Align::Right];
    let mut titles = vec!["PID", "ADDRESS", "SIZE", "RESIDENT", "PAGES", "LOCKED"];
    if has_nodes {
        aligns.push(Align::Left);
        titles.push("NODES");
    }
    aligns.push(Align::Left);
    titles.push("MAPPING");
    let mut table = TextTable::new(&aligns).dropping(&[1]);
    table.row(titles);
    for process in processes {
        for mapping in &process.mappings {
            table.row(cells(process.pid, mapping, has_nodes));
        }
    }
    look.table(table)
}

fn cells(pid: u32, mapping: &LargeMapping, has_nodes: bool) -> Vec<String> {
    let locked = match mapping.locked_bytes {
        0 => "no".to_owned(),
        bytes if bytes >= mapping.bytes => "yes".to_owned(),
        bytes => share_label(bytes, mapping.bytes),
    };
    let mut cells = vec![
        pid.to_string(),
        address(mapping),
        terminal::bytes(mapping.bytes),
        share_label(mapping.resident_bytes, mapping.bytes),
        pages_label(mapping),
        locked,
    ];
    cells.extend(has_nodes.then(|| nodes_label(&mapping.nodes)));
    cells.push(mapping_label(mapping));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, mappings: &[(u64, u64, u64)]) -> ProcessMappings {
        let of = |&(bytes, resident_bytes, locked_bytes): &(u64, u64, u64)| LargeMapping {
            bytes,
            resident_bytes,
            locked_bytes,
            page_bytes: 4096,
            ..LargeMapping::default()
        };
        ProcessMappings { pid, command: "postgres".to_owned(), mappings: mappings.iter().map(of).collect() }
    }

    fn said(processes: &[ProcessMappings], wants_lock: bool) -> String {
        sentence(processes, ResidencyVerdict::on(processes), wants_lock, "mapping of 64 MB or more")
    }

    #[test]
    fn the_first_line_is_the_answer() {
        let whole = process(7, &[(1000, 1000, 1000), (500, 500, 0)]);
        assert_eq!(
            said(std::slice::from_ref(&whole), false),
            "all resident: 2 large mappings (1.5 kB) of postgres (7)"
        );
        assert_eq!(
            said(std::slice::from_ref(&whole), true),
            "not locked: 1 of 2 large mappings (1.5 kB, all resident) of postgres (7)"
        );
        let locked = process(7, &[(1000, 1000, 1000)]);
        assert_eq!(said(&[locked], true), "all resident and locked: 1 large mapping (1 kB) of postgres (7)");
        let torn = process(8, &[(1000, 400, 0)]);
        assert_eq!(
            said(&[whole, torn], false),
            "not resident: 600 B of 2.5 kB in 1 of 3 large mappings of 2 processes"
        );
        let nothing = "nothing to check: postgres (9) has no mapping of 64 MB or more";
        assert_eq!(said(&[process(9, &[])], false), nothing);
    }

    #[test]
    fn processes_without_a_large_mapping_are_named() {
        let (whole, torn) = (process(7, &[(1000, 1000, 1000)]), process(8, &[(1000, 400, 0)]));
        let (without, other) = (process(9, &[]), process(10, &[]));
        assert_eq!(
            said(&[without.clone(), whole.clone()], false),
            "nothing to check: postgres (9) has no mapping of 64 MB or more; all resident and locked: 1 large mapping (1 kB) of \
             postgres (7)"
        );
        assert_eq!(
            said(&[without, torn, other, whole], false),
            "not resident: 600 B of 2 kB in 1 of 2 large mappings of 2 processes; nothing to check: postgres (9), postgres (10) have \
             no mapping of 64 MB or more"
        );
    }

    #[test]
    fn rows_show_lock_and_nodes_where_there_are_several() {
        let mut mapping = process(7, &[(1000, 999, 500)]).mappings.remove(0);
        mapping.nodes.insert(1, 999);
        let expected = ["7", "0", "1 kB", "99.9 %", "4 KiB", "50.0 %", "1: 999 B", "anonymous"];
        assert_eq!(cells(7, &mapping, true), expected);
        assert_eq!(cells(7, &mapping, false).len(), 7);
    }
}
