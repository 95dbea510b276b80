//! Files of statements in an archive of MariaDB, which anybody may have changed: statements are pieces of the text in its order, and of a CREATE TABLE nothing
//! is lost between what is made at once and what comes later.

use database::restore_mysql::statements::{Statements, TableStatement, made};

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut end = input.as_ptr() as usize;
    for statement in Statements::new(input) {
        let begin = statement.as_ptr() as usize;
        assert!(!statement.is_empty() && begin >= end, "statements overlap");
        end = begin + statement.len();
        if let Some((_, name)) = made(statement) {
            assert!(name.len() >= 2 && name.starts_with('`') && name.ends_with('`'), "{name}");
        }
        let text = String::from_utf8_lossy(statement);
        if let Some(table) = TableStatement::parse(&text) {
            whole(&text, &table);
        }
    }
    assert!(end <= input.as_ptr() as usize + input.len());
}

/// Every line of the definition is in one place, whatever the comma behind it.
fn whole(text: &str, table: &TableStatement) {
    let later = [&table.keys, &table.special_keys, &table.foreign_keys].into_iter().flatten();
    let later: Vec<&str> = later.map(|(_, definition)| definition.as_str()).collect();
    let words = |text: &str| text.split('\n').map(|line| line.trim_matches([' ', ',']).to_owned()).collect();
    let mut made: Vec<String> = words(&table.create);
    made.extend(later.iter().map(|definition| definition.trim_matches([' ', ',']).to_owned()));
    let mut given: Vec<String> = words(text);
    for list in [&mut made, &mut given] {
        list.retain(|line| !line.is_empty());
        list.sort();
    }
    assert_eq!(made, given);
}

/// A script of routines, and a table with keys of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let script = b"-- a; b\nset a = 'x;\\'y', b = `;`;\n/* c; */\nDELIMITER ;;\n/*!50003 CREATE*/ /*!50003 trigger t begin /* it's; */ set @a = 1; end */;;\n\
        DELIMITER ;\n/*!50001 CREATE VIEW `v` AS SELECT 1 AS `a` */;\n";
    let table = b"CREATE TABLE `t``x` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `a` enum('x') DEFAULT NULL COMMENT 'KEY `no` (`a`)',\n  PRIMARY KEY (`a`),\n  \
        KEY `id` (`id`),\n  KEY `k` (`a`) COMMENT 'x, y',\n  FULLTEXT KEY `f` (`a`),\n  CONSTRAINT `fk` FOREIGN KEY (`n`) REFERENCES `o` (`n`),\n  \
        CONSTRAINT `c` CHECK (`n` > 0)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1;\n";
    vec![script.to_vec(), table.to_vec(), [&script[..], table].concat()]
}
