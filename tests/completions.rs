//! Bash's completion, as it is installed: the words that it offers for a command line. Files are left to bash, which completes them
//! if nothing is offered.

use crate::place::{Place, said};
use testkit::program::{Exit, left_out};

/// Completes the last of its arguments, which are the words of a command line, as bash splits it.
const COMPLETE: &str = r#"
. ./out/completions/mh.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
registered=$(complete -p mh)
case $registered in *"-o default"*) ;; *) echo "no files: $registered" >&2; exit 1 ;; esac
function=${registered##*-F }
${function%% *} mh "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[*]}"
"#;

fn offered(place: &Place, line: &str) -> String {
    let outcome = place.shell(&format!("bash complete {line}"));
    assert_eq!((outcome.exit, said(&outcome)), (Exit::Code(0), String::new()), "{line}");
    String::from_utf8_lossy(&outcome.stdout).trim_end().to_owned()
}

#[test]
fn bash_offers_files_unless_there_is_a_subcommand_a_value_or_a_dash() {
    let place = Place::new();
    if place.shell("command -v bash").exit != Exit::Code(0) {
        return left_out("completion by bash: it is not installed");
    }
    place.write("complete", COMPLETE).write("file of mine", "");
    assert_eq!(place.shell("$mh generate out").exit, Exit::Code(0));
    for (line, expected) in [
        ("mh ta", "tamp tar"),
        ("mh timers ''", "run log-writer"),
        ("mh tamp --format = g", "gz gzip"),
        ("mh tamp --format g", "gz gzip"),
        ("mh tamp --format =", "zst zstd gz gzip bz2 bzip2 lz4 xz lzma"),
        // Left to bash.
        ("mh tar ''", ""),
        ("mh tar cf x.tar ''", ""),
        ("mh tar --file = f", ""),
        ("mh tar -f f", ""),
    ] {
        assert_eq!(offered(&place, line), expected, "{line}");
    }
    let commands = offered(&place, "mh ''");
    assert!(commands.starts_with("tamp tar ") && !commands.contains('-'), "{commands}");
    for (line, option) in [("mh tamp -", "--format"), ("mh tamp --fo", "--format"), ("mh -", "--version")] {
        let options = offered(&place, line);
        let mut options = options.split(' ');
        assert!(options.clone().any(|word| word == option) && options.all(|word| word.starts_with('-')), "{line}");
    }
}
