//! The one statement of pg_dump that is answered here: `COPY schema.table (columns) TO stdout;`.

/// A table that pg_dump asks for: its name as quoted by pg_dump, which is as `quote_ident` does it, and its list of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOut<'a> {
    /// `schema.table`.
    pub table: &'a str,
    /// Behind the name, with parentheses; empty for a table without columns.
    pub columns: &'a str,
}

impl<'a> CopyOut<'a> {
    /// Reads a statement; none where it is another one. A query in place of a table (`COPY (SELECT ...)`) is another one.
    pub fn parse(sql: &'a str) -> Option<Self> {
        let rest = sql.strip_prefix("COPY ")?.strip_suffix(" TO stdout;")?;
        let table = qualified_name(rest)?;
        let columns = rest[table.len()..].trim();
        let is_list = columns.is_empty() || (columns.starts_with('(') && columns.ends_with(')'));
        is_list.then_some(Self { table, columns })
    }

    /// The columns for a SELECT list; none where there are no columns to select.
    pub fn selected(&self) -> Option<&'a str> {
        self.columns.strip_prefix('(')?.strip_suffix(')')
    }
}

/// The `schema.table` that a text begins with.
pub(crate) fn qualified_name(text: &str) -> Option<&str> {
    let schema = identifier(text)?;
    let table = identifier(text.get(schema..)?.strip_prefix('.')?)?;
    Some(&text[..schema + 1 + table])
}

/// The length of the identifier that a text begins with, quoted or not.
fn identifier(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii();
        let length = bytes.iter().take_while(|&&byte| is_part(byte)).count();
        return (length > 0).then_some(length);
    }
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', bytes.get(at..)?)? + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_columns_are_found_whatever_their_names() {
        let read = |sql| CopyOut::parse(sql).map(|copy| (copy.table, copy.columns));
        assert_eq!(read("COPY public.t (a, b) TO stdout;"), Some(("public.t", "(a, b)")));
        assert_eq!(read("COPY public.t  TO stdout;"), Some(("public.t", "")));
        let odd = "COPY \"a.b\".\"c \"\"(d\" (\"e) TO stdout;\") TO stdout;";
        assert_eq!(read(odd), Some(("\"a.b\".\"c \"\"(d\"", "(\"e) TO stdout;\")")));
        assert_eq!(read("COPY public.täble (a) TO stdout;"), Some(("public.täble", "(a)")));
        assert_eq!(CopyOut::parse(odd).and_then(|copy| copy.selected()), Some("\"e) TO stdout;\""));
    }

    #[test]
    fn other_statements_are_none_of_ours() {
        for sql in [
            "COPY (SELECT a FROM public.t WHERE true) TO stdout;",
            "COPY public.t (a) FROM stdin;",
            "COPY t (a) TO stdout;",
            "COPY public.\"t (a) TO stdout;",
            "COPY public.t (a TO stdout;",
            "SELECT 1",
            "COPY . TO stdout;",
        ] {
            assert_eq!(CopyOut::parse(sql), None, "{sql}");
        }
    }
}
