//! BTF in files.

use crate::{
    error::BadInput,
    input::{
        btf_file,
        file::without_path,
        kernel::module::{find_base, is_split_without_base, missing_base, parse_split},
        limits::Limits,
    },
};
use core_relo::btf::Btf;
use std::{path::Path, sync::Arc};

/// Reads the BTF in a file. The base of a split BTF is `base`, or the `vmlinux` in the same directory.
pub(crate) fn read_file(path: &Path, base: Option<&Path>) -> Result<Btf<'static>, BadInput> {
    let file = btf_file::read(path, Limits::default())?;
    let base = match base {
        Some(base) => base.to_path_buf(),
        None => match (file.parse(None), find_base(path)) {
            (Ok(btf), _) => return Ok(btf),
            (Err(e), Some(base)) if is_split_without_base(&e) => base,
            (Err(e), None) if is_split_without_base(&e) => return Err(missing_base(path, Some(&e))),
            (Err(e), _) => return Err(BadInput::for_path(path, without_path(&e.to_string(), path))),
        },
    };
    let base = Arc::new(read_file(&base, None)?);
    parse_split(path, &file, &base)
}
