//! Options of a dump that are MariaDB's and MySQL's alone, spelled as their own programs have them; and which of the others are not theirs.

use crate::db::mysql_lock::LockArg;
use clap::Args;
use database::dump_mysql::DumpLock;
use std::ffi::OsString;
use std::time::Duration;

/// What PostgreSQL has not.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "MariaDB and MySQL")]
pub struct MySqlDumpArgs {
    /// Lock of the moment that all connections see: auto, flush (FLUSH TABLES WITH READ LOCK) or none (default: auto)
    #[arg(long, value_enum, value_name = "LOCK", hide_short_help = true)]
    lock: Option<LockArg>,

    /// Have views, routines, triggers and events belong to the user that restores them
    #[arg(long)]
    pub skip_definer: bool,

    /// Leave triggers out
    #[arg(long, hide_short_help = true)]
    skip_triggers: bool,

    /// Leave procedures and functions out
    #[arg(long, hide_short_help = true)]
    skip_routines: bool,

    /// Leave events out
    #[arg(long, hide_short_help = true)]
    skip_events: bool,
}

/// For a lock to be had, unless `--lock-wait-timeout` says otherwise: whoever writes waits behind it.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);

/// What pg_dump's options mean to MariaDB as well.
const OF_BOTH: [&str; 8] = [
    "--table",
    "--exclude-table",
    "--exclude-table-data",
    "--schema-only",
    "--data-only",
    "--lock-wait-timeout",
    "--strict-names",
    "--no-privileges",
];

impl MySqlDumpArgs {
    /// The lock that is meant.
    pub fn lock(&self) -> DumpLock {
        LockArg::meant(self.lock)
    }

    /// Whether triggers, routines and events are dumped.
    pub fn kinds(&self) -> (bool, bool, bool) {
        (!self.skip_triggers, !self.skip_routines, !self.skip_events)
    }

    /// One that was given.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            (self.lock.is_some(), "--lock"),
            (self.skip_definer, "--skip-definer"),
            (self.skip_triggers, "--skip-triggers"),
            (self.skip_routines, "--skip-routines"),
            (self.skip_events, "--skip-events"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

/// The first of pg_dump's options that has no meaning here.
pub fn first_of_postgres(options: &[OsString]) -> Option<String> {
    let names = options.iter().map(|option| option.to_string_lossy());
    let mut names = names.map(|option| option.split('=').next().unwrap_or_default().to_owned());
    names.find(|name| !OF_BOTH.contains(&name.as_str()))
}

/// As pg_dump has it: a number of milliseconds, or a time.
pub fn lock_wait(text: Option<&str>) -> Result<Duration, String> {
    let Some(text) = text else { return Ok(LOCK_WAIT) };
    if let Ok(milliseconds) = text.parse() {
        return Ok(Duration::from_millis(milliseconds));
    }
    terminal::parse_duration(text).map_err(|error| format!("--lock-wait-timeout '{text}': {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_one_server_are_not_for_the_other() {
        let options = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(first_of_postgres(&options(&["--table=a", "--schema-only"])), None);
        assert_eq!(first_of_postgres(&options(&["--table=a", "--role=r"])).as_deref(), Some("--role"));
        assert_eq!(MySqlDumpArgs { skip_events: true, ..MySqlDumpArgs::default() }.first(), Some("--skip-events"));
        assert_eq!(MySqlDumpArgs::default().first(), None);
    }

    #[test]
    fn a_wait_is_milliseconds_or_has_a_unit() {
        assert_eq!(lock_wait(Some("1500")), Ok(Duration::from_millis(1500)));
        assert_eq!(lock_wait(Some("2m")), Ok(Duration::from_secs(120)));
        assert_eq!(lock_wait(None), Ok(LOCK_WAIT));
        assert!(lock_wait(Some("soon")).is_err());
    }
}
