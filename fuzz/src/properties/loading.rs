//! Property of load plans: a plan contains everything that it refers to.

use super::{kernel, types};
use core_relo::btf::Btf;
use core_relo_loader::{
    Global, GlobalKind, Loader,
    features::Features,
    load_plan::{LateBinding, LoadPlan, TargetKernel},
    loader_program::{LoaderFile, LoaderOptions},
    object::Object,
    target::{self, KernelBtf},
};
use std::sync::Arc;

/// Plans the load of an object for three kernels: the fixed small kernel, the small kernel without optional
/// features, and a kernel with the types of the object.
pub fn check(data: &[u8]) {
    let Ok(object) = Object::parse(data) else { return };
    let small = kernel::types();
    check_settings(&object, target_kernel(Arc::clone(&small), Features::newest()));
    check_settings(&object, target_kernel(Arc::clone(&small), Features::fixed(|_| false)));
    let mut late = target_kernel(small, Features::newest());
    late.late_binding = LateBinding::Names;
    check_loader_program(&object, late);
    check_loader_program(&object, TargetKernel::unknown());
    let own = target::extract(data).ok().and_then(|elf| Btf::parse(elf.btf.to_vec()).ok());
    if let Some(own) = own {
        let types = Arc::new(KernelBtf::from_btf(Arc::new(own), []));
        check_settings(&object, target_kernel(types, Features::newest()));
    }
}

/// Generates loader programs. A file that is written reads back as it was.
fn check_loader_program(object: &Object<'_>, kernel: TargetKernel) {
    let Ok(plan) = Loader::for_kernel(object, kernel).plan() else { return };
    for checks_data in [false, true] {
        let options = LoaderOptions { checks_data, ..LoaderOptions::default() };
        match LoaderFile::generate(&plan, &options) {
            Ok(file) => assert_eq!(LoaderFile::read(&file.write().unwrap()).unwrap(), file),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn target_kernel(btf: Arc<KernelBtf>, features: Features) -> TargetKernel {
    let mut target = TargetKernel::offline(btf);
    target.features = features;
    target.kernel_version = 0x0006_0c00;
    target.kconfig = Some(kernel::CONFIG.into());
    target.kallsyms = Some(kernel::SYMBOLS.into());
    target
}

/// Plans the load with default settings, then with globals set, then for single programs with larger data
/// sections.
fn check_settings(object: &Object<'_>, target: TargetKernel) {
    let mut loader = Loader::for_kernel(object, target);
    check_plan(&loader);
    // Bytes of struct_ops tables cannot be set, because they would not match the kernel's type any more.
    let is_set = |g: &Global| g.size < 1 << 20 && g.kind != GlobalKind::StructOps;
    for global in loader.globals().into_iter().filter(is_set).take(50) {
        let _set = loader.set_global_bytes(&global.name, &vec![0xa5; global.size]).is_ok();
        for part in ["[1]", ".x", "[0].x[1]"] {
            let name = format!("{}{part}", global.name);
            let _set = loader.global_bytes(&name).is_ok_and(|b| loader.set_global_bytes(&name, &b).is_ok());
        }
        let _typed = loader.set_global(&global.name, &7u64).is_ok();
    }
    check_plan(&loader);
    let name = |p: &core_relo_loader::object::Program<'_>| String::from_utf8_lossy(p.name()).into_owned();
    let programs: Vec<_> = object.programs().iter().filter(|p| !p.is_subprogram).map(name).collect();
    for program in programs.iter().take(5) {
        let mut alone = Loader::for_kernel(object, loader.kernel_mut().clone());
        alone.select_programs([program.as_str()]);
        for section in object.data_sections().iter().take(5) {
            let size = u32::try_from(section.size).unwrap_or_default().saturating_mul(2).min(1 << 20);
            alone.map_mut(&String::from_utf8_lossy(section.name)).value_size = Some(size);
        }
        check_plan(&alone);
    }
}

fn check_plan(loader: &Loader<'_, '_>) {
    match loader.plan() {
        Ok(plan) => check_references(&plan),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Checks the references of a plan.
fn check_references(plan: &LoadPlan) {
    use core_relo_loader::load_plan::{FixupTarget, SlotPlan};
    assert!(plan.maps().is_empty() || !plan.to_string().is_empty());
    for program in plan.programs() {
        let insns = program.insns().len() / 8;
        assert_eq!(
            program.insns().len() % 8 + program.func_info().len() % 8 + program.line_info().len() % 16,
            0
        );
        for fixup in program.fixups() {
            assert!((fixup.insn() as usize) < insns);
            match fixup.target() {
                FixupTarget::Map(index) => assert!(plan.map(index).unwrap().autocreate()),
                FixupTarget::Module(index) => assert!(plan.module(index).is_ok()),
            }
        }
    }
    for map in plan.maps() {
        if map.role().is_data() {
            // The plan omits data that consists of zeros.
            assert!(map.data().is_empty() || map.data().len() == map.value_size() as usize);
        }
        for slot in map.slots().values() {
            assert!(!matches!(slot, SlotPlan::Map(index) if plan.map(*index).is_err()));
        }
    }
    if let Some(btf) = plan.btf() {
        types::walk(&Btf::parse(btf).expect("the BTF for the kernel is a BTF"));
    }
}
