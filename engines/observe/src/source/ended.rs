//! Processes as they end, by the kernel's accounting of tasks: names those that came and went between two samples where no program may be
//! put into the kernel. The accounts are closed before a process gives its memory back.

use crate::sample::{Ending, Endings, ThreadName};
use std::collections::HashMap;
use sys::ended_tasks::EndedTasks;

/// What is reported, and what has to be kept of it.
pub struct EndedProcesses {
    tasks: EndedTasks,
    /// The names of processes whose first thread has ended before another one, by number.
    names: HashMap<u32, ThreadName>,
}

/// LIMIT: of more processes that go on without their first thread the name is another thread's.
const NAMES_MAX: usize = 10_000;

impl EndedProcesses {
    /// Listens from now on to what ends on `cpus`, a list of ranges. None without the rights, and where the kernel reports nothing.
    pub fn listen(cpus: &str) -> Option<Self> {
        let tasks = EndedTasks::listen(cpus).ok()?;
        Some(Self { tasks, names: HashMap::new() })
    }

    /// Fills `endings` with those since the last time. False where that is not known any more.
    pub fn take(&mut self, endings: &mut Endings) -> bool {
        endings.named.clear();
        let names = &mut self.names;
        let taken = self.tasks.take(|task| match task.all_used_ns {
            Some(used_ns) => {
                // The first thread ends last, or is the one that has begun another program since.
                let first = names.remove(&task.process).filter(|_| task.thread != task.process);
                let name = first.unwrap_or_else(|| ThreadName::new(task.name));
                endings.named.push(Ending { pid: task.process, folder: None, name, used_ns });
            }
            None if task.thread == task.process && names.len() < NAMES_MAX => {
                names.insert(task.process, ThreadName::new(task.name));
            }
            None => {}
        });
        let is_lossy = matches!(taken, Ok(false));
        if is_lossy {
            names.clear();
        }
        // How many were lost nobody says.
        endings.unnamed = u64::from(is_lossy);
        taken.is_ok()
    }
}
