//! Several scripts with weights: each transaction is one of them, by chance.

use super::LoadScript;
use super::player::ScriptPlayer;
use crate::arrivals::RandomSource;
use crate::distribution::below;
use crate::player::{TransactionPlayer, Workload};
use std::sync::Arc;

/// LIMIT: a script's weight, as pgbench has it.
const WEIGHT_MAX: u64 = i32::MAX as u64;

/// A name and a weight from `NAME@WEIGHT`; without one it is 1.
pub fn split_weight(text: &str) -> Result<(&str, u64), String> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let weight = weight.parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
    weight
        .map(|weight| (name, weight))
        .ok_or_else(|| format!("'{text}': behind @ stands the script's weight, a whole number up to {WEIGHT_MAX}"))
}

/// Scripts with their weights, as a workload.
#[derive(Clone, Debug)]
pub struct ScriptMix {
    chosen: Arc<Weighted>,
}

/// Scripts that are chosen by weight.
#[derive(Debug)]
pub(super) struct Weighted {
    pub scripts: Vec<LoadScript>,
    /// How many prepared statements the scripts before one have.
    pub numbers: Vec<usize>,
    /// The sum of the weights up to each one.
    sums: Vec<u64>,
}

impl ScriptMix {
    /// A mix of scripts; those of weight 0 are left out.
    pub fn new(scripts: Vec<(LoadScript, u64)>) -> Result<Self, String> {
        let (mut sum, mut number) = (0_u64, 0);
        let (mut sums, mut numbers, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (mut script, weight) in scripts.into_iter().filter(|(_, weight)| *weight > 0) {
            script.pipelines.iter_mut().flatten().for_each(|statement| statement.number += number);
            sum = sum.saturating_add(weight);
            sums.push(sum);
            numbers.push(number);
            number += script.statements.len();
            kept.push(script);
        }
        if kept.is_empty() {
            return Err("no script has a weight above 0".to_owned());
        }
        Ok(Self { chosen: Arc::new(Weighted { scripts: kept, numbers, sums }) })
    }
}

impl Weighted {
    /// The script of the next transaction.
    pub fn choose(&self, random: &mut RandomSource) -> usize {
        let sum = match self.sums.as_slice() {
            [] | [_] => return 0,
            [.., sum] => *sum,
        };
        let drawn = below(random, sum);
        self.sums.partition_point(|&sum| sum <= drawn)
    }
}

impl Workload for ScriptMix {
    fn player(&self, client: usize) -> Box<dyn TransactionPlayer> {
        Box::new(ScriptPlayer::new(Arc::clone(&self.chosen), client))
    }

    fn scripts(&self) -> Vec<(String, Vec<String>)> {
        let shown = |script: &LoadScript| (script.name.clone(), script.statements().map(str::to_owned).collect());
        self.chosen.scripts.iter().map(shown).collect()
    }
}
