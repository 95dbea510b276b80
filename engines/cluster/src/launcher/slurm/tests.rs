//! Against programs of our own under Slurm's names. The real ones' answers are in this crate's tests of launchers.

use super::*;
use crate::launcher::command::tests::fakes;
use std::fs;
use std::path::PathBuf;

fn request(workers: u32) -> WorkerRequest {
    WorkerRequest {
        program: PathBuf::from("/usr/bin/mh"),
        spool: PathBuf::from("/scratch/spool"),
        run_id: "r1".to_owned(),
        first: 4,
        workers,
        cores: Some(2),
        time: Some(Duration::from_secs(3600)),
        engine_args: vec!["--qos=long".into()],
        name: "mh xjobs".to_owned(),
    }
}

/// An sbatch that notes its arrays in `asked` beside it and takes up to three elements.
fn sbatch_for_three(words: &str) -> String {
    format!(
        "for word; do case $word in --array=0-*) last=${{word#--array=0-}};; esac; done\n\
         echo $last >> \"${{0%/*}}/asked\"\n\
         test $last -le 2 || {{ echo '{words}' >&2; exit 1; }}\necho 77"
    )
}

#[test]
fn an_array_that_is_too_large_is_halved() {
    for words in [
        "sbatch: error: Batch job submission failed: Invalid job array specification",
        "sbatch: error: QOSMaxSubmitJobPerUserLimit",
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user size)",
    ] {
        let (place, environment) = fakes(&[("sbatch", &sbatch_for_three(words))]);
        let started = SlurmLauncher::new(None, environment).start(&request(20)).expect("it takes some");
        assert_eq!(started, StartedWorkers { id: "77".to_owned(), workers: 2, refused: Some(words.to_owned()) });
        assert_eq!(fs::read_to_string(place.path().join("asked")).expect("asked"), "19\n9\n4\n1\n");
    }
}

#[test]
fn other_refusals_are_final_and_have_slurms_words() {
    let (place, environment) = fakes(&[("sbatch", &sbatch_for_three("sbatch: error: Invalid account"))]);
    let fault = SlurmLauncher::new(None, environment).start(&request(20)).expect_err("it takes none");
    assert_eq!(fault.to_string(), "sbatch --array=0-19: sbatch: error: Invalid account");
    assert_eq!(fs::read_to_string(place.path().join("asked")).expect("asked"), "19\n");
}

#[test]
fn a_submission_whose_answer_was_lost_is_found_and_not_repeated() {
    let sbatch = "for word; do case $word in --comment=*) echo \"55|${word#--comment=}\" >> \"${0%/*}/taken\";; esac; done\n\
                  sleep 1000";
    let squeue = "echo '54|mh r1 0'; cat \"${0%/*}/taken\"";
    let (place, environment) = fakes(&[("sbatch", sbatch), ("squeue", squeue)]);
    let started = SlurmLauncher::new(None, environment.within(Duration::from_secs(1))).start(&request(3));
    assert_eq!(started.expect("it was taken"), StartedWorkers { id: "55".to_owned(), workers: 3, refused: None });
    assert_eq!(fs::read_to_string(place.path().join("taken")).expect("taken"), "55|mh r1 4\n");
}

#[test]
fn a_submission_that_nobody_took_is_silent() {
    let (_place, environment) = fakes(&[("sbatch", "sleep 1000"), ("squeue", "echo '54|(null)'")]);
    let fault = SlurmLauncher::new(None, environment.within(Duration::from_secs(1))).start(&request(3));
    assert!(matches!(fault, Err(LauncherFault::Silent { .. })), "{fault:?}");
}

#[test]
fn an_squeue_that_hangs_says_nothing_about_workers() {
    let (place, environment) = fakes(&[("squeue", "echo x >> \"${0%/*}/asked\"; sleep 1000")]);
    let fault = SlurmLauncher::new(None, environment.within(Duration::from_millis(300))).look("12");
    assert!(matches!(fault, Err(LauncherFault::Silent { .. })), "{fault:?}");
    assert_eq!(fs::read_to_string(place.path().join("asked")).expect("asked").lines().count(), 3);
}

#[test]
fn forgotten_workers_are_gone_and_a_controller_out_of_reach_is_a_fault() {
    let look = |squeue: &str| {
        let (_place, environment) = fakes(&[("squeue", squeue)]);
        SlurmLauncher::new(None, environment).look("12").map_err(|fault| fault.to_string())
    };
    let forgotten = look("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    assert_eq!(forgotten, Ok(EngineState::default()));
    let said = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
    assert_eq!(look(&format!("echo '{said}' >&2; exit 1")), Err(format!("squeue 12: {said}")));
    assert_eq!(look("test $SLURM_BITSTR_LEN = 0 && echo '12_[1-9]|PENDING||None'").expect("it answers").pending, 9);
}

#[test]
fn a_job_of_another_cluster_is_asked_for_there() {
    let note = "echo \"$@\" >> \"${0%/*}/asked\"";
    let (place, environment) = fakes(&[("squeue", note), ("scancel", note)]);
    let mut slurm = SlurmLauncher::new(None, environment);
    slurm.look("12;east").expect("it answers");
    slurm.end("12;east").expect("it answers");
    let asked = fs::read_to_string(place.path().join("asked")).expect("asked");
    assert_eq!(asked, "--clusters=east -h -t all -o %i|%T|%N|%r -j 12\n--clusters=east 12\n");
}

#[test]
fn without_slurm_the_program_is_named() {
    let environment = EngineEnvironment::new("/nowhere".as_ref(), []);
    let mut slurm = SlurmLauncher::new(None, environment);
    let said = "Slurm was not found: there is no 'sbatch' on PATH";
    assert_eq!(slurm.limits().expect_err("not there").to_string(), said);
    assert_eq!(slurm.start(&request(1)).expect_err("not there").to_string(), said);
}

#[test]
fn the_command_is_shown_as_it_can_be_typed() {
    let slurm = SlurmLauncher::new(Some("long".to_owned()), EngineEnvironment::new("/nowhere".as_ref(), []));
    let shown = "sbatch --parsable --array=0-2 '--job-name=mh xjobs' '--comment=mh r1 4' --nodes=1 --ntasks=1 --cpus-per-task=2 \
                 --time=1:00:00 --requeue --open-mode=append --output=/scratch/spool/log/slurm-%A_%a \
                 --partition=long --qos=long --wrap 'number=$((4 + ${SLURM_ARRAY_TASK_ID:-0}))\n\
                 exec >> /scratch/spool/log/\"$number\" 2>&1\n\
                 exec /usr/bin/mh xjobs --worker /scratch/spool --worker-run r1 --worker-number \"$number\"\n'";
    assert_eq!(slurm.shown(&request(3)), shown);
    let whole_nodes = WorkerRequest { cores: None, time: None, ..request(3) };
    let shown = slurm.shown(&whole_nodes);
    assert!(shown.contains(" --exclusive --signal=B:INT@120 ") && !shown.contains("--time"), "{shown}");
}
