//! The files suite: tar, cp, rm and mtwrite on trees, in memory and on ext4, against the tools of today.
//! Makes places and says what is left out; rows are in `rows`, what they work on in `place`, how results are verified in `same`.

mod place;
mod rows;
pub mod same;

use super::record::{About, HOW_FILES, Recorder};
use super::undo::Undo;
use super::{BenchArguments, Case, machine, measure_and_record, without_missing_rivals};
use place::{Place, Sizes};
use rows::Rows;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::workspace::{self, Packaged, release_binary};

/// What the suite compares with, and what measures. cpz, rmz and xcp are in no package: they are found in PATH, or left out by name.
const PACKAGES: &[Packaged] = &[
    ("time", "time"),
    ("tar", "tar"),
    ("bsdtar", "libarchive-tools"),
    ("zstd", "zstd"),
    ("pigz", "pigz"),
    ("xz", "xz-utils"),
];

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let program = program.canonicalize().unwrap_or(program);
    let mh = program.to_str().ok_or("the program's path is not text")?;
    let sizes = if arguments.quick { Sizes::QUICK } else { Sizes::WHOLE };
    let directory = arguments.data.join("manyhands-files");
    let mut memory = Place::named("tmpfs", &directory, arguments.tree.as_deref(), sizes);
    if arguments.list {
        let ext4 = Place::named("ext4", Path::new("/"), None, sizes);
        let of_both = Rows::in_memory(mh, &memory).into_iter().chain(Rows::on_disk(mh, &ext4));
        of_both.for_each(|case| println!("{} ({})", case.name, case.corpus));
        return Ok(());
    }
    let _named_row_by_row = workspace::install(PACKAGES);
    super::build(arguments)?;
    let mut undo = Undo::begin()?;
    if !arguments.keep {
        undo.later(&format!("rmdir '{}' || true", arguments.data.display()))?;
        undo.later(&format!("rm -rf '{}'", directory.display()))?;
    }
    let rivals = RIVALS.iter().filter_map(|(name, _)| workspace::find_program(name));
    for program in rivals.chain([program.clone()]) {
        read_anew(&program).map_err(|error| format!("could not read {}: {error}", program.display()))?;
    }
    let described = memory.make(sizes)?;
    println!("{described}");
    let mut recorder = Recorder::begin(About {
        suite: arguments.suite.clone(),
        command_line: arguments.command_line(),
        how: HOW_FILES,
        rivals: machine::versions(RIVALS),
        corpora: described,
    });
    let wanted = |cases: Vec<Case>| cases.into_iter().filter(|case| arguments.wants(&case.name, case.corpus)).collect();
    measure_all(wanted(Rows::in_memory(mh, &memory)), arguments, mh, &mut recorder);
    let named = Place::named("ext4", Path::new("/"), None, sizes);
    if Rows::on_disk(mh, &named).iter().any(|case| arguments.wants(&case.name, case.corpus)) {
        match place::Disk::new(&memory, sizes) {
            Ok(disk) => measure_all(wanted(Rows::on_disk(mh, &disk.place)), arguments, mh, &mut recorder),
            Err(reason) => recorder.left_out("all rows on ext4", &reason),
        }
    }
    let suffix = [(arguments.quick, "-quick"), (!arguments.only.is_empty(), "-part")];
    let suffix: String = suffix.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect();
    recorder.finish(&format!("-files{suffix}"))
}

/// Programs that tell their version.
const RIVALS: &[machine::Asked<'_>] = &[
    ("tar", &["--version"]),
    ("bsdtar", &["--version"]),
    ("zstd", &["--version"]),
    ("pigz", &["--version"]),
    ("xz", &["--version"]),
    ("cp", &["--version"]),
    ("cpz", &["--version"]),
    ("rmz", &["--version"]),
    ("xcp", &["--version"]),
];

/// Has a program in the page cache as one reading in one go leaves it, in large pieces. What a linker wrote or faults have brought lies there page by page,
/// and then the same program starts up to 0.15 ms later.
fn read_anew(program: &Path) -> io::Result<()> {
    let mut file = File::open(program)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    io::copy(&mut file, &mut io::sink())?;
    Ok(())
}

/// Row by row; what a row needed and no later one needs is removed behind it, since memory is not endless.
fn measure_all(cases: Vec<Case>, arguments: &BenchArguments, mh: &str, recorder: &mut Recorder) {
    let has_mtwrite = has_command(mh, rows::MTWRITE);
    let mut later: Vec<Vec<PathBuf>> = Vec::new();
    let mut needed = HashSet::new();
    for case in cases.iter().rev() {
        later
            .push(case.needs.iter().map(|made| made.path.clone()).filter(|path| needed.insert(path.clone())).collect());
    }
    for (case, last_needed) in cases.into_iter().zip(later.into_iter().rev()) {
        let name = format!("{} ({})", case.name, case.corpus);
        if case.name.contains(rows::MTWRITE) && !has_mtwrite {
            recorder.left_out(&name, "this mh has no command mtwrite");
        } else if let Some(program) = case.missing() {
            recorder.left_out(&name, &format!("{program} is not installed"));
        } else {
            let case = without_missing_rivals(case, recorder);
            measure_and_record(case, arguments.rounds(), recorder);
        }
        if !arguments.keep {
            for path in last_needed {
                let _was_left_out = std::fs::remove_file(path);
            }
        }
    }
}

fn has_command(mh: &str, name: &str) -> bool {
    let asked = Command::new(mh).args([name, "--help"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}
