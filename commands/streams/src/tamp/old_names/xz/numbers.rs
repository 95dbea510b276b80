//! Numbers of xz's command line, with units and ranges; lists of blocks.

use std::ops::RangeInclusive;
use terminal::printable;

/// A number of the option `name`, with a binary unit or without one; `max` is the largest.
pub fn number(name: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (*range.start(), *range.end());
    let out_of_range = || format!("Value of the option `{name}' must be in the range [{least}, {most}]");
    let text = text.trim_start_matches([' ', '\t']);
    if text == "max" {
        return Ok(most);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(format!("{}: Value is not a non-negative decimal integer", printable(text)));
    }
    let (digits, unit) = text.split_at(digits);
    let shift = match unit.split_at_checked(1) {
        None if unit.is_empty() => 0,
        Some(("k" | "K", "" | "i" | "iB" | "B")) => 10,
        Some(("m" | "M", "" | "i" | "iB" | "B")) => 20,
        Some(("g" | "G", "" | "i" | "iB" | "B")) => 30,
        _ => {
            let unit = printable(unit);
            return Err(format!(
                "{unit}: Invalid multiplier suffix\nValid suffixes are `KiB' (2^10), `MiB' (2^20), and `GiB' (2^30)."
            ));
        }
    };
    let value = digits.parse::<u64>().ok().and_then(|value| value.checked_mul(1 << shift));
    value.filter(|value| range.contains(value)).ok_or_else(out_of_range)
}

/// A limit in bytes, or in per cent of `total_bytes`.
pub fn memory_limit(name: &str, text: &str, total_bytes: impl Fn() -> u64) -> Result<u64, String> {
    match text.strip_suffix('%') {
        Some(share) => Ok(number(&format!("{name}%"), share, 1..=100)? * total_bytes() / 100),
        None => number(name, text, 0..=u64::MAX),
    }
}

/// The blocks of `--block-list`: the number of each one's chain, and its size.
pub fn block_list(text: &str) -> Result<Vec<(usize, u64)>, String> {
    if text.is_empty() || text.starts_with(',') {
        return Err(format!("{}: Invalid argument to --block-list", printable(text)));
    }
    let mut list: Vec<(usize, u64)> = Vec::new();
    let entries: Vec<&str> = text.split(',').collect();
    for (at, entry) in entries.iter().enumerate() {
        let (chain, size) = match entry.split_once(':') {
            Some((digit, size)) if digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit() => {
                if size.is_empty() {
                    return Err(format!("In --block-list, block size is missing after filter chain number `{digit}:'"));
                }
                (usize::from(digit.as_bytes()[0] - b'0'), size)
            }
            _ => (0, *entry),
        };
        if size.is_empty() {
            list.extend(list.last().copied());
            continue;
        }
        list.push((
            chain,
            match number("block-list", size, 0..=u64::MAX)? {
                0 if at + 1 < entries.len() => {
                    return Err("0 can only be used as the last element in --block-list".to_owned());
                }
                0 => u64::MAX,
                size => size,
            },
        ));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_ranges() {
        let read = |text| number("x", text, 1..=1 << 40);
        assert_eq!(read("4"), Ok(4));
        assert_eq!(["64K", "64k", "64KiB", "64Ki", "64kB"].map(read), [64, 64, 64, 64, 64].map(|kib| Ok(kib << 10)));
        assert_eq!(read("max"), Ok(1 << 40));
        assert!(read("0").is_err_and(|error| error.contains("[1, 1099511627776]")));
        assert!(read("99999999999999999999").is_err_and(|error| error.contains("in the range")));
        assert!(read("1x").is_err_and(|error| error.starts_with("x: Invalid multiplier suffix\nValid")));
        assert!(read("8µ").is_err_and(|error| error.starts_with("µ: Invalid multiplier suffix")));
        assert!(read("1KiBi").is_err() && read("x").is_err() && read("").is_err());
        assert_eq!(memory_limit("memlimit", "50%", || 1000), Ok(500));
        assert!(memory_limit("memlimit", "0%", || 1000).is_err_and(|error| error.contains("`memlimit%'")));
    }

    #[test]
    fn lists_repeat_what_is_left_out_and_name_chains() {
        assert_eq!(block_list("2:1MiB,3,,0"), Ok(vec![(2, 1 << 20), (0, 3), (0, 3), (0, u64::MAX)]));
        assert_eq!(block_list("1:7,"), Ok(vec![(1, 7), (1, 7)]));
        for wrong in ["", ",1", "0,1", "1:,2", "x"] {
            assert!(block_list(wrong).is_err(), "{wrong}");
        }
    }
}
