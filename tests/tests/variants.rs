//! Variants of the committed objects: the table in the tags of both byte orders, constants, maps that are not
//! created, and the choice for kernels with and without BTF.

use core_relo::{
    Endian,
    btf::{Btf, Kind},
};
use core_relo_adaptive::{
    AdaptiveLoad, AdaptiveLoader, RejectionStage, StartupReport,
    variants::{KernelValue, Selection, VariantTable},
};
use core_relo_loader::{
    Loader,
    load_plan::{LoadPlan, Settings, TargetKernel},
    object::Object,
    target::KernelBtf,
};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use lzma_rust2::XzReader;
use std::{collections::BTreeMap, fs, io::Read as _, path::Path, sync::Arc};

#[test]
fn the_tags_of_both_byte_orders_are_the_same_table_and_constants_have_the_objects_order() {
    let mut tables = Vec::new();
    for (dir, endian) in [("el", Endian::Little), ("eb", Endian::Big)] {
        let path = artifacts::root().join("bpf-progs/prebuilt").join(dir).join("live/variants.bpf.o");
        let bytes = fs::read(&path).unwrap();
        let object = Object::parse(&bytes).unwrap();
        let table = VariantTable::from_object(&object).unwrap();
        let fit = table.fit(&object).unwrap();
        let numbers: Vec<_> = fit
            .constants()
            .iter()
            .map(|constant| match &constant.value {
                KernelValue::OffsetOf(path) if path == "task_struct.tgid" => Some(0x0102_0304),
                KernelValue::SizeOf(_) => Some(0x1122_3344_5566_7788),
                KernelValue::EnumValue(_) => Some(-2),
                _ => None,
            })
            .collect();
        let open = fit.group_index("open").unwrap();
        let mut selection = Selection { ..fit.first_selection() };
        selection.alternatives[open] = Some(2);
        selection.alternatives[fit.group_index("send").unwrap()] = Some(1);
        selection.left_out_maps.insert("bloom".to_owned());
        let mut settings = Settings::default();
        fit.apply(&object, &selection, &numbers, &mut settings).unwrap();
        let rodata = settings.maps[".rodata"].data.as_deref().unwrap();
        let constants = core_relo_loader::Loader::new(&object).globals();
        let value = |name: &str| {
            let constant = constants.iter().find(|constant| constant.name == name).unwrap();
            (constant.offset, &rodata[constant.offset..constant.offset + constant.size])
        };
        assert_eq!(endian.u32(rodata, value("tgid_offset").0), Some(0x0102_0304));
        assert_eq!(endian.u64(rodata, value("task_size").0), Some(0x1122_3344_5566_7788));
        assert_eq!(endian.u32(rodata, value("loop_number").0), Some(u32::MAX - 1));
        assert_eq!(endian.u32(rodata, value("state_offset").0), Some(u32::MAX), "the initial value stays");
        assert_eq!((value("has_ring").1, value("has_bloom").1), (&[0][..], &[0][..]));
        assert_eq!(endian.u32(rodata, value("has_absent").0), Some(1));
        let autocreate = |map: &str| settings.maps.get(map).and_then(|map| map.autocreate);
        assert_eq!(["ring", "perf", "bloom"].map(autocreate), [Some(false), None, Some(false)]);
        let always: Vec<_> = fit.maps_of_some_selections().into_iter().collect();
        assert_eq!(always, ["bloom", "perf", "ring"]);
        tables.push(table);
    }
    assert_eq!(tables[0].groups(), tables[1].groups());
    assert_eq!(
        (tables[0].indicators(), tables[0].constants()),
        (tables[1].indicators(), tables[1].constants())
    );
}

/// Returns the bytes of a committed object in the byte order of this machine.
fn live_object(name: &str) -> Vec<u8> {
    let dir = if cfg!(target_endian = "little") { "el" } else { "eb" };
    fs::read(artifacts::root().join("bpf-progs/prebuilt").join(dir).join("live").join(name)).unwrap()
}

/// Returns a kernel with these types.
fn kernel_with_types(btf: Vec<u8>) -> Arc<KernelBtf> {
    Arc::new(KernelBtf::from_btf(Arc::new(Btf::parse(btf).unwrap()), []))
}

/// Chooses the variants of an object on a kernel, by the table in its tags.
fn plan_on(object: &str, kernel: TargetKernel) -> AdaptiveLoad<LoadPlan> {
    let bytes = live_object(object);
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, kernel);
    let table = VariantTable::from_object(&object).unwrap();
    let adaptive = AdaptiveLoader::new(&loader, &table).unwrap();
    adaptive.plan().unwrap_or_else(|e| panic!("{e}: {:?}", e.report()))
}

/// Returns the chosen alternative of each group, by index.
fn choices(report: &StartupReport) -> BTreeMap<&str, Option<usize>> {
    report.groups.iter().map(|group| (group.name.as_str(), group.chosen)).collect()
}

/// Returns the version in the name of a kernel's file: `amd64-5.10.223-cloud.btf`.
fn version_of(path: &Path) -> Option<(u32, u32)> {
    let name = path.file_name()?.to_str()?;
    let mut numbers = name.split('-').nth(1)?.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[test]
fn each_kernel_gets_the_best_variants_that_it_has() {
    let mut kernel_count = 0;
    for path in artifacts::kernel_btfs() {
        let Some(version) = version_of(&path) else { continue };
        let kernel = kernel_with_types(fs::read(&path).unwrap());
        // Kernels without CONFIG_FPROBE lack the struct, such as Debian's 6.1.
        let has_fprobe = kernel.vmlinux().unwrap().find(b"bpf_kprobe_multi_link", Kind::Struct).is_some();
        let AdaptiveLoad { value: plan, report, .. } =
            plan_on("variants.bpf.o", TargetKernel::offline(kernel));
        let since = |major, minor| Some(usize::from(version < (major, minor)));
        let expected = BTreeMap::from([
            ("ingress", since(6, 6)),
            ("open", Some(0)),
            ("probes", Some(usize::from(!has_fprobe))),
            ("send", since(5, 8)),
            ("sum", since(5, 17)),
        ]);
        assert_eq!(choices(&report), expected, "{}: {report}", path.display());
        let constant = |name: &str| {
            let constant = report.constants.iter().find(|constant| constant.global == name).unwrap();
            constant.value
        };
        assert_eq!(constant("has_bloom"), Some(i128::from(version >= (5, 16))), "{report}");
        assert_eq!(constant("has_state"), Some(i128::from(version >= (5, 14))), "{report}");
        assert_eq!(constant("state_offset").is_some(), version >= (5, 14), "{report}");
        assert_eq!(constant("loop_number"), (version >= (5, 17)).then_some(181), "{report}");
        assert_eq!((constant("has_absent"), constant("has_ring")), (Some(0), Some(1)), "{report}");
        // The plan is that of the choice.
        for (group, chosen) in report.groups.iter().map(|group| (group, group.chosen)) {
            for (index, alternative) in group.alternatives.iter().enumerate() {
                for program in &alternative.programs {
                    let is_planned = plan.programs().iter().any(|planned| planned.name() == program);
                    assert_eq!(is_planned, chosen == Some(index), "{program}: {report}");
                }
            }
        }
        kernel_count += 1;
    }
    if kernel_count == 0 {
        skip!(Kernels, "target/kernels has no BTF");
    }
}

#[test]
fn kernels_without_types_load_the_variant_that_needs_none() {
    let none = || TargetKernel::offline(Arc::new(KernelBtf::none()));
    let AdaptiveLoad { value: plan, report, .. } = plan_on("variants_no_btf.bpf.o", none());
    assert_eq!(plan.programs().iter().map(|program| program.name()).collect::<Vec<_>>(), ["open_tp"]);
    let rejections: Vec<_> =
        report.groups[0].alternatives.iter().flat_map(|alternative| &alternative.rejections).collect();
    let [fentry, kprobe] = &*rejections else { panic!("{report}") };
    let target = "the kernel's types are needed for the attach target: ";
    assert!(fentry.reasons[0].starts_with(target) && fentry.stage == RejectionStage::Plan, "{report}");
    // The relocation is in a subprogram.
    let relocations = "the kernel's types are needed for CO-RE relocations: ";
    assert!(kprobe.reasons[0].starts_with(relocations) && kprobe.name == "open_kprobe", "{report}");
    assert_eq!((report.verdict, report.kernel.btf_source.as_deref()), (None, None));
    assert!(report.unjudged.is_some() && report.to_string().contains(", without BTF\n"), "{report}");
    assert_eq!(report.constants[0].value, None);
    assert!(report.constants[0].absence.as_ref().unwrap().contains("has no BTF"), "{report}");

    // Other BTF serves relocations and constants, but names no attach target.
    let packed = fs::read(artifacts::root().join("cli/demo/linux-6.1.btf.xz")).unwrap();
    let mut other = Vec::new();
    XzReader::new(&packed[..], true).read_to_end(&mut other).unwrap();
    let kernel = none().relocated_against(kernel_with_types(other));
    let AdaptiveLoad { value: plan, report, .. } = plan_on("variants_no_btf.bpf.o", kernel);
    assert_eq!(plan.programs().iter().map(|program| program.name()).collect::<Vec<_>>(), ["open_kprobe"]);
    assert_eq!(report.constants[0].absence, None, "{report}");
    assert!(report.constants[0].value.is_some(), "{report}");

    // A constant that is not optional fails the load.
    let bytes = live_object("variants.bpf.o");
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, none());
    let table = VariantTable::from_object(&object).unwrap();
    let error = AdaptiveLoader::new(&loader, &table).unwrap().plan().unwrap_err().to_string();
    assert!(error.contains("the kernel's types are needed: ") && error.starts_with("global `"), "{error}");
}
