//! The part of a local access that decides which candidates match.
//!
//! The comparison of fields and enumerators reads the object's types only through [`AccessPattern`]. The
//! cache key consists of the same values. A rule that reads more of the local types therefore changes the
//! cache key, too.

use super::{compat::is_whole_int, error::BrokenInvariant, step_budget::chain_cost};
use crate::{
    Endian, Name, TypeId,
    btf::{Btf, Kind, Type, WalkError},
    ext::RelocKind,
    limits,
    spec::{Accessor, Spec},
};
use alloc::vec::Vec;

/// The properties of a local access to a field or an enumerator that matching reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessPattern<'o> {
    btf: &'o Btf<'o>,
    spec: &'o Spec,
}

/// One step of an access to a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldStep<'o> {
    /// An element: of the root type in the first step, of an array in later steps.
    Element(u32),
    /// A named member and the layers of its type.
    Member { name: Name<'o>, layers: TypeLayers<'o> },
}

/// A cursor over the layers of a member's type: arrays from the outside in, then the innermost element's
/// type.
///
/// The cursor stays at the innermost layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeLayers<'o> {
    btf: &'o Btf<'o>,
    next: TypeId,
}

/// One layer of a member's type, without its modifiers and typedefs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeLayer<'o> {
    /// The steps for skipping the modifiers and typedefs.
    pub(super) chain_cost: u32,
    pub(super) shape: LayerShape<'o>,
}

/// The properties of a type that decide which types are compatible with it as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LayerShape<'o> {
    Array,
    /// A struct or union, which is compatible with every struct and union.
    Composite,
    Enum(Name<'o>),
    Float,
    Forward(Name<'o>),
    /// An integer of any size and sign. In old BTF an integer may stand for a bitfield within its storage:
    /// not a whole one.
    Int {
        is_whole: bool,
    },
    Pointer,
    /// A type that cannot be the type of a field. It is never compatible.
    Other,
}

/// One part of the key under which matches of an access are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyPart<'o> {
    /// The byte order of the object and the relocation kind, on which the value of a match depends.
    Value(Endian, RelocKind),
    Element(u32),
    Member(Name<'o>),
    Layer(TypeLayer<'o>),
    Enumerator(Name<'o>),
}

impl<'o> AccessPattern<'o> {
    /// Creates the pattern of a spec; `btf` is the object's BTF.
    pub(crate) fn new(btf: &'o Btf<'_>, spec: &'o Spec) -> Self {
        Self { btf, spec }
    }

    /// Returns the relocation kind.
    pub(super) fn kind(&self) -> RelocKind {
        self.spec.kind
    }

    /// Returns the steps of an access to a field, in order.
    pub(crate) fn field_steps(&self) -> impl Iterator<Item = Result<FieldStep<'o>, BrokenInvariant>> {
        let Self { btf, spec } = *self;
        spec.accessors.iter().map(move |accessor| field_step(btf, accessor))
    }

    /// Returns the full name of the enumerator.
    pub(crate) fn enumerator(&self) -> Result<Name<'o>, BrokenInvariant> {
        let accessor = self.spec.accessors.first();
        accessor.and_then(|accessor| accessor.name(self.btf)).ok_or(BrokenInvariant::Accessor)
    }

    /// Writes the cache key to the empty `key`.
    ///
    /// Returns `None` for an access that is not worth caching: a type as a whole, names longer than
    /// [`limits::SHARED_ACCESS`], an array of more than [`limits::SHARED_DIMENSIONS`], a local type that
    /// cannot be followed.
    pub(crate) fn write_key(&self, endian: Endian, key: &mut Vec<KeyPart<'o>>) -> Option<()> {
        let mut key = BoundedKey { parts: key, bytes_left: limits::SHARED_ACCESS };
        key.push(KeyPart::Value(endian, self.kind()))?;
        if self.kind().is_enumval() {
            return key.push(KeyPart::Enumerator(self.enumerator().ok()?));
        }
        if !self.kind().is_field() {
            return None;
        }
        for step in self.field_steps() {
            match step.ok()? {
                FieldStep::Element(index) => key.push(KeyPart::Element(index))?,
                FieldStep::Member { name, layers } => {
                    key.push(KeyPart::Member(name))?;
                    key.push_layers(layers)?;
                }
            }
        }
        Some(())
    }
}

fn field_step<'o>(btf: &'o Btf<'o>, accessor: &Accessor) -> Result<FieldStep<'o>, BrokenInvariant> {
    if !accessor.named {
        return Ok(FieldStep::Element(accessor.index));
    }
    let member = btf.ty(accessor.ty).and_then(|composite| composite.member(accessor.index));
    let member = member.ok_or(BrokenInvariant::Accessor)?;
    Ok(FieldStep::Member { name: member.name, layers: TypeLayers { btf, next: member.ty } })
}

impl<'o> TypeLayers<'o> {
    /// Reads the layer at the cursor, and moves the cursor into it if it is an array.
    pub(super) fn next_layer(&mut self) -> Result<TypeLayer<'o>, WalkError> {
        let mut hops = 0;
        let ty = self.btf.strip_counting(self.next, &mut hops)?;
        if let Some(array) = ty.array() {
            self.next = array.element;
        }
        Ok(TypeLayer { chain_cost: chain_cost(hops), shape: LayerShape::new(ty) })
    }
}

impl<'o> LayerShape<'o> {
    fn new(ty: Type<'o>) -> Self {
        match ty.kind() {
            Kind::Array => Self::Array,
            Kind::Struct | Kind::Union => Self::Composite,
            Kind::Enum | Kind::Enum64 => Self::Enum(ty.name()),
            Kind::Float => Self::Float,
            Kind::Fwd => Self::Forward(ty.name()),
            Kind::Int => Self::Int { is_whole: is_whole_int(ty) },
            Kind::Ptr => Self::Pointer,
            _ => Self::Other,
        }
    }
}

/// A cache key of bounded length. Comparing a longer key would cost more than the cache saves.
struct BoundedKey<'k, 'o> {
    parts: &'k mut Vec<KeyPart<'o>>,
    bytes_left: usize,
}

impl<'o> BoundedKey<'_, 'o> {
    fn push(&mut self, part: KeyPart<'o>) -> Option<()> {
        /// The bytes that a part counts for, besides its name.
        const PART_BYTES: usize = 4;
        let name_bytes = part.name().map_or(0, |name| name.as_bytes().len());
        self.bytes_left = self.bytes_left.checked_sub(name_bytes)?.checked_sub(PART_BYTES)?;
        self.parts.push(part);
        Some(())
    }

    fn push_layers(&mut self, mut layers: TypeLayers<'o>) -> Option<()> {
        for _ in 0..=limits::SHARED_DIMENSIONS {
            let layer = layers.next_layer().ok()?;
            self.push(KeyPart::Layer(layer))?;
            if layer.shape != LayerShape::Array {
                return Some(());
            }
        }
        None
    }
}

impl<'o> KeyPart<'o> {
    fn name(&self) -> Option<Name<'o>> {
        match *self {
            Self::Member(name)
            | Self::Enumerator(name)
            | Self::Layer(TypeLayer { shape: LayerShape::Enum(name) | LayerShape::Forward(name), .. }) => {
                Some(name)
            }
            Self::Value(..) | Self::Element(_) | Self::Layer(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::Builder;

    /// Without this limit each of a hundred thousand records could walk through arrays of arrays for its key
    /// alone.
    #[test]
    fn arrays_of_many_dimensions_have_no_key() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let mut nested = Vec::from([int]);
        for _ in 0..=limits::SHARED_DIMENSIONS {
            let inner = b.modifier(Kind::Const, nested.last().copied().unwrap());
            nested.push(b.array(inner, int, 2));
        }
        let roots: Vec<_> = nested.iter().map(|ty| b.structure("s", 4, &[("a", *ty, 0)])).collect();
        let btf = Btf::parse(b.finish()).unwrap();
        let has_key = |root: &TypeId| {
            let mut spec = Spec::new(*root, RelocKind::FieldExists);
            spec.accessors.push(Accessor { ty: *root, index: 0, named: true });
            AccessPattern::new(&btf, &spec).write_key(Endian::Little, &mut Vec::new()).is_some()
        };
        let (many, few) = roots.split_last().unwrap();
        assert!(few.iter().all(has_key));
        assert!(!has_key(many));
    }
}
