//! Types in the notation of `bpftool btf dump format raw`.

use crate::{format::Kind, ids::StrOffset, name::Name, view::Type};
use core::fmt::{Display, Formatter, Result};

/// A type as bpftool prints it: `[12] STRUCT 'foo' size=8 vlen=2`, and a line for each member. The last line
/// has no line end.
#[derive(Clone, Copy, Debug)]
pub struct RawType<'b>(Type<'b>);

impl<'b> Type<'b> {
    /// Returns the type in bpftool's raw notation.
    pub fn raw(self) -> RawType<'b> {
        RawType(self)
    }
}

impl Display for RawType<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let ty = self.0;
        let third = ty.size_or_type();
        write!(f, "[{}] ", ty.id())?;
        kind_and_name(f, ty)?;
        match ty.kind() {
            Kind::Int => int(f, ty),
            Kind::Ptr | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::Typedef | Kind::TypeTag => {
                write!(f, " type_id={third}")
            }
            Kind::Array => {
                let Some(array) = ty.array() else { return Ok(()) };
                let (element, index) = (array.element, array.index);
                write!(f, " type_id={element} index_type_id={index} nr_elems={}", array.nelems)
            }
            Kind::Struct | Kind::Union => members(f, ty),
            Kind::Enum | Kind::Enum64 => enumerators(f, ty),
            Kind::Fwd => write!(f, " fwd_kind={}", if ty.kflag() { "union" } else { "struct" }),
            Kind::Func => write!(f, " type_id={third} linkage={}", ty.linkage_name()),
            Kind::FuncProto => params(f, ty),
            Kind::Var => write!(f, " type_id={third}, linkage={}", ty.linkage_name()),
            Kind::Datasec => variables(f, ty),
            Kind::Float => write!(f, " size={third}"),
            Kind::DeclTag => {
                let Some(component) = ty.component_index() else { return Ok(()) };
                write!(f, " type_id={third} component_idx={component}")
            }
            Kind::Void | Kind::Unknown(_) => Ok(()),
        }
    }
}

fn kind_and_name(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let kind = match ty.kind() {
        Kind::Void | Kind::Unknown(_) => "UNKNOWN",
        kind => kind.name(),
    };
    write!(f, "{kind} '{}'", name(ty.name(), ty.name_offset()))
}

/// Returns the name to print. As in bpftool, only a name at offset 0 is anonymous; other empty names are
/// printed as they are.
fn name(name: Name<'_>, at: StrOffset) -> Name<'_> {
    if at == StrOffset(0) { Name::new(b"(anon)") } else { name }
}

fn int(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let Some(int) = ty.int() else { return Ok(()) };
    let (size, offset, bits) = (ty.size_or_type(), int.offset, int.bits);
    write!(f, " size={size} bits_offset={offset} nr_bits={bits} encoding={}", int.encoding_name())
}

fn members(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for m in ty.members() {
        write!(f, "\n\t'{}' type_id={} bits_offset={}", name(m.name, m.name_offset), m.ty, m.bit_offset)?;
        if m.bitfield_bits > 0 {
            write!(f, " bitfield_size={}", m.bitfield_bits)?;
        }
    }
    Ok(())
}

fn enumerators(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let encoding = if ty.kflag() { "SIGNED" } else { "UNSIGNED" };
    write!(f, " encoding={encoding} size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for v in ty.enumerators() {
        write!(f, "\n\t'{}' val=", name(v.name, v.name_offset))?;
        match (v.signed, v.wide) {
            (true, false) => write!(f, "{}", v.value.cast_signed())?,
            (true, true) => write!(f, "{}LL", v.value.cast_signed())?,
            (false, false) => write!(f, "{}", v.c_value())?,
            (false, true) => write!(f, "{}ULL", v.value)?,
        }
    }
    Ok(())
}

fn params(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " ret_type_id={} vlen={}", ty.size_or_type(), ty.vlen())?;
    ty.params().try_for_each(|p| write!(f, "\n\t'{}' type_id={}", name(p.name, p.name_offset), p.ty))
}

fn variables(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for v in ty.secinfos() {
        write!(f, "\n\ttype_id={} offset={} size={}", v.ty, v.offset, v.size)?;
        if let Some(var) = ty.btf().ty(v.ty) {
            f.write_str(" (")?;
            kind_and_name(f, var)?;
            f.write_str(")")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Btf, Builder, BuiltMember, BuiltRecord, Endian, Kind, ids::TypeId};
    use alloc::{
        string::{String, ToString as _},
        vec::Vec,
    };

    const INT: TypeId = TypeId(1);

    /// Compares the notation of the types that `make` adds after an INT. The expected texts are those of
    /// bpftool 7.1.
    fn prints(make: impl Fn(&mut Builder), expected: &[&str]) {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            b.int("int", 4, Builder::SIGNED);
            make(&mut b);
            let btf = Btf::parse(b.finish()).unwrap();
            let got: Vec<String> = btf.types().skip(1).map(|ty| ty.raw().to_string()).collect();
            assert_eq!(got, expected, "{endian:?}");
        }
    }

    #[test]
    fn scalars() {
        prints(
            |b| {
                for encoding in [0, Builder::CHAR, Builder::BOOL, 3] {
                    b.int("i", 1, encoding);
                }
                b.legacy_bitfield("b", 4, Builder::SIGNED, 3, 5);
                b.float("double", 8);
            },
            &[
                "[2] INT 'i' size=1 bits_offset=0 nr_bits=8 encoding=(none)",
                "[3] INT 'i' size=1 bits_offset=0 nr_bits=8 encoding=CHAR",
                "[4] INT 'i' size=1 bits_offset=0 nr_bits=8 encoding=BOOL",
                "[5] INT 'i' size=1 bits_offset=0 nr_bits=8 encoding=UNKN",
                "[6] INT 'b' size=4 bits_offset=3 nr_bits=5 encoding=SIGNED",
                "[7] FLOAT 'double' size=8",
            ],
        );
    }

    #[test]
    fn types_with_a_target() {
        prints(
            |b| {
                b.pointer(INT);
                b.array(INT, INT, 7);
                b.typedef("t", INT);
                for kind in [Kind::Const, Kind::Volatile, Kind::Restrict] {
                    b.modifier(kind, TypeId::VOID);
                }
                b.type_attribute("user", INT);
                b.decl_tag("tag", TypeId(4), -1);
                b.decl_attribute("tag", TypeId(4), 5);
            },
            &[
                "[2] PTR '(anon)' type_id=1",
                "[3] ARRAY '(anon)' type_id=1 index_type_id=1 nr_elems=7",
                "[4] TYPEDEF 't' type_id=1",
                "[5] CONST '(anon)' type_id=0",
                "[6] VOLATILE '(anon)' type_id=0",
                "[7] RESTRICT '(anon)' type_id=0",
                "[8] TYPE_TAG 'user' type_id=1",
                "[9] DECL_TAG 'tag' type_id=4 component_idx=-1",
                "[10] DECL_TAG 'tag' type_id=4 component_idx=5",
            ],
        );
    }

    #[test]
    fn composites_and_their_declarations() {
        let member =
            |name, bit_offset, bitfield_bits| BuiltMember { name, ty: INT, bit_offset, bitfield_bits };
        prints(
            |b| {
                b.structure("s", 8, &[("a", INT, 0), ("", INT, 32)]);
                b.composite(Kind::Union, "", 4, &[member("x", 9, 3), member("y", 0, 0)]);
                b.forward("s", Kind::Struct);
                b.forward("u", Kind::Union);
            },
            &[
                "[2] STRUCT 's' size=8 vlen=2\n\t'a' type_id=1 bits_offset=0\n\t'(anon)' type_id=1 bits_offset=32",
                "[3] UNION '(anon)' size=4 vlen=2\n\t'x' type_id=1 bits_offset=9 bitfield_size=3\n\t'y' type_id=1 bits_offset=0",
                "[4] FWD 's' fwd_kind=struct",
                "[5] FWD 'u' fwd_kind=union",
            ],
        );
    }

    #[test]
    fn enumerators_by_their_sign() {
        prints(
            |b| {
                b.signed_enumeration("e", 4, &[("A", -1)]);
                b.enumeration("e", 4, &[("A", -1)]);
                b.signed_enumeration64("e", 8, &[("A", u64::MAX)]);
                b.enumeration64("e", 8, &[("A", u64::MAX)]);
            },
            &[
                "[2] ENUM 'e' encoding=SIGNED size=4 vlen=1\n\t'A' val=-1",
                "[3] ENUM 'e' encoding=UNSIGNED size=4 vlen=1\n\t'A' val=4294967295",
                "[4] ENUM64 'e' encoding=SIGNED size=8 vlen=1\n\t'A' val=-1LL",
                "[5] ENUM64 'e' encoding=UNSIGNED size=8 vlen=1\n\t'A' val=18446744073709551615ULL",
            ],
        );
    }

    #[test]
    fn functions_and_variables() {
        prints(
            |b| {
                let proto = b.func_proto(INT, &[("a", INT), ("", TypeId::VOID)]);
                for linkage in [0, 1, 2, 3] {
                    b.func("f", proto, linkage);
                }
                for linkage in [0, 1, 2, 9] {
                    b.var("v", INT, linkage);
                }
                b.datasec(".data", 8, &[(TypeId(7), 0, 4), (TypeId::VOID, 4, 4)]);
            },
            &[
                "[2] FUNC_PROTO '(anon)' ret_type_id=1 vlen=2\n\t'a' type_id=1\n\t'(anon)' type_id=0",
                "[3] FUNC 'f' type_id=2 linkage=static",
                "[4] FUNC 'f' type_id=2 linkage=global",
                "[5] FUNC 'f' type_id=2 linkage=extern",
                "[6] FUNC 'f' type_id=2 linkage=(unknown)",
                "[7] VAR 'v' type_id=1, linkage=static",
                "[8] VAR 'v' type_id=1, linkage=global",
                "[9] VAR 'v' type_id=1, linkage=extern",
                "[10] VAR 'v' type_id=1, linkage=(unknown)",
                "[11] DATASEC '.data' size=8 vlen=2\n\ttype_id=7 offset=0 size=4 (VAR 'v')\n\ttype_id=0 offset=4 size=4 (UNKNOWN '(anon)')",
            ],
        );
    }

    #[test]
    fn an_empty_name_is_anonymous_only_at_offset_0() {
        // Byte 4 of the strings is the end of `int`.
        prints(
            |b| {
                b.raw(
                    "",
                    BuiltRecord {
                        vlen: 1,
                        size_or_type: 4,
                        words: &[4, 1, 0],
                        ..BuiltRecord::new(Kind::Struct)
                    },
                );
            },
            &["[2] STRUCT '(anon)' size=4 vlen=1\n\t'' type_id=1 bits_offset=0"],
        );
    }

    #[test]
    fn an_unknown_kind_has_a_name_only() {
        prints(
            |b| {
                b.layout(&[[0; 2]; 26]);
                b.raw(
                    "odd",
                    BuiltRecord {
                        vlen: 3,
                        kflag: true,
                        size_or_type: 4,
                        ..BuiltRecord::new(Kind::Unknown(25))
                    },
                );
            },
            &["[2] UNKNOWN 'odd'"],
        );
    }
}
