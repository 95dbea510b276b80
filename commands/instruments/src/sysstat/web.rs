//! `mh sysstat --web` and `--metrics`: this host, or many, for browsers and for Prometheus, beside the screen or alone. Reading order:
//! WebArgs -> WebServer -> board, fleet_board, routes, server.
//!
//! HTTP is hyper's, on tokio with one thread: it reads heads within bounds of size and time, and asks for a body's next part only when
//! the connection has room, so a slow browser loses frames and nothing is queued. Blocking servers of fewer lines (tiny_http, rouille)
//! take a thread for each stream of events and bound neither. There is no TLS: elsewhere than on this host, use `ssh -L`.

mod access;
mod address;
mod board;
mod events;
mod files;
mod fleet_board;
mod routes;
mod server;
#[cfg(test)]
pub mod soak;
mod view;

use super::fleet::SharedFleet;
use super::local::standing_facts;
use super::session::HostSession;
use access::Secrets;
use address::{ListenAddress, OwnNames, in_url};
use board::HostBoard;
use clap::Args;
use fleet_board::FleetBoard;
use mh_kit::failure::Failure;
use routes::Site;
use server::ServerThread;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where pages and metrics are served, as typed.
#[derive(Args, Clone, Debug, Default)]
pub struct WebArgs {
    /// Serve this host, or many, to browsers, at the URL that is printed [default ADDR: 127.0.0.1:7780]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["replay", "once"])]
    web: Option<String>,

    /// Serve metrics to Prometheus, without a password [default ADDR: 127.0.0.1:9101]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["replay", "once"])]
    metrics: Option<String>,
}

/// node_exporter has 9100.
const METRICS_PORT: u16 = 9101;
const WEB_PORT: u16 = 7780;
/// LIMIT: rows of many hosts are sent no more often.
const PACE_LEAST: Duration = Duration::from_secs(1);

impl WebArgs {
    /// Whether anything is to be served.
    pub fn serve(&self) -> bool {
        self.web.is_some() || self.metrics.is_some()
    }

    /// Whether pages are to be served, which may show many hosts.
    pub fn serve_pages(&self) -> bool {
        self.web.is_some()
    }

    /// Whether metrics are to be served, which are of this host.
    pub fn serve_metrics(&self) -> bool {
        self.metrics.is_some()
    }
}

/// What is shown.
enum Shown {
    Host(Arc<HostBoard>),
    Fleet(Arc<FleetBoard>),
}

/// A server of this host, or of many.
pub struct WebServer {
    shown: Shown,
    /// Where it is found, a line each.
    pub notice: Vec<String>,
    _thread: ServerThread,
}

impl WebServer {
    /// Begins to serve this host; none where nothing is to be served.
    pub fn start(command: &'static str, args: &WebArgs, session: &HostSession) -> Result<Option<Self>, Failure> {
        let board = Arc::new(HostBoard::new(session.facts.clone(), session.accounts.clone()));
        Self::serve(command, args, &session.facts.name, Shown::Host(board))
    }

    /// Begins to serve many hosts, whose rows are new once a second, or less often if they are looked at less often.
    pub fn start_fleet(command: &'static str, args: &WebArgs, interval: Duration) -> Result<Option<Self>, Failure> {
        let board = Arc::new(FleetBoard::new(interval.max(PACE_LEAST)));
        Self::serve(command, args, &standing_facts().name, Shown::Fleet(board))
    }

    fn serve(command: &'static str, args: &WebArgs, own_name: &str, shown: Shown) -> Result<Option<Self>, Failure> {
        if !args.serve() {
            return Ok(None);
        }
        let (hosts, fleet) = match &shown {
            Shown::Host(board) => (vec![Arc::clone(board)], None),
            Shown::Fleet(board) => (Vec::new(), Some(Arc::clone(board))),
        };
        let could_not = |operation: &str, error: &std::io::Error| Failure::Environment {
            command,
            message: format!("{operation}: {}", sys::error_text::message(error)),
        };
        let (mut sites, mut notice) = (Vec::new(), Vec::new());
        let wanted = [(&args.web, "--web", WEB_PORT), (&args.metrics, "--metrics", METRICS_PORT)];
        for (typed, option, port) in wanted {
            let Some(typed) = typed else { continue };
            let address = ListenAddress::parse(typed, port)
                .map_err(|reason| Failure::Usage { command, message: format!("{option}: {reason}") })?;
            let (listener, bound) = listen(command, &address)?;
            let secrets = if option == "--web" { Some(Secrets::new(bound.port())) } else { None };
            let secrets = secrets.transpose().map_err(|error| could_not("get random bytes", &error))?;
            notice.push(match &secrets {
                Some(secrets) => format!("web: http://{}/#token={}", in_url(bound), secrets.token()),
                None => format!("metrics: http://{}/metrics", in_url(bound)),
            });
            let names = OwnNames::new(own_name, &address.host);
            sites.push((listener, Site { names, secrets, hosts: hosts.clone(), fleet: fleet.clone() }));
        }
        let thread = ServerThread::start(sites).map_err(|error| could_not("start the web server", &error))?;
        Ok(Some(Self { shown, notice, _thread: thread }))
    }

    /// The session has something new.
    pub fn publish(&self, session: &HostSession) {
        if let Shown::Host(board) = &self.shown {
            board.publish(session);
        }
    }

    /// The hosts may have something new.
    pub fn publish_fleet(&self, shared: &SharedFleet) {
        if let Shown::Fleet(board) = &self.shown {
            board.publish(shared, Instant::now());
        }
    }
}

fn listen(command: &'static str, address: &ListenAddress) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = address.resolve().and_then(|all| {
        let listener = TcpListener::bind(all.as_slice())?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    });
    bound.map_err(|error| {
        let typed = terminal::quote_text(&format!("{}:{}", address.host, address.port));
        Failure::Environment { command, message: format!("listen at {typed}: {}", sys::error_text::message(&error)) }
    })
}
