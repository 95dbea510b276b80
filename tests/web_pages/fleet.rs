//! Many hosts in a real browser: by ssh, and by agents of a fleet.

use super::browser::Browser;
use super::{Served, get};
use crate::place::{Place, binary};
use crate::sysstat::{put_ssh, search};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use testkit::program::{TestProgram, left_out};

const ROWS: &str = "document.querySelectorAll('#fleet-rows tbody tr').length";

/// Twelve hosts by ssh and one that is not reached, for a reason with markup in it.
fn by_ssh(place: &Place) -> Served {
    put_ssh(place);
    let mut command = Command::new(binary());
    command.args(["sysstat", "--web=0", "--program"]).arg(binary()).args(["200ms", "web[1-12]", "gone"]);
    command.env("PATH", search(place).trim_start_matches("PATH="));
    command.env("GONE", "<img src=x onerror=\"document.title='owned'\">");
    Served::read(place, command, 1)
}

#[test]
fn a_user_finds_a_host_among_many_opens_it_and_comes_back() {
    let place = Place::new();
    let Some(mut browser) = Browser::start(&place) else { return left_out("chromium is not installed") };
    let served = by_ssh(&place);
    browser.order("Page.navigate", json!({"url": served.urls[0]}));
    browser.wait("document.querySelector('#host').textContent === '13 hosts'");
    assert_eq!(browser.evaluate("location.hash + document.cookie"), json!(""), "the token is gone");
    browser.wait("document.querySelectorAll('#fleet-rows td.bad').length > 0");
    let worst = browser.evaluate("document.querySelector('#fleet-rows tbody tr').innerText");
    let worst = worst.as_str().expect("text");
    assert!(worst.starts_with("gone") && worst.contains("no route to host <img src=x"), "{worst}");
    assert_eq!(browser.evaluate("document.querySelectorAll('td img').length"), json!(0));
    assert_ne!(browser.evaluate("document.title"), json!("owned"));

    browser.click("#each");
    browser.wait(&format!("{ROWS} === 13"));
    browser.wait("fleet.order.filter((key) => fleet.rows.get(key)[5].length > 0).length >= 6");
    for width in [400, 1000, 1600] {
        browser.picture("fleet", width, width != 1000);
    }
    browser.click("#fleet-rows th button[data-column='0']");
    browser.wait(
        "document.querySelector('#fleet-rows th button[data-column=\"0\"]').parentElement.ariaSort === 'descending'",
    );
    browser.wait(&format!("{ROWS} === 13 && fleet.rows.size === 13"));
    let used = browser
        .evaluate("Array.from(document.querySelectorAll('#fleet-rows tbody tr'), (row) => row.cells[2].innerText)");
    let used: Vec<&str> = used.as_array().expect("a list").iter().map(|text| text.as_str().expect("text")).collect();
    let figures: Vec<f64> = used.iter().filter_map(|text| text.trim_start_matches(['^', 'v']).parse().ok()).collect();
    assert!(figures.is_sorted_by(|one, other| one >= other) && used[12].is_empty(), "{used:?}");

    browser.click("#fleet-filter");
    browser.order("Input.insertText", json!({"text": "web12"}));
    browser.wait(&format!("{ROWS} === 1 && document.querySelector('#host').textContent === '1 host'"));
    document(&mut browser);
    browser.click("#fleet-rows tbody .open");
    browser.wait("document.querySelector('#host').textContent === 'web12'");
    browser.wait("document.querySelectorAll('#processes tbody tr').length > 1");
    browser.wait("document.querySelectorAll('.charts canvas').length === 5 && state.points.length > 1");
    for width in [400, 1000, 1600] {
        browser.picture("host", width, width != 1000);
    }
    assert_eq!(browser.evaluate("location.hash"), json!("#host=web12"), "a name means the same in the next run");
    browser.click("#back");
    browser.wait(&format!("{ROWS} === 1 && document.querySelector('#main').hidden"));
    browser.evaluate("history.back()");
    browser.wait("!document.querySelector('#main').hidden && document.querySelector('#host').textContent === 'web12'");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Draws the page's picture in the documents anew, if that is wanted: `MH_GOLDEN_ACCEPT=1`. Pictures are not compared.
fn document(browser: &mut Browser) {
    if std::env::var_os("MH_GOLDEN_ACCEPT").is_none_or(|value| value != "1") {
        return;
    }
    let filter = |text: &str| {
        format!(
            "(() => {{ const filter = document.querySelector('#fleet-filter'); filter.value = '{text}'; \
             filter.dispatchEvent(new Event('input')); }})()"
        )
    };
    browser.evaluate(&filter("web"));
    browser.wait(&format!("{ROWS} === 12"));
    let picture = browser.picture_of("documented", (1200, 440), false);
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/sysstat-web.png");
    std::fs::copy(picture, place).expect("written");
    browser.evaluate(&filter("web12"));
    browser.wait(&format!("{ROWS} === 1"));
}

#[test]
fn an_address_names_its_host_and_one_that_is_gone_is_not_asked_for_without_end() {
    let place = Place::new();
    let Some(mut browser) = Browser::start(&place) else { return left_out("chromium is not installed") };
    let served = by_ssh(&place);
    browser.order("Page.navigate", json!({"url": served.urls[0]}));
    browser.wait("document.querySelector('#host').textContent === '13 hosts'");
    let shows = |name: &str| {
        format!(
            "!document.querySelector('#main').hidden && document.querySelector('#host').textContent === '{name}' && state.points.length > 1"
        )
    };
    // The number is one of an earlier run, in which it was this host's.
    browser.evaluate("location.hash = 'host=web12&number=1'");
    browser.wait(&shows("web12"));
    browser.evaluate("location.reload()");
    browser.wait(&shows("web12"));
    browser.evaluate("location.hash = 'host=web3'");
    browser.wait(&shows("web3"));

    browser.evaluate("window.looks = 0; const look = listHosts; listHosts = () => { window.looks += 1; return look(); }; location.hash = 'host=nosuch'");
    browser.wait("document.querySelector('#state').textContent === 'nosuch is no host of this viewer'");
    assert_eq!(
        browser.evaluate("[window.looks, state.source, document.querySelector('#main').hidden]"),
        json!([3, null, true])
    );
    browser.click("#back");
    browser.wait(&format!("{ROWS} > 0 && !document.querySelector('#fleet').hidden"));
    // Whoever goes on is not led back by a look of before.
    browser.evaluate("location.hash = 'host=nosuch'");
    browser.wait("document.querySelector('#state').textContent === 'looking for nosuch'");
    browser.evaluate("location.hash = 'host=web3'");
    browser.wait(&shows("web3"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn programs_ask_for_hosts_by_number() {
    let place = Place::new();
    let served = by_ssh(&place);
    let bearer = format!("Authorization: Bearer {}\r\n", served.token(0));
    let ask = |path: &str| get(served.address(0), path, &bearer).expect("an answer");
    assert_eq!(get(served.address(0), "/api/fleet", "").expect("an answer").0, "HTTP/1.1 401 Unauthorized");
    let mut hosts = Value::Null;
    crate::place::wait_until("all have answered", || {
        hosts = serde_json::from_str(&ask("/api/fleet").1).expect("JSON");
        let states = hosts.as_array().expect("a list").iter().map(|host| host["state"].as_str().expect("text"));
        states.filter(|state| !matches!(*state, "reaching" | "waiting")).count() == 13
    });
    let number = |name: &str| {
        hosts.as_array().expect("a list").iter().find(|host| host["name"] == name).expect("there")["id"].clone()
    };
    let (status, now) = ask(&format!("/api/fleet/{}/now", number("web3")));
    let now: Value = serde_json::from_str(&now).expect("JSON");
    assert_eq!((status.as_str(), &now["host"]["name"]), ("HTTP/1.1 200 OK", &json!("web3")));
    let gone: Value = serde_json::from_str(&ask(&format!("/api/fleet/{}/page", number("gone"))).1).expect("JSON");
    assert_eq!(gone["standing"][0], "not reached");
    for path in ["/api/fleet/9999/now", "/api/fleet/web3/now", "/api/fleet/1/nothing", "/api/hosts/web3/now"] {
        assert_eq!(ask(path).0, "HTTP/1.1 404 Not Found", "{path}");
    }
}

/// Three hosts, each in namespaces of its own on one bridge, whose agents answer a viewer that serves them to browsers. Hosts end with the script.
const AGENTS: &str = r#"
ip link set lo up && ip link add b0 type bridge && ip addr add 10.9.9.100/24 dev b0 && ip link set b0 up || { echo 'none: left out'; exit 77; }
"$1" sysstat key --new site > line
for i in 1 2 3; do
    STATE_DIRECTORY=$PWD/agent$i "$1" sysstat key --trust "$(cat line)" > /dev/null
    STATE_DIRECTORY=$PWD/agent$i unshare --net --uts sh -c \
        "hostname web$i; until ip addr add 10.9.9.$i/24 dev eth0; do sleep 0.1; done; ip link set eth0 up; exec '$1' sysstat -d" 2> log$i &
    # Only then it is in a namespace of its own.
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.1; done
    until ip link add p$i type veth peer name eth0 netns $!; do sleep 0.1; done
    ip link set p$i master b0 up
done
exec "$1" sysstat --web=0 200ms
"#;

#[test]
fn a_viewer_with_the_key_sees_its_fleet_in_a_browser() {
    if !rustix::process::geteuid().is_root() || TestProgram::find("unshare").is_none() {
        return left_out("only root makes a network namespace");
    }
    let place = Place::new();
    let mut command = Command::new("unshare");
    command.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", AGENTS, "sh"]).arg(binary());
    command.env("HOME", place.directory()).env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
    let served = Served::read(&place, command, 1);
    if served.urls[0] == "left out" {
        return left_out("no network device can be made");
    }
    let front = format!("nsenter --target {} --net", served.running.child.id());
    let Some(mut browser) = Browser::start_in(&place, &front) else { return left_out("chromium is not installed") };
    browser.order("Page.navigate", json!({"url": served.urls[0]}));
    // Nobody has signed their keys: they are shown with their codes, and how they are accepted.
    browser.wait("document.querySelector('#host').textContent === '3 hosts'");
    browser.wait("Array.from(fleet.rows.values()).every((row) => row[2] === 'new key')");
    let row = browser.evaluate("document.querySelector('#fleet-rows tbody tr').innerText");
    let row = row.as_str().expect("text");
    assert!(row.starts_with("web1") && row.contains("accept it on a terminal"), "{row}");
    browser.click("#fleet-rows tbody tr .open");
    browser.wait("document.querySelector('#state').textContent.startsWith('new key: code ')");
    assert_eq!(browser.evaluate("document.querySelectorAll('#processes tbody tr').length"), json!(0), "no data");
    assert_eq!(browser.errors, Vec::<String>::new());
}
