//! `btf dump --format c`: a C header.

use crate::{
    args::btf::BtfDumpArgs,
    console::Console,
    error::{BadInput, CommandResult},
    text::printer::Printer,
};
use core_relo::{
    TypeId,
    btf::{Btf, CHeader, Kind, Type},
};
use core_relo_report::policy::Glob;
use std::{
    fmt::{self, Write as _},
    io,
};

/// Prints the header of the selected types, or of all types.
pub(super) fn run(console: &mut Console<'_>, args: &BtfDumpArgs, btf: &Btf<'_>, name: &str) -> CommandResult {
    let roots = roots(args, btf, name)?;
    let header = roots.map_or_else(|| CHeader::new(btf), |roots| CHeader::with_roots(btf, roots));
    let mut out = Adapter { out: &mut console.out, result: Ok(()) };
    match write!(out, "{}", header.assertions(args.assertions)) {
        Ok(()) => Ok(()),
        Err(fmt::Error) => Ok(out.result.and(Err(io::Error::other("the header cannot be formatted")))?),
    }
}

/// Returns the types that the arguments select; `None` for all types.
fn roots(args: &BtfDumpArgs, btf: &Btf<'_>, name: &str) -> Result<Option<Vec<TypeId>>, BadInput> {
    if args.root.is_empty() && args.type_id.is_none() && args.type_name.is_none() {
        return Ok(None);
    }
    let mut ids = matching_types(btf, &args.root, name)?;
    let of_name =
        |ty: &Type<'_>| args.type_name.as_ref().is_some_and(|n| n.as_bytes() == ty.name().as_bytes());
    match args.type_id.map(TypeId) {
        Some(id) if btf.ty(id).is_none() => {
            return Err(BadInput::new(name, format_args!("no type [{id}]")));
        }
        Some(id) => ids.push(id),
        None => ids.extend(btf.types().filter(of_name).map(Type::id)),
    }
    if CHeader::with_roots(btf, ids.iter().copied()).is_empty() {
        let bad = BadInput::new(name, "the selected types have no declaration in C");
        return Err(bad.help("a header declares structs, unions, enums, typedefs and kfuncs"));
    }
    Ok(Some(ids))
}

/// Returns the declarations whose names match one of the patterns. A pattern that matches none is an error.
pub(crate) fn matching_types(btf: &Btf<'_>, patterns: &[Glob], name: &str) -> Result<Vec<TypeId>, BadInput> {
    let mut ids = Vec::new();
    for pattern in patterns {
        let count = ids.len();
        let mut level = Some(btf);
        while let Some(btf) = level {
            let is_match = |ty: &Type<'_>| {
                let is_declaration = ty.kind().is_composite()
                    || ty.kind().is_enum()
                    || matches!(ty.kind(), Kind::Typedef | Kind::Func);
                is_declaration && pattern.matches(&String::from_utf8_lossy(ty.name().as_bytes()))
            };
            ids.extend(btf.types().filter(is_match).map(Type::id));
            level = btf.base().map(|base| &**base);
        }
        if ids.len() == count {
            return Err(BadInput::new(name, format_args!("no type `{pattern}`")));
        }
    }
    Ok(ids)
}

/// A writer of formatted text that keeps the error of the stream.
struct Adapter<'o, 'w> {
    out: &'o mut Printer<'w>,
    result: io::Result<()>,
}

impl fmt::Write for Adapter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.out.unescaped(text.as_bytes());
        if self.result.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}
