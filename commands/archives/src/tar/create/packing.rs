//! How a new archive is packed, as the options or the end of its name say. Packs nothing.

use super::super::{TarArgs, archive, memory, usage};
use ::archive::create::Packing;
use codec::format::{EncodeOptions, UnitLayout};
use codec::registry;
use mh_kit::failure::Failure;

/// The format and its options; none for a plain archive, or another program.
pub fn packing(args: &TarArgs) -> Result<Option<Packing>, Failure> {
    if args.packing.use_compress_program.is_some() {
        return Ok(None);
    }
    let format = match archive::said(args) {
        None if args.packing.auto_compress => by_ending(args)?,
        found => found,
    };
    let level = args.packing.level.filter(|_| !super::super::incremental::begins_anew(args));
    let Some(format) = format else {
        return match level {
            Some(_) => {
                Err(usage("--level needs a format: -z, -J, --zstd, or -a and a name with its suffix".to_owned()))
            }
            None => Ok(None),
        };
    };
    let facts = format.facts();
    let level = level.unwrap_or(facts.default_level);
    if !facts.levels.contains(&level) {
        let (low, high) = (facts.levels.start().max(&0), facts.levels.end());
        return Err(usage(format!("{} has levels {low} to {high}, not {level}", facts.name)));
    }
    let reach_bytes = memory::reach_bytes(facts, level);
    let options = EncodeOptions { reach_bytes, ..EncodeOptions::new(level, UnitLayout::ParallelUnits) };
    Ok(Some(Packing { format, options }))
}

/// The format that the archive's name says; none for a name that says none.
fn by_ending(args: &TarArgs) -> Result<Option<&'static dyn codec::format::Format>, Failure> {
    let Some(name) = args.archive().map(|path| path.to_string_lossy().into_owned()) else { return Ok(None) };
    let has = |format: &&&dyn codec::format::Format| {
        format.can_encode() && format.facts().suffixes.iter().any(|(ending, _)| name.ends_with(ending))
    };
    Ok(registry::formats().iter().find(has).copied())
}
