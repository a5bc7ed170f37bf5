//! Entry points for the fuzz targets: the command's readers of hostile files, without arguments and output.

use crate::{
    args::Targets,
    cmd::resume::{Header, Results},
    input::target::Selection,
    json_btf::TypeFacts,
    json_value,
};
use core_relo::btf::{Type, Value};
use std::{ops::ControlFlow, path::Path};

/// Reads the kernels of a file, as `--btf PATH --max-bytes N` does. Returns the size of each kernel's BTF in bytes, or why there is
/// none. A name that ends in `.tar` makes the file an archive.
pub fn kernels(path: &Path, max_bytes: u64) -> Vec<Result<usize, String>> {
    let targets = Targets { btf: vec![path.to_owned()], max_bytes: Some(max_bytes), ..Targets::default() };
    let selection = Selection::of(&targets);
    let mut found: Vec<_> = selection.bad.iter().map(|bad| Err(bad.bad.to_string())).collect();
    for place in &selection.places {
        let _note: Option<String> = selection.kernels(place, &mut |kernel| {
            let size = kernel.map(|kernel| kernel.target.main().btf.as_bytes().len());
            found.push(size.map_err(|bad| bad.to_string()));
            ControlFlow::Continue(())
        });
    }
    found
}

/// Opens a file of results for a check of these objects (name and content), as `--resume PATH` does. Returns how many kernels the
/// file has results for.
pub fn resume(path: &Path, objects: &[(&str, &[u8])]) -> Result<usize, String> {
    let header = Header::new(objects.iter().copied());
    let (_results, so_far) = Results::open(path, &header).map_err(|bad| bad.to_string())?;
    Ok(so_far.len())
}

/// Returns a type as JSON, as `btf dump --format json` prints it.
pub fn type_json(ty: Type<'_>) -> serde_json::Result<String> {
    serde_json::to_string(&TypeFacts::new(ty))
}

/// Returns a value as JSON, as `map dump --format json` prints it.
pub fn value_json(value: &Value<'_>) -> String {
    json_value::of(value).to_string()
}
