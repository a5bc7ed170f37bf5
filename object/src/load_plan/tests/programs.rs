//! The types of programs, from section names and settings.

use crate::{
    load_plan::{AttachTarget, ProgramPlan, ProgramSettings},
    object::{AttachType, ProgramType},
    test_support::{TestObject, kernel, line, returns},
};

fn planned(section: &str, set: impl FnOnce(&mut ProgramSettings)) -> ProgramPlan {
    let mut m = TestObject::new();
    m.program("main", section, &returns(0));
    m.plan_on(kernel(|_| {}), |loader| set(loader.program_mut("main"))).unwrap().programs()[0].clone()
}

#[test]
fn the_section_name_is_ignored_if_the_settings_have_another_type() {
    let plan = planned("xdp", |p| p.program_type = Some(ProgramType::Ext));
    assert_eq!((plan.program_type(), plan.attach_type(), plan.sec_def()), (ProgramType::Ext, 0, None));
    // The attach target, which does not exist, is not searched, and the program is not sleepable.
    let plan = planned("fentry.s/nowhere", |p| p.program_type = Some(ProgramType::SocketFilter));
    assert_eq!((plan.attach_type(), plan.flags(), plan.attach().type_id()), (0, 0, None));
    let set = |p: &mut ProgramSettings| {
        p.program_type = Some(ProgramType::SchedCls);
        p.attach_type = Some(AttachType::TcxIngress);
    };
    assert_eq!(planned("xdp", set).attach_type(), AttachType::TcxIngress.number());
}

#[test]
fn a_program_is_planned_as_if_it_were_in_the_section_of_the_settings() {
    let with = |section: &str, name: &str| planned(section, |p| p.section = Some(name.to_owned()));
    let plan = with("classifier/ingress", "cgroup/connect4");
    let attach_type = AttachType::CgroupInet4Connect.number();
    assert_eq!((plan.program_type(), plan.attach_type()), (ProgramType::CgroupSockAddr, attach_type));
    assert_eq!(plan.section(), "cgroup/connect4");
    let plan = with("mine", "xdp.frags");
    assert_eq!((plan.program_type(), plan.flags()), (ProgramType::Xdp, 1 << 5));
    // A program that is not loaded by default stays so, and is loaded if the settings say so.
    let plan = planned("?mine", |p| {
        p.section = Some("tc".to_owned());
        p.autoload = Some(true);
    });
    assert_eq!(plan.program_type(), ProgramType::SchedCls);
}

#[test]
fn a_section_name_of_another_loader_is_explained() {
    let error = |section: &str| {
        let mut m = TestObject::new();
        m.program("main", section, &returns(0));
        m.error_on(kernel(|_| {}))
    };
    let expected = "program `main`: section `socket/x` has no known program type: set the type before loading (`--program-type main=socket`, \
                    the meaning to aya, cilium/ebpf and libbpf before 1.0), or name the section SEC(\"socket\")";
    assert_eq!(error("socket/x"), expected);
    assert!(error("mine").ends_with("SEC(\"xdp\") or the like"));
}

#[test]
fn programs_of_many_functions_are_loaded_for_the_kernel_or_for_one_module() {
    let attach = |section: &str, target: Option<&str>| {
        let mut m = TestObject::new();
        m.program("main", section, &returns(0));
        let plan = m.plan_on(super::externs::with_module(), |loader| {
            loader.program_mut("main").attach_to =
                target.map(|target| AttachTarget::Kernel(target.to_owned()));
        });
        let plan = plan.unwrap();
        let attach = plan.programs()[0].attach();
        assert_eq!(attach.type_id(), None);
        attach.module().map(|module| plan.modules()[module.0].name.clone())
    };
    let module = Some("mod".to_owned());
    for (section, target, expected) in [
        ("fentry.multi", None, None),
        ("fentry.multi/do_*", None, None),
        ("fentry.multi/vmlinux:do_*", None, None),
        ("fentry.multi/mod:do_*", None, module.clone()),
        ("fexit.multi.s/mod:do_it", None, module.clone()),
        ("fsession.multi", Some("mod:*"), module),
        ("fentry.multi/mod:do_*", Some("do_*"), None),
        // Whether this kernel has the module is for the verdict.
        ("fentry.multi/absent:do_*", None, Some("absent".to_owned())),
    ] {
        assert_eq!(attach(section, target), expected, "{section} {target:?}");
    }
}

#[test]
fn setting_the_type_of_the_section_name_changes_nothing() {
    let same = planned("xdp.frags", |p| p.program_type = Some(ProgramType::Xdp));
    let default = planned("xdp.frags", |_| {});
    let parts = |p: &ProgramPlan| (p.program_type(), p.attach_type(), p.flags(), p.sec_def());
    assert_eq!(parts(&same), parts(&default));
    assert_eq!((same.attach_type(), same.flags()), (AttachType::Xdp.number(), 1 << 5));
    let none = planned("xdp", |p| p.attach_type = Some(AttachType::CgroupInetIngress));
    assert_eq!(none.attach_type(), 0);
}

#[test]
fn a_program_of_a_struct_ops_table_keeps_its_type() {
    let error = super::struct_ops::with_program(|loader| {
        loader.program_mut("one").program_type = Some(ProgramType::Xdp);
    });
    assert_eq!(
        line(&error.expect_err("refused")),
        "program `one`: a struct_ops map refers to it, but its type is not struct_ops"
    );
}
