//! `-w` asks before each file is archived or extracted: GNU tar and ours, with answers from a pipe and on a terminal of their own.

use super::habits::run;
use super::tools;
use crate::place::{Place, binary, said};
use testkit::program::{Exit, TestProgram, left_out};

fn is_asked_as_by_gnu(script: &str) {
    let script = format!("printf x > \"s/it's\"; exec 2>&1\n{script}");
    let gnu = "TAR_OPTIONS='--format=posix --pax-option=delete=atime,delete=ctime --sort=name' command tar";
    let (theirs, ours) = (run(&script, gnu), run(&script, "$mh tar"));
    assert_eq!((ours.0, without_messages(&ours.1)), (theirs.0, without_messages(&theirs.1)), "{script}");
}

/// Messages have other words under our own name; questions do not end in a line's end, so that messages stand behind them.
fn without_messages(printed: &str) -> String {
    let before = |line: &str| -> String {
        let message = ["mh tar: ", "tar: "].iter().find_map(|name| line.find(name));
        message.map_or(format!("{line}\n"), |at| line[..at].to_owned())
    };
    printed.lines().map(before).collect()
}

#[test]
fn answers_decide_about_each_file() {
    if !tools(&["tar", "gzip", "setsid"]) {
        return;
    }
    let answers = "a() { printf '%s\\n' \"$@\"; }";
    for script in [
        "a y y n Y yes n y y | tar -cvwf t.tar s; tar tf t.tar",
        "a n | tar -cwf t.tar s; tar tf t.tar",
        "a y n | tar -c --confirmation -f t.tar s/d/ s/b nofile; tar tf t.tar",
        "printf y | tar -cwf t.tar s/a s/b; tar tf t.tar",
        "a y y | tar -cwf - s/d | tar tf -",
        "a y n y | tar -cwvf t.tar --index-file=lines --exclude=s/a s; cat lines; tar tf t.tar",
        "a y y y | tar -cwf t.tar -C s a -C .. ./s/b; tar tf t.tar",
        "a y | tar -cwf t.tar --transform=s/a/q/ s/a; tar tf t.tar; cp t.tar u.tar; a y | tar -Awf t.tar u.tar; a n | tar -Awf t.tar u.tar; tar tf t.tar",
        "tar cf t.tar s; a y n y Y no y y y | tar -xvwf t.tar -C x",
        "tar czf t.tgz s; a y n y Y no y y y | tar -xvwf t.tgz -C x; cat t.tgz | setsid sh -c 'tar -xwf - 2> told' || :",
        "tar cf t.tar s; a y y | tar -xvwf t.tar -C x --strip-components=1 --transform='s/a/q/'; yes n | tar -xwf t.tar -C x",
        "tar cf t.tar s; a n y y | tar -xOwf t.tar s/a s/b; a y n | tar -xwf t.tar --to-command=cat s/a s/b",
        "tar cf t.tar s; a y y | tar -xkwf t.tar s/a s/b",
        "tar cf t.tar s; a y | tar -xwf t.tar -C x s/b nofile",
        "cp -r s/d s/e; cp s/a s/f; tar cGf t.tar s/d; touch s/d/new s/d/other; a y n y y y | tar -xGvwf t.tar; ls s/d",
        "tar -cf t.tar s; tar -twf t.tar < /dev/null; tar -dwf t.tar < /dev/null; tar --delete -wf t.tar s/a < /dev/null; tar tf t.tar",
        "tar -cf t.tar s/a; a y | tar -cwf u.tar s/b s/d < /dev/null; tar tf u.tar",
    ] {
        is_asked_as_by_gnu(&format!("{answers}; {script}"));
    }
    // Ours archives again a file that changed in the second of the archive, so one file is newer by more.
    is_asked_as_by_gnu(
        "tar cf t.tar s/a; touch -d 2030-01-01 s/a; yes | tar -uwf t.tar s/a | sed \"s/^add 's.a'?add/add/\"; tar tf t.tar",
    );
}

#[test]
fn without_a_terminal_nobody_can_be_asked_in_place_of_standard_input() {
    if !tools(&["tar", "setsid"]) {
        return;
    }
    for script in
        ["tar cf t.tar s; setsid -w sh -c 'TAR -xwf - -C x' < t.tar", "echo s | setsid -w sh -c 'TAR -cwf t.tar -T -'"]
    {
        let of = |tar: &str| run(&script.replace("TAR", tar), tar);
        let (theirs, ours) = (of("command tar"), of("$mh tar"));
        assert_eq!((theirs.0, ours.0), (Exit::Code(2), Exit::Code(2)), "{} {}", theirs.1, ours.1);
        assert!(theirs.1.contains("/dev/tty: Cannot open"), "{}", theirs.1);
        assert!(ours.1.contains("could not open '/dev/tty'"), "{}", ours.1);
    }
}

/// Output on a terminal on which `answers` are typed.
fn on_terminal(tar: &str, line: &str, answers: &str) -> String {
    let place = Place::new();
    place.shell("mkdir -p s/d x; echo a > s/a; echo b > s/b; echo c > s/d/c");
    let mh = binary().display().to_string();
    // With an echo, the answer stood within the question if it was typed between two writes of the tool.
    place.write(
        "line",
        format!("stty -echo; tar() {{ {tar} \"$@\"; }}\n{line}\necho exit $?; ls x x/s").replace("$mh", &mh),
    );
    let script = TestProgram::find("script").expect("it was there").in_directory(place.directory());
    let script = script.with_variable("LC_ALL", "C.UTF-8").with_variable("TERM", "dumb");
    let ran = script.run(["-qec", "sh line", "/dev/null"], answers.as_bytes()).expect("it starts");
    let printed = String::from_utf8_lossy(&ran.stdout).replace(['\r', '\n'], " ");
    // An answer that is typed before the echo is off stands in front of all.
    let words = printed.split(' ').filter(|word| !matches!(*word, "" | "y" | "n"));
    format!("{} {}", words.collect::<Vec<_>>().join(" "), said(&ran))
}

#[test]
fn a_person_at_a_terminal_is_asked_as_by_gnu_tar() {
    if TestProgram::find("script").is_none() || !tools(&["tar"]) {
        return left_out("there is no script(1)");
    }
    std::thread::scope(|scope| {
        let cases = [
            ("tar -cwf t.tar s; tar tf t.tar", "y\nn\ny\ny\ny\n"),
            ("tar cf t.tar s; tar -xwvf t.tar -C x", "y\nn\ny\ny\ny\n"),
            // The archive has standard input: the answers are the terminal's.
            ("tar cf t.tar s; tar -xwf - -C x < t.tar", "y\ny\nn\ny\n"),
            ("tar cf t.tar s; cat t.tar | tar -xw -C x", "y\ny\ny\nn\n"),
            ("echo s | tar -cwf t.tar -T -; tar tf t.tar", "y\ny\nn\nn\n"),
        ];
        let run = |(line, answers): (&'static str, &'static str)| {
            let at = |tar| scope.spawn(move || on_terminal(tar, line, answers));
            (line, at("TAR_OPTIONS=--sort=name command tar"), at("$mh tar"))
        };
        for (line, real, ours) in cases.map(run) {
            let (real, ours) = (real.join().expect("it ran"), ours.join().expect("it ran"));
            assert!(real.contains('?'), "{line}: {real}");
            assert_eq!(ours, real, "{line}");
        }
    });
}

#[test]
fn extraction_is_done_with_a_member_before_it_asks_about_the_next() {
    let place = Place::new();
    // The user sees the outcome of earlier answers.
    let script = "mkdir s x; for n in 1 2 3; do head -c 3000 /dev/zero > s/$n; done; mkfifo answers
        for z in '' -z --zstd; do
          rm -rf x; mkdir x; $mh tar -c $z -f t.tar s/1 s/2 s/3
          $mh tar -xwf t.tar -C x < answers > asked & exec 3> answers
          for n in 1 2 3; do
            tries=0; until grep -q \"s/$n\" asked || test $tries = 3000; do tries=$((tries + 1)); sleep 0.01; done
            ls x/s 2> none | tr '\\n' ' '; echo y >&3
          done; exec 3>&-; wait; ls x/s | tr '\\n' ' '; echo
        done";
    let ran = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1 1 2 1 2 3 \n".repeat(3), "{}", said(&ran));
}
