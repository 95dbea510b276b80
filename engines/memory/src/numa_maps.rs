//! `/proc/PID/numa_maps` (numa(7)): the policy of each area, and on which nodes its pages are. Areas are those of smaps, without their ends.

/// LIMIT: numbers of nodes that are believed; no kernel is built for more.
const NODES_MAX: u32 = 1024;

/// Where the pages of one area are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AreaPlacement {
    /// Where the area begins.
    pub start: u64,
    /// `default`, `interleave:0-1`, `prefer (many):0` and the like.
    pub policy: String,
    /// Bytes on each node that has any, by the node's number.
    pub nodes: Vec<(u32, u64)>,
}

/// Reads one line; none where it is not the kernel's.
pub fn parse_line(line: &str) -> Option<AreaPlacement> {
    let (start, rest) = line.trim_end().split_once(' ')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let (mut policy, mut pages) = (Vec::new(), Vec::new());
    let (mut page_bytes, mut is_policy) = (4096_u64, true);
    for word in rest.split_ascii_whitespace() {
        // A policy may have blanks in its name, and an equals sign behind them: "weighted interleave=static:0-1".
        is_policy = is_policy && !begins_the_fields(word);
        if is_policy {
            policy.push(word);
        } else if let Some(size) = word.strip_prefix("kernelpagesize_kB=") {
            page_bytes = size.parse::<u64>().unwrap_or(4).saturating_mul(1024);
        } else if let Some((node, count)) = word.strip_prefix('N').and_then(|word| word.split_once('=')) {
            pages.extend(node.parse().ok().filter(|node| *node < NODES_MAX).zip(count.parse::<u64>().ok()));
        }
    }
    let nodes = pages.into_iter().map(|(node, count)| (node, count.saturating_mul(page_bytes))).collect();
    Some(AreaPlacement { start, policy: policy.join(" "), nodes })
}

/// Whether what the kernel counts begins here, and the policy is over.
fn begins_the_fields(word: &str) -> bool {
    const PLAIN: [&str; 3] = ["heap", "stack", "huge"];
    const NAMES: [&str; 9] =
        ["file", "anon", "dirty", "mapped", "mapmax", "swapcache", "active", "writeback", "kernelpagesize_kB"];
    let is_node = |name: &str| name.strip_prefix('N').is_some_and(|digits| digits.parse::<u32>().is_ok());
    PLAIN.contains(&word) || word.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name) || is_node(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_by_node_in_the_areas_page_size() {
        let line = "7f0000000000 interleave:0-1 file=/SYSV00000000\\040(deleted) huge dirty=6 N0=4 N1=2 kernelpagesize_kB=2048";
        let placement = parse_line(line).expect("a good line");
        assert_eq!((placement.start, placement.policy.as_str()), (0x7f00_0000_0000, "interleave:0-1"));
        assert_eq!(placement.nodes, [(0, 8 << 20), (1, 4 << 20)]);
        let small =
            parse_line("1000 default heap anon=3 dirty=3 active=0 N0=3 kernelpagesize_kB=4\n").expect("a good line");
        assert_eq!((small.policy.as_str(), small.nodes), ("default", vec![(0, 12288)]));
    }

    #[test]
    fn policies_with_blanks_and_flags_are_whole() {
        for policy in ["weighted interleave:0-3", "prefer (many):0,2", "bind=static:1", "local", "prefer=relative:0"] {
            for rest in ["", " anon=1 N0=1 kernelpagesize_kB=4", " file=/a", " stack"] {
                assert_eq!(parse_line(&format!("1000 {policy}{rest}")).expect("a good line").policy, policy, "{rest}");
            }
        }
    }

    #[test]
    fn what_is_no_line_of_the_kernels_is_none() {
        for text in ["", "1000", "xyz default", "  "] {
            assert_eq!(parse_line(text), None, "{text}");
        }
        let odd = parse_line("1000 default N9999999=5 Nx=1 N1=many anon=3").expect("it begins well");
        assert_eq!(odd.nodes, []);
    }
}
