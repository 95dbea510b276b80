//! Rows of the db suite about archives, indexes and comparisons: against pg_dump, pg_restore and psql. A pg_dump that knows zstd is taken from the next
//! Debian, unpacked beside and run with its own loader.

use crate::Case;
use crate::Rival;
use crate::judge::Target;
use crate::measure::{Tool, Verify};
use std::path::Path;

/// The issue's numbers, with 2 cores.
const ONE_TABLE: f64 = 0.75;
const ONE_TABLE_GZIP: f64 = 0.5;
const MANY_TABLES: f64 = 1.05;
const INDEXES: f64 = 0.85;
const COMPARED: f64 = 0.8;
const RESTORED: f64 = 0.8;

/// What is given to sorts on both sides.
const MEMORY: &str = "512MB";

struct Places<'a> {
    mh: &'a str,
    place: String,
    out: std::path::PathBuf,
}

/// All of them.
pub fn cases(mh: &str, directory: &Path) -> Vec<Case> {
    let places = Places { mh, place: directory.display().to_string(), out: directory.join("out") };
    vec![places.one_table(), places.many_tables(), places.indexes(), places.compared(), places.restored()]
}

impl Places<'_> {
    fn database(&self, name: &str) -> String {
        format!("host={} port=6432 user=postgres dbname={name}", self.place)
    }

    /// A line of shell; `program` is what must be installed.
    fn line(&self, name: &str, program: &str, script: &str) -> Tool {
        let tool = Tool::new(name, &["sh", "-c", script], &self.out);
        Tool { program: program.to_owned(), ..tool }
    }

    fn rival(&self, name: &str, program: &str, script: &str, target: Target) -> Rival {
        Rival { tool: self.line(name, program, script), target }
    }

    fn ours(&self, words: &str) -> Tool {
        self.line(self.mh, self.mh, &format!("{} db {words}", self.mh))
    }

    /// pg_dump of the next Debian.
    fn newer(&self) -> String {
        format!("{}/newer/pg_dump", self.place)
    }

    fn dump(&self, database: &str, words: &str) -> Tool {
        self.ours(&format!("dump -q -d '{}' -f {} -Z zstd:1 {words}", self.database(database), self.out.display()))
    }

    fn pg_dump(&self, program: &str, database: &str, words: &str) -> String {
        format!("{program} -Fd -j2 {words} -d '{}' -f {}", self.database(database), self.out.display())
    }

    fn one_table(&self) -> Case {
        let (newer, zstd) = (self.newer(), "--compress=zstd:1");
        let rivals = vec![
            self.rival("pg_dump zstd:1", &newer, &self.pg_dump(&newer, "one", zstd), Target::must(ONE_TABLE)),
            self.rival("pg_dump gzip", "pg_dump", &self.pg_dump("pg_dump", "one", ""), Target::must(ONE_TABLE_GZIP)),
        ];
        Case::new("dump one table", "postgres", self.dump("one", ""), rivals, Verify::Exit)
    }

    fn many_tables(&self) -> Case {
        let (newer, zstd) = (self.newer(), "--compress=zstd:1");
        let rivals = vec![
            self.rival("pg_dump zstd:1", &newer, &self.pg_dump(&newer, "many", zstd), Target::must(MANY_TABLES)),
            self.rival("pg_dump gzip", "pg_dump", &self.pg_dump("pg_dump", "many", ""), Target::must(ONE_TABLE_GZIP)),
        ];
        Case::new("dump 50 tables", "postgres", self.dump("many", ""), rivals, Verify::Exit)
    }

    /// One after the other without workers, in the order of the file.
    fn indexes(&self) -> Case {
        let place = &self.place;
        let settings = format!("-c max_parallel_maintenance_workers=0 -c maintenance_work_mem={MEMORY}");
        let psql = format!("psql -X -q -v ON_ERROR_STOP=1 -d '{}' -f {place}/indexes.sql", self.database("one"));
        let one_by_one = format!("PGOPTIONS='{settings}' {psql}");
        let with_workers = format!("PGOPTIONS='-c maintenance_work_mem={MEMORY}' {psql}");
        let before = format!("psql -X -q -d '{}' -f {place}/no-indexes.sql", self.database("one"));
        let prepared = |tool: Tool| Tool { before: Some(before.clone()), ..tool };
        let ours = self.ours(&format!("index -q -d '{}' {place}/indexes.sql --memory 512M", self.database("one")));
        let mut rivals = vec![
            self.rival("psql, no workers", "psql", &one_by_one, Target::must(INDEXES)),
            self.rival("psql, 2 workers", "psql", &with_workers, Target::none()),
        ];
        for rival in &mut rivals {
            rival.tool = prepared(rival.tool.clone());
        }
        Case::new("4 indexes", "postgres", prepared(ours), rivals, Verify::Exit)
    }

    fn compared(&self) -> Case {
        let ours = self.ours(&format!("verify -q -d '{}' {}/one.dump", self.database("one"), self.place));
        let dump = Tool { name: "mh db dump".to_owned(), ..self.dump("one", "") };
        Case::new("verify", "postgres", ours, vec![Rival { tool: dump, target: Target::must(COMPARED) }], Verify::Exit)
    }

    fn restored(&self) -> Case {
        let (place, database) = (&self.place, self.database("back"));
        let make = format!(
            "psql -X -q -d '{}' -c 'drop database if exists back' -c 'create database back'",
            self.database("postgres")
        );
        let prepared = |tool: Tool| Tool { before: Some(make.clone()), ..tool };
        let ours = self.ours(&format!("restore -q -d '{database}' {place}/one.dump"));
        let theirs = format!("pg_restore -j2 -d '{database}' {place}/one.dump");
        let mut rival = self.rival("pg_restore", "pg_restore", &theirs, Target::must(RESTORED));
        rival.tool = prepared(rival.tool);
        Case::new("restore one table with 4 indexes", "postgres", prepared(ours), vec![rival], Verify::Exit)
    }
}

/// Databases of these rows, on the server of the suite; MH, DIRECTORY and ROWS stand for what they are.
pub const SCRIPT: &str = r#"
psql="psql -X -q -v ON_ERROR_STOP=1 -h DIRECTORY -p 6432 -U postgres"
$psql -c 'create database one' -c 'create database many'
$psql -d one -c "create table events (id bigint not null, ts timestamptz, user_id int, amount numeric(12,2), ratio float8, name text, payload jsonb, flag bool)"
$psql -d one -c "insert into events select i, timestamptz '2026-01-01' + i * interval '1 s', i % 50000, (i % 100000) / 7.0, sin(i), 'row ' || i || ' of many more like it',
  jsonb_build_object('k', i, 'list', array[1,2,3,4], 'text', 'value ' || i), i % 2 = 0 from generate_series(1, ROWS) i"
cat >indexes.sql <<'END'
alter table events add constraint events_pkey primary key (id);
create index events_ts on events (ts);
create index events_user_id on events (user_id);
create index events_name on events (name);
END
cat >no-indexes.sql <<'END'
alter table events drop constraint if exists events_pkey;
drop index if exists events_ts, events_user_id, events_name;
END
$psql -d one -f indexes.sql -c 'vacuum analyze events'
'MH' db dump -q -d 'host=DIRECTORY port=6432 user=postgres dbname=one' -f one.dump -Z gzip:1
table=1
while [ $table -le 50 ]; do
  echo "create table t$table (id bigint, ts timestamptz, name text, payload jsonb); insert into t$table select i, timestamptz '2026-01-01' + i * interval '1 s',
    'row ' || i || ' of many more like it', jsonb_build_object('k', i, 'text', 'value ' || i) from generate_series(1, ROWS / 40) i;"
  table=$((table + 1))
done >many.sql
$psql -d many -f many.sql -c 'vacuum analyze'
mkdir -p newer/lists/partial newer/cache/archives/partial newer/root
(
  cd newer
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep 'debian/$' | head -1)
  echo "deb [signed-by=$(ls /usr/share/keyrings/debian-archive-keyring.* | head -1)] $uri trixie main" >sources.list
  : >status
  options="-o Dir::Etc::SourceList=$PWD/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$PWD/lists -o Dir::State::status=$PWD/status"
  options="$options -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root"
  apt-get $options update -qq
  apt-get $options download -qq postgresql-client-17 libpq5 libc6 libzstd1 liblz4-1 zlib1g libssl3t64 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 \
    libcom-err2 libkeyutils1 libldap2 libsasl2-2
  for package in *.deb; do dpkg-deb -x "$package" root; done
  libraries=$(dirname "$(find "$PWD/root/usr/lib" -name 'libpq.so.5')")
  loader=$(find "$PWD/root/usr" -name 'ld-linux-*' | head -1)
  printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$libraries" "$PWD/root/usr/lib/postgresql/17/bin/pg_dump" >made
  chmod +x made
  ./made --version
  mv made pg_dump
) >newer.log 2>&1 || echo "no pg_dump of the next Debian: its rows are left out"
"#;
