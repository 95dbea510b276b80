//! Cores that no job needs, for make, ninja and cargo inside jobs: which kind of pool, and the variable that leads to it.
//! Gives and takes nothing itself (crew, engines/jobs).

use super::{NAME, XjobsArgs};
use crate::context::Context;
use crate::failure::with_causes;
use crate::sharing::Shared;
use crew::budget::{Lease, Priority, Proxy, Request, Weight};
use crew::jobserver::{Server, flags};
use jobs::run::Options;
use std::io;
use std::sync::Arc;

/// How programs in jobs find their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SlotStyle {
    /// Two descriptors that they inherit
    Fds,
    /// A named pipe
    Fifo,
    /// Not at all
    Off,
}

/// What the variable is called.
const MAKEFLAGS: &[u8] = b"MAKEFLAGS=";

/// Opens a pool for the jobs' programs where the run's hands come from the table. Without one those programs do as they are told.
pub fn open(context: &Context, args: &XjobsArgs, shared: &Shared, lease: &dyn Lease, options: &mut Options) {
    let most = options.width.min(options.hands);
    let request = Request {
        // What nobody else wants, and as long as nobody does.
        priority: Priority::Idle,
        weight: Weight::default(),
        useful_width: most,
        what: "xjobs: slots for make in its jobs".to_owned(),
    };
    if args.jobserver == SlotStyle::Off || most < 2 {
        return;
    }
    let Some(proxy) = shared.proxy(lease, request) else { return };
    match serve(args.jobserver, proxy, options) {
        Ok(server) => {
            tell_jobs(options, most, &server);
            options.slots = Some(Arc::new(server));
        }
        Err(error) => {
            let words = with_causes(&error);
            context.messages.warning(
                NAME,
                &format!("could not open job slots: {words}; make in a job runs alone"),
                &[],
            );
        }
    }
}

fn serve(style: SlotStyle, proxy: Box<dyn Proxy>, options: &Options) -> io::Result<Server> {
    match style {
        SlotStyle::Fifo => {
            Server::named(proxy, options.spill_folder.join(format!("mh-xjobs-{}-slots", std::process::id())))
        }
        SlotStyle::Fds | SlotStyle::Off => Server::of_descriptors(proxy),
    }
}

/// Puts the pool into the jobs' environment, among the user's own flags for make.
fn tell_jobs(options: &mut Options, most: usize, server: &Server) {
    let old = options.environment.iter().find_map(|variable| variable.strip_prefix(MAKEFLAGS)).unwrap_or_default();
    let own = [MAKEFLAGS, &flags(old, most - 1, &server.auth())].concat();
    let mut words = jobs::Variables::default();
    let others = options.environment.iter().filter(|variable| !variable.starts_with(MAKEFLAGS));
    for variable in others.chain([own.as_slice()]) {
        // They came from the kernel, and a path of ours has no NUL.
        let _never_refused = words.push(variable);
    }
    options.environment = words;
}
