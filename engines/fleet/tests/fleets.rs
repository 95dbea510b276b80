//! Whole fleets: agents and viewers that talk over sockets. Parts of them are tested beside their code.

mod loopback;
mod namespaces;
mod real_ssh;
mod ssh_hosts;
mod stage;
mod thousand;
