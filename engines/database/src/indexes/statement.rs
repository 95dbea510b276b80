//! Kinds of statements: the building of an index, a key, a constraint, a setting of the session, or one that is carried out after them.

use super::key::KeyStatement;
use super::lexer::{ScriptDialect, SqlToken};
use super::reader::{StatementReader, plain_name};

/// A statement by what is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptOrder {
    /// It belongs to every session that carries out what comes after it; by its name.
    Setting(String),
    /// CREATE INDEX of PostgreSQL.
    Index(IndexStatement),
    /// ALTER TABLE with one primary or unique key of PostgreSQL.
    Key(KeyStatement),
    /// Keys of one table of MySQL.
    TableKeys {
        /// As it stands.
        table: String,
        /// What ALTER TABLE adds.
        clauses: Vec<TableKey>,
    },
    /// ALTER TABLE with constraints; several may run at a time if they have no table in common.
    Constraint {
        /// As it stands; none: several, or the server chooses.
        name: Option<String>,
        /// Of a foreign key, with parentheses.
        columns: Option<String>,
        /// All that it locks; the one that is altered first.
        tables: Vec<String>,
    },
    /// It runs alone, in its place behind the indexes.
    Following,
}

/// CREATE INDEX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexStatement {
    /// As it stands; none: the server chooses.
    pub name: Option<String>,
    /// As it stands.
    pub table: String,
    /// In small letters.
    pub method: String,
    /// With parentheses.
    pub keys: String,
    /// It waits for other transactions, and those of other builds are such.
    pub is_concurrent: bool,
}

/// A key of MySQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableKey {
    /// As it stands, or what it is.
    pub name: String,
    /// For ALTER TABLE.
    pub clause: String,
    /// FULLTEXT and SPATIAL are built by themselves.
    pub is_special: bool,
}

const NO_INDEX: &str = "is no statement about an index, a key or a constraint";

/// Finds out what a statement is. The error reads after its first words.
pub fn classify(text: &str, tokens: &[SqlToken], dialect: ScriptDialect) -> Result<ScriptOrder, String> {
    let reader = StatementReader::new(text, tokens);
    if let Some(name) = setting(reader.clone()) {
        return Ok(ScriptOrder::Setting(name));
    }
    let order = match dialect {
        ScriptDialect::Postgres => of_postgres(reader),
        ScriptDialect::MySql => of_mysql(reader),
    };
    order.ok_or_else(|| NO_INDEX.to_owned())
}

/// `SET name ...`, `SELECT pg_catalog.set_config('name', ...)`, `USE database`.
fn setting(mut reader: StatementReader<'_>) -> Option<String> {
    if reader.accept("use") {
        return Some("use".to_owned());
    }
    if reader.accept("select") {
        let function = reader.name().map(plain_name)?;
        let is_setting = function == "set_config" && reader.accept_symbol(b'(');
        return is_setting.then(|| reader.string()).flatten().map(|name| name.trim_matches('\'').to_ascii_lowercase());
    }
    if !reader.accept("set") {
        return None;
    }
    let _usual = reader.accept("session") || reader.accept("local");
    Some(reader.name().map_or_else(|| reader.rest().to_owned(), str::to_ascii_lowercase))
}

fn of_postgres(mut reader: StatementReader<'_>) -> Option<ScriptOrder> {
    if let Some(index) = index_of_postgres(reader.clone()) {
        return Some(ScriptOrder::Index(index));
    }
    if reader.accept("alter table") {
        return alteration(reader);
    }
    let follows = [
        "comment on",
        "alter default privileges",
        "alter index",
        "alter materialized view",
        "alter policy",
        "alter publication",
        "alter statistics",
        "alter subscription",
        "alter view",
        "alter event trigger",
        "alter trigger",
        "analyze",
        "cluster",
        "create constraint trigger",
        "create event trigger",
        "create or replace view",
        "create policy",
        "create publication",
        "create rule",
        "create statistics",
        "create subscription",
        "create trigger",
        "grant",
        "refresh materialized view",
        "revoke",
        "vacuum",
    ];
    follows.iter().any(|words| reader.is(words)).then_some(ScriptOrder::Following)
}

fn index_of_postgres(mut reader: StatementReader<'_>) -> Option<IndexStatement> {
    let begins = reader.accept("create unique index") || reader.accept("create index");
    begins.then_some(())?;
    let is_concurrent = reader.accept("concurrently");
    let _or_not = reader.accept("if not exists");
    let name = if reader.is("on") { None } else { Some(reader.name()?.to_owned()) };
    reader.accept("on").then_some(())?;
    let _without_children = reader.accept("only");
    let table = reader.name()?.to_owned();
    let method = if reader.accept("using") { plain_name(reader.name()?) } else { "btree".to_owned() };
    let keys = reader.parenthesised()?.to_owned();
    Some(IndexStatement { name, table, method, keys, is_concurrent })
}

/// What one action of ALTER TABLE is.
enum Action {
    Key(Option<String>),
    Constraint { name: Option<String>, foreign: Option<ForeignKey> },
    Other,
}

struct ForeignKey {
    columns: String,
    references: String,
}

fn alteration(mut reader: StatementReader<'_>) -> Option<ScriptOrder> {
    let whole = reader.clone();
    let _if_there = reader.accept("if exists");
    let _without_children = reader.accept("only");
    let table = reader.name()?.to_owned();
    let _with_children = reader.accept_symbol(b'*');
    let actions = reader.parts().into_iter().map(action).collect::<Option<Vec<_>>>()?;
    if let ([Action::Key(_)], Some(key)) = (actions.as_slice(), KeyStatement::parse(whole)) {
        return Some(ScriptOrder::Key(key));
    }
    let mut tables = vec![table];
    let mut names = Vec::new();
    let mut columns = None;
    for action in actions {
        match action {
            Action::Other => return Some(ScriptOrder::Following),
            Action::Key(name) => names.push(name),
            Action::Constraint { name, foreign } => {
                names.push(name);
                if let Some(foreign) = foreign {
                    columns = Some(foreign.columns);
                    tables.push(foreign.references);
                }
            }
        }
    }
    let is_one = names.len() == 1;
    let name = names.pop().flatten().filter(|_| is_one);
    Some(ScriptOrder::Constraint { name, columns: columns.filter(|_| is_one), tables })
}

fn action(mut reader: StatementReader<'_>) -> Option<Action> {
    if reader.accept("add") {
        let name = if reader.accept("constraint") { Some(reader.name()?.to_owned()) } else { None };
        if reader.accept("foreign key") {
            let columns = reader.parenthesised()?.to_owned();
            reader.accept("references").then_some(())?;
            let references = reader.name()?.to_owned();
            return Some(Action::Constraint { name, foreign: Some(ForeignKey { columns, references }) });
        }
        if reader.is("primary key") || reader.is("unique") {
            return Some(Action::Key(name));
        }
        let is_constraint = reader.is("check") || reader.is("exclude") || reader.is("not null");
        return is_constraint.then_some(Action::Constraint { name, foreign: None });
    }
    if reader.accept("alter") {
        let is_of_constraint = reader.accept("constraint");
        let _usual = reader.accept("column");
        reader.name()?;
        let changes_no_rows = ["set statistics", "set storage", "set compression", "set not null"];
        let is_other = is_of_constraint || changes_no_rows.iter().any(|words| reader.is(words));
        return is_other.then_some(Action::Other);
    }
    let others = [
        "attach partition",
        "cluster on",
        "disable",
        "enable",
        "force row level security",
        "no force row level security",
        "owner to",
        "replica identity",
        "set without cluster",
        "validate constraint",
    ];
    others.iter().any(|words| reader.is(words)).then_some(Action::Other)
}

fn of_mysql(mut reader: StatementReader<'_>) -> Option<ScriptOrder> {
    if reader.accept("create") {
        let (table, key) = index_of_mysql(reader)?;
        return Some(ScriptOrder::TableKeys { table, clauses: vec![key] });
    }
    if reader.is("analyze table") {
        return Some(ScriptOrder::Following);
    }
    let _online = reader.accept("alter online table") || reader.accept("alter table");
    let _if_there = reader.accept("if exists");
    let table = reader.name()?.to_owned();
    let mut clauses = Vec::new();
    let mut tables = vec![table.clone()];
    for part in reader.parts() {
        match clause_of_mysql(part)? {
            ClauseOfMySql::Key(key) => clauses.push(key),
            ClauseOfMySql::Foreign(references) => tables.push(references),
        }
    }
    match (clauses.is_empty(), tables.len()) {
        (false, 1) => Some(ScriptOrder::TableKeys { table, clauses }),
        (true, 2..) => Some(ScriptOrder::Following),
        // LIMIT: keys and foreign keys in one statement stay in it, behind the other keys.
        _ => Some(ScriptOrder::Constraint { name: None, columns: None, tables }),
    }
}

/// `[OR REPLACE] [UNIQUE|FULLTEXT|SPATIAL] INDEX [IF NOT EXISTS] name [USING BTREE] ON table (columns) options` becomes a clause of ALTER TABLE.
fn index_of_mysql(mut reader: StatementReader<'_>) -> Option<(String, TableKey)> {
    let kind = ["unique", "fulltext", "spatial"].into_iter().find(|kind| reader.accept(kind)).unwrap_or_default();
    reader.accept("index").then_some(())?;
    let existing = if reader.accept("if not exists") { "IF NOT EXISTS " } else { "" };
    let name = reader.name()?.to_owned();
    let using = if reader.accept("using") { format!(" USING {}", reader.name()?) } else { String::new() };
    reader.accept("on").then_some(())?;
    let table = reader.name()?.to_owned();
    let columns = reader.parenthesised()?;
    let rest = reader.rest();
    let clause = format!("ADD {kind} INDEX {existing}{name}{using} {columns} {rest}");
    let clause = clause.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    Some((table, TableKey { name, clause, is_special: matches!(kind, "fulltext" | "spatial") }))
}

enum ClauseOfMySql {
    Key(TableKey),
    /// To which table.
    Foreign(String),
}

fn clause_of_mysql(mut reader: StatementReader<'_>) -> Option<ClauseOfMySql> {
    let clause = reader.clone().rest().to_owned();
    reader.accept("add").then_some(())?;
    let mut name = None;
    if reader.accept("constraint") && !["primary", "unique", "foreign"].iter().any(|word| reader.is(word)) {
        name = Some(reader.name()?.to_owned());
    }
    if reader.accept("foreign key") {
        while !reader.accept("references") {
            let _index_name = reader.name().or_else(|| reader.parenthesised())?;
        }
        return Some(ClauseOfMySql::Foreign(reader.name()?.to_owned()));
    }
    let is_special = reader.accept("fulltext") || reader.accept("spatial");
    let is_primary = !is_special && reader.accept("primary key");
    let is_unique = !is_special && !is_primary && reader.accept("unique");
    let is_named_so = !is_primary && (reader.accept("index") || reader.accept("key"));
    (is_special || is_primary || is_unique || is_named_so).then_some(())?;
    let _or_not = reader.accept("if not exists");
    let given = if is_primary || reader.is("using") { None } else { reader.name().map(str::to_owned) };
    let usual = if is_primary { "PRIMARY" } else { "without a name" };
    let name = given.or(name).unwrap_or_else(|| usual.to_owned());
    Some(ClauseOfMySql::Key(TableKey { name, clause, is_special }))
}

#[cfg(test)]
mod tests {
    use super::super::lexer::SqlLexer;
    use super::*;

    fn classified(text: &str, dialect: ScriptDialect) -> Result<ScriptOrder, String> {
        let mut lexer = SqlLexer::new(text, dialect);
        let tokens: Vec<SqlToken> = std::iter::from_fn(|| lexer.next().expect("closed")).collect();
        classify(text, &tokens, dialect)
    }

    fn postgres(text: &str) -> ScriptOrder {
        classified(text, ScriptDialect::Postgres).unwrap_or_else(|error| panic!("'{text}' {error}"))
    }

    #[test]
    fn indexes_have_a_table_a_method_and_keys() {
        let index = IndexStatement {
            name: Some("\"I x\"".to_owned()),
            table: "public.t".to_owned(),
            method: "gin".to_owned(),
            keys: "(a, lower(b))".to_owned(),
            is_concurrent: false,
        };
        let text = "CREATE INDEX \"I x\" ON ONLY public.t USING gin (a, lower(b)) WHERE a > 0";
        assert_eq!(postgres(text), ScriptOrder::Index(index));
        let index = IndexStatement {
            name: None,
            table: "t".to_owned(),
            method: "btree".to_owned(),
            keys: "(a)".to_owned(),
            is_concurrent: true,
        };
        assert_eq!(postgres("create unique index concurrently on t(a)"), ScriptOrder::Index(index));
    }

    #[test]
    fn constraints_name_the_tables_that_they_lock() {
        let tables = |text| match postgres(text) {
            ScriptOrder::Constraint { tables, .. } => tables,
            other => panic!("{other:?}"),
        };
        let foreign = "ALTER TABLE ONLY public.a ADD CONSTRAINT x FOREIGN KEY (b, c) REFERENCES public.\"B\"(id) ON DELETE CASCADE";
        assert_eq!(tables(foreign), ["public.a", "public.\"B\""]);
        assert_eq!(tables("alter table a add check (x > 0), add primary key (x)"), ["a"]);
        assert_eq!(tables("alter table a add constraint e exclude using gist (r with &&)"), ["a"]);
        assert_eq!(tables("alter table a add constraint e primary key using index i"), ["a"]);
        assert_eq!(tables("alter table a add primary key (x, p without overlaps)"), ["a"]);
    }

    #[test]
    fn others_follow_or_are_refused() {
        for text in [
            "COMMENT ON INDEX i IS ';'",
            "ALTER INDEX public.p ATTACH PARTITION public.q",
            "ALTER TABLE ONLY public.t REPLICA IDENTITY USING INDEX i",
            "ALTER TABLE t CLUSTER ON i",
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE t ALTER COLUMN c SET STATISTICS 5",
            "ALTER STATISTICS public.st OWNER TO postgres",
            "CREATE OR REPLACE VIEW v AS SELECT a FROM t GROUP BY a",
            "ALTER DEFAULT PRIVILEGES FOR ROLE a GRANT SELECT ON TABLES TO b",
            "ALTER SUBSCRIPTION s OWNER TO postgres",
            "CREATE TRIGGER t AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
            "REFRESH MATERIALIZED VIEW v",
        ] {
            assert_eq!(postgres(text), ScriptOrder::Following, "{text}");
        }
        for text in [
            "ALTER TABLE t ADD COLUMN c int",
            "ALTER TABLE t ALTER c TYPE int",
            "ALTER TABLE t DROP CONSTRAINT c",
            "CREATE TABLE t (a int)",
            "SELECT 1",
            "BEGIN",
            "create index i",
        ] {
            assert!(classified(text, ScriptDialect::Postgres).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_have_names() {
        let name = |text| match postgres(text) {
            ScriptOrder::Setting(name) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name("SET default_tablespace = ''"), "default_tablespace");
        assert_eq!(name("set session Work_mem to 1"), "work_mem");
        assert_eq!(name("SELECT pg_catalog.set_config('search_path', '', false)"), "search_path");
    }

    #[test]
    fn keys_of_mysql_become_clauses() {
        let keys = |text| match classified(text, ScriptDialect::MySql).expect("keys") {
            ScriptOrder::TableKeys { table, clauses } => {
                (table, clauses.into_iter().map(|key| (key.name, key.clause, key.is_special)).collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        };
        let key = |name: &str, clause: &str, is_special| (name.to_owned(), clause.to_owned(), is_special);
        assert_eq!(
            keys("CREATE UNIQUE INDEX `i` USING BTREE ON `t` (a, b(10)) COMMENT 'x'"),
            ("`t`".to_owned(), vec![key("`i`", "ADD unique INDEX `i` USING BTREE (a, b(10)) COMMENT 'x'", false)])
        );
        assert_eq!(
            keys("alter table t add key k (a), add primary key (id), add constraint u unique (b), add fulltext (c)").1,
            [
                key("k", "add key k (a)", false),
                key("PRIMARY", "add primary key (id)", false),
                key("u", "add constraint u unique (b)", false),
                key("without a name", "add fulltext (c)", true),
            ]
        );
        let foreign = "alter table a add constraint f foreign key (x) references b (y)";
        assert_eq!(classified(foreign, ScriptDialect::MySql), Ok(ScriptOrder::Following));
        for text in ["alter table t drop key k", "alter table t add column c int", "lock tables t write"] {
            assert!(classified(text, ScriptDialect::MySql).is_err(), "{text}");
        }
    }
}
