//! Definitions of structs and unions, with padding.

use super::{
    declaration::{Printer, keyword},
    names::NameSpace,
    tags::comment,
};
use crate::btf::{format::Kind, view::Type};
use alloc::{format, string::String};
use core::fmt::{Result, Write as _};

/// The bytes of padding that are declared as bitfields without a name. More are an array.
const UNNAMED_PADDING: u64 = 256;

impl<'b> Printer<'_, 'b, '_> {
    /// Writes a definition, without the semicolon.
    pub(super) fn composite(&mut self, ty: Type<'b>, depth: u32) -> Result {
        self.text.push_str(keyword(ty));
        if !ty.name().is_empty() {
            let name = self.name(ty);
            write!(self.text, " {name}")?;
        }
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
                self.members(ty, layout.is_packed, layout.align, depth)?;
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

    fn members(&mut self, ty: Type<'b>, is_packed: bool, align: u64, depth: u32) -> Result {
        let mut names = NameSpace::default();
        let mut end = 0u64;
        // On ARM a bitfield without a name aligns the composite as its type.
        let unit =
            if is_packed || self.header.btf.pointer_size().0 == 8 { 64 } else { align.saturating_mul(8) };
        let is_struct = ty.kind() == Kind::Struct;
        let inside = depth.saturating_add(1);
        for member in ty.members() {
            let Ok(place) = self.header.graph.layouts.place(ty.btf(), &member) else { continue };
            if is_struct && place.natural_start(end, is_packed) != Some(place.start) {
                self.padding(end, place.start, unit, inside)?;
            }
            let name = member.name.as_bytes();
            let mut is_renamed = false;
            let identifier = match name {
                b"" => String::new(),
                _ => match names.claim(name) {
                    Some(new) => {
                        is_renamed = true;
                        new
                    }
                    None => String::from_utf8_lossy(name).into_owned(),
                },
            };
            // Only composites and bitfields may have no name.
            let is_nameless = name.is_empty()
                && place.bitfield.is_none()
                && !self
                    .header
                    .btf
                    .ty(member.ty)
                    .is_some_and(|ty| ty.kind().is_composite() && ty.name().is_empty());
            let identifier = if is_nameless { self.filler("__core_relo_anonymous") } else { identifier };
            self.indent(inside);
            self.declare(member.ty, &identifier, inside)?;
            if let Some(bits) = place.bitfield {
                write!(self.text, ": {bits}")?;
            }
            let component = i32::try_from(member.index).unwrap_or(i32::MAX);
            self.text.push_str(&self.header.tags.attributes(ty.id(), component));
            self.text.push(';');
            if is_renamed {
                write!(self.text, " /* '{}' */", comment(name))?;
            }
            self.text.push('\n');
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

    /// Declares bitfields without a name from one bit to another, of types of at most `unit` bits. They change no alignment.
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

    /// Returns a name for a member that the BTF does not name. Members of types without a name are those of the type around them, so that
    /// names are counted for each definition.
    fn filler(&mut self, name: &str) -> String {
        let number = self.fillers;
        self.fillers = number.saturating_add(1);
        if number == 0 { String::from(name) } else { format!("{name}_{number}") }
    }

    fn indent(&mut self, depth: u32) {
        for _ in 0..depth {
            self.text.push('\t');
        }
    }
}
