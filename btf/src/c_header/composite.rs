//! Definitions of structs and unions, with padding.

use super::{
    integer::bool_substitute,
    layout::{Layout, MemberSpan},
    names,
    printer::Printer,
    tags::comment,
};
use crate::{
    format::Kind,
    ids::TypeId,
    limits,
    parse::Btf,
    view::{Member, Type},
};
use alloc::string::String;
use core::fmt::{Result, Write as _};

/// The levels of composites within a definition. clang accepts 256 levels of braces.
pub(super) const COMPOSITE_DEPTH: u32 = 32;

/// The bytes of padding that are declared as bitfields without a name. More are an array.
const UNNAMED_PADDING: u64 = 256;

impl<'b> Printer<'_, 'b, '_> {
    /// Writes the definition of a composite without a name, whose members have a scope of their own.
    pub(super) fn nested_composite(&mut self, ty: Type<'b>, depth: u32) -> Result {
        let around = core::mem::take(&mut self.scope);
        self.text.push_str(keyword(ty));
        let result = self.body(ty, depth);
        self.scope = around;
        result
    }

    /// Writes the members and attributes of a composite.
    pub(super) fn body(&mut self, ty: Type<'b>, depth: u32) -> Result {
        self.text.push_str(" {\n");
        let size = u64::from(ty.size_or_type());
        let mut attributes = self.header.tags.attributes(ty.id(), -1);
        match self.header.graph.layouts.get(ty.id()) {
            Some(layout) if layout.error.is_none() => {
                if layout.is_aligned {
                    write!(attributes, " __attribute__((packed, aligned({})))", layout.align)?;
                } else if layout.is_packed {
                    attributes.push_str(" __attribute__((packed))");
                }
                self.members(ty, layout, depth)?;
            }
            _ => {
                self.indent(depth);
                let name = self.filler("__core_relo_bytes");
                writeln!(self.text, "\tunsigned char {name}[{size}]; /* [{}] */", ty.id())?;
            }
        }
        self.indent(depth);
        self.text.push('}');
        self.text.push_str(&attributes);
        Ok(())
    }

    fn members(&mut self, ty: Type<'b>, layout: Layout, depth: u32) -> Result {
        let Layout { align, is_packed, .. } = layout;
        let mut end = 0u64;
        // On ARM a bitfield without a name aligns the composite as its type.
        let unit =
            if is_packed || self.header.btf.pointer_size().0 == 8 { 64 } else { align.saturating_mul(8) };
        let is_struct = ty.kind() == Kind::Struct;
        let inside = depth.saturating_add(1);
        // The members of a definition are printed once, those of composites without a name wherever the
        // composite is used.
        let is_definition = depth == 0 && self.scope.offset.is_some();
        for member in ty.members() {
            let Ok(place) = self.header.graph.layouts.place(ty.btf(), &member) else { continue };
            if place.is_padding(&member) {
                continue;
            }
            if !is_definition && !self.take_step() {
                break;
            }
            if is_struct && place.natural_start(end, is_packed) != Some(place.start) {
                self.padding(end, place.start, unit, inside)?;
            }
            self.indent(inside);
            self.member(ty, &member, place, inside)?;
            end = if is_struct { place.end } else { end.max(place.end) };
        }
        let size = u64::from(ty.size_or_type()).wrapping_mul(8);
        let natural = end.div_ceil(8).checked_next_multiple_of(align);
        if natural.and_then(|bytes| bytes.checked_mul(8)) != Some(size) {
            if is_struct {
                self.padding(end, size, unit, inside)?;
            } else {
                self.indent(inside);
                let name = self.filler("__core_relo_size");
                writeln!(self.text, "unsigned char {name}[{}];", size.div_ceil(8))?;
            }
        }
        Ok(())
    }

    /// Writes one member, with the end of its line.
    fn member(&mut self, ty: Type<'b>, member: &Member<'b>, place: MemberSpan, depth: u32) -> Result {
        let name = member.name.as_bytes();
        let mut renamed = None;
        if let (true, Some(composite)) = (name.is_empty(), anonymous_composite(self.header.btf, member.ty)) {
            self.anonymous(member.ty, composite, place, depth)?;
        } else {
            let identifier = if name.is_empty() {
                self.filler("__core_relo_anonymous")
            } else {
                renamed = self.scope.names.claim(name);
                renamed.clone().unwrap_or_else(|| String::from_utf8_lossy(name).into_owned())
            };
            if self.scope.is_anonymous {
                self.hiding.insert(identifier.clone());
            }
            let identifier = names::member_in_all_standards(&identifier);
            if let Some(bits) = place.bitfield {
                match bool_substitute(self.header.btf, member.ty, bits) {
                    Some(integer) => write!(self.text, "{integer} {identifier}")?,
                    None => self.declare(member.ty, identifier, depth)?,
                }
                write!(self.text, ": {bits}")?;
            } else {
                self.declare(member.ty, identifier, depth)?;
                self.assert_offset(identifier, place);
            }
        }
        let component = i32::try_from(member.index).unwrap_or(i32::MAX);
        self.text.push_str(&self.header.tags.attributes(ty.id(), component));
        self.text.push(';');
        if renamed.is_some() {
            write!(self.text, " /* '{}' */", comment(name))?;
        }
        self.text.push('\n');
        Ok(())
    }

    /// Writes a member without a name: its members are members of the composite around it.
    ///
    /// A named struct is written as a struct without a name, because C has members without a name only of
    /// such structs. CO-RE finds the members in both.
    fn anonymous(&mut self, id: TypeId, composite: Type<'b>, place: MemberSpan, depth: u32) -> Result {
        if depth >= COMPOSITE_DEPTH {
            let name = self.filler("__core_relo_anonymous");
            return self.bytes(composite, &name, u64::from(composite.size_or_type()));
        }
        self.text.push_str(&qualifiers(self.header.btf, id));
        self.text.push_str(keyword(composite));
        let (offset, is_anonymous) = (self.scope.offset, self.scope.is_anonymous);
        self.scope.offset = offset.and_then(|offset| offset.checked_add(place.start));
        self.scope.is_anonymous = true;
        let result = self.body(composite, depth);
        self.scope.offset = offset;
        self.scope.is_anonymous = is_anonymous;
        result
    }

    /// Adds an assertion on the offset of a member, if the definition contains the member directly or in
    /// members without a name.
    fn assert_offset(&mut self, identifier: &str, place: MemberSpan) {
        if let (true, Some(offset)) = (self.header.has_assertions, self.scope.offset) {
            let bytes = offset.saturating_add(place.start).wrapping_div(8);
            self.offsets.push((String::from(identifier), bytes));
        }
    }

    /// Declares bitfields without a name from one bit to another, of types of at most `unit` bits. They
    /// change no alignment.
    fn padding(&mut self, from: u64, to: u64, unit: u64, depth: u32) -> Result {
        let mut at = from;
        while let Some(left) = to.checked_sub(at).filter(|left| *left > 0) {
            self.indent(depth);
            let in_byte = at.wrapping_rem(8);
            let bytes = left.wrapping_div(8);
            if in_byte == 0 && bytes > UNNAMED_PADDING {
                let name = self.filler("__core_relo_padding");
                writeln!(self.text, "unsigned char {name}[{bytes}];")?;
                at = at.saturating_add(bytes.saturating_mul(8));
                continue;
            }
            let (ty, bits) = if in_byte != 0 {
                ("unsigned char", left.min(8u64.wrapping_sub(in_byte)))
            } else if left >= 64 && unit >= 64 && at.is_multiple_of(64) {
                ("unsigned long long", 64)
            } else if left >= 32 && unit >= 32 && at.is_multiple_of(32) {
                ("unsigned int", 32)
            } else if left >= 16 && unit >= 16 && at.is_multiple_of(16) {
                ("unsigned short", 16)
            } else {
                ("unsigned char", left.min(8))
            };
            writeln!(self.text, "{ty}: {bits};")?;
            at = at.saturating_add(bits);
        }
        Ok(())
    }

    /// Returns a name for a member that the BTF does not name.
    fn filler(&mut self, name: &'static str) -> String {
        let identifier = self.scope.names.claim_filler(name);
        if self.scope.is_anonymous {
            self.hiding.insert(identifier.clone());
        }
        identifier
    }

    fn indent(&mut self, depth: u32) {
        for _ in 0..depth {
            self.text.push('\t');
        }
    }
}

/// Returns the composite that a member without a name has as its type.
pub(super) fn anonymous_composite<'b>(btf: &'b Btf<'b>, id: TypeId) -> Option<Type<'b>> {
    btf.strip(id).ok().filter(|ty| ty.kind().is_composite())
}

/// Returns the qualifiers of a composite. Each ends with a space.
fn qualifiers(btf: &Btf<'_>, id: TypeId) -> String {
    let (mut is_const, mut is_volatile) = (false, false);
    let mut at = id;
    for _ in 0..limits::MODIFIER_HOPS {
        let Some(ty) = btf.ty(at).filter(|ty| ty.kind().is_modifier_or_typedef()) else { break };
        is_const |= ty.kind() == Kind::Const;
        is_volatile |= ty.kind() == Kind::Volatile;
        at = TypeId(ty.size_or_type());
    }
    let mut text = String::new();
    text.push_str(if is_const { "const " } else { "" });
    text.push_str(if is_volatile { "volatile " } else { "" });
    text
}

/// Returns the keyword of a composite or its forward declaration.
pub(super) fn keyword(ty: Type<'_>) -> &'static str {
    match ty.kind() {
        Kind::Fwd if ty.kflag() => "union",
        kind => kind.keyword(),
    }
}
