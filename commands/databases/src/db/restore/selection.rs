//! pg_restore's own options, which are passed on as they are.

use crate::db::option_list::OptionList;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// What is restored.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Objects (as pg_restore)")]
pub struct PassedSelectionArgs {
    /// Restore this schema only
    #[arg(short = 'n', long, value_name = "SCHEMA")]
    schema: Vec<String>,

    /// Leave this schema out
    #[arg(short = 'N', long, value_name = "SCHEMA")]
    exclude_schema: Vec<String>,

    /// Restore this table, view or sequence only; no pattern, and without its indexes, as pg_restore has it
    #[arg(short = 't', long, value_name = "NAME")]
    table: Vec<String>,

    /// Restore this index only
    #[arg(short = 'I', long, value_name = "NAME", hide_short_help = true)]
    index: Vec<String>,

    /// Restore this function only
    #[arg(short = 'P', long, value_name = "NAME(ARGS)", hide_short_help = true)]
    function: Vec<String>,

    /// Restore this trigger only
    #[arg(short = 'T', long, value_name = "NAME", hide_short_help = true)]
    trigger: Vec<String>,

    /// Restore the schema only, no rows
    #[arg(short = 's', long)]
    schema_only: bool,

    /// Restore rows only, into tables that are there
    #[arg(short = 'a', long, conflicts_with = "schema_only")]
    data_only: bool,

    /// Restore this section only
    #[arg(long, value_name = "SECTION", value_parser = ["pre-data", "data", "post-data"], hide_short_help = true)]
    section: Vec<String>,

    /// Restore what FILE lists, in its order (pg_restore --list)
    #[arg(short = 'L', long, value_name = "FILE", hide_short_help = true)]
    use_list: Option<PathBuf>,

    /// Each name must match something
    #[arg(long, hide_short_help = true)]
    strict_names: bool,
}

impl PassedSelectionArgs {
    /// For pg_restore.
    pub fn options(&self) -> Vec<OsString> {
        let list = OptionList::default()
            .each("schema", &self.schema)
            .each("exclude-schema", &self.exclude_schema)
            .each("table", &self.table)
            .each("index", &self.index)
            .each("function", &self.function)
            .each("trigger", &self.trigger)
            .flag("--schema-only", self.schema_only)
            .flag("--data-only", self.data_only)
            .flag("--strict-names", self.strict_names);
        let mut options: Vec<OsString> = list.0.into_iter().map(OsString::from).collect();
        if let Some(list) = &self.use_list {
            options.extend(["--use-list".into(), list.clone().into_os_string()]);
        }
        options
    }

    /// What is restored of an archive of MariaDB or MySQL: tables, whether statements, whether rows.
    pub fn of_mysql(&self) -> (Vec<String>, bool, bool) {
        (self.table.clone(), !self.data_only, !self.schema_only)
    }

    /// Sections that are restored; none: all.
    pub fn sections(&self) -> &[String] {
        &self.section
    }
}

/// How statements are written.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Statements (as pg_restore)")]
pub struct EmissionArgs {
    /// Leave owners out
    #[arg(short = 'O', long)]
    no_owner: bool,

    /// Leave privileges out
    #[arg(short = 'x', long, visible_alias = "no-acl")]
    no_privileges: bool,

    /// Leave comments out
    #[arg(long, hide_short_help = true)]
    no_comments: bool,

    /// Leave publications out
    #[arg(long, hide_short_help = true)]
    no_publications: bool,

    /// Leave security labels out
    #[arg(long, hide_short_help = true)]
    no_security_labels: bool,

    /// Leave subscriptions out
    #[arg(long, hide_short_help = true)]
    no_subscriptions: bool,

    /// Leave tablespaces out
    #[arg(long, hide_short_help = true)]
    no_tablespaces: bool,

    /// Leave table access methods out
    #[arg(long, hide_short_help = true)]
    no_table_access_method: bool,

    /// Use the rights of this role
    #[arg(long, value_name = "ROLE", hide_short_help = true)]
    role: Option<String>,

    /// Restore rows under the policies of row security
    #[arg(long, hide_short_help = true)]
    enable_row_security: bool,
}

impl EmissionArgs {
    /// For pg_restore.
    pub fn options(&self) -> Vec<OsString> {
        let list = OptionList::default()
            .flag("--no-owner", self.no_owner)
            .flag("--no-privileges", self.no_privileges)
            .flag("--no-comments", self.no_comments)
            .flag("--no-publications", self.no_publications)
            .flag("--no-security-labels", self.no_security_labels)
            .flag("--no-subscriptions", self.no_subscriptions)
            .flag("--no-tablespaces", self.no_tablespaces)
            .flag("--no-table-access-method", self.no_table_access_method)
            .each("role", self.role.as_slice())
            .flag("--enable-row-security", self.enable_row_security);
        list.0.into_iter().map(OsString::from).collect()
    }
}
