//! Requirements, plans and answers that do not belong together.

use super::*;

/// Returns an object with one relocation record, in a program that calls a helper.
fn with_record() -> Vec<u8> {
    let mut m = program("tc", &[helper(5), insn(0xb7, 0, 0, 0, 0), exit()]);
    let root = m.types.structure("task_struct", 4, &[]);
    m.core_relo("tc", &[(1, root, "0", 8)]);
    m.bytes()
}

#[test]
fn answers_of_another_table_and_plans_of_another_object_are_errors() {
    let (bytes, other_bytes) = (with_record(), program("tc", &returns(0)).bytes());
    let (object, other) = (Object::parse(&bytes).unwrap(), Object::parse(&other_bytes).unwrap());
    let (relocs, other_relocs) = (object.relocs().unwrap(), other.relocs().unwrap());
    let (mut table, empty) = (NeedTable::default(), NeedTable::default());
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs::default();
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let no_answers = KernelAnswers::new(&empty, &target, &inputs);
    let (plan, other_plan) = (Plan::new(&relocs, &target), Plan::new(&other_relocs, &target));

    assert!(judge(&needs, &plan, &answers).is_ok());
    let error = judge(&needs, &plan, &no_answers).unwrap_err();
    assert!(matches!(error, JudgeError::OtherAnswers { .. }), "{error:?}");
    assert_eq!(judge(&needs, &other_plan, &answers), Err(JudgeError::OtherPlan { index: 0 }));

    let unknown = ObjectVerdict::unknown(&object, LoaderKind::Libbpf, &error);
    assert_eq!(unknown.verdict, Verdict::Unknown);
    let text = &unknown.programs[0].reasons[0].text;
    assert!(text.starts_with("internal error: the kernel's answers lack requirement"), "{text}");
}

/// The answers have as many requirements and names as the object, but the kernel was searched for the event
/// of another object.
#[test]
fn answers_about_the_names_of_another_object_are_errors() {
    // `r0 = *(u64 *)(r1 + 8)`
    let event = |section| program(section, &[insn(0x79, 0, 1, 8, 0), exit()]).bytes();
    let (bytes, other_bytes) = (event("tp/sched/sched_switch"), event("tp/sched/sched_wakeup"));
    let (object, other_object) = (Object::parse(&bytes).unwrap(), Object::parse(&other_bytes).unwrap());
    let (relocs, other_relocs) = (object.relocs_or_none().unwrap(), other_object.relocs_or_none().unwrap());
    let (mut table, mut other_table) = (NeedTable::default(), NeedTable::default());
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    assert!(needs.programs[0].declaration.is_some());
    ObjectNeeds::collect(&other_object, &other_relocs, &mut other_table).unwrap();
    assert_eq!(table.iter().len(), other_table.iter().len());
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs::default();
    let plan = Plan::new(&relocs, &target);
    for (table, expected) in [(&table, None), (&other_table, Some(JudgeError::OtherNames))] {
        let answers = KernelAnswers::new(table, &target, &inputs);
        assert_eq!(judge(&needs, &plan, &answers).err(), expected);
    }
}
