//! Any text as a load script; the first byte chooses the dialect and whether statements are prepared. Mistakes have places in the text, a script
//! that is accepted ends, and a transaction that is begun again does the same as before.

use load::arrivals::RandomSource;
use load::player::{PlayerStep, TransactionPlayer, Workload};
use load::script::{LoadScript, ScriptMix, ScriptOptions, split_weight};
use load::session::SqlDialect;

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let _split_or_refused = split_weight(text.lines().next().unwrap_or(""));
    let script = match LoadScript::parse("fuzz.sql", &text, &options(choice)) {
        Ok(script) => script,
        Err(errors) => {
            assert!((1..=20).contains(&errors.len()));
            let lines = text.matches('\n').count() + 1;
            for error in errors {
                assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
                assert!(!error.to_string().contains('\x1b'));
            }
            return;
        }
    };
    let steps_max = text.len() + 1;
    let mix = ScriptMix::new(vec![(script, 1)]).expect("it has a weight");
    let (mut player, mut random) = (mix.player(3), RandomSource::new(u64::from(choice), 0));
    for _transaction in 0..2 {
        player.begin(&mut random);
        let first = played(&mut *player, &mut random, steps_max);
        player.begin_again();
        assert_eq!(played(&mut *player, &mut random, steps_max), first);
    }
}

fn options(choice: u8) -> ScriptOptions {
    let dialect = [SqlDialect::Postgres, SqlDialect::MySql, SqlDialect::Sqlite][usize::from(choice >> 1) % 3];
    let definitions = vec![("foo".to_owned(), "-10.1".to_owned()), ("bla".to_owned(), "text".to_owned())];
    ScriptOptions { is_prepared: choice & 1 == 1, definitions, ..ScriptOptions::new(dialect) }
}

/// What a transaction does up to its end, or to what it cannot do.
fn played(player: &mut dyn TransactionPlayer, random: &mut RandomSource, steps_max: usize) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        assert!(done.len() <= steps_max, "a script has no loop");
        let wants_row = match player.step(random) {
            Ok(PlayerStep::End) => return done,
            Ok(PlayerStep::Sleep(ns)) => {
                done.push(format!("sleep {ns}"));
                false
            }
            Ok(PlayerStep::BeginPipeline(statements)) => {
                done.push(format!("{statements:?}"));
                false
            }
            Ok(PlayerStep::Append { request, .. }) => {
                done.push(format!("append {} {:?}", request.text, request.parameters));
                false
            }
            Ok(step @ (PlayerStep::SyncPipeline | PlayerStep::EndPipeline)) => {
                done.push(format!("{step:?}"));
                false
            }
            Ok(PlayerStep::Statement { request, wants_row, .. }) => {
                done.push(format!("{} {:?}", request.text, request.parameters));
                wants_row
            }
            Err(error) => {
                done.push(error.to_string());
                return done;
            }
        };
        let row = [Some("12".to_owned()), None, Some("it's".to_owned())];
        if wants_row && let Err(error) = player.take_row(Some(&row[..1 + done.len() % 3])) {
            done.push(error.to_string());
            return done;
        }
    }
}

/// Valid scripts behind the byte that chooses.
pub fn seeds() -> Vec<Vec<u8>> {
    let scripts = [
        "\\set aid random(1, 100000 * :scale)\nBEGIN;\nSELECT abalance FROM t WHERE aid = :aid \\gset p_\n\
         UPDATE t SET a = a + :p_abalance::int, b = ':aid', c = :bla WHERE x = E'\\'';\nEND;\n",
        "-- comments /* and */\n\\if :client_id % 2 = 0 and :foo < 0\nSELECT $$;$$, \"a;\", (1; 2) \\; SELECT 2;\n\
         \\elif :foo is not null\n\\sleep :scale ms\n\\else\n\\sleep 10us\n\\endif\nSELECT 1 AS a, 'x' b \\gset\n",
        "\\set a case when 1 <> 2 then ~3 # 4 << 1 else -(5.5e1 / 2) end \\\n + hash(10) % 7 - permute(3, 10, 5)\n\
         \\set b greatest(:a, least(1, 2), abs(-3), mod(7, 4), sqrt(ln(exp(pow(2, pi())))))\n\
         \\set c random_zipfian(1, 9, 1.1) + random_gaussian(1, 9, 2.5) + random_exponential(1, 9, 3)\nSELECT :a, :b, :c",
    ];
    (0..6).flat_map(|choice| scripts.map(|script| [&[choice], script.as_bytes()].concat())).collect()
}
