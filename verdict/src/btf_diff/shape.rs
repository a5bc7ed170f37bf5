//! The meaning of types as numbers: two references mean the same if their shapes are equal.

use core_relo::{
    TypeId,
    btf::{Btf, IntInfo, Kind, Type},
};
use hashbrown::HashMap;

/// A number for the meaning of a type. Equal types of all BTFs have equal shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shape(u32);

/// The shapes of the types of several BTFs.
#[derive(Debug, Default)]
pub(super) struct Shapes<'b> {
    numbers: HashMap<Box<[u32]>, Shape>,
    names: HashMap<&'b [u8], u32>,
    key: Vec<u32>,
}

/// The shapes of one BTF's types, computed on demand.
#[derive(Debug)]
pub(super) struct BtfShapes<'b> {
    pub(super) btf: &'b Btf<'b>,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// The types that the type refers to are being computed.
    Open,
    Done(Shape),
}

/// The first word of a shape's key.
#[derive(Clone, Copy)]
enum Tag {
    Void,
    Int,
    Float,
    Pointer,
    Const,
    Volatile,
    Array,
    Prototype,
    Named,
    Composite,
    Enum,
    /// An anonymous type that contains itself. Only hostile BTF has such types.
    Cycle,
}

impl Tag {
    const fn word(self) -> u32 {
        match self {
            Self::Void => 0,
            Self::Int => 1,
            Self::Float => 2,
            Self::Pointer => 3,
            Self::Const => 4,
            Self::Volatile => 5,
            Self::Array => 6,
            Self::Prototype => 7,
            Self::Named => 8,
            Self::Composite => 9,
            Self::Enum => 10,
            Self::Cycle => 11,
        }
    }
}

impl<'b> BtfShapes<'b> {
    pub(super) fn new(btf: &'b Btf<'b>) -> Self {
        let count = TypeId(btf.end_id().0).index();
        Self { btf, states: vec![State::New; count] }
    }

    fn state(&self, id: TypeId) -> State {
        self.states.get(id.index()).copied().unwrap_or(State::Open)
    }

    fn set_state(&mut self, id: TypeId, state: State) {
        if let Some(place) = self.states.get_mut(id.index()) {
            *place = state;
        }
    }
}

impl<'b> Shapes<'b> {
    /// Returns the shape of a reference to a type. Named structs, unions and enums are compared by name.
    pub(super) fn reference(&mut self, types: &mut BtfShapes<'b>, id: TypeId) -> Shape {
        let mut pending = vec![id];
        while let Some(top) = pending.last().copied() {
            match types.state(top) {
                State::Done(_) => {
                    pending.pop();
                }
                State::New => {
                    types.set_state(top, State::Open);
                    let Some(ty) = types.btf.ty(top) else { continue };
                    for_each_reference(ty, |child| {
                        if types.state(child) == State::New {
                            pending.push(child);
                        }
                    });
                }
                State::Open => {
                    pending.pop();
                    let shape = match types.btf.ty(top) {
                        Some(ty) => self.reference_shape(types, ty),
                        None => self.intern(&[Tag::Cycle.word()]),
                    };
                    types.set_state(top, State::Done(shape));
                }
            }
        }
        self.done(types, id)
    }

    /// Returns the shape of a declaration: the members of a struct, the values of an enum, the target of a
    /// typedef, a prototype.
    pub(super) fn declaration(&mut self, types: &mut BtfShapes<'b>, ty: Type<'b>) -> Shape {
        match ty.kind() {
            Kind::Struct | Kind::Union => {
                for member in ty.members() {
                    self.reference(types, member.ty);
                }
                self.composite_shape(types, ty)
            }
            Kind::Enum | Kind::Enum64 => self.enum_shape(ty),
            Kind::Typedef => match ty.target().and_then(|id| types.btf.ty(id)) {
                Some(target) if is_anonymous(target) => self.declaration(types, target),
                Some(target) => self.reference(types, target.id()),
                None => self.intern(&[Tag::Cycle.word()]),
            },
            _ => match ty.target() {
                Some(target) => self.reference(types, target),
                None => self.intern(&[Tag::Cycle.word()]),
            },
        }
    }

    fn done(&mut self, types: &BtfShapes<'b>, id: TypeId) -> Shape {
        match types.state(id) {
            State::Done(shape) => shape,
            State::New | State::Open => self.intern(&[Tag::Cycle.word()]),
        }
    }

    /// Returns the shape of a type whose references have shapes.
    fn reference_shape(&mut self, types: &BtfShapes<'b>, ty: Type<'b>) -> Shape {
        let target = |shapes: &mut Self| match ty.target() {
            Some(id) => shapes.done(types, id),
            None => shapes.intern(&[Tag::Cycle.word()]),
        };
        match ty.kind() {
            Kind::Void => self.intern(&[Tag::Void.word()]),
            Kind::Int => {
                let (size, int) = (ty.size_or_type(), ty.int());
                let meaning = |int: IntInfo| u32::from(int.encoding & (IntInfo::SIGNED | IntInfo::BOOL));
                let part = int.map_or(0, |int| (u32::from(int.offset) << 8) | u32::from(int.bits));
                self.intern(&[Tag::Int.word(), size, part, int.map_or(0, meaning)])
            }
            Kind::Float => self.intern(&[Tag::Float.word(), ty.size_or_type()]),
            Kind::Ptr => {
                let Shape(pointee) = target(self);
                self.intern(&[Tag::Pointer.word(), pointee])
            }
            Kind::Const => {
                let Shape(inner) = target(self);
                self.intern(&[Tag::Const.word(), inner])
            }
            Kind::Volatile => {
                let Shape(inner) = target(self);
                self.intern(&[Tag::Volatile.word(), inner])
            }
            // Whether a BTF has type tags depends on the compiler.
            Kind::Restrict | Kind::TypeTag => target(self),
            Kind::Typedef => match ty.target().and_then(|id| types.btf.ty(id)) {
                Some(inner) if is_anonymous(inner) => self.named(Kind::Typedef, ty),
                _ => target(self),
            },
            Kind::Array => {
                let Some(array) = ty.array() else { return self.intern(&[Tag::Cycle.word()]) };
                let Shape(element) = self.done(types, array.element);
                self.intern(&[Tag::Array.word(), array.nelems, element])
            }
            Kind::FuncProto => {
                let Shape(ret) = target(self);
                let mut key = self.new_key(Tag::Prototype);
                key.push(ret);
                for param in ty.params() {
                    key.push(self.done(types, param.ty).0);
                }
                self.intern_key(key)
            }
            Kind::Struct | Kind::Union if ty.name().is_empty() => self.composite_shape(types, ty),
            Kind::Enum | Kind::Enum64 if ty.name().is_empty() => self.enum_shape(ty),
            Kind::Fwd => self.named(if ty.kflag() { Kind::Union } else { Kind::Struct }, ty),
            Kind::Enum64 => self.named(Kind::Enum, ty),
            kind => self.named(kind, ty),
        }
    }

    fn composite_shape(&mut self, types: &BtfShapes<'b>, ty: Type<'b>) -> Shape {
        let mut key = self.new_key(Tag::Composite);
        key.extend([u32::from(ty.kind() == Kind::Union), ty.size_or_type()]);
        for member in ty.members() {
            let name = self.name(member.name.as_bytes());
            let Shape(shape) = self.done(types, member.ty);
            key.extend([name, member.bit_offset.0, member.bitfield_bits, shape]);
        }
        self.intern_key(key)
    }

    fn enum_shape(&mut self, ty: Type<'b>) -> Shape {
        let mut key = self.new_key(Tag::Enum);
        key.push(ty.size_or_type());
        for enumerator in ty.enumerators() {
            key.push(self.name(enumerator.name.as_bytes()));
            let value = enumerator.c_value();
            let word = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or(u32::MAX);
            key.extend([word(value), word(value >> 32)]);
        }
        self.intern_key(key)
    }

    fn named(&mut self, kind: Kind, ty: Type<'b>) -> Shape {
        let name = self.name(ty.name().as_bytes());
        self.intern(&[Tag::Named.word(), kind.raw().into(), name])
    }

    fn name(&mut self, name: &'b [u8]) -> u32 {
        let next = next_number(self.names.len());
        *self.names.entry(name).or_insert(next)
    }

    /// Returns the buffer for a key, whose memory is used again.
    fn new_key(&mut self, tag: Tag) -> Vec<u32> {
        let mut key = core::mem::take(&mut self.key);
        key.clear();
        key.push(tag.word());
        key
    }

    fn intern_key(&mut self, key: Vec<u32>) -> Shape {
        let shape = self.intern(&key);
        self.key = key;
        shape
    }

    fn intern(&mut self, key: &[u32]) -> Shape {
        if let Some(shape) = self.numbers.get(key) {
            return *shape;
        }
        let shape = Shape(next_number(self.numbers.len()));
        self.numbers.insert(key.into(), shape);
        shape
    }
}

/// Returns the number of a new entry. A BTF has fewer than 2³² types and names, because its length is a
/// `u32`.
fn next_number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns whether a type is a struct, union or enum without a name.
pub(super) fn is_anonymous(ty: Type<'_>) -> bool {
    let kind = ty.kind();
    (kind.is_composite() || matches!(kind, Kind::Enum | Kind::Enum64)) && ty.name().is_empty()
}

/// Calls `visit` with the types that the shape of a reference depends on.
fn for_each_reference(ty: Type<'_>, mut visit: impl FnMut(TypeId)) {
    match ty.kind() {
        Kind::Struct | Kind::Union if ty.name().is_empty() => {
            ty.members().for_each(|member| visit(member.ty));
        }
        Kind::Array => {
            if let Some(array) = ty.array() {
                visit(array.element);
            }
        }
        Kind::FuncProto => {
            if let Some(ret) = ty.target() {
                visit(ret);
            }
            ty.params().for_each(|param| visit(param.ty));
        }
        kind if kind == Kind::Ptr || kind.is_modifier_or_typedef() => {
            if let Some(target) = ty.target() {
                visit(target);
            }
        }
        _ => {}
    }
}
