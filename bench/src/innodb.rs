//! The innodb suite: `mh innodb` against innochecksum on a table of 2 GiB, and on a data directory, that a real MariaDB wrote; all in the page cache.
//! Makes the data with a throw-away server; judges nothing.

use super::judge::Target;
use super::measure::{Tool, Verify};
use super::record::{About, HOW_INNODB, Recorder};
use super::undo::{Undo, shell};
use super::{BenchArguments, Case, Rival, machine, measure_and_record, without_missing_rivals};
use std::path::Path;
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[("time", "time"), ("mariadbd", "mariadb-server")];

const RIVALS: &[machine::Asked<'_>] = &[("innochecksum", &["--version"]), ("mariadbd", &["--version"])];

/// The number, with 2 cores.
const TARGET: f64 = 0.40;

/// LIMIT of our peak memory.
const MEMORY_MB_MAX: f64 = 64.0;

/// Fifty thousand rows take 58 MiB; 36 times that are 2 GiB.
const ROWS_A_STEP: u64 = 50_000;
const STEPS: u64 = 36;
const STEPS_QUICK: u64 = 2;

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let program = program.canonicalize().unwrap_or(program);
    let mh = program.to_str().ok_or("the program's path is not text")?;
    let directory = arguments.data.join("manyhands-innodb");
    let cases = cases(mh, &directory).into_iter().filter(|case| arguments.wants(&case.name, case.corpus));
    if arguments.list {
        cases.for_each(|case| println!("{} ({})", case.name, case.corpus));
        return Ok(());
    }
    let _named_row_by_row = workspace::install(PACKAGES);
    super::build(arguments)?;
    let mut undo = Undo::begin()?;
    if !arguments.keep {
        undo.later(&format!("rm -rf '{}'", directory.display()))?;
    }
    let steps = if arguments.quick { STEPS_QUICK } else { STEPS };
    let described = make(&directory, steps)?;
    println!("{described}");
    let mut recorder = Recorder::begin(About {
        suite: arguments.suite.clone(),
        command_line: arguments.command_line(),
        how: HOW_INNODB,
        rivals: machine::versions(RIVALS),
        corpora: described,
    });
    for case in cases {
        let case = without_missing_rivals(case, &mut recorder);
        measure_and_record(case, arguments.rounds(), &mut recorder);
    }
    let suffix = [(arguments.quick, "-quick"), (!arguments.only.is_empty(), "-part")];
    let suffix: String = suffix.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect();
    recorder.finish(&format!("-innodb{suffix}"))
}

fn cases(mh: &str, directory: &Path) -> Vec<Case> {
    let (data, out) = (directory.join("data"), directory.join("out"));
    let table = data.join("t/big.ibd").display().to_string();
    let tool = |name: &str, arguments: &[&str]| Tool::new(name, arguments, &out).into_stdout();
    let innochecksum = |target| Rival { tool: tool("innochecksum", &["innochecksum", &table]), target };
    let one = |name: &str, arguments: &[&str], target| {
        let ours = tool("mh innodb", arguments);
        let case = Case::new(name, "one table", ours, vec![innochecksum(target)], Verify::Exit);
        Case { memory_mb_max: Some(MEMORY_MB_MAX), ..case }
    };
    let each = "for file in \"$1\"/*/*.ibd; do innochecksum \"$file\" || exit; done";
    let all = format!("innochecksum -S \"$1/ibdata1\" && {each}");
    let each = Rival {
        tool: tool("innochecksum", &["sh", "-c", &all, "sh", &data.display().to_string()]),
        target: Target::none(),
    };
    let each = Rival { tool: Tool { program: "innochecksum".to_owned(), ..each.tool }, ..each };
    let ours = tool("mh innodb", &[mh, "innodb", "-q", &data.display().to_string()]);
    let whole = Case::new("check", "data directory", ours, vec![each], Verify::Exit);
    vec![
        one("check", &[mh, "innodb", "-q", &table], Target::must(TARGET)),
        one("check -j1", &[mh, "innodb", "-q", "-j1", &table], Target::none()),
        one("check --summary", &[mh, "innodb", "--summary", &table], Target::none()),
        Case { memory_mb_max: Some(MEMORY_MB_MAX), ..whole },
    ]
}

/// Has a server write a table of so many steps, and stops it. Returns what was made.
fn make(directory: &Path, steps: u64) -> Result<String, String> {
    let table = directory.join("data/t/big.ibd");
    if !table.exists() {
        let rows = |step: u64| {
            let (from, to) = (step * ROWS_A_STEP + 1, (step + 1) * ROWS_A_STEP);
            format!(
                "insert into big select seq, concat(sha2(seq, 512), repeat(sha1(seq), 24)) from seq_{from}_to_{to};"
            )
        };
        let inserts: String = (0..steps).map(rows).collect();
        let statements = format!(
            "create database t; use t; create table big (id int primary key, a varchar(1200)); {inserts} \
             set global innodb_fast_shutdown = 0; shutdown;"
        );
        let script = SCRIPT.replace("DIRECTORY", &directory.display().to_string()).replace("STATEMENTS", &statements);
        shell(&script)?;
    }
    let bytes = table.metadata().map_err(|error| format!("{}: {error}", table.display()))?.len();
    Ok(format!(
        "- one table: {} bytes, 16 KiB pages, full_crc32, in memory (tmpfs)\n- data directory: the same with the server's own tables\n",
        bytes
    ))
}

/// LIMIT: the server is given two minutes to answer.
const SCRIPT: &str = "
set -e
rm -rf 'DIRECTORY'; mkdir -p 'DIRECTORY/data'
options='--no-defaults --user=root --datadir=DIRECTORY/data --socket=DIRECTORY/s --pid-file=DIRECTORY/pid --log-error=DIRECTORY/log --tmpdir=DIRECTORY \
--skip-networking --innodb-buffer-pool-size=256M --innodb-log-file-size=256M --innodb-doublewrite=0 --innodb-flush-log-at-trx-commit=0'
mariadb-install-db $options --auth-root-authentication-method=normal --skip-test-db >/dev/null
mariadbd $options & server=$!
client='mariadb --no-defaults -uroot -SDIRECTORY/s'
try=0; until $client -e 'select 1' >/dev/null 2>&1; do try=$((try + 1)); [ $try -lt 600 ]; kill -0 $server; sleep 0.2; done
$client -e 'STATEMENTS'
wait $server
";
