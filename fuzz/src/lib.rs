//! What is done with hostile bytes. Each function must return, whatever it is given: no panic, no hang.

mod kernel;

use core_relo::{
    Plan, Relocs, Target, TypeId,
    btf::{Btf, NameIndex, Type, dedup},
    explain::{CType, explain},
    ext::BtfExt,
    plan::Objects,
};
use core_relo_loader::{
    Global, GlobalKind, Loader,
    features::Features,
    load_plan::{Host, LoadPlan},
    object::Object,
    static_link::Linker,
    target::{self, KernelTypes},
};
use std::{fmt::Write as _, sync::Arc};

/// A check, by its name.
pub type Check = (&'static str, fn(&[u8]));

/// Every check there is.
pub const CHECKS: [Check; 6] = [
    ("btf", btf),
    ("ext", ext),
    ("object", object),
    ("plan", plan),
    ("link", link),
    ("load_plan", load_plan),
];

/// A BTF, then a second one split from it: `[length of the first; 4][first][second]`, or one alone, or an ELF that holds one.
pub fn btf(data: &[u8]) {
    if let Ok(elf) = target::extract(data)
        && let Ok(btf) = Btf::parse(elf.btf)
    {
        walk(&btf);
    }
    if let Ok(one) = Btf::parse(data) {
        walk(&one);
    }
    // Elements may then refer to anything.
    if let Ok(one) = Btf::parse_unvalidated(data, None) {
        walk(&one);
    }
    let Some((first, second)) = two(data) else { return };
    let Ok(base) = Btf::parse(first.to_vec()) else { return };
    let base = Arc::new(base);
    if let Ok(split) = Btf::parse_split(second.to_vec(), Arc::clone(&base)) {
        walk(&split);
    }
    if let Ok(moved) = Btf::relocate_split(second.to_vec(), first.to_vec(), base) {
        walk(&moved);
    }
}

/// A `.BTF.ext`, alone or in an object.
pub fn ext(data: &[u8]) {
    if let Some(ext) = Object::parse(data).ok().as_ref().and_then(Object::ext) {
        records(ext, data.len());
    }
    if let Ok(ext) = BtfExt::parse(data) {
        records(&ext, data.len());
    }
}

fn records(ext: &BtfExt<'_>, len: usize) {
    let records = ext.core_relos().map(|s| s.records().count()).sum::<usize>()
        + ext.line_infos().map(|s| s.records().count()).sum::<usize>()
        + ext.func_infos().map(|s| s.records().count()).sum::<usize>();
    assert!(records <= len);
}

/// An ELF object, or anything a target may be read from.
pub fn object(data: &[u8]) {
    let _image = target::find_btf_in_image(data);
    let _extracted = target::extract(data).is_ok();
    let Ok(object) = Object::parse(data) else { return };
    let _relocs = object.elf_relocs().filter(Result::is_ok).count();
    let _symbols = object.symbols().count();
    let mut text = String::new();
    let _ = write!(text, "{:?}{:?}{:?}", object.programs(), object.maps(), object.externs());
    let sections = object.code_sections();
    let _written = object.rewrite(sections.iter().map(|s| (s.name, s.code)));
}

/// An object and a target: `[length of the object; 4][object][target]`, or an object that is its own target.
pub fn plan(data: &[u8]) {
    if let Ok(own) = target::extract(data) {
        relocate(data, own.btf);
    }
    if let Some((object, target)) = two(data) {
        relocate(object, target);
    }
}

fn relocate(object: &[u8], target: &[u8]) {
    let Ok(object) = Object::parse(object) else { return };
    let Ok(relocs) = object.relocs() else { return };
    let validated = Btf::parse(target).ok();
    let is_valid = validated.is_some();
    let ways = [validated, Btf::parse_unvalidated(target, None).ok()];
    let outcomes: Vec<_> = ways.into_iter().flatten().map(|btf| planned_on(&relocs, btf)).collect();
    // What is valid reads the same either way.
    assert!(!is_valid || matches!(&*outcomes, [one, other] if one == other));
}

/// What became of each record.
fn planned_on(relocs: &Relocs<'_>, btf: Btf<'_>) -> Vec<String> {
    let target = Target::new("fuzz", Arc::new(btf));
    let plan = Plan::new(relocs, &target);
    assert_eq!(plan.summary().total(), relocs.records().len());
    assert_eq!(plan.patched().is_ok(), plan.summary().failed == 0);
    for planned in plan.iter().take(50) {
        let _explanation = explain(&planned);
    }
    let told = |plan: &Plan<'_>| plan.iter().map(|planned| format!("{:?}", planned.decision())).collect();
    let alone: Vec<_> = told(&plan);
    // What objects have in common changes nothing.
    for plan in Objects::new([relocs, relocs]).plans(&target) {
        assert_eq!(told(&plan), alone);
    }
    alone
}

/// Objects to link: `[length of the first; 4][first][second]`, where the second may be two in turn, or one alone and with
/// itself. Its BTF is deduplicated, too.
pub fn link(data: &[u8]) {
    if let Ok(elf) = target::extract(data)
        && let Ok(btf) = Btf::parse(elf.btf)
        && let Ok(deduped) = dedup(&btf)
    {
        let again = Btf::parse(deduped.finish()).expect("what is deduplicated is a BTF");
        assert!(again.end_id() <= btf.end_id());
    }
    linked(&[data]);
    linked(&[data, data]);
    if let Some((first, second)) = two(data) {
        linked(&[first, second]);
        linked(&[second, first]);
        if let Some((second, third)) = two(second) {
            linked(&[first, second, third]);
            linked(&[third, first, second]);
        }
    }
}

/// What is linked is in proportion to what it was linked from, and can be looked at as any object.
fn linked(files: &[&[u8]]) {
    let Ok(linker) = files.iter().try_fold(Linker::new(), |linker, bytes| linker.add("fuzz", bytes)) else {
        return;
    };
    let Ok(once) = linker.finish() else { return };
    let all = files.iter().map(|bytes| bytes.len()).sum::<usize>();
    assert!(once.len() <= (all * 16).max(32 << 20), "{} bytes of {all}", once.len());
    let _twice = Linker::new().add("once", &once).and_then(Linker::finish);
}

/// An object, planned for three kernels: a small one that is always the same, one that has the object's own types, and the
/// small one without any of the features that loads are asked to do without.
pub fn load_plan(data: &[u8]) {
    let Ok(object) = Object::parse(data) else { return };
    let small = kernel::types();
    load_planned(&object, host(Arc::clone(&small), Features::newest()));
    load_planned(&object, host(small, Features::fixed(|_| false)));
    let own = target::extract(data).ok().and_then(|elf| Btf::parse(elf.btf.to_vec()).ok());
    if let Some(own) = own {
        let types = Arc::new(KernelTypes::given(Arc::new(own), []));
        load_planned(&object, host(types, Features::newest()));
    }
}

fn host(types: Arc<KernelTypes>, features: Features) -> Host {
    let mut host = Host::offline(types);
    host.features = features;
    host.kernel_version = 0x0006_0c00;
    host.kconfig = Some(kernel::CONFIG.into());
    host.kallsyms = Some(kernel::SYMBOLS.into());
    host
}

/// As the object says; then program by program, each global set and each data section made larger.
fn load_planned(object: &Object<'_>, host: Host) {
    let mut loader = Loader::on(object, host);
    planned(&loader);
    // Tables would then not be the kernel's any more.
    let is_set = |g: &Global| g.size < 1 << 20 && g.kind != GlobalKind::StructOps;
    for global in loader.globals().into_iter().filter(is_set).take(50) {
        let _set = loader.set_global_bytes(&global.name, &vec![0xa5; global.size]).is_ok();
        for part in ["[1]", ".x", "[0].x[1]"] {
            let name = format!("{}{part}", global.name);
            let _set = loader.global_bytes(&name).is_ok_and(|b| loader.set_global_bytes(&name, &b).is_ok());
        }
        let _typed = loader.set_global(&global.name, &7u64).is_ok();
    }
    planned(&loader);
    let name = |p: &core_relo_loader::object::Program<'_>| String::from_utf8_lossy(p.name).into_owned();
    let programs: Vec<_> = object.programs().iter().filter(|p| !p.is_subprogram).map(name).collect();
    for program in programs.iter().take(5) {
        let mut alone = Loader::on(object, loader.host().clone());
        alone.only([program.as_str()]);
        for section in object.data_sections().iter().take(5) {
            let size = u32::try_from(section.size).unwrap_or_default().saturating_mul(2).min(1 << 20);
            alone.map(&String::from_utf8_lossy(section.name)).value_size = Some(size);
        }
        planned(&alone);
    }
}

fn planned(loader: &Loader<'_, '_>) {
    match loader.plan() {
        Ok(plan) => whole(&plan),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A plan refers to nothing that it does not have.
fn whole(plan: &LoadPlan) {
    use core_relo_loader::load_plan::{FixupOf, SlotPlan};
    assert!(plan.maps.is_empty() || !plan.to_string().is_empty());
    for program in &plan.programs {
        let insns = program.insns.len() / 8;
        assert_eq!(program.insns.len() % 8 + program.func_info.len() % 8 + program.line_info.len() % 16, 0);
        for fixup in &program.fixups {
            assert!((fixup.insn as usize) < insns);
            match fixup.of {
                FixupOf::Map(at) => assert!(plan.maps[at].autocreate),
                FixupOf::Module(at) => assert!(at < plan.modules.len()),
                _ => {}
            }
        }
    }
    for map in &plan.maps {
        if map.role.is_data() {
            // Zeros are not written.
            assert!(map.data.is_empty() || map.data.len() == map.value_size as usize);
        }
        for slot in map.slots.values() {
            assert!(!matches!(slot, SlotPlan::Map(at) if *at >= plan.maps.len()));
        }
    }
    if let Some(btf) = &plan.btf {
        walk(&Btf::parse(btf.as_slice()).expect("what is made for the kernel can be read"));
    }
}

fn two(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
}

fn walk(btf: &Btf<'_>) {
    let mut text = String::new();
    for ty in btf.types().take(2_000) {
        look(btf, ty, &mut text);
        text.clear();
    }
    let _nothing = btf.ty(TypeId(u32::MAX));
    search(btf);
    // Values may be long, so a few types, and types in the place of data.
    for ty in btf.types().step_by(499).take(6) {
        let value = btf.value(ty.id(), btf.as_bytes());
        assert!(write!(Nowhere, "{value:#}{}", value.text().types(false).zeroes(false)).is_ok());
    }
}

/// An index finds what a look at each type finds; an order that is trusted by mistake leads to nothing else.
fn search(btf: &Btf<'_>) {
    let mut trusted = btf.clone();
    trusted.trust_order();
    let index = NameIndex::new(btf);
    let named = |ty: &Type<'_>| !ty.name().is_empty();
    for ty in btf.types().filter(named).take(20) {
        let (name, kind) = (ty.name(), ty.kind());
        let first = btf.find_own(name.as_bytes(), kind).map(Type::id);
        assert_eq!(index.find(btf, name.as_bytes(), kind).map(Type::id), first, "{kind} {name}");
        let found = trusted.find_own(name.as_bytes(), kind);
        assert!(found.is_none_or(|other| other.name() == name && other.kind() == kind), "{kind} {name}");
        let essential = name.essential();
        let is_it = |ty: &Type<'_>| index.covers(ty.kind()) && ty.name().essential() == essential;
        let flavours = btf.types().filter(is_it).map(Type::id);
        assert!(index.flavours(btf, essential.as_bytes()).map(Type::id).eq(flavours), "{essential}");
    }
}

/// Takes any text.
struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

fn look(btf: &Btf<'_>, ty: Type<'_>, text: &mut String) {
    let _size = btf.size_of(ty.id());
    let _stripped = btf.strip(ty.id());
    let _ = write!(text, "{:?} {}", ty, CType::new(btf, ty.id()));
    let _elements = ty.members().take(100).count() + ty.variants().take(100).count();
    let _more = ty.params().take(100).count() + ty.secinfos().take(100).count();
    let _facts =
        (ty.array(), ty.int(), ty.linkage(), ty.component_index(), ty.name().essential().as_bytes().len());
}
