//! One of several parts of a fleet, for a batch system to check each on a machine of its own.

use std::{path::Path, str::FromStr};

/// `2/8`: the second of eight parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// Whether a file is of this part, by its path below the folder that was given: it stays so wherever the folder lies, and
    /// whatever else comes into it.
    pub(crate) fn has(self, path: &Path) -> bool {
        let place = hash(path.as_os_str().as_encoded_bytes()).checked_rem(self.of);
        place.and_then(|place| place.checked_add(1)) == Some(self.number)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts = s.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected I/N with I from 1 to N, as 1/4".to_owned()),
        }
    }
}

/// The same on every machine and in every version (FNV-1a, its high bits folded into the low ones that a remainder shows).
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let one = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, one);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_one() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        for bad in ["0/2", "3/2", "1", "1/0", "/", "a/b", "-1/2", "1/2/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_path_is_of_one_shard_and_the_parts_are_about_as_large() {
        let mut sizes = [0u32; 4];
        for n in 0..1000 {
            let path = format!("6.1.{n}/vmlinux");
            let of: Vec<_> = (1..=4).filter(|i| Shard { number: *i, of: 4 }.has(Path::new(&path))).collect();
            assert_eq!(of.len(), 1);
            sizes[usize::try_from(of[0]).unwrap() - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (200..300).contains(size)), "{sizes:?}");
    }

    #[test]
    fn it_is_the_same_for_ever() {
        assert_eq!([hash(b""), hash(b"6.1/vmlinux")], [0x8570_e254_d5cb, 0x7037_9f8c_5a78]);
    }
}
