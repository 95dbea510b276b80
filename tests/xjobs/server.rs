//! The server on a socket: many senders at once, what they are told, who may send, and how it begins and ends.

use super::stdout;
use crate::place::{Place, Running, said, wait_until};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use testkit::program::{Exit, TestProgram, left_out};

fn listen(place: &Place, arguments: &[&str]) -> Running {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(crate::place::binary());
    command.args(["xjobs", "--listen", "q"]).args(arguments).current_dir(place.directory()).stdin(Stdio::null());
    let streams = ["out", "err"].map(|name| std::fs::File::create(place.path(name)).expect("it is ours"));
    let [out, err] = streams;
    let running = Running { child: command.stdout(out).stderr(err).spawn().expect("the program starts") };
    wait_until("the server listens", || place.has("q"));
    running
}

#[test]
fn many_programs_feed_one_runner_and_nothing_mixes() {
    let place = Place::new();
    let mut server = listen(&place, &["-j2", "--until-idle"]);
    // Each sender sends 200 lines in pieces that end within lines.
    let script = "for i in 1 2 3 4 5 6; do (for j in $(seq 200); do echo \"echo $i-$j 'a  b'\"; done | \
                  dd obs=37 2>/dev/null | \"$mh\" xjobs --send q --wait || echo lost) & done; wait";
    assert_eq!(stdout(&place.shell(script)), "");
    assert!(server.end().success());
    let mut printed: Vec<String> =
        String::from_utf8(place.read("out")).expect("text").lines().map(str::to_owned).collect();
    printed.sort();
    let mut expected: Vec<String> = (1..=6).flat_map(|i| (1..=200).map(move |j| format!("{i}-{j} a  b"))).collect();
    expected.sort();
    assert_eq!(printed, expected);
    assert!(!place.has("q"), "its name goes with it");
}

#[test]
fn a_barrier_that_a_sender_leaves_behind_does_not_keep_the_server() {
    let place = Place::new();
    let mut server = listen(&place, &["-j2"]);
    let script =
        "printf 'echo a\\n%%%%\\n' | timeout 60 \"$mh\" xjobs --send q --wait && \"$mh\" xjobs --send q --finish";
    assert_eq!(place.shell(script).exit, Exit::Code(0));
    wait_until("the server has ended", || !place.has("q"));
    assert!(server.end().success());
}

#[test]
fn a_refused_job_that_is_the_last_does_not_keep_the_server() {
    let place = Place::new();
    let mut server = listen(&place, &["-j2", "--until-idle"]);
    let script = "echo '{\"after\":[\"nobody\"],\"argv\":[\"true\"]}' | timeout 60 \"$mh\" xjobs --send q";
    assert_eq!(place.shell(script).exit, Exit::Code(0));
    wait_until("the server has ended", || !place.has("q"));
    assert_eq!(server.end().code(), Some(1));
}

#[test]
fn senders_are_told_what_became_of_their_jobs() {
    let place = Place::new();
    let mut server = listen(&place, &["-j2"]);
    let code = |script: &str| place.shell(script).exit;
    assert_eq!(code("\"$mh\" xjobs --send q --wait true"), Exit::Code(0));
    assert_eq!(code("\"$mh\" xjobs --send q --wait false"), Exit::Code(1));
    assert_eq!(code("printf 'true\\nfalse' | \"$mh\" xjobs --send q --wait"), Exit::Code(1), "the last line counts");
    assert_eq!(code("\"$mh\" xjobs --send q false"), Exit::Code(0), "taken is all that is promised without --wait");
    assert_eq!(
        code("mkdir d; cd d; \"$mh\" xjobs --send ../q --wait sh -c 'echo \"$1\" > here' sh 'a  b'"),
        Exit::Code(0)
    );
    assert_eq!(place.read("d/here"), b"a  b\n");
    let outcome = place.shell("printf 'true\\ntrue \"x\\n' | \"$mh\" xjobs --send q");
    let expected = "could not send all jobs to 'q': line 2: column 6: the quotation that begins here has no end";
    assert!(said(&outcome).contains(expected) && outcome.exit == Exit::Code(1), "{}", said(&outcome));
    assert_eq!(code("\"$mh\" xjobs --send q --wait true"), Exit::Code(0), "another's bad line does not end the server");
    assert_eq!(code("\"$mh\" xjobs --send q --finish"), Exit::Code(0));
    server.end();
    let outcome = place.shell("\"$mh\" xjobs --send q true");
    assert!(outcome.exit == Exit::Code(1) && said(&outcome).contains("could not send to 'q'"), "{}", said(&outcome));
}

#[test]
fn a_spooler_gets_words_exactly_however_its_command_reads_lines() {
    let place = Place::new();
    let mut server = listen(&place, &["-j1", "-k", "--until-idle", "printf", "[%s]\\n", "{}"]);
    place.shell("\"$mh\" xjobs --send q --wait 'a  \"b\".ps' & wait");
    server.end();
    assert_eq!(place.read("out"), b"[a  \"b\".ps]\n");
}

#[test]
fn a_line_that_was_cut_off_is_no_job() {
    let Some(socat) = TestProgram::find("socat") else { return left_out("socat is not installed") };
    let place = Place::new();
    let mut server = listen(&place, &["-j1"]);
    let socat = socat.in_directory(place.directory());
    let told = socat.run(["-", "UNIX-CONNECT:q"], b"touch whole\ntouch par").expect("it starts");
    assert_eq!(stdout(&told), "{\"error\":\"the last line has no end; it is no job\"}\n{\"taken\":1}\n");
    place.shell("\"$mh\" xjobs --send q --finish");
    server.end();
    assert!(place.has("whole") && !place.has("par"));
}

#[test]
fn the_socket_is_private_and_a_dead_servers_is_replaced() {
    let place = Place::new();
    let mut server = listen(&place, &[]);
    let first = std::fs::metadata(place.path("q")).expect("it is there");
    assert_eq!(first.permissions().mode() & 0o777, 0o600);
    let second = place.shell("\"$mh\" xjobs --listen q");
    assert!(said(&second).contains("could not listen on 'q': a server listens there already"), "{}", said(&second));
    place.write("file", "x");
    let on_file = place.shell("\"$mh\" xjobs --listen file");
    assert!(said(&on_file).contains("something that is no socket is there") && place.read("file") == b"x");
    // The runner itself, so that nobody tidies up.
    let runner =
        crate::place::child_of(i32::try_from(server.child.id()).expect("a number")).expect("there is a runner");
    let runner = rustix::process::Pid::from_raw(runner).expect("a number");
    rustix::process::kill_process(runner, rustix::process::Signal::KILL).expect("it lives");
    server.end();
    wait_until("nobody listens", || {
        said(&place.shell("\"$mh\" xjobs --send q true")).contains("no server listens there")
    });
    let mut server = listen(&place, &["--until-idle"]);
    let is_new = || std::fs::metadata(place.path("q")).is_ok_and(|now| now.ino() != first.ino());
    wait_until("the socket is another one", is_new);
    assert_eq!(place.shell("\"$mh\" xjobs --send q --wait true").exit, Exit::Code(0));
    server.end();
    assert_eq!(place.names(), ["err", "file", "out"]);
}

#[test]
fn another_user_is_turned_away() {
    let Some(setpriv) = TestProgram::find("setpriv") else { return left_out("setpriv is not installed") };
    if !rustix::process::geteuid().is_root() {
        return left_out("not root");
    }
    let place = Place::new();
    let mut server = listen(&place, &[]);
    // Even where the mode would let them.
    std::fs::set_permissions(place.path("q"), std::fs::Permissions::from_mode(0o666)).expect("it is ours");
    let program = crate::place::binary();
    let words = ["--reuid", "54321", "--regid", "54321", "--clear-groups"].map(std::ffi::OsString::from);
    let words = words.into_iter().chain([program.into_os_string()]);
    let words = words.chain(["xjobs", "--send", "q", "touch", "hacked"].map(Into::into));
    let outcome = setpriv.in_directory(place.directory()).run(words, b"").expect("it starts");
    assert_ne!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
    assert_eq!(place.shell("\"$mh\" xjobs --send q --finish").exit, Exit::Code(0));
    server.end();
    assert!(!place.has("hacked"));
}

#[test]
fn who_waits_for_a_server_that_is_ended_is_told() {
    let place = Place::new();
    let mut server = listen(&place, &["-j1"]);
    let mut sender = Command::new(crate::place::binary());
    place.write("jobs", "sh -c 'touch begun; exec sleep 1000'\necho never\n");
    sender
        .args(["xjobs", "--send", "q", "--wait"])
        .stdin(std::fs::File::open(place.path("jobs")).expect("it is there"));
    let sender = sender.current_dir(place.directory()).stderr(Stdio::piped()).spawn().expect("the program starts");
    wait_until("the job has begun", || place.has("begun"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&server.child), rustix::process::Signal::TERM)
        .expect("it lives");
    server.end();
    let told = sender.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.code() == Some(1) && words.contains("the server ended before"), "{words}");
}
