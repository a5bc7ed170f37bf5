//! `btf dump`: types in the notation of `bpftool btf dump`, or as JSON.

use crate::{
    args::{btf::BtfDumpArgs, format::BtfDumpFormat, kernel_objects::ObjectSelector},
    console::Console,
    error::{BadInput, escape_path},
    input::{
        btf_file,
        file::without_path,
        kernel::module::{find_base, is_split_without_base, missing_base, parse_split},
        limits::Limits,
    },
    json::btf_type::TypeJson,
    kernel_objects::{btf_cache::BtfCache, kind::Kind, select::select},
    text::line::Line,
};
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use std::{io, path::Path, sync::Arc};

pub(super) fn run(console: &mut Console<'_>, args: &BtfDumpArgs) -> io::Result<()> {
    let (btf, name) = match (args.kernel_id, &args.path) {
        (Some(id), _) => (read_from_kernel(id), format!("BTF {id}")),
        (None, Some(path)) => {
            let read = read_file(path, args.base.as_deref()).map_err(|bad| with_id_help(path, bad));
            (read.map(Arc::new), escape_path(path))
        }
        (None, None) => (Err(BadInput::new("btf dump", "expected a path or --kernel-id")), String::new()),
    };
    let btf = match btf {
        Ok(btf) => btf,
        Err(bad) => return console.fail(&bad),
    };
    let mut is_empty = true;
    for ty in selected_types(&btf, args) {
        is_empty = false;
        match args.format {
            BtfDumpFormat::Raw => {
                let text = ty.raw().to_string();
                text.lines().try_for_each(|line| console.out.line(Line::new().formatted(line)))?;
            }
            BtfDumpFormat::Json => console.out.json(&TypeJson::new(ty)?)?,
        }
    }
    match (args.id, &args.name) {
        _ if !is_empty => Ok(()),
        (Some(id), _) => {
            let (first, end) = (btf.first_id().0, btf.end_id().0);
            let what = format!("no type [{id}]; there are [{first}] to [{}]", end.saturating_sub(1));
            console.fail(&BadInput::new(name, what))
        }
        (None, Some(ty)) => console.fail(&BadInput::new(name, format_args!("no type `{ty}`"))),
        (None, None) => Ok(()),
    }
}

/// Returns the types to print. `--id` also finds types of the base BTF. Without `--id`, only the types of the BTF itself are printed.
fn selected_types<'b>(btf: &'b Btf<'_>, args: &'b BtfDumpArgs) -> Box<dyn Iterator<Item = Type<'b>> + 'b> {
    let has_name = |ty: &Type<'_>| args.name.as_ref().is_none_or(|n| ty.name().as_bytes() == n.as_bytes());
    match args.id {
        Some(id) => Box::new(btf.ty(TypeId(id)).into_iter().filter(has_name)),
        None => Box::new(btf.types().filter(has_name)),
    }
}

/// Adds help to the error for a path that was meant as an id.
fn with_id_help(path: &Path, bad: BadInput) -> BadInput {
    let id = path.to_str().and_then(|text| text.parse::<u32>().ok());
    match id.filter(|_| !path.exists()) {
        Some(id) => bad.help(format!("for the BTF with this id in the running kernel: --kernel-id {id}")),
        None => bad,
    }
}

/// Reads the BTF with this id from the running kernel.
fn read_from_kernel(id: u32) -> Result<Arc<Btf<'static>>, BadInput> {
    select(Kind::Btf, &ObjectSelector { id: Some(id), ..ObjectSelector::default() })?;
    BtfCache::default().get(id).ok_or_else(|| {
        BadInput::new(format!("BTF {id}"), "cannot be read").help("run the command with -v to see the reason")
    })
}

fn read_file(path: &Path, base: Option<&Path>) -> Result<Btf<'static>, BadInput> {
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
