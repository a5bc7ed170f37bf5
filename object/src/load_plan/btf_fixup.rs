//! The object's BTF with what only the linker knows: sizes and offsets of sections, externs made variables, hidden symbols
//! made static (libbpf: `bpf_object__collect_externs`, `btf_fixup_datasec`).

use crate::{
    elf::text,
    link::{
        LinkError,
        externs::{ExternBinding, ExternEntry},
    },
    object::{Linkage, Object, SymbolKind},
};
use core_relo::{
    StrOffset, TypeId,
    btf::{Btf, Editor, Kind, Type},
};
use std::collections::{HashMap, HashSet};

const KSYMS: &[u8] = b".ksyms";
const KCONFIG: &[u8] = b".kconfig";
/// `BTF_VAR_STATIC`, `BTF_VAR_GLOBAL_ALLOCATED`, `BTF_VAR_GLOBAL_EXTERN`; a FUNC's alike.
const STATIC: u32 = 0;
const GLOBAL: u32 = 1;
const EXTERN: u32 = 2;
/// A VAR's word of linkage.
const VAR_LINKAGE: u32 = 3;

/// The words of a DATASEC's variable: type, offset, size.
type SecInfo = [u32; 3];

/// A copy of the object's BTF, mended.
pub(super) fn mended(object: &Object<'_>, externs: &[ExternEntry<'_>]) -> Result<Option<Editor>, LinkError> {
    let Some(btf) = object.btf() else { return Ok(None) };
    let mut edit = Editor::new(btf);
    let mut symbols = KernelSymbols::new(btf, &mut edit);
    let known: HashMap<_, _> = externs.iter().map(|e| (e.btf_id, e)).collect();
    let has_ksyms = known.values().any(|e| !matches!(e.binding, ExternBinding::Config(_)));
    for section in btf.types().filter(|t| t.kind() == Kind::Datasec) {
        match section.name().as_bytes() {
            KSYMS if has_ksyms => {
                symbols.fix(btf, &mut edit, section, &known)?;
            }
            KCONFIG if !known.is_empty() => kconfig(btf, &mut edit, section, &known)?,
            _ => {}
        }
    }
    let symbols = variables(object);
    let mut sizes = HashMap::new();
    for s in object.sections().iter().filter(|s| !s.is_null()) {
        sizes.entry(s.name).or_insert(s.size);
    }
    for section in btf.types().filter(|t| t.kind() == Kind::Datasec) {
        if !matches!(section.name().as_bytes(), KSYMS | KCONFIG) {
            fix_section(&sizes, btf, &mut edit, section, &symbols)?;
        }
        sort(&mut edit, section);
    }
    Ok(Some(edit))
}

/// Global variables' symbols by name: offset, and whether it is hidden. The first of a name counts.
fn variables<'d>(object: &Object<'d>) -> HashMap<&'d [u8], (u64, bool)> {
    let mut found = HashMap::new();
    for s in object.symbols() {
        if s.kind == SymbolKind::Object && matches!(s.linkage, Linkage::Global | Linkage::Weak) {
            found.entry(s.name).or_insert((s.value, s.is_hidden));
        }
    }
    found
}

/// Adds the variable that stands for functions in `.ksyms`, which may hold variables only. Its name also names nameless parameters.
fn dummy_variable(btf: &Btf<'_>, edit: &mut Editor, int: TypeId) -> Option<(TypeId, StrOffset)> {
    let section = btf.find(KSYMS, Kind::Datasec)?;
    let is_function = |info: core_relo::btf::SecInfo| btf.ty(info.ty).is_some_and(|t| t.kind() == Kind::Func);
    if !section.secinfos().any(is_function) {
        return None;
    }
    let name = edit.string(b"dummy_ksym");
    Some((edit.push(name, (Kind::Var, 0, false), &[int.0, GLOBAL]), name))
}

/// The first integer of 32 bits, or `void`.
fn int_of(btf: &Btf<'_>) -> TypeId {
    let is_it = |t: &Type<'_>| t.int().is_some_and(|int| int.bits == 32);
    btf.types().find(is_it).map_or(TypeId::VOID, Type::id)
}

/// State that the sections `.ksyms` share.
struct KernelSymbols {
    /// The type that variables without a type of their own get.
    int: TypeId,
    /// The variable that stands for functions.
    dummy: Option<(TypeId, StrOffset)>,
    /// Prototypes whose parameters have names: many functions may share one.
    named: HashSet<TypeId>,
}

impl KernelSymbols {
    fn new(btf: &Btf<'_>, edit: &mut Editor) -> Self {
        let int = int_of(btf);
        Self { int, dummy: dummy_variable(btf, edit, int), named: HashSet::new() }
    }

    /// Makes a section's externs variables of this object.
    fn fix(
        &mut self,
        btf: &Btf<'_>,
        edit: &mut Editor,
        section: Type<'_>,
        known: &HashMap<TypeId, &ExternEntry<'_>>,
    ) -> Result<(), LinkError> {
        let mut end = 0u32;
        for (n, info) in (0u32..).zip(section.secinfos()) {
            let ty = declared(btf, section, info.ty, known)?;
            let mut words = [info.ty.0, end, 4];
            if ty.kind() == Kind::Func {
                let (variable, name) = self.dummy.unwrap_or_default();
                if let Some(proto) = ty.target().and_then(|id| btf.ty(id))
                    && self.named.insert(proto.id())
                {
                    name_parameters(edit, proto, name);
                }
                words = [variable.0, end, 4];
                edit.set_info(info.ty, Kind::Func, GLOBAL, false);
            } else {
                edit.set(info.ty, VAR_LINKAGE, GLOBAL);
                edit.set(info.ty, Editor::SIZE_OR_TYPE, self.int.0);
            }
            put_secinfo(edit, section.id(), n, words);
            end = end.saturating_add(4);
        }
        edit.set(section.id(), Editor::SIZE_OR_TYPE, end);
        Ok(())
    }
}

/// Gives a name to parameters that have none.
fn name_parameters(edit: &mut Editor, proto: Type<'_>, name: StrOffset) {
    for (n, param) in (0u32..).zip(proto.params()) {
        if param.ty != TypeId::VOID && param.name.is_empty() {
            edit.set(proto.id(), n.saturating_mul(2).saturating_add(3), name.0);
        }
    }
}

fn kconfig(
    btf: &Btf<'_>,
    edit: &mut Editor,
    section: Type<'_>,
    known: &HashMap<TypeId, &ExternEntry<'_>>,
) -> Result<(), LinkError> {
    let mut end = 0;
    for (n, info) in (0u32..).zip(section.secinfos()) {
        declared(btf, section, info.ty, known)?;
        let Some(ExternBinding::Config(slot)) = known.get(&info.ty).map(|e| e.binding) else { continue };
        edit.set(info.ty, VAR_LINKAGE, GLOBAL);
        put_secinfo(edit, section.id(), n, [info.ty.0, slot.offset, info.size]);
        end = end.max(slot.offset.saturating_add(slot.size));
    }
    edit.set(section.id(), Editor::SIZE_OR_TYPE, end);
    Ok(())
}

/// A variable or function of an extern section, which has to have its symbol.
fn declared<'b>(
    btf: &'b Btf<'_>,
    section: Type<'_>,
    id: TypeId,
    known: &HashMap<TypeId, &ExternEntry<'_>>,
) -> Result<Type<'b>, LinkError> {
    let ty = btf.ty(id);
    ty.filter(|_| known.contains_key(&id)).ok_or_else(|| LinkError::Datasec {
        section: text(section.name().as_bytes()),
        what: format!("`{}` has no symbol", ty.map(|t| t.name().to_string()).unwrap_or_default()).into(),
    })
}

/// Clang leaves sizes and offsets 0; a linker may have filled them in.
fn fix_section(
    sizes: &HashMap<&[u8], u64>,
    btf: &Btf<'_>,
    edit: &mut Editor,
    section: Type<'_>,
    symbols: &HashMap<&[u8], (u64, bool)>,
) -> Result<(), LinkError> {
    let name = section.name();
    let fail = |what: String| LinkError::Datasec { section: text(name.as_bytes()), what: what.into() };
    let is_unset = section.size_or_type() == 0;
    if is_unset {
        let size = sizes.get(name.as_bytes()).and_then(|s| u32::try_from(*s).ok()).filter(|s| *s > 0);
        edit.set(
            section.id(),
            Editor::SIZE_OR_TYPE,
            size.ok_or_else(|| fail("the object has no such section".into()))?,
        );
    }
    for (n, info) in (0u32..).zip(section.secinfos()) {
        let var = btf.ty(info.ty).filter(|t| t.kind() == Kind::Var);
        let var = var.ok_or_else(|| fail(format!("its element {n} is no VAR")))?;
        if matches!(var.linkage(), Some(STATIC | EXTERN)) {
            continue;
        }
        let symbol = symbols.get(var.name().as_bytes());
        let (value, hidden) =
            symbol.ok_or_else(|| fail(format!("variable `{}` has no symbol", var.name())))?;
        if is_unset {
            let offset = u32::try_from(*value)
                .map_err(|_large| fail(format!("variable `{}` lies too far", var.name())))?;
            put_secinfo(edit, section.id(), n, [info.ty.0, offset, info.size]);
        }
        if *hidden {
            edit.set(info.ty, VAR_LINKAGE, STATIC);
        }
    }
    Ok(())
}

/// The kernel wants the variables in order of their offset.
fn sort(edit: &mut Editor, section: Type<'_>) {
    let all = 0..section.vlen();
    let mut infos: Vec<SecInfo> = all.map(|n| secinfo(edit, section.id(), n)).collect();
    infos.sort_by_key(|[_, offset, _]| *offset);
    for (n, words) in (0u32..).zip(infos) {
        put_secinfo(edit, section.id(), n, words);
    }
}

pub(super) fn secinfo(edit: &Editor, section: TypeId, n: u32) -> SecInfo {
    let first = n.saturating_mul(3).saturating_add(3);
    [0, 1, 2].map(|word| edit.word(section, first.saturating_add(word)).unwrap_or_default())
}

pub(super) fn put_secinfo(edit: &mut Editor, section: TypeId, n: u32, words: SecInfo) {
    let first = n.saturating_mul(3).saturating_add(3);
    for (word, value) in (first..).zip(words) {
        edit.set(section, word, value);
    }
}

/// Marks functions of hidden symbols static, so that the verifier looks at them together with their callers (libbpf:
/// `bpf_object__sanitize_and_load_btf`).
pub(super) fn hide_functions(object: &Object<'_>, edit: &mut Editor) {
    let is_hidden =
        |p: &&crate::object::Program<'_>| p.is_subprogram && p.is_hidden && p.linkage != Linkage::Static;
    let hidden: Vec<_> = object.programs().iter().filter(is_hidden).map(|p| p.name).collect();
    let (Some(btf), false) = (object.btf(), hidden.is_empty()) else { return };
    let mut first = HashMap::new();
    for ty in btf.types().filter(|t| t.kind() == Kind::Func && t.linkage() == Some(GLOBAL)) {
        first.entry(ty.name().as_bytes()).or_insert(ty.id());
    }
    for name in hidden {
        if let Some(id) = first.get(name) {
            edit.set_info(*id, Kind::Func, STATIC, false);
        }
    }
}
