//! Connections to real servers that the tests start, and to false ones that lie. A server that is not installed is named as left out.

mod postgres;
mod postgres_lies;

use std::time::Duration;
use wire::{Connection, Environment, ServerAddress};

/// Long enough for a busy machine; what is meant to run out of time has a limit of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// An address without anything from the environment.
fn address(text: &str) -> ServerAddress {
    ServerAddress::parse(text, &Environment::default()).expect("the test's address is one")
}

fn connected(text: &str) -> Connection {
    Connection::connect(&address(text), PATIENCE).expect("the test's server lets it in")
}
