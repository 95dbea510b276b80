//! pg_restore for all that is not rows and their indexes: behind a socket of ours, with a list of entries.

use super::board::RestoreBoard;
use super::{RestoreError, RestoreFault};
use crate::dump::DumpError;
use crate::dump::archive::read_some;
use crate::dump::proxy::{ProgramProxy, ProxyHost};
use parking_lot::Mutex;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use wire::{Connection, ServerError};

/// A restore, as pg_restore's connections see it.
pub struct RestoreHost {
    pub board: Arc<RestoreBoard>,
    /// What is carried out before the COMMIT of a run that is one transaction.
    pub note_at_commit: Arc<Mutex<Option<String>>>,
    /// The first number of the server's version.
    pub server_major: u32,
}

/// A setting that newer programs make, and the first version that has it.
const NEWER_SETTING: (&str, u32) = ("SET transaction_timeout = ", 17);

impl ProxyHost for RestoreHost {
    fn replaces(&self, sql: &str) -> Option<String> {
        let (setting, since) = NEWER_SETTING;
        if sql.starts_with(setting) && self.server_major < since {
            // It would end a run that is one transaction.
            return Some("SET statement_timeout = 0".to_owned());
        }
        let is_commit = sql.trim_end_matches(';') == "COMMIT";
        let note = is_commit.then(|| self.note_at_commit.lock().take()).flatten()?;
        Some(format!("{note}; COMMIT"))
    }

    fn refused(&self, sql: Option<&str>, error: ServerError) {
        let what = sql.unwrap_or("a statement").trim().to_owned();
        self.board.refused(error.sqlstate(), RestoreFault { what, message: error.to_string() });
    }

    fn opened(&self, connection: &Connection) {
        self.board.may_be_cancelled(connection);
    }

    fn failed(&self, error: DumpError) {
        self.board.stop(error.into());
    }
}

/// How pg_restore is run.
pub struct RestoreProgram<'a> {
    pub directory: &'a Path,
    pub archive: &'a Path,
    pub proxy: &'a ProgramProxy,
    pub board: &'a RestoreBoard,
}

/// What a run of pg_restore did not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRemarks {
    /// What the server refused, with SQLSTATE.
    pub refused: Vec<(String, RestoreFault)>,
    /// Warnings of its own.
    pub warnings: Vec<String>,
}

impl RestoreProgram<'_> {
    /// Restores the entries of a list.
    pub fn run(&self, list: &Path, options: &[OsString]) -> Result<ProgramRemarks, RestoreError> {
        let program = self.directory.join("pg_restore");
        let mut command = Command::new(&program);
        command.args(["--no-password", "--format=directory", "--dbname="]).arg("--use-list").arg(list);
        command.args(options).arg(self.archive);
        self.proxy.lead(&mut command);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(RestoreError::file("run", &program))?;
        let errors = child.stderr.take();
        let (status, said) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| errors.map(read_some).unwrap_or_default());
            let status = loop {
                if let Some(ended) = child.try_wait().transpose() {
                    break ended;
                }
                if self.board.is_over() {
                    let _ended_meanwhile = child.kill();
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            (status, reader.join().expect("a reader does not panic"))
        });
        let status = status.map_err(RestoreError::file("wait for", &program))?;
        if self.board.is_over() {
            return Ok(ProgramRemarks::default());
        }
        let mut refused = self.board.take_refused();
        let goes_on = said.contains("errors ignored on restore");
        if !status.success() && !goes_on {
            let message = format!("failed ({status}): {}", said.trim_end());
            return Err(RestoreError::Program { program: "pg_restore", message });
        }
        if !status.success() && refused.is_empty() {
            // It has failed at something else than a statement.
            let message = said.trim_end().to_owned();
            refused.push((String::new(), RestoreFault { what: "pg_restore".to_owned(), message }));
        }
        Ok(ProgramRemarks { refused, warnings: warnings(&said) })
    }
}

/// Warnings on standard error, but for those about errors.
fn warnings(said: &str) -> Vec<String> {
    let warnings = said.lines().filter_map(|line| line.strip_prefix("pg_restore: warning: "));
    warnings.filter(|text| !text.starts_with("errors ignored on restore")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_newer_programs_and_commits_are_replaced() {
        let host = |server_major| RestoreHost {
            board: Arc::default(),
            note_at_commit: Arc::new(Mutex::new(Some("insert".to_owned()))),
            server_major,
        };
        let old = host(15);
        assert_eq!(old.replaces("SET transaction_timeout = 0;").as_deref(), Some("SET statement_timeout = 0"));
        assert_eq!(host(17).replaces("SET transaction_timeout = 0;"), None);
        assert_eq!(old.replaces("CREATE TABLE t (a int)"), None);
        assert_eq!(old.replaces("COMMIT").as_deref(), Some("insert; COMMIT"));
        assert_eq!(old.replaces("COMMIT"), None, "once");
    }

    #[test]
    fn warnings_are_those_that_are_not_about_errors() {
        let said = "pg_restore: error: x\npg_restore: warning: y\npg_restore: warning: errors ignored on restore: 2\n";
        assert_eq!(warnings(said), ["y"]);
    }
}
