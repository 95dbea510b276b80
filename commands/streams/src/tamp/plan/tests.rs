//! Plans on fake machines, for files that are there.

use super::super::command;
use super::*;
use clap::FromArgMatches;
use machine::Host;
use mh_kit::context::Terminals;
use mh_kit::settings::Settings;
use tempfile::TempDir;
use testkit::fake_machine::FakeMachine;

/// A directory with a gigabyte that takes no room, a small file, and one that is compressed by its name.
fn files() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    File::create(directory.path().join("large")).and_then(|file| file.set_len(1 << 30)).expect("a file");
    std::fs::write(directory.path().join("small"), "x").expect("a file");
    std::fs::write(directory.path().join("done.zst"), "").expect("a file");
    directory
}

struct On<'a> {
    machine: FakeMachine,
    terminals: Terminals,
    directory: &'a TempDir,
}

impl<'a> On<'a> {
    fn cpus(cpus: usize, directory: &'a TempDir) -> Self {
        Self { machine: FakeMachine::new(cpus, 16 << 30), terminals: Terminals::default(), directory }
    }

    /// Words that begin with `./` are files of the directory.
    fn planned(&self, typed: &str) -> Result<Job, String> {
        let context = Context::on(Host::rooted_at(self.machine.root()), self.terminals, Settings::default());
        let words = typed.split_whitespace().map(|word| match word.strip_prefix("./") {
            Some(name) => self.directory.path().join(name).into_os_string(),
            None => word.into(),
        });
        let matches = command().get_matches_from(["tamp".into()].into_iter().chain(words));
        let args = TampArgs::from_arg_matches(&matches).expect("good options");
        look(&context, &args).and_then(|inputs| plan(&context, &args, inputs)).map_err(|failure| match failure {
            Failure::Usage { message, .. } => message,
            Failure::Refused { refused, .. } => refused.message,
            other => panic!("{other:?}"),
        })
    }

    fn job(&self, typed: &str) -> Job {
        self.planned(typed).expect(typed)
    }

    fn refused(&self, typed: &str) -> String {
        self.planned(typed).err().expect(typed)
    }

    fn format(&self, typed: &str) -> String {
        self.job(typed).plan.about("format").map(|choice| choice.decision.clone()).expect("it is decided")
    }

    fn output(&self, typed: &str) -> LaneOutput {
        self.job(typed).lanes.remove(0).output
    }

    fn named(&self, name: &str, replace: bool) -> LaneOutput {
        LaneOutput::Path { path: self.directory.path().join(name), replace }
    }
}

#[test]
fn hands_follow_the_machine_the_options_the_input_and_the_memory() {
    let directory = files();
    let on = On::cpus(4, &directory);
    let width = |typed: &str| on.job(typed).staffing.width;
    assert_eq!((width("./large"), width("-j 2 ./large"), width("./small")), (4, 2, 1));
    assert_eq!(On::cpus(1, &directory).job("./large").staffing.width, 1);
    let tight = on.job("--level 19 --memory 300M ./large");
    assert!(tight.staffing.width < 4, "{}", tight.staffing.width);
    assert!(on.refused("--level 19 --memory 1M ./large").contains("--memory allows"), "not even one hand");
    assert_eq!(on.job("./small").staffing.mode, crew::pipeline::Executor::SingleCore);
    assert_eq!(on.job("./large").staffing.mode, crew::pipeline::Executor::Threaded);
}

#[test]
fn names_and_options_decide_format_and_level() {
    let directory = files();
    let on = On::cpus(2, &directory);
    assert!(on.format("./small").starts_with("zst "), "the default");
    assert!(on.format("-F xz --level 2 ./small").ends_with(", level 2"));
    assert!(on.format("-o ./out.gz ./small").starts_with("gz "));
    assert!(on.format("--bgzf ./small").starts_with("gz BGZF blocks"));
    assert_eq!(on.format("-d ./done.zst"), "as the content tells");
    assert_eq!(on.refused("-F gz --level 40 ./small"), "gz has levels 0 to 9, and to 12 with --ultra, not 40");
    assert_eq!(on.refused("-F gz --ultra --level 40 ./small"), "gz has levels 0 to 12, not 40");
    assert_eq!(on.refused("-F xz --level 40 ./small"), "xz has levels 0 to 9, not 40");
    assert!(on.refused("--level 22 ./small").ends_with("--ultra allows them"));
    assert!(on.refused("-F gz -D ./small ./small").ends_with("-D is for zst and lz4"));
}

#[test]
fn every_input_has_its_output_or_is_left_alone() {
    let directory = files();
    let on = On::cpus(2, &directory);
    assert_eq!(on.output("./small"), on.named("small.zst", false));
    assert_eq!(on.output("-f -F gz ./small"), on.named("small.gz", true));
    assert_eq!(on.output("-d ./done.zst"), on.named("done", false));
    assert_eq!((on.output("-c ./small"), on.output("-t ./done.zst")), (LaneOutput::Stdout, LaneOutput::Discard));
    let job = on.job("./small ./done.zst ./large");
    assert_eq!((job.lanes.len(), job.left_alone, job.total_bytes), (2, 1, Some((1 << 30) + 1)));
    assert_eq!((job.label.as_str(), job.one_output), ("2 files", false));
    assert_eq!(on.job("--rm ./small").lanes[0].source, SourceFate::Remove);
    assert_eq!(on.job("--rm -c ./small").lanes[0].source, SourceFate::Keep, "standard output may be lost");
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_done() {
    let directory = files();
    let mut on = On::cpus(2, &directory);
    assert!(on.refused("-o ./x ./small ./large").starts_with("-o takes one file"));
    assert!(on.refused("-c -o ./x ./small").contains("either -o or -c"));
    assert!(on.refused("-c - -").contains("- is given twice"));
    assert!(on.refused("-l -").contains("-l needs files"));
    on.terminals.stdout = true;
    assert!(on.refused("-c ./small").starts_with("compressed data is not written to a terminal"));
    assert_eq!(on.output("-c -f ./small"), LaneOutput::Stdout, "all the same");
    on.terminals.stdin = true;
    assert!(on.refused("-d -c").starts_with("compressed data cannot be read from a terminal"));
}
