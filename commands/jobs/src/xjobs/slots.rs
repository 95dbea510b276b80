//! Cores that no job needs, for make, ninja and cargo inside jobs. Gives and takes nothing itself (crew, engines/jobs).

use super::{NAME, XjobsArgs};
use crate::job_slots::{SlotStyle, pool, with_pool};
use crew::budget::{Lease, Priority, Proxy, Request, Weight};
use crew::jobserver::SlotServer;
use jobs::run::RunOptions;
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use mh_kit::sharing::Shared;
use std::io;
use std::sync::Arc;

/// What the row of the slots says.
const WHAT: &str = "xjobs: slots for make in its jobs";

/// Opens a pool for the jobs' programs where the run's hands come from the table. Without one those programs do as they are told.
pub fn open(context: &Context, args: &XjobsArgs, shared: &Shared, lease: &dyn Lease, options: &mut RunOptions) {
    let most = options.width.min(options.hands);
    let request = Request {
        // What nobody else wants, and as long as nobody does.
        priority: Priority::Idle,
        weight: Weight::default(),
        useful_width: most,
        what: WHAT.to_owned(),
    };
    if args.jobserver == SlotStyle::Off || most < 2 {
        return;
    }
    let Some(proxy) = shared.proxy_of_job_slots(lease, request) else { return };
    match serve(args.jobserver, proxy, options) {
        Ok(server) => {
            options.environment = with_pool(&options.environment, most, server.pool());
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

fn serve(style: SlotStyle, proxy: Box<dyn Proxy>, options: &RunOptions) -> io::Result<SlotServer> {
    SlotServer::new(proxy, pool(style, &options.spill_directory)?)
}
