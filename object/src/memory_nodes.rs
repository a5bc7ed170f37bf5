//! The memory nodes of a machine, from which the kernel allocates maps with `BPF_F_NUMA_NODE`.

use alloc::sync::Arc;
use core::fmt;

/// The memory nodes of a machine, as `/sys/devices/system/node/online` lists them: `0-1,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNodes {
    list: Arc<str>,
}

impl MemoryNodes {
    /// The file with the nodes of the running machine.
    pub const FILE: &str = "/sys/devices/system/node/online";

    /// Returns the nodes of a list. Returns `None` if the text is no list.
    pub fn parse(text: &str) -> Option<Self> {
        let list = text.trim();
        let has_ranges = list.split(',').all(|range| parse_range(range).is_some());
        has_ranges.then(|| Self { list: list.into() })
    }

    /// Returns whether the machine has a node.
    pub fn contains(&self, node: u32) -> bool {
        let mut ranges = self.list.split(',').filter_map(parse_range);
        ranges.any(|range| (range.first..=range.last).contains(&node))
    }
}

impl fmt::Display for MemoryNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.list)
    }
}

struct Range {
    first: u32,
    last: u32,
}

fn parse_range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(Range { first: first.parse().ok()?, last: last.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_nodes_and_ranges_of_nodes() {
        let nodes = MemoryNodes::parse("0-1,4\n").unwrap();
        assert_eq!([0, 1, 2, 4, 5].map(|node| nodes.contains(node)), [true, true, false, true, false]);
        assert_eq!(nodes.to_string(), "0-1,4");
        assert_eq!(["", "0-", "a", "0,,1"].map(MemoryNodes::parse), [const { None }; 4]);
    }
}
