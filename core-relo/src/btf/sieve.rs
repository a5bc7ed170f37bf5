//! Which modules' BTFs may have a type of some name, told without reading their types.

use super::{Btf, header::Header};
use crate::{endian::Endian, ids::to_u32, limits, name::Name};
use alloc::vec::Vec;

/// Turns away BTFs, split from a kernel's, that have no type of any wanted name.
///
/// A name stands in the BTF's own strings, or else in the kernel's. In the own ones it is looked for, wherever in a string it
/// stands; of the kernel's it is known where it stands, and the types are looked through for these numbers. Neither needs
/// the types to be told apart. Who passes may still have none.
///
/// ```
/// use core_relo::{Endian, Name, btf::{Btf, Builder, Sieve}};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("int", 4, Builder::SIGNED);
/// let kernel = Arc::new(Btf::parse(b.finish())?);
/// let mut b = Builder::split(&kernel);
/// b.structure("nf_conn", 4, &[("status", int, 0)]);
/// let module = b.finish();
///
/// let mut sieve = Sieve::new(&kernel, [Name::new(b"nf_con")]);
/// assert!(!sieve.passes(&module));
/// let mut sieve = Sieve::new(&kernel, [Name::new(b"nf_conn")]);
/// assert!(sieve.passes(&module));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sieve<'n, 'b> {
    base: &'b Btf<'b>,
    names: Vec<&'n [u8]>,
    /// Bytes of BTFs that pass unseen: to parse them costs less than to find out where the names stand in the kernel's strings.
    unseen: usize,
    places: Places,
}

/// Where the names stand in the strings of the kernel, in their order.
#[derive(Clone, Debug)]
enum Places {
    Unknown,
    /// Too many: everything passes.
    Anywhere,
    At(Vec<Vec<u32>>),
}

impl<'n, 'b> Sieve<'n, 'b> {
    /// For types called one of `names` or a flavour of it (`name___flavour`), in BTFs split from `base`.
    pub fn new(base: &'b Btf<'_>, names: impl IntoIterator<Item = Name<'n>>) -> Self {
        let mut names: Vec<_> = names.into_iter().map(Name::as_bytes).collect();
        names.sort_unstable();
        names.dedup();
        // Each name is another search of the strings; where many are wanted, to read all types costs no more.
        let places = if names.len() > limits::SIEVE_NAMES { Places::Anywhere } else { Places::Unknown };
        let unseen = base.strings().own.len().saturating_mul(names.len()) / 2;
        Self { base, names, unseen, places }
    }

    /// Whether this BTF, not parsed yet, may have a type of one of the names. One that is damaged passes, for parsing it tells how;
    /// so do the first, up to some hundred kilobytes together.
    pub fn passes(&mut self, split: &[u8]) -> bool {
        if let Some(left) = self.unseen.checked_sub(split.len()) {
            self.unseen = left;
            return true;
        }
        self.unseen = 0;
        self.may_have(split)
    }

    fn may_have(&mut self, split: &[u8]) -> bool {
        if let Places::Unknown = self.places {
            let found = self.names.iter().map(|name| offsets(self.base, name)).collect();
            self.places = Option::map_or(found, Places::Anywhere, Places::At);
        }
        let (Places::At(in_base), Ok(header)) = (&self.places, Header::parse(split)) else { return true };
        // Records of kinds yet unknown need not be whole words.
        if !header.layout.is_empty() {
            return true;
        }
        let strings = split.get(header.strings).unwrap_or_default();
        let types = split.get(header.types).unwrap_or_default();
        let mut used = in_base.iter().flatten();
        self.names.iter().any(|name| places(strings, name).next().is_some())
            || used.any(|at| has_word(types, header.endian, *at))
    }
}

/// Where a name stands in the strings of a BTF and its bases; none if in too many places.
fn offsets(base: &Btf<'_>, name: &[u8]) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    let mut next = Some(base);
    while let Some(btf) = next {
        let strings = btf.strings();
        for at in places(strings.own, name) {
            if found.len() == limits::SIEVE_PLACES {
                return None;
            }
            found.push(strings.start.saturating_add(to_u32(at)));
        }
        next = btf.base().map(AsRef::as_ref);
    }
    Some(found)
}

/// Bytes that are compared at once, by whatever vectors the machine has.
const BLOCK: usize = 64;
type Block = [u8; BLOCK];

/// Where `name`, or a flavour of it, stands in a string section: as a whole string or as the end of one.
fn places<'s>(strings: &'s [u8], name: &'s [u8]) -> impl Iterator<Item = usize> + 's {
    let probe =
        |at: usize| (strings.get(at..).unwrap_or_default(), name.get(at).copied().unwrap_or_default());
    let (last, middle) = (name.len().saturating_sub(1), name.len() / 2);
    let [(a, first), (b, second), (c, third)] = [probe(0), probe(middle), probe(last)];
    let [a, b, c] = [a, b, c].map(|bytes| bytes.as_chunks::<BLOCK>().0);
    let compared = a.len().min(b.len()).min(c.len()).saturating_mul(BLOCK);
    let mut next = 0usize;
    let likely = core::iter::from_fn(move || {
        let rest = [a, b, c].map(|blocks| blocks.get(next..).unwrap_or_default());
        let block = next.checked_add(likely_block(rest, [first, second, third])?)?;
        next = block.saturating_add(1);
        Some(block.saturating_mul(BLOCK))
    });
    let within = likely.flat_map(|at| at..at.saturating_add(BLOCK));
    within.chain(compared..strings.len()).filter(move |at| {
        let rest = strings.get(*at..).unwrap_or_default();
        rest.first() == Some(&first)
            && rest.strip_prefix(name).is_some_and(|after| matches!(after, [0, ..] | [b'_', b'_', b'_', ..]))
    })
}

/// The first block at one of whose places all three have these bytes.
#[inline(never)]
fn likely_block([a, b, c]: [&[Block]; 3], [first, second, third]: [u8; 3]) -> Option<usize> {
    a.iter().zip(b).zip(c).position(|((a, b), c)| {
        let mut any = 0;
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            any |= u8::from(*a == first) & u8::from(*b == second) & u8::from(*c == third);
        }
        any != 0
    })
}

/// Whether a number is one of the words.
fn has_word(types: &[u8], endian: Endian, wanted: u32) -> bool {
    let wanted = endian.u32_bytes(wanted);
    let (blocks, rest) = types.as_chunks::<4>().0.as_chunks::<BLOCK>();
    let is_in = |words: &[[u8; 4]]| words.iter().fold(0, |any, word| any | u8::from(*word == wanted)) != 0;
    blocks.iter().any(|block| is_in(block)) || is_in(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        btf::{Builder, Kind},
        ids::TypeId,
    };
    use alloc::{format, sync::Arc, vec};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    fn kernel(endian: Endian) -> Arc<Btf<'static>> {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("of_kernel", 4, &[("shared", int, 0), ("end_of_shared", int, 0)]);
        Arc::new(Btf::parse(b.finish()).unwrap())
    }

    fn passes(kernel: &Btf<'_>, module: &[u8], name: &str) -> bool {
        Sieve::new(kernel, [Name::new(name.as_bytes())]).may_have(module)
    }

    #[test]
    fn whoever_has_a_type_of_the_name_passes() {
        for endian in ORDERS {
            let kernel = kernel(endian);
            // Places in all parts of a block, and before its end.
            for before in 0..2 * BLOCK {
                let mut b = Builder::split(&kernel);
                b.structure(&"x".repeat(before + 1), 4, &[]);
                b.structure("own", 4, &[]);
                b.structure("flavoured___old", 4, &[]);
                b.structure("shared", 4, &[("sh", TypeId(1), 0)]);
                let module = b.finish();
                for name in ["own", "flavoured", "shared", "sh", "x"] {
                    assert!(passes(&kernel, &module, name), "{name} behind {before} bytes");
                }
                for name in ["ow", "wn_", "flavoured___", "of_kernel", "end_of_shared", "y", "own\u{1}"] {
                    assert!(!passes(&kernel, &module, name), "{name} behind {before} bytes");
                }
            }
        }
    }

    #[test]
    fn a_name_in_the_middle_of_a_string_is_one() {
        for endian in ORDERS {
            let kernel = kernel(endian);
            let at = |name: &[u8]| {
                kernel.strings().own.windows(name.len()).position(|w| w == name).map(to_u32).unwrap()
            };
            // `shared` as the end of the kernel's `end_of_shared`.
            let (whole, end) = (at(b"end_of_shared\0"), at(b"end_of_shared\0") + 7);
            for (name_at, name, other) in
                [(whole, "end_of_shared", "shared"), (end, "shared", "end_of_shared")]
            {
                let mut module = Vec::new();
                endian.put_u16(&mut module, 0xeb9f);
                module.extend([1, 0]);
                let head = u32::from(Kind::Struct.raw()) << 24;
                for word in [24, 0, 12, 12, 1, name_at, head, 4] {
                    endian.put_u32(&mut module, word);
                }
                module.push(0);
                let parsed = Btf::parse_split(module.clone(), Arc::clone(&kernel)).unwrap();
                assert!(parsed.find_own(name.as_bytes(), Kind::Struct).is_some());
                assert!(passes(&kernel, &module, name) && !passes(&kernel, &module, other), "{name}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_passes() {
        let kernel = kernel(Endian::Little);
        let mut b = Builder::split(&kernel);
        b.structure("own", 4, &[]);
        let module = b.finish();
        assert!(passes(&kernel, &module[..20], "nothing") && passes(&kernel, b"", "nothing"));
        assert!(!Sieve::new(&kernel, []).passes(&module));
        let names: Vec<_> = (0..=limits::SIEVE_NAMES).map(|n| format!("name{n}")).collect();
        let sieve =
            |n: usize| Sieve::new(&kernel, names.iter().take(n).map(|name| Name::new(name.as_bytes())));
        assert!(!sieve(limits::SIEVE_NAMES).may_have(&module));
        assert!(sieve(limits::SIEVE_NAMES + 1).may_have(&module));
        // As often as it likes, if it is the same.
        assert!(!Sieve::new(&kernel, vec![Name::new(b"z"); limits::SIEVE_NAMES + 1]).may_have(&module));
        let mut b = Builder::new(Endian::Little);
        for n in 0..=limits::SIEVE_PLACES {
            b.structure(&format!("{n}_often"), 4, &[]);
        }
        let kernel = Btf::parse(b.finish()).unwrap();
        assert!(passes(&kernel, &module, "often") && !passes(&kernel, &module, "0_often"));
    }

    #[test]
    fn the_first_pass_unseen() {
        let mut b = Builder::new(Endian::Little);
        b.structure(&"x".repeat(199), 4, &[]);
        let kernel = Arc::new(Btf::parse(b.finish()).unwrap());
        let module = Builder::split(&kernel).finish();
        let len = module.len();
        assert!(3 * len < 100 && 100 < 5 * len, "{len} bytes");
        let mut sieve = Sieve::new(&kernel, [Name::new(b"own")]);
        let passed: Vec<_> = (0..6).map(|_| sieve.passes(&module)).collect();
        assert_eq!(passed.iter().position(|passed| !passed), Some(100 / len));
        assert!(passed.iter().skip(100 / len).all(|passed| !passed));
    }
}
