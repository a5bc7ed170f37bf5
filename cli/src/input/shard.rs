//! A shard: one of N parts of the kernels to check. A batch system can check each part on another machine.

use core_relo_report::stable_hash;
use std::{num::NonZeroU64, path::Path, str::FromStr};

/// A part of the kernels to check: `2/8` is the second of eight parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// The number of the part, from 1.
    number: u64,
    /// The number of parts.
    count: NonZeroU64,
}

impl Shard {
    /// Returns whether a kernel file belongs to this part. `path` is relative to the directory on the command
    /// line.
    ///
    /// The result depends neither on the path of the directory nor on the other files in it.
    pub(crate) fn includes(self, path: &Path) -> bool {
        stable_hash(path.as_os_str().as_encoded_bytes()) % self.count == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts =
            s.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse::<NonZeroU64>().ok()?)));
        match parts {
            Some((number, count)) if (1..=count.get()).contains(&number) => Ok(Self { number, count }),
            _ => Err("expected I/N with I from 1 to N, such as 1/4".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u64, count: u64) -> Shard {
        Shard { number, count: NonZeroU64::new(count).unwrap() }
    }

    #[test]
    fn shards_are_numbered_from_one() {
        assert_eq!("2/3".parse(), Ok(shard(2, 3)));
        for bad in ["0/2", "3/2", "1", "1/0", "/", "a/b", "-1/2", "1/2/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_path_belongs_to_one_shard_and_the_shards_have_about_the_same_size() {
        let mut sizes = [0u32; 4];
        for n in 0..1000 {
            let path = format!("6.1.{n}/vmlinux");
            let shards: Vec<_> = (1..=4).filter(|i| shard(*i, 4).includes(Path::new(&path))).collect();
            assert_eq!(shards.len(), 1);
            sizes[usize::try_from(shards[0]).unwrap() - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (200..300).contains(size)), "{sizes:?}");
    }
}
