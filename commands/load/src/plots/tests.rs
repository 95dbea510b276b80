//! Pictures by their SVG: places, gaps, names, and what cannot be drawn.

use super::*;

const HOSTILE: &str = "</title></svg><script>alert(1)</script>";

fn sample(y: Scale, points: Vec<(f64, f64)>) -> Plot<'static> {
    let series = Series { marks: Marks::Both, ..Series::line("p99", points) };
    Plot {
        title: "response",
        x: Axis { label: "time (s)", scale: Scale::Linear },
        y: Axis { label: "ms", scale: y },
        series: vec![series],
    }
}

#[test]
fn a_plot_has_its_points_where_they_belong_and_its_names() {
    let svg = plot(&sample(Scale::Linear, vec![(0.0, 0.0), (10.0, 20.0)])).expect("it can be drawn");
    assert!(["response", "time (s)", ">ms<", ">p99<", ">20<"].iter().all(|word| svg.contains(word)), "{svg}");
    // From the lower left to the upper right corner: the larger label on the left is two letters wide.
    assert!(svg.contains("M28.6 258.0L480.0 66.0"), "{svg}");
}

#[test]
fn gaps_stay_gaps_and_a_lonely_point_is_seen() {
    let points = vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 3.0), (4.0, 0.0), (5.0, 4.0)];
    let places = [Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 3.0))];
    assert_eq!(stroke(&places), "M0.0 1.0L1.0 2.0M3.0 3.0h0");
    let svg = plot(&sample(Scale::Logarithmic, points)).expect("it can be drawn");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_band_has_an_interval_for_each_point() {
    let mut with_band = sample(Scale::Logarithmic, vec![(1.0, 1.0), (2.0, 10.0)]);
    with_band.series[0].band = Some(vec![(0.0, 2.0), (5.0, 20.0)]);
    let svg = plot(&with_band).expect("it can be drawn");
    assert!(svg.contains("fill-opacity"), "{svg}");
    with_band.series[0].band = Some(vec![(0.5, 2.0)]);
    assert_eq!(plot(&with_band), Err("'p99' has not as many intervals as points".to_owned()));
}

#[test]
fn nothing_to_draw_is_an_error() {
    for points in [vec![], vec![(1.0, f64::NAN)], vec![(1.0, 0.0)]] {
        assert!(plot(&sample(Scale::Logarithmic, points)).is_err());
    }
    assert!(intervals("nothing", "ms", &[], Some(0.0)).is_err());
}

#[test]
fn names_are_text_and_shortened_where_they_are_seen() {
    let mut hostile = sample(Scale::Linear, vec![(0.0, 1.0), (1.0, 1.0)]);
    hostile.series[0].name = HOSTILE.repeat(9);
    let hostile = Plot { title: HOSTILE, x: Axis { label: HOSTILE, scale: Scale::Linear }, ..hostile };
    let row = IntervalRow { name: HOSTILE.repeat(9), low: 1.0, value: 2.0, high: 3.0 };
    for svg in
        [plot(&hostile).expect("it can be drawn"), intervals(HOSTILE, HOSTILE, &[row], None).expect("so can this")]
    {
        assert!(!svg.contains("<script") && svg.matches("</svg>").count() == 1, "{svg}");
    }
}

#[test]
fn each_interval_has_its_numbers_and_what_was_not_measured_says_so() {
    let row = |name: &str, low, value, high| IntervalRow { name: name.to_owned(), low, value, high };
    let rows = [
        row("glibc", -1.0, 0.5, 2.0),
        row("jemalloc", f64::NAN, 3.0, f64::NAN),
        row("other", f64::NAN, f64::NAN, f64::NAN),
    ];
    let svg = intervals("CPU a transaction", "%", &rows, Some(0.0)).expect("it can be drawn");
    let words = ["glibc", "0.5000 (-1.000 to 2.000) %", ">3.000 %<", ">not measured<"];
    assert!(words.iter().all(|word| svg.contains(word)), "{svg}");
    assert_eq!((svg.matches("<circle").count(), svg.contains("NaN")), (2, false), "{svg}");
}
