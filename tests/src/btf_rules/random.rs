//! Random BTFs: mostly valid types that refer to each other, with a few words changed.

use core_relo::{
    Endian, TypeId,
    btf::{Builder, BuiltMember, Kind},
};
use fastrand::Rng;

/// A generator of random BTFs.
#[derive(Debug)]
pub struct RandomBtf {
    rng: Rng,
    /// The types so far that have a size, and their size in bytes.
    sized: Vec<(TypeId, u32)>,
    /// The number of types of the current BTF.
    count: u32,
    /// One of so many choices is wild.
    calm: u32,
}

/// The bytes of the header.
const HEADER_BYTES: usize = 24;
/// The offset of the header's field with the length of the type section.
const TYPE_LEN: usize = 12;

impl RandomBtf {
    /// Creates a generator.
    pub fn new(rng: Rng) -> Self {
        Self { rng, sized: Vec::new(), count: 0, calm: 0 }
    }

    /// Returns the next BTF.
    pub fn next_btf(&mut self) -> Vec<u8> {
        let mut b = Builder::new(Endian::native());
        self.count = self.rng.u32(2..40);
        self.calm = [20, 200, 2000][self.rng.usize(0..3)];
        self.sized = vec![(b.int("int", 4, Builder::SIGNED), 4)];
        while b.next_id().0 < self.count {
            self.add_type(&mut b);
        }
        let mut btf = b.finish();
        for _ in 0..[0, 0, 0, 1, 1, 2][self.rng.usize(0..6)] {
            self.change(&mut btf);
        }
        btf
    }

    /// Returns whether the next choice is a wild one.
    fn is_wild(&mut self) -> bool {
        self.rng.u32(0..self.calm) == 0
    }

    /// Returns a type with a size, or rarely any type, and the size in bytes.
    fn sized(&mut self, b: &Builder) -> (TypeId, u32) {
        if self.is_wild() {
            let earlier = b.next_id().0;
            let ids = [0..self.count + 2, earlier..earlier + 4, 0..1, 1..earlier];
            let ids = ids[self.rng.usize(0..4)].clone();
            return (TypeId(self.rng.u32(ids)), self.rng.u32(0..9));
        }
        self.sized[self.rng.usize(0..self.sized.len())]
    }

    /// Returns the target of a pointer: a type that need not have a size, and may come later.
    fn target(&mut self, b: &Builder) -> TypeId {
        match self.rng.u32(0..6) {
            0 => TypeId::VOID,
            1 => TypeId(self.rng.u32(1..self.count + 1)),
            _ => self.sized(b).0,
        }
    }

    fn name(&mut self) -> &'static str {
        const VALID: [&str; 7] = ["a", "b", "c", "d", "e", "_9", "g"];
        const WILD: [&str; 6] = ["a.b", "", "a-b", "\u{e9}", "9", "a b"];
        if self.is_wild() { WILD[self.rng.usize(0..6)] } else { VALID[self.rng.usize(0..7)] }
    }

    /// Returns a number below a limit, or rarely any number.
    fn number(&mut self, limit: u32) -> u32 {
        if self.is_wild() { self.rng.u32(..) } else { self.rng.u32(0..limit) }
    }

    fn add_type(&mut self, b: &mut Builder) {
        let name = self.name();
        match self.rng.u32(0..22) {
            0 => self.add_int(b, name),
            1 | 2 => {
                let target = self.target(b);
                self.sized.push((b.pointer(target), 8));
            }
            3 | 4 => {
                let (element, size) = self.sized(b);
                let index = if self.is_wild() { self.sized(b).0 } else { TypeId(1) };
                let nelems = self.number(5);
                self.sized.push((b.array(element, index, nelems), size.wrapping_mul(nelems)));
            }
            5..=8 => self.add_composite(b, name),
            9 => {
                let size = if self.is_wild() { 3 } else { [1, 2, 4, 8][self.rng.usize(0..4)] };
                let id = match self.rng.u32(0..4) {
                    0 => b.enumeration(name, size, &[("A", 1), ("B", -1)]),
                    1 => b.signed_enumeration(name, size, &[("A", 1), ("B", -1)]),
                    2 => b.enumeration64(name, size, &[("A", 1), ("B", u64::MAX)]),
                    _ => b.signed_enumeration64(name, size, &[("A", 1), ("B", u64::MAX)]),
                };
                self.sized.push((id, size));
            }
            10 => {
                b.forward(name, if self.rng.bool() { Kind::Union } else { Kind::Struct });
            }
            11 | 12 => {
                let (target, size) = self.sized(b);
                self.sized.push((b.typedef(name, target), size));
            }
            13 | 14 => {
                let kind = [Kind::Const, Kind::Volatile, Kind::Restrict][self.rng.usize(0..3)];
                let (target, size) = self.sized(b);
                self.sized.push((b.modifier(kind, target), size));
            }
            15 => {
                let size = [2, 4, 8, 12, 16][self.rng.usize(0..5)];
                self.sized.push((b.float(name, size), size));
            }
            16 => {
                let target = self.target(b);
                match self.rng.u32(0..8) {
                    0 => b.type_attribute(name, target),
                    _ => b.type_tag(name, target),
                };
            }
            17 => {
                let wild = self.is_wild();
                let owner = if wild { self.sized(b).0 } else { b.typedef("owner", TypeId(1)) };
                b.decl_tag(name, owner, if wild { self.rng.i32(-2..3) } else { -1 });
            }
            18 => {
                let count = self.rng.usize(0..4);
                let params: Vec<_> = (0..count).map(|_| (self.name(), self.sized(b).0)).collect();
                let (ret, _) = self.sized(b);
                b.func_proto(ret, &params);
            }
            19 => {
                let mut proto = b.func_proto(TypeId(1), &[("a", TypeId(1))]);
                if self.is_wild() {
                    proto = self.target(b);
                }
                let linkage = if self.is_wild() { 2 } else { self.rng.u8(0..2) };
                b.func(name, proto, linkage);
            }
            20 => {
                let (ty, _) = self.sized(b);
                let linkage = self.number(2);
                b.var(name, ty, linkage);
            }
            _ => self.add_section(b),
        }
    }

    fn add_int(&mut self, b: &mut Builder, name: &str) {
        const REGULAR: [(u32, u8); 5] = [(1, 8), (2, 16), (4, 32), (8, 64), (16, 128)];
        const ODD: [(u32, u8); 4] = [(4, 7), (4, 24), (3, 24), (0, 0)];
        let is_odd = self.is_wild();
        let (bytes, bits) = if is_odd { ODD[self.rng.usize(0..4)] } else { REGULAR[self.rng.usize(0..5)] };
        let offset = if is_odd { self.rng.u8(0..9) } else { 0 };
        let encoding = [0, 1, 2, 4][self.rng.usize(0..4)];
        self.sized.push((b.legacy_bitfield(name, bytes, encoding, offset, bits), bytes));
    }

    fn add_section(&mut self, b: &mut Builder) {
        let mut entries = Vec::new();
        let mut at = 0u32;
        for _ in 0..self.rng.u32(1..4) {
            let (ty, size) = self.sized(b);
            let size = if self.is_wild() { self.number(16) } else { size.max(1) };
            let entry = if self.is_wild() { ty } else { b.var("v", ty, 1) };
            entries.push((entry, at, size));
            at = at.wrapping_add(size);
        }
        let size = if self.is_wild() { self.number(16) } else { at };
        b.datasec(".data", size, &entries);
    }

    fn add_composite(&mut self, b: &mut Builder, name: &str) {
        let kind = if self.rng.u32(0..4) == 0 { Kind::Union } else { Kind::Struct };
        let has_bitfields = self.rng.u32(0..3) == 0;
        let (mut at, mut end) = (0u32, 0u32);
        let mut members = Vec::new();
        for _ in 0..self.rng.u32(0..5) {
            let (ty, size) = self.sized(b);
            let is_bitfield = has_bitfields && (self.is_wild() || (ty == TypeId(1) && self.rng.bool()));
            let width = if is_bitfield { self.rng.u8(1..34) } else { 0 };
            if !is_bitfield && !self.is_wild() {
                at = at.next_multiple_of(64);
            }
            members.push(BuiltMember { name: self.name(), ty, bit_offset: at, bitfield_bits: width });
            let bits = if is_bitfield { width.into() } else { size.saturating_mul(8) };
            end = end.max(at.saturating_add(bits).min(1 << 23));
            if kind == Kind::Struct {
                at = end;
            }
        }
        let size = end.div_ceil(8);
        let size = if self.is_wild() { size.saturating_sub(1) } else { size };
        self.sized.push((b.composite(kind, name, size, &members), size));
    }

    /// Changes a word of a record, or rarely a byte of the header or of the strings.
    fn change(&mut self, btf: &mut [u8]) {
        let endian = Endian::native();
        let types = usize::try_from(endian.u32(btf, TYPE_LEN).unwrap_or(0)).unwrap_or(0);
        let strings = HEADER_BYTES.saturating_add(types);
        match self.rng.u32(0..20) {
            0 => btf[self.rng.usize(0..HEADER_BYTES)] = self.rng.u8(..),
            1 if strings < btf.len() => {
                let at = self.rng.usize(strings..btf.len());
                btf[at] = self.rng.u8(..);
            }
            _ if types >= 4 && strings <= btf.len() => {
                let at = HEADER_BYTES + 4 * self.rng.usize(0..types / 4);
                let old = endian.u32(btf, at).unwrap_or(0);
                let new = match self.rng.u32(0..6) {
                    0 => old ^ (1 << self.rng.u32(0..32)),
                    1 => old.wrapping_add(1),
                    2 => old.wrapping_sub(1),
                    3 => self.rng.u32(0..64),
                    4 => (self.rng.u32(0..21) << 24) | self.rng.u32(0..4),
                    _ => self.rng.u32(..),
                };
                btf[at..at + 4].copy_from_slice(&endian.u32_bytes(new));
            }
            _ => {}
        }
    }
}
