//! What a load will do and why: connections, chunks, transactions. Looks at files, changes nothing.

use super::args::{DbLoadArgs, LoadWords};
use crew::plan::Plan;
use database::chunks::{ChunkRules, CutFailure};
use database::inputs::{InputFacts, LoadInput, header_of};
use database::load::{Commit, HeaderUse, SourceFacts, header_names, is_name_of};
use database::target::TableTarget;
use mh_kit::failure::with_causes;
use mh_kit::report::counted;

/// A load that is ready to begin.
pub struct LoadJob {
    /// For people.
    pub plan: Plan,
    /// The table.
    pub target: TableTarget,
    /// The files.
    pub inputs: Vec<LoadInput>,
    /// Their names.
    pub names: Vec<String>,
    /// How they are cut.
    pub rules: ChunkRules,
    /// Connections.
    pub connections: usize,
    /// What is kept.
    pub commit: Commit,
    /// What the files are, if a ledger is kept.
    pub sources: Option<Vec<SourceFacts>>,
    /// Whether the table is emptied.
    pub truncates: bool,
    /// What the first row is for.
    pub header: HeaderUse,
    /// Bytes of rows in memory.
    pub held_bytes: u64,
    /// Hands for decoding.
    pub decoders: usize,
    /// Whether the server works on this host.
    pub is_server_here: bool,
    /// Bytes of all files, as they are on the disk; none if one does not say.
    pub total_bytes: Option<u64>,
    /// Whether one of them is compressed.
    pub is_compressed: bool,
}

/// LIMIT: the longest row; PostgreSQL takes no longer ones.
const ROW_BYTES_MAX: usize = (1 << 30) - 1;

/// LIMIT: bytes of rows in memory unless --memory says otherwise.
const HELD_BYTES: u64 = 64 << 20;

/// A chunk of one transaction among many: COPY begins anew so often.
const CHUNK_BYTES: u64 = 8 << 20;
/// A chunk with a transaction of its own: smaller ones cost the server more.
const COMMITTED_CHUNK_BYTES: u64 = 32 << 20;
/// LIMIT: a smaller one costs more to begin than to load.
const CHUNK_BYTES_MIN: u64 = 256 << 10;

/// LIMIT: connections that are made unless -j says more, and the cores are more.
const CONNECTIONS_USUAL_MAX: usize = 16;

/// LIMIT: hands for decoding: no format's decoder is slower than a server's COPY over so many.
const DECODERS_MAX: usize = 4;

/// Decides. The error is a sentence for the user that reads after "could not".
pub fn plan(
    hands_allowed: usize,
    args: &DbLoadArgs,
    words: &LoadWords,
    mut target: TableTarget,
    database: &str,
) -> Result<LoadJob, String> {
    let names: Vec<String> = words.inputs.iter().map(LoadInput::name).collect();
    let facts = look(&words.inputs)?;
    let total_bytes = facts.iter().map(|facts| facts.bytes).sum::<Option<u64>>();
    let header = args.rows.header.map(super::args::HeaderArg::header_use);
    let mut plan = Plan::new(purpose(&words.table, &names, total_bytes, database));
    plan.choose("table", target.facts.sql_name.clone(), table_reason(&target));
    let many = connections(hands_allowed, args, &target, total_bytes);
    plan.choose("split", split(&many, &facts), many.reason.clone());
    let commit = commit(args, &target, many.count);
    let (decision, reason) = commit_words(args, &target, commit, many.count);
    plan.choose("transactions", decision, reason);
    let (held_bytes, chunk_bytes) = memory(args.memory, commit, many.count, total_bytes);
    plan.choose(
        "memory",
        terminal::bytes(held_bytes),
        format!("chunks of {}; a row that is longer is held whole", terminal::bytes(chunk_bytes as u64)),
    );
    let rules = ChunkRules {
        format: target.format().clone(),
        chunk_bytes,
        row_bytes_max: ROW_BYTES_MAX,
        has_header: header.is_some(),
        is_of_database: false,
        refuses_end_marker: target.facts.ends_at_marker,
    };
    if header == Some(HeaderUse::Names) {
        name_columns(&mut target, words, &facts, &rules, args.columns().is_some())?;
    } else if let Some(columns) = args.columns() {
        target.set_columns(known_columns(&target, &columns)?);
    }
    advise(&mut plan, args, &target);
    mh_kit::sharing::explain(&mut plan);
    Ok(LoadJob {
        plan,
        inputs: words.inputs.clone(),
        rules,
        connections: many.count,
        commit,
        sources: sources(args, &names, &facts)?,
        truncates: args.truncate,
        header: header.unwrap_or_default(),
        held_bytes,
        decoders: hands_allowed.min(DECODERS_MAX),
        is_server_here: target.is_here(),
        target,
        names,
        total_bytes,
        is_compressed: facts.iter().any(|facts| facts.compression.is_some()),
    })
}

fn look(inputs: &[LoadInput]) -> Result<Vec<InputFacts>, String> {
    let look = |input: &LoadInput| {
        input.facts().map_err(|error| format!("read {}: {}", terminal::quote(input.name()), with_causes(&error)))
    };
    inputs.iter().map(look).collect()
}

fn purpose(table: &str, names: &[String], total_bytes: Option<u64>, database: &str) -> String {
    let what = match names {
        [one] if one == "-" => "standard input".to_owned(),
        [one] => one.clone(),
        many => counted(many.len() as u64, "file"),
    };
    let size = total_bytes.map(|bytes| format!(" ({})", terminal::bytes(bytes))).unwrap_or_default();
    format!("load {what}{size} into {table} of {database}")
}

fn table_reason(target: &TableTarget) -> String {
    let facts = &target.facts;
    let rows = match facts.rows {
        Some(0) | None => String::new(),
        Some(rows) => format!(", about {} already", counted(rows, "row")),
    };
    format!(
        "{}; {}, {}{rows}",
        facts.server,
        counted(target.columns().len() as u64, "column"),
        counted(facts.indexes, "index").replace("indexs", "indexes")
    )
}

/// How many connections, and why no other number.
#[derive(Debug, PartialEq, Eq)]
struct Connections {
    count: usize,
    reason: String,
}

fn connections(hands_allowed: usize, args: &DbLoadArgs, target: &TableTarget, total_bytes: Option<u64>) -> Connections {
    let one = |reason: &str| Connections { count: 1, reason: reason.to_owned() };
    if let Some(reason) = &target.facts.one_connection {
        return one(reason);
    }
    if args.ordered {
        return one("--ordered: rows come in the order of the file");
    }
    let (wanted, reason) = match args.connections.filter(|count| *count > 0) {
        Some(count) => (count, "asked for".to_owned()),
        None if target.is_here() => {
            let count = hands_allowed.min(CONNECTIONS_USUAL_MAX);
            (
                count,
                format!(
                    "the server is on this host: a connection for each of {}",
                    counted(hands_allowed as u64, "core")
                ),
            )
        }
        None => {
            let count = hands_allowed.clamp(2, CONNECTIONS_USUAL_MAX);
            (count, "the server is elsewhere: -j says more".to_owned())
        }
    };
    let left = target.facts.connections_left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX).max(1);
    if left < wanted {
        return Connections {
            count: left,
            reason: format!("the server has no more left for {wanted}: max_connections"),
        };
    }
    let useful =
        total_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes.div_ceil(CHUNK_BYTES_MIN)).unwrap_or(usize::MAX));
    if useful < wanted {
        return Connections { count: useful.max(1), reason: "there is no more to divide".to_owned() };
    }
    Connections { count: wanted, reason }
}

fn split(many: &Connections, facts: &[InputFacts]) -> String {
    let by = match many.count {
        1 => "not split: one connection".to_owned(),
        count => format!("at row ends, over {count} connections"),
    };
    let formats: Vec<&str> = facts.iter().filter_map(|facts| facts.compression).collect();
    match formats.first() {
        Some(format) => format!("{by}; decoded from {format}"),
        None => by,
    }
}

fn commit(args: &DbLoadArgs, target: &TableTarget, connections: usize) -> Commit {
    let by_itself = args.rejects.file.is_some() || args.resume;
    let holds = target.facts.holds_to_the_end || connections == 1;
    if holds && !by_itself { Commit::AtTheEnd } else { Commit::EachChunk }
}

fn commit_words(args: &DbLoadArgs, target: &TableTarget, commit: Commit, connections: usize) -> (String, String) {
    match commit {
        Commit::AtTheEnd if connections == 1 => ("one for all rows".to_owned(), "all rows or none".to_owned()),
        Commit::AtTheEnd => (
            "one a connection, committed when all rows are in".to_owned(),
            "all rows or none, unless the server dies between two commits".to_owned(),
        ),
        Commit::EachChunk if args.resume => {
            ("one a chunk".to_owned(), "--resume: done chunks are noted with their rows".to_owned())
        }
        Commit::EachChunk if args.rejects.file.is_some() => {
            ("one a chunk".to_owned(), "--reject: rows without fault are kept".to_owned())
        }
        Commit::EachChunk => (
            "one a chunk".to_owned(),
            format!(
                "{} may end one of two inserts that meet: a chunk can be sent again; -j1 is all or nothing",
                target.facts.server
            ),
        ),
    }
}

/// Bytes of rows in memory, and of a chunk.
fn memory(asked: Option<u64>, commit: Commit, connections: usize, total_bytes: Option<u64>) -> (u64, usize) {
    let usual = if commit == Commit::AtTheEnd { CHUNK_BYTES } else { COMMITTED_CHUNK_BYTES };
    let connections = connections as u64;
    let held = asked.unwrap_or(HELD_BYTES.max(2 * connections * CHUNK_BYTES));
    let of_memory = held / (2 * connections);
    let of_file = total_bytes.map_or(u64::MAX, |bytes| bytes / (4 * connections));
    let chunk = usual.min(of_memory).min(of_file).max(CHUNK_BYTES_MIN);
    (held.max(chunk), usize::try_from(chunk).unwrap_or(usize::MAX))
}

/// What files are, for a ledger; a pipe cannot be known again.
fn sources(args: &DbLoadArgs, names: &[String], facts: &[InputFacts]) -> Result<Option<Vec<SourceFacts>>, String> {
    if !args.resume {
        return Ok(None);
    }
    let source = |(name, facts): (&String, &InputFacts)| {
        let (bytes, changed_ns) = facts.bytes.zip(facts.changed_ns).ok_or_else(|| {
            format!("resume with {}: a pipe cannot be known again; only files can", terminal::quote(name))
        })?;
        Ok(SourceFacts { name: name.clone(), version: format!("{bytes}.{changed_ns}") })
    };
    names.iter().zip(facts).map(source).collect::<Result<_, String>>().map(Some)
}

/// The columns' own names, whatever the case they were typed in.
fn known_columns(target: &TableTarget, named: &[String]) -> Result<Vec<String>, String> {
    let all = &target.facts.columns;
    let known = |name: &String| {
        let exact = all.iter().find(|column| *column == name);
        exact.or_else(|| all.iter().find(|column| is_name_of(name, column))).cloned().ok_or_else(|| {
            format!("load into {}: there is no column '{}'", target.facts.sql_name, terminal::printable(name))
        })
    };
    named.iter().map(known).collect()
}

fn name_columns(
    target: &mut TableTarget,
    words: &LoadWords,
    facts: &[InputFacts],
    rules: &ChunkRules,
    has_columns: bool,
) -> Result<(), String> {
    if has_columns {
        return Err("take columns from the header: --columns names them already".to_owned());
    }
    let (input, name) = (&words.inputs[0], terminal::quote(words.inputs[0].name()).to_string());
    if facts[0].bytes.is_none() {
        return Err("take columns from the header of a pipe: --columns names them".to_owned());
    }
    let failed = |cause: String| format!("read the header of {name}: {cause}");
    let header = header_of(input, rules).map_err(|failure| match failure {
        CutFailure::Read(error) => failed(with_causes(&error)),
        CutFailure::Defect(_, defect) => failed(defect.to_string()),
    })?;
    let header = header.ok_or_else(|| failed("the file is empty".to_owned()))?;
    let names = header_names(&rules.format, &header).map_err(|defect| failed(defect.to_string()))?;
    let columns = known_columns(target, &names)?;
    target.set_columns(columns);
    Ok(())
}

/// What costs more than it must, and what the user may not expect.
fn advise(plan: &mut Plan, args: &DbLoadArgs, target: &TableTarget) {
    let facts = &target.facts;
    if facts.indexes > 1 && facts.rows.unwrap_or(0) == 0 {
        plan.choose(
            "indexes",
            format!("{} are kept up row by row", facts.indexes),
            "built after the load they cost a third of that",
        );
    }
    if facts.triggers > 0 {
        plan.choose("triggers", counted(facts.triggers, "trigger"), "each row starts them");
    }
    if args.truncate {
        plan.choose(
            "truncate",
            "the table is emptied first",
            "with several connections that is kept even if the load fails",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use database::target::{Database, TableRequest};
    use std::path::Path;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: DbLoadArgs,
    }

    /// A plan for a new SQLite database with a table of two columns.
    fn planned(place: &Path, words: &[&str], text: &str) -> Result<LoadJob, String> {
        let base = place.join("base.db");
        if !base.exists() {
            let made = rusqlite::Connection::open(&base).expect("it is made");
            made.execute_batch("create table t (id integer primary key, name text)").expect("it is made");
        }
        let file = place.join("a.csv");
        std::fs::write(&file, text).expect("written");
        let file = file.to_str().expect("text");
        let typed: Vec<&str> = ["load", "t", file].into_iter().chain(words.iter().copied()).collect();
        let args = Typed::try_parse_from(typed).expect("a command line").args;
        let words = args.words().expect("words");
        let format = args.rows.format(&words.inputs).expect("a format");
        let request = TableRequest { table: "t".to_owned(), columns: None, format, encoding: None };
        let target = TableTarget::look(Database::Sqlite(base), request).expect("it is there");
        plan(8, &args, &words, target, "a database")
    }

    #[test]
    fn a_plan_says_what_is_divided_and_kept() {
        let place = tempfile::tempdir().expect("a directory");
        let job = planned(place.path(), &[], "1,a\n").expect("a plan");
        assert_eq!((job.connections, job.commit), (1, Commit::AtTheEnd));
        let split = job.plan.about("split").expect("a choice");
        assert_eq!(
            (split.decision.as_str(), split.reason.as_str()),
            ("not split: one connection", "SQLite has one writer")
        );
        let job = planned(place.path(), &["--resume"], "1,a\n").expect("a plan");
        assert_eq!(job.commit, Commit::EachChunk);
        assert_eq!(job.sources.map(|sources| sources.len()), Some(1));
    }

    #[test]
    fn columns_are_those_that_the_header_names() {
        let place = tempfile::tempdir().expect("a directory");
        let job = planned(place.path(), &["--header=names"], "Name, ID\na,1\n").expect("a plan");
        assert_eq!(job.target.columns(), ["name", "id"]);
        let refused = planned(place.path(), &["--header=names"], "name,nothing\n").err();
        assert!(refused.expect("no such column").contains("there is no column 'nothing'"));
        let refused = planned(place.path(), &["--columns", "id,nothing"], "1,a\n").err();
        assert!(refused.expect("no such column").contains("there is no column 'nothing'"));
    }

    #[test]
    fn memory_bounds_chunks_and_small_files_are_divided_all_the_same() {
        assert_eq!(memory(None, Commit::AtTheEnd, 2, None), (64 << 20, 8 << 20));
        assert_eq!(memory(None, Commit::EachChunk, 2, None), (64 << 20, 16 << 20));
        assert_eq!(memory(Some(4 << 20), Commit::AtTheEnd, 4, None), (4 << 20, 512 << 10));
        assert_eq!(memory(Some(1), Commit::AtTheEnd, 4, None), (256 << 10, 256 << 10));
        assert_eq!(memory(None, Commit::AtTheEnd, 2, Some(16 << 20)).1, 2 << 20);
        assert_eq!(memory(None, Commit::AtTheEnd, 16, None).0, 256 << 20);
    }
}
