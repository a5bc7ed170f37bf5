//! What the target has that comes near to what it lacks.

use super::{c_type::CType, similar};
use crate::{
    btf::{Btf, Kind, Member, Type},
    ids::TypeId,
    name::Name,
    target::{Source, Target},
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt::{Display, Formatter, Result};

/// How many of each sort are named.
const FEW: usize = 3;
/// Similar members looked at before the nearest are chosen.
const MANY: usize = 64;
/// How deep members of members are looked through, anonymous ones included.
const DEPTH: u32 = 4;
/// Members looked at in one search; a target may be made to have too many.
const STEPS: usize = 200_000;

/// Something near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Near {
    /// `struct task_struct.state`
    pub(super) what: String,
    /// Its type in C's words, and more: `(long int, offset 24)`.
    pub(super) detail: String,
    /// A declaration of it for a local flavour, if it is a member of the very type: `long int state;`
    pub(super) declaration: Option<String>,
}

impl Display for Near {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.detail.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{} ({})", self.what, self.detail)
        }
    }
}

/// Members of the composite `ty` with a name like `wanted`, the same name further down in it, and in other composites.
pub(super) fn members(target: &Target<'_>, source: &Source<'_>, ty: TypeId, wanted: Name<'_>) -> Vec<Near> {
    let btf = &source.btf;
    let mut found = Inside { btf, wanted, steps: 0, similar: Vec::new(), deeper: Vec::new() };
    let Some(root) = btf.ty(ty) else { return Vec::new() };
    let root_text = CType::new(btf, ty).to_string();
    found.look(root, &root_text, 0, true, DEPTH);
    found.similar.sort_by_key(|(distance, _)| *distance);
    let mut near: Vec<_> = found.similar.into_iter().map(|(_, near)| near).take(FEW).collect();
    near.extend(found.deeper.into_iter().take(FEW));
    if near.is_empty() {
        near = elsewhere(target, ty, wanted);
    }
    near
}

struct Inside<'i> {
    btf: &'i Btf<'i>,
    wanted: Name<'i>,
    steps: usize,
    similar: Vec<(usize, Near)>,
    deeper: Vec<Near>,
}

impl Inside<'_> {
    /// `own` while only anonymous members lie between the root and here.
    fn look(&mut self, ty: Type<'_>, path: &str, base_bits: u32, own: bool, depth: u32) {
        for member in ty.members() {
            self.steps = self.steps.saturating_add(1);
            if self.steps > STEPS || self.similar.len() > MANY || self.deeper.len() > FEW {
                return;
            }
            let bits = base_bits.saturating_add(member.bit_offset.0);
            let path_to = |name: Name<'_>| format!("{path}.{name}");
            if !member.name.is_empty() && own {
                if let Some(distance) = similar::distance(member.name.as_bytes(), self.wanted.as_bytes()) {
                    self.similar.push((distance, self.near(&member, path_to(member.name), bits, true)));
                }
            } else if member.name == self.wanted {
                self.deeper.push(self.near(&member, path_to(member.name), bits, false));
            }
            let inner = ty.btf().strip(member.ty).ok().filter(|inner| inner.kind().is_composite());
            if let (Some(inner), Some(depth)) = (inner, depth.checked_sub(1)) {
                let anonymous = member.name.is_empty();
                let path = if anonymous { path.into() } else { path_to(member.name) };
                self.look(inner, &path, bits, own && anonymous, depth);
            }
        }
    }

    fn near(&self, member: &Member<'_>, what: String, bits: u32, own: bool) -> Near {
        let ty = CType::new(self.btf, member.ty).to_string();
        let bitfield =
            if member.bitfield_bits > 0 { format!(":{}", member.bitfield_bits) } else { String::new() };
        let detail = format!("{ty}{bitfield}, offset {}", bits / 8);
        let declarable = own && !ty.contains(['[', '(', '{']);
        let declaration = declarable.then(|| {
            let space = if ty.ends_with('*') { "" } else { " " };
            format!("{ty}{space}{}{bitfield};", member.name)
        });
        Near { what, detail, declaration }
    }
}

/// Named composites other than `ty` that have a member of the name.
fn elsewhere(target: &Target<'_>, ty: TypeId, wanted: Name<'_>) -> Vec<Near> {
    let btf = &target.main().btf;
    let named = btf.types().filter(|t| t.kind().is_composite() && !t.name().is_empty() && t.id() != ty);
    let with = named.filter_map(|t| {
        let member = t.members().find(|m| m.name == wanted)?;
        let detail = format!("{}, offset {}", CType::new(btf, member.ty), member.bit_offset.0 / 8);
        Some(Near { what: format!("{}.{wanted}", CType::new(btf, t.id())), detail, declaration: None })
    });
    let mut some: Vec<_> = with.take(FEW.saturating_add(1)).collect();
    // A name that everything has (`next`, `flags`) says nothing.
    if some.len() > FEW {
        some.clear();
    }
    some
}

/// Types of the root's name and another kind, else of its kind and a name like it.
pub(super) fn types(target: &Target<'_>, local: &Btf<'_>, root: TypeId) -> Vec<Near> {
    let Some(root) = local.ty(root) else { return Vec::new() };
    let wanted = root.name().essential();
    let btf = &target.main().btf;
    let near = |ty: Type<'_>| {
        let text = match ty.kind() {
            Kind::Typedef => format!("typedef {}", ty.name()),
            Kind::Fwd => format!("{} (declared only)", CType::new(btf, ty.id())),
            _ => CType::new(btf, ty.id()).to_string(),
        };
        Near { what: text, detail: format!("[{}]", ty.id()), declaration: None }
    };
    let typed = |ty: &Type<'_>| {
        ty.kind().is_composite()
            || ty.kind().is_enum()
            || matches!(ty.kind(), Kind::Typedef | Kind::Fwd | Kind::Int)
    };
    let same_name: Vec<_> =
        btf.types().filter(|ty| typed(ty) && ty.name().same_essential(wanted)).map(near).take(FEW).collect();
    if !same_name.is_empty() {
        return same_name;
    }
    let alike = btf.types().filter(|ty| ty.kind().compatible(root.kind()) && !ty.name().is_empty());
    let mut alike: Vec<_> = alike
        .filter_map(|ty| Some((similar::distance(ty.name().essential().as_bytes(), wanted.as_bytes())?, ty)))
        .collect();
    alike.sort_by_key(|(distance, ty)| (*distance, ty.id()));
    alike.into_iter().map(|(_, ty)| near(ty)).take(FEW).collect()
}

/// Enumerators of the enum with a name like `wanted`, and the same name in other enums.
pub(super) fn variants(target: &Target<'_>, source: &Source<'_>, ty: TypeId, wanted: Name<'_>) -> Vec<Near> {
    let near = |btf: &Btf<'_>, id: TypeId, name: Name<'_>, value: u64| Near {
        what: format!("{}::{name}", CType::new(btf, id)),
        detail: format!("{}", value.cast_signed()),
        declaration: None,
    };
    let Some(own) = source.btf.ty(ty) else { return Vec::new() };
    let mut alike: Vec<_> = own
        .variants()
        .filter_map(|v| Some((similar::distance(v.name.as_bytes(), wanted.essential().as_bytes())?, v)))
        .collect();
    alike.sort_by_key(|(distance, v)| (*distance, v.index));
    let mut found: Vec<_> =
        alike.into_iter().take(FEW).map(|(_, v)| near(&source.btf, ty, v.name, v.c_value())).collect();
    let btf = &target.main().btf;
    let others = btf.types().filter(|t| t.kind().is_enum() && t.id() != ty);
    let same =
        others.filter_map(|t| t.variants().find(|v| v.name.same_essential(wanted)).map(|v| (t.id(), v)));
    found.extend(same.take(FEW).map(|(id, v)| near(btf, id, v.name, v.c_value())));
    found
}
