//! What is checked, with how many hands and how much room: decided from the machine, the options and the sizes of files.

use super::{FoundFiles, InnodbArgs, NAME};
use crew::measures::Slots;
use crew::pipeline::{Executor, Staffing};
use crew::plan::Plan;
use innodb::check::{CHUNK_BYTES, held_bytes};
use mh_kit::context::Context;
use mh_kit::descriptors::half_of_descriptors;
use mh_kit::failure::Failure;
use mh_kit::report::counted;
use mh_kit::width::{self, Bound};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use terminal::quote;

/// A decided run.
pub struct CheckJob {
    /// In the order of their lines.
    pub files: Vec<PathBuf>,
    /// Names that came to nothing.
    pub failed: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// For the progress line.
    pub label: String,
    /// Threads and room.
    pub staffing: Staffing,
    /// For `--explain`.
    pub plan: Plan,
    /// How wide it is at most, and why.
    pub width_why: String,
}

/// LIMIT: what a run holds for its workers. The program itself, its threads and its output take less than as much again.
const HELD_MAX: u64 = 32 << 20;

/// LIMIT: files that are open at once for each hand: the next ones are looked at while the last chunks of others are under way.
const FILES_A_HAND: usize = 4;

/// LIMIT: descriptors that a file may take: itself, and the earlier files of a system tablespace.
const DESCRIPTORS_A_FILE: usize = 8;

/// Decides.
pub fn plan(context: &Context, args: &InnodbArgs, inputs: FoundFiles) -> Result<CheckJob, Failure> {
    let FoundFiles { files, failed } = inputs;
    let sizes = files.iter().map(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len()));
    let bytes: u64 = sizes.sum();
    let label = match (args.files.as_slice(), files.as_slice()) {
        ([one], _) => quote(one),
        (_, files) => counted(files.len() as u64, "file"),
    };
    let tablespaces = counted(files.len() as u64, "tablespace file");
    let purpose = format!("check {label} ({tablespaces}, {})", terminal::bytes(bytes));
    let mut plan = Plan::new(purpose);
    let (staffing, hands, why) = staff(context, args, &files, bytes)?;
    plan.choose("read", "in each worker, at offsets", "files are regular: no serial reader");
    plan.choose("check", format!("up to {hands}"), why.clone());
    plan.choose("lock", "none", "a server may run; a page that does not pass is read again");
    let held =
        format!("{} of {} allowed", terminal::bytes(held_bytes(&staffing)), terminal::bytes(allowed_bytes(args)));
    plan.choose("memory", held, "pages are read, judged and forgotten");
    mh_kit::sharing::explain(&mut plan);
    let width_why = width::sentence(&hands, &why);
    Ok(CheckJob { files, failed, bytes, label, staffing, plan, width_why })
}

fn allowed_bytes(args: &InnodbArgs) -> u64 {
    args.shared.memory.unwrap_or(HELD_MAX).min(HELD_MAX)
}

/// Hands, slots and executor; how many hands in words, and why.
fn staff(
    context: &Context,
    args: &InnodbArgs,
    files: &[PathBuf],
    bytes: u64,
) -> Result<(Staffing, String, String), Failure> {
    let allowed = context.machine.hands_allowed();
    let asked = args.shared.hands_asked();
    let paths = files.iter().map(|path| path.as_os_str().as_bytes());
    let bound = width::bound(&context.host, asked, || allowed, paths);
    let most = bound.as_ref().map_or(asked.unwrap_or(allowed), |bound| bound.workers);
    let chunks = usize::try_from(bytes / CHUNK_BYTES).unwrap_or(usize::MAX).saturating_add(files.len());
    let useful = most.min(chunks).max(1);
    let fits = |width: &usize| held_bytes(&staffing(*width)) <= allowed_bytes(args);
    let Some(width) = (1..=useful).rev().find(fits) else {
        let need = terminal::bytes(held_bytes(&staffing(1)));
        let message = format!("one hand needs {need}, --memory allows {}", terminal::bytes(allowed_bytes(args)));
        return Err(Failure::Usage { command: NAME, message });
    };
    let why = match bound {
        _ if width < useful => "memory allows no more".to_owned(),
        _ if width < most => format!("there are no more than {} to check", counted(chunks as u64, "chunk")),
        Some(Bound { why, .. }) => why,
        None if asked.is_some() => format!("-j; {allowed} allowed"),
        None => counted(allowed as u64, "allowed CPU"),
    };
    Ok((staffing(width), counted(width as u64, "hand"), why))
}

fn staffing(width: usize) -> Staffing {
    let slots = 2 * width + 4;
    let files = (half_of_descriptors() / DESCRIPTORS_A_FILE).min(FILES_A_HAND * width).max(1);
    Staffing {
        width,
        slots: Slots { given: slots, wanted: slots, hands_wanted: width },
        lanes_at_once: files,
        mode: if width == 1 { Executor::SingleCore } else { Executor::Threaded },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::innodb::command;
    use clap::FromArgMatches;
    use machine::Host;
    use mh_kit::context::Terminals;
    use mh_kit::settings::Settings;
    use testkit::fake_machine::FakeMachine;

    /// A run over files of these sizes.
    fn planned(machine: &FakeMachine, options: &str, sizes: &[u64]) -> Result<CheckJob, Failure> {
        let context = Context::on(Host::rooted_at(machine.root()), Terminals::default(), Settings::default());
        let place = tempfile::tempdir().expect("a directory");
        let file = |(number, bytes): (usize, &u64)| {
            let path = place.path().join(format!("t{number}.ibd"));
            std::fs::File::create(&path).and_then(|file| file.set_len(*bytes)).expect("made");
            path
        };
        let files: Vec<PathBuf> = sizes.iter().enumerate().map(file).collect();
        let words = options.split(' ').map(str::to_owned);
        let words = words.chain(files.iter().map(|path| path.display().to_string()));
        let args = InnodbArgs::from_arg_matches(&command().get_matches_from(words)).expect("good options");
        plan(&context, &args, FoundFiles { files, failed: 0 })
    }

    fn about(job: &CheckJob, subject: &str) -> (String, String) {
        job.plan.about(subject).map(|choice| (choice.decision.clone(), choice.reason.clone())).expect("it is decided")
    }

    #[test]
    fn hands_follow_the_machine_the_options_and_what_there_is_to_check() {
        let machine = FakeMachine::new(8, 4 << 30);
        let hands = |options: &str, sizes: &[u64]| about(&planned(&machine, options, sizes).expect("a plan"), "check");
        let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        assert_eq!(hands("innodb", &[1 << 30]), pair("up to 8 hands", "8 allowed CPUs"));
        assert_eq!(hands("innodb -j 3", &[1 << 30]), pair("up to 3 hands", "-j; 8 allowed"));
        assert_eq!(hands("innodb", &[4096]), pair("up to 1 hand", "there are no more than 1 chunk to check"));
        assert_eq!(hands("innodb", &[4096; 5]).0, "up to 5 hands", "many small files are work for many");
        assert_eq!(hands("innodb --memory 1M -j 64", &[1 << 30]).1, "memory allows no more");
    }

    #[test]
    fn a_run_holds_little_however_wide_it_is() {
        let machine = FakeMachine::new(256, 64 << 30);
        let job = planned(&machine, "innodb", &[1 << 40]).expect("a plan");
        assert!(held_bytes(&job.staffing) <= HELD_MAX);
        assert!(job.staffing.width > 64, "{}", job.staffing.width);
        let refused = planned(&machine, "innodb --memory 64K", &[1 << 30]);
        assert!(matches!(refused, Err(Failure::Usage { .. })), "one hand needs more");
    }

    #[test]
    fn one_hand_needs_no_thread_and_a_plan_says_what_it_is_for() {
        let machine = FakeMachine::new(1, 4 << 30);
        let job = planned(&machine, "innodb", &[16384, 16384]).expect("a plan");
        assert_eq!(job.staffing.mode, Executor::SingleCore);
        assert_eq!(job.plan.purpose, "check 2 files (2 tablespace files, 32.8 kB)");
        assert_eq!(about(&job, "lock").0, "none");
    }
}
