//! The page against hostile text, and what it must not need.

use super::*;

const HOSTILE: &str = "<script>alert('x')</script>\" onload=\"y & \u{1b}[2J\u{202e}end";

#[test]
fn text_is_text_wherever_it_stands() {
    let mut page = HtmlPage::new(HOSTILE);
    page.heading(HOSTILE).paragraph(HOSTILE).verdict(HOSTILE).figure("<svg></svg>", HOSTILE).data(HOSTILE, HOSTILE);
    page.table(&[HOSTILE], &[vec![HOSTILE.to_owned()]]);
    let html = page.to_html();
    assert_eq!(html.matches("&lt;script&gt;").count(), 10, "title and first heading, six texts, two cells");
    assert!(
        !html.contains("<script") && !html.contains("\" onload") && !html.contains(['\u{1b}', '\u{202e}']),
        "{html}"
    );
}

#[test]
fn it_needs_nothing_from_elsewhere_and_forbids_it() {
    let html = HtmlPage::new("a run").to_html();
    assert!(html.contains("default-src 'none'"));
    assert!(["http:", "https:", "src=", "url(", "@import"].iter().all(|word| !html.contains(word)), "{html}");
}

#[test]
fn columns_of_numbers_stand_right_and_others_do_not() {
    let mut page = HtmlPage::new("a run");
    let rows = [["1.5 ms", "one", "-"], ["-", "2", "-"]].map(|row| row.map(str::to_owned).to_vec());
    page.table(&["time", "name", "none"], &[&rows[..], &[vec!["+3 %".to_owned()]]].concat());
    let html = page.to_html();
    assert!(html.contains("<th class=\"n\">time</th><th>name</th><th>none</th>"), "{html}");
    assert!(html.contains("<td class=\"n\">+3 %</td><td></td><td></td>"), "a short row is filled up: {html}");
}
