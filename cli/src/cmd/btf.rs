//! `btf dump`: types in bpftool's raw notation, or as JSON.

use crate::{
    app::App,
    args::{self, DumpFormat},
    args_kernel,
    error::{BadInput, shown},
    input::{
        file::{self, Limits},
        target::{beside, no_base, parse_on, wants_base},
        unpack,
    },
    json_btf::TypeFacts,
    kernel,
    line::Line,
};
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use std::{io, path::Path, sync::Arc};

pub(crate) fn run(app: &mut App<'_>, args: &args_kernel::Btf) -> io::Result<()> {
    match args {
        args_kernel::Btf::Dump(args) => dump(app, args),
        args_kernel::Btf::List(args) => super::btf_kernel::list(app, args),
        args_kernel::Btf::Show(args) => super::btf_kernel::show(app, args),
    }
}

fn dump(app: &mut App<'_>, args: &args::Dump) -> io::Result<()> {
    let (opened, called) = match (args.kernel_id, &args.path) {
        (Some(id), _) => (of_kernel(id), format!("BTF {id}")),
        (None, path) => {
            let path = path.as_deref().unwrap_or(Path::new(""));
            (open(path, args.base.as_deref()).map(Arc::new), shown(path))
        }
    };
    let btf = match opened {
        Ok(btf) => btf,
        Err(bad) => return app.fail(&bad),
    };
    let mut found = false;
    for ty in selected(&btf, args) {
        found = true;
        match args.format {
            DumpFormat::Raw => {
                let text = ty.raw().to_string();
                text.lines().try_for_each(|line| app.out.line(Line::new().laid_out(line)))?;
            }
            DumpFormat::Json => app.out.json(&TypeFacts::new(ty))?,
        }
    }
    match (args.id, &args.name) {
        _ if found => Ok(()),
        (Some(id), _) => {
            let (first, end) = (btf.first_id().0, btf.end_id().0);
            let what = format!("no type [{id}]; there are [{first}] to [{}]", end.saturating_sub(1));
            app.fail(&BadInput::new(called, what))
        }
        (None, Some(name)) => app.fail(&BadInput::new(called, format_args!("no type `{name}`"))),
        (None, None) => Ok(()),
    }
}

/// The types asked for: an id may be the base's, a list is of the file's own.
fn selected<'b>(btf: &'b Btf<'_>, args: &'b args::Dump) -> Box<dyn Iterator<Item = Type<'b>> + 'b> {
    let is_named = |ty: &Type<'_>| args.name.as_ref().is_none_or(|n| ty.name().as_bytes() == n.as_bytes());
    match args.id {
        Some(id) => Box::new(btf.ty(TypeId(id)).into_iter().filter(is_named)),
        None => Box::new(btf.types().filter(is_named)),
    }
}

/// The BTF of an id in the running kernel.
fn of_kernel(id: u32) -> Result<Arc<Btf<'static>>, BadInput> {
    let which = args_kernel::Which { id: Some(id), ..args_kernel::Which::default() };
    kernel::select::selected(kernel::Kind::Btf, &which)?;
    kernel::types::Types::default().get(id).ok_or_else(|| {
        BadInput::new(format!("BTF {id}"), "cannot be read").help("run it with -v: it says why")
    })
}

fn open(path: &Path, base: Option<&Path>) -> Result<Btf<'static>, BadInput> {
    let file = unpack::open(path, Limits::default())?;
    let base = match base {
        Some(base) => base.to_path_buf(),
        None => match (file.parse_validated(None), beside(path)) {
            (Ok(btf), _) => return Ok(btf),
            (Err(e), Some(base)) if wants_base(&e) => base,
            (Err(e), None) if wants_base(&e) => {
                return Err(no_base(path, Some(&e)));
            }
            (Err(e), _) => return Err(BadInput::at(path, file::reason(&e.to_string(), path))),
        },
    };
    let base = Arc::new(open(&base, None)?);
    parse_on(path, &file, &base)
}
