//! Prints libbpf's result for each CO-RE record of an object on a target, as JSON lines:
//! `cargo run -p core-relo-tests --features libbpf --example libbpf_records -- OBJECT TARGET [MODULE.btf...]`

use core_relo_loader::target::extract;
use core_relo_tests::{
    libbpf::{self, LibbpfObject, LibbpfTarget},
    record::Outcome,
};
use serde_json::json;
use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [object, target, modules @ ..] = paths.as_slice() else {
        return Err("usage: libbpf_records OBJECT TARGET [MODULE.btf...]".into());
    };
    let target = fs::read(target)?;
    let modules: Vec<_> = modules.iter().map(fs::read).collect::<Result<_, _>>()?;
    let target =
        LibbpfTarget::parse(extract(&target)?.btf, &modules).ok_or("libbpf does not parse the target")?;
    let object = LibbpfObject::parse(&fs::read(object)?).ok_or("not a BPF object with .BTF and .BTF.ext")?;
    let mut out = io::stdout().lock();
    for record in libbpf::records(&object, &target) {
        let (outcome, after) = match &record.outcome {
            Outcome::Words(words) => ("words", words.iter().map(|byte| format!("{byte:02x}")).collect()),
            Outcome::Error(_) => ("error", String::new()),
            Outcome::Skipped => ("skip", String::new()),
        };
        let line = json!({
            "section": record.section,
            "relocation": record.index,
            "kind": record.kind,
            "type_id": record.root,
            "outcome": outcome,
            "after": after,
            "local_value": record.values.map(|values| values.0),
            "target_value": record.values.and_then(|values| values.1),
            "poisoned": record.is_poisoned(),
            "exception": record.exception.map(|exception| format!("{exception:?}")),
            "log": record.log,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
