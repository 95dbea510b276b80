//! What a command receives: the machine, the messages, the list of unfinished files, and a thread that tidies up when a
//! signal ends the process. Reads the environment for all commands.

use crate::failure::{Failure, with_causes};
use crate::settings::Settings;
use crate::shared_args::PriorityArg;
use files::staged_file::Unfinished;
use machine::{Host, Machine};
use parking_lot::Mutex;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use sys::scheduling::Unhurried;
use sys::signals::{ENDING, SignalSet, die_by};
use terminal::{Messages, Verbosity};

/// What a command receives.
pub struct Context {
    /// How the program was called: `mh rm`, or `rm` by a link of that name.
    pub program: String,
    /// The words behind the command's name, as they were understood; none under an old name.
    pub words: Vec<OsString>,
    /// Where the facts about the machine come from.
    pub host: Host,
    /// The machine as it was when it was first asked for.
    pub machine: LazyLock<Machine, Box<dyn FnOnce() -> Machine + Send>>,
    /// To the user.
    pub messages: Messages,
    /// Temporary files; removed when a signal ends the process.
    pub unfinished: Unfinished,
    /// What else must happen before a signal ends the process.
    pub last_acts: LastActs,
    /// The standard streams.
    pub terminals: Terminals,
    /// What the settings file says.
    pub settings: Settings,
}

/// What must happen before a signal ends the process. Each act may come at any moment, and does not wait.
#[derive(Clone, Default)]
pub struct LastActs(Arc<Mutex<Vec<LastAct>>>);

type LastAct = Box<dyn Fn() + Send>;

impl LastActs {
    /// Adds one.
    pub fn add(&self, act: impl Fn() + Send + 'static) {
        self.0.lock().push(Box::new(act));
    }

    /// Does them all.
    pub fn perform(&self) {
        self.0.lock().iter().for_each(|act| act());
    }
}

/// Which standard streams are terminals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminals {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// What there is obeys orders to the cursor: `TERM` is set, and is not `dumb`.
    pub obeys_orders: bool,
}

impl Terminals {
    /// Whether a command may take the whole screen: somebody sees it, and can leave it by a key.
    pub fn have_a_screen(self) -> bool {
        self.stdin && self.stdout && self.obeys_orders
    }

    /// Messages on standard error, with progress below them where that can be drawn.
    pub fn messages(self, verbosity: Verbosity) -> Messages {
        match self.obeys_orders {
            true => Messages::with_progress(verbosity, sys::session::own_group()),
            false => Messages::standard_error(verbosity),
        }
    }
}

impl Context {
    /// Looks at the machine and sets up what every command needs. Called once, before any other thread exists.
    pub fn new() -> Result<Self, Failure> {
        let context = Self::with_later_signals()?;
        context.hold_signals().and_then(|held| held.attend()).map_err(signal_failure)?;
        Ok(context)
    }

    /// For a command that has nothing to tidy up for a while: signals end it as they end any program, until it holds them.
    pub fn with_later_signals() -> Result<Self, Failure> {
        raise_the_limit_of_open_files();
        Self::alone()
    }

    /// For a command that reads signals itself: without the thread that tidies up, and without a higher limit of open
    /// files, which its children would inherit.
    pub fn with_own_signals() -> Result<Self, Failure> {
        sys::own_table::make_room();
        Self::alone()
    }

    /// Before there is room in the table of descriptors for other threads' files: it takes a hundredth of the time of what is over sooner.
    fn alone() -> Result<Self, Failure> {
        sys::signals::file_size_limit_is_an_error();
        let obeys_orders = obeys_orders();
        let (stdin, stdout) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
        let terminals = Terminals { stdin, stdout, obeys_orders };
        let mut settings = Settings::load().map_err(|message| Failure::Environment { command: "mh", message })?;
        let class_of_runner = crate::sharing::class_of_runner().map(PriorityArg::from);
        settings.crew.priority = class_of_runner.or(settings.crew.priority);
        Ok(Self::on(Host::real(), terminals, settings))
    }

    /// Whether the program was called by its own name, not by that of an old tool.
    pub fn has_own_name(&self) -> bool {
        self.program == "mh" || self.program.starts_with("mh ")
    }

    /// On `host`: asks neither the environment nor the kernel, so that plans for any machine can be made and compared.
    pub fn on(host: Host, terminals: Terminals, settings: Settings) -> Self {
        let on_the_host = host.clone();
        let machine: Box<dyn FnOnce() -> Machine + Send> = Box::new(move || Machine::look(&on_the_host));
        Self {
            program: "mh".to_owned(),
            words: Vec::new(),
            host,
            machine: LazyLock::new(machine),
            messages: terminals.messages(Verbosity::Normal),
            unfinished: Unfinished::default(),
            last_acts: LastActs::default(),
            terminals,
            settings,
        }
    }
}

/// What it comes to where signals cannot be held back or attended to.
pub fn signal_failure(error: std::io::Error) -> Failure {
    Failure::Environment { command: "mh", message: format!("set up signal handling: {}", with_causes(&error)) }
}

/// An environment variable: the only place that asks for one.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Directories of this user's files, as the XDG base directory specification has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnDirectories {
    /// What the user wants.
    pub config: PathBuf,
    /// What programs remember.
    pub state: PathBuf,
}

/// This user's directories; none without a home.
pub fn own_directories() -> Option<OwnDirectories> {
    let named = |name| variable(name).filter(|directory| !directory.is_empty()).map(PathBuf::from);
    let home = named("HOME");
    let below = |place: &str| home.as_ref().map(|home| home.join(place));
    let config = named("XDG_CONFIG_HOME").or_else(|| below(".config"))?.join("manyhands");
    Some(OwnDirectories { config, state: named("XDG_STATE_HOME").or_else(|| below(".local/state"))?.join("manyhands") })
}

/// Where files lie that nobody is to find: `TMPDIR`, or `/tmp`.
pub fn temporary_directory() -> PathBuf {
    variable("TMPDIR").filter(|directory| !directory.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// Whether the terminal that there may be obeys orders to the cursor: `TERM` is set, and is not `dumb`.
pub fn obeys_orders() -> bool {
    variable("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// All environment variables, for children.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// Many files at once on many cores need many descriptors; the soft limit of 1024 is for programs that use select(2). Where
/// it cannot be raised, opening fails with a clear error.
fn raise_the_limit_of_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _stays_as_it_was = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Ending signals that wait until somebody attends to them; let go at its end if nobody did.
pub struct HeldSignals {
    signals: SignalSet,
    unfinished: Unfinished,
    last_acts: LastActs,
    is_attended: AtomicBool,
}

impl Context {
    /// From here on ending signals wait.
    pub fn hold_signals(&self) -> std::io::Result<HeldSignals> {
        let signals = SignalSet::hold_back(ENDING)?;
        let (unfinished, last_acts) = (self.unfinished.clone(), self.last_acts.clone());
        Ok(HeldSignals { signals, unfinished, last_acts, is_attended: AtomicBool::new(false) })
    }
}

impl HeldSignals {
    /// From here on they arrive in a thread of their own. It removes unfinished files, performs the last acts and lets the signal have its
    /// way, whatever the other threads are waiting for.
    pub fn attend(&self) -> std::io::Result<()> {
        if self.is_attended.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let (signals, unfinished, last_acts) = (self.signals, self.unfinished.clone(), self.last_acts.clone());
        // From here on threads share it.
        sys::own_table::make_room();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let _it_waits_until_this_thread_does = Unhurried::begin();
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let _it_is_waited_for = tell.send(());
            if let Ok(signal) = signals.wait() {
                let _no_new_ones = unfinished.remove_all_and_hold();
                last_acts.perform();
                die_by(signal);
            }
        });
        thread.inspect_err(|_no_thread| self.signals.let_go())?;
        // Whoever computes meanwhile makes it wait for a CPU beside it: a run would want two before it has asked for one.
        let _it_is_there = told.recv();
        Ok(())
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if !self.is_attended.load(Ordering::Acquire) {
            self.signals.let_go();
        }
    }
}
