//! Times, shares and counts as sentences of this crate have them.

/// A time with a digit behind the point where that says something.
pub(super) fn time(seconds: f64) -> String {
    // Rounded first: 59.96 s are a minute.
    let tenths = (seconds.max(0.0) * 10.0).round() as u64;
    let minutes = (tenths + 5) / 600;
    match tenths {
        0 => format!("{:.0} ms", seconds.max(0.0) * 1000.0),
        1..600 => format!("{}.{} s", tenths / 10, tenths % 10),
        600..36_000 => format!("{} min {:02} s", tenths / 600, tenths % 600 / 10),
        _ => format!("{} h {:02} min", minutes / 60, minutes % 60),
    }
}

/// A part of 1 in percent.
pub(super) fn percentage(share: f64) -> String {
    format!("{:.0} %", share.clamp(0.0, 1.0) * 100.0)
}

/// So many of them.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_their_size() {
        let times = [0.0, 0.02, 0.7349, 15.75, 59.97, 61.0, 3599.9, 3600.0, 7530.0].map(time);
        let expected =
            ["0 ms", "20 ms", "0.7 s", "15.8 s", "1 min 00 s", "1 min 01 s", "59 min 59 s", "1 h 00 min", "2 h 05 min"];
        assert_eq!(times, expected);
    }

    #[test]
    fn counts_have_separators_and_plurals() {
        assert_eq!([1, 2, 1_024].map(|count| counted(count, "node")), ["1 node", "2 nodes", "1,024 nodes"]);
        assert_eq!([percentage(0.333), percentage(1.2)], ["33 %", "100 %"]);
    }
}
