//! What the kernel says about networks, and the sockets of queries and answers. Decides nothing about who may ask.

mod interfaces;
mod query_socket;
mod sleep;

pub(crate) use interfaces::{InterfaceWatch, NetworkView};
pub(crate) use query_socket::QuerySocket;
pub(crate) use sleep::{Ready, SleepList};
