//! Cores that no job needs, offered as slots to programs that jobs start.

use crew::jobserver::{SlotBooks, SlotServer};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use sys::spawn::Spawner;

/// Slots, if they are offered at all.
pub(in crate::run) struct Spares {
    server: Option<Arc<SlotServer>>,
    thread: Option<JoinHandle<()>>,
    offered: usize,
}

impl Spares {
    /// Has programs that `spawner` starts know the slots, and begins to give them.
    pub fn new(server: Option<Arc<SlotServer>>, spawner: &mut Spawner) -> io::Result<Self> {
        let serve = |slots: &Arc<SlotServer>| {
            spawner.hand_down(&slots.pool().descriptors());
            let slots = Arc::clone(slots);
            Builder::new().name("slots".to_owned()).stack_size(64 << 10).spawn(move || slots.serve())
        };
        let thread = server.as_ref().map(serve).transpose()?;
        Ok(Self { server, thread, offered: 0 })
    }

    /// Nothing runs: what has not come back by now never will.
    pub fn settle(&mut self) {
        self.server.iter().for_each(|slots| slots.settle());
        self.offered = 0;
    }

    pub fn offer_less(&mut self, spare: usize) {
        if spare < self.offered {
            self.offer(spare);
        }
    }

    pub fn offer_more(&mut self, spare: usize) {
        if spare > self.offered {
            self.offer(spare);
        }
    }

    fn offer(&mut self, spare: usize) {
        self.server.iter().for_each(|slots| slots.offer(spare));
        self.offered = spare;
    }

    /// The run is over. What became of the slots.
    pub fn close(&mut self) -> SlotBooks {
        let books = self.server.as_ref().map(|slots| slots.close()).unwrap_or_default();
        // It ends at once, and with it the row of the slots.
        let _it_has_nothing_to_tell = self.thread.take().map(JoinHandle::join);
        books
    }
}
