//! Tests of what a minimal BTF keeps and leaves out. That plans stay the same is checked by every test of
//! plans.

use super::{MinimalBtf, MinimiseError, Needs};
use crate::{
    Endian, Plan, Relocs, Target, TypeId,
    btf::{Btf, Builder, Kind, Type},
    ext::BtfExt,
};
use alloc::{string::ToString as _, sync::Arc, vec::Vec};

/// Returns a kernel with structs, an enum, functions, a kfunc's parameter types and a struct_ops type.
fn kernel(endian: Endian) -> Target<'static> {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    b.int("long", 8, Builder::SIGNED);
    b.int("long unsigned int", 8, 0);
    let task = b.structure("task_struct", 8, &[("pid", int, 0), ("tgid", int, 32)]);
    let pointer = b.pointer(task);
    let proto = b.func_proto(int, &[("task", pointer)]);
    b.func("do_exit", proto, 1);
    b.func("unneeded", proto, 1);
    let callback = b.pointer(proto);
    b.structure("some_ops", 16, &[("exit", callback, 0), ("flags", int, 64)]);
    b.enumeration("colours", 4, &[("RED", 1), ("GREEN", 2)]);
    Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()))
}

fn names(btf: &Btf<'_>) -> Vec<alloc::string::String> {
    btf.types().filter(|ty| !ty.name().is_empty()).map(|ty| ty.name().to_string()).collect()
}

#[test]
fn no_needs_leave_the_type_of_the_pointer_size() {
    for endian in [Endian::Little, Endian::Big] {
        let target = kernel(endian);
        let minimal = Needs::new(&target).minimise().unwrap();
        let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
        assert_eq!(
            (names(&btf), btf.pointer_size().0, btf.endian()),
            (Vec::from(["long".into()]), 8, endian)
        );
        assert!(btf.pointer_size_is_known());
    }
}

#[test]
fn declarations_keep_parameters_and_no_members() {
    let target = kernel(Endian::Little);
    let mut needs = Needs::new(&target);
    assert!(needs.add_declaration(b"do_exit", Kind::Func));
    assert!(!needs.add_declaration(b"absent", Kind::Func));
    assert!(!needs.add_declaration(b"do_exit", Kind::Var));
    let minimal = needs.minimise().unwrap();
    let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
    assert_eq!(names(&btf), ["int", "long", "task_struct", "do_exit"]);
    let task = btf.find(b"task_struct", Kind::Struct).unwrap();
    assert_eq!((task.members().len(), task.size().unwrap().0), (0, 8));
    let full = &target.vmlinux().btf;
    let old = full.find(b"do_exit", Kind::Func).unwrap().id();
    assert_eq!(minimal.vmlinux().new_id(old), btf.find(b"do_exit", Kind::Func).map(Type::id));
    assert_eq!(minimal.vmlinux().new_id(full.find(b"unneeded", Kind::Func).unwrap().id()), None);
}

#[test]
fn definitions_keep_all_members_and_enumerators() {
    let target = kernel(Endian::Big);
    let mut needs = Needs::new(&target);
    assert!(needs.add_definition(b"some_ops", Kind::Struct) && needs.add_definition(b"colours", Kind::Enum));
    let minimal = needs.minimise().unwrap();
    let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
    let ops = btf.find(b"some_ops", Kind::Struct).unwrap();
    let members: Vec<_> = ops.members().map(|member| member.name.to_string()).collect();
    assert_eq!(members, ["exit", "flags"]);
    let callback = btf.ty(ops.member(0).unwrap().ty).unwrap();
    assert_eq!(btf.ty(callback.target().unwrap()).unwrap().kind(), Kind::FuncProto);
    assert_eq!(btf.find(b"colours", Kind::Enum).unwrap().vlen(), 2);
}

#[test]
fn kept_ids_are_those_of_the_full_btf() {
    let target = kernel(Endian::Little);
    let mut needs = Needs::new(&target);
    needs.keep_ids();
    needs.add_declaration(b"do_exit", Kind::Func);
    let minimal = needs.minimise().unwrap();
    let (btf, full) = (Btf::parse(minimal.vmlinux().bytes()).unwrap(), &target.vmlinux().btf);
    assert_eq!(btf.end_id(), full.end_id());
    let id = |btf: &Btf<'_>| btf.find(b"do_exit", Kind::Func).unwrap().id();
    assert_eq!(id(&btf), id(full));
    assert_eq!(minimal.vmlinux().new_id(id(full)), Some(id(full)));
}

#[test]
fn anonymous_members_and_tags_are_kept() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let inner = b.union("", 4, &[("a", int, 0), ("b", int, 0)]);
    b.structure("s", 8, &[("", inner, 0), ("c", int, 32)]);
    let proto = b.func_proto(int, &[]);
    let functions = ["first", "second", "third"].map(|name| b.func(name, proto, 1));
    for function in functions {
        b.decl_tag("bpf_kfunc", function, -1);
    }
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let mut needs = Needs::new(&target);
    assert!(needs.add_definition(b"s", Kind::Struct) && needs.add_declaration(b"third", Kind::Func));
    needs.add_tags(b"bpf_kfunc");
    let minimal = needs.minimise().unwrap();
    let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
    assert_eq!(names(&btf), ["int", "s", "first", "third", "bpf_kfunc", "bpf_kfunc"]);
    let anonymous = btf.find(b"s", Kind::Struct).unwrap().member(0).unwrap().ty;
    assert_eq!(btf.ty(anonymous).unwrap().members().len(), 2);
}

#[test]
fn structs_keep_the_structs_with_which_they_begin() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let common = b.structure("sock_common", 4, &[("family", int, 0)]);
    let sock = b.structure("sock", 8, &[("common", common, 0), ("state", int, 32)]);
    let request = b.structure("request_sock", 4, &[("common", common, 0)]);
    let kinds = b.union("", 8, &[("sock", sock, 0), ("request", request, 0)]);
    let inet = b.structure("inet_sock", 12, &[("", kinds, 0), ("port", int, 64)]);
    let pointer = b.pointer(inet);
    b.structure("tcp_sock", 24, &[("inet", inet, 0), ("next", pointer, 128)]);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let mut needs = Needs::new(&target);
    needs.add_declaration(b"tcp_sock", Kind::Struct);
    let plain = needs.minimise().unwrap();
    assert_eq!(names(&Btf::parse(plain.vmlinux().bytes()).unwrap()), ["tcp_sock"]);
    needs.add_first_members();
    let minimal = needs.minimise().unwrap();
    let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
    assert_eq!(names(&btf), ["sock_common", "sock", "request_sock", "inet_sock", "tcp_sock"]);
    let members = |name: &[u8]| btf.find(name, Kind::Struct).unwrap().members().len();
    assert_eq!(
        [members(b"tcp_sock"), members(b"inet_sock"), members(b"sock"), members(b"request_sock")],
        [1, 1, 1, 0]
    );
}

#[test]
fn marked_btf_is_recognised() {
    for keeps_ids in [false, true] {
        let target = kernel(Endian::Big);
        assert_eq!(MinimalBtf::find(&target.vmlinux().btf), None);
        for purpose in [MinimalBtf::ForLoading, MinimalBtf::ForVerdicts] {
            let mut needs = Needs::new(&target);
            if keeps_ids {
                needs.keep_ids();
            }
            needs.mark(purpose);
            let minimal = needs.minimise().unwrap();
            let btf = Btf::parse(minimal.vmlinux().bytes()).unwrap();
            assert_eq!(MinimalBtf::find(&btf), Some(purpose));
        }
    }
    let empty = Btf::parse(Builder::new(Endian::Little).finish()).unwrap();
    assert_eq!(MinimalBtf::find(&empty), None);
}

/// A function that only a module has, with types of vmlinux.
#[test]
fn modules_are_split_from_the_minimal_vmlinux() {
    let vmlinux = Arc::clone(&kernel(Endian::Little).vmlinux().btf);
    let mut b = Builder::split(&vmlinux);
    let proto = b.func_proto(TypeId(1), &[("task", TypeId(5))]);
    b.func("module_function", proto, 1);
    b.structure("unneeded_in_module", 4, &[]);
    let module = Btf::parse_split(b.finish(), Arc::clone(&vmlinux)).unwrap();
    let target = Target::new("vmlinux", vmlinux).with_modules([("m".into(), Arc::new(module))]);
    for keeps_ids in [false, true] {
        let mut needs = Needs::new(&target);
        if keeps_ids {
            needs.keep_ids();
        }
        assert!(needs.add_declaration(b"module_function", Kind::Func));
        needs.mark(MinimalBtf::ForLoading);
        let minimal = needs.minimise().unwrap();
        let base = Arc::new(Btf::parse(minimal.vmlinux().bytes().to_vec()).unwrap());
        assert_eq!(MinimalBtf::find(&base), Some(MinimalBtf::ForLoading));
        let full_end = target.vmlinux().btf.end_id();
        assert!(!keeps_ids || base.end_id() == full_end, "the ids of modules follow");
        let [module] = minimal.modules() else { panic!("expected one module") };
        let btf = Btf::parse_split(module.bytes().to_vec(), Arc::clone(&base)).unwrap();
        assert_eq!(
            (names(&btf), module.name(), module.type_count()),
            (Vec::from(["module_function".into()]), "m", 2)
        );
        let function = btf.find(b"module_function", Kind::Func).unwrap();
        let proto = btf.ty(function.target().unwrap()).unwrap();
        let param = btf.strip(proto.param(0).unwrap().ty).unwrap();
        assert_eq!(param.kind(), Kind::Ptr);
        assert_eq!(btf.ty(param.target().unwrap()).unwrap().name().as_bytes(), b"task_struct");
    }
}

#[test]
fn the_mark_takes_the_place_of_the_last_type_that_is_not_needed() {
    let place = |end, needed: &[u32]| {
        let needed: Vec<_> = needed.iter().copied().map(TypeId).collect();
        MinimalBtf::place(TypeId(end), &needed).map(|id| id.0)
    };
    assert_eq!(place(10, &[]), Some(9));
    assert_eq!(place(10, &[3, 9]), Some(8));
    assert_eq!(place(10, &[1, 2, 7, 8, 9]), Some(6));
    assert_eq!(place(4, &[1, 2, 3]), None);
    assert_eq!(place(1, &[]), None);
    let all_of_the_end: Vec<u32> = (100..2000).collect();
    assert_eq!(place(2000, &all_of_the_end), None);
}

#[test]
fn a_plan_for_another_target_is_refused() {
    let (target, other) = (kernel(Endian::Little), kernel(Endian::Little));
    let btf = Btf::parse(Builder::new(Endian::Little).finish()).unwrap();
    let ext = crate::ext::ExtBuilder::new(Endian::Little).finish();
    let ext = BtfExt::parse(&ext).unwrap();
    let relocs = Relocs::collect(&btf, &ext, &[]).unwrap();
    let plan = Plan::new(&relocs, &other);
    let error = MinimiseError::OtherTarget { expected: "vmlinux".into() };
    assert_eq!(Needs::new(&target).add_plan(&plan), Err(error));
    assert_eq!(Needs::new(&other).add_plan(&plan), Ok(()));
}
