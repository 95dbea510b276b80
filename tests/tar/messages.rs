//! The first lines on standard error under the name `tar`: those of GNU tar, but for the program's path.

use super::habits::run;
use super::tools;
use testkit::program::Exit;

/// Each is run by both, in a directory of its own; what stands before `tar: ` goes, and the quotes of other locales are these.
const LINES: &[&str] = &[
    "tar xf none",
    "tar tf s/a",
    "tar cf a.tar none s",
    "tar cf a.tar s; tar xf a.tar none",
    "tar cf a.tar s; tar tf a.tar none",
    "tar cf a.tar s; tar df a.tar none",
    "tar cf a.tar s; tar --delete -f a.tar none",
    "tar cf a.tar s -C none x",
    "tar cf none/a.tar s",
    "tar cf a.tar s; tar xf a.tar -C none",
    "tar cf a.tar \"$PWD/s\"",
    "tar cf a.tar ../\"${PWD##*/}\"/s",
    "tar czf a.tgz s; tar rf a.tgz s",
    "tar c",
    "tar",
    "tar xc",
    "tar -xf",
    "tar --nonsense",
    "tar -Y",
    "tar --list=x",
    "tar cf a.tar s; mkdir x; touch x/s; chmod 555 x; tar xf a.tar -C x --keep-old-files s/a",
    "tar cf a.tar s/a; tar xf a.tar -k",
    "tar cf a.tar s; rm s/a; tar df a.tar s/a",
    "tar cf a.tar -V one s; tar xf a.tar -V two",
    "tar cf a.tar s; tar xf a.tar -V two",
    "mkfifo s/f; python3 -c 'import socket; socket.socket(1).bind(\"s/k\")'; tar cf a.tar s/k s/f",
];

#[test]
fn first_lines_are_those_of_gnu_tar() {
    if !tools(&["tar", "python3"]) {
        return;
    }
    let mut differing = Vec::new();
    for line in LINES {
        let script = format!(
            "ln -sf \"$(readlink -f \"$(command -v $mh)\")\" tar; {{ {line}; }} 2>&1 >/dev/null | head -1 | sed \"s/^.*tar: /tar: /; s/[‘’\\`]/'/g\""
        );
        let (ours, theirs) = (first(&script, "./tar"), first(&script, "command tar"));
        if ours != theirs {
            differing.push(format!("{line}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn the_version_is_one_that_scripts_find() {
    let script = "ln -sf \"$(readlink -f \"$(command -v $mh)\")\" tar; ./tar --version | head -1";
    let (exit, printed) = run(script, "./tar");
    assert!(exit == Exit::Code(0) && printed.starts_with("tar (GNU tar) 1."), "{printed}");
    assert!(printed.contains("manyhands"), "{printed}");
}

fn first(script: &str, tar: &str) -> String {
    run(script, tar).1.lines().find(|line| line.contains("tar: ")).unwrap_or_default().to_owned()
}
