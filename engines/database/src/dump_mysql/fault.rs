//! What a dump or a verification of MariaDB or MySQL demands, and is not so.

/// Why a dump of MariaDB or MySQL does not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MySqlDumpFault {
    /// Something would silently be absent, or not be of one moment.
    #[error("the right {right} on {on} is missing: {without} leaves {what} out")]
    Right {
        /// As GRANT spells it.
        right: &'static str,
        /// Of what.
        on: String,
        /// The option that makes it unnecessary.
        without: &'static str,
        /// Its purpose.
        what: &'static str,
    },
    /// There is no such database, or no right to see it.
    #[error("there is no database '{0}', or no right to see it")]
    NoDatabase(String),
    /// It is absent, or hidden.
    #[error("there is no table '{0}', or no right to see it")]
    Unseen(String),
    /// A column that the other side has.
    #[error("there is no column '{0}'")]
    NoColumn(String),
    /// A column that the other side has not.
    #[error("it has the column '{0}', and the other side has not")]
    MoreColumn(String),
    /// A pattern that matches nothing.
    #[error("no table matches '{0}'")]
    NoTable(String),
    /// The server cannot open it.
    #[error("the server cannot open the table '{table}': {comment}")]
    Broken {
        /// Which.
        table: String,
        /// The server's words.
        comment: String,
    },
    /// Its rows would not be those that were planned for.
    #[error("'{0}' was made, altered or dropped meanwhile")]
    Changed(String),
    /// Values are not whole.
    #[error("the server cut values of '{table}' off: {warning}")]
    CutOff {
        /// Which.
        table: String,
        /// The server's words.
        warning: String,
    },
    /// Values are not those of the archive, or a row was left out.
    #[error("the server did not take all rows of '{table}' as they are: {warning}")]
    Altered {
        /// Which.
        table: String,
        /// The server's words.
        warning: String,
    },
    /// A restore would meet it, and what was there before is not the restore's to replace.
    #[error("the database has the {kind} '{name}' already")]
    Present {
        /// `table`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The object in its place may have rows, and is not of the kind that is dropped.
    #[error("'{name}' is a {there} in the database and a {made} in the archive")]
    OtherKind {
        /// Its name.
        name: String,
        /// `table`.
        there: String,
        /// `view`.
        made: String,
    },
    /// Nobody knows which of its rows a restore has brought that was interrupted.
    #[error(
        "'{table}' had {before} rows before the interrupted restore, {loaded} are noted as restored, and it has {now}: its engine has no transactions"
    )]
    InDoubt {
        /// Which.
        table: String,
        /// Rows that are not of the archive.
        before: u64,
        /// Rows of files that are in.
        loaded: u64,
        /// All.
        now: u64,
    },
    /// The archive is not what is expected.
    #[error("'{file}': {what}")]
    Archive {
        /// Which file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
}
