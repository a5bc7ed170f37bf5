//! BTF in files.

use crate::{args::btf_query::BtfSource, error::BadInput};
use core_relo::{
    Escaped,
    btf::{Btf, Kind, Type},
    explain::nearest_names,
};
use core_relo_kernels::{
    Defect, InputError, Limits, btf_file,
    module::{find_base, is_split_without_base, missing_base, parse_split},
};
use core_relo_loader::target::FileFormat;
use std::{path::Path, sync::Arc};

/// The BTF in a file, and the file's format.
pub(super) struct BtfOfFile {
    pub(super) btf: Btf<'static>,
    pub(super) format: FileFormat,
}

/// Reads the BTF in a file. The base of a split BTF is `base`, or the `vmlinux` in the same directory.
pub(crate) fn read_file(path: &Path, base: Option<&Path>) -> Result<Btf<'static>, BadInput> {
    Ok(read_file_of_format(path, base)?.btf)
}

/// Reads the BTF in a file as [`read_file`] does.
pub(super) fn read_file_of_format(path: &Path, base: Option<&Path>) -> Result<BtfOfFile, BadInput> {
    let file = btf_file::read(path, Limits::default())?;
    let format = file.format;
    let base = match base {
        Some(base) => base.to_path_buf(),
        None => match (file.parse(None), find_base(path)) {
            (Ok(btf), _) => return Ok(BtfOfFile { btf, format }),
            (Err(e), Some(base)) if is_split_without_base(&e) => base,
            (Err(e), None) if is_split_without_base(&e) => return Err(missing_base(path, Some(&e)).into()),
            (Err(e), _) => return Err(InputError::new(path, Defect::Btf(Box::new(e))).into()),
        },
    };
    let base = Arc::new(read_file(&base, None)?);
    Ok(BtfOfFile { btf: parse_split(path, &file, &base)?, format })
}

/// The BTF of the running kernel.
pub(super) const RUNNING_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// Reads the BTF that a query names, by default the running kernel's.
pub(super) fn read_source(source: &BtfSource) -> Result<Btf<'static>, BadInput> {
    match &source.btf {
        Some(path) => read_file(path, source.base.as_deref()),
        None => read_file(Path::new(RUNNING_KERNEL), None)
            .map_err(|bad| bad.help("the running kernel has no BTF: name a file, --btf PATH")),
    }
}

/// A type that a user names, or the names that are similar.
pub(super) fn find_type<'b>(btf: &'b Btf<'_>, name: &str) -> Result<Type<'b>, BadInput> {
    let (keyword, bare) = match name.split_once(' ') {
        Some((keyword, bare)) => (Some(keyword), bare.trim()),
        None => (None, name),
    };
    let kinds: &[Kind] = match keyword {
        None => &[Kind::Struct, Kind::Union, Kind::Typedef, Kind::Enum, Kind::Enum64],
        Some("struct") => &[Kind::Struct],
        Some("union") => &[Kind::Union],
        Some("enum") => &[Kind::Enum, Kind::Enum64],
        Some(_) => &[],
    };
    let found = kinds.iter().find_map(|kind| btf.find(bare.as_bytes(), *kind));
    found.ok_or_else(|| {
        suggest_type(btf, bare, |ty| kinds.contains(&ty.kind()), BadInput::new(name, "no such type"))
    })
}

/// Adds a remedy to the error about an unknown type: the type with the most similar name, or how to search.
pub(super) fn suggest_type(
    btf: &Btf<'_>,
    name: &str,
    is_wanted: impl Fn(&Type<'_>) -> bool,
    bad: BadInput,
) -> BadInput {
    let named = btf.types().filter(|ty| is_wanted(ty) && !ty.name().is_empty());
    match nearest_names(name.as_bytes(), named.map(|ty| ty.name().as_bytes())).first() {
        Some(similar) => bad.help(format!("there is `{}`", Escaped(similar))),
        None => bad.help("`core-relo btf find --name 'PATTERN'` searches by a pattern"),
    }
}
