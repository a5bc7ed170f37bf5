//! The choice by the places that programs are attached to.

use super::{StartupReport, sample};
use crate::{AdaptiveLoader, RejectionStage, variants::VariantTable};
use core_relo::btf::Builder;
use core_relo_loader::{Loader, object::Object};
use core_relo_object::test_support::{TestObject, kernel, returns};

const TABLE: &str = "group events = fast > medium > slow";

/// Chooses among `fast`, `medium` and `slow` by the kernel's types, of which only `slow` has a tracepoint.
fn choose_by_types(table: &str, change: impl FnOnce(&mut Loader<'_, '_>)) -> StartupReport {
    choose(&sample(), table, change)
}

fn choose(bytes: &[u8], table: &str, change: impl FnOnce(&mut Loader<'_, '_>)) -> StartupReport {
    let object = Object::parse(bytes).unwrap();
    let with_tracepoint = kernel(|b| {
        let int = b.int("int", 4, Builder::SIGNED);
        let proto = b.func_proto(int, &[]);
        for name in ["array_map_alloc", "htab_map_alloc", "bpf_check"] {
            b.func(name, proto, 1);
        }
        b.typedef("btf_trace_sched_switch", int);
        b.typedef("btf_trace_slow", int);
    });
    let mut loader = Loader::for_kernel(&object, with_tracepoint).name("agent");
    change(&mut loader);
    let table = VariantTable::parse(table).unwrap();
    AdaptiveLoader::new(&loader, &table).unwrap().choose().unwrap().report
}

#[test]
fn an_alternative_whose_tracepoint_is_missing_is_not_chosen() {
    let report = choose_by_types(TABLE, |_| {});
    assert_eq!(report.groups[0].chosen, Some(2), "{report}");
    let rejection = &report.groups[0].alternatives[0].rejections[0];
    assert_eq!(rejection.stage, RejectionStage::Attach);
    assert_eq!(
        rejection.reasons,
        ["the kernel lacks tracepoint `fast` [btf: no typedef btf_trace_fast in vmlinux]"]
    );
}

#[test]
fn the_section_of_a_program_that_the_caller_attaches_does_not_decide() {
    let report = choose_by_types(TABLE, |loader| loader.program_mut("medium").autoattach = Some(false));
    assert_eq!(report.groups[0].chosen, Some(1), "{report}");
}

/// The caller may attach the programs elsewhere, and an attachment finds out.
#[test]
fn places_decide_only_if_a_later_alternative_has_its_place() {
    let report = choose_by_types("group events = slow > fast > medium", |_| {});
    assert_eq!(report.groups[0].chosen, Some(0), "{report}");
    let report = choose_by_types("group events = fast > medium\noptional extra", |_| {});
    assert_eq!(report.groups[0].chosen, Some(0), "{report}");
    assert!(report.groups[0].alternatives[0].rejections.is_empty());
    assert!(report.programs.iter().all(|program| program.rejection.is_none()), "{report}");
}

#[test]
fn a_later_alternative_that_does_not_load_gives_way_to_one_without_its_place() {
    let mut m = TestObject::new();
    for (name, section) in
        [("placeless", "raw_tp/none"), ("missing", "raw_tp/no_other"), ("refused", "fentry/no_function")]
    {
        m.program(name, section, &returns(0));
    }
    let bytes = m.bytes();
    let report = choose(&bytes, "group events = placeless > missing > refused", |_| {});
    assert_eq!(report.groups[0].chosen, Some(0), "{report}");
    let stages: Vec<_> =
        report.groups[0].alternatives.iter().map(|of| of.rejections.first().map(|r| r.stage)).collect();
    assert_eq!(stages, [None, Some(RejectionStage::Attach), Some(RejectionStage::Verdict)], "{report}");
    // All are refused.
    let report = choose(&bytes, "group events = refused\noptional events", |_| {});
    assert_eq!(report.groups[0].chosen, None, "{report}");
}
