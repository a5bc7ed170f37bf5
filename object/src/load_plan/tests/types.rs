//! The object's BTF after adaptation to the kernel.

use super::without;
use crate::{
    features::Feature,
    load_plan::LoadPlan,
    test_support::{TestObject, call, exit, kernel, returns, words},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use object::{SectionKind, SymbolKind, SymbolScope};

fn btf(plan: &LoadPlan) -> Btf<'_> {
    Btf::parse(plan.btf().unwrap()).unwrap()
}

#[test]
fn sizes_of_sections_and_offsets_of_variables_come_from_the_elf_file() {
    let mut m = TestObject::new();
    let data = m.section(".data", SectionKind::Data, &[0; 16]);
    let int = m.int;
    let mut infos = Vec::new();
    for (name, offset, scope) in
        [("b", 8, SymbolScope::Dynamic), ("a", 0, SymbolScope::Dynamic), ("hidden", 4, SymbolScope::Linkage)]
    {
        let symbol = m.symbol(name, SymbolKind::Data, data, offset, 4);
        m.set_scope(symbol, scope);
        infos.push((m.types.var(name, int, 1), 0, 4));
    }
    let own = m.types.var("own", int, 0);
    infos.push((own, 12, 4));
    m.types.datasec(".data", 0, &infos);
    m.program("main", "tc", &returns(0));
    let plan = m.plan().unwrap();
    let btf = btf(&plan);
    let section = btf.find(b".data", Kind::Datasec).unwrap();
    assert_eq!(section.size_or_type(), 16);
    let vars: Vec<_> = section
        .secinfos()
        .map(|info| {
            let var = btf.ty(info.ty).unwrap();
            (info.offset, var.name().to_string(), var.linkage())
        })
        .collect();
    let expected = [(0, "a", 1), (4, "hidden", 0), (8, "b", 1), (12, "own", 0)];
    assert_eq!(vars, expected.map(|(offset, name, linkage)| (offset, name.to_owned(), Some(linkage))));
}

#[test]
fn a_variable_without_a_symbol_is_refused() {
    let mut m = TestObject::new();
    m.section(".data", SectionKind::Data, &[0; 4]);
    let int = m.int;
    let var = m.types.var("ghost", int, 1);
    m.types.datasec(".data", 0, &[(var, 0, 4)]);
    m.program("main", "tc", &returns(0));
    assert_eq!(m.error(), "BTF, section `.data`: variable `ghost` has no symbol");
}

#[test]
fn functions_with_hidden_symbols_become_static() {
    let mut m = TestObject::new();
    let text = m.code(".text", &[returns(0), returns(1)].concat());
    m.function("shown", text, 0, 2);
    let hidden = m.function("hidden", text, 2, 2);
    m.set_scope(hidden, SymbolScope::Linkage);
    m.program("main", "tc", &returns(0));
    for name in ["shown", "hidden", "main"] {
        m.func_type(name, 1);
    }
    let plan = m.plan().unwrap();
    let btf = btf(&plan);
    let linkage = |name: &str| btf.find(name.as_bytes(), Kind::Func).unwrap().linkage();
    assert_eq!(["shown", "hidden", "main"].map(linkage), [Some(1), Some(0), Some(1)]);
}

/// Creates an object with a subprogram whose `void *` parameter has a tag.
fn tagged(section: &str, tag: &str) -> (TestObject, TypeId) {
    let mut m = TestObject::new();
    let text = m.code(".text", &returns(0));
    let symbol = m.function("sub", text, 0, 2);
    let main = m.program("main", section, &[call(-1), exit()]);
    m.refer(main, 0, symbol, true);
    let (int, pointer) = (m.int, m.types.pointer(TypeId::VOID));
    let proto = m.types.func_proto(int, &[("n", int), ("ctx", pointer)]);
    let sub = m.types.func("sub", proto, 1);
    m.types.decl_tag(tag, sub, 1);
    let main = m.func_type("main", 1);
    m.func_info(section, &[(0, main)]);
    m.func_info(".text", &[(0, sub)]);
    (m, sub)
}

#[test]
fn a_parameter_tagged_as_context_gets_its_type_if_the_kernel_does_not_know_the_tag() {
    let old = || without(kernel(|_| {}), &[Feature::ArgCtxTag]);
    let (m, sub) = tagged("xdp", "arg:ctx");
    let plan = m.plan_on(old(), |_| {}).unwrap();
    let btf = btf(&plan);
    let ty = |id: u32| btf.ty(TypeId(id)).unwrap();
    let copy = ty(words(plan.programs()[0].func_info())[3]);
    assert!(copy.id() != sub && copy.name().as_bytes() == b"sub" && copy.linkage() == Some(1));
    let proto = btf.ty(copy.target().unwrap()).unwrap();
    let names: Vec<_> = proto.params().map(|p| p.name.to_string()).collect();
    assert_eq!(names, ["n", "ctx"]);
    let pointer = btf.ty(proto.param(1).unwrap().ty).unwrap();
    let context = btf.ty(pointer.target().unwrap()).unwrap();
    assert_eq!(
        (pointer.kind(), context.kind(), context.name().to_string()),
        (Kind::Ptr, Kind::Struct, "xdp_md".to_owned())
    );
    let tags: Vec<_> = btf.types().filter(|t| t.kind() == Kind::DeclTag).filter_map(Type::target).collect();
    assert_eq!(tags, [sub, copy.id()], "the copy is tagged, too");

    for (section, tag, kernel) in
        [("xdp", "arg:ctx", kernel(|_| {})), ("xdp", "arg:nonnull", old()), ("syscall", "arg:ctx", old())]
    {
        let (m, sub) = tagged(section, tag);
        let plan = m.plan_on(kernel, |_| {}).unwrap();
        assert_eq!(words(plan.programs()[0].func_info())[3], sub.0, "{section} {tag}");
    }
}

#[test]
fn records_are_omitted_if_the_kernel_does_not_support_them() {
    let (m, _) = tagged("xdp", "arg:ctx");
    let plan = m.plan_on(without(kernel(|_| {}), &[Feature::BtfFunc]), |_| {}).unwrap();
    assert!(plan.programs()[0].func_info().is_empty() && plan.programs()[0].line_info().is_empty());
    let (m, _) = tagged("xdp", "arg:ctx");
    assert_eq!(m.plan_on(without(kernel(|_| {}), &[Feature::Btf]), |_| {}).unwrap().btf(), None);
}
