//! The types of programs, from section names and settings.

use crate::{
    load_plan::{ProgramPlan, ProgramSettings},
    object::{AttachType, ProgramType},
    test_support::{TestObject, kernel, line, returns},
};

fn planned(section: &str, set: impl FnOnce(&mut ProgramSettings)) -> ProgramPlan {
    let mut m = TestObject::new();
    m.program("main", section, &returns(0));
    m.plan_on(kernel(|_| {}), |loader| set(loader.program("main"))).unwrap().programs()[0].clone()
}

#[test]
fn a_section_says_nothing_of_a_program_whose_type_is_set_to_another() {
    let plan = planned("xdp", |p| p.program_type = Some(ProgramType::Ext));
    assert_eq!((plan.program_type(), plan.attach_type(), plan.sec_def()), (ProgramType::Ext, 0, None));
    // There is no function `nowhere`: it is not looked for. Nor is the program sleepable any more.
    let plan = planned("fentry.s/nowhere", |p| p.program_type = Some(ProgramType::SocketFilter));
    assert_eq!((plan.attach_type(), plan.flags(), plan.attach().type_id()), (0, 0, None));
    let set = |p: &mut ProgramSettings| {
        p.program_type = Some(ProgramType::SchedCls);
        p.attach_type = Some(AttachType::TcxIngress);
    };
    assert_eq!(planned("xdp", set).attach_type(), AttachType::TcxIngress.number());
}

#[test]
fn a_type_set_to_what_the_section_says_changes_nothing() {
    let same = planned("xdp.frags", |p| p.program_type = Some(ProgramType::Xdp));
    let as_is = planned("xdp.frags", |_| {});
    let parts = |p: &ProgramPlan| (p.program_type(), p.attach_type(), p.flags(), p.sec_def());
    assert_eq!(parts(&same), parts(&as_is));
    assert_eq!((same.attach_type(), same.flags()), (AttachType::Xdp.number(), 1 << 5));
    let none = planned("xdp", |p| p.attach_type = Some(AttachType::CgroupInetIngress));
    assert_eq!(none.attach_type(), 0);
}

#[test]
fn a_program_of_a_table_stays_one() {
    let error = super::struct_ops::with_program(|loader| {
        loader.program("one").program_type = Some(ProgramType::Xdp);
    });
    assert_eq!(
        line(&error.expect_err("refused")),
        "program `one`: a struct_ops map refers to it, but its type is not struct_ops"
    );
}
