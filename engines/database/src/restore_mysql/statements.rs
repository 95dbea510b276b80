//! Files of statements as mariadb-dump writes them: cut as its client cuts them, and what is in a CREATE TABLE that can be made later.

/// A file as its statements, without what ends them. What stands in quotes or comments ends nothing.
pub struct Statements<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: Vec<u8>,
}

impl<'a> Statements<'a> {
    /// Of a whole file.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, delimiter: b";".to_vec() }
    }

    /// `DELIMITER ;;` at the begin of a line is the client's.
    fn accept_delimiter(&mut self) -> bool {
        const WORD: &[u8] = b"DELIMITER ";
        let rest = &self.text[self.at..];
        if !rest.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD)) {
            return false;
        }
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let delimiter = line[WORD.len()..].trim_ascii();
        // One of nothing would end every statement before it begins.
        if !delimiter.is_empty() {
            self.delimiter = delimiter.to_vec();
        }
        self.at += line.len();
        true
    }

    /// A comment before a statement, which the server does not read.
    fn accept_comment(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let is_read = rest.starts_with(b"/*!") || rest.starts_with(b"/*M!");
        let is_comment = rest.starts_with(b"-- ") || rest.starts_with(b"#") || rest.starts_with(b"/*") && !is_read;
        if is_comment {
            self.at = (self.at + self.step(rest)).min(self.text.len());
        }
        is_comment
    }

    /// The length of what is passed over at once: a quoted text, a comment, a character.
    fn step(&self, rest: &[u8]) -> usize {
        match rest {
            [quote @ (b'\'' | b'"' | b'`'), ..] => quoted_bytes(rest, *quote),
            [b'-', b'-', b' ' | b'\n', ..] | [b'#', ..] => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            // The server reads what is in these.
            [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => 3,
            [b'/', b'*', ..] => memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |length| length + 4),
            _ => 1,
        }
    }
}

fn quoted_bytes(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' if quote != b'`' => at += 2,
            // A doubled quote begins the next text, which is as well.
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

impl<'a> Iterator for Statements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            self.at += self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if self.at >= self.text.len() {
                return None;
            }
            if self.accept_delimiter() || self.accept_comment() {
                continue;
            }
            let begin = self.at;
            while self.at < self.text.len() && !self.text[self.at..].starts_with(&self.delimiter) {
                self.at = (self.at + self.step(&self.text[self.at..])).min(self.text.len());
            }
            let statement = self.text[begin..self.at].trim_ascii();
            self.at = (self.at + self.delimiter.len()).min(self.text.len());
            if !statement.is_empty() {
                return Some(statement);
            }
        }
    }
}

/// What a statement makes, for one that drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MadeKind {
    /// A table.
    Table,
    /// MariaDB's SEQUENCE.
    Sequence,
    /// A view.
    View,
    /// A procedure.
    Procedure,
    /// A function.
    Function,
    /// MariaDB's PACKAGE.
    Package,
    /// A scheduled event.
    Event,
}

impl MadeKind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Table, "TABLE"),
        (Self::Sequence, "SEQUENCE"),
        (Self::View, "VIEW"),
        (Self::Procedure, "PROCEDURE"),
        (Self::Function, "FUNCTION"),
        (Self::Package, "PACKAGE"),
        (Self::Event, "EVENT"),
    ];

    /// As SQL has it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

/// The kind and the quoted name of what a CREATE makes. Triggers go with their tables.
pub fn made(statement: &[u8]) -> Option<(MadeKind, String)> {
    let text = String::from_utf8_lossy(statement);
    let begins =
        text.starts_with("CREATE ") || text.starts_with("/*!50001 CREATE") || text.starts_with("/*!50106 CREATE");
    if !begins {
        return None;
    }
    let found = MadeKind::ALL.iter().filter_map(|(kind, word)| {
        let at = text.find(&format!("{word} `"))?;
        Some((at, *kind, at + word.len() + 1))
    });
    let (_, kind, at) = found.min_by_key(|(at, ..)| *at)?;
    Some((kind, name_at(&text[at..])?.to_owned()))
}

/// The quoted name of a trigger that a statement makes.
fn trigger(statement: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(statement);
    let head = text.split_once(" TRIGGER `").filter(|(before, _)| before.contains("CREATE"))?.0.len();
    name_at(&text[head + " TRIGGER ".len()..]).map(str::to_owned)
}

/// The first line of a statement, for people.
fn title(sql: &[u8]) -> String {
    const SHOWN: usize = 80;
    let text = String::from_utf8_lossy(sql);
    text.lines().next().unwrap_or_default().chars().take(SHOWN).collect()
}

/// The purpose of a statement, for people: reads after "could not".
pub fn deed(sql: &[u8]) -> String {
    match made(sql) {
        Some((kind, name)) => format!("restore {} {name}", kind.word().to_ascii_lowercase()),
        None => match trigger(sql) {
            Some(name) => format!("restore trigger {name}"),
            None => title(sql),
        },
    }
}

/// The name in backticks that a text begins with, with them.
fn name_at(text: &str) -> Option<&str> {
    let mut at = 1;
    if !text.starts_with('`') {
        return None;
    }
    loop {
        at += text.get(at..)?.find('`')? + 1;
        if text.as_bytes().get(at) != Some(&b'`') {
            return Some(&text[..at]);
        }
        at += 1;
    }
}

/// A CREATE TABLE, and what is added when the rows are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStatement {
    /// Its quoted name.
    pub name: String,
    /// Without what is added later.
    pub create: String,
    /// Keys, by their quoted names; one ALTER makes all of them.
    pub keys: Vec<(String, String)>,
    /// FULLTEXT and SPATIAL keys: an ALTER each.
    pub special_keys: Vec<(String, String)>,
    /// Foreign keys.
    pub foreign_keys: Vec<(String, String)>,
    /// Whether it has a column of ENUM, whose empty value for nothing comes with a warning.
    pub has_enum: bool,
}

impl TableStatement {
    /// Divides a statement as SHOW CREATE TABLE writes it. None: it is not such a one.
    pub fn parse(statement: &str) -> Option<Self> {
        let (head, rest) = statement.split_once(" (\n")?;
        let name = name_at(head.strip_prefix("CREATE TABLE ")?)?;
        let (body, tail) = rest.split_once("\n)")?;
        let mut table = Self {
            name: name.to_owned(),
            create: statement.to_owned(),
            has_enum: body.contains(" enum(") || body.contains(" set("),
            ..Self::default()
        };
        let lines: Vec<&str> = body.split('\n').map(|line| line.strip_suffix(',').unwrap_or(line)).collect();
        let has_foreign_keys = lines.iter().any(|line| line.contains(" FOREIGN KEY "));
        let has_stored = body.contains(" STORED") || body.contains(" PERSISTENT");
        // COMPAT: a key that a foreign key needs cannot be added beside a stored column that it depends on.
        let is_kept_whole = has_foreign_keys && has_stored || !tail.contains("ENGINE=InnoDB");
        if is_kept_whole || lines.iter().any(|line| !line.starts_with("  ")) {
            return Some(table);
        }
        let counting =
            lines.iter().find(|line| line.contains(" AUTO_INCREMENT")).and_then(|line| name_at(line.trim_start()));
        let mut kept = Vec::new();
        for line in &lines {
            match table.deferred(line.trim_start(), counting) {
                Some((list, named)) => list.push(named),
                None => kept.push(*line),
            }
        }
        table.create = format!("{head} (\n{}\n){tail}", kept.join(",\n"));
        Some(table)
    }

    /// Where a definition goes that is added later.
    #[expect(clippy::type_complexity, reason = "one of three lists of the same kind")]
    fn deferred(
        &mut self,
        definition: &str,
        counting: Option<&str>,
    ) -> Option<(&mut Vec<(String, String)>, (String, String))> {
        let (list, rest) = if let Some(rest) = definition.strip_prefix("KEY ") {
            (&mut self.keys, rest)
        } else if let Some(rest) = definition.strip_prefix("FULLTEXT KEY ").or(definition.strip_prefix("SPATIAL KEY "))
        {
            (&mut self.special_keys, rest)
        } else if let Some(rest) = definition.strip_prefix("CONSTRAINT ").filter(|rest| rest.contains(" FOREIGN KEY "))
        {
            (&mut self.foreign_keys, rest)
        } else {
            return None;
        };
        let name = name_at(rest)?;
        // A column that counts must be the first of a key at any time.
        let first = rest[name.len()..].trim_start().strip_prefix('(').and_then(name_at);
        (first.is_none() || first != counting).then(|| (list, (name.to_owned(), definition.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<String> {
        Statements::new(text.as_bytes()).map(|statement| String::from_utf8_lossy(statement).into_owned()).collect()
    }

    #[test]
    fn statements_end_where_the_client_ends_them() {
        let text = "-- a; b\nset a = 'x;\\'y', b = `;`;\n/* c; */\nDELIMITER ;;\n\
            /*!50003 CREATE*/ /*!50003 trigger t begin /* it's; */ set @a = 1; end */;;\nDELIMITER ;\n\nselect 1 -- ;\n";
        let expected = [
            "set a = 'x;\\'y', b = `;`",
            "/*!50003 CREATE*/ /*!50003 trigger t begin /* it's; */ set @a = 1; end */",
            "select 1 -- ;",
        ];
        assert_eq!(cut(text), expected);
        assert_eq!(cut("DELIMITER ;;\nCREATE x ;y\n;;\nDELIMITER ;\nb;"), ["CREATE x ;y", "b"]);
        assert_eq!(cut(";;\n ; "), Vec::<String>::new());
        assert_eq!(cut("a 'open"), ["a 'open"]);
    }

    #[test]
    fn what_is_made_has_a_kind_and_a_name() {
        let found = |text: &str| made(text.as_bytes()).map(|(kind, name)| (kind.word(), name));
        let named = |kind, name: &str| Some((kind, name.to_owned()));
        assert_eq!(found("CREATE TABLE `a``b` (\n"), named("TABLE", "`a``b`"));
        assert_eq!(
            found("CREATE DEFINER=`r`@`h` FUNCTION `f`(x int) return 'PROCEDURE `p`'"),
            named("FUNCTION", "`f`")
        );
        assert_eq!(found("/*!50001 CREATE VIEW `v` AS SELECT\n 1 AS `a` */"), named("VIEW", "`v`"));
        assert_eq!(found("/*!50106 CREATE*/ /*!50117 DEFINER=`r`@`h`*/ /*!50106 EVENT `e` ON"), named("EVENT", "`e`"));
        assert_eq!(found("SET @a = 'CREATE TABLE `x`'"), None);
    }

    #[test]
    fn a_statement_is_named_for_people() {
        assert_eq!(title(b"ALTER TABLE `t` ADD\n  x"), "ALTER TABLE `t` ADD");
        assert_eq!(deed(b"ALTER TABLE `t` ADD\n  x"), "ALTER TABLE `t` ADD");
        let view = b"/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`r`@`h` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 */";
        assert_eq!(deed(view), "restore view `v`");
        let trigger = b"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`h`*/ /*!50003 TRIGGER `it``s` BEFORE INSERT ON `t` FOR EACH ROW set @a = 1 */";
        assert_eq!(deed(trigger), "restore trigger `it``s`");
    }

    proptest! {
        #[test]
        fn no_text_is_lost_or_makes_it_panic(text in "[a;'\"`\\\\/*!M#\n -]{0,60}|(DELIMITER (;;|//|\n)|;;|a|'|\n){0,20}|.{0,60}") {
            let cut: usize = Statements::new(text.as_bytes()).map(<[u8]>::len).sum();
            prop_assert!(cut <= text.len());
            let _any = made(text.as_bytes());
            let _any = TableStatement::parse(&format!("CREATE TABLE `{text} (\n  {text}\n) ENGINE=InnoDB"));
        }
    }

    const TABLE: &str = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `a` enum('x') DEFAULT NULL COMMENT 'KEY `no` (`a`)',\n  \
        `n` int(11) NOT NULL,\n  PRIMARY KEY (`n`),\n  UNIQUE KEY `u` (`a`),\n  KEY `id` (`id`),\n  KEY `k``` (`a`,`n`) COMMENT 'x, y',\n  \
        FULLTEXT KEY `f` (`a`),\n  CONSTRAINT `fk` FOREIGN KEY (`n`) REFERENCES `o` (`n`) ON DELETE CASCADE,\n  CONSTRAINT `c` CHECK (`n` > 0)\n\
        ) ENGINE=InnoDB DEFAULT CHARSET=latin1\n PARTITION BY HASH (`n`)\n(PARTITION `p` ENGINE = InnoDB)";

    #[test]
    fn keys_and_foreign_keys_come_later_except_what_must_be_there() {
        let table = TableStatement::parse(TABLE).expect("a table");
        let names = |list: &[(String, String)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&table.keys), names(&table.special_keys)),
            (vec!["`k```".to_owned()], vec!["`f`".to_owned()])
        );
        assert_eq!(table.keys[0].1, "KEY `k``` (`a`,`n`) COMMENT 'x, y'");
        assert_eq!(names(&table.foreign_keys), ["`fk`"]);
        assert!(
            table.has_enum && table.create.contains("  KEY `id` (`id`),\n  CONSTRAINT `c` CHECK (`n` > 0)\n) ENGINE")
        );
        assert!(table.create.ends_with("(PARTITION `p` ENGINE = InnoDB)") && !table.create.contains("KEY `f`"));
    }

    #[test]
    fn a_table_that_cannot_be_divided_is_made_at_once() {
        let stored = TABLE.replace("`n` int(11) NOT NULL", "`n` int(11) GENERATED ALWAYS AS (1) STORED");
        let old = TABLE.replace("ENGINE=InnoDB", "ENGINE=MyISAM");
        for text in [&stored, &old] {
            let table = TableStatement::parse(text).expect("a table");
            assert!(table.create == *text && table.keys.is_empty() && table.foreign_keys.is_empty());
        }
        assert_eq!(TableStatement::parse("CREATE SEQUENCE `s` start with 1"), None);
    }
}
