//! `btf find`: types by name, kind, member, size, or by the type that they use.

use super::{
    read::{RUNNING_KERNEL, read_file},
    users::find_users,
};
use crate::{
    args::btf_query::BtfFindArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    text::{line::Line, style::DIM},
};
use core_relo::{
    Escaped, TypeId,
    btf::{Btf, Kind, Type},
    explain::nearest_names,
};
use serde::Serialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A type that was found, and its JSON line.
#[derive(Debug, Serialize)]
struct FoundJson {
    file: String,
    id: u32,
    kind: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

/// The number of files in which a name that is similar to an unknown one is searched.
const COMPARED_FILES: usize = 8;

pub(super) fn run(console: &mut Console<'_>, args: &BtfFindArgs) -> CommandResult {
    let mut is_found = false;
    // Whether a file has the type of `--users`, and the similar names in the files that do not.
    let (mut knows_type, mut near) = (args.users.is_none(), Vec::new());
    let files = files(&args.paths)?;
    for (index, path) in files.into_iter().enumerate() {
        let btf = match read_file(&path, None) {
            Ok(btf) => btf,
            Err(bad) => {
                // A name of a type, which looks like a file in the current directory.
                let is_bare_name = path.file_name() == Some(path.as_os_str());
                let bad = match is_bare_name && !path.exists() {
                    true => bad.help("`btf find --name PATTERN` finds types by their names"),
                    false => bad,
                };
                console.report_error(&bad)?;
                continue;
            }
        };
        let name = escape_path(&path);
        if let Some(ty) = args.users.as_deref().filter(|_| !knows_type) {
            knows_type = !named(&btf, ty).is_empty();
            let is_compared = !knows_type && index < COMPARED_FILES;
            if is_compared {
                near.extend(similar_types(&btf, ty));
            }
        }
        for ty in matches(&btf, args) {
            is_found = true;
            write(console, &name, ty, args.format)?;
        }
    }
    if !is_found {
        console.raise_exit(ExitStatus::Incompatible);
    }
    if let Some(ty) = args.users.as_deref().filter(|_| !knows_type) {
        let (_, bare) = split_keyword(ty);
        let nearest = nearest_names(bare.as_bytes(), near.iter().map(String::as_bytes));
        let nearest =
            nearest.first().map_or_else(String::new, |name| format!("; there is `{}`", Escaped(name)));
        console.note(&format!("--users: no file has a type `{ty}`{nearest}"))?;
    }
    Ok(())
}

/// Returns the files to search: those in directories, with `vmlinux` first.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, BadInput> {
    let running = Path::new(RUNNING_KERNEL).parent().map(Path::to_path_buf);
    let paths = if paths.is_empty() { running.as_slice() } else { paths };
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries =
            fs::read_dir(path).map_err(|e| BadInput::for_path(path, format_args!("cannot be read: {e}")))?;
        let mut found: Vec<_> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| p.is_file()).collect();
        found.sort_by_key(|path| (!path.ends_with("vmlinux"), path.clone()));
        files.append(&mut found);
    }
    Ok(files)
}

/// Returns the types that fit every option.
fn matches<'b>(btf: &'b Btf<'_>, args: &BtfFindArgs) -> Vec<Type<'b>> {
    let candidates: Vec<Type<'b>> = match &args.users {
        Some(name) => find_users(btf, &named(btf, name)),
        None => btf.types().collect(),
    };
    let fits = |ty: &Type<'_>| {
        let name = ty.name().to_string();
        let has_name = if args.name.is_empty() {
            // Types without names are parts of others.
            !ty.name().is_empty()
        } else {
            args.name.iter().any(|glob| glob.matches(&name))
        };
        has_name
            && (args.kind.is_empty() || args.kind.iter().any(|kind| kind.matches(ty.kind())))
            && args.size.is_none_or(|size| ty.size().is_some_and(|found| found.0 == size))
            && args.member.as_ref().is_none_or(|member| has_member(btf, *ty, member.as_bytes()))
    };
    candidates.into_iter().filter(fits).collect()
}

/// Returns the names of a file's types that are similar, of the same kind if the name has a keyword.
fn similar_types(btf: &Btf<'_>, name: &str) -> Vec<String> {
    let (keyword, name) = split_keyword(name);
    let is_wanted = |ty: &Type<'_>| keyword.is_none_or(|keyword| ty.kind().keyword() == keyword);
    let named = btf.types().filter(|ty| is_wanted(ty) && !ty.name().is_empty());
    nearest_names(name.as_bytes(), named.map(|ty| ty.name().as_bytes()))
}

/// Splits the name of a type into the keyword, if it begins with one, and the rest.
fn split_keyword(name: &str) -> (Option<&str>, &str) {
    name.split_once(' ').map_or((None, name), |(keyword, name)| (Some(keyword), name.trim()))
}

/// Returns the ids of the types of a name, the base's included.
fn named(btf: &Btf<'_>, name: &str) -> Vec<TypeId> {
    let (keyword, name) = split_keyword(name);
    let is_wanted = |ty: &Type<'_>| {
        let has_keyword =
            keyword.is_none_or(|keyword| ty.kind().keyword() == keyword && ty.kind() != Kind::Fwd);
        ty.name().as_bytes() == name.as_bytes()
            && has_keyword
            && ty.kind() != Kind::Func
            && ty.kind() != Kind::Var
    };
    let in_base = btf
        .base()
        .into_iter()
        .flat_map(|base| base.types().filter(is_wanted).map(Type::id).collect::<Vec<_>>());
    in_base.chain(btf.types().filter(is_wanted).map(Type::id)).collect()
}

/// Returns whether a struct or union has a member, also in anonymous members.
fn has_member(btf: &Btf<'_>, ty: Type<'_>, name: &[u8]) -> bool {
    let mut pending = vec![ty.id()];
    let mut seen = std::collections::HashSet::from([ty.id()]);
    while let Some(id) = pending.pop() {
        let Ok(composite) = btf.strip(id) else { continue };
        for member in composite.members() {
            if member.name.as_bytes() == name {
                return true;
            }
            if member.name.is_empty()
                && let Ok(inner) = btf.strip(member.ty)
                && inner.kind().is_composite()
                && seen.insert(inner.id())
            {
                pending.push(inner.id());
            }
        }
    }
    false
}

fn write(console: &mut Console<'_>, file: &str, ty: Type<'_>, format: Format) -> io::Result<()> {
    let size = ty.size().map(|size| size.0);
    let kind = ty.kind().to_string();
    let name = ty.name().to_string();
    match format {
        Format::Json => {
            console.out.json(&FoundJson { file: file.to_owned(), id: ty.id().0, kind, name, size })
        }
        Format::Text => {
            let line = Line::new().styled(DIM, file).text(format_args!(" [{}] {kind} {name}", ty.id()));
            console.out.line(match size {
                Some(size) => line.text(format_args!(", {size} bytes")),
                None => line,
            })
        }
    }
}
