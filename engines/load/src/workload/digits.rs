//! Texts of random digits in groups of eleven, as sysbench fills its rows.

use crate::arrivals::RandomSource;

/// Groups of column `c`: 119 letters.
pub(super) const C_GROUPS: usize = 10;
/// Groups of column `pad`: 59 letters.
pub(super) const PAD_GROUPS: usize = 5;
const GROUP_DIGITS: usize = 11;

/// Appends groups of digits with dashes between them.
pub(super) fn write(groups: usize, random: &mut RandomSource, text: &mut String) {
    // One draw is good for sixteen digits: ten to that power is a small part of its range.
    const DIGITS_A_DRAW: usize = 16;
    let (mut left, mut bits) = (0, 0_u64);
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        for _digit in 0..GROUP_DIGITS {
            if left == 0 {
                (left, bits) = (DIGITS_A_DRAW, random.bits());
            }
            let product = u128::from(bits) * 10;
            (left, bits) = (left - 1, product as u64);
            text.push(char::from(b'0' + (product >> 64) as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_eleven_digits_each_as_often_as_any_other() {
        let (mut text, mut random) = (String::new(), RandomSource::new(1, 0));
        write(C_GROUPS, &mut random, &mut text);
        assert_eq!(text.len(), 119);
        assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit())));
        text.clear();
        write(PAD_GROUPS, &mut random, &mut text);
        assert_eq!(text.len(), 59);
        text.clear();
        (0..1000).for_each(|_| write(C_GROUPS, &mut random, &mut text));
        for digit in '0'..='9' {
            let count = text.matches(digit).count();
            assert!((10_500..11_500).contains(&count), "{digit} came {count} times");
        }
    }
}
