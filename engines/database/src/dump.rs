//! A dump of a PostgreSQL database in pg_dump's directory format. pg_dump writes all of it but the rows of tables, which are read here by
//! many connections of one snapshot, a large table in parts. Theory: README.md.

pub(crate) mod archive;
pub(crate) mod course;
pub(crate) mod frames;
pub(crate) mod proxy;
pub(crate) mod read_back;
mod session;
mod source;
pub(crate) mod statement;
mod table;
pub(crate) mod work;

pub(crate) use archive::INDEX;
pub use archive::{ArchiveFault, ArchiveFrame, ArchiveIndex, ArchiveTable};
#[cfg(test)]
pub(crate) use frames::digest;
pub use frames::{DumpCodec, PartBytes, RowFrameWriter};
pub use session::DumpSession;
pub(crate) use session::encoding;
pub(crate) use source::connections_left;
pub use source::{DumpSource, SourceTable, major};
pub(crate) use statement::CopyOut;
pub(crate) use table::{Catalogue, text_of};
pub use table::{CatalogueTable, TableDivision};

use crate::dump::course::DumpStop;
use crate::dump::proxy::{Offer, ProgramProxy};
use crate::dump::read_back::ReadingBack;
use crate::dump::work::Board;
use crate::dump_mysql::MySqlDumpFault;
use crate::restore::RestoreError;
use crew::budget::Lease;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use wire::{Connection, ServerAddress, WireError};

/// How long a server may take for a login.
const LOGIN: Duration = Duration::from_secs(30);

/// What is dumped, and how.
pub struct DumpRequest {
    /// The server and its database.
    pub address: ServerAddress,
    /// pg_dump's own options: what is selected.
    pub selection: Vec<OsString>,
    /// What they mean for sessions.
    pub session: DumpSession,
    /// The directory with pg_dump and pg_restore.
    pub programs: PathBuf,
    /// The directory that the archive becomes; none: a script goes to standard output.
    pub target: Option<PathBuf>,
    /// A private directory for the socket that pg_dump connects to; its path must be short (unix(7)).
    pub sockets: PathBuf,
    /// Connections that read rows.
    pub connections: usize,
    /// How rows are compressed.
    pub codec: DumpCodec,
    /// Uncompressed bytes of a part of a table.
    pub part_bytes: u64,
    /// Whether an archive is read back before it gets its name.
    pub verifies: bool,
}

/// Why a dump failed.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// A connection to the server.
    #[error("{what}")]
    Server {
        /// What was attempted.
        what: String,
        /// Why it failed.
        #[source]
        cause: WireError,
    },
    /// A file of the archive, or the socket.
    #[error("{what} '{path}'")]
    File {
        /// What was attempted.
        what: &'static str,
        /// With which file.
        path: String,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// pg_dump or pg_restore.
    #[error("{program} {message}")]
    Program {
        /// Which of them.
        program: &'static str,
        /// How it ended, and what it wrote on standard error.
        message: String,
    },
    /// The archive is not what was expected.
    #[error(transparent)]
    Archive(#[from] ArchiveFault),
    /// The compressor.
    #[error("compress rows of {table}")]
    Compress {
        /// Of which table.
        table: String,
        /// Why it failed.
        #[source]
        cause: codec::error::CodecError,
    },
    /// A new archive, read back, does not hold the rows that came.
    #[error("read the archive back")]
    ReadBack(#[source] Box<RestoreError>),
    /// What a dump of MariaDB or MySQL demands is not so.
    #[error(transparent)]
    MySql(#[from] MySqlDumpFault),
    /// It was ended from outside.
    #[error("interrupted")]
    Interrupted,
}

impl DumpError {
    pub(crate) fn server(what: impl Into<String>) -> impl FnOnce(WireError) -> Self {
        let what = what.into();
        |cause| Self::Server { what, cause }
    }

    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |cause| Self::File { what, path, cause }
    }
}

/// A dump that runs; what it shows of itself.
pub struct DumpRun {
    board: Arc<Board>,
}

/// How far a dump is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpProgress {
    /// Tables that pg_dump asked for, and those that are done.
    pub tables: u64,
    /// Of these.
    pub tables_done: u64,
    /// Rows read.
    pub rows: u64,
    /// Bytes of rows as COPY has them.
    pub bytes: u64,
    /// Bytes of the server's storage that were read, and are to be read as far as is known: what a share is made of.
    pub stored_done: u64,
    /// In all.
    pub stored: u64,
    /// Bytes written to the archive.
    pub written: u64,
    /// Connections that read rows now.
    pub at_work: u64,
    /// Where their threads have spent their time.
    pub clocks: DumpClocks,
}

/// Time of all readers, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpClocks {
    /// Reading rows and compressing them.
    pub reading: Duration,
    /// Of that, computing in this program.
    pub computing: Duration,
    /// Waiting for a core of the machine's budget.
    pub waiting_for_hands: Duration,
    /// Waiting for pg_dump to ask for a table, and for the parts before theirs to be written.
    pub waiting_for_work: Duration,
}

/// What came of a dump.
#[derive(Debug)]
pub struct Dumped {
    /// What stands in `mh.index`.
    pub index: ArchiveIndex,
    /// At its end.
    pub progress: DumpProgress,
    /// What pg_dump wrote on standard error though it succeeded.
    pub warnings: String,
}

impl DumpRun {
    /// Nothing has begun.
    pub fn new() -> Self {
        Self { board: Arc::new(Board::default()) }
    }

    /// How far it is.
    pub fn progress(&self) -> DumpProgress {
        self.board.progress()
    }

    /// Ends it: statements on the server are cancelled, and nothing is kept.
    pub fn stop(&self) {
        self.board.stop(DumpStop::Interrupted);
    }

    /// Whether an archive can be made there; before anything is asked of a server.
    pub fn check_target(target: &Path) -> Result<(), DumpError> {
        archive::partial_of(target)?;
        let above = archive::directory_of(target);
        std::fs::read_dir(above).map(drop).map_err(DumpError::file("make the archive in", above))
    }

    /// Dumps. The target does not exist before, and is whole or absent after; a script is whole only if this succeeds.
    pub fn run(&self, request: &DumpRequest, lease: &dyn Lease) -> Result<Dumped, DumpError> {
        let partial = request.target.as_deref().map(archive::partial_of).transpose()?;
        let outcome = self.dump_into(request, partial.as_deref(), lease);
        if outcome.is_err() {
            // What is left of it is marked by its name, and worth nothing: the snapshot is gone.
            let _may_not_be_there = partial.map(std::fs::remove_dir_all);
            // A statement of ours that is cancelled has failed; the wish to end is why.
            self.board.fault()?;
        }
        outcome
    }

    fn dump_into(&self, request: &DumpRequest, partial: Option<&Path>, lease: &dyn Lease) -> Result<Dumped, DumpError> {
        let mut leader = connect(&request.address)?;
        self.board.may_be_cancelled(&leader);
        let snapshot = request.session.begin(&mut leader)?;
        let encoding = encoding(&mut leader)?;
        let catalogue = Arc::new(Catalogue::read(&mut leader)?);
        let offer = Offer {
            board: Arc::clone(&self.board),
            catalogue,
            part_bytes: request.part_bytes,
            parts: partial.map(|partial| archive::beside(partial, archive::ROWS)),
        };
        let parts = offer.parts.as_deref().map(archive::Removed::make).transpose()?;
        let proxy = ProgramProxy::open(&request.sockets, request.address.clone(), Box::new(offer))?;
        let warnings = std::thread::scope(|scope| {
            let readers: Vec<_> = (0..request.connections)
                .map(|_| scope.spawn(|| self.board.ends_with(work::read_parts(&self.board, request, &snapshot, lease))))
                .collect();
            let written = self.board.ends_with(self.run_pg_dump(request, partial, &snapshot, &proxy));
            self.board.no_more_tables();
            for reader in readers {
                // What failed is on the board.
                let _read_all = reader.join().expect("a reader does not panic");
            }
            written
        });
        // Its locks have kept tables as they were until here.
        drop(proxy);
        self.board.fault()?;
        let tables = self.board.take_tables();
        let index = match (request.target.as_deref(), partial) {
            (Some(target), Some(partial)) => {
                let index = archive::finish(request, partial, tables, encoding)?;
                if request.verifies {
                    let is_over = || self.board.is_over();
                    let width = request.connections;
                    ReadingBack { directory: partial, width, lease, is_over: &is_over }.read(&index.rows_files())?;
                }
                archive::seal(partial, target)?;
                index
            }
            _ => ArchiveIndex::default(),
        };
        drop(parts);
        Ok(Dumped { index, progress: self.board.progress(), warnings: warnings.unwrap_or_default() })
    }

    /// Runs pg_dump against the proxy; what it has to say.
    fn run_pg_dump(
        &self,
        request: &DumpRequest,
        partial: Option<&Path>,
        snapshot: &str,
        proxy: &ProgramProxy,
    ) -> Result<String, DumpError> {
        let mut command = Command::new(request.programs.join("pg_dump"));
        match partial {
            Some(partial) => {
                command.args(["--format=directory", "--compress=0", "--jobs=2", "--file"]).arg(partial);
                command.stdout(Stdio::null())
            }
            None => command.arg("--format=plain").stdout(Stdio::inherit()),
        };
        command.arg("--no-password").arg(format!("--snapshot={snapshot}")).args(&request.selection);
        proxy.lead(&mut command);
        let program = request.programs.join("pg_dump");
        let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let child = child.map_err(DumpError::file("run", &program))?;
        self.wait_for(child)
    }

    /// Waits for pg_dump, or ends it where the dump is over.
    fn wait_for(&self, mut child: Child) -> Result<String, DumpError> {
        let program = "pg_dump";
        let errors = child.stderr.take();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| errors.map(archive::read_some).unwrap_or_default());
            let status = loop {
                let ended = child.try_wait().map_err(DumpError::file("wait for", Path::new(program)))?;
                if let Some(status) = ended {
                    break status;
                }
                if self.board.is_over() {
                    let _ended_meanwhile = child.kill();
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            let said = reader.join().expect("a reader does not panic");
            if status.success() {
                return Ok(said);
            }
            Err(DumpError::Program { program, message: format!("failed ({status}): {}", said.trim_end()) })
        })
    }
}

impl Default for DumpRun {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn connect(address: &ServerAddress) -> Result<Connection, DumpError> {
    Connection::connect(address, LOGIN).map_err(DumpError::server("connect to the server"))
}
