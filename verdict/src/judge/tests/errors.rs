//! Requirements, plans and answers that do not belong together.

use super::*;
use crate::kernel::NameQuery;

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
    let (names, inputs) = (table.names(), KernelInputs::default());
    let facts = || KernelFacts::new(&target, names, &inputs);
    let (answers, no_answers) = (KernelAnswers::new(&table, facts()), KernelAnswers::new(&empty, facts()));
    let (plan, other_plan) = (Plan::new(&relocs, &target), Plan::new(&other_relocs, &target));

    assert!(judge(&needs, &plan, &answers).is_ok());
    let error = judge(&needs, &plan, &no_answers).unwrap_err();
    assert!(matches!(error, JudgeError::OtherAnswers { .. }), "{error:?}");
    assert_eq!(judge(&needs, &other_plan, &answers), Err(JudgeError::OtherPlan { index: 0 }));

    let unknown = ObjectVerdict::unknown(&object, Loader::Libbpf, &error);
    assert_eq!(unknown.verdict, Verdict::Unknown);
    let text = &unknown.programs[0].reasons[0].text;
    assert!(text.starts_with("internal error: the kernel's answers lack requirement"), "{text}");
}

/// The answers have every requirement of the object, but the kernel was not searched for the event that the
/// program reads.
#[test]
fn names_that_a_table_got_after_the_search_are_errors() {
    // `r0 = *(u64 *)(r1 + 8)`
    let bytes = program("tp/sched/sched_switch", &[insn(0x79, 0, 1, 8, 0), exit()]).bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocs = object.relocs_or_none().unwrap();
    let mut table = NeedTable::default();
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    assert!(needs.programs[0].declaration.is_some());
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let (fixed, inputs) = (NameQuery::default(), KernelInputs::default());
    let plan = Plan::new(&relocs, &target);
    // Another query has other names at the places of the object's.
    let mut other = NameQuery::default();
    (0..table.names().all_declarations().count()).for_each(|index| {
        other.declaration(format!("other_{index}").as_bytes(), core_relo::btf::Kind::Typedef);
    });
    let refused = Some(JudgeError::OtherNames);
    for (names, expected) in [(table.names(), None), (&fixed, refused), (&other, refused)] {
        let answers = KernelAnswers::new(&table, KernelFacts::new(&target, names, &inputs));
        assert_eq!(judge(&needs, &plan, &answers).err(), expected);
    }
}
