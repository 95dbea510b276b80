//! `mh numa check`: pages by node and policy of each large mapping of running programs, and one verdict for each program.

use super::NAME;
use crate::mappings::{MappingArgs, NodeRow, address, mapping_label, nodes_label, process_label};
use clap::Args;
use machine::NumaNode;
use memory::look::ProcessMappings;
use memory::placement::{PlacementVerdict, bytes_by_node};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::look::TextLook;
use mh_kit::report::{json_line, print_as};
use serde::Serialize;
use terminal::{Align, TextTable, Tint};

/// What to check.
#[derive(Args, Debug)]
pub struct PlacementArgs {
    #[command(flatten)]
    mappings: MappingArgs,
}

#[derive(Serialize)]
struct CheckReport<'a> {
    nodes: Vec<NodeRow>,
    processes: Vec<Judged<'a>>,
}

/// A process and its verdict.
#[derive(Serialize)]
struct Judged<'a> {
    verdict: PlacementVerdict,
    #[serde(flatten)]
    process: &'a ProcessMappings,
}

/// Checks, and prints.
pub fn run(context: &Context, args: &PlacementArgs) -> Result<Outcome, Failure> {
    let nodes = machine::numa_nodes(&context.host).map_err(|error| mh_kit::instrument::failure(NAME, &error))?;
    let looked_at = args.mappings.look_at_all(context, NAME, false);
    if looked_at.processes.is_empty() {
        return Ok(Outcome::Partial);
    }
    let verdict = |process: &ProcessMappings| PlacementVerdict::on(&process.mappings, &nodes);
    let judged = looked_at.processes.iter().map(|process| Judged { verdict: verdict(process), process });
    let judged: Vec<Judged> = judged.collect();
    let is_insane = judged.iter().any(|judged| matches!(judged.verdict, PlacementVerdict::SwapAhead { .. }));
    let text = match args.mappings.json {
        true => json_line(&CheckReport { nodes: nodes.iter().map(NodeRow::from).collect(), processes: judged }),
        false => as_text(args.mappings.text_look(), &nodes, &judged, &args.mappings.sought()),
    };
    print_as(NAME, &text)?;
    Ok(if is_insane || looked_at.failures > 0 { Outcome::Partial } else { Outcome::Done })
}

fn as_text(look: TextLook, nodes: &[NumaNode], judged: &[Judged], sought: &str) -> String {
    let mut text = String::new();
    for Judged { verdict, process } in judged {
        let tint = if matches!(verdict, PlacementVerdict::SwapAhead { .. }) { Tint::Bad } else { Tint::Bold };
        let sentence = match process.mappings.is_empty() {
            true => format!("nothing to check: {} has no {sought}", process_label(process)),
            false => sentence(*verdict, &process_label(process)),
        };
        text.push_str(&look.verdict(tint, &format!("{sentence}\n")));
    }
    if nodes.len() > 1 {
        text.push('\n');
        text.push_str(&look.table(nodes_table(nodes, judged)));
    }
    if judged.iter().any(|judged| !judged.process.mappings.is_empty()) {
        text.push('\n');
        text.push_str(&look.table(mappings_table(judged)));
    }
    text
}

/// The answer in one line.
fn sentence(verdict: PlacementVerdict, whose: &str) -> String {
    let share = terminal::percentage_whole;
    match verdict {
        PlacementVerdict::OneNode => format!("one node: all memory of {whose} is equally near"),
        PlacementVerdict::Nothing => format!("nothing placed: no page of {whose}'s large mappings is in memory"),
        PlacementVerdict::SwapAhead { full, left_bytes, share: held, roomy, roomy_left_bytes } => format!(
            "swap insanity ahead: node {full} has {} left and holds {} of {whose}; node {roomy} has {} left",
            terminal::bytes(left_bytes),
            share(held),
            terminal::bytes(roomy_left_bytes)
        ),
        PlacementVerdict::OneSided { node, share: held } => {
            format!("one-sided: node {node} holds {} of {whose}", share(held))
        }
        PlacementVerdict::Even { nodes } => format!("even: {nodes} nodes hold about as much of {whose} each"),
        PlacementVerdict::Uneven { most, most_share, least, least_share } => {
            format!("uneven: node {most} holds {} of {whose}, node {least} {}", share(most_share), share(least_share))
        }
    }
}

fn nodes_table(nodes: &[NumaNode], judged: &[Judged]) -> TextTable {
    let mut table = TextTable::new(&[Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["NODE", "CPUS", "TOTAL", "LEFT", "CHECKED"]);
    for node in nodes {
        let held = judged.iter().filter_map(|judged| {
            let number = u32::try_from(node.number).ok()?;
            bytes_by_node(&judged.process.mappings).get(&number).copied()
        });
        let held = held.fold(0_u64, u64::saturating_add);
        table.row([
            node.number.to_string(),
            node.cpus.len().to_string(),
            terminal::bytes(node.total_bytes),
            terminal::bytes(node.available_bytes),
            terminal::bytes(held),
        ]);
    }
    table
}

fn mappings_table(judged: &[Judged]) -> TextTable {
    let aligns = [Align::Right, Align::Left, Align::Right, Align::Left, Align::Left, Align::Left];
    let mut table = TextTable::new(&aligns).dropping(&[1]);
    table.row(["PID", "ADDRESS", "SIZE", "POLICY", "NODES", "MAPPING"]);
    for process in judged.iter().map(|judged| judged.process) {
        for mapping in &process.mappings {
            let policies = mapping.policies.iter().map(|policy| terminal::printable(policy).into_owned());
            let policies = policies.collect::<Vec<_>>().join(", ");
            table.row([
                process.pid.to_string(),
                address(mapping),
                terminal::bytes(mapping.bytes),
                if policies.is_empty() { "-".to_owned() } else { policies },
                nodes_label(&mapping.nodes),
                mapping_label(mapping),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Host;
    use memory::look::{MappingChoice, look};
    use testkit::fake_machine::FakeMachine;

    /// Two nodes of 1 GiB with so much free, and a process with 256 MiB on the first and as much again by turns on both.
    fn machine_with(free_mb: [u64; 2]) -> FakeMachine {
        let machine = FakeMachine::new(2, 1 << 31);
        machine.file("sys/devices/system/node/online", "0-1\n");
        for (node, free) in free_mb.into_iter().enumerate() {
            let directory = format!("sys/devices/system/node/node{node}");
            let free = free << 10;
            let text = format!("Node {node} MemTotal: 1048576 kB\nNode {node} MemFree: {free} kB\n");
            machine.file(&format!("{directory}/meminfo"), &text);
            machine.file(&format!("{directory}/cpulist"), &format!("{node}\n"));
        }
        machine.file("proc/7/comm", "mysqld\n");
        let area = |from: u64, to: u64| format!("{from:x}-{to:x} rw-p 0 00:00 0\nRss: 262144 kB\nVmFlags: rd wr\n");
        machine.file("proc/7/smaps", &(area(0x1000_0000, 0x2000_0000) + &area(0x3000_0000, 0x4000_0000)));
        let placed = "10000000 default anon=65536 N0=65536 kernelpagesize_kB=4\n\
            30000000 interleave:0-1 anon=65536 N0=32768 N1=32768 kernelpagesize_kB=4\n";
        machine.file("proc/7/numa_maps", placed);
        machine
    }

    fn shown(machine: &FakeMachine) -> String {
        let host = Host::rooted_at(machine.root());
        let nodes = machine::numa_nodes(&host).expect("good files");
        let choice = MappingChoice { bytes_min: 64 << 20, has_files_for_reading: false, is_by_flags: false };
        let process = look(&host, 7, choice).expect("it can be read");
        let verdict = PlacementVerdict::on(&process.mappings, &nodes);
        as_text(TextLook::PLAIN, &nodes, &[Judged { verdict, process: &process }], "mapping")
    }

    #[test]
    fn a_full_node_is_named_with_what_it_holds() {
        let expected = "swap insanity ahead: node 0 has 21.0 MB left and holds 75 % of mysqld (7); node 1 has 839 MB left\n\n\
            NODE  CPUS    TOTAL     LEFT  CHECKED\n   0     1  1.07 GB  21.0 MB   403 MB\n   1     1  1.07 GB   839 MB   134 MB\n\n\
            PID  ADDRESS     SIZE  POLICY          NODES                 MAPPING\n  \
            7  10000000  268 MB  default         0: 268 MB             anonymous\n  \
            7  30000000  268 MB  interleave:0-1  0: 134 MB, 1: 134 MB  anonymous\n";
        assert_eq!(shown(&machine_with([20, 800])), expected);
    }

    #[test]
    fn with_room_everywhere_it_is_uneven() {
        let text = shown(&machine_with([500, 800]));
        assert!(text.starts_with("uneven: node 0 holds 75 % of mysqld (7), node 1 25 %\n"), "{text}");
    }

    #[test]
    fn every_verdict_has_its_sentence() {
        let of = |verdict| sentence(verdict, "a (7)");
        assert_eq!(of(PlacementVerdict::OneNode), "one node: all memory of a (7) is equally near");
        assert!(of(PlacementVerdict::Nothing).starts_with("nothing placed"));
        assert_eq!(of(PlacementVerdict::OneSided { node: 1, share: 0.97 }), "one-sided: node 1 holds 97 % of a (7)");
        assert_eq!(of(PlacementVerdict::Even { nodes: 4 }), "even: 4 nodes hold about as much of a (7) each");
    }
}
