//! `--pax-option`: what is wanted of extended headers. COMPAT: GNU tar's words; where it warns of a key, or fails, so do we.

use super::{TarArgs, create, usage};
use archive::pattern::{Manner, Pattern};
use archive::write::extended::Extended;
use mh_kit::failure::Failure;

/// Keys that say where a member's data are: nobody could read what had another value in it.
const PROTECTED: [&str; 7] = [
    "GNU.dumpdir",
    "GNU.sparse.major",
    "GNU.sparse.minor",
    "GNU.sparse.name",
    "GNU.sparse.realsize",
    "GNU.volume.filename",
    "size",
];

/// What the options say, all of them together.
pub fn extended(args: &TarArgs) -> Result<Extended, Failure> {
    // COMPAT: with --mtime this is what headers have, whatever becomes of members' times.
    let mtime = args.metadata.mtime.as_deref().map(create::time).transpose()?.map(|time| time.seconds);
    let mut wanted = Extended { mtime, ..Extended::default() };
    for option in args.pax_option.iter().flat_map(|options| options.split(',')).filter(|option| !option.is_empty()) {
        take(option, &mut wanted)?;
    }
    // COMPAT: the last one stands first.
    wanted.of_each.reverse();
    wanted.of_all.reverse();
    if !wanted.of_all.is_empty() && !args.operation.create {
        return Err(usage(
            "--pax-option: KEY=VALUE stands at the beginning of an archive; use KEY:=VALUE for members that are appended".to_owned(),
        ));
    }
    Ok(wanted)
}

fn take(option: &str, wanted: &mut Extended) -> Result<(), Failure> {
    let no_option = || {
        usage(format!("--pax-option takes delete=PATTERN, exthdr.name=TEXT, KEY=VALUE and KEY:=VALUE, not '{option}'"))
    };
    let (key, value) = option.split_once('=').ok_or_else(no_option)?;
    let (key, is_of_each) = key.strip_suffix(':').map_or((key, false), |key| (key, true));
    let value = value.trim_start();
    // COMPAT: seconds since 1970, no date.
    let seconds = || match value.parse() {
        Ok(seconds) => Ok(Some(seconds)),
        Err(_) => Err(usage(format!("--pax-option: {key} takes seconds since 1970, not '{value}'"))),
    };
    match key {
        "" => return Err(no_option()),
        "delete" => {
            let manner = Manner { anchored: true, beneath: false, ..Manner::EXCLUDED };
            let pattern = Pattern::new(value.as_bytes(), manner);
            if PROTECTED.iter().any(|key| pattern.matches(key.as_bytes())) {
                return Err(usage(format!("--pax-option: '{value}' would leave out where data are")));
            }
            wanted.left_out.push(pattern);
        }
        "exthdr.name" => wanted.name = Some(value.into()),
        "exthdr.mtime" => wanted.mtime = seconds()?,
        "globexthdr.name" => wanted.name_of_all = Some(value.into()),
        "globexthdr.mtime" => wanted.mtime_of_all = seconds()?,
        key if key == "size"
            || key == "GNU.dumpdir"
            || key.starts_with("GNU.sparse.")
            || key.starts_with("GNU.volume.") =>
        {
            return Err(usage(format!("--pax-option: '{key}' locates data and cannot be changed")));
        }
        key if is_of_each => wanted.of_each.push((key.into(), value.into())),
        key => wanted.of_all.push((key.into(), value.into())),
    }
    Ok(())
}
