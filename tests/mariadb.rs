//! A real MariaDB and a directory beside it, for tests of dumps and restores.

use crate::place::{Place, Running, binary, said};
use std::process::{Command, Stdio};
use testkit::mariadb_server::MariaDbServer;
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

/// Objects of every kind, and values that are easily lost.
pub const SCHEMA: &str = r#"
create table parent (id int not null auto_increment primary key, name text, flag bit(1) default b'1');
set sql_mode = concat(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO');
insert into parent (id, name) select seq, concat('name ', seq) from seq_0_to_499;
set sql_mode = default;
create table events (id bigint primary key, who int, note text, twice bigint as (id * 2) stored, raw varbinary(20), key (who),
    constraint who foreign key (who) references parent (id));
insert into events (id, who, note, raw) select seq, seq % 500, case seq % 3 when 0 then null when 1 then 'tab\t\\N' else repeat('x', seq % 90) end,
    unhex(md5(seq)) from seq_1_to_20000;
create table `it's "odd" (€)` (`a, b` int, `order` text);
insert into `it's "odd" (€)` values (1, '\\.'), (2, null), (3, 'a\nb');
create table old (word text) engine = MyISAM;
insert into old values ('sesame');
create view seen as select id, name from parent;
create procedure report() select 1;
create trigger upper_name before insert on parent for each row set new.name = upper(new.name);
create event nightly on schedule every 1 day do delete from old;
"#;

/// A server and a directory to dump into.
pub struct MariaDbPlace {
    pub server: MariaDbServer,
    pub place: Place,
}

impl MariaDbPlace {
    /// A server with the database `shop`, or a line about why there is none.
    pub fn start(options: &[&str]) -> Option<Self> {
        if TestProgram::find("mariadb-dump").is_none() {
            left_out("mariadb-dump is not installed");
            return None;
        }
        let options: Vec<&str> = ["--local-infile=1"].iter().chain(options).copied().collect();
        Self::of(MariaDbServer::start(&options))
    }

    /// The same with mounts of its own.
    pub fn start_with_own_mounts() -> Option<Self> {
        if TestProgram::find("mariadb-dump").is_none() {
            left_out("mariadb-dump is not installed");
            return None;
        }
        Self::of(MariaDbServer::start_with_own_mounts(&["--local-infile=1"]))
    }

    fn of(server: Result<MariaDbServer, String>) -> Option<Self> {
        let server = server.map_err(|reason| left_out(&reason)).ok()?;
        let source = Self { server, place: Place::new() };
        source.sql("mysql", "create database shop character set utf8mb4");
        Some(source)
    }

    pub fn client(&self, name: &str, words: &[&str]) -> Vec<u8> {
        let program = TestProgram::find(name).unwrap_or_else(|| panic!("{name} comes with the server"));
        let socket = format!("--socket={}", self.server.socket().display());
        let words = ["--no-defaults", "--user=root", &socket, "--default-character-set=utf8mb4"]
            .into_iter()
            .chain(words.iter().copied());
        program.run(words, b"").expect("it starts").stdout_of_success()
    }

    pub fn sql(&self, database: &str, sql: &str) -> String {
        let text = self.client("mariadb", &["--batch", "--skip-column-names", "--execute", sql, database]);
        String::from_utf8(text).expect("text").trim().to_owned()
    }

    pub fn address(&self, user: &str) -> String {
        format!("mariadb://{user}@/shop?socket={}", self.server.socket().display())
    }

    pub fn dump(&self, words: &[&str]) -> ProgramOutcome {
        self.dump_of(&self.address("root"), words)
    }

    pub fn dump_of(&self, address: &str, words: &[&str]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("TMPDIR", self.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
        let program = program.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        let words = ["db", "dump", "-d", address, "-f", "d"].into_iter().chain(words.iter().copied());
        program.run(words, b"").expect("the program starts")
    }

    pub fn dumped(&self, words: &[&str]) {
        let outcome = self.dump(words);
        assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}", said(&outcome));
    }

    /// By the archive's own script.
    pub fn restore(&self, database: &str) -> ProgramOutcome {
        self.sql("mysql", &format!("create database {database} character set utf8mb4"));
        let script = TestProgram::at(self.place.path("d/restore.sh"));
        let socket = format!("--socket={}", self.server.socket().display());
        script.run([database, "--user=root", &socket], b"").expect("it starts")
    }

    /// Everything in a database, as mariadb-dump has it.
    pub fn content(&self, database: &str) -> String {
        let words = [
            "--order-by-primary",
            "--hex-blob",
            "--skip-extended-insert",
            "--skip-comments",
            "--routines",
            "--events",
            database,
        ];
        String::from_utf8_lossy(&self.client("mariadb-dump", &words)).into_owned()
    }

    /// A dump on its own, with rows that are still to come.
    pub fn start_dump(&self, words: &[&str]) -> Running {
        let mut command = Command::new(binary());
        command.args(["db", "dump", "-q", "-f", "d", "-Z", "gzip:9", "-d", &self.address("root")]).args(words);
        command.current_dir(self.place.directory()).env("TMPDIR", self.place.directory()).env_remove("XDG_RUNTIME_DIR");
        command.env("MH_CREW_DIR", "").env("MH_CONFIG", "");
        Running { child: command.stderr(Stdio::null()).spawn().expect("it starts") }
    }

    /// Our restore of `d` into a database.
    pub fn restore_into(&self, database: &str, words: &[&str]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("TMPDIR", self.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
        let program = program.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        let address = self.address("root").replace("/shop?", &format!("/{database}?"));
        let words = ["db", "restore", "d", "-d", &address].into_iter().chain(words.iter().copied());
        program.run(words, b"").expect("the program starts")
    }

    /// One that goes on by itself.
    pub fn start_restore(&self, database: &str, words: &[&str]) -> Running {
        let address = self.address("root").replace("/shop?", &format!("/{database}?"));
        let mut command = Command::new(binary());
        command.args(["db", "restore", "-q", "d", "-d", &address]).args(words);
        command.current_dir(self.place.directory()).env("TMPDIR", self.place.directory()).env_remove("XDG_RUNTIME_DIR");
        command.env("MH_CREW_DIR", "").env("MH_CONFIG", "");
        Running { child: command.stderr(Stdio::null()).spawn().expect("it starts") }
    }

    /// `mh db index` of a file, over a connection to `shop`.
    pub fn index(&self, words: &[&str]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        let address = self.address("root");
        program.run(["db", "index", "-d", &address].iter().chain(words), b"").expect("the program starts")
    }

    /// An empty database.
    pub fn make(&self, database: &str) {
        self.sql("mysql", &format!("create database {database} character set utf8mb4"));
    }

    /// A client that is at work until it is killed.
    pub fn session(&self, sql: &str) -> Running {
        let program = TestProgram::find("mariadb").expect("it comes with the server");
        let mut command = Command::new(program.path());
        command.args(["--no-defaults", "--user=root", "--database=shop"]);
        command.arg(format!("--socket={}", self.server.socket().display())).args(["--execute", sql]);
        Running { child: command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts") }
    }

    /// As many rows as take some seconds.
    pub fn fill(&self) {
        let sql = "create table big (id int primary key, s text); \
            insert into big select seq, repeat(md5(seq), 40) from seq_1_to_100000";
        self.sql("shop", sql);
    }

    pub fn readers(&self) -> String {
        let sql = "select count(*) from information_schema.processlist where info like 'select `id`,`s` from `big`%'";
        self.sql("mysql", sql)
    }

    /// Whether nobody but the one who asks is connected.
    pub fn is_alone(&self) -> bool {
        let others =
            "select count(*) from information_schema.processlist where id <> connection_id() and user <> 'system user'";
        self.sql("mysql", others) == "0"
    }
}
