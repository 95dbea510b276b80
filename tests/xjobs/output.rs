//! Outputs: never mixed, never lost without a word, bounded in memory; GNU parallel's MIX, STDERRMERGE, RAM and DISKFULL.

use super::{stdout, xjobs};
use crate::place::{Place, said};
use std::process::{Command, Stdio};
use testkit::program::Exit;

#[test]
fn mix_no_line_of_one_job_stands_inside_another() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 300 ]; do echo $1 $1 $1 $1 $1; i=$((i+1)); done; exec sleep 0.0$1";
    let outcome = xjobs(&place, &["-j4", "sh", "-c", script, "sh"], "1\n2\n3\n4\n5\n6\n7\n8\n");
    let text = stdout(&outcome);
    let mut blocks: Vec<&str> = text.lines().collect();
    assert_eq!(blocks.len(), 8 * 300);
    blocks.dedup();
    assert_eq!(blocks.len(), 8, "each job's lines stand together");
}

#[test]
fn stderrmerge_the_two_streams_stay_apart() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-j2", "sh", "-c", "echo out $1; echo err $1 >&2", "sh"], "1\n2\n3\n");
    assert_eq!(stdout(&outcome).lines().filter(|line| line.starts_with("out")).count(), 3);
    assert_eq!(said(&outcome).lines().filter(|line| line.starts_with("err")).count(), 3);
}

#[test]
fn order_of_the_list_is_kept_where_asked_for() {
    let place = Place::new();
    let outcome = xjobs(&place, &["-k", "-j4", "sh", "-c", "sleep 0.$1; echo $1", "sh"], "4\n1\n3\n2\n");
    assert_eq!(stdout(&outcome), "4\n1\n3\n2\n");
}

#[test]
fn ram_large_outputs_come_whole_and_take_no_memory() {
    let place = Place::new();
    let script = "ulimit -v 400000; seq 8 | \"$mh\" xjobs -j4 --shell 'head -c 30000000 /dev/zero | tr \"\\0\" {}' > all; \
                  wc -c < all; for i in 1 2 3 4 5 6 7 8; do tr -cd $i < all | wc -c; done | sort -u";
    assert_eq!(stdout(&place.shell(script)), "240000000\n30000000\n");
    assert_eq!(place.names(), ["all"]);
}

#[test]
fn diskfull_nothing_is_lost_without_a_word() {
    let place = Place::new();
    let outcome = place.shell("seq 3 | \"$mh\" xjobs -j1 echo > /dev/full");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(said(&outcome).contains("could not write output of jobs: No space left on device"), "{}", said(&outcome));
    let outcome = place.shell("echo 200000 | TMPDIR=/nowhere \"$mh\" xjobs head -c {} /dev/zero | wc -c");
    assert!(said(&outcome).contains("could not keep all output of job 1"), "{}", said(&outcome));
    let kept: usize = stdout(&outcome).trim().parse().expect("a number");
    assert!(kept > 0 && kept <= 65_536, "what was in memory is passed on: {kept}");
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let place = Place::new();
    let outcome = place.shell("seq 100000 | \"$mh\" xjobs -j2 echo | head -n 1");
    assert_eq!((outcome.exit, said(&outcome).as_str()), (Exit::Code(0), ""));
    assert_eq!(stdout(&outcome).lines().count(), 1);
}

#[test]
fn lines_come_as_they_are_printed_with_tags() {
    let place = Place::new();
    let mut command = Command::new(crate::place::binary());
    command.args(["xjobs", "--line-buffer", "--tag", "sh", "-c", "echo 1; read x < go; echo 2", "sh", ":::", "a"]);
    place.shell("mkfifo go");
    command.current_dir(place.folder()).env("MH_CREW_DIR", "").stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut reader = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).expect("readable");
    assert_eq!(line, "a\t1\n", "it comes while the job runs");
    place.shell("echo > go");
    line.clear();
    std::io::BufRead::read_line(&mut reader, &mut line).expect("readable");
    assert_eq!(line, "a\t2\n");
    assert!(child.wait().expect("it ends").success());
}
