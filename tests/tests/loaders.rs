//! The table of rules in which loaders differ, beside libbpf and core-relo: they open exactly the objects
//! that the table says. The column of aya is tested in `benches/tests/aya_rules.rs`.

use core_relo::{
    Endian,
    btf::{Btf, Builder},
};
use core_relo_object::{
    load_plan::{LoadPlan, Settings, TargetKernel},
    object::Object,
    target::KernelBtf,
};
use core_relo_verdict::{
    loaders::{LoaderKind, LoaderRule, Stance},
    test_support::loader_object,
};
use std::sync::Arc;

fn is_refused(rule: LoaderRule, loader: LoaderKind) -> bool {
    matches!(rule.stance(loader), Stance::Refuses(_) | Stance::Unreached(_))
}

/// Returns a kernel that has all that the objects need.
fn kernel() -> TargetKernel {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("task_struct", 4, &[("pid", int, 0)]);
    let ops = b.structure("ops", 8, &[("number", int, 0)]);
    b.structure("bpf_struct_ops_ops", 16, &[("data", ops, 64)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let mut kernel = TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(btf), [])));
    kernel.kconfig = Some("CONFIG_HZ=250\n".into());
    kernel
}

#[test]
fn core_relo_plans_the_loads_that_the_table_says() {
    for rule in LoaderRule::ALL {
        let bytes = loader_object(*rule);
        let plan = Object::parse(&bytes).map_err(|e| e.to_string()).and_then(|object| {
            LoadPlan::new(&object, &Settings::default(), &kernel()).map_err(|e| e.to_string())
        });
        let refusal = plan.err();
        assert_eq!(refusal.is_some(), is_refused(*rule, LoaderKind::CoreRelo), "{rule:?}: {refusal:?}");
    }
}

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_opens_the_objects_that_the_table_says() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use super::*;
    use core_relo_tests::libbpf;

    #[test]
    fn libbpf_opens_the_objects_that_the_table_says() {
        for rule in LoaderRule::ALL {
            let (opened, log) = libbpf::with_log(|| libbpf::open(&loader_object(*rule)).is_ok());
            assert_eq!(opened, !is_refused(*rule, LoaderKind::Libbpf), "{rule:?}: {log}");
        }
    }
}
