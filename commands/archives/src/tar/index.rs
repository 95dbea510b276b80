//! The index of members that a packed archive may have: whether it is used, for what, and what the report says of it.
//! How it is found, read and checked: `archive::index`.

use super::TarArgs;
use super::archive::{Opened, Way, decode_limits};
use super::chosen::Chosen;
use ::archive::index::entry::Entry;
use ::archive::index::reader::{Index, Unfit};
use mh_kit::context::Context;
use mh_kit::shared_args::ReportFormat;

/// The share of a packed archive, and the bytes in any case, up to which chosen members are taken out by one hand; where they are more,
/// decoding all of it on all hands is sooner done.
const SHARE_MAX: u64 = 16;
const BYTES_MAX: u64 = 16 << 20;

/// The index of an archive, if it has one and it is wanted. What an index says cannot be proven without decoding everything:
/// untrusted ones are not asked.
pub fn find(args: &TarArgs, opened: &Opened) -> Option<Result<Index, Unfit>> {
    // Of what is extracted by an index nothing tells where it stands.
    if args.no_index || args.untrusted || args.ignore_zeros || args.telling.block_number {
        return None;
    }
    let Way::Packed { file: Some(file), facts, .. } = &opened.way else { return None };
    Index::find(file, codec::registry::by_name(facts.name)?)
}

/// What the report says of an index: used, or why not, in a word.
pub fn word(found: Option<&Result<(), Unfit>>) -> Option<String> {
    found.map(|used| match used {
        Ok(()) => "used".to_owned(),
        Err(unfit) => unfit.to_string(),
    })
}

/// The report's line where nothing else is reported.
pub fn report(context: &Context, args: &TarArgs, used: Option<&Result<(), Unfit>>) {
    let Some(word) = word(used) else { return };
    match args.shared.report {
        Some(ReportFormat::Text) => context.messages.report(&format!("index: {word}")),
        Some(ReportFormat::Json) => context.messages.report(&format!("{{\"index\":\"{word}\"}}")),
        None => {}
    }
}

/// Whether each of the entries is what it is said to be, where it is said to be.
pub fn is_true_of(index: &Index, entries: &[Entry]) -> bool {
    let mut units = index.units(decode_limits(UNIT_BYTES_MAX, 0));
    entries.iter().all(|entry| Index::is_true_of(&mut units, entry))
}

/// Whether the last member is what the index says, where it says: one look that tells another archive's index.
pub fn ends_truly(index: &Index) -> bool {
    index.last().is_ok_and(|last| is_true_of(index, last.as_slice()))
}

/// The members that are meant, where these are few and given by name. None where they may be many.
pub fn few_named(index: &Index, chosen: &Chosen) -> Result<Option<Vec<Entry>>, Unfit> {
    let Some(names) = chosen.few_plain_names() else { return Ok(None) };
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let mut entries: Vec<Entry> = Vec::new();
    index.named(&names, |entry| {
        if entries.len() <= ENTRIES_MAX && chosen.would_mean(&entry.member.path) {
            entries.push(entry.clone());
        }
    })?;
    Ok((entries.len() <= ENTRIES_MAX).then_some(entries))
}

/// Leaves nothing of an archive but the members that are chosen, where these are few and its index is true of each of them.
/// Says whether it did, or why not; nothing where there is no index, or it would not help.
pub fn narrow(args: &TarArgs, opened: &mut Opened, chosen: &Chosen) -> Option<Result<(), Unfit>> {
    chosen.few_plain_names()?;
    let found = find(args, opened)?.and_then(|index| Ok((few_named(&index, chosen)?, index)));
    let (entries, index) = match found {
        Ok((entries, index)) => (entries?, index),
        Err(unfit) => return Some(Err(unfit)),
    };
    let most = opened.total_bytes.map_or(0, |bytes| bytes / SHARE_MAX).max(BYTES_MAX);
    if entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.spot.bytes)) > most {
        return None;
    }
    if !is_true_of(&index, &entries) {
        return Some(Err(Unfit::Untrue));
    }
    let spots = entries.iter().map(|entry| entry.spot).collect();
    opened.way = Way::Chosen(Box::new(index.units(decode_limits(UNIT_BYTES_MAX, 0))), spots);
    Some(Ok(()))
}

/// LIMIT: plain bytes of a unit; our own have at most 16 MiB.
const UNIT_BYTES_MAX: u64 = 16 << 20;
/// LIMIT: members that are looked at one by one before they are taken out.
const ENTRIES_MAX: usize = 4096;
