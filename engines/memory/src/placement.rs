//! The verdict on placement: on which nodes a process's large mappings are, and what that will come to. Pure; claims nothing on one node.

use crate::look::LargeMapping;
use machine::NumaNode;
use serde::Serialize;
use std::collections::BTreeMap;

/// LIMIT: a node with less of its memory left than this will have to swap or to take from others soon.
const FULL_SHARE: f64 = 0.05;
/// LIMIT: a node with more left than this could have had the pages.
const ROOMY_SHARE: f64 = 0.25;
/// LIMIT: a process with more on one node than this has all of it there, but for details.
const ALL_SHARE: f64 = 0.9;
/// LIMIT: nodes whose shares differ by less than this factor have equal ones.
const EVEN_FACTOR: f64 = 1.25;

/// What the placement of a process comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PlacementVerdict {
    /// The host has one node, or its kernel knows none: there is nothing to place.
    OneNode,
    /// No page of a large mapping is in memory.
    Nothing,
    /// A node is full and holds more than its share, while another has room: the kernel will swap out although there is memory.
    SwapAhead {
        /// The full node.
        full: u32,
        /// What is left of it.
        left_bytes: u64,
        /// Share of this process's pages that it holds.
        share: f64,
        /// The node with the most room.
        roomy: u32,
        /// What is left of that.
        roomy_left_bytes: u64,
    },
    /// Nearly all of it is on one node.
    OneSided {
        /// The node.
        node: u32,
        /// Share of this process's pages.
        share: f64,
    },
    /// All nodes that have CPUs hold about as much.
    Even {
        /// How many.
        nodes: usize,
    },
    /// Some hold much more than others.
    Uneven {
        /// Where the most is.
        most: u32,
        /// Share of this process's pages.
        most_share: f64,
        /// Where the least is.
        least: u32,
        /// Share of this process's pages.
        least_share: f64,
    },
}

/// Bytes of all mappings by node.
pub fn bytes_by_node(mappings: &[LargeMapping]) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for (&node, &bytes) in mappings.iter().flat_map(|mapping| &mapping.nodes) {
        let sum: &mut u64 = sums.entry(node).or_default();
        *sum = sum.saturating_add(bytes);
    }
    sums
}

/// One node, as the verdict sees it.
#[derive(Clone, Copy)]
struct Share {
    number: u32,
    left_bytes: u64,
    /// Of the node's memory.
    left: f64,
    /// Of the process's pages.
    held: f64,
}

impl PlacementVerdict {
    /// Judges the mappings of one process on a host with these nodes.
    pub fn on(mappings: &[LargeMapping], nodes: &[NumaNode]) -> Self {
        let nodes: Vec<&NumaNode> = nodes.iter().filter(|node| node.total_bytes > 0).collect();
        if nodes.len() < 2 {
            return Self::OneNode;
        }
        let held = bytes_by_node(mappings);
        let all: u64 = held.values().sum();
        if all == 0 {
            return Self::Nothing;
        }
        let shares: Vec<Share> = nodes.iter().map(|node| share(node, &held, all)).collect();
        swap_ahead(&shares).unwrap_or_else(|| spread(&shares))
    }
}

fn share(node: &NumaNode, held: &BTreeMap<u32, u64>, all: u64) -> Share {
    let number = u32::try_from(node.number).unwrap_or(u32::MAX);
    Share {
        number,
        left_bytes: node.available_bytes,
        left: node.available_bytes as f64 / node.total_bytes as f64,
        held: held.get(&number).copied().unwrap_or(0) as f64 / all as f64,
    }
}

fn swap_ahead(shares: &[Share]) -> Option<PlacementVerdict> {
    let even = 1.0 / shares.len() as f64;
    let fullest = shares.iter().filter(|share| share.left < FULL_SHARE && share.held > even);
    let full = fullest.max_by(|one, other| one.held.total_cmp(&other.held))?;
    let roomiest = shares.iter().filter(|share| share.left >= ROOMY_SHARE);
    let roomy = roomiest.max_by_key(|share| share.left_bytes)?;
    Some(PlacementVerdict::SwapAhead {
        full: full.number,
        left_bytes: full.left_bytes,
        share: full.held,
        roomy: roomy.number,
        roomy_left_bytes: roomy.left_bytes,
    })
}

fn spread(shares: &[Share]) -> PlacementVerdict {
    let by_held = |one: &&Share, other: &&Share| one.held.total_cmp(&other.held);
    let most = shares.iter().max_by(by_held).expect("there are two nodes");
    let least = shares.iter().min_by(by_held).expect("there are two nodes");
    if most.held >= ALL_SHARE {
        return PlacementVerdict::OneSided { node: most.number, share: most.held };
    }
    if most.held <= least.held * EVEN_FACTOR {
        return PlacementVerdict::Even { nodes: shares.len() };
    }
    PlacementVerdict::Uneven { most: most.number, most_share: most.held, least: least.number, least_share: least.held }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: usize, available_bytes: u64) -> NumaNode {
        NumaNode { number, cpus: vec![number], total_bytes: 1000, free_bytes: available_bytes, available_bytes }
    }

    fn verdict(held: &[(u32, u64)], nodes: &[NumaNode]) -> PlacementVerdict {
        let mapping = LargeMapping { nodes: held.iter().copied().collect(), ..LargeMapping::default() };
        PlacementVerdict::on(&[mapping], nodes)
    }

    #[test]
    fn on_one_node_nothing_is_claimed() {
        assert_eq!(verdict(&[(0, 500)], &[node(0, 1)]), PlacementVerdict::OneNode);
        assert_eq!(verdict(&[], &[]), PlacementVerdict::OneNode);
        let empty = NumaNode { total_bytes: 0, ..node(1, 0) };
        assert_eq!(verdict(&[(0, 500)], &[node(0, 1), empty]), PlacementVerdict::OneNode, "CPUs without memory");
    }

    #[test]
    fn a_full_node_beside_a_free_one_is_swap_insanity() {
        let found = verdict(&[(0, 900), (1, 100)], &[node(0, 20), node(1, 700)]);
        let expected =
            PlacementVerdict::SwapAhead { full: 0, left_bytes: 20, share: 0.9, roomy: 1, roomy_left_bytes: 700 };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_node_that_others_filled_is_not_this_process_s_doing() {
        assert_eq!(
            verdict(&[(0, 100), (1, 900)], &[node(0, 20), node(1, 700)]),
            PlacementVerdict::OneSided { node: 1, share: 0.9 }
        );
    }

    #[test]
    fn without_room_anywhere_there_is_nothing_insane_in_swapping() {
        let found = verdict(&[(0, 600), (1, 400)], &[node(0, 20), node(1, 100)]);
        assert!(matches!(found, PlacementVerdict::Uneven { most: 0, least: 1, .. }), "{found:?}");
    }

    #[test]
    fn spreads_are_told_apart() {
        let roomy = [node(0, 500), node(1, 500), node(2, 500), node(3, 500)];
        assert_eq!(verdict(&[(0, 100), (1, 110), (2, 100), (3, 95)], &roomy), PlacementVerdict::Even { nodes: 4 });
        assert!(matches!(verdict(&[(2, 100)], &roomy), PlacementVerdict::OneSided { node: 2, share: 1.0 }));
        assert!(matches!(verdict(&[(0, 60), (1, 40)], &roomy), PlacementVerdict::Uneven { most: 0, .. }));
        assert_eq!(verdict(&[], &roomy), PlacementVerdict::Nothing);
    }
}
