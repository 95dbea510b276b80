//! The page itself: files that are part of the program. They hold nothing of the host, so they need no cookie.

/// A file.
pub struct PageFile {
    /// Where it is asked for.
    pub path: &'static str,
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// Its bytes.
    pub text: &'static str,
}

/// All files.
pub const FILES: [PageFile; 6] = [
    PageFile { path: "/", content_type: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    PageFile { path: "/app.js", content_type: "text/javascript; charset=utf-8", text: include_str!("page/app.js") },
    PageFile { path: "/fleet.js", content_type: "text/javascript; charset=utf-8", text: include_str!("page/fleet.js") },
    PageFile { path: "/style.css", content_type: "text/css; charset=utf-8", text: include_str!("page/style.css") },
    PageFile {
        path: "/uplot.js",
        content_type: "text/javascript; charset=utf-8",
        text: include_str!("vendor/uPlot.iife.min.js"),
    },
    PageFile {
        path: "/uplot.css",
        content_type: "text/css; charset=utf-8",
        text: include_str!("vendor/uPlot.min.css"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_runs_no_text_from_outside() {
        for file in &FILES {
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!file.text.contains(way), "{} in {}", way, file.path);
            }
        }
        let index = FILES[0].text;
        assert!(!index.contains(" style=") && !index.contains(" onclick") && !index.contains("<script>"));
        assert!(!index.contains("http://") && !index.contains("https://"), "it works without a network");
    }
}
