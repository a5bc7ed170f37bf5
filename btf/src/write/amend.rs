//! Changes to records that a builder has already added.

use super::builder::Builder;
use crate::format::{Info, Kind};
use crate::ids::{TypeId, to_usize};

impl Builder {
    /// Changes the target of a PTR, TYPEDEF, modifier, FUNC, VAR or tag, or the return type of a FUNC_PROTO.
    ///
    /// Returns `false` if there is no such record.
    pub fn set_target(&mut self, id: TypeId, target: TypeId) -> bool {
        self.kind(id).is_some_and(Kind::has_target) && self.set_word(id, 2, target.0)
    }

    /// Changes the linkage of a FUNC or VAR. Returns `false` if there is no such record.
    pub fn set_linkage(&mut self, id: TypeId, linkage: u8) -> bool {
        match self.kind(id) {
            Some(Kind::Func) => self.set_word(id, 1, Info::new(Kind::Func, linkage.into(), false).0),
            Some(Kind::Var) => self.set_word(id, 3, linkage.into()),
            _ => false,
        }
    }

    /// Changes the name of a parameter of a FUNC_PROTO. Returns `false` if there is no such parameter.
    pub fn set_param_name(&mut self, id: TypeId, param: u32, name: &[u8]) -> bool {
        let vlen = self.word(id, 1).map_or(0, |info| Info(info).vlen());
        if self.kind(id) != Some(Kind::FuncProto) || param >= vlen {
            return false;
        }
        let name = self.string_bytes(name);
        // A parameter has two words, after the three of the type.
        (3..).step_by(2).nth(to_usize(param)).is_some_and(|word| self.set_word(id, word, name.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Btf, Endian};

    #[test]
    fn records_of_other_kinds_stay_the_same() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, 0);
            let proto = b.func_proto(int, &[("", int)]);
            let func = b.func("f", proto, 2);
            let var = b.var("v", int, 2);
            let pointer = b.pointer(int);
            assert!(b.set_linkage(func, 1) && b.set_linkage(var, 1) && !b.set_linkage(pointer, 1));
            assert!(b.set_target(pointer, var) && !b.set_target(int, var) && !b.set_target(TypeId(9), var));
            assert!(b.set_param_name(proto, 0, b"x") && !b.set_param_name(proto, 1, b"y"));
            assert!(!b.set_param_name(int, 0, b"x"));
            let btf = Btf::parse(b.finish()).unwrap();
            let ty = |id| btf.ty(id).unwrap();
            assert_eq!((ty(func).linkage(), ty(var).linkage()), (Some(1), Some(1)));
            assert_eq!((ty(pointer).target(), ty(func).target()), (Some(var), Some(proto)));
            assert_eq!(ty(proto).param(0).unwrap().name.as_bytes(), b"x");
        }
    }
}
