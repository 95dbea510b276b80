//! A throw-away PostgreSQL with a directory to work in, and programs that are led to it.

use crate::place::{Place, Running, binary};
use std::process::{Command, Stdio};
use testkit::postgres_server::PostgresServer;
use testkit::program::{ProgramOutcome, TestProgram, left_out};

pub struct PostgresSource {
    pub server: PostgresServer,
    pub place: Place,
}

impl PostgresSource {
    /// Starts a server, or prints why there is none.
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let server = PostgresServer::start(settings).map_err(|reason| left_out(&reason)).ok()?;
        Some(Self { server, place: Place::new() })
    }

    /// The same with mounts of its own, and nothing that takes space in between.
    pub fn start_with_own_mounts() -> Option<Self> {
        let server =
            PostgresServer::start_with_own_mounts(&[("autovacuum", "off")]).map_err(|reason| left_out(&reason)).ok()?;
        Some(Self { server, place: Place::new() })
    }

    /// One of PostgreSQL's programs.
    pub fn program(&self, name: &str) -> TestProgram {
        let program = TestProgram::find(name).unwrap_or_else(|| panic!("{name} comes with the server"));
        let program = program.in_directory(self.place.directory()).with_variable("PGUSER", "postgres");
        program.with_variable("PGHOST", self.server.directory()).with_variable("PGPORT", self.server.port().to_string())
    }

    pub fn sql(&self, database: &str, sql: &str) -> String {
        let words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql];
        String::from_utf8(self.program("psql").run(words, b"").expect("it starts").stdout_of_success()).expect("text")
    }

    pub fn address(&self, database: &str) -> String {
        format!(
            "host={} port={} user=postgres dbname={database}",
            self.server.directory().display(),
            self.server.port()
        )
    }

    /// `mh db` with these words.
    pub fn db(&self, words: &[&str], stdin: &[u8]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("TMPDIR", self.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
        let program = program.with_variable("MH_CREW_DIR", "").with_variable("MH_CONFIG", "");
        program.run(["db"].iter().chain(words), stdin).expect("the program starts")
    }

    /// The same, without waiting for its end; what it prints goes to `printed` in the directory.
    pub fn start_db(&self, words: &[&str]) -> Running {
        let printed = std::fs::File::create(self.place.path("printed")).expect("ours");
        let mut command = Command::new(binary());
        command.arg("db").args(words).current_dir(self.place.directory()).env("TMPDIR", self.place.directory());
        command.env_remove("XDG_RUNTIME_DIR").env("MH_CREW_DIR", "").env("MH_CONFIG", "");
        Running { child: command.stdout(Stdio::null()).stderr(printed).spawn().expect("it starts") }
    }

    /// Other sessions of users.
    pub fn others(&self) -> String {
        let sql =
            "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
        self.sql("postgres", sql).trim().to_owned()
    }
}
