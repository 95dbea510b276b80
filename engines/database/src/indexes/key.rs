//! A primary or unique key of PostgreSQL. `ALTER TABLE ADD PRIMARY KEY` holds its table for itself while it builds, so that no other index of the table is
//! built meanwhile. A unique index that becomes the constraint afterwards does not; name and properties stay the same.

use super::reader::StatementReader;

/// ALTER TABLE with one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyStatement {
    /// As it stands.
    pub table: String,
    /// As it stands; none: the server would choose.
    pub name: Option<String>,
    /// PRIMARY KEY, else UNIQUE.
    pub is_primary: bool,
    /// With parentheses.
    pub columns: String,
    /// `ONLY`, or nothing.
    only: &'static str,
    /// INCLUDE, with its columns.
    pub include: Option<String>,
    has_equal_nulls: bool,
    /// WITH, with storage parameters.
    parameters: Option<String>,
    tablespace: Option<String>,
    /// DEFERRABLE and the like.
    timing: String,
}

impl KeyStatement {
    /// Reads what comes behind ALTER TABLE; none for a key that an index cannot become.
    pub fn parse(mut reader: StatementReader<'_>) -> Option<Self> {
        if reader.is("if exists") {
            return None;
        }
        let mut key = Self { only: if reader.accept("only") { "ONLY " } else { "" }, ..Self::default() };
        reader.name()?.clone_into(&mut key.table);
        let _with_children = reader.accept_symbol(b'*');
        reader.accept("add").then_some(())?;
        if reader.accept("constraint") {
            key.name = Some(reader.name()?.to_owned());
        }
        key.is_primary = reader.accept("primary key");
        if !key.is_primary {
            reader.accept("unique").then_some(())?;
            key.has_equal_nulls = reader.accept("nulls not distinct");
            let _usual = reader.accept("nulls distinct");
        }
        reader.parenthesised()?.clone_into(&mut key.columns);
        if key.columns.to_ascii_lowercase().contains("without") {
            return None;
        }
        if reader.accept("include") {
            key.include = Some(reader.parenthesised()?.to_owned());
        }
        if reader.accept("with") {
            key.parameters = Some(reader.parenthesised()?.to_owned());
        }
        if reader.accept("using index tablespace") {
            key.tablespace = Some(reader.name()?.to_owned());
        }
        reader.rest().clone_into(&mut key.timing);
        let is_timing =
            key.timing.is_empty() || TIMINGS.iter().any(|word| key.timing.to_ascii_lowercase().starts_with(word));
        is_timing.then_some(key)
    }

    /// The statement that builds its index.
    pub fn build(&self, name: &str) -> String {
        let mut sql = format!("CREATE UNIQUE INDEX {name} ON {} {}", self.table, self.columns);
        if let Some(include) = &self.include {
            sql += &format!(" INCLUDE {include}");
        }
        if self.has_equal_nulls {
            sql += " NULLS NOT DISTINCT";
        }
        if let Some(parameters) = &self.parameters {
            sql += &format!(" WITH {parameters}");
        }
        if let Some(tablespace) = &self.tablespace {
            sql += &format!(" TABLESPACE {tablespace}");
        }
        sql
    }

    /// The statement that makes the index the key.
    pub fn attach(&self, name: &str) -> String {
        let kind = if self.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
        let sql = format!(
            "ALTER TABLE {}{} ADD CONSTRAINT {name} {kind} USING INDEX {name} {}",
            self.only, self.table, self.timing
        );
        sql.trim_end().to_owned()
    }
}

const TIMINGS: [&str; 3] = ["deferrable", "not deferrable", "initially"];

#[cfg(test)]
mod tests {
    use super::super::lexer::{ScriptDialect, SqlLexer, SqlToken};
    use super::*;

    fn parsed(text: &str) -> Option<KeyStatement> {
        let mut lexer = SqlLexer::new(text, ScriptDialect::Postgres);
        let tokens: Vec<SqlToken> = std::iter::from_fn(|| lexer.next().expect("closed")).collect();
        let mut reader = StatementReader::new(text, &tokens);
        reader.accept("alter table").then_some(())?;
        KeyStatement::parse(reader)
    }

    #[test]
    fn a_key_becomes_an_index_and_a_constraint_that_have_all_of_it() {
        let text = "ALTER TABLE ONLY public.\"T\"\n ADD CONSTRAINT \"K\" UNIQUE NULLS NOT DISTINCT (a, b) INCLUDE (c) \
            WITH (fillfactor='70') USING INDEX TABLESPACE fast DEFERRABLE INITIALLY DEFERRED";
        let key = parsed(text).expect("a key");
        let build = "CREATE UNIQUE INDEX \"K\" ON public.\"T\" (a, b) INCLUDE (c) NULLS NOT DISTINCT WITH (fillfactor='70') TABLESPACE fast";
        assert_eq!(key.build("\"K\""), build);
        let attach =
            "ALTER TABLE ONLY public.\"T\" ADD CONSTRAINT \"K\" UNIQUE USING INDEX \"K\" DEFERRABLE INITIALLY DEFERRED";
        assert_eq!(key.attach("\"K\""), attach);
        let key = parsed("alter table t add primary key (id)").expect("a key");
        assert_eq!((key.name.as_deref(), key.is_primary), (None, true));
        assert_eq!(key.attach("t_pkey"), "ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_pkey");
    }

    #[test]
    fn keys_that_no_index_becomes_are_left_as_they_are() {
        for text in [
            "alter table t add primary key (id, during without overlaps)",
            "alter table t add primary key using index i",
            "alter table if exists t add primary key (id)",
            "alter table t add unique (id) something new",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
