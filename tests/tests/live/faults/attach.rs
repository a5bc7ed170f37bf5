//! `attach_all` that fails half way.

use super::descriptors;
use crate::live::harness::{Need, live, object};
use core_relo_loader::{Loader, object::Object};

/// Returns the object with a tracepoint renamed to another name of the same length.
fn with_tracepoint(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut changed = bytes.to_vec();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    changed
}

#[test]
fn a_failed_attach_detaches_the_programs_attached_before() {
    let test = "faults::a_failed_attach_detaches_the_programs_attached_before";
    let Some(_live) = live(test, &[Need::Tracefs]) else { return };
    let bytes = object("tracepoint");
    // Either of the two programs may be attached first.
    for (from, to) in
        [("sys_enter_getppid", "sys_enter_nothing"), ("sched/sched_switch", "sched/sched_nothng")]
    {
        let bytes = with_tracepoint(&bytes, from, to);
        let object = Object::parse(&bytes).unwrap();
        let loaded = Loader::new(&object).name("tracepoint").load().unwrap();
        let before = descriptors();
        let error = loaded.attach_all().expect_err("there is no such tracepoint").to_string();
        assert!(error.contains(to) && !error.contains('\n'), "{error}");
        // The error names the program.
        assert!(error.starts_with("program `"), "{error}");
        assert_eq!(descriptors(), before, "{error}");
    }
}
