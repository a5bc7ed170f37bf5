//! A filter that selects the modules whose BTF may contain types of given names.

use crate::{
    data::rest_from,
    endian::Endian,
    ids::to_u32,
    limits,
    name::Name,
    parse::{Btf, Header},
};
use alloc::vec::Vec;

/// A filter for split BTFs, such as those of modules. It rejects a BTF that has no type of any wanted name.
///
/// The name of a module's type lies in the module's own strings or in the kernel's strings. The filter
/// searches the own strings for the bytes of the wanted names, and the type section for the offsets of the
/// wanted names in the kernel's strings. It parses no records. A BTF that the filter accepts may still have
/// no type of a wanted name.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, ModuleFilter, Name};
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
/// let mut module_filter = ModuleFilter::new(&kernel, [Name::new(b"nf_con")]);
/// assert!(!module_filter.may_contain(&module));
/// let mut module_filter = ModuleFilter::new(&kernel, [Name::new(b"nf_conn")]);
/// assert!(module_filter.may_contain(&module));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ModuleFilter<'n, 'b> {
    base: &'b Btf<'b>,
    names: Vec<&'n [u8]>,
    /// The number of bytes of BTFs that the filter still accepts without a search. Parsing so few bytes takes
    /// less time than finding the names in the kernel's strings.
    unfiltered_bytes: usize,
    offsets: NameOffsets,
}

/// The offsets of the wanted names in the kernel's strings.
#[derive(Clone, Debug)]
enum NameOffsets {
    /// The kernel's strings are not searched yet.
    NotSearched,
    /// There are too many names or offsets. The filter accepts every BTF.
    TooMany,
    /// The offsets of each name.
    Known(Vec<Vec<u32>>),
}

impl<'n, 'b> ModuleFilter<'n, 'b> {
    /// Returns a filter for types of one of `names` or its flavours (`name___flavour`), in BTFs split from
    /// `base`.
    pub fn new(base: &'b Btf<'_>, names: impl IntoIterator<Item = Name<'n>>) -> Self {
        let mut names: Vec<_> = names.into_iter().map(Name::as_bytes).collect();
        names.sort_unstable();
        names.dedup();
        // Each name requires a search of all strings. With many names, parsing every module costs no more.
        let offsets = if names.len() > limits::MODULE_FILTER_NAMES {
            NameOffsets::TooMany
        } else {
            NameOffsets::NotSearched
        };
        let unfiltered_bytes = base.strings().own.len().saturating_mul(names.len()) / 2;
        Self { base, names, unfiltered_bytes, offsets }
    }

    /// Returns the names, sorted, each once.
    pub fn names(&self) -> impl Iterator<Item = Name<'n>> {
        self.names.iter().map(|name| Name::new(name))
    }

    /// Returns whether this unparsed BTF may contain a type of one of the names.
    ///
    /// The filter accepts a damaged BTF, so that parsing reports the damage. It also accepts the first BTFs
    /// without a search, up to some hundred kilobytes in total.
    pub fn may_contain(&mut self, split: &[u8]) -> bool {
        if let Some(remaining) = self.unfiltered_bytes.checked_sub(split.len()) {
            self.unfiltered_bytes = remaining;
            return true;
        }
        self.unfiltered_bytes = 0;
        self.may_contain_name(split)
    }

    fn may_contain_name(&mut self, split: &[u8]) -> bool {
        if let NameOffsets::NotSearched = self.offsets {
            let found = self.names.iter().map(|name| find_in_base(self.base, name)).collect();
            self.offsets = Option::map_or(found, NameOffsets::TooMany, NameOffsets::Known);
        }
        let (NameOffsets::Known(in_base), Ok(header)) = (&self.offsets, Header::parse(split)) else {
            return true;
        };
        // With a layout section, records of unknown kinds may not be multiples of four bytes long.
        if header.has_layout() {
            return true;
        }
        let (strings, types) = (header.strings_of(split), header.types_of(split));
        let mut base_offsets = in_base.iter().flatten();
        self.names.iter().any(|name| find_in_strings(strings, name).next().is_some())
            || base_offsets.any(|offset| has_word(types, header.endian, *offset))
    }
}

/// Returns the offsets of a name in the strings of a BTF and its bases, or `None` if there are too many.
fn find_in_base(base: &Btf<'_>, name: &[u8]) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    let mut next = Some(base);
    while let Some(btf) = next {
        let strings = btf.strings();
        for at in find_in_strings(strings.own, name) {
            if found.len() == limits::MODULE_FILTER_OFFSETS {
                return None;
            }
            found.push(strings.start.saturating_add(to_u32(at)));
        }
        next = btf.base().map(AsRef::as_ref);
    }
    Some(found)
}

/// Bytes that are compared at once with vector instructions.
const BLOCK: usize = 64;
type Block = [u8; BLOCK];

/// Returns the offsets of `name` and of its flavours in a string section. An offset may lie inside a longer
/// string that ends with the name, because BTF may refer to the end of a string.
fn find_in_strings<'s>(strings: &'s [u8], name: &'s [u8]) -> impl Iterator<Item = usize> + 's {
    // The first, middle and last byte of the name are compared in blocks, with vector instructions. Only the
    // offsets of blocks in which all three match somewhere are compared with the whole name. The byte at
    // index `i` of the name is compared with the strings from `i` on, so that a match has the same index in
    // all three slices. An empty name has no bytes, and is found at each NUL.
    let byte_and_strings = |index: usize| (name.get(index).copied().unwrap_or(0), rest_from(strings, index));
    let (middle, last) = (name.len() / 2, name.len().saturating_sub(1));
    let compared = [0, middle, last].map(byte_and_strings);
    let bytes = compared.map(|(byte, _)| byte);
    let blocks = compared.map(|(_, strings)| strings.as_chunks::<BLOCK>().0);
    let [first, second, third] = blocks.map(<[Block]>::len);
    let block_count = first.min(second).min(third);
    let mut next = 0usize;
    let likely_blocks = core::iter::from_fn(move || {
        let rest = blocks.map(|blocks| rest_from(blocks, next));
        let block = next.checked_add(likely_block(rest, bytes)?)?;
        next = block.checked_add(1)?;
        Some(block.checked_mul(BLOCK)?..next.checked_mul(BLOCK)?)
    });
    let rest = block_count.saturating_mul(BLOCK)..strings.len();
    likely_blocks.flatten().chain(rest).filter(move |at| {
        let rest = rest_from(strings, *at);
        rest.first() == bytes.first()
            && rest.strip_prefix(name).is_some_and(|after| matches!(after, [0, ..] | [b'_', b'_', b'_', ..]))
    })
}

/// Returns the index of the first block in which `a`, `b` and `c` have `first`, `second` and `third` at the
/// same offset.
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

/// Returns whether a word of the type section is `wanted`.
fn has_word(types: &[u8], endian: Endian, wanted: u32) -> bool {
    let wanted = endian.u32_bytes(wanted);
    let (blocks, rest) = types.as_chunks::<4>().0.as_chunks::<BLOCK>();
    let is_in = |words: &[[u8; 4]]| words.iter().fold(0, |any, word| any | u8::from(*word == wanted)) != 0;
    blocks.iter().any(|block| is_in(block)) || is_in(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Kind, ids::TypeId};
    use alloc::{format, sync::Arc, vec};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    fn kernel(endian: Endian) -> Arc<Btf<'static>> {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("only_in_kernel", 4, &[("shared", int, 0), ("end_of_shared", int, 0)]);
        Arc::new(Btf::parse(b.finish()).unwrap())
    }

    fn is_accepted(kernel: &Btf<'_>, module: &[u8], name: &str) -> bool {
        ModuleFilter::new(kernel, [Name::new(name.as_bytes())]).may_contain_name(module)
    }

    #[test]
    fn a_module_with_a_type_of_the_name_is_accepted() {
        for endian in ORDERS {
            let kernel = kernel(endian);
            // Offsets in all parts of a block.
            for before in 0..2 * BLOCK {
                let mut b = Builder::split(&kernel);
                b.structure(&"x".repeat(before + 1), 4, &[]);
                b.structure("own", 4, &[]);
                b.structure("flavoured___old", 4, &[]);
                b.structure("shared", 4, &[("sh", TypeId(1), 0)]);
                let module = b.finish();
                for name in ["own", "flavoured", "shared", "sh", "x"] {
                    assert!(is_accepted(&kernel, &module, name), "{name} behind {before} bytes");
                }
                for name in ["ow", "wn_", "flavoured___", "only_in_kernel", "end_of_shared", "y", "own\u{1}"]
                {
                    assert!(!is_accepted(&kernel, &module, name), "{name} behind {before} bytes");
                }
            }
        }
    }

    #[test]
    fn a_name_at_the_end_of_another_string_is_found() {
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
                assert!(
                    is_accepted(&kernel, &module, name) && !is_accepted(&kernel, &module, other),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_module_that_cannot_be_searched_is_accepted() {
        let kernel = kernel(Endian::Little);
        let mut b = Builder::split(&kernel);
        b.structure("own", 4, &[]);
        let module = b.finish();
        assert!(is_accepted(&kernel, &module[..20], "nothing") && is_accepted(&kernel, b"", "nothing"));
        assert!(!ModuleFilter::new(&kernel, []).may_contain(&module));
        let names: Vec<_> = (0..=limits::MODULE_FILTER_NAMES).map(|n| format!("name{n}")).collect();
        let module_filter = |n: usize| {
            ModuleFilter::new(&kernel, names.iter().take(n).map(|name| Name::new(name.as_bytes())))
        };
        assert!(!module_filter(limits::MODULE_FILTER_NAMES).may_contain_name(&module));
        assert!(module_filter(limits::MODULE_FILTER_NAMES + 1).may_contain_name(&module));
        // Repeated names count once.
        assert!(
            !ModuleFilter::new(&kernel, vec![Name::new(b"z"); limits::MODULE_FILTER_NAMES + 1])
                .may_contain_name(&module)
        );
        let mut b = Builder::new(Endian::Little);
        for n in 0..=limits::MODULE_FILTER_OFFSETS {
            b.structure(&format!("{n}_often"), 4, &[]);
        }
        let kernel = Btf::parse(b.finish()).unwrap();
        assert!(is_accepted(&kernel, &module, "often") && !is_accepted(&kernel, &module, "0_often"));
    }

    #[test]
    fn the_first_modules_are_accepted_without_a_search() {
        let mut b = Builder::new(Endian::Little);
        b.structure(&"x".repeat(199), 4, &[]);
        let kernel = Arc::new(Btf::parse(b.finish()).unwrap());
        let module = Builder::split(&kernel).finish();
        let len = module.len();
        assert!(3 * len < 100 && 100 < 5 * len, "{len} bytes");
        let mut module_filter = ModuleFilter::new(&kernel, [Name::new(b"own")]);
        let passed: Vec<_> = (0..6).map(|_| module_filter.may_contain(&module)).collect();
        assert_eq!(passed.iter().position(|passed| !passed), Some(100 / len));
        assert!(passed.iter().skip(100 / len).all(|passed| !passed));
    }
}
