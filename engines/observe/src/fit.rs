//! How many more fit: what one more instance costs, what is left, and which of the limits is met first.
//! `survey` reads the host, `estimate` is pure arithmetic on what was read. Theory: "How many more fit" in this crate's README.

pub mod estimate;
mod limits;
mod patience;
pub mod survey;

use serde::Serialize;

/// What is counted as one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instances {
    /// All processes of a user are one; of this user only, or of all.
    Users(Option<u32>),
    /// Each process is one that has this name, and these words in its command line.
    Processes {
        /// The name, as `ps -o comm` shows it.
        name: String,
        /// What must stand in the command line.
        words: Option<String>,
    },
    /// All processes in this control group and below are one.
    Group(String),
}

/// Memory that one more would take, in bytes. Pages of the pool of huge pages are no part of the machine's memory that is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryCost {
    /// Anonymous memory of its own, less stacks: what programs call the heap, and all the like.
    pub heap_bytes: u64,
    /// Stacks of first threads.
    pub stack_bytes: u64,
    /// Swapped out.
    pub swap_bytes: u64,
    /// Page tables.
    pub tables_bytes: u64,
    /// Kernel stacks, and the kernel's own records of threads and processes.
    pub kernel_bytes: u64,
    /// Private pages of the pool of huge pages.
    pub huge_bytes: u64,
}

impl MemoryCost {
    /// All of it but for the pool's.
    pub fn total_bytes(&self) -> u64 {
        [self.heap_bytes, self.stack_bytes, self.swap_bytes, self.tables_bytes, self.kernel_bytes]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    fn add(&mut self, other: &Self) {
        self.heap_bytes = self.heap_bytes.saturating_add(other.heap_bytes);
        self.stack_bytes = self.stack_bytes.saturating_add(other.stack_bytes);
        self.swap_bytes = self.swap_bytes.saturating_add(other.swap_bytes);
        self.tables_bytes = self.tables_bytes.saturating_add(other.tables_bytes);
        self.kernel_bytes = self.kernel_bytes.saturating_add(other.kernel_bytes);
        self.huge_bytes = self.huge_bytes.saturating_add(other.huge_bytes);
    }
}

/// One instance as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Instance {
    /// User, process or group; may hold anything but bytes that are no text.
    pub name: String,
    /// The process, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its processes.
    pub processes: u64,
    /// Its threads.
    pub threads: u64,
    /// What it has to itself.
    pub cost: MemoryCost,
    /// Shared memory that nobody else has: left out of what one more costs.
    pub own_shared_bytes: u64,
    /// The sum of what `ps` calls its resident size, for contrast.
    pub resident_bytes: u64,
    /// CPU it used while it was watched, in cores.
    pub cores: f64,
    /// Open descriptors; none where they may not be counted.
    pub descriptors: Option<u64>,
    /// Growth of its anonymous memory while it was watched.
    pub growth_bytes: i64,
    /// Its processes whose pages were looked at one by one.
    pub read_in_detail: u64,
}

/// What the host has left. What cannot be read is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostRoom {
    /// Memory of the machine.
    pub memory_total_bytes: u64,
    /// What new programs may have without swapping, as the kernel estimates.
    pub memory_available_bytes: u64,
    /// What the pools of huge pages have left, all sizes together; none where there is no pool.
    pub huge_bytes: Option<u64>,
    /// What the control groups of the instances still allow.
    pub group_memory_bytes: Option<u64>,
    /// CPUs that are switched on.
    pub cpus: u32,
    /// CPU that nobody used while it was watched, in cores.
    pub idle_cores: Option<f64>,
    /// CPU quota of the instances' groups, in cores.
    pub quota_cores: Option<f64>,
    /// Tasks that may be added, by each limit that there is.
    pub tasks: Vec<TaskRoom>,
    /// Open files that the system still allows.
    pub files: Option<u64>,
    /// Share of the last ten seconds in which something waited for memory, in percent.
    pub memory_pressure: Option<f64>,
}

/// A limit of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskRoom {
    /// Its name.
    pub limit: String,
    /// Tasks that may be added.
    pub left: u64,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostSurvey {
    /// The instances, most expensive first.
    pub instances: Vec<Instance>,
    /// What is left.
    pub room: HostRoom,
    /// For how long it was watched.
    pub watched_ns: u64,
    /// Processes of the instances.
    pub processes: u64,
    /// Those whose pages were looked at.
    pub read_in_detail: u64,
    /// CPU time which that took.
    pub detail_cpu_ns: u64,
    /// Processes that went away between two looks.
    pub vanished: u64,
    /// Threads of the machine that cannot be seen from here.
    pub hidden_threads: u64,
}
