//! Tables of hosts that are made up: what a reader gets, and how much of it.

use super::*;
use crate::sysstat::fleet::FleetRow;
use crate::sysstat::fleet::made_up::{fleet_of, take_looks};
use table::ROWS_MAX;

fn board_of(shared: &SharedFleet) -> Arc<FleetBoard> {
    board_since(shared, Instant::now())
}

fn board_since(shared: &SharedFleet, start: Instant) -> Arc<FleetBoard> {
    let board = Arc::new(FleetBoard::new(Duration::from_secs(1)));
    board.publish(shared, start);
    board
}

fn read(board: &Arc<FleetBoard>, query: &str) -> FleetNews {
    FleetNews::new(Arc::clone(board), FleetTableView::of_query(query))
}

fn next(news: &mut FleetNews) -> Value {
    news.news().map_or(Value::Null, |(_, text)| serde_json::from_str(&text).expect("JSON"))
}

fn names(news: &Value) -> Vec<&str> {
    news["rows"].as_array().into_iter().flatten().map(|row| row[1].as_str().expect("a name")).collect()
}

#[test]
fn a_reader_gets_all_at_first_and_then_what_has_changed() {
    let shared = fleet_of(&[("busy", 97, 20), ("web1", 5, 20), ("web2", 6, 20), ("web3", 7, 20), ("web4", 8, 20)]);
    let start = Instant::now();
    let board = board_since(&shared, start);
    let mut reader = read(&board, "");
    let first = next(&mut reader);
    assert_eq!(names(&first), ["busy", "4 hosts alike"]);
    assert_eq!(
        (&first["head"][0][0], &first["order"], &first["left"]),
        (&json!("5 hosts"), &json!([1, "alike1"]), &json!(0))
    );
    let busy = &first["rows"][0];
    assert_eq!((&busy[2], &busy[5][0], &busy[5][4]), (&json!("ok"), &json!(["97.0", "bad"]), &json!("20")));
    assert_eq!(first["rows"][1][5][0], "5-8");
    assert_eq!(first["rows"][1][4], "web1 web2 web3 web4");
    assert_eq!(next(&mut reader), Value::Null, "nothing has changed");
    take_looks(&shared, HostId(1), 96, 20, 3);
    board.publish(&shared, start + Duration::from_millis(999));
    assert_eq!(next(&mut reader), Value::Null, "not before its time");
    board.publish(&shared, start + Duration::from_secs(1));
    let second = next(&mut reader);
    assert_eq!(names(&second), ["busy"]);
    assert!(second["order"].is_null() && second["head"].is_null(), "{second}");
}

#[test]
fn a_view_filters_orders_and_unfolds() {
    let hosts: Vec<(String, u64, u64)> = (1..=9).map(|at| (format!("web{at}"), at, 30 - at)).collect();
    let hosts: Vec<(&str, u64, u64)> =
        hosts.iter().map(|(name, busy, memory)| (name.as_str(), *busy, *memory)).collect();
    let board = board_of(&fleet_of(&hosts));
    let order = |query: &str| {
        let news = next(&mut read(&board, query));
        names(&news).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(order(""), ["9 hosts alike"]);
    assert_eq!(order("each=1").len(), 9);
    assert_eq!(order("only=web3"), ["web3"]);
    assert_eq!(order("only=%77eb%33&x"), ["web3"], "percent signs");
    assert!(order("only=%3Cweb").is_empty() && order("only=%zz%").is_empty());
    let falls = order("column=4");
    assert_eq!((falls.len(), falls[0].as_str(), falls[8].as_str()), (9, "web1", "web9"), "by memory");
    assert_eq!(order("column=4&rises=1")[0], "web9");
    assert_eq!((order("column=11"), order("column=x")), (order(""), order("")));
}

#[test]
fn a_thousand_hosts_cost_a_reader_what_changes() {
    let names: Vec<String> = (1..=1000).map(|at| format!("node{at:04}.example.com")).collect();
    let hosts: Vec<(&str, u64, u64)> = names.iter().map(|name| (name.as_str(), 5, 20)).collect();
    let shared = fleet_of(&hosts);
    let board = board_of(&shared);
    let (mut folded, mut each) = (read(&board, ""), read(&board, "each=1"));
    let sizes = [&mut folded, &mut each].map(|reader| reader.news().map_or(0, |(_, text)| text.len()));
    assert!(sizes[0] < 2_000 && sizes[1] < 50_000, "{sizes:?}");
    assert_eq!(each.sent.count(), ROWS_MAX);
    // All of them change, as they do each second.
    for at in 1..=1000 {
        take_looks(&shared, HostId(at), 5 + u64::from(at % 7), 20, 3);
    }
    board.publish(&shared, Instant::now() + Duration::from_secs(2));
    let sizes = [&mut folded, &mut each].map(|reader| reader.news().map_or(0, |(_, text)| text.len()));
    assert!(sizes[0] < 2_000 && sizes[1] < 50_000, "{sizes:?}");
}

#[test]
fn a_host_is_open_as_long_as_somebody_watches() {
    let shared = fleet_of(&[("web1", 5, 20), ("web2", 6, 20)]);
    let start = Instant::now();
    let board = board_since(&shared, start);
    assert!(board.open(HostId(3)).is_none());
    let opened = board.open(HostId(2)).expect("there");
    assert!(Arc::ptr_eq(&opened, &board.open(HostId(2)).expect("there")));
    let news = |host: &Arc<HostBoard>| serde_json::from_str::<Value>(&host.news(0).1).expect("JSON");
    assert_eq!(news(&opened)["host"]["name"], "web2");
    let points = |host: &Arc<HostBoard>| news(host)["points"].as_array().map_or(0, Vec::len);
    assert_eq!(points(&opened), 1, "its past is there");
    take_looks(&shared, HostId(2), 7, 20, 3);
    board.publish(&shared, start);
    assert_eq!(points(&opened), 3, "before the table's time, and both that came");
    assert!(news(&opened)["standing"].is_null());
    shared.take(::fleet::viewer::FleetEvent::Gone { host: HostId(2) });
    board.publish(&shared, start + Duration::from_secs(1));
    assert_eq!(news(&opened)["standing"][0], "gone");
    drop(opened);
    board.publish(&shared, start);
    assert!(board.state.lock().opened.is_empty());
}

#[test]
fn what_comes_between_reading_the_past_and_following_is_neither_missed_nor_taken_twice() {
    let shared = fleet_of(&[("web1", 5, 20)]);
    let start = Instant::now();
    let board = board_since(&shared, start);
    let row = shared.rows()[0].1.clone();
    let past = HostBoard::with_past(&row.host);
    take_looks(&shared, HostId(1), 7, 20, 3);
    let opened = board.keep(HostId(1), &row, past);
    take_looks(&shared, HostId(1), 7, 20, 5);
    let times = || {
        let news: Value = serde_json::from_str(&opened.news(0).1).expect("JSON");
        let points = news["points"].as_array().expect("points").iter().map(|point| point[1].as_f64().expect("a time"));
        points.collect::<Vec<_>>()
    };
    assert_eq!(times(), [2.0]);
    board.publish(&shared, start);
    assert_eq!(times(), [2.0, 3.0, 4.0, 5.0, 6.0]);
    board.publish(&shared, start);
    assert_eq!(times(), [2.0, 3.0, 4.0, 5.0, 6.0], "nothing has come");
}

#[test]
fn one_who_looks_once_has_the_newest_figures_and_opens_nothing() {
    let shared = fleet_of(&[("web1", 5, 20)]);
    let board = board_of(&shared);
    take_looks(&shared, HostId(1), 7, 20, 3);
    let looked: Value = serde_json::from_str(&board.look(HostId(1)).expect("there").json()).expect("JSON");
    assert_eq!((&looked["host"]["name"], &looked["time_ns"]), (&json!("web1"), &json!(4_000_000_000_u64)));
    assert!(board.look(HostId(2)).is_none() && !board.is_open(HostId(1)));
    let opened = board.open(HostId(1)).expect("there");
    assert!(board.is_open(HostId(1)) && Arc::ptr_eq(&opened, &board.look(HostId(1)).expect("there")));
}

#[test]
fn text_from_hosts_is_harmless_and_bounded() {
    let shared = fleet_of(&[("web1", 5, 20)]);
    let reason = format!("\u{202e}<b>{}\n", "x".repeat(999));
    shared.take(::fleet::viewer::FleetEvent::Lost { host: HostId(1), since: None, reason, next_try: Duration::ZERO });
    let news = next(&mut read(&board_of(&shared), ""));
    let text = news["rows"][0][4].as_str().expect("text");
    assert!(text.starts_with("\\u{202e}<b>x") && text.len() == 240, "{text}");
    let row: &FleetRow = &shared.rows()[0].1;
    assert_eq!(standing(row)[0], "not reached");
    assert_eq!(news["rows"][0][5], json!([]), "no old figures");
}
