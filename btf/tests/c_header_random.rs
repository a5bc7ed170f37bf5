//! Headers of random BTF: clang accepts all of them, and their assertions on the layout.
//!
//! The BTF is random, but the same on each run. CORE_RELO_HEADER_SEED is the number of another first BTF.

#![expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests fail by panicking")]

use core_relo_btf::{Btf, Builder, BuiltMember, CHeader, Endian, Kind, TypeId};
use core_relo_test_support::{clang, skip};
use std::{
    env,
    io::{ErrorKind, Write as _},
    process::{ExitStatus, Stdio},
};

const HEADERS: u64 = 100;
/// The minimum number of BTFs that are valid.
const MIN_HEADERS: usize = 80;
/// The minimum number of assertions in a header, on average.
const MIN_ASSERTIONS: usize = 40;
const TYPES: u32 = 60;
/// Names that occur several times, that C or clang reserves, and that are no identifiers.
const NAMES: [&str; 32] = [
    "",
    "",
    "",
    "a",
    "a",
    "b",
    "c",
    "d",
    "x",
    "y",
    "next",
    "inode",
    "sock",
    "bool",
    "while",
    "__thread",
    "__typeof",
    "__label__",
    "_Float16",
    "__bf16",
    "_BitInt",
    "__int128_t",
    "__bpf__",
    "__LINE__",
    "?>thread",
    "typeof_unqual",
    "__weak",
    "__core_relo_type_tag",
    "__has_include",
    "core::Option<u8>",
    "__core_relo_padding",
    "memcpy",
];
const INTEGERS: [(&str, u32, u8); 10] = [
    ("_Bool", 1, Builder::BOOL),
    ("char", 1, Builder::SIGNED),
    ("unsigned char", 1, 0),
    ("short int", 2, Builder::SIGNED),
    ("unsigned int", 4, 0),
    ("int", 4, Builder::SIGNED),
    ("long long int", 8, Builder::SIGNED),
    ("long unsigned int", 8, 0),
    ("__int128 unsigned", 16, 0),
    ("bool", 4, Builder::BOOL),
];

/// A generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((n ^ (n >> 31)) % u64::from(end)).unwrap()
    }

    fn name(&mut self) -> &'static str {
        NAMES[usize::try_from(self.below(32)).unwrap()]
    }

    /// Returns a type that exists, or now and then one that does not exist yet.
    fn ty(&mut self, b: &Builder) -> TypeId {
        let ahead = if self.below(8) == 0 { 3 } else { 0 };
        TypeId(self.below(b.next_id().0 + ahead))
    }
}

/// A type with its size and greatest alignment, as the generator of members sees it.
struct Sized {
    id: TypeId,
    bits: u32,
    is_integer: bool,
}

fn random_btf(random: &mut Random) -> Builder {
    let mut b = Builder::new(Endian::Little);
    let mut sized = Vec::new();
    for (name, size, encoding) in INTEGERS {
        sized.push(Sized { id: b.int(name, size, encoding), bits: size * 8, is_integer: true });
    }
    for number in 0..TYPES {
        let target = random.ty(&b);
        let some = usize::try_from(random.below(u32::try_from(sized.len()).unwrap())).unwrap();
        let (inner, inner_bits, is_integer) = (sized[some].id, sized[some].bits, sized[some].is_integer);
        let enumerator = format!("e{}", random.below(20));
        match random.below(12) {
            0 => sized.push(Sized { id: b.pointer(target), bits: 64, is_integer: false }),
            1 => {
                let id = b.typedef(random.name(), inner);
                sized.push(Sized { id, bits: inner_bits, is_integer });
            }
            2 => {
                let id = b.modifier([Kind::Const, Kind::Volatile][usize::from(number % 2 == 0)], inner);
                sized.push(Sized { id, bits: inner_bits, is_integer });
            }
            3 if inner_bits < 4096 => {
                let count = random.below(4);
                let id = b.array(inner, TypeId(5), count);
                sized.push(Sized { id, bits: inner_bits * count, is_integer: false });
            }
            4 => {
                let id = b.enumeration(random.name(), 4, &[(&enumerator, 1), (random.name(), 2)]);
                sized.push(Sized { id, bits: 32, is_integer: true });
            }
            5 => {
                let id = b.func_proto(target, &[(random.name(), inner), (random.name(), target)]);
                let func = b.func(random.name(), id, 1);
                b.decl_tag("bpf_kfunc", func, -1);
            }
            6 => {
                b.forward(random.name(), if number % 2 == 0 { Kind::Union } else { Kind::Struct });
            }
            _ => sized.push(composite(&mut b, random, &sized)),
        }
    }
    b
}

fn composite(b: &mut Builder, random: &mut Random, sized: &[Sized]) -> Sized {
    let is_union = random.below(4) == 0;
    let (mut members, mut end, mut size) = (Vec::new(), 0u32, 0u32);
    for _ in 0..random.below(8) {
        let member = &sized[usize::try_from(random.below(u32::try_from(sized.len()).unwrap())).unwrap()];
        let is_bitfield = member.is_integer && random.below(3) == 0;
        let bits = if is_bitfield { 1 + random.below(member.bits.min(100)) } else { member.bits };
        if !is_bitfield {
            let unit = [8, 8, 32, 64][usize::try_from(random.below(4)).unwrap()];
            end = end.next_multiple_of(unit);
        }
        let start = if is_union { 0 } else { end };
        let bitfield_bits = if is_bitfield { u8::try_from(bits).unwrap() } else { 0 };
        members.push(BuiltMember { name: random.name(), ty: member.id, bit_offset: start, bitfield_bits });
        end = start + bits;
        size = size.max(end);
        // Now and then padding, or an overlap.
        end += [0, 0, 0, 7, 64, 8 * 300][usize::try_from(random.below(6)).unwrap()];
        if random.below(40) == 0 {
            end = end.saturating_sub(8);
        }
    }
    let bytes = size.div_ceil(8) + [0, 0, 1, 4, 8][usize::try_from(random.below(5)).unwrap()];
    let kind = if is_union { Kind::Union } else { Kind::Struct };
    Sized { id: b.composite(kind, random.name(), bytes, &members), bits: bytes * 8, is_integer: false }
}

/// Returns the status of clang and its messages.
fn compile(header: &str) -> (ExitStatus, String) {
    let mut clang = clang().unwrap().command();
    clang.args(["-target", "bpfel", "-fsyntax-only", "-w", "-x", "c", "-"]);
    let mut clang = clang.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A clang that ends before it has read all says why on stderr.
    let written = clang.stdin.take().unwrap().write_all(header.as_bytes());
    assert!(written.is_ok() || written.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe));
    let output = clang.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn clang_accepts_the_headers_of_random_btf() {
    if clang().is_none() {
        return skip!(Clang, "no clang");
    }
    let first = env::var("CORE_RELO_HEADER_SEED").map_or(0, |seed| seed.parse().unwrap());
    let (mut headers, mut assertions) = (0, 0);
    for seed in first..first + HEADERS {
        let btf = match Btf::parse(random_btf(&mut Random(seed << 32)).finish()) {
            Ok(btf) => btf,
            // Now and then, the last types refer to one after them.
            Err(e) => {
                println!("BTF {seed}: {e}");
                continue;
            }
        };
        let header = CHeader::new(&btf).assertions(true).to_string();
        let asserted = header.matches("_Static_assert").count();
        let (status, errors) = compile(&header);
        assert!(status.success() && errors.is_empty(), "BTF {seed}: {status}: {errors}:\n{header}");
        headers += 1;
        assertions += asserted;
    }
    println!("{headers} headers, {assertions} assertions");
    assert!(headers >= MIN_HEADERS && assertions >= headers * MIN_ASSERTIONS, "{headers}, {assertions}");
}
