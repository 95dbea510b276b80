//! The order of names and options, and what lists of names may hold.

use super::*;

fn selection(typed: &[&str]) -> TypedSelection {
    let words = ["tar", "-c"].iter().chain(typed);
    TypedSelection::of(&crate::tar::command().get_matches_from(words)).expect("a selection")
}

/// Names with the directories and options that count for them.
fn shown(typed: &[&str]) -> Vec<String> {
    let steps = selection(typed).steps;
    let shown = steps.iter().map(|step| match step {
        SelectionStep::Enter(path) => format!("-C {}", path.display()),
        SelectionStep::Name(SelectedName { name, manner, excluded }) => {
            let letters = [
                (manner.wildcards, 'w'),
                (manner.anchored, 'a'),
                (manner.match_slash, 's'),
                (manner.ignore_case, 'i'),
                (manner.beneath, 'r'),
            ];
            let letters: String = letters.iter().filter(|(is_on, _)| *is_on).map(|(_, letter)| letter).collect();
            format!("{} {letters}{excluded}", String::from_utf8_lossy(name))
        }
    });
    shown.collect()
}

#[test]
fn options_count_for_the_names_behind_them() {
    assert_eq!(shown(&["a", "b"]), ["a asr0", "b asr0"]);
    assert_eq!(shown(&["a", "--no-recursion", "b", "--recursion", "c"]), ["a asr0", "b as0", "c asr0"]);
    assert_eq!(shown(&["--wildcards", "a", "--no-wildcards-match-slash", "b"]), ["a wasr0", "b war0"]);
    assert_eq!(shown(&["--no-anchored", "--ignore-case", "a", "--anchored", "b"]), ["a sir0", "b asir0"]);
    assert_eq!(shown(&["a", "-C", "d", "--exclude=x", "--add-file=-b"]), ["a asr0", "-C d", "-b asr1"]);
    assert_eq!(shown(&["a\\tb", "--no-unquote", "a\\tb"]), ["a\tb asr0", "a\\tb asr0"]);
}

#[test]
fn options_that_no_name_follows_are_noted() {
    let idle = |typed: &[&str]| selection(typed).idle;
    assert_eq!(idle(&["a", "--exclude=x", "-C", "d"]), ["--exclude 'x'", "-C 'd'"]);
    assert_eq!(
        idle(&["--exclude-vcs", "a", "--no-recursion", "--exclude-tag", "t"]),
        ["--no-recursion", "--exclude-tag 't'"]
    );
    assert!(idle(&["--anchored", "a"]).is_empty());
}

#[test]
fn lists_have_names_and_options() {
    let place = tempfile::tempdir().expect("a directory");
    let list = place.path().join("list");
    let of = |content: &str, options: &[&str]| {
        std::fs::write(&list, content).expect("a list");
        shown(&[options, &["-T", list.to_str().expect("text")]].concat())
    };
    assert_eq!(of("a\n\n-C d\n--exclude='x y' --no-recursion\nb\\\\\n", &[]), ["a asr0", "-C d", "b\\ as1"]);
    assert_eq!(of("-C\nb\\\\\n", &["--verbatim-files-from"]), ["-C asr0", "b\\\\ asr0"]);
    assert_eq!(of("a\0-b\0", &["--null"]), ["a asr0", "-b asr0"]);
    assert_eq!(of("a\0b\n", &[]), ["a asr0", "b\n asr0"]);
    for wrong in ["--zork\n", "-C 'd\n", "-C d x\n"] {
        std::fs::write(&list, wrong).expect("a list");
        let matches = crate::tar::command().get_matches_from(["tar", "-c", "-T", list.to_str().expect("text")]);
        assert!(TypedSelection::of(&matches).is_err(), "{wrong}");
    }
    std::fs::write(&list, format!("-T {}\nb\n", list.display())).expect("a list");
    let matches = crate::tar::command().get_matches_from(["tar", "-c", "-T", list.to_str().expect("text")]);
    let selection = TypedSelection::of(&matches).unwrap_or_else(|_| panic!("the rest goes on"));
    assert_eq!((selection.lists_again.len(), selection.names()), (1, vec![b"b".to_vec()]));
}
