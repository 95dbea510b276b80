//! Memory limits as xz has them: what a chain needs is compared with them before anything is read; settings are lowered, with a
//! message, or refused.

use crate::tamp::old_names::Wish;
use crate::tamp::staffing::MEMORY_SHARE;
use crate::tamp::xz_wish::{XzLimits, XzWish};
use codec::filter_chain::FilterChain;
use codec::format::BlockOptions;
use machine::Host;
use mh_kit::context::Context;

/// Larger blocks are not held: they are written in order. Those of -9 have so much.
const HELD_BLOCK_BYTES_MAX: u64 = 192 << 20;

/// Memory that xz counts for a thread beside its filters and three blocks.
const THREAD_BYTES: u64 = 36 << 10;

/// The program's own buffers, which xz does not count.
const OWN_BYTES: u64 = 4 << 20;

const MEBIBYTE: u64 = 1 << 20;

/// The format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Xz,
    Lzma,
    Raw,
}

/// All chains in use, with the number by which the command line calls each.
fn chains(default: FilterChain, blocks: &BlockOptions, typed: &[(usize, u64)]) -> Vec<(usize, FilterChain)> {
    let numbered = |(at, chain): (Option<usize>, _)| (at.map_or(0, |at| typed[at].0), chain);
    blocks.chains(default).map(numbered).collect()
}

/// The most that one of them needs.
fn need(chains: &[(usize, FilterChain)]) -> u64 {
    chains.iter().map(|(_, chain)| chain.encoder_bytes()).max().unwrap_or(0)
}

/// Compares what compression needs with its limit, and lowers what may be lowered. Returns what is to be said about it.
pub fn settle_compression(wish: &mut Wish, written: Written, default: FilterChain) -> Result<Vec<String>, String> {
    let xz = &mut wish.args.xz;
    let limit = if xz.typed.limits.compress == 0 { u64::MAX } else { xz.typed.limits.compress };
    let used = chains(default, &xz.blocks, &xz.typed.list);
    let mut said = Vec::new();
    if wish.args.verbose > 1 {
        let decoding_bytes = used.iter().map(|(_, chain)| chain.decoder_bytes()).max().unwrap_or(0);
        said.push(needed(need(&used), limit));
        said.push(format!("Decompression will need {} MiB of memory.", mebibytes(decoding_bytes)));
    }
    if written == Written::Xz {
        settle_order(xz, &used, limit, &mut said)?;
    }
    let is_alone = written != Written::Xz || xz.is_in_order;
    if is_alone && need(&used) > limit {
        if written == Written::Raw || !xz.typed.adjusts {
            return Err(too_low(&said, need(&used), limit));
        }
        for (number, chain) in used {
            let lowered = lower(&chain, limit).map_err(|least_bytes| too_low(&said, least_bytes, limit))?;
            if lowered != chain {
                said.push(adjusted(number, &chain, &lowered, limit, written));
            }
            put_back(&mut xz.blocks, &xz.typed.list, number, lowered);
        }
    }
    if limit != u64::MAX {
        xz.has_limits = true;
        wish.args.shared.memory = Some(limit.saturating_add(OWN_BYTES));
    }
    Ok(said)
}

/// Whether blocks are held, and encoded in parallel, or encoded in order.
fn settle_order(
    xz: &mut XzWish,
    used: &[(usize, FilterChain)],
    limit: u64,
    said: &mut Vec<String>,
) -> Result<(), String> {
    let largest = used.iter().map(|(_, chain)| chain.block_bytes()).max().unwrap_or(0);
    let listed = xz.typed.list.iter().map(|(_, bytes)| *bytes).max().unwrap_or(u64::MAX);
    let block_bytes = xz.blocks.most_bytes.unwrap_or(largest.min(listed));
    xz.is_in_order = block_bytes > HELD_BLOCK_BYTES_MAX;
    let in_parallel = need(used).saturating_add(block_bytes.saturating_mul(3)).saturating_add(THREAD_BYTES);
    if in_parallel <= limit || xz.is_in_order {
        return Ok(());
    }
    if !xz.typed.is_single_threaded {
        if !xz.typed.adjusts {
            return Err(too_low(said, in_parallel, limit));
        }
        let limit = mebibytes(limit);
        said.push(format!("Switching to single-threaded mode to not exceed the memory usage limit of {limit} MiB"));
    }
    xz.is_in_order = true;
    Ok(())
}

/// The chain with the largest dictionary of whole mebibytes that fits; what the smallest would need as an error.
fn lower(chain: &FilterChain, limit: u64) -> Result<FilterChain, u64> {
    let mut need_bytes = chain.encoder_bytes();
    if need_bytes <= limit {
        return Ok(*chain);
    }
    for mebibytes in (1..=chain.settings().dictionary_bytes >> 20).rev() {
        let lowered = chain.with_dictionary(mebibytes << 20);
        need_bytes = lowered.encoder_bytes();
        if need_bytes <= limit {
            return Ok(lowered);
        }
    }
    Err(need_bytes)
}

fn adjusted(number: usize, from: &FilterChain, to: &FilterChain, limit: u64, written: Written) -> String {
    let kind = if written == Written::Lzma { 1 } else { 2 };
    let [from, to] = [from, to].map(|chain| mebibytes(u64::from(chain.settings().dictionary_bytes)));
    let whose = if number == 0 { String::new() } else { format!(" for --filters{number}") };
    let limit = mebibytes(limit);
    format!(
        "Adjusted LZMA{kind} dictionary size{whose} from {from} MiB to {to} MiB to not exceed the memory usage limit of \
         {limit} MiB"
    )
}

fn put_back(blocks: &mut BlockOptions, typed: &[(usize, u64)], number: usize, chain: FilterChain) {
    if number == 0 {
        blocks.chain = Some(chain);
        return;
    }
    let Some(list) = blocks.list else { return };
    let mut list = list.to_vec();
    for (block, _) in list.iter_mut().zip(typed).filter(|(_, (of, _))| *of == number) {
        block.chain = Some(chain);
    }
    blocks.list = Some(list.leak());
}

/// The need of raw streams is known beforehand.
pub fn check_raw_decompression(chain: &FilterChain, limit: u64) -> Result<(), String> {
    let need_bytes = chain.decoder_bytes();
    match need_bytes > limit {
        true => Err(too_low(&[], need_bytes, limit)),
        false => Ok(()),
    }
}

fn too_low(said: &[String], need_bytes: u64, limit: u64) -> String {
    let lines = ["Memory usage limit is too low for the given filter setup.".to_owned(), needed(need_bytes, limit)];
    said.iter().cloned().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Limits for what is read.
pub fn settle_decompression(wish: &mut Wish) {
    let XzLimits { decompress, in_parallel, .. } = wish.args.xz.typed.limits;
    let xz = &mut wish.args.xz;
    if decompress != 0 {
        xz.reading.filter_bytes = decompress;
    }
    let least = [decompress, in_parallel].into_iter().filter(|limit| *limit != 0).min();
    if let Some(least) = least.filter(|least| *least != u64::MAX) {
        xz.has_limits = true;
        wish.args.shared.memory = Some(least.saturating_add(OWN_BYTES));
    }
}

/// Of how much memory is needed, and how much is allowed.
pub fn needed(need_bytes: u64, limit: u64) -> String {
    let need = mebibytes(need_bytes);
    match limit {
        u64::MAX => format!("{need} MiB of memory is required. The limiter is disabled."),
        limit if limit < MEBIBYTE => format!("{need} MiB of memory is required. The limit is {limit} B."),
        limit => format!("{need} MiB of memory is required. The limit is {} MiB.", mebibytes(limit)),
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(MEBIBYTE)
}

/// The text of `--info-memory`. Defaults are our own, not xz's.
pub fn information(context: &Context, limits: &XzLimits, is_for_scripts: bool) -> String {
    let total_bytes = total_bytes(&context.host);
    let threads = context.machine.online_cpus;
    let usual = context.machine.memory_budget_bytes() / MEMORY_SHARE;
    let mut in_parallel = if limits.in_parallel == 0 { usual } else { limits.in_parallel };
    if limits.decompress != 0 {
        in_parallel = in_parallel.min(limits.decompress);
    }
    let XzLimits { compress, decompress, .. } = *limits;
    if is_for_scripts {
        return format!("{total_bytes}\t{compress}\t{decompress}\t{in_parallel}\t{usual}\t{threads}\n");
    }
    let shown = |bytes| match bytes {
        0 | u64::MAX => "Disabled".to_owned(),
        bytes => format!("{} MiB ({bytes} B)", mebibytes(bytes)),
    };
    let line = |name: &str, value: &str| format!("  {name:<32}  {value}\n");
    [
        "Hardware information:\n".to_owned(),
        line("Amount of physical memory (RAM):", &shown(total_bytes)),
        line("Number of processor threads:", &threads.to_string()),
        "\nMemory usage limits:\n".to_owned(),
        line("Compression:", &shown(compress)),
        line("Decompression:", &shown(decompress)),
        line("Multi-threaded decompression:", &shown(in_parallel)),
        line("Default for -T0:", &shown(usual)),
    ]
    .concat()
}

/// The machine's memory.
pub fn total_bytes(host: &Host) -> u64 {
    machine::host_memory(host).map_or(0, |memory| memory.total_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codec::filter_chain::LzmaSettings;

    #[test]
    fn dictionaries_are_lowered_by_whole_mebibytes() {
        let chain = FilterChain::lzma2(LzmaSettings::preset(6, false));
        assert_eq!(lower(&chain, 100 << 20), Ok(chain));
        assert_eq!(lower(&chain, 60 << 20), Ok(chain.with_dictionary(4 << 20)));
        assert_eq!(lower(&chain, 30 << 20), Ok(chain.with_dictionary(2 << 20)));
        assert_eq!(lower(&chain, 10 << 20), Err(chain.with_dictionary(1 << 20).encoder_bytes()));
    }

    #[test]
    fn needs_are_in_mebibytes_and_small_limits_in_bytes() {
        assert_eq!(needed(9_000_000, u64::MAX), "9 MiB of memory is required. The limiter is disabled.");
        assert_eq!(needed(9_000_000, 102_400), "9 MiB of memory is required. The limit is 102400 B.");
        assert_eq!(needed(9_000_000, 1 << 20), "9 MiB of memory is required. The limit is 1 MiB.");
    }
}
