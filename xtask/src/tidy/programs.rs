//! Rules for the test programs.

use crate::cases;
use crate::system::Outcome;
use std::path::Path;

/// Checks the test programs: unknown directives, targets without a file, target files that no program lists.
pub(super) fn check_directives() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for case in cases::read_all()? {
        let path = Path::new("bpf-progs").join(&case.program.path);
        let path = path.display();
        if case.listed.is_empty() {
            problems.push(format!("{path}: no `//# target:` directive"));
        }
        for name in case.listed.iter().filter(|name| !cases::NOT_FILES.contains(&name.as_str())) {
            if !case.targets.contains_key(name) {
                problems.push(format!("{path}: no file for the target `{name}`"));
            }
        }
        for name in case.targets.keys().filter(|name| !case.listed.contains(name)) {
            problems.push(format!("{path}: the target `{name}` has a file but is not listed"));
        }
        for source in std::iter::once(&case.program).chain(case.targets.values()) {
            for line in &source.unknown {
                problems.push(format!("bpf-progs/{}: not a directive: {line}", source.path.display()));
            }
        }
    }
    Ok(problems)
}
