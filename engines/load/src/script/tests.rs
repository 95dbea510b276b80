//! Scripts as a whole: values beside pgbench's own, mistakes with their places, and what players send.

use super::*;
use crate::arrivals::RandomSource;
use crate::player::{PlayerStep, TransactionPlayer, Workload};
use crate::session::Parameter;
use proptest::prelude::*;

fn options() -> ScriptOptions {
    let definitions =
        [("foo", "-10.1"), ("bla", "false"), ("i", "+3"), ("n", "null"), ("t", "t"), ("f", "of"), ("d", "1.0")];
    ScriptOptions {
        random_seed: 5432,
        definitions: definitions.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ScriptOptions::new(SqlDialect::Postgres)
    }
}

fn parsed(text: &str, options: &ScriptOptions) -> LoadScript {
    LoadScript::parse("test.sql", text, options).unwrap_or_else(|errors| panic!("{text}: {}", errors[0]))
}

fn player(text: &str, options: &ScriptOptions) -> Box<dyn TransactionPlayer> {
    ScriptMix::new(vec![(parsed(text, options), 1)]).expect("it has a weight").player(7)
}

/// All that a transaction does, a line each.
fn played(player: &mut dyn TransactionPlayer, random: &mut RandomSource) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        match player.step(random) {
            Ok(PlayerStep::Statement { request, wants_row, .. }) => {
                let parameters: Vec<String> = request.parameters.iter().map(|value| format!("{value:?}")).collect();
                let behind =
                    if parameters.is_empty() { String::new() } else { format!(" [{}]", parameters.join(", ")) };
                done.push(format!("{}{behind}{}", request.text, if wants_row { " ->" } else { "" }));
            }
            Ok(PlayerStep::Sleep(ns)) => done.push(format!("sleep {ns}")),
            Ok(PlayerStep::BeginPipeline(statements)) => {
                let texts: Vec<&str> = statements.iter().map(|statement| statement.text.as_str()).collect();
                done.push(format!("begin {texts:?}"));
            }
            Ok(PlayerStep::Append { request, .. }) => done.push(format!("append {}", request.text)),
            Ok(PlayerStep::SyncPipeline) => done.push("sync".to_owned()),
            Ok(PlayerStep::EndPipeline) => done.push("end".to_owned()),
            Ok(PlayerStep::End) => return done,
            Err(error) => {
                done.push(error.to_string());
                return done;
            }
        }
    }
}

fn once(text: &str, options: &ScriptOptions) -> Vec<String> {
    let (mut player, mut random) = (player(text, options), RandomSource::new(1, 0));
    player.begin(&mut random);
    played(&mut *player, &mut random)
}

fn value(expression: &str) -> String {
    once(&format!("\\set x {expression}\nSELECT :x;"), &options()).concat().replace("SELECT ", "")
}

fn errors(text: &str) -> Vec<String> {
    let errors = LoadScript::parse("test.sql", text, &options()).expect_err(text);
    errors.iter().map(|error| format!("{}:{}: {}", error.line, error.column, error.cause)).collect()
}

#[test]
fn expressions_have_the_values_that_pgbench_gives_them() {
    // From the tests of pgbench.
    let cases = [
        ("abs(-4)", "4"),
        ("greatest(5, 4, 3, 2)", "5"),
        ("11 + least(-5, -4, -3, -2)", "6"),
        ("int(7.3)", "7"),
        ("17 / (4|1) + ( 4 + (7 >> 2))", "8"),
        ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", "9"),
        ("10 + (0 + 0 * 0 - 0 / 1)", "10"),
        ("10 + :scale", "11"),
        ("64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", "12"),
        ("15.0 * 1", "15"),
        ("double(1 + 1) * (-75.0 / :foo)", "14.8514851485149"),
        ("pi() * 4.9", "15.39380400259"),
        ("greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0))", "16"),
        ("least(-5.18, .0E0, 1.0/0) * -3.3", "17.094"),
        ("pow(-3,3)", "-27"),
        ("pow(2.0,10)", "1024"),
        ("pow(0,0)", "1"),
        ("pow(-2,-3)", "-0.125"),
        ("power(-5.0,-5.0)", "-0.00032"),
        ("pow(9223372036854775807, 2)", "8.50705917302346e+37"),
        ("pow(10,30)", "1e+30"),
        ("1.0 = 0.0 and 1.0 != 0.0", "false"),
        ("0 = 1 Or 1.0 = 1", "true"),
        ("case when 0 < 1 then 32 else 0 end", "32"),
        ("case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end", "34"),
        ("CASE WHEN NOT FALSE THEN 3 * 12.3333334 END", "37.0000002"),
        ("case when false then 0 when 1-1 <> 0 then 1 else 38 end", "38"),
        ("10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)", "39"),
        ("NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND (0 < 1) AND \\\n NOT (false and true) AND (NOT :f)", "true"),
        ("NULL + NULL * exp(NULL)", "NULL"),
        ("NULL ISNULL AND NOT NULL IS TRUE AND NULL IS NOT FALSE", "true"),
        ("CASE WHEN :n IS NULL THEN 46 ELSE NULL END", "46"),
        ("(:n IS NULL AND NOT :f AND :t)", "true"),
        ("CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END", "true"),
        ("hash(10, 5432)", "-5817877081768721676"),
        ("hash_fnv1a(10, 5432)", "-7793829335365542153"),
        ("hash(10) = hash(10, :default_seed)", "true"),
        ("case when :i - :i = 0 then -1 else (1 / (:i - :i)) end", "-1"),
        ("case when :i = 3 or (1 / (:i - 3)) < 0 then -1 else 0 end", "-1"),
        (":client_id", "7"),
        (":random_seed", "5432"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-(-9223372036854775808 + 1)", "9223372036854775807"),
        ("permute(0, 4) + permute(1, 4) + permute(2, 4) + permute(3, 4)", "6"),
        ("permute(:scale, 1)", "0"),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn expressions_have_the_values_that_pgbench_15_prints() {
    // Each was printed by its debug().
    let cases = [
        ("17 / (4|1) + ( 4 + (7 >> 2))", "8"),
        ("~ 1 + 2", "-4"),
        ("1 | 2 + 4", "7"),
        ("7 % 4 << 1", "6"),
        ("not 1 = 2", "true"),
        ("1 + 1 is null", "false"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("double(1 + 1) * (-75.0 / -10.1)", "14.8514851485149"),
        ("pi() * 4.9", "15.39380400259"),
        ("0.1 + 0.2", "0.3"),
        ("1e15 * 1.0", "1e+15"),
        ("1e-5", "1e-05"),
        ("1.0/0", "Infinity"),
        ("sqrt(-1)", "NaN"),
        ("int(2.5) + int(3.5)", "6"),
        ("1 << 70", "64"),
        ("hash(-1, 3)", "-5433411793933022010"),
        ("hash_fnv1a(-1, 3)", "2136846252759775326"),
        ("permute(-5, 7, 3)", "4"),
        ("permute(12, 1000, 99)", "245"),
        ("mod(5.5, 2)", "0"),
        ("greatest(1, 2.5)", "2.5"),
        ("abs(-2.5)", "2.5"),
        ("123456789012345678 * 1.0", "1.23456789012346e+17"),
        ("null = null", "NULL"),
        ("null is null", "true"),
        ("false and null", "false"),
        ("null or true", "NULL"),
        ("true is not false", "true"),
        ("- - 5", "5"),
        ("2 - -3", "5"),
        ("1 <> 2", "true"),
        (".5e1", "5"),
        ("power(2, 0.5)", "1.4142135623731"),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn operators_bind_as_in_postgresql() {
    let cases = [
        ("1 + 2 * 3 - 4 / 2", "5"),
        ("2 - 3 - 4", "-5"),
        ("not 1 = 2", "true"),
        ("~ 1 + 2", "-4"),
        ("1 | 2 + 4", "7"),
        ("-2 * -3", "6"),
        ("1 < 2 and 2 < 3 or 1 / :scale > 5", "true"),
        ("1 + 1 is null", "false"),
        ("1 = 1 is true", "true"),
        ("7 % 4 << 1", "6"),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn what_fails_without_a_variable_is_found_before_anything_runs() {
    let cases = [
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("(1<<62) + (1<<62)", "bigint add out of range"),
        ("0 - (1<<62) - (1<<62) - (1<<62)", "bigint sub out of range"),
        ("2 * (1<<62)", "bigint mul out of range"),
        ("-9223372036854775808 / -1", "bigint div out of range"),
        ("int(1E32)", "double to int overflow for 100000000000000000000000000000000"),
        ("TRUE + 2", "cannot coerce boolean to int"),
        ("NOT 0.0", "cannot coerce double to boolean"),
        ("ln(TRUE)", "cannot coerce boolean to double"),
        ("random(5,3)", "the range from 5 to 3 is empty"),
        ("random(-9223372036854775808, 9223372036854775807)", "is too large"),
        ("random_gaussian(0, 10, 1.0)", "at least 2, not 1"),
        ("random_exponential(0, 10, 0.0)", "above 0, not 0"),
        ("random_zipfian(0, 10, 1)", "from 1.001 to 1000, not 1"),
    ];
    for (expression, cause) in cases {
        let found = errors(&format!("\\set x {expression}"));
        assert!(
            found.len() == 1 && found[0].starts_with("1:8: ") && found[0].contains(cause),
            "{expression}: {found:?}"
        );
    }
}

#[test]
fn what_fails_by_a_variable_names_the_line() {
    assert_eq!(once("\n\\set x 1 / (:i - 3)", &options()), ["test.sql:2: division by zero"]);
    assert_eq!(once("SELECT :x;\n\\set x 1", &options()), ["test.sql:1: variable 'x' has no value yet"]);
    assert_eq!(once("\\set x permute(1, :i - 3)", &options()), ["test.sql:1: permute needs a size above 0, not 0"]);
}

#[test]
fn mistakes_have_places_and_all_of_them_are_told() {
    let cases = [
        ("", "1:1: the script has no command"),
        ("\\set i 1 +", "1:11: expected a value, found the end of the line"),
        ("\\set i noSuchFunction()", "1:8: unknown function 'noSuchFunction'; there are abs, "),
        ("\\set . 1", "1:6: '.' cannot be the name of a variable"),
        ("\\set", "1:1: \\set needs a name and an expression"),
        ("\\set\u{2003}a 1", "1:1: \\set needs a name and an expression"),
        ("\\set i", "1:7: expected a value, found the end of the line"),
        ("\\set i :nosuchvariable", "1:8: nothing sets the variable 'nosuchvariable'"),
        ("\\set i ;", "1:8: unexpected character ';'"),
        ("\\set i CASE TRUE THEN 1 ELSE 0 END", "1:13: expected WHEN, found 'TRUE'"),
        ("\\set d ln(1.0, 2.0))", "1:8: ln was given 2 arguments and takes 1"),
        ("\\set i greatest()", "1:8: greatest was given 0 arguments and takes 1 or more"),
        ("\\set i hash()", "1:8: hash was given 0 arguments and takes 1 or 2"),
        ("\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", "16 arguments are the most"),
        ("\\set i 9223372036854775808", "1:8: 9223372036854775808 is above the largest whole number"),
        ("\\set i 1 < 2 < 3", "1:14: expected parentheses around the comparison before, found '<'"),
        ("\\set i scale", "1:8: 'scale' is no value; a variable is written :scale"),
        ("SELECT :x", "1:8: nothing sets the variable 'x'"),
        ("SELECT 'a", "1:8: this string has no end"),
        ("\\nosuch", "1:1: unknown command \\nosuch; there are"),
        ("\\shell ls", "1:1: \\shell is not supported: a script starts no program"),
        ("\\sleep", "1:1: \\sleep needs a time"),
        ("\\sleep a", "1:8: 'a' is no time: invalid digit found in string"),
        ("\\sleep 1 week", "1:8: 'week' is no unit of time: us, ms or s"),
        ("\\sleep :y", "1:8: nothing sets the variable 'y'"),
        ("\\if 1", "1:1: this \\if has no \\endif"),
        ("\\endif", "1:1: \\endif without an \\if before it"),
        ("\\else", "1:1: \\else without an \\if before it"),
        ("\\if 1\n\\else\n\\elif 1\n\\endif", "3:1: \\elif behind the \\else of this \\if"),
        ("\\if 1\n\\endif now", "2:8: \\endif takes nothing, not 'now'"),
        ("\\gset", "1:1: \\gset needs a statement right before it"),
        ("SELECT 1 AS a \\gset\n\\gset", "2:1: \\gset needs a statement right before it"),
        ("SELECT 1 \\gset", "1:10: \\gset: column 1 has no name: give it one with AS"),
        ("SELECT 1 AS a \\gset 1", "1:21: '1' cannot begin the name of a variable"),
        ("SELECT 1 AS \"a b\" \\gset", "\\gset: 'a b' cannot be the name of a variable"),
    ];
    for (text, expected) in cases {
        let found = errors(text);
        assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
    }
    assert_eq!(errors("\\set a 1 +\nSELECT :b;\n\\if\n\\endif\n\\foo").len(), 4);
}

#[test]
fn pipelines_are_appended_and_others_are_sent() {
    let options = ScriptOptions { is_prepared: true, ..options() };
    let text = "SELECT 1;\n\\startpipeline\nSELECT :i;\n\\if :i > 3\nSELECT 2;\n\\endif\n\\syncpipeline\nSELECT 3;\n\
                \\endpipeline\nSELECT 4;\n";
    let expected = [
        "SELECT 1",
        "begin [\"SELECT $1\", \"SELECT 2\", \"SELECT 3\"]",
        "append SELECT $1",
        "sync",
        "append SELECT 3",
        "end",
        "SELECT 4",
    ];
    assert_eq!(once(text, &options), expected);
}

#[test]
fn mistakes_in_pipelines_are_found_at_their_places() {
    let cases = [
        ("\\startpipeline\nSELECT 1;", "1:1: this \\startpipeline has no \\endpipeline"),
        ("\\startpipeline\n\\startpipeline\n\\endpipeline", "2:1: \\startpipeline: a pipeline is open already"),
        ("SELECT 1;\n\\endpipeline", "2:1: \\endpipeline without a \\startpipeline before it"),
        ("\\syncpipeline", "1:1: \\syncpipeline without a \\startpipeline before it"),
        ("\\startpipeline now", "1:16: \\startpipeline takes nothing, not 'now'"),
        ("\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline", "2:15: \\gset cannot be inside a pipeline"),
        ("\\startpipeline\nSELECT 1 \\; SELECT 2;\n\\endpipeline", "2:1: a pipeline has single statements"),
        ("\\startpipeline\nSELECT ':i';\n\\endpipeline", "2:1: a pipeline has single statements"),
        ("\\if 1\n\\startpipeline\n\\else\n\\endif", "2:1: this \\startpipeline has no \\endpipeline"),
        ("\\startpipeline\n\\if 1\n\\endpipeline\n\\endif", "3:1: \\endpipeline in another branch than its"),
    ];
    let prepared = ScriptOptions { is_prepared: true, ..options() };
    for (text, expected) in cases {
        let found = LoadScript::parse("test.sql", text, &prepared).expect_err(text);
        let first = format!("{}:{}: {}", found[0].line, found[0].column, found[0].cause);
        assert!(found.len() == 1 && first.contains(expected), "{text}: {found:?}");
    }
    assert!(errors("\\startpipeline\n\\endpipeline")[0].contains("simple protocol has no pipelines"));
    let sqlite = ScriptOptions { dialect: SqlDialect::Sqlite, ..prepared };
    let found = LoadScript::parse("test.sql", "\\startpipeline\n\\endpipeline", &sqlite).expect_err("it cannot");
    assert!(found[0].cause.contains("one statement at a time"));
}

#[test]
fn statements_of_pipelines_have_the_numbers_by_which_the_mix_knows_them() {
    let options = ScriptOptions { is_prepared: true, ..options() };
    let second = parsed("\\startpipeline\nSELECT 3;\n\\endpipeline", &options);
    let mix = ScriptMix::new(vec![(parsed("SELECT 1; SELECT 2;", &options), 1), (second, 1_000_000)]).expect("weights");
    let (mut player, mut random) = (mix.player(0), RandomSource::new(1, 0));
    assert_eq!(player.begin(&mut random), 1);
    let Ok(PlayerStep::BeginPipeline([statement])) = player.step(&mut random) else { panic!("a pipeline") };
    assert_eq!(statement.number, 2);
    let Ok(PlayerStep::Append { request, .. }) = player.step(&mut random) else { panic!("a statement") };
    assert_eq!(request.prepared, Some(2));
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_caret() {
    let error =
        &LoadScript::parse("a.sql", "SELECT 1;\n\\set é\tnosuch(1)", &options()).expect_err("an unknown function")[0];
    let shown = error.to_string();
    assert!(shown.starts_with("a.sql:2:8: unknown function 'nosuch'"), "{shown}");
    assert!(shown.ends_with("\n    \\set é\tnosuch(1)\n          \t^"), "{shown}");
}

#[test]
fn a_script_sends_no_control_characters_to_a_terminal() {
    for text in ["\\set a\x1b[31m 1", "\\\x1b[2J", "SELECT :a\u{9b}m \x1b[0m"] {
        let errors = LoadScript::parse("a.sql", text, &options()).expect_err("it is wrong");
        let shown: String = errors.iter().map(ToString::to_string).collect();
        assert!(!shown.contains(|letter: char| letter.is_control() && letter != '\n'), "{shown:?}");
    }
    let long = format!("\\set a {}(1)", "x".repeat(100_000));
    assert!(LoadScript::parse("a.sql", &long, &options()).expect_err("it is unknown")[0].to_string().len() < 1000);
}

#[test]
fn variables_are_written_into_text() {
    let text = "\\set a -5\n\\set b 1.5\n\\set c true\n\\set d null\n\
                SELECT 3 -:a, :b::int, :c, ':d :e', \"x:a\" -- :nothing\n, :d;";
    assert_eq!(once(text, &options()), ["SELECT 3 - -5, 1.5::int, true, 'NULL :e', \"x-5\" \n, NULL"]);
}

#[test]
fn variables_become_parameters_of_prepared_statements() {
    let text = "\\set a -5\n\\set b 1.5\n\\set c true\n\\set d null\n\
                SELECT :a, :b, :c, :d, :bla, :a;\nBEGIN;\nSELECT 1 \\; SELECT :a;\nSELECT ':a';";
    let with = |dialect| ScriptOptions { is_prepared: true, dialect, ..options() };
    let values = "[Integer(-5), Real(1.5), Text(\"true\"), Null, Text(\"false\"), Integer(-5)]";
    assert_eq!(
        once(text, &with(SqlDialect::Postgres)),
        [&format!("SELECT $1, $2, $3, $4, $5, $6 {values}"), "BEGIN", "SELECT 1 ; SELECT -5", "SELECT '-5'"]
    );
    let values = "[Integer(-5), Real(1.5), Integer(1), Null, Text(\"false\"), Integer(-5)]";
    assert_eq!(once(text, &with(SqlDialect::MySql))[0], format!("SELECT ?, ?, ?, ?, ?, ? {values}"));
}

#[test]
fn each_prepared_statement_has_a_number_of_its_own() {
    let options = ScriptOptions { is_prepared: true, ..ScriptOptions::new(SqlDialect::MySql) };
    let scripts = ["SELECT 1; SELECT 2;", "BEGIN; SELECT 3;"].map(|text| (parsed(text, &options), 1));
    let mix = ScriptMix::new(scripts.into()).expect("they have weights");
    let (mut player, mut random) = (mix.player(0), RandomSource::new(1, 0));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        player.begin(&mut random);
        while let Ok(PlayerStep::Statement { request, .. }) = player.step(&mut random) {
            seen.insert((request.text.to_owned(), request.prepared));
        }
    }
    let expected = [("BEGIN", None), ("SELECT 1", Some(0)), ("SELECT 2", Some(1)), ("SELECT 3", Some(3))];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected.map(|(text, number)| (text.to_owned(), number)));
}

#[test]
fn branches_are_taken_by_their_conditions() {
    let text = "\\if :i = 1\nA;\n\\elif :i = 2\nB;\n\\if :t\nC;\n\\endif\n\\else\nD;\n\\endif\nE;";
    for (i, expected) in [("1", vec!["A", "E"]), ("2", vec!["B", "C", "E"]), ("3", vec!["D", "E"])] {
        let mut options = options();
        options.definitions.push(("i".to_owned(), i.to_owned()));
        assert_eq!(once(text, &options), expected, "{i}");
    }
}

#[test]
fn pauses_have_units() {
    let text = "\\sleep 10\n\\sleep 10 ms\n\\sleep 10us\n\\sleep :i MS\n\\set i -1\n\\sleep :i";
    let expected = [
        "sleep 10000000000",
        "sleep 10000000",
        "sleep 10000",
        "sleep 3000000",
        "test.sql:6: a pause of -1 cannot be made",
    ];
    assert_eq!(once(text, &options()), expected);
}

#[test]
fn rows_go_into_variables() {
    let text = "SELECT a AS one, b, c FROM t \\gset p_\nSELECT :p_one, :p_b, :p_c;";
    let options = ScriptOptions { is_prepared: true, ..options() };
    let (mut player, mut random) = (player(text, &options), RandomSource::new(1, 0));
    player.begin(&mut random);
    assert!(matches!(player.step(&mut random), Ok(PlayerStep::Statement { wants_row: true, .. })));
    player.take_row(Some(&[Some("12".to_owned()), Some("x'y".to_owned()), None])).expect("it fits");
    assert_eq!(played(&mut *player, &mut random), ["SELECT $1, $2, $3 [Integer(12), Text(\"x'y\"), Null]"]);
    player.begin(&mut random);
    assert!(player.step(&mut random).is_ok());
    let none = player.take_row(None).expect_err("there is none").to_string();
    assert_eq!(none, "test.sql:1: \\gset needs a row, and there was none");
    let short = player.take_row(Some(&[None])).expect_err("it is short").to_string();
    assert_eq!(short, "test.sql:1: the row has 1 columns, its statement names 3");
}

#[test]
fn a_transaction_begun_again_has_the_same_values() {
    let text = "\\set a random(1, 1000000)\nSELECT :a, :c;\n\\set c :c + 1";
    let mut options = options();
    options.definitions.push(("c".to_owned(), "5".to_owned()));
    let (mut player, mut random) = (player(text, &options), RandomSource::new(3, 0));
    player.begin(&mut random);
    let first = played(&mut *player, &mut random);
    player.begin_again();
    assert_eq!(played(&mut *player, &mut random), first);
    player.begin(&mut random);
    let next = played(&mut *player, &mut random);
    assert!(next != first && next[0].ends_with(", 6"), "{next:?}");
}

#[test]
fn scripts_come_by_their_weights() {
    let scripts = [("A", 1), ("B", 0), ("C", 3)].map(|(text, weight)| (parsed(text, &options()), weight));
    let mix = ScriptMix::new(scripts.into()).expect("they have weights");
    assert_eq!(mix.scripts().len(), 2);
    let (mut player, mut random) = (mix.player(0), RandomSource::new(1, 0));
    let second = (0..10_000).filter(|_| player.begin(&mut random) == 1).count();
    assert!((7300..7700).contains(&second), "{second}");
    assert!(ScriptMix::new(vec![(parsed("A", &options()), 0)]).is_err());
}

#[test]
fn weights_stand_behind_the_last_at() {
    assert_eq!(split_weight("a.sql"), Ok(("a.sql", 1)));
    assert_eq!(split_weight("a@b.sql@3"), Ok(("a@b.sql", 3)));
    assert!(split_weight("a@b.sql").is_err());
    assert!(split_weight("a@-1").is_err());
    assert!(split_weight("a@99999999999").is_err());
}

#[test]
fn memory_of_texts_is_used_again() {
    let options = ScriptOptions { is_prepared: true, ..options() };
    let text = "\\set a random(1, 9)\nSELECT :bla, :a;";
    let (mut player, mut random) = (player(text, &options), RandomSource::new(1, 0));
    let mut place_of_text = || {
        player.begin(&mut random);
        match player.step(&mut random) {
            Ok(PlayerStep::Statement { request, .. }) => match &request.parameters[0] {
                Parameter::Text(text) => text.as_ptr().addr(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let first = place_of_text();
    assert!((0..10).all(|_| place_of_text() == first));
}

#[test]
fn what_is_too_large_is_refused() {
    let many = format!("SELECT {}0", ":scale, ".repeat(65));
    let prepared = ScriptOptions { is_prepared: true, ..options() };
    let error = LoadScript::parse("a.sql", &many, &prepared).expect_err("no session has room for them")[0].to_string();
    assert!(error.contains("65 variables, 64 are the most if it is prepared"), "{error}");
    assert!(LoadScript::parse("a.sql", &many, &options()).is_ok());
    assert!(errors(&" ".repeat(SCRIPT_BYTES_MAX + 1))[0].contains("are the most"));
    for deep in [
        format!("\\set a {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
        format!("\\set a {}1", "-".repeat(200_000)),
        format!("\\set a {}true", "not ".repeat(200_000)),
        format!("\\set a {}", "1+".repeat(200_000)),
        format!("\\set a {}1", "case when true then ".repeat(20_000)),
        format!("\\set a {}", "abs(".repeat(100_000)),
    ] {
        let found = errors(&deep);
        assert!(found[0].contains("nested") || found[0].contains("in a row"), "{}", &found[0]);
    }
    let many = "\\if 1\n".repeat(101) + &"\\endif\n".repeat(101);
    assert!(errors(&many).iter().any(|error| error.contains("\\if may be nested 100 deep")));
}

proptest! {
    /// Whole numbers alone: every expression has the value that another calculation of it has.
    #[test]
    fn sums_and_products_are_right(numbers in prop::collection::vec(-100_i64..100, 1..8), signs: Vec<bool>) {
        let mut text = numbers[0].to_string();
        let (mut sum, mut product) = (0, numbers[0]);
        for (index, number) in numbers.iter().enumerate().skip(1) {
            if signs.get(index).copied().unwrap_or(false) {
                text.push_str(&format!(" * {number}"));
                product = product.wrapping_mul(*number);
            } else {
                text.push_str(&format!("+{number}"));
                (sum, product) = (sum + product, *number);
            }
        }
        prop_assert_eq!(value(&text), (sum + product).to_string());
    }

    #[test]
    fn nothing_makes_it_panic(text in "[ -~\n]{0,80}", words in prop::collection::vec(0..WORDS.len(), 0..30)) {
        let words: String = words.into_iter().map(|word| WORDS[word]).collect();
        for text in [text, words] {
            if let Ok(script) = LoadScript::parse("x", &text, &options()) {
                let mix = ScriptMix::new(vec![(script, 1)]).expect("it has a weight");
                let (mut player, mut random) = (mix.player(0), RandomSource::new(1, 0));
                player.begin(&mut random);
                played(&mut *player, &mut random);
            }
        }
    }
}

const WORDS: &[&str] = &[
    "\\set a ",
    "\\set b ",
    ":a",
    ":b",
    " + ",
    " - ",
    "(",
    ")",
    "1",
    "2.5",
    "\n",
    "\\if ",
    "\\elif ",
    "\\else\n",
    "\\endif\n",
    "SELECT 1 AS a ",
    "\\gset ",
    ";",
    "'",
    "random(1, 9)",
    "case when ",
    " then ",
    " end",
    " is null",
    "\\sleep 1\n",
    "--",
    "\\\n",
];
