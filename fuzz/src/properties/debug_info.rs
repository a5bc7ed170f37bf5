//! Properties of BTF from debug information: it is valid, and threads do not change it.

use core_relo::btf::{Btf, dedup};
use core_relo_dwarf::{EncodeSettings, encode};
use std::num::NonZeroUsize;

/// Converts a file on one thread and on two.
pub fn check(file: &[u8]) {
    let mut settings = EncodeSettings::default();
    let first = encode(file, &settings);
    settings.threads = NonZeroUsize::new(2).expect("two is not zero");
    let second = encode(file, &settings);
    match (first, second) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first.bytes, second.bytes);
            let btf = Btf::parse(first.bytes).expect("the result is valid");
            // Types that are too complex are an error.
            if let Ok(again) = dedup(&btf) {
                Btf::parse(again.finish()).expect("deduplication gives valid BTF");
            }
        }
        (Err(first), Err(second)) => assert_eq!(first, second),
        (first, second) => panic!("{:?} and {:?}", first.err(), second.err()),
    }
}
