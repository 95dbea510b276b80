//! The host as a whole: counters and gauges of CPUs, memory, disks, file systems, network and control groups, and the processes
//! beside them, as one snapshot a moment. The table of metrics is `fields`; everything that stores, sends or shows them is made of it.

pub mod envelope;
pub mod fields;
pub mod file_systems;
pub mod frame;
pub mod groups;
pub mod history;
pub mod interval;
pub mod metric_names;
pub mod oom;
pub mod processes;
pub mod recording;
pub mod sampler;
pub mod snapshot;
mod sources;
pub mod values;
pub mod verdict;
