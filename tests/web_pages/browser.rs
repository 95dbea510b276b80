//! A real browser, ordered about by its debugging pipe: what a user does is done by real clicks and keys.

use super::Served;
use crate::place::{Place, Running, wait_until};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use testkit::program::{TestProgram, left_out};

/// A browser with one page.
pub struct Browser {
    _running: Running,
    orders: File,
    answers: Receiver<Value>,
    number: u64,
    page: Option<String>,
    /// Errors that the page met.
    pub errors: Vec<String>,
}

impl Browser {
    /// Starts it; none where there is none.
    pub fn start(place: &Place) -> Option<Self> {
        Self::start_in(place, "")
    }

    /// The same by another program in front of it, which puts it elsewhere.
    pub fn start_in(place: &Place, front: &str) -> Option<Self> {
        TestProgram::find("chromium")?;
        let script = format!(
            "mkfifo orders answers && exec {front} chromium --headless --no-sandbox --disable-gpu --no-first-run \
             --user-data-dir=profile --remote-debugging-pipe about:blank 3<>orders 4<>answers"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(place.directory()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running { child: command.spawn().expect("sh starts") };
        wait_until("the pipes are there", || place.has("answers"));
        let open = |name: &str| OpenOptions::new().read(true).write(true).open(place.path(name)).expect("a pipe");
        let (orders, from_browser) = (open("orders"), open("answers"));
        let (sender, answers) = sync_channel(64);
        std::thread::spawn(move || {
            for message in BufReader::new(from_browser).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap_or(Value::Null);
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { _running: running, orders, answers, number: 0, page: None, errors: Vec::new() };
        let targets = browser.order("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().expect("a list");
        let target = pages.iter().find(|target| target["type"] == "page").expect("a page")["targetId"].clone();
        let session = browser.order("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.page = session["sessionId"].as_str().map(str::to_owned);
        browser.order("Runtime.enable", json!({}));
        browser.order("Log.enable", json!({}));
        Some(browser)
    }

    pub fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut order = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(page) = &self.page {
            order["sessionId"] = json!(page);
        }
        self.orders.write_all(format!("{order}\0").as_bytes()).expect("the browser lives");
        loop {
            let mut answer = self.answers.recv_timeout(Duration::from_secs(60)).expect("the browser answers");
            let is_error = answer["method"] == "Runtime.exceptionThrown"
                || answer["method"] == "Log.entryAdded" && answer["params"]["entry"]["level"] == "error";
            if is_error {
                self.errors.push(answer["params"].to_string());
            }
            if answer["id"] == self.number {
                return answer["result"].take();
            }
        }
    }

    pub fn evaluate(&mut self, expression: &str) -> Value {
        let mut answer = self.order("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        answer["result"]["value"].take()
    }

    pub fn wait(&mut self, condition: &str) {
        wait_until(condition, || self.evaluate(condition) == json!(true));
    }

    /// Moves to the middle of an element and presses the button.
    pub fn click(&mut self, selector: &str) {
        let expression = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        );
        let place = self.evaluate(&expression);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.order("Input.dispatchMouseEvent", event);
        }
    }

    /// Writes what is seen at this width, dark or light, to target/tmp, for whoever wants to look at it.
    pub fn picture(&mut self, name: &str, width: u32, is_dark: bool) -> PathBuf {
        self.picture_of(name, (width, 900), is_dark)
    }

    /// The same of another height.
    pub fn picture_of(&mut self, name: &str, (width, height): (u32, u32), is_dark: bool) -> PathBuf {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.order("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.order("Emulation.setEmulatedMedia", media);
        // Charts fit themselves into their places with the next frames.
        self.evaluate("void requestAnimationFrame(() => requestAnimationFrame(() => { window.isDrawn = true; }))");
        self.wait("window.isDrawn === true");
        self.evaluate("window.isDrawn = false");
        let taken = self.order("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64(taken["data"].as_str().expect("a picture"));
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "a picture");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
        std::fs::create_dir_all(&directory).expect("made");
        let path = directory.join(format!("{name}-{width}-{scheme}.png"));
        std::fs::write(&path, bytes).expect("written");
        let is_too_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(self.evaluate(is_too_wide), json!(false), "{name} at {width} pixels needs no scrolling sideways");
        path
    }
}

/// The text form of a picture (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[test]
fn a_user_sorts_filters_and_holds_and_no_name_becomes_code() {
    let place = Place::new();
    let Some(mut browser) = Browser::start(&place) else { return left_out("chromium is not installed") };
    let mut hostile = Command::new("sleep");
    hostile
        .arg0("<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u{202e}hostile\n");
    let _hostile = Running { child: hostile.arg("1000").spawn().expect("sleep starts") };
    let served = Served::start(&place, &["--web=0"]);
    browser.order("Page.navigate", json!({"url": served.urls[0]}));
    browser.wait("document.querySelectorAll('#processes tbody tr').length > 1");
    assert_eq!(
        browser.evaluate("location.hash + document.cookie"),
        json!(""),
        "the token is gone, the cookie is hidden"
    );
    browser.wait("document.querySelectorAll('.charts canvas').length === 5");

    browser.click("#processes button[data-order=rss]");
    browser.wait("document.querySelector('#processes button[data-order=rss]').parentElement.ariaSort === 'descending'");
    let sizes = browser
        .evaluate("Array.from(document.querySelectorAll('#processes tbody tr'), (row) => row.cells[5].textContent)");
    let sizes: Vec<f64> =
        sizes.as_array().expect("a list").iter().map(|size| bytes(size.as_str().expect("text"))).collect();
    assert!(sizes.is_sorted_by(|one, other| one >= other) && sizes[0] > 0.0, "{sizes:?}");

    browser.click("#filter");
    browser.order("Input.insertText", json!({"text": "HOSTILE"}));
    browser.wait("document.querySelectorAll('#processes tbody tr').length === 1");
    let command = browser.evaluate("document.querySelector('#processes tbody tr').cells[8].textContent");
    let command = command.as_str().expect("text");
    assert!(command.starts_with("<script>") && command.contains("\\u{202e}hostile\\n"), "{command}");
    assert_eq!(browser.evaluate("document.querySelectorAll('td script, td img').length"), json!(0));
    assert_ne!(browser.evaluate("document.title"), json!("owned"));

    browser.click("#hold");
    assert_eq!(browser.evaluate("document.querySelector('#hold').ariaPressed"), json!("true"));
    let held = browser.evaluate("state.frame.time_ns");
    browser.wait("state.next !== undefined");
    assert_eq!(browser.evaluate("state.frame.time_ns"), held, "figures stand still");
    browser.click("#hold");
    browser.wait(&format!("state.frame.time_ns > {held}"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// `1.5M` in bytes.
fn bytes(text: &str) -> f64 {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().expect("a number");
    number
        * 1024_f64
            .powi(i32::try_from("KMGTP".find(unit).filter(|_| !unit.is_empty()).map_or(0, |at| at + 1)).unwrap_or(0))
}
