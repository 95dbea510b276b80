//! Requests and what they are answered.

use super::*;
use crate::sysstat::fleet::made_up::fleet_of;
use crate::sysstat::session::HostSession;
use http_body_util::Full;
use observe::host::recording::HostFacts;
use observe::host::snapshot::Snapshot;
use observe::source::accounts::Accounts;
use serde_json::Value;

struct Asked {
    status: u16,
    headers: HeaderMap,
    body: String,
}

fn board(name: &str) -> Arc<HostBoard> {
    let facts = HostFacts { name: name.to_owned(), ..HostFacts::default() };
    let board = HostBoard::new(facts.clone(), Accounts::default());
    let mut session = HostSession::remote(facts);
    for second in 1..=3 {
        let mut snapshot = Snapshot::default();
        (snapshot.at.monotonic_ns, snapshot.at.wall_ns) = (second * 1_000_000_000, second * 1_000_000_000);
        session.push(snapshot);
        board.publish(&session);
    }
    Arc::new(board)
}

fn site() -> Site {
    let secrets = Some(Secrets::new(7780).expect("random bytes"));
    Site {
        names: OwnNames::new("web7", "127.0.0.1"), secrets, hosts: vec![board("web7"), board("b ä/<")], fleet: None
    }
}

fn ask(site: &Site, method: &str, path: &str, headers: &[(&str, &str)], body: &'static str) -> Asked {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:7780");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a request");
        let mut answer = answer(site, &Activity::new(), request).await;
        let body = match answer.body_mut() {
            AnswerBody::Whole(bytes) => bytes.take().expect("not sent yet"),
            events => events.frame().await.expect("news").expect("no error").into_data().expect("data"),
        };
        let body = String::from_utf8(body.to_vec()).expect("text");
        Asked { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
    })
}

fn bearer(site: &Site) -> String {
    format!("Bearer {}", site.secrets.as_ref().expect("pages").token())
}

#[test]
fn a_token_is_exchanged_for_a_cookie_that_opens_the_figures() {
    let site = site();
    let token: &'static str = site.secrets.as_ref().expect("pages").token().to_owned().leak();
    let origin = ("origin", "http://127.0.0.1:7780");
    assert_eq!(ask(&site, "GET", "/api/hosts", &[], "").status, 401);
    assert_eq!(ask(&site, "POST", "/api/login", &[origin], "guess").status, 401);
    assert_eq!(ask(&site, "POST", "/api/login", &[], token).status, 403, "no page of ours");
    assert_eq!(ask(&site, "POST", "/api/login", &[origin], "x".repeat(BODY_MAX + 1).leak()).status, 400);
    let entered = ask(&site, "POST", "/api/login", &[origin], token);
    assert_eq!(entered.status, 204);
    let cookie = entered.headers["set-cookie"].to_str().expect("text");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(token));
    let cookie = cookie.split(';').next().expect("a cookie");
    let hosts: Value =
        serde_json::from_str(&ask(&site, "GET", "/api/hosts", &[("cookie", cookie)], "").body).expect("JSON");
    assert_eq!((&hosts[0]["name"], &hosts[1]["path"]), (&json!("web7"), &json!("b%20%C3%A4%2F%3C")));
    for what in ["page", "now", "metrics", "events"] {
        let path = format!("/api/hosts/b%20%C3%A4%2F%3C/{what}");
        assert_eq!(ask(&site, "GET", &path, &[("cookie", cookie)], "").status, 200, "{what}");
        assert_eq!(ask(&site, "GET", &path, &[], "").status, 401, "{what}");
    }
}

#[test]
fn names_and_origins_of_others_are_refused_whatever_they_know() {
    let site = site();
    let bearer = bearer(&site);
    let ask = |path, name, value| ask(&site, "GET", path, &[("authorization", &bearer), (name, value)], "").status;
    assert_eq!((ask("/", "host", "evil.example"), ask("/metrics", "host", "evil.example:7780")), (421, 421));
    assert_eq!((ask("/metrics", "host", "web7:1"), ask("/metrics", "host", "localhost")), (200, 200));
    for origin in ["null", "http://evil.example", "http://127.0.0.1:80"] {
        assert_eq!(ask("/metrics", "origin", origin), 403, "{origin}");
    }
    assert_eq!(ask("/metrics", "origin", "http://127.0.0.1:7780"), 200);
}

#[test]
fn every_answer_forbids_what_a_page_may_not_do() {
    let site = site();
    for (path, status) in [("/", 200), ("/app.js", 200), ("/uplot.js", 200), ("/nothing", 401), ("/api/hosts", 401)] {
        let asked = ask(&site, "GET", path, &[], "");
        assert_eq!(asked.status, status, "{path}");
        let policy = asked.headers["content-security-policy"].to_str().expect("text");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(asked.headers["x-content-type-options"], "nosniff");
        assert!(
            asked.headers.contains_key("cache-control") && !asked.headers.contains_key("access-control-allow-origin")
        );
    }
    assert_eq!(ask(&site, "DELETE", "/", &[], "").status, 405);
}

#[test]
fn one_who_comes_back_gets_what_was_missed() {
    let site = site();
    let bearer = bearer(&site);
    let first = ask(&site, "GET", "/api/hosts/web7/events", &[("authorization", &bearer)], "");
    assert_eq!(first.headers["content-type"], "text/event-stream");
    assert!(
        first.body.starts_with("retry: 2000\nid: 3\ndata: {\"n\":3,\"columns\":[\"n\"")
            && first.body.ends_with("}\n\n")
    );
    let again = ask(&site, "GET", "/api/hosts/web7/events", &[("authorization", &bearer), ("last-event-id", "2")], "");
    assert!(
        again.body.contains("\"columns\":null,\"points\":[[3,3.0,") && !again.body.contains("[[2,"),
        "{}",
        again.body
    );
    let unknown = ask(&site, "GET", "/api/hosts/web8/events", &[("authorization", &bearer)], "");
    assert_eq!(unknown.status, 404);
}

#[test]
fn the_past_of_a_host_is_read_for_those_who_see_it() {
    let shared = fleet_of(&[("web1", 5, 20), ("web2", 6, 20)]);
    let fleet = Arc::new(FleetBoard::new(Duration::from_secs(1)));
    fleet.publish(&shared, std::time::Instant::now());
    let site = Site { hosts: Vec::new(), fleet: Some(Arc::clone(&fleet)), ..site() };
    let bearer = bearer(&site);
    let ask = |path: &str| ask(&site, "GET", path, &[("authorization", &bearer)], "");
    let now: Value = serde_json::from_str(&ask("/api/fleet/2/now").body).expect("JSON");
    assert_eq!(now["host"]["name"], "web2");
    assert!(ask("/api/fleet/2/metrics").body.contains("\nnode_memory_MemTotal_bytes 107374182400\n"));
    assert_eq!((ask("/api/fleet/2/nothing").status, ask("/api/fleet/3/now").status), (404, 404));
    assert!(!fleet.is_open(HostId(2)), "nobody has asked for its past");
    for (number, what) in [(1, "page"), (2, "events")] {
        let asked = ask(&format!("/api/fleet/{number}/{what}"));
        assert!(asked.status == 200 && asked.body.contains("\"points\":[["), "{}", asked.body);
        assert!(fleet.is_open(HostId(number)));
    }
}

#[test]
fn metrics_alone_are_served_without_a_token_and_nothing_else_is() {
    let site = Site { secrets: None, ..site() };
    let openmetrics = [("accept", "application/openmetrics-text; version=1.0.0")];
    let asked = ask(&site, "GET", "/metrics", &openmetrics, "");
    assert!(asked.status == 200 && asked.body.ends_with("# EOF\n"));
    assert_eq!(asked.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let asked = ask(&site, "GET", "/metrics", &[], "");
    assert_eq!(asked.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for path in ["/api/hosts", "/api/hosts/web7/now", "/app.js"] {
        assert_eq!(ask(&site, "GET", path, &[], "").status, 404, "{path}");
    }
    assert_eq!(ask(&site, "POST", "/api/login", &[("origin", "http://127.0.0.1:7780")], "").status, 404);
    assert_eq!(ask(&site, "GET", "/metrics", &[("host", "evil.example")], "").status, 421);
}

#[test]
fn noise_in_a_head_is_refused_and_no_panic() {
    let site = site();
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let pieces = [
        "127.0.0.1",
        "[",
        "]",
        ":",
        "::1",
        "http://",
        "localhost",
        "=",
        ";",
        ",",
        "q=",
        " ",
        "mh-7780",
        "\u{fe}",
        "9",
        "%",
        "Bearer ",
    ];
    for _ in 0..300 {
        let mut noise = || (0..next(6)).map(|_| pieces[next(pieces.len() as u64) as usize]).collect::<String>();
        let (host, cookie, accept, id, token) = (noise(), noise(), noise(), noise(), noise());
        let headers = [
            ("host", &host),
            ("cookie", &cookie),
            ("accept", &accept),
            ("last-event-id", &id),
            ("authorization", &token),
        ];
        let headers = headers.map(|(name, value)| (name, value.as_str()));
        let status = ask(&site, "GET", "/api/hosts/web7/page", &headers, "").status;
        assert!(matches!(status, 401 | 421), "{status}: {headers:?}");
    }
}
