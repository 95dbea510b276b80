//! xz, unxz, xzcat and lzma, unlzma, lzcat. xz's messages follow its getopt and its own words; a warning ends it with 2, which
//! `-Q` forgives. Longer parts have files of their own: `filters`, `numbers`, `limits`, `list`, `words`.

mod files;
mod filters;
mod limits;
mod list;
mod numbers;
mod words;

use super::options::{Complaint, Digits, Does, Opt, Table, Takes, accepted, flag, value};
use super::{Family, Shows, Wish, in_getopt_words, manners, name_of};
use crate::tamp::manners::{Codes, Manners, PacksTwice, Refused};
use codec::admission::{BehindTheEnd, FormatAdmission, Oddities};
use codec::filter_chain::{ChainFilter, FILTERS_MAX, FilterChain, LzmaSettings};
use codec::format::{CheckName, ListedBlock};
use limits::Written;
use machine::Host;
use mh_kit::context::Context;
use std::ffi::OsStr;
use std::time::Duration;
use terminal::printable;

pub(super) static FAMILY: Family = Family {
    table: &TABLE,
    variables: &["XZ_DEFAULTS", "XZ_OPT"],
    allowed: None,
    begin,
    finish,
    complain: |wish, complaint| {
        let name = &wish.called;
        let hint = match complaint {
            Complaint::Uncompressed(_) => String::new(),
            _ => format!("\n{name}: Try `{name} --help' for more information."),
        };
        let lines = in_getopt_words(complaint).replace('\n', &format!("\n{name}: "));
        (format!("{name}: {lines}{hint}"), 1)
    },
    help: HELP,
};

const HELP: &str = "
  -0 to -9, -e   fast and large to slow and small (default -6); -e searches longer
  -c             write to standard output, keep the files
  -d             decompress; -z compress; -t verify; -l list, -lv and -lvv tell more (--robot for scripts)
  -f             replace files that exist, follow links; with -dc pass on what is not packed
  -F FORMAT      auto, xz, lzma or raw; decompressing lzip too
  -C CHECK       none, crc32, crc64 (default) or sha256; --ignore-check does not compare
  -k             keep the files; --single-stream reads the first stream alone, and keeps
  -q, -v         say less, say more; -Q ends without an error where there are only warnings
  -S SUFFIX      suffix to add or to take away
  -T N           use at most N cores (default, and 0: all)
  -M LIMIT       memory limit, also --memlimit-compress, --memlimit-decompress, --memlimit-mt-decompress
                 (bytes, with KiB, MiB or GiB, or % of the memory); --no-adjust, --info-memory
  --block-size=N, --block-list=N,N,...     where blocks end; --flush-timeout=MS ends those of a slow pipe
  --x86 --arm --armthumb --arm64 --powerpc --ia64 --sparc --riscv --delta --lzma1 --lzma2[=SETTINGS],
  --filters=CHAIN, --filters1=CHAIN ... --filters9=CHAIN    filters instead of a preset (--filters-help)
  --files[=FILE], --files0[=FILE]    the files are named there
";

const fn filter(names: &'static str, add: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::Run(|_| false), does: Does::Take(add) }
}

const TABLE: Table = Table {
    options: &[
        // In the order of xz's own table, which messages about beginnings of names show.
        flag("z compress", |wish| wish.goes(false, false, false)),
        flag("d decompress uncompress", |wish| wish.goes(true, false, false)),
        flag("t test", |wish| wish.goes(true, true, false)),
        flag("l list", |wish| wish.goes(true, false, true)),
        flag("k keep", |wish| wish.keep = Some(true)),
        flag("f force", |wish| wish.args.force = true),
        flag("c stdout to-stdout", |wish| wish.args.stdout = true),
        accepted("no-sync"),
        flag("single-stream", |wish| {
            wish.args.xz.reading.is_first_alone = true;
            wish.keep = Some(true);
        }),
        flag("no-sparse", |wish| wish.args.no_sparse = true),
        value("S suffix", |wish, ending| super::take_ending(wish, ending, "", ": Invalid filename suffix")),
        filter("files", |wish, list| files(wish, list, b'\n')),
        filter("files0", |wish, list| files(wish, list, 0)),
        value("F format", |wish, name| {
            wish.format = Some(name.to_string_lossy().into_owned());
            Ok(())
        }),
        value("C check", check),
        flag("ignore-check", |wish| {
            wish.args.xz.reading.ignores_checks = true;
            manners(wish).admission.oddities = Oddities::Ignored;
        }),
        value("block-size", |wish, size| {
            wish.args.xz.typed.block_bytes = numbers::number("block-size", &text(size), 0..=u64::MAX >> 1)?;
            Ok(())
        }),
        value("block-list", |wish, list| {
            wish.args.xz.typed.list = numbers::block_list(&text(list))?;
            Ok(())
        }),
        value("memlimit-compress", |wish, limit| limits_of(wish, "memlimit-compress", limit, [true, false, false])),
        value("memlimit-decompress", |wish, limit| limits_of(wish, "memlimit-decompress", limit, [false, true, false])),
        value("memlimit-mt-decompress", |wish, limit| {
            limits_of(wish, "memlimit-mt-decompress", limit, [false, false, true])
        }),
        value("M memory memlimit", |wish, limit| limits_of(wish, "memlimit", limit, [true; 3])),
        flag("no-adjust", |wish| wish.args.xz.typed.adjusts = false),
        value("T threads", threads),
        value("flush-timeout", |wish, time| {
            wish.args.xz.typed.flush_timeout = numbers::number("flush-timeout", &text(time), 0..=u64::MAX)?;
            Ok(())
        }),
        flag("e extreme", |wish| wish.args.extreme = true),
        flag("fast", |wish| wish.level = Some(0)),
        flag("best", |wish| wish.level = Some(9)),
        value("filters", all_filters),
        value("filters1", |wish, chain| numbered_filters(wish, 1, chain)),
        value("filters2", |wish, chain| numbered_filters(wish, 2, chain)),
        value("filters3", |wish, chain| numbered_filters(wish, 3, chain)),
        value("filters4", |wish, chain| numbered_filters(wish, 4, chain)),
        value("filters5", |wish, chain| numbered_filters(wish, 5, chain)),
        value("filters6", |wish, chain| numbered_filters(wish, 6, chain)),
        value("filters7", |wish, chain| numbered_filters(wish, 7, chain)),
        value("filters8", |wish, chain| numbered_filters(wish, 8, chain)),
        value("filters9", |wish, chain| numbered_filters(wish, 9, chain)),
        flag("filters-help", |wish| {
            wish.shows = Some(Shows::Text(|wish, _| filters::help(wish.args.xz.is_for_scripts)));
        }),
        filter("lzma1", |wish, settings| add_filter(wish, "lzma1", settings)),
        filter("lzma2", |wish, settings| add_filter(wish, "lzma2", settings)),
        filter("x86 bcj", |wish, settings| add_filter(wish, "x86", settings)),
        filter("powerpc", |wish, settings| add_filter(wish, "powerpc", settings)),
        filter("ia64", |wish, settings| add_filter(wish, "ia64", settings)),
        filter("arm", |wish, settings| add_filter(wish, "arm", settings)),
        filter("armthumb", |wish, settings| add_filter(wish, "armthumb", settings)),
        filter("arm64", |wish, settings| add_filter(wish, "arm64", settings)),
        filter("sparc", |wish, settings| add_filter(wish, "sparc", settings)),
        filter("riscv", |wish, settings| add_filter(wish, "riscv", settings)),
        filter("delta", |wish, settings| add_filter(wish, "delta", settings)),
        flag("q quiet", |wish| (wish.args.quiet, wish.args.verbose) = (wish.args.quiet + 1, 0)),
        flag("v verbose", |wish| (wish.args.quiet, wish.args.verbose) = (0, wish.args.verbose + 1)),
        flag("Q no-warn", |wish| manners(wish).codes = Codes::with_warning(2).without_warnings()),
        flag("robot", |wish| wish.args.xz.is_for_scripts = true),
        flag("info-memory", |wish| {
            let typed = &mut wish.args.xz.typed;
            typed.shown = typed.shown.or(Some((typed.limits, wish.args.xz.is_for_scripts)));
            wish.shows = Some(Shows::Text(|wish, context| {
                let (limits, is_for_scripts) = wish.args.xz.typed.shown.unwrap_or_default();
                limits::information(context, &limits, is_for_scripts)
            }));
        }),
        flag("h help H long-help", |wish| wish.shows = Some(Shows::Help)),
        flag("V version", |wish| wish.shows = Some(Shows::Text(|wish, _| version(wish)))),
    ],
    also: &[],
    digits: Digits::Single(|_| true),
    abbreviates: true,
};

/// The release of xz whose options these are, and the oldest liblzma that is linked.
const OPTIONS_OF: [u32; 3] = [5, 8, 0];

/// Scripts look for xz's name and a number behind it, and for liblzma's.
fn version(wish: &Wish) -> String {
    let [major, minor, patch] = OPTIONS_OF;
    if wish.args.xz.is_for_scripts {
        let number = major * 10_000_000 + minor * 10_000 + patch * 10 + 2;
        return format!("XZ_VERSION={number}\nLIBLZMA_VERSION={number}\n");
    }
    let (name, ours) = (&wish.called, env!("CARGO_PKG_VERSION"));
    let release = format!("{major}.{minor}.{patch}");
    format!("{name} (XZ Utils) {release} compatible (manyhands {ours})\nliblzma {release} or newer\n")
}

fn text(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}

fn check(wish: &mut Wish, name: &OsStr) -> Result<(), String> {
    wish.args.check = Some(match name.to_str() {
        Some("none") => CheckName::None,
        Some("crc32") => CheckName::Crc32,
        Some("crc64") => CheckName::Crc64,
        Some("sha256") => CheckName::Sha256,
        _ => return Err(format!("{}: Unsupported integrity check type", name_of(name.as_ref()))),
    });
    Ok(())
}

/// LIMIT: liblzma's threads.
const THREADS_MAX: u64 = 16_384;

fn threads(wish: &mut Wish, value: &OsStr) -> Result<(), String> {
    let typed = text(value);
    // COMPAT: +N asks for threaded mode even where N is 1.
    let count = numbers::number("threads", typed.strip_prefix('+').unwrap_or(&typed), 0..=THREADS_MAX)?;
    wish.args.xz.typed.is_single_threaded = count == 1 && !typed.starts_with('+');
    wish.args.shared.hands = usize::try_from(count).ok();
    Ok(())
}

/// A limit for compression, decompression, decompression on several cores.
fn limits_of(wish: &mut Wish, name: &str, value: &OsStr, which: [bool; 3]) -> Result<(), String> {
    let limit = numbers::memory_limit(name, &text(value), || limits::total_bytes(&Host::real()))?;
    let limits = &mut wish.args.xz.typed.limits;
    let places = [&mut limits.compress, &mut limits.decompress, &mut limits.in_parallel];
    places.into_iter().zip(which).filter(|(_, is_set)| *is_set).for_each(|(place, _)| *place = limit);
    Ok(())
}

fn files(wish: &mut Wish, list: &OsStr, end: u8) -> Result<(), String> {
    if wish.args.xz.file_list.is_some() {
        return Err("Only one file can be specified with `--files' or `--files0'.".to_owned());
    }
    wish.args.xz.file_list = Some(files::open(list, end)?);
    Ok(())
}

/// Forgets the chain where something else was typed behind it: a preset, or a chain in one string.
fn forget_chain_before(wish: &mut Wish) {
    let typed = &mut wish.args.xz.typed;
    if wish.level.take().is_some() || std::mem::take(&mut wish.args.extreme) || typed.is_from_string {
        typed.filters.clear();
        typed.is_from_string = false;
    }
}

fn add_filter(wish: &mut Wish, name: &str, settings: &OsStr) -> Result<(), String> {
    let filter = filters::of_option(name, &text(settings))?;
    // COMPAT: a chain makes xz forget the preset before it.
    forget_chain_before(wish);
    let filters = &mut wish.args.xz.typed.filters;
    if filters.len() == FILTERS_MAX {
        return Err("Maximum number of filters is four".to_owned());
    }
    filters.push(filter);
    Ok(())
}

fn of_string(number: &str, chain: &OsStr, is_for_blocks: bool) -> Result<Vec<ChainFilter>, String> {
    let chain = text(chain);
    filters::of_string(&chain, is_for_blocks).map_err(|error| {
        let (shown, gap) = (printable(&chain), " ".repeat(error.at));
        format!("Error in --filters{number}=FILTERS option:\n{shown}\n{gap}^\n{}", error.message)
    })
}

fn all_filters(wish: &mut Wish, chain: &OsStr) -> Result<(), String> {
    let filters = of_string("", chain, false)?;
    forget_chain_before(wish);
    let typed = &mut wish.args.xz.typed;
    (typed.filters, typed.is_from_string) = (filters, true);
    Ok(())
}

fn numbered_filters(wish: &mut Wish, number: usize, chain: &OsStr) -> Result<(), String> {
    let filters = of_string(&number.to_string(), chain, true)?;
    wish.args.xz.typed.numbered[number - 1] = FilterChain::new(&filters);
    Ok(())
}

const ENDINGS: &[(&str, &str)] = &[(".xz", ""), (".txz", ".tar"), (".lzma", ""), (".tlz", ".tar"), (".lz", "")];

fn begin(wish: &mut Wish) {
    *manners(wish) = Manners {
        name: wish.called.clone(),
        voice: Some(words::voice),
        endings: ENDINGS,
        packs_twice: PacksTwice { by_force: false, to_stdout: true },
        shows_progress: false,
        codes: Codes::with_warning(2),
        ..Manners::default()
    };
}

fn finish(wish: &mut Wish, _context: &Context) -> Result<(), String> {
    let mut errors = files::without_empty(wish);
    if let Some(list) = wish.args.xz.file_list.take() {
        errors.extend(files::add(wish, list));
        wish.args.xz.has_list_of_files = true;
    }
    settle(wish)?;
    if !errors.is_empty() {
        manners(wish).codes.note(1);
    }
    wish.args.xz.errors = errors.into_iter().map(|error| format!("{}: {error}", wish.called)).collect();
    Ok(())
}

/// The same, of what was typed beside names.
fn settle(wish: &mut Wish) -> Result<(), String> {
    let unpacks = wish.unpacks();
    let wanted = wish.format.clone().unwrap_or_else(|| "auto".to_owned());
    let (writes, reads, compressed): (_, &'static [&'static str], &'static [&'static str]) = match wanted.as_str() {
        "auto" => (Written::Xz, &["xz", "lzma", "lz"], &[".xz", ".txz"]),
        "xz" => (Written::Xz, &["xz"], &[".xz", ".txz"]),
        "lzma" | "alone" => (Written::Lzma, &["lzma"], &[".lzma", ".tlz"]),
        "lzip" if unpacks => (Written::Xz, &["lz"], &[]),
        "lzip" => return Err("Compression of lzip files (.lz) is not supported".to_owned()),
        "raw" => (Written::Raw, &["raw"], &[]),
        other => return Err(format!("{}: Unknown file format type", printable(other))),
    };
    if wish.args.list {
        check_list(wish, matches!(wanted.as_str(), "auto" | "xz"))?;
    } else if wish.args.xz.is_for_scripts {
        return Err("Compression and decompression with --robot are not supported yet.".to_owned());
    }
    if !unpacks || writes == Written::Raw && !wish.args.list {
        settle_chain(wish, writes, unpacks)?;
    }
    if writes == Written::Raw {
        check_raw(wish)?;
    }
    if unpacks {
        limits::settle_decompression(wish);
    }
    wish.settle_sources(false);
    settle_manners(wish, unpacks, reads, compressed);
    Ok(())
}

/// Refuses lists of other formats; standard input is left to the list itself.
fn check_list(wish: &mut Wish, is_format_listed: bool) -> Result<(), String> {
    if !is_format_listed {
        return Err("--list works only on .xz files (--format=xz or --format=auto)".to_owned());
    }
    if wish.args.files.is_empty() && !wish.names_files {
        wish.args.files.push("-".into());
    }
    wish.args.xz.lists = Some(list::list);
    // COMPAT: the totals of no files are printed for scripts.
    wish.names_files &= !wish.args.xz.is_for_scripts;
    Ok(())
}

/// Raw streams have no name of their own.
fn check_raw(wish: &Wish) -> Result<(), String> {
    let named = wish.args.files.iter().find(|path| path.as_os_str() != "-");
    match named.filter(|_| wish.replaces_files() && wish.args.suffix.is_none()) {
        Some(path) => {
            let name = name_of(path);
            Err(format!("{name}: With --format=raw, --suffix=.SUF is required unless writing to stdout"))
        }
        None => Ok(()),
    }
}

/// Decides filters and blocks, for what is written and for raw streams that are read.
fn settle_chain(wish: &mut Wish, writes: Written, unpacks: bool) -> Result<(), String> {
    let name = wish.called.clone();
    let (level, is_extreme) = (wish.level, wish.args.extreme);
    let is_preset = level.is_some() || is_extreme || wish.args.xz.typed.filters.is_empty();
    let chain = match is_preset {
        true => {
            if writes == Written::Raw {
                wish.notes.push(format!("{name}: Using a preset in raw mode is discouraged."));
                wish.notes
                    .push(format!("{name}: The exact options of the presets may vary between software versions."));
            }
            let settings = LzmaSettings::preset(level.unwrap_or(6).unsigned_abs(), is_extreme);
            if writes == Written::Lzma { FilterChain::lzma1(settings) } else { FilterChain::lzma2(settings) }
        }
        false => typed_chain(&wish.args.xz.typed.filters, writes)?,
    };
    if !unpacks {
        wish.args.xz.is_raw = writes == Written::Raw;
        wish.args.format = match writes {
            Written::Xz => Some("xz".to_owned()),
            Written::Lzma => Some("lzma".to_owned()),
            Written::Raw => None,
        };
        super::clamp_level(wish, level);
    }
    wish.args.xz.blocks.chain = (!is_preset || writes == Written::Raw).then_some(chain);
    if wish.args.verbose > 1 {
        wish.notes.push(format!("{name}: Filter chain: {}", filters::shown(&chain, true)));
    }
    if unpacks {
        wish.args.xz.reading.raw = Some(chain);
        // A level is for what is written.
        (wish.args.level, wish.args.extreme) = (None, false);
        let limit = wish.args.xz.typed.limits.decompress;
        return limits::check_raw_decompression(&chain, if limit == 0 { u64::MAX } else { limit });
    }
    settle_blocks(wish, writes)?;
    if writes != Written::Xz && wish.args.xz.blocks.flush_after.is_some() && !can_flush(&chain) {
        return Err("The filter chain is incompatible with --flush-timeout".to_owned());
    }
    let said = limits::settle_compression(wish, writes, chain)?;
    wish.notes.extend(said.into_iter().map(|line| format!("{name}: {line}")));
    Ok(())
}

/// Whether the bytes so far can be decoded without an end of the stream.
fn can_flush(chain: &FilterChain) -> bool {
    chain.filters().all(|filter| matches!(filter, ChainFilter::Lzma2(_) | ChainFilter::Delta(_)))
}

fn typed_chain(filters: &[ChainFilter], writes: Written) -> Result<FilterChain, String> {
    let has_lzma1 = filters.iter().any(|filter| matches!(filter, ChainFilter::Lzma1(_)));
    if writes == Written::Lzma && (filters.len() != 1 || !has_lzma1) {
        return Err("The .lzma format supports only the LZMA1 filter".to_owned());
    }
    if writes == Written::Xz && has_lzma1 {
        return Err("LZMA1 cannot be used with the .xz format".to_owned());
    }
    FilterChain::new(filters).ok_or_else(|| "Unsupported filter chain or filter options".to_owned())
}

/// Decides sizes and filters of blocks.
fn settle_blocks(wish: &mut Wish, writes: Written) -> Result<(), String> {
    let xz = &mut wish.args.xz;
    xz.blocks.flush_after = (xz.typed.flush_timeout != 0).then(|| Duration::from_millis(xz.typed.flush_timeout));
    if writes != Written::Xz {
        if !xz.typed.list.is_empty() {
            let name = &wish.called;
            wish.notes.push(format!("{name}: --block-list is ignored unless compressing to the .xz format"));
        }
        return Ok(());
    }
    let blocks = &mut xz.blocks;
    blocks.most_bytes = (xz.typed.block_bytes != 0).then_some(xz.typed.block_bytes);
    if xz.typed.list.is_empty() {
        return Ok(());
    }
    let mut list = Vec::new();
    for &(number, bytes) in &xz.typed.list {
        let chain = match number {
            0 => None,
            number => Some(xz.typed.numbered[number - 1].ok_or_else(|| {
                format!("filter chain {number} used by --block-list but not specified with --filters{number}=")
            })?),
        };
        list.push(ListedBlock { bytes, chain });
    }
    blocks.list = Some(list.leak());
    Ok(())
}

fn settle_manners(wish: &mut Wish, unpacks: bool, reads: &'static [&'static str], compressed: &'static [&'static str]) {
    let (force, to_stdout) = (wish.args.force, wish.args.stdout);
    let keeps = wish.keep == Some(true);
    let refuses = !force && wish.replaces_files() && !keeps;
    let manners = manners(wish);
    let passes_on = force && to_stdout && unpacks;
    let oddities = match manners.admission.oddities {
        Oddities::Ignored => Oddities::Ignored,
        Oddities::Refused | Oddities::Told => Oddities::Told,
    };
    // COMPAT: what is no member behind one of lzip is nobody's business, as lzip's manual has it.
    let behind_the_end = BehindTheEnd::LeftBehind("lz");
    manners.admission =
        FormatAdmission { formats: reads, passes_on, mixes: false, oddities, takes_empty: false, behind_the_end };
    manners.compressed_endings = Some(compressed);
    manners.refuses = Refused { symbolic: refuses, hard: refuses, special_modes: refuses, ..Refused::default() };
}
