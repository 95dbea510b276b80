//! What the options of `mh cp` ask for together, as the engine takes it.

use super::CpArgs;
use crate::trees::{self, choices};
use clap::ArgMatches;
use mh_kit::context::{Context, variable};
use mh_kit::failure::Failure;
use std::os::unix::ffi::OsStringExt;
use transfer::copy::{
    Attribute, Backup, BackupNames, Existing, FollowLinks, JobTargets, Keep, Make, Manner, Reflink, Same, Sparse,
};

/// Everything, as `-a` and `mv` keep it.
pub const KEEP_ALL: Keep = Keep {
    mode: true,
    forgets_mode: false,
    owner: true,
    times: true,
    links: true,
    attributes: Attribute::Keep,
    context: true,
};

const KEEP_NOTHING: Keep = Keep {
    mode: false,
    forgets_mode: false,
    owner: false,
    times: false,
    links: false,
    attributes: Attribute::Leave,
    context: false,
};

/// `--sparse`.
pub const SPARSE: [(&str, Sparse); 3] = [("never", Sparse::Never), ("auto", Sparse::Auto), ("always", Sparse::Always)];

/// `--reflink`.
pub const REFLINK: [(&str, Reflink); 3] =
    [("auto", Reflink::Auto), ("always", Reflink::Always), ("never", Reflink::Never)];

/// What `--preserve` and `--no-preserve` name.
const PARTS: [(&str, Part); 7] = [
    ("mode", Part::Mode),
    ("timestamps", Part::Times),
    ("ownership", Part::Owner),
    ("links", Part::Links),
    ("context", Part::Context),
    ("xattr", Part::Attributes),
    ("all", Part::All),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Mode,
    Times,
    Owner,
    Links,
    Context,
    Attributes,
    All,
}

/// `--backup`; none make no backups.
const BACKUPS: [(&str, Option<BackupNames>); 8] = [
    ("none", None),
    ("off", None),
    ("simple", Some(BackupNames::Simple)),
    ("never", Some(BackupNames::Simple)),
    ("existing", Some(BackupNames::AsBefore)),
    ("nil", Some(BackupNames::AsBefore)),
    ("numbered", Some(BackupNames::Numbered)),
    ("t", Some(BackupNames::Numbered)),
];

/// What `args` ask for.
pub fn of(context: &Context, args: &CpArgs, matches: &ArgMatches) -> Result<Manner, Failure> {
    if args.link && args.symbolic_link {
        return Err(trees::usage(context, "cannot make both hard and symbolic links"));
    }
    let backup_wanted = args.backup.as_deref().or(args.simple_backup.then_some(""));
    refuse_backup_of_nothing(context, backup_wanted, args.no_clobber)?;
    let recursive = args.recursive || args.archive;
    let follow = match (args.dereference, args.follow_operands, args.no_dereference || args.links || args.archive) {
        (true, ..) => FollowLinks::Always,
        (_, true, _) => FollowLinks::Operands,
        (_, _, true) => FollowLinks::Never,
        // COMPAT: another name is made for what a link leads to, also in a tree.
        _ if recursive && !args.link => FollowLinks::Never,
        _ => FollowLinks::Always,
    };
    let existing = match (args.no_clobber, args.interactive) {
        (true, _) => Existing::Stays,
        (_, true) => Existing::Ask,
        _ => Existing::Replace,
    };
    let make = match (args.link, args.symbolic_link, args.attributes_only) {
        (true, ..) => Make::HardLinks,
        (_, true, _) => Make::SymbolicLinks,
        (_, _, true) => Make::Attributes,
        _ => Make::Copies,
    };
    let same = |how: &String| if how == "blake3" { Same::Digest } else { Same::Usual };
    let keep = keep(context, args, matches)?;
    Ok(Manner {
        keeps_roots: args.fsync,
        recursive,
        follow,
        make,
        keep,
        existing,
        update: args.update,
        force: args.force,
        remove_first: args.remove_destination,
        backup: backup(context, backup_wanted, args.suffix.as_ref())?,
        skip_same: if args.resume { Some(Same::Usual) } else { args.skip_same.as_ref().map(same) },
        verify: args.verify.as_ref().map(same),
        sparse: match &args.sparse {
            None => Sparse::Auto,
            Some(when) => choices::choose(context, when, "--sparse", &SPARSE)?,
        },
        reflink: match &args.reflink {
            None => Reflink::Auto,
            Some(when) => choices::choose(context, when, "--reflink", &REFLINK)?,
        },
        one_file_system: args.one_file_system,
        contents: args.copy_contents,
        tells_removed: args.verbose || args.debug,
        tells_all: args.verbose || args.dry_run || args.debug,
        tells_ways: args.debug,
        pretends: args.dry_run,
        targets: if args.parents { JobTargets::WithParents } else { JobTargets::Typed },
    })
}

/// COMPAT: one after the other, as they were typed.
fn keep(context: &Context, args: &CpArgs, matches: &ArgMatches) -> Result<Keep, Failure> {
    let mut keep = Keep { times: args.resume, ..KEEP_NOTHING };
    let mut typed = Vec::new();
    let flags = [
        ("archive", args.archive, "all"),
        ("keep", args.keep, "mode,ownership,timestamps"),
        ("links", args.links, "links"),
    ];
    for (name, is_given, list) in flags {
        typed.extend(matches.index_of(name).filter(|_| is_given).map(|at| (at, list, "--preserve")));
    }
    for (name, lists, option) in
        [("preserve", &args.preserve, "--preserve"), ("no_preserve", &args.no_preserve, "--no-preserve")]
    {
        let places = matches.indices_of(name).into_iter().flatten();
        typed.extend(places.zip(lists).map(|(at, list)| (at, list.as_str(), option)));
    }
    typed.sort_unstable();
    for (_, list, option) in typed {
        set(context, &mut keep, list, option)?;
    }
    Ok(keep)
}

fn set(context: &Context, keep: &mut Keep, list: &str, option: &str) -> Result<(), Failure> {
    let value = option == "--preserve";
    let attributes = |wanted| if value { wanted } else { Attribute::Leave };
    for word in list.split(',') {
        match choices::choose(context, word, option, &PARTS)? {
            Part::Mode => (keep.mode, keep.forgets_mode) = (value, !value),
            Part::Owner => keep.owner = value,
            Part::Times => keep.times = value,
            Part::Links => keep.links = value,
            Part::Context => keep.context = value,
            Part::Attributes => keep.attributes = attributes(Attribute::Require),
            // Attributes that were named before are still told of.
            Part::All if value && keep.attributes == Attribute::Require => {
                *keep = Keep { attributes: Attribute::Require, ..KEEP_ALL }
            }
            Part::All if value => *keep = KEEP_ALL,
            Part::All => *keep = Keep { forgets_mode: true, ..KEEP_NOTHING },
        }
    }
    Ok(())
}

/// COMPAT: where nothing is written over there is nothing to keep.
pub fn refuse_backup_of_nothing(context: &Context, how: Option<&str>, no_clobber: bool) -> Result<(), Failure> {
    match how {
        Some(_) if no_clobber => Err(trees::usage(context, "options --backup and --no-clobber are mutually exclusive")),
        _ => Ok(()),
    }
}

/// How backups are named: as asked, else as the environment says; none where none were asked for.
pub fn backup(
    context: &Context,
    how: Option<&str>,
    suffix: Option<&std::ffi::OsString>,
) -> Result<Option<Backup>, Failure> {
    // COMPAT: a suffix alone asks for backups, too.
    if how.is_none() && suffix.is_none() {
        return Ok(None);
    }
    let environment = variable("VERSION_CONTROL").and_then(|value| value.into_string().ok());
    let (control, option) = match how {
        Some(how) if !how.is_empty() => (how.to_owned(), "backup type"),
        _ => (environment.unwrap_or_default(), "$VERSION_CONTROL"),
    };
    let names = match control.as_str() {
        "" => Some(BackupNames::AsBefore),
        control => choices::choose(context, control, option, &BACKUPS)?,
    };
    let Some(names) = names else { return Ok(None) };
    let suffix = suffix.cloned().or_else(|| variable("SIMPLE_BACKUP_SUFFIX")).map(OsStringExt::into_vec);
    let suffix = suffix.filter(|suffix| !suffix.is_empty() && !suffix.contains(&b'/')).unwrap_or_else(|| b"~".to_vec());
    Ok(Some(Backup { names, suffix }))
}
