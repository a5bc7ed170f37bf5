//! The order of declarations: what a declaration needs comes before it.
//!
//! A type is needed either complete or declared. A member needs its type complete. A pointer needs a struct
//! only declared, which takes no line, but needs a typedef before it. Each type is visited at most once for
//! each need, on an explicit stack.

use super::{composite::anonymous_composite, layout::Layouts, names};
use crate::{
    format::Kind,
    ids::{TypeId, to_usize},
    limits,
    parse::Btf,
    view::{Member, Type},
};
use alloc::{borrow::Cow, vec, vec::Vec};
use hashbrown::{HashMap, HashSet};

/// How much of a type a declaration needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Declared,
    Complete,
}

/// A step from a type to a type that it needs.
enum Step {
    To(TypeId, Need),
    Skip,
    End,
}

/// The declarations of a header, in order.
#[derive(Debug)]
pub(super) struct Graph<'b> {
    btf: &'b Btf<'b>,
    /// The types that have been visited, for each need.
    is_visited: [Vec<bool>; 2],
    /// Typedefs and named composites.
    pub(super) order: Vec<TypeId>,
    pub(super) enums: Vec<TypeId>,
    /// Composites and FWDs that occur behind pointers.
    pub(super) mentioned: Vec<TypeId>,
    /// Composites and FWDs that occur in parameters: C declares them in the scope of the parameters
    /// otherwise.
    pub(super) forwards: HashSet<TypeId>,
    pub(super) layouts: Layouts,
    /// Enums without a name that are declared within another declaration; `false` for those that occur
    /// several times.
    pub(super) inline_enums: HashMap<TypeId, bool>,
    /// Named composites that are the type of a member without a name.
    repeated: HashSet<TypeId>,
    /// The identifiers of members of members without a name. They may hide typedefs.
    hiding: HashSet<Cow<'b, [u8]>>,
    stack: Vec<(TypeId, Need, u32)>,
}

impl<'b> Graph<'b> {
    pub(super) fn new(btf: &'b Btf<'b>) -> Self {
        let count = to_usize(btf.end_id().0);
        Self {
            btf,
            is_visited: [vec![false; count], vec![false; count]],
            order: Vec::new(),
            enums: Vec::new(),
            mentioned: Vec::new(),
            forwards: HashSet::new(),
            layouts: Layouts::default(),
            inline_enums: HashMap::new(),
            repeated: HashSet::new(),
            hiding: HashSet::new(),
            stack: Vec::new(),
        }
    }

    /// Adds a type and all that it needs.
    pub(super) fn add(&mut self, id: TypeId, need: Need) {
        self.enter(id, need);
        while let Some((id, need, index)) = self.stack.last().copied() {
            if let Some(top) = self.stack.last_mut() {
                top.2 = index.saturating_add(1);
            }
            let Some(ty) = self.btf.ty(id) else {
                self.stack.pop();
                continue;
            };
            match self.step(ty, need, index) {
                Step::To(next, need) => self.enter(next, need),
                Step::Skip => {}
                Step::End => {
                    self.leave(ty, need);
                    self.stack.pop();
                }
            }
        }
    }

    fn enter(&mut self, id: TypeId, need: Need) {
        let need = match self.btf.ty(id).map_or(Kind::Void, Type::kind) {
            Kind::Void | Kind::Int | Kind::Float => return,
            // One visit suffices.
            Kind::Enum | Kind::Enum64 | Kind::Fwd | Kind::FuncProto | Kind::Func => Need::Declared,
            _ => need,
        };
        let [declared, complete] = &mut self.is_visited;
        let visited = if need == Need::Declared { declared } else { complete };
        if let Some(is_visited @ false) = visited.get_mut(id.index()) {
            *is_visited = true;
            self.stack.push((id, need, 0));
        }
    }

    fn step(&mut self, ty: Type<'b>, need: Need, index: u32) -> Step {
        let target = TypeId(ty.size_or_type());
        match (ty.kind(), need, index) {
            (Kind::Typedef, Need::Complete, 0) => Step::To(ty.id(), Need::Declared),
            (Kind::Typedef, Need::Complete, 1) => Step::To(target, Need::Complete),
            (Kind::Struct | Kind::Union, Need::Complete, _) => match ty.member(index) {
                Some(member) => {
                    self.note_enum(ty, member.ty);
                    if ty.name().is_empty() {
                        self.note_hiding(&member);
                    }
                    if member.name.is_empty() {
                        self.note_repeated(member.ty);
                    }
                    Step::To(member.ty, Need::Complete)
                }
                None => Step::End,
            },
            (Kind::Struct | Kind::Union, Need::Declared, 0) if ty.name().is_empty() => {
                Step::To(ty.id(), Need::Complete)
            }
            (Kind::Array, _, 0) => match ty.array() {
                Some(array) => {
                    self.note_enum(ty, array.element);
                    Step::To(array.element, Need::Complete)
                }
                None => Step::End,
            },
            (Kind::Typedef, Need::Declared, 0) | (Kind::Ptr | Kind::Func, _, 0) => {
                self.note_enum(ty, target);
                Step::To(target, Need::Declared)
            }
            (Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag, _, 0) => {
                self.note_enum(ty, target);
                Step::To(target, need)
            }
            (Kind::FuncProto, _, 0) => {
                self.note_enum(ty, target);
                self.note_forward(target);
                Step::To(target, Need::Declared)
            }
            (Kind::FuncProto, ..) => match ty.param(index.saturating_sub(1)) {
                Some(param) if param.ty == TypeId::VOID => Step::Skip,
                Some(param) => {
                    self.note_enum(ty, param.ty);
                    self.note_forward(param.ty);
                    Step::To(param.ty, Need::Declared)
                }
                None => Step::End,
            },
            _ => Step::End,
        }
    }

    fn leave(&mut self, ty: Type<'b>, need: Need) {
        let id = ty.id();
        match (ty.kind(), need) {
            (Kind::Typedef, Need::Declared) => self.order.push(id),
            (Kind::Enum | Kind::Enum64, _) => self.enums.push(id),
            (Kind::Fwd, _) => self.mentioned.push(id),
            (Kind::Struct | Kind::Union, Need::Declared) if !ty.name().is_empty() => self.mentioned.push(id),
            (Kind::Struct | Kind::Union, Need::Complete) => {
                self.layouts.add(ty);
                if !ty.name().is_empty() {
                    self.order.push(id);
                }
            }
            _ => {}
        }
    }

    /// Notes that a type refers to an enum without a name.
    fn note_enum(&mut self, from: Type<'b>, to: TypeId) {
        if self.is_anonymous_enum(to) {
            let is_named =
                !from.name().is_empty() && (from.kind().is_composite() || from.kind() == Kind::Typedef);
            self.inline_enums.entry(to).and_modify(|is_inline| *is_inline = false).or_insert(is_named);
        }
    }

    fn is_anonymous_enum(&self, id: TypeId) -> bool {
        self.btf.ty(id).is_some_and(|ty| ty.kind().is_enum() && ty.name().is_empty())
    }

    /// Notes that the enums in a named composite occur several times: in its definition, and where it is the
    /// type of a member without a name. There, its members may hide typedefs.
    fn note_repeated(&mut self, id: TypeId) {
        let Some(composite) = anonymous_composite(self.btf, id).filter(|ty| !ty.name().is_empty()) else {
            return;
        };
        if !self.repeated.insert(composite.id()) {
            return;
        }
        for member in composite.members() {
            self.note_hiding(&member);
            if self.is_anonymous_enum(member.ty) {
                self.inline_enums.insert(member.ty, false);
            }
        }
    }

    /// Notes a member of a member without a name.
    fn note_hiding(&mut self, member: &Member<'b>) {
        let name = member.name.as_bytes();
        let is_identifier = names::is_identifier(name);
        self.hiding.insert(if is_identifier {
            name.into()
        } else {
            names::sanitized(name).into_bytes().into()
        });
    }

    /// Returns whether a member may hide the typedef with an identifier. The target of the typedef is then
    /// written in its place.
    pub(super) fn may_be_hidden(&self, identifier: &[u8]) -> bool {
        names::is_generated_form(identifier) || self.hiding.contains(identifier)
    }

    /// Notes a composite that a parameter or a result of a function names.
    fn note_forward(&mut self, id: TypeId) {
        let mut at = id;
        for _ in 0..limits::MODIFIER_HOPS {
            let Some(ty) = self.btf.ty(at) else { return };
            at = match ty.kind() {
                Kind::Ptr | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => {
                    TypeId(ty.size_or_type())
                }
                Kind::Array => match ty.array() {
                    Some(array) => array.element,
                    None => return,
                },
                Kind::Struct | Kind::Union | Kind::Fwd if !ty.name().is_empty() => {
                    self.forwards.insert(at);
                    return;
                }
                _ => return,
            };
        }
    }
}
