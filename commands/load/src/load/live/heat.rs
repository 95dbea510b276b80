//! Response times as a picture of characters: a row for each range of times, a column for each interval, darker where more of its transactions are.
//! Works without colour, and with plain letters if the locale has no others.

use crate::load::history::LoadMoment;

/// The characters of pictures, from nothing to full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    shades: [char; 6],
    bars: [char; 9],
}

const BLOCKS: Glyphs = Glyphs {
    shades: [' ', '·', '░', '▒', '▓', '█'],
    bars: [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
};
const LETTERS: Glyphs =
    Glyphs { shades: [' ', '.', ':', '+', 'x', '#'], bars: [' ', '_', '.', ':', '-', '=', '+', 'x', '#'] };

/// Shares of an interval's transactions from which on a shade is used.
const SHADES: [f64; 5] = [0.0, 0.01, 0.05, 0.2, 0.5];

impl Glyphs {
    /// Blocks if the locale's characters are UTF-8, as setlocale(3) finds out.
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
        let value = value.unwrap_or_default().to_lowercase();
        if value.contains("utf-8") || value.contains("utf8") { BLOCKS } else { LETTERS }
    }

    fn shade(&self, share: f64) -> char {
        self.shades[SHADES.iter().filter(|least| share > **least).count()]
    }

    /// A bar that is as high as this share of the highest. What is not nothing is seen.
    pub fn bar(&self, share: f64) -> char {
        let steps = self.bars.len() - 1;
        self.bars[((share * steps as f64).ceil().max(0.0) as usize).min(steps)]
    }

    /// What each shade means.
    pub fn legend(&self) -> String {
        let [_, seen, one, five, twenty, half] = self.shades;
        format!("{seen} some   {one} 1 %   {five} 5 %   {twenty} 20 %   {half} 50 % of its transactions")
    }
}

/// A row: the shortest time in it, and its cells.
pub struct HeatRow {
    pub from_ns: u64,
    pub cells: Vec<char>,
}

/// Lower ends of rows, in a thousandth of a power of ten, from fine to coarse.
const STEPS: [&[u64]; 3] =
    [&[1000, 1260, 1580, 2000, 2510, 3160, 4000, 5000, 6300, 7900], &[1000, 2000, 5000], &[1000]];

/// Rows for these moments, the longest times first; at most `room`. The last one has all that is shorter.
pub fn rows<'a>(moments: impl Iterator<Item = &'a LoadMoment> + Clone, room: usize, glyphs: Glyphs) -> Vec<HeatRow> {
    let times = moments.clone().flat_map(|moment| moment.response.iter().map(|(ns, _)| ns));
    let (low_ns, high_ns) = times.fold((u64::MAX, 0), |(low, high), ns| (low.min(ns), high.max(ns)));
    if low_ns > high_ns {
        return Vec::new();
    }
    let froms = froms(low_ns, high_ns, room);
    let mut rows: Vec<HeatRow> = froms.iter().map(|from_ns| HeatRow { from_ns: *from_ns, cells: Vec::new() }).collect();
    for moment in moments {
        let mut counts = vec![0_u64; froms.len()];
        for (ns, count) in moment.response.iter() {
            let above = froms.partition_point(|from_ns| *from_ns <= ns);
            if let Some(sum) = counts.get_mut(above.saturating_sub(1)) {
                *sum += count;
            }
        }
        let all: u64 = counts.iter().sum();
        let shade = |count: &u64| glyphs.shade(*count as f64 / all.max(1) as f64);
        rows.iter_mut().zip(&counts).for_each(|(row, count)| row.cells.push(shade(count)));
    }
    rows.reverse();
    rows
}

/// The finest lower ends that there is room for, ascending.
fn froms(low_ns: u64, high_ns: u64, room: usize) -> Vec<u64> {
    let mut froms = Vec::new();
    for steps in STEPS {
        let all = (0..13).flat_map(|power| steps.iter().map(move |step| step * 10_u64.pow(power)));
        froms = all.filter(|from_ns| *from_ns <= high_ns).collect();
        let below = froms.partition_point(|from_ns| *from_ns <= low_ns);
        froms.drain(..below.saturating_sub(1));
        if froms.len() <= room {
            break;
        }
    }
    let too_many = froms.len().saturating_sub(room);
    froms.drain(..too_many);
    froms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::history::tests::moment;

    #[test]
    fn a_column_is_dark_where_its_transactions_are() {
        let mut second = moment(2.0, 99, 1_500_000);
        second.response.add(300_000_000, 1);
        let moments = [moment(1.0, 10, 1_500_000), second, moment(3.0, 0, 0)];
        let rows = rows(moments.iter(), 9, BLOCKS);
        let shown: Vec<(u64, String)> = rows.iter().map(|row| (row.from_ns, row.cells.iter().collect())).collect();
        let blank = "   ".to_owned();
        let middle = [100, 50, 20, 10, 5, 2].map(|ms| (ms * 1_000_000, blank.clone()));
        let expected = [&[(200_000_000, " · ".to_owned())], &middle[..], &[(1_000_000, "██ ".to_owned())]].concat();
        assert_eq!(shown, expected);
    }

    #[test]
    fn rows_are_as_fine_as_there_is_room_and_short_times_share_the_last_one() {
        let moments = [moment(1.0, 1, 2_000), moment(2.0, 1, 900_000_000)];
        let count = |room| rows(moments.iter(), room, LETTERS).len();
        assert!(count(200) > 50 && count(20) == 17 && count(8) == 6, "{} {} {}", count(200), count(20), count(8));
        let few = rows(moments.iter(), 2, LETTERS);
        assert_eq!((few.len(), few[1].from_ns, few[1].cells[0]), (2, 10_000_000, '#'));
        assert!(rows([].iter(), 10, LETTERS).is_empty() && rows(moments.iter(), 0, LETTERS).is_empty());
    }

    #[test]
    fn locales_without_blocks_have_letters() {
        let locale = |name: &'static str, value: &'static str| {
            Glyphs::of_locale(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(
            (locale("LANG", "en_US.UTF-8"), locale("LC_ALL", "C"), locale("TERM", "utf8")),
            (BLOCKS, LETTERS, LETTERS)
        );
        assert_eq!(
            Glyphs::of_locale(|name| Some(if name == "LC_ALL" { "C" } else { "de_DE.utf8" }.to_owned())),
            LETTERS
        );
        assert_eq!((BLOCKS.bar(0.0), BLOCKS.bar(0.001), BLOCKS.bar(1.0), BLOCKS.bar(7.0)), (' ', '▁', '█', '█'));
    }
}
