//! Where samples come from: the host at a pace, or a recording; and where they are written down.
//! What follows cannot tell which it was, so that a replay says what was said live.

use crate::accounts;
use clap::Args;
use machine::Host;
use mh_kit::failure::{Failure, with_causes};
use mh_kit::instrument::failure;
use mh_kit::instrument::pace::{Pace, Woken};
use observe::looker::Looker;
use observe::recording::{Player, RecordingHeader, VERSION, write_header, write_sample};
use observe::sample::HostSample;
use observe::sampler::{Depth, HostSampler, ProcessSelection, SampleContent, Sleepers};
use observe::source::accounts::Accounts;
use observe::tier::Tier;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Recordings, as typed.
#[derive(Args, Clone, Debug)]
pub struct RecordingArgs {
    /// Write every sample to a new file, for --replay
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub record: Option<PathBuf>,

    /// Take the samples from a recording
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record"], hide_short_help = true)]
    pub replay: Option<PathBuf>,
}

/// Samples, one after the other.
pub struct Feed {
    command: &'static str,
    source: Source,
    recorder: Option<Recorder>,
    /// Names of the users of the host that is looked at.
    pub accounts: Accounts,
    /// Which rights the numbers needed.
    pub tier: Tier,
    /// The process that took the samples; none where a recording does not say.
    pub watcher: Option<u32>,
}

enum Source {
    Live { sampler: Box<HostSampler>, pace: Box<Pace>, wanted: SampleContent, looker: Option<Box<Looker>> },
    Recorded { player: Box<Player<BufReader<File>>>, path: PathBuf },
}

struct Recorder {
    sink: BufWriter<File>,
    path: PathBuf,
}

/// What the feed brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A sample.
    Sample,
    /// The last one, since the user interrupted: a sample too, earlier than planned.
    Last,
    /// A child of ours has ended; no sample.
    Child,
    /// Nothing more: the recording ends here.
    End,
}

impl Feed {
    /// Of a recording if one is to be replayed, else what `live` opens.
    pub fn open(
        command: &'static str,
        recording: &RecordingArgs,
        live: impl FnOnce() -> Result<Self, Failure>,
    ) -> Result<Self, Failure> {
        let mut feed = match &recording.replay {
            Some(path) => Self::recorded(command, path)?,
            None => live()?,
        };
        recording.record.as_ref().map_or(Ok(()), |path| feed.record_to(path))?;
        Ok(feed)
    }

    /// Of the host, at a pace.
    pub fn live(
        command: &'static str,
        host: &Host,
        interval: Duration,
        wanted: SampleContent,
    ) -> Result<Self, Failure> {
        let mut sampler = Box::new(HostSampler::open(host).map_err(|error| failure(command, &error))?);
        // Who looks for those that use much does not ask who ended.
        let wants_all = wanted.who == ProcessSelection::Everybody && wanted.sleepers == Sleepers::Asked;
        let names_the_ended = wants_all && sampler.use_task_accounting();
        // What is told of threads comes from files, whoever asks.
        let tier = match wanted.depth {
            Depth::Processes if sampler.use_thread_list() => Tier::Bpf,
            _ if names_the_ended => Tier::Taskstats,
            _ => Tier::NoRights,
        };
        let pace = Box::new(pace(command, interval, 1)?);
        let source = Source::Live { sampler, pace, wanted, looker: None };
        let watcher = Some(std::process::id());
        Ok(Self { command, source, recorder: None, accounts: accounts(), tier, watcher })
    }

    /// Looks at the states of threads, too, while it waits for the next sample.
    pub fn with_looks(mut self, host: &Host, interval: Duration) -> Result<Self, Failure> {
        if let Source::Live { sampler, looker, pace: paced, .. } = &mut self.source {
            // Their counters do, but which processes have moved, and who waits, is known for less.
            self.tier = if sampler.use_thread_list() { Tier::Bpf } else { Tier::NoRights };
            *looker = Some(Box::new(Looker::open(host).map_err(|error| failure(self.command, &error))?));
            **paced = pace(self.command, interval, LOOKS)?;
        }
        Ok(self)
    }

    /// From the next sample on, one every `interval`. Nothing changes where that is what it is.
    pub fn set_interval(&mut self, interval: Duration) -> Result<(), Failure> {
        if let Source::Live { pace: paced, looker, .. } = &mut self.source
            && paced.interval() != interval
        {
            **paced = pace(self.command, interval, if looker.is_some() { LOOKS } else { 1 })?;
        }
        Ok(())
    }

    /// In which function of the kernel a thread waits now; none in a recording, or without the rights.
    pub fn wait_channel(&mut self, pid: u32, tid: u32) -> Option<String> {
        match &mut self.source {
            Source::Live { looker: Some(looker), .. } => looker.wait_channel(pid, tid),
            Source::Live { .. } | Source::Recorded { .. } => None,
        }
    }

    /// Of a recording.
    fn recorded(command: &'static str, path: &Path) -> Result<Self, Failure> {
        let opened = File::open(path).map_err(|error| file_failure(command, "open", path, &error))?;
        let player = Player::open(BufReader::new(opened));
        let player = Box::new(player.map_err(|error| file_failure(command, "replay", path, &error))?);
        let accounts = Accounts::of(player.header.users.clone());
        let (tier, watcher) = (player.header.tier, player.header.watcher);
        let source = Source::Recorded { player, path: path.to_owned() };
        Ok(Self { command, source, recorder: None, accounts, tier, watcher })
    }

    /// Writes every sample to the new file `path`.
    fn record_to(&mut self, path: &Path) -> Result<(), Failure> {
        let file = File::create_new(path).map_err(|error| file_failure(self.command, "create", path, &error))?;
        let mut recorder = Recorder { sink: BufWriter::new(file), path: path.to_owned() };
        let (users, watcher) = (self.accounts.all(), self.watcher);
        let header = RecordingHeader { manyhands_recording: VERSION, tier: self.tier, users, watcher };
        let written = write_header(&mut recorder.sink, &header);
        written.map_err(|error| file_failure(self.command, "write", path, &error))?;
        self.recorder = Some(recorder);
        Ok(())
    }

    /// The first sample: at once.
    pub fn first(&mut self, sample: &mut HostSample) -> Result<Step, Failure> {
        let step = match &mut self.source {
            Source::Live { .. } => self.take(None, sample).map(|()| Step::Sample)?,
            Source::Recorded { .. } => self.replay(None, sample)?,
        };
        if let Source::Live { pace, .. } = &mut self.source {
            pace.restart();
        }
        self.keep(None, sample, step)
    }

    /// The next sample, when it is due. A signal that ends programs ends this one.
    pub fn next(&mut self, earlier: &HostSample, later: &mut HostSample) -> Result<Step, Failure> {
        let step = match &mut self.source {
            Source::Recorded { .. } => self.replay(Some(earlier), later)?,
            Source::Live { pace, looker, .. } => {
                let mut woken = Woken::Part;
                while woken == Woken::Part {
                    let least = looker.as_ref().map_or(Duration::ZERO, |looker| looker.rests_for());
                    woken = pace.sleep_for(least).map_err(|error| failure(self.command, &error))?;
                    // Not at the end of the interval: the sample itself would be looked at.
                    if let (Some(looker), Woken::Part) = (looker.as_mut(), woken) {
                        looker.look();
                    }
                }
                match woken {
                    Woken::Part => Step::Child,
                    Woken::Child => return Ok(Step::Child),
                    Woken::Ended(signal) => {
                        terminal::full_screen::give_back();
                        sys::signals::die_by(signal)
                    }
                    Woken::Due => self.take(Some(earlier), later).map(|()| Step::Sample)?,
                    Woken::Interrupted => self.take(Some(earlier), later).map(|()| Step::Last)?,
                }
            }
        };
        self.keep(Some(earlier), later, step)
    }

    /// A sample at once, whenever it is due.
    pub fn take(&mut self, earlier: Option<&HostSample>, later: &mut HostSample) -> Result<(), Failure> {
        match &mut self.source {
            Source::Live { sampler, wanted, looker, .. } => {
                sampler.take(wanted, earlier, later).map_err(|error| failure(self.command, &error))?;
                if later.machine.ticks.is_none() {
                    // Everything else would be missing, too, and an empty table looks like an idle machine.
                    let message = "read /proc/stat: it is not there, or there is no descriptor left".to_owned();
                    return Err(Failure::Environment { command: self.command, message });
                }
                if let Some(looker) = looker {
                    looker.tell(later);
                }
                Ok(())
            }
            Source::Recorded { .. } => Ok(()),
        }
    }

    fn replay(&mut self, earlier: Option<&HostSample>, later: &mut HostSample) -> Result<Step, Failure> {
        let Source::Recorded { player, path } = &mut self.source else { return Ok(Step::End) };
        match player.next(earlier, later) {
            Ok(true) if earlier.is_some_and(|earlier| earlier.at_ns >= later.at_ns) => {
                let message = format!("replay {}: a sample is not later than the one before it", terminal::quote(path));
                Err(Failure::Environment { command: self.command, message })
            }
            Ok(true) => Ok(Step::Sample),
            Ok(false) => Ok(Step::End),
            Err(error) => Err(file_failure(self.command, "replay", path, &error)),
        }
    }

    fn keep(&mut self, earlier: Option<&HostSample>, later: &HostSample, step: Step) -> Result<Step, Failure> {
        let Some(recorder) = self.recorder.as_mut().filter(|_| step != Step::End) else { return Ok(step) };
        let written = write_sample(&mut recorder.sink, earlier, later).and_then(|()| recorder.sink.flush());
        written.map_err(|error| file_failure(self.command, "write", &recorder.path, &error))?;
        Ok(step)
    }
}

/// Looks in an interval: enough that a share of them means something, few enough that nobody feels them.
const LOOKS: u32 = 25;

fn pace(command: &'static str, interval: Duration, parts: u32) -> Result<Pace, Failure> {
    Pace::begin(interval, parts)
        .map_err(|error| Failure::Environment { command, message: format!("set up waiting: {}", with_causes(&error)) })
}

fn file_failure(
    command: &'static str,
    operation: &str,
    path: &Path,
    error: &(dyn std::error::Error + 'static),
) -> Failure {
    let message = format!("{operation} {}: {}", terminal::quote(path), with_causes(error));
    Failure::Environment { command, message }
}
