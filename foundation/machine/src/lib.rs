//! What this host offers this process: CPUs, quota, memory, storage.
//! Reads `/proc`, `/sys` and cgroup files into typed values; knows no file format of users, no flag, and prints nothing.
//! Every reader takes a [`Host`], whose root a test may move to a fake tree. [`Machine::look`] never fails: what could not
//! be read is guessed safely and listed as a [`Guess`].

mod affinity;
mod cgroup;
mod clock_source;
#[cfg(test)]
mod fake_host;
mod host;
mod lock_limit;
mod locks;
mod memory;
mod mounts;
mod nodes;
mod pressure;
mod process;
mod processor_time;
mod run_queue;
mod snapshot;
mod storage;
mod topology;

pub use affinity::{allowed_cpu_numbers, allowed_cpus, online_cpus, possible_cpus};
pub use cgroup::{
    ControlGroups, Controller, CpuQuota, GroupMemory, GroupTasks, Membership, cpu_quota, group_number, is_frozen,
    memberships,
};
pub use clock_source::{ClockSource, clock_source, counter_is_steady};
pub use host::{FieldFault, Host, HostError};
pub use lock_limit::{lockable_bytes, lockable_bytes_of};
pub use locks::lock_holder;
pub use memory::{HostMemory, ProcessMemory, host_memory, process_memory};
pub use mounts::{DeviceNumber, Mount, mounts};
pub use nodes::{NumaNode, free_huge_pages, numa_nodes};
pub use pressure::{Pressure, Resource, own_run_delay_ns, pressure, thread_run_delay_ns};
pub use process::{
    ProcessFacts, ProcessIo, own_pid_namespace, process_cpu_ticks, process_facts, process_io, process_name,
    process_variable, sees_the_kernels_numbers, thread_numbers,
};
pub use processor_time::{ProcessorTime, processor_time};
pub use run_queue::runnable_threads;
pub use snapshot::{Guess, Machine};
pub use storage::{Storage, StorageKind, is_on_this_machine, storage_of, storage_of_device};
pub use topology::{Topology, topology};
