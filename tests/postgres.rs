//! A PostgreSQL with its programs and a directory, for tests of commands that talk to it.

use crate::place::{Place, binary};
use testkit::postgres_server::PostgresServer;
use testkit::program::{ProgramOutcome, TestProgram, left_out};

/// A server and a directory.
pub struct PostgresPlace {
    pub server: PostgresServer,
    pub place: Place,
}

impl PostgresPlace {
    /// None, with a line about what is missing, where there is no PostgreSQL.
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let server = PostgresServer::start(settings).map_err(|reason| left_out(&reason)).ok()?;
        Some(Self { server, place: Place::new() })
    }

    /// A program of PostgreSQL's that connects here.
    pub fn program(&self, name: &str) -> TestProgram {
        let program = TestProgram::find(name).unwrap_or_else(|| panic!("{name} comes with the server"));
        let program = program.in_directory(self.place.directory()).with_variable("PGUSER", "postgres");
        program.with_variable("PGHOST", self.server.directory()).with_variable("PGPORT", self.server.port().to_string())
    }

    /// What a statement prints.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql];
        String::from_utf8(self.program("psql").run(words, b"").expect("it starts").stdout_of_success()).expect("text")
    }

    /// A database as `-d` takes it.
    pub fn address(&self, database: &str) -> String {
        let (host, port) = (self.server.directory().display(), self.server.port());
        format!("host={host} port={port} user=postgres dbname={database}")
    }

    /// `mh db ORDER -d ADDRESS WORDS`.
    pub fn mh(&self, order: &str, address: &str, words: &[&str]) -> ProgramOutcome {
        let program = TestProgram::at(binary()).in_directory(self.place.directory());
        let program = program.with_variable("TMPDIR", self.place.directory()).with_variable("XDG_RUNTIME_DIR", "");
        let words = ["db", order, "-d", address].into_iter().chain(words.iter().copied());
        program.run(words, b"").expect("the program starts")
    }
}
