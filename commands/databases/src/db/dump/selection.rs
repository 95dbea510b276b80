//! pg_dump's own options, which are passed on as they are.

use crate::db::option_list::OptionList;
use clap::Args;

/// Objects.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Objects (as pg_dump)")]
pub struct ObjectArgs {
    /// Dump these schemas only
    #[arg(short = 'n', long, value_name = "PATTERN")]
    schema: Vec<String>,

    /// Leave these schemas out
    #[arg(short = 'N', long, value_name = "PATTERN")]
    exclude_schema: Vec<String>,

    /// Dump these tables only
    #[arg(short = 't', long, value_name = "PATTERN")]
    table: Vec<String>,

    /// Leave these tables out
    #[arg(short = 'T', long, alias = "ignore-table", value_name = "PATTERN")]
    exclude_table: Vec<String>,

    /// Dump these tables and their children only
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    table_and_children: Vec<String>,

    /// Leave these tables and their children out
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    exclude_table_and_children: Vec<String>,

    /// Leave the rows of these tables out
    #[arg(long, value_name = "PATTERN")]
    exclude_table_data: Vec<String>,

    /// Leave the rows of these tables and of their children out
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    exclude_table_data_and_children: Vec<String>,

    /// Dump these extensions only
    #[arg(short = 'e', long, value_name = "PATTERN", hide_short_help = true)]
    extension: Vec<String>,

    /// Each pattern must match something
    #[arg(long, hide_short_help = true)]
    strict_names: bool,
}

impl ObjectArgs {
    /// For pg_dump.
    pub fn options(&self) -> Vec<String> {
        let list = OptionList::default()
            .each("schema", &self.schema)
            .each("exclude-schema", &self.exclude_schema)
            .each("table", &self.table)
            .each("exclude-table", &self.exclude_table)
            .each("table-and-children", &self.table_and_children)
            .each("exclude-table-and-children", &self.exclude_table_and_children)
            .each("exclude-table-data", &self.exclude_table_data)
            .each("exclude-table-data-and-children", &self.exclude_table_data_and_children)
            .each("extension", &self.extension);
        list.flag("--strict-names", self.strict_names).0
    }
}

impl ObjectArgs {
    /// Patterns for a server of MariaDB or MySQL: tables, tables that are left out, tables whose rows are. A name may stand behind its database.
    pub fn of_mysql(&self, database: &str) -> [Vec<String>; 3] {
        let prefix = format!("{database}.");
        [&self.table, &self.exclude_table, &self.exclude_table_data].map(|patterns| {
            patterns.iter().map(|pattern| pattern.strip_prefix(&prefix).unwrap_or(pattern).to_owned()).collect()
        })
    }
}

/// Which part of objects.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Objects (as pg_dump)")]
pub struct ContentArgs {
    /// Dump the schema only, no rows
    #[arg(short = 's', long, alias = "no-data")]
    schema_only: bool,

    /// Dump rows only, no schema
    #[arg(short = 'a', long, alias = "no-create-info", conflicts_with = "schema_only")]
    data_only: bool,

    /// Dump large objects with a selection, too
    #[arg(short = 'b', long, visible_alias = "blobs", hide_short_help = true)]
    large_objects: bool,

    /// Leave large objects out
    #[arg(short = 'B', long, visible_alias = "no-blobs", hide_short_help = true)]
    no_large_objects: bool,

    /// Dump this section only
    #[arg(long, value_name = "SECTION", value_parser = ["pre-data", "data", "post-data"], hide_short_help = true)]
    section: Vec<String>,

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

    /// Leave compression methods of columns out
    #[arg(long, hide_short_help = true)]
    no_toast_compression: bool,

    /// Leave the rows of unlogged tables out
    #[arg(long, hide_short_help = true)]
    no_unlogged_table_data: bool,
}

impl ContentArgs {
    /// For pg_dump. Short options where long ones depend on its version.
    pub fn options(&self) -> Vec<String> {
        let list = OptionList::default()
            .flag("--schema-only", self.schema_only)
            .flag("--data-only", self.data_only)
            .flag("-b", self.large_objects)
            .flag("-B", self.no_large_objects)
            .each("section", &self.section)
            .flag("--no-comments", self.no_comments)
            .flag("--no-publications", self.no_publications)
            .flag("--no-security-labels", self.no_security_labels)
            .flag("--no-subscriptions", self.no_subscriptions)
            .flag("--no-tablespaces", self.no_tablespaces)
            .flag("--no-toast-compression", self.no_toast_compression);
        list.flag("--no-unlogged-table-data", self.no_unlogged_table_data).0
    }
}

impl ContentArgs {
    /// Whether there are statements, and rows.
    pub fn schema_and_rows(&self) -> (bool, bool) {
        (!self.data_only, !self.schema_only)
    }
}

/// What an archive has its reader do.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Restore (as pg_dump)")]
pub struct RestoreArgs {
    /// Have the restore create the database
    #[arg(short = 'C', long, hide_short_help = true)]
    create: bool,

    /// Have the restore drop objects first
    #[arg(short = 'c', long, hide_short_help = true)]
    clean: bool,

    /// Have these drops pass over objects that are not there
    #[arg(long, requires = "clean", hide_short_help = true)]
    if_exists: bool,

    /// Leave owners out
    #[arg(short = 'O', long, hide_short_help = true)]
    no_owner: bool,

    /// Leave privileges out
    #[arg(short = 'x', long, visible_alias = "no-acl", hide_short_help = true)]
    no_privileges: bool,

    /// Have rows of partitions restored through their root
    #[arg(long, hide_short_help = true)]
    load_via_partition_root: bool,

    /// Have a restore of rows alone disable triggers
    #[arg(long, hide_short_help = true)]
    disable_triggers: bool,
}

impl RestoreArgs {
    /// For pg_dump.
    pub fn options(&self) -> Vec<String> {
        let list = OptionList::default()
            .flag("--create", self.create)
            .flag("--clean", self.clean)
            .flag("--if-exists", self.if_exists)
            .flag("--no-owner", self.no_owner)
            .flag("--no-privileges", self.no_privileges)
            .flag("--load-via-partition-root", self.load_via_partition_root);
        list.flag("--disable-triggers", self.disable_triggers).0
    }
}

/// Locks and rights.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Access (as pg_dump)")]
pub struct AccessArgs {
    /// Use the rights of this role
    #[arg(long, value_name = "ROLE", hide_short_help = true)]
    pub role: Option<String>,

    /// Leave rows out that row security hides (default: such a table fails the dump)
    #[arg(long, hide_short_help = true)]
    pub enable_row_security: bool,

    /// Wait for a snapshot without anomalies of serializable transactions
    #[arg(long, hide_short_help = true)]
    pub serializable_deferrable: bool,

    /// Fail if a table's lock is not had within TIME: milliseconds, or 5s (default: wait)
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub lock_wait_timeout: Option<String>,
}

impl AccessArgs {
    /// For pg_dump. The snapshot is ours, and with it whether it is deferrable.
    pub fn options(&self) -> Vec<String> {
        let list = OptionList::default()
            .each("role", self.role.as_slice())
            .each("lock-wait-timeout", self.lock_wait_timeout.as_slice());
        list.flag("--enable-row-security", self.enable_row_security).0
    }
}

#[cfg(test)]
mod tests {
    use crate::db::dump::DbDumpArgs;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbDumpArgs,
    }

    fn typed(words: &[&str]) -> DbDumpArgs {
        let words = ["dump", "-f", "d"].into_iter().chain(words.iter().copied());
        Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args
    }

    #[test]
    fn options_of_pg_dump_are_passed_on_with_their_values() {
        let args = typed(&["-t", "a b", "-t--x", "-T=c", "-sOx", "-b", "--section", "data", "--role", "r", "shop"]);
        let expected = [
            "--table=a b",
            "--table=--x",
            "--exclude-table=c",
            "--schema-only",
            "-b",
            "--section=data",
            "--no-owner",
            "--no-privileges",
            "--role=r",
        ];
        assert_eq!(args.selection(), expected);
        assert_eq!(args.connect().dbname.as_deref(), Some("shop"));
        assert_eq!(args.session().role.as_deref(), Some("r"));
    }

    #[test]
    fn what_the_snapshot_decides_is_not_passed_on() {
        let args = typed(&["-d", "shop", "--serializable-deferrable"]);
        assert!(args.selection().is_empty() && args.session().is_deferrable);
    }
}
