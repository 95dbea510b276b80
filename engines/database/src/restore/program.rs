//! pg_restore for all that is not rows and their indexes: behind a socket of ours, with a list of entries.

use super::RestoreError;
use super::board::RestoreBoard;
use crate::dump::DumpError;
use crate::dump::archive::read_some;
use crate::dump::proxy::{ProgramProxy, ProxyHost};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use wire::Connection;

/// A restore, as pg_restore's connections see it.
pub struct RestoreHost(pub Arc<RestoreBoard>);

impl ProxyHost for RestoreHost {
    fn opened(&self, connection: &Connection) {
        self.0.may_be_cancelled(connection);
    }

    fn failed(&self, error: DumpError) {
        self.0.stop(error.into());
    }
}

/// How pg_restore is run.
pub struct RestoreProgram<'a> {
    pub directory: &'a Path,
    pub archive: &'a Path,
    pub proxy: &'a ProgramProxy,
    pub board: &'a RestoreBoard,
}

/// What pg_restore has said, line by line, of statements that the server refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRemarks {
    /// Errors that it passed over.
    pub errors: Vec<String>,
    /// Warnings.
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
        let remarks = remarks(&said);
        if status.success() || (status.code() == Some(1) && said.contains("errors ignored on restore")) {
            return Ok(remarks);
        }
        Err(RestoreError::Program { program: "pg_restore", message: format!("failed ({status}): {}", said.trim_end()) })
    }
}

/// Reads standard error: an error goes on until the next line of pg_restore's own.
fn remarks(said: &str) -> ProgramRemarks {
    const OWN: &str = "pg_restore: ";
    let mut remarks = ProgramRemarks::default();
    let mut is_error = false;
    for line in said.lines() {
        if let Some(text) = line.strip_prefix("pg_restore: error: ") {
            remarks.errors.push(text.trim_start_matches("could not execute query: ").to_owned());
            is_error = true;
        } else if let Some(text) = line.strip_prefix("pg_restore: warning: ") {
            is_error = false;
            if !text.starts_with("errors ignored on restore") {
                remarks.warnings.push(text.to_owned());
            }
        } else if line.starts_with(OWN) {
            is_error = false;
        } else if is_error
            && !line.trim().is_empty()
            && let Some(error) = remarks.errors.last_mut()
        {
            error.push('\n');
            error.push_str(line);
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_with_their_statements() {
        let said = "pg_restore: while PROCESSING TOC:\npg_restore: from TOC entry 5; 0 0 COMMENT x\n\
            pg_restore: error: could not execute query: ERROR:  must be owner\nCommand was: COMMENT ON x\n\n\
            pg_restore: error: could not execute query: ERROR:  no\nDETAIL:  y\nCommand was: z;\n\
            pg_restore: warning: errors ignored on restore: 2\n";
        let read = remarks(said);
        assert_eq!(
            read.errors,
            ["ERROR:  must be owner\nCommand was: COMMENT ON x", "ERROR:  no\nDETAIL:  y\nCommand was: z;"]
        );
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    }
}
