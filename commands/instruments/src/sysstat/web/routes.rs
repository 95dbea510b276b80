//! What is answered to a request: who may ask, under which name, and for what. URLs name the host, so that one page may show many.

use super::access::Secrets;
use super::address::OwnNames;
use super::board::{HostBoard, HostNews};
use super::events::{Activity, AnswerBody, EventStream, NewsSource};
use super::files::FILES;
use super::fleet_board::{FleetBoard, FleetNews, FleetTableView};
use crate::sysstat::open_metrics::ExpositionFormat;
use ::fleet::viewer::HostId;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// What a listener serves.
pub struct Site {
    /// Names under which it is asked for.
    pub names: OwnNames,
    /// Secrets of pages; none where only metrics are served, to whoever asks.
    pub secrets: Option<Secrets>,
    /// Hosts; the first is this one.
    pub hosts: Vec<Arc<HostBoard>>,
    /// The hosts of a fleet, in place of these.
    pub fleet: Option<Arc<FleetBoard>>,
}

/// LIMIT: bytes of a body; the only one that is read is a token.
const BODY_MAX: usize = 256;
/// LIMIT: how long it may take.
const BODY_TIME: Duration = Duration::from_secs(10);

/// On every answer: nothing from elsewhere is run or shown, nothing of it elsewhere.
const GUARDS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The answer to a request.
pub async fn answer<B>(site: &Site, activity: &Arc<Activity>, request: Request<B>) -> Response<AnswerBody>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    activity.note();
    let mut answer = match refusal(site, request.headers()) {
        Some(refused) => refused,
        None if request.method() == Method::POST && request.uri().path() == "/api/login" => log_in(site, request).await,
        None => get(site, activity, &request),
    };
    let headers = answer.headers_mut();
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Who is sent away whatever is asked for.
fn refusal(site: &Site, headers: &HeaderMap) -> Option<Response<AnswerBody>> {
    let host = text_of(headers, header::HOST);
    if !site.names.include(host) {
        let message = "mh sysstat does not answer under this name: use the address, the host's own name or localhost\n";
        return Some(text(StatusCode::MISDIRECTED_REQUEST, message));
    }
    let origin = headers.get(header::ORIGIN).map(|_| text_of(headers, header::ORIGIN));
    let is_foreign = origin.is_some_and(|origin| !OwnNames::is_same_origin(origin, host));
    is_foreign.then(|| text(StatusCode::FORBIDDEN, "a page of another origin may not ask\n"))
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A token for a cookie.
async fn log_in<B>(site: &Site, request: Request<B>) -> Response<AnswerBody>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Some(secrets) = &site.secrets else { return text(StatusCode::NOT_FOUND, "there is no such page\n") };
    // Browsers send it with every POST, so whoever does not is no page of ours.
    if !request.headers().contains_key(header::ORIGIN) {
        return text(StatusCode::FORBIDDEN, "a request without Origin is refused\n");
    }
    let body = tokio::time::timeout(BODY_TIME, Limited::new(request.into_body(), BODY_MAX).collect()).await;
    let Ok(Ok(body)) = body else { return text(StatusCode::BAD_REQUEST, "a token is needed\n") };
    let body = body.to_bytes();
    let token = std::str::from_utf8(&body).unwrap_or_default();
    let cookie = secrets.cookie_for(token).and_then(|cookie| HeaderValue::from_str(&cookie).ok());
    let Some(cookie) = cookie else { return text(StatusCode::UNAUTHORIZED, "the token is wrong\n") };
    let mut answer = text(StatusCode::NO_CONTENT, "");
    answer.headers_mut().insert(header::SET_COOKIE, cookie);
    answer
}

fn get<B>(site: &Site, activity: &Arc<Activity>, request: &Request<B>) -> Response<AnswerBody> {
    let (path, headers) = (request.uri().path(), request.headers());
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is known here\n");
    }
    let Some(secrets) = &site.secrets else {
        return match path {
            "/metrics" => metrics(site.hosts.first(), headers),
            "/" => text(StatusCode::OK, "mh sysstat: metrics for Prometheus are at /metrics\n"),
            _ => text(StatusCode::NOT_FOUND, "there is no such page: metrics are at /metrics\n"),
        };
    };
    if let Some(file) = FILES.iter().find(|file| file.path == path) {
        let mut answer = whole(StatusCode::OK, file.content_type, Bytes::from_static(file.text.as_bytes()));
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        return answer;
    }
    if !secrets.admit(text_of(headers, header::COOKIE), text_of(headers, header::AUTHORIZATION)) {
        return text(StatusCode::UNAUTHORIZED, "open the URL that mh sysstat printed\n");
    }
    if let Some(path) = path.strip_prefix("/api/fleet").filter(|_| path != "/api/fleet") {
        return of_fleet(site, activity, path, request.uri().query().unwrap_or_default(), headers);
    }
    data(site, activity, path, headers)
}

/// Figures, for those who may see them.
fn data(site: &Site, activity: &Arc<Activity>, path: &str, headers: &HeaderMap) -> Response<AnswerBody> {
    let nothing = || text(StatusCode::NOT_FOUND, "there is no such page\n");
    if path == "/metrics" && site.fleet.is_some() {
        return text(StatusCode::NOT_FOUND, "of many hosts each has its own: /api/fleet/NUMBER/metrics\n");
    }
    if path == "/metrics" {
        return metrics(site.hosts.first(), headers);
    }
    if path == "/api/site" {
        return json_text(json!({"is_fleet": site.fleet.is_some()}).to_string());
    }
    if let Some(fleet) = site.fleet.as_ref().filter(|_| path == "/api/fleet") {
        return json_text(fleet.list().to_string());
    }
    let Some(path) = path.strip_prefix("/api/hosts") else { return nothing() };
    if path.is_empty() {
        return hosts(site);
    }
    let Some((name, what)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else { return nothing() };
    let board = site.hosts.iter().find(|board| in_path(&board.known().facts.name) == name);
    of_host(board.cloned(), activity, what, headers)
}

/// Figures of one host.
fn of_host(
    board: Option<Arc<HostBoard>>,
    activity: &Arc<Activity>,
    what: &str,
    headers: &HeaderMap,
) -> Response<AnswerBody> {
    let Some(board) = board else { return text(StatusCode::NOT_FOUND, "there is no such host\n") };
    // EventSource sends it when it comes back.
    let seen = text_of(headers, HeaderName::from_static("last-event-id")).parse().unwrap_or(0);
    match what {
        "events" => events(Box::new(HostNews::new(board, seen)), activity),
        "page" => json_text(board.news(seen).1),
        "now" => json_text(board.json()),
        "metrics" => metrics(Some(&board), headers),
        _ => text(StatusCode::NOT_FOUND, "there is no such page\n"),
    }
}

/// Figures of many: the table, or one host by its number.
fn of_fleet(
    site: &Site,
    activity: &Arc<Activity>,
    path: &str,
    query: &str,
    headers: &HeaderMap,
) -> Response<AnswerBody> {
    let Some(fleet) = &site.fleet else { return text(StatusCode::NOT_FOUND, "this is one host's page\n") };
    let table = || Box::new(FleetNews::new(Arc::clone(fleet), FleetTableView::of_query(query)));
    match path {
        "/events" => return events(table(), activity),
        "/page" => return json_text(table().news().map_or_else(|| "{}".to_owned(), |(_, news)| news)),
        _ => {}
    }
    let Some((number, what)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return text(StatusCode::NOT_FOUND, "there is no such page\n");
    };
    // Its past is read only for those who see it.
    let board = |id| match what {
        "events" | "page" => fleet.open(id),
        "now" | "metrics" => fleet.look(id),
        _ => None,
    };
    of_host(number.parse().ok().map(HostId).and_then(board), activity, what, headers)
}

fn events(source: Box<dyn NewsSource>, activity: &Arc<Activity>) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::Events(Box::new(EventStream::new(source, Arc::clone(activity)))));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

fn hosts(site: &Site) -> Response<AnswerBody> {
    let one = |board: &Arc<HostBoard>| {
        let facts = &board.known().facts;
        let name = terminal::printable(&facts.name);
        json!({"name": name, "path": in_path(&facts.name), "kernel": facts.kernel, "version": facts.version, "tier": facts.tier})
    };
    json_text(json!(site.hosts.iter().map(one).collect::<Vec<_>>()).to_string())
}

/// A name as a part of a URL's path.
fn in_path(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let written = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(written).collect()
}

fn metrics(board: Option<&Arc<HostBoard>>, headers: &HeaderMap) -> Response<AnswerBody> {
    let format = ExpositionFormat::accepted(text_of(headers, header::ACCEPT));
    match board.and_then(|board| board.metrics(format)) {
        Some(text) => whole(StatusCode::OK, format.content_type(), Bytes::from(text)),
        None => text(StatusCode::SERVICE_UNAVAILABLE, "nothing has been sampled yet\n"),
    }
}

fn json_text(text: String) -> Response<AnswerBody> {
    whole(StatusCode::OK, "application/json", Bytes::from(text))
}

fn text(status: StatusCode, message: &'static str) -> Response<AnswerBody> {
    whole(status, "text/plain; charset=utf-8", Bytes::from_static(message.as_bytes()))
}

fn whole(status: StatusCode, content_type: &'static str, bytes: Bytes) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::Whole(Some(bytes)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

#[cfg(test)]
mod tests;
