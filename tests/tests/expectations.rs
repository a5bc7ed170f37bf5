//! The test programs have the outcomes that their `//# expect` lines state. The lines follow libbpf's rules.

use core_relo::{
    Plan, Target,
    plan::{Decision, PlannedReloc},
};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_test_support::skip;
use core_relo_tests::{
    artifacts,
    expect::{self, Expectation},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

#[test]
fn every_expectation_holds() {
    let objects = artifacts::objects();
    if objects.is_empty() {
        skip("expectations", "no compiled test programs here (cargo xtask progs)");
        return;
    }
    let (mut checked, mut failures) = (0, Vec::new());
    for object in &objects {
        let Some((source, order)) = source_of(object) else { continue };
        let text = fs::read_to_string(&source).unwrap();
        let expected = expect::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        for target in artifacts::targets_of(object) {
            let name = target_name(&target);
            let applies =
                |e: &&Expectation| e.target == name && e.order.as_deref().is_none_or(|o| o == order);
            let expected: Vec<_> = expected.iter().filter(applies).collect();
            checked += expected.len();
            failures.extend(check(object, &target, &expected));
        }
    }
    println!("checked {checked} expectations of {} objects, {} do not hold", objects.len(), failures.len());
    failures.iter().take(40).for_each(|failure| println!("{failure}"));
    assert!(checked > 0, "nothing was checked");
    assert!(failures.is_empty(), "{} expectations do not hold", failures.len());
}

/// Returns the C source of `.../{el,eb}/<topic>/<case>.bpf.o` and the byte order.
fn source_of(object: &Path) -> Option<(PathBuf, String)> {
    let topic = object.parent()?;
    let order = topic.parent()?.file_name()?.to_str()?.to_owned();
    let case = object.file_name()?.to_str()?.strip_suffix(".o")?;
    let source = artifacts::root().join("bpf-progs").join(topic.file_name()?).join(format!("{case}.c"));
    source.exists().then_some((source, order))
}

/// Returns the target name of a file, for example `moved` for `basic.moved.o`.
fn target_name(target: &Path) -> String {
    let stem = target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('.').map_or(stem.clone(), |(_, name)| name.to_owned())
}

fn check(object: &Path, target: &Path, expected: &[&Expectation]) -> Vec<String> {
    let bytes = fs::read(object).unwrap();
    let parsed = Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", object.display()));
    let relocs = parsed.relocs().unwrap();
    let btf = BtfFile::open(target).unwrap().parse_unvalidated(None).unwrap();
    let kernel = Target::new("vmlinux", Arc::new(btf));
    let plan = Plan::new(&relocs, &kernel);
    let mut failures = Vec::new();
    for e in expected {
        let planned = plan.iter().find(|p| {
            p.record().index_in_section == e.index && p.record().section.as_bytes() == e.section.as_bytes()
        });
        let actual = planned.map_or("no such record".to_owned(), |p| describe(&p, e));
        let values = e.values.map_or(String::new(), |(local, target)| format!(" {local}->{target}"));
        let wanted = format!("{} {}{values}", e.kind, e.outcome);
        if actual != wanted {
            let place = format!("{} on {}", object.display(), e.target);
            failures.push(format!("{place}: {}#{}: expected {wanted}, found {actual}", e.section, e.index));
        }
    }
    failures
}

fn describe(planned: &PlannedReloc<'_>, expected: &Expectation) -> String {
    let outcome = match planned.decision() {
        Err(_) => "error",
        Ok(Decision::Poison { .. }) => "poison",
        Ok(Decision::Skip(_)) => "skip",
        Ok(_) if planned.before() == planned.after() => "keep",
        Ok(_) => "patch",
    };
    let values = match (expected.values, planned.local_value(), planned.target_value()) {
        (Some(_), Some(local), Some(target)) => format!(" {local}->{target}"),
        _ => String::new(),
    };
    format!("{} {outcome}{values}", planned.record().relo.kind)
}
