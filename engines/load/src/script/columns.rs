//! The names of a statement's columns, from its text: what `\gset` calls its variables. To know them before anything runs lets a script be checked
//! as a whole.

/// A word of a statement outside of quotes, comments and parentheses.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A name without quotes, in small letters as PostgreSQL has it.
    Bare(String),
    /// A name in quotes.
    Quoted(String),
    Comma,
    /// A dot between names.
    Dot,
    /// Anything in parentheses.
    Parentheses,
    /// A number, a string, a parameter.
    Value,
    /// An operator's letter.
    Symbol(u8),
}

/// What follows a list of columns.
const ENDS: &[&str] = &[
    "except",
    "fetch",
    "for",
    "from",
    "group",
    "having",
    "intersect",
    "into",
    "limit",
    "offset",
    "order",
    "union",
    "where",
    "window",
];

/// Names of the columns of the last statement in a text.
pub(super) fn names(text: &str) -> Result<Vec<String>, String> {
    let statements = words(text);
    let words = statements.iter().rev().find(|words| !words.is_empty()).map_or(&[][..], Vec::as_slice);
    let is = |word: &Word, name: &str| matches!(word, Word::Bare(bare) if bare == name);
    let list = match words.iter().rposition(|word| is(word, "returning")) {
        Some(at) => &words[at + 1..],
        None => match words.iter().position(|word| is(word, "select")) {
            Some(at) => without_distinct(&words[at + 1..]),
            None => return Err("it needs a SELECT or RETURNING, whose columns name the variables".to_owned()),
        },
    };
    let mut end = list.len();
    for (at, word) in list.iter().enumerate() {
        let is_comparison = at > 0 && is(word, "from") && is(&list[at - 1], "distinct");
        if !is_comparison && matches!(word, Word::Bare(name) if ENDS.contains(&name.as_str())) {
            end = at;
            break;
        }
    }
    let list = &list[..end];
    if list.is_empty() {
        return Ok(Vec::new());
    }
    list.split(|word| *word == Word::Comma).enumerate().map(|(index, item)| name(index, item)).collect()
}

/// Behind DISTINCT, DISTINCT ON (...) and ALL.
fn without_distinct(list: &[Word]) -> &[Word] {
    let bare = |at: usize| match list.get(at) {
        Some(Word::Bare(name)) => name.as_str(),
        _ => "",
    };
    match (bare(0), bare(1), list.get(2)) {
        ("distinct", "on", Some(Word::Parentheses)) => &list[3..],
        ("distinct" | "all", _, _) => &list[1..],
        _ => list,
    }
}

fn name(index: usize, item: &[Word]) -> Result<String, String> {
    let named = |word: &Word| match word {
        Word::Bare(name) | Word::Quoted(name) => Some(name.clone()),
        _ => None,
    };
    let found = match item {
        // A column, perhaps of a table; an expression with a name behind it.
        [only] => named(only),
        [.., Word::Dot, last] => {
            named(last).filter(|_| item.iter().all(|word| named(word).is_some() || *word == Word::Dot))
        }
        [Word::Bare(function), Word::Parentheses] => Some(function.clone()),
        [.., before, last] if !matches!(before, Word::Symbol(_)) => named(last),
        _ => None,
    };
    let is_word_of_sql = |name: &str| matches!(name, "end" | "null" | "true" | "false");
    found
        .filter(|name| !name.is_empty() && !is_word_of_sql(name))
        .ok_or_else(|| format!("column {} has no name: give it one with AS", index + 1))
}

/// The words of each statement.
fn words(text: &str) -> Vec<Vec<Word>> {
    let (mut statements, mut at, bytes) = (vec![Vec::new()], 0, text.as_bytes());
    while let Some(&byte) = bytes.get(at) {
        let begin = at;
        let word = match byte {
            b'\'' => {
                at = quoted_end(bytes, at);
                Word::Value
            }
            b'"' | b'`' => {
                at = quoted_end(bytes, at);
                Word::Quoted(text[begin + 1..at].strip_suffix(char::from(byte)).unwrap_or("").to_owned())
            }
            b'(' => {
                at = parentheses_end(bytes, at);
                Word::Parentheses
            }
            b'/' if bytes[at..].starts_with(b"/*") => {
                at = comment_end(bytes, at);
                continue;
            }
            b';' => {
                statements.push(Vec::new());
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b',' | b'.' => {
                at += 1;
                if byte == b',' { Word::Comma } else { Word::Dot }
            }
            _ if is_name_byte(byte) => {
                at += bytes[at..].iter().take_while(|&&byte| is_name_byte(byte)).count();
                let name = &text[begin..at];
                if byte.is_ascii_digit() || byte == b'$' { Word::Value } else { Word::Bare(name.to_lowercase()) }
            }
            _ => {
                at += 1;
                Word::Symbol(byte)
            }
        };
        statements.last_mut().expect("there is one at least").push(word);
    }
    statements
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn quoted_end(bytes: &[u8], at: usize) -> usize {
    bytes[at + 1..].iter().position(|&byte| byte == bytes[at]).map_or(bytes.len(), |length| at + length + 2)
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    bytes[at + 2..].windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + length + 4)
}

fn parentheses_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' | b'`' => {
                at = quoted_end(bytes, at);
                continue;
            }
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_postgresql_names_them() {
        let cases = [
            ("SELECT abalance FROM accounts WHERE aid = 1", "abalance"),
            ("select 1 AS One, 2 \"Two\", t.three, s.t.\"Four\" from t", "one Two three Four"),
            ("SELECT count(*), max(a, (b)) AS m FROM t", "count m"),
            ("SELECT DISTINCT a FROM t", "a"),
            ("SELECT DISTINCT ON (a) a, b FROM t", "a b"),
            ("SELECT a IS DISTINCT FROM b AS c FROM t", "c"),
            ("WITH x AS (SELECT 9 AS nine) SELECT a+1 AS b FROM x", "b"),
            ("INSERT INTO t SELECT 1 RETURNING id, now() AS at", "id at"),
            ("UPDATE t SET a = 1 RETURNING a", "a"),
            ("SELECT 1 AS x ; SELECT 2 AS y ;  ", "y"),
            ("SELECT 'a, b FROM' AS s, /* , */ (SELECT 1, 2) AS p", "s p"),
            ("SELECT CASE WHEN a THEN 1 END AS c", "c"),
            ("SELECT", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text).expect(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn columns_without_a_name_are_refused() {
        for text in
            ["SELECT *", "SELECT t.* FROM t", "SELECT 1", "SELECT a AS b, a + 1", "SELECT CASE WHEN a THEN 1 END"]
        {
            assert!(names(text).expect_err(text).contains("give it one with AS"), "{text}");
        }
        for text in ["", "SHOW all", "VALUES (1)"] {
            assert!(names(text).expect_err(text).contains("SELECT or RETURNING"), "{text}");
        }
    }

    #[test]
    fn nothing_makes_it_panic() {
        for text in
            ["SELECT '", "SELECT \"", "SELECT (", "SELECT )", "/*", "SELECT \"é", "SELECT ,", "SELECT a,", "SELECT ."]
        {
            let _named_or_refused = names(text);
        }
    }
}
