//! The db suite: `mh db load` against psql's \copy, the mariadb client and sqlite3, on throw-away servers in memory; the rows of `archives` and `mariadb` beside it. A run empties the table first, which is not ours alone
//! to do, so both do it.
//! Makes the data; judges nothing.

mod archives;
mod mariadb;

use super::judge::Target;
use super::measure::{Tool, Verify};
use super::record::{About, HOW_DB, Recorder};
use super::undo::{Undo, shell};
use super::{BenchArguments, Case, Rival, machine, measure_and_record, without_missing_rivals};
use std::path::Path;
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[
    ("time", "time"),
    ("psql", "postgresql"),
    ("mariadbd", "mariadb-server"),
    ("mydumper", "mydumper"),
    ("zstd", "zstd"),
    ("sqlite3", "sqlite3"),
];

const RIVALS: &[machine::Asked<'_>] = &[
    ("psql", &["--version"]),
    ("pg_dump", &["--version"]),
    ("mariadb", &["--version"]),
    ("mydumper", &["--version"]),
    ("sqlite3", &["--version"]),
];

/// The issue's numbers, with 2 cores: text, CSV with quoted line ends, one connection.
const TEXT: f64 = 0.6;
const CSV: f64 = 0.7;
const ONE_CONNECTION: f64 = 1.0;

/// LIMIT of our peak memory.
const MEMORY_MB_MAX: f64 = 160.0;

const ROWS: u64 = 2_000_000;
const ROWS_QUICK: u64 = 200_000;

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let program = program.canonicalize().unwrap_or(program);
    let mh = program.to_str().ok_or("the program's path is not text")?;
    let directory = arguments.data.join("manyhands-db");
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
    undo.later(&format!("cd '{}' && cat pids | xargs -r kill; sleep 2", directory.display()))?;
    let rows = if arguments.quick { ROWS_QUICK } else { ROWS };
    let script = SCRIPT.replace("DIRECTORY", &directory.display().to_string()).replace("ROWS", &rows.to_string());
    shell(&script)?;
    let further =
        [(archives::cases(mh, &directory), archives::SCRIPT), (mariadb::cases(mh, &directory), mariadb::SCRIPT)];
    for (cases, script) in further {
        if cases.iter().any(|case| arguments.wants(&case.name, case.corpus)) {
            let place = directory.display().to_string();
            let script = script.replace("DIRECTORY", &place).replace("ROWS", &rows.to_string()).replace("MH", mh);
            println!("{}", shell(&format!("set -e; cd '{place}'\n{script}"))?);
        }
    }
    let described = format!(
        "- {rows} rows of 8 columns as CSV, every fifth with a quoted line end, and as COPY's text; in memory (tmpfs)\n"
    );
    println!("{described}");
    let mut recorder = Recorder::begin(About {
        suite: arguments.suite.clone(),
        command_line: arguments.command_line(),
        how: HOW_DB,
        rivals: machine::versions(RIVALS),
        corpora: described,
    });
    for case in cases {
        let case = without_missing_rivals(case, &mut recorder);
        measure_and_record(case, arguments.rounds(), &mut recorder);
    }
    let suffix = [(arguments.quick, "-quick"), (!arguments.only.is_empty(), "-part")];
    let suffix: String = suffix.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect();
    recorder.finish(&format!("-db{suffix}"))
}

fn cases(mh: &str, directory: &Path) -> Vec<Case> {
    let (place, out) = (directory.display().to_string(), directory.join("out"));
    let psql = format!("psql -X -q -v ON_ERROR_STOP=1 -h {place} -p 6432 -U postgres");
    let postgres = format!("host={place} port=6432 user=postgres dbname=postgres");
    let line = |name: &str, script: String| {
        let tool = Tool::new(name, &["sh", "-c", &script], &out).into_stdout();
        Tool { program: name.split(' ').next().unwrap_or(name).to_owned(), ..tool }
    };
    let load = |words: &str| {
        line(mh, format!("{psql} -c 'truncate events' && {mh} db load -q -d '{postgres}' events {words}"))
    };
    let copy = |options: &str| {
        line("psql", format!("{psql} -c 'truncate events' -c \"\\copy events from '{place}/{options}\""))
    };
    let postgres_case = |name: &str, words: &str, options: &str, target| {
        let case = Case::new(
            name,
            "postgres",
            load(&format!("{place}/{words}")),
            vec![Rival { tool: copy(options), target }],
            Verify::Exit,
        );
        Case { memory_mb_max: Some(MEMORY_MB_MAX), ..case }
    };
    let client = format!("mariadb --no-defaults -uroot -S{place}/m/s --local-infile=1 t");
    let by_client =
        format!("{client} -e 'truncate events;' -e \"load data local infile '{place}/a.tsv' into table events\"");
    let by_us = format!("{mh} db load -q -d 'mysql://root@/t?socket={place}/m/s' events {place}/a.tsv --truncate -j2");
    let mariadb = Case::new(
        "load text",
        "mariadb",
        line(mh, by_us),
        vec![Rival { tool: line("mariadb", by_client), target: Target::none() }],
        Verify::Exit,
    );
    let empty = format!("sqlite3 {place}/base.db 'delete from events'");
    let by_import = format!("{empty}; sqlite3 {place}/base.db '.import --csv --skip 1 {place}/a.csv events'");
    let by_us = format!("{empty}; {mh} db load -q -d sqlite:{place}/base.db events {place}/a.csv --header");
    let sqlite = Case::new(
        "load csv",
        "sqlite",
        line(mh, by_us),
        vec![Rival { tool: line("sqlite3", by_import), target: Target::none() }],
        Verify::Exit,
    );
    let loads = vec![
        postgres_case("load csv", "a.csv --header", "a.csv' csv header", Target::must(CSV)),
        postgres_case("load csv -j1", "a.csv --header -j1", "a.csv' csv header", Target::must(ONE_CONNECTION)),
        postgres_case("load text", "a.tsv", "a.tsv'", Target::must(TEXT)),
        postgres_case("load text -j1", "a.tsv -j1", "a.tsv'", Target::must(ONE_CONNECTION)),
        mariadb,
        sqlite,
    ];
    loads.into_iter().chain(archives::cases(mh, directory)).chain(mariadb::cases(mh, directory)).collect()
}

/// LIMIT: servers are given two minutes to answer. PostgreSQL refuses root.
const SCRIPT: &str = r#"
set -e
rm -rf 'DIRECTORY'; mkdir -p 'DIRECTORY/m/data'; chmod 777 'DIRECTORY'; cd 'DIRECTORY'
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
as=
[ "$(id -u)" != 0 ] || as='setpriv --reuid 65534 --regid 65534 --clear-groups'
$as $bin/initdb --no-sync -A trust -U postgres -E UTF8 --locale=C -D DIRECTORY/pg >/dev/null
$as $bin/postgres -D DIRECTORY/pg -k DIRECTORY -p 6432 -c listen_addresses= -c fsync=off -c shared_buffers=512MB -c max_wal_size=8GB >pg.log 2>&1 &
echo $! > pids
psql="psql -X -q -h DIRECTORY -p 6432 -U postgres"
try=0; until $psql -c 'select 1' >/dev/null 2>&1; do try=$((try + 1)); [ $try -lt 600 ]; sleep 0.2; done
$psql -c "create table events (id bigint, ts timestamptz, user_id int, amount numeric(12,2), ratio float8, name text, payload jsonb, flag int);
  insert into events select i, timestamptz '2026-01-01' + i * interval '1 s', i % 50000, (i % 100000) / 7.0, sin(i),
  case when i % 5 = 0 then 'row \"' || i || '\",' || chr(10) || 'and a second line of it' else 'row ' || i || ' of many more like it' end,
  jsonb_build_object('k', i, 'list', array[1,2,3,4], 'text', 'value ' || i), i % 2 from generate_series(1, ROWS) i"
$psql -c "\copy events to 'DIRECTORY/a.csv' csv header" -c "\copy events to 'DIRECTORY/a.tsv'"
options='--no-defaults --user=root --datadir=DIRECTORY/m/data --socket=DIRECTORY/m/s --pid-file=DIRECTORY/m/pid --log-error=DIRECTORY/m/log --tmpdir=DIRECTORY/m'
options="$options --skip-networking --innodb-buffer-pool-size=1G --innodb-log-file-size=512M --innodb-flush-log-at-trx-commit=0"
if command -v mariadbd >/dev/null; then
  mariadb-install-db $options --auth-root-authentication-method=normal --skip-test-db >/dev/null
  mariadbd $options >/dev/null 2>&1 & echo $! >> pids
  client='mariadb --no-defaults -uroot -SDIRECTORY/m/s'
  try=0; until $client -e 'select 1' >/dev/null 2>&1; do try=$((try + 1)); [ $try -lt 600 ]; sleep 0.2; done
  $client -e "create database t character set utf8mb4; use t; create table events (id bigint primary key, ts varchar(40), user_id int, amount decimal(12,2), ratio double, name text, payload text, flag int)"
fi
if command -v sqlite3 >/dev/null; then
  sqlite3 base.db 'create table events (id integer primary key, ts text, user_id int, amount real, ratio real, name text, payload text, flag int)'
fi
"#;
