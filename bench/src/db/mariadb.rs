//! Rows of the db suite about archives of MariaDB: against mariadb-dump with zstd, mydumper, the mariadb client and myloader.

use crate::Case;
use crate::Rival;
use crate::judge::Target;
use crate::measure::{Tool, Verify};
use std::path::{Path, PathBuf};

/// The issue's numbers, with 2 cores.
const DUMP_ZSTD: f64 = 0.6;
const DUMP_GZIP: f64 = 0.35;
const DUMP_PLAIN: f64 = 1.0;
const LOAD_CLIENT: f64 = 0.4;
const LOAD_MYLOADER: f64 = 0.7;

struct Server<'a> {
    mh: &'a str,
    place: String,
    out: PathBuf,
}

/// All of them.
pub fn cases(mh: &str, directory: &Path) -> Vec<Case> {
    let server = Server { mh, place: directory.display().to_string(), out: directory.join("out") };
    vec![server.dumped(), server.restored()]
}

impl Server<'_> {
    fn tool(&self, name: &str, program: &str, script: &str) -> Tool {
        let tool = Tool::new(name, &["sh", "-c", script], &self.out);
        Tool { program: program.to_owned(), ..tool }
    }

    fn rival(&self, name: &str, program: &str, script: &str, target: f64) -> Rival {
        Rival { tool: self.tool(name, program, script), target: Target::must(target) }
    }

    /// The options of a client, and those of mydumper, for a login.
    fn logins(&self) -> (String, String) {
        let socket = format!("{}/m/s", self.place);
        (format!("--no-defaults -uroot -S{socket}"), format!("-u root -S {socket} -t 2"))
    }

    fn ours(&self, words: &str, database: &str) -> Tool {
        let uri = format!("mysql://root@/{database}?socket={}/m/s", self.place);
        self.tool(self.mh, self.mh, &format!("{} db {words} -q -d '{uri}'", self.mh))
    }

    fn dumped(&self) -> Case {
        let (client, my) = self.logins();
        let out = self.out.display();
        let piped = format!("mariadb-dump {client} --single-transaction one | zstd -q -1 -f -o {out}");
        let my = format!("mydumper {my} -B one -r 100000 -o {out}");
        let rivals = vec![
            self.rival("mariadb-dump, zstd -1", "mariadb-dump", &piped, DUMP_ZSTD),
            self.rival("mydumper -c", "mydumper", &format!("{my} -c"), DUMP_GZIP),
            self.rival("mydumper, not compressed", "mydumper", &my, DUMP_PLAIN),
        ];
        Case::new("dump one table", "mariadb", self.ours(&format!("dump -f {out}"), "one"), rivals, Verify::Exit)
    }

    fn restored(&self) -> Case {
        let ((client, my), place) = (self.logins(), &self.place);
        let make = format!("mariadb {client} -e 'drop database if exists back; create database back'");
        let by_client = format!("zstd -qdc {place}/one.sql.zst | mariadb {client} back");
        let by_myloader = format!("myloader {my} -B back -d {place}/one.mydumper");
        let prepared = |tool: Tool| Tool { before: Some(make.clone()), ..tool };
        let mut rivals = vec![
            self.rival("mariadb", "mariadb", &by_client, LOAD_CLIENT),
            self.rival("myloader -t2", "myloader", &by_myloader, LOAD_MYLOADER),
        ];
        for rival in &mut rivals {
            rival.tool = prepared(rival.tool.clone());
        }
        let ours = prepared(self.ours(&format!("restore {place}/one.archive"), "back"));
        Case::new("restore one table with 4 keys", "mariadb", ours, rivals, Verify::Exit)
    }
}

/// A database with one table, and archives of it by each; MH and DIRECTORY stand for what they are.
pub const SCRIPT: &str = r#"
socket=DIRECTORY/m/s
client="mariadb --no-defaults -uroot -S$socket --local-infile=1"
$client -e "create database one character set utf8mb4; use one; create table events (id bigint primary key, ts varchar(40) not null, user_id int, amount decimal(12,2),
  ratio double, name varchar(120), payload text, flag int, key ts (ts), key user_id (user_id), key name (name)); load data local infile 'DIRECTORY/a.tsv' into table events"
'MH' db dump -q -d "mysql://root@/one?socket=$socket" -f one.archive
mariadb-dump --no-defaults -uroot -S$socket --single-transaction one | zstd -q -1 -o one.sql.zst
if command -v mydumper >/dev/null; then mydumper -u root -S $socket -B one -t 2 -r 100000 -o one.mydumper; fi
"#;
