//! A line of `/proc/PID/status`.

/// How many filters of system calls a process has.
pub fn filters(status: &[u8]) -> Option<u64> {
    let name = b"\nSeccomp_filters:\t";
    let at = status.windows(name.len()).position(|window| window == name)? + name.len();
    let digits = status.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |value: u64, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
}

#[cfg(test)]
mod tests {
    use super::filters;

    #[test]
    fn the_count_is_found_where_the_kernel_tells_it() {
        assert_eq!(filters(b"Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t12\nY:\t1\n"), Some(12));
        assert_eq!(filters(b"Name:\tx\nSeccomp_filters:\t0"), Some(0));
        assert_eq!(filters(b"Name:\tSeccomp_filters:\t3\nSeccomp:\t2\n"), None);
    }
}
