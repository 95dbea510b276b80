//! sysbench's options, with its names, defaults and on/off values: what a transaction of its workloads has, which rows it takes, how its tables are made.

use ::load::workload::OltpOptions;
use clap::Args;

/// Said at each option: a heading of the whole would be that of all options behind it.
const HEADING: &str = "Workloads of sysbench, with its options";

/// What sysbench's transactions and tables have. Underscores, as its scripts have them, are taken too.
#[derive(Args, Debug)]
pub struct OltpArgs {
    /// Rows that a transaction reads by their key
    #[arg(long, alias = "point_selects", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 10, value_parser = times())]
    pub point_selects: u32,

    /// Ranges that it reads
    #[arg(long, alias = "simple_ranges", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub simple_ranges: u32,

    /// Sums over ranges
    #[arg(long, alias = "sum_ranges", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub sum_ranges: u32,

    /// Ranges that it reads sorted
    #[arg(long, alias = "order_ranges", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub order_ranges: u32,

    /// Ranges that it reads sorted and without duplicates
    #[arg(long, alias = "distinct_ranges", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub distinct_ranges: u32,

    /// Whether it reads ranges at all
    #[arg(long, alias = "range_selects", help_heading = HEADING, hide_short_help = true, value_name = "on|off", default_value = "on", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = parse_switch)]
    pub range_selects: bool,

    /// Rows of a range
    #[arg(long, alias = "range_size", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub range_size: u32,

    /// Updates of the indexed column
    #[arg(long, alias = "index_updates", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub index_updates: u32,

    /// Updates of a column without an index
    #[arg(long, alias = "non_index_updates", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub non_index_updates: u32,

    /// Rows that it deletes and inserts again
    #[arg(long, alias = "delete_inserts", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = times())]
    pub delete_inserts: u32,

    /// Leave out BEGIN and COMMIT, so that each statement is a transaction
    #[arg(long, alias = "skip_trx", help_heading = HEADING, hide_short_help = true, value_name = "on|off", default_value = "off", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = parse_switch)]
    pub skip_trx: bool,

    /// prepare: make an index on the column k
    #[arg(long, alias = "create_secondary", help_heading = HEADING, hide_short_help = true, value_name = "on|off", default_value = "on", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = parse_switch)]
    pub create_secondary: bool,

    /// prepare and insert: let the server give keys, or make them here (the tables of insert then begin empty)
    #[arg(long, alias = "auto_inc", help_heading = HEADING, hide_short_help = true, value_name = "on|off", default_value = "on", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = parse_switch)]
    pub auto_inc: bool,

    /// prepare: the storage engine of MySQL's tables
    #[arg(long, alias = "mysql_storage_engine", help_heading = HEADING, hide_short_help = true, value_name = "NAME", default_value = "innodb", value_parser = parse_engine)]
    pub mysql_storage_engine: String,
}

/// The shapes of --keys (sysbench's --rand-type).
#[derive(Args, Debug)]
pub struct KeyShapeArgs {
    /// gaussian, special: draws whose mean is taken
    #[arg(long, alias = "rand_spec_iter", help_heading = HEADING, hide_short_help = true, value_name = "COUNT", default_value_t = 12)]
    pub rand_spec_iter: u32,

    /// special: per cent of the rows that are taken more often
    #[arg(long, alias = "rand_spec_pct", help_heading = HEADING, hide_short_help = true, value_name = "PERCENT", default_value_t = 1)]
    pub rand_spec_pct: u32,

    /// special: per cent of the draws that take them
    #[arg(long, alias = "rand_spec_res", help_heading = HEADING, hide_short_help = true, value_name = "PERCENT", default_value_t = 75)]
    pub rand_spec_res: u32,

    /// pareto: the share of rows that has all draws but this share
    #[arg(long, alias = "rand_pareto_h", help_heading = HEADING, hide_short_help = true, value_name = "SHARE", default_value_t = 0.2)]
    pub rand_pareto_h: f64,

    /// zipfian: row k by 1/k^EXPONENT
    #[arg(long, alias = "rand_zipfian_exp", help_heading = HEADING, hide_short_help = true, value_name = "EXPONENT", default_value_t = 0.8)]
    pub rand_zipfian_exp: f64,
}

impl OltpArgs {
    /// As the engine has them.
    pub fn options(&self) -> OltpOptions {
        OltpOptions {
            point_selects: self.point_selects,
            simple_ranges: self.simple_ranges,
            sum_ranges: self.sum_ranges,
            order_ranges: self.order_ranges,
            distinct_ranges: self.distinct_ranges,
            index_updates: self.index_updates,
            non_index_updates: self.non_index_updates,
            delete_inserts: self.delete_inserts,
            range_size: self.range_size,
            has_ranges: self.range_selects,
            skips_transactions: self.skip_trx,
            has_secondary_index: self.create_secondary,
            has_auto_increment: self.auto_inc,
            storage_engine: self.mysql_storage_engine.clone(),
        }
    }
}

/// LIMIT: statements of one kind in a transaction.
const TIMES_MAX: i64 = 100_000;

fn times() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=TIMES_MAX)
}

/// As sysbench reads them.
fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err("it is on or off".to_owned()),
    }
}

/// It goes into a statement as it is.
fn parse_engine(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_name { Ok(text.to_owned()) } else { Err("the name of an engine has letters, digits and _".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn parsed(words: &[&str]) -> Result<OltpOptions, clap::Error> {
        let command = OltpArgs::augment_args(Command::new("load"));
        let matches = command.try_get_matches_from(std::iter::once("load").chain(words.iter().copied()))?;
        Ok(OltpArgs::from_arg_matches(&matches)?.options())
    }

    #[test]
    fn without_options_they_are_sysbenchs_defaults() {
        assert_eq!(parsed(&[]).expect("nothing is asked for"), OltpOptions::default());
    }

    #[test]
    fn both_spellings_and_switches_are_taken_as_sysbench_does() {
        let words =
            ["--point_selects=3", "--skip-trx", "--auto_inc=off", "--create-secondary=off", "--range-selects=off"];
        let options = parsed(&words).expect("all are options");
        let expected = OltpOptions {
            point_selects: 3,
            skips_transactions: true,
            has_auto_increment: false,
            has_secondary_index: false,
            has_ranges: false,
            ..OltpOptions::default()
        };
        assert_eq!(options, expected);
        for wrong in ["--skip-trx=maybe", "--point-selects=-1", "--range-size=0", "--mysql-storage-engine=a;b"] {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
    }
}
