//! Fixes up the object's BTF for the kernel (libbpf: `bpf_object__collect_externs`, `btf_fixup_datasec`).
//!
//! Sections get the sizes and offsets of the ELF file. Externs become variables of the object. Hidden symbols
//! become static.

use super::words::{SecInfo, param_word, secinfo, set_secinfo};
use crate::{
    elf::text,
    internal::{InternalError, Invariant as _},
    link::{
        LinkError, ProgramLinker,
        externs::{ExternBinding, ExternEntry},
    },
    object::{Linkage, Object, Program, Symbol, SymbolKind},
};
use core_relo::{
    StrOffset, TypeId,
    btf::{Btf, Editor, Kind, Type},
};
use hashbrown::{HashMap, HashSet};

const KSYMS: &[u8] = b".ksyms";
const KCONFIG: &[u8] = b".kconfig";
/// Linkage: `BTF_VAR_STATIC`, `BTF_VAR_GLOBAL_ALLOCATED`, `BTF_VAR_GLOBAL_EXTERN`. The linkage of a FUNC has
/// the same values.
const STATIC: u32 = 0;
const GLOBAL: u32 = 1;
const EXTERN: u32 = 2;
/// The number of a VAR's linkage word.
const VAR_LINKAGE: u32 = 3;

/// Returns a fixed-up copy of the BTF of the linker's object. Returns `None` for an object without BTF.
pub(in crate::load_plan) fn fix_up(linker: &ProgramLinker<'_, '_>) -> Result<Option<Editor>, LinkError> {
    let (object, externs) = (linker.object(), &linker.externs);
    let Some(btf) = object.btf() else { return Ok(None) };
    let mut edit = Editor::new(btf);
    let mut ksyms = KsymsFixer::new(btf, &mut edit);
    let externs_by_id: HashMap<_, _> = externs.iter().map(|e| (e.btf_id, e)).collect();
    let has_ksyms = has_ksyms(&externs_by_id);
    for section in linker.sections.iter().copied() {
        match section.name().as_bytes() {
            KSYMS if has_ksyms => {
                ksyms.fix(btf, &mut edit, section, &externs_by_id)?;
            }
            KCONFIG if !externs_by_id.is_empty() => fix_kconfig(btf, &mut edit, section, &externs_by_id)?,
            _ => {}
        }
    }
    let symbols = variable_symbols(object);
    let sizes = section_sizes(object);
    for section in linker.sections.iter().copied() {
        if !matches!(section.name().as_bytes(), KSYMS | KCONFIG) {
            fix_section(&mut edit, section, plan_section(&sizes, btf, section, &symbols)?)?;
        }
        sort_secinfos(&mut edit, section)?;
    }
    Ok(Some(edit))
}

/// Returns the first symbol of each global variable, by name.
fn variable_symbols<'d>(object: &Object<'d>) -> HashMap<&'d [u8], Symbol<'d>> {
    let mut symbols = HashMap::new();
    for symbol in object.symbols() {
        if symbol.kind == SymbolKind::Object && matches!(symbol.linkage, Linkage::Global | Linkage::Weak) {
            symbols.entry(symbol.name).or_insert(symbol);
        }
    }
    symbols
}

/// The variable `dummy_ksym`, which replaces the functions of `.ksyms`: the kernel accepts only variables
/// there.
#[derive(Clone, Copy)]
struct DummyVariable {
    id: TypeId,
    /// The variable's name, which is also given to unnamed parameters.
    name: StrOffset,
}

impl DummyVariable {
    /// Adds the variable, if the first `.ksyms` has functions.
    ///
    /// Otherwise the variable is `void` without a name. If a later `.ksyms` has functions, the kernel refuses
    /// its entries of type `void`.
    fn add(btf: &Btf<'_>, edit: &mut Editor, int: TypeId) -> Self {
        let is_function =
            |info: core_relo::btf::SecInfo| btf.ty(info.ty).is_some_and(|t| t.kind() == Kind::Func);
        let section = btf.find(KSYMS, Kind::Datasec);
        if !section.is_some_and(|section| section.secinfos().any(is_function)) {
            return Self { id: TypeId::VOID, name: StrOffset(0) };
        }
        let name = edit.string(b"dummy_ksym");
        Self { id: edit.push(name, Kind::Var, 0, &[int.0, GLOBAL]), name }
    }
}

/// Returns the first integer of 32 bits, or `void`.
fn find_int(btf: &Btf<'_>) -> TypeId {
    let is_match = |t: &Type<'_>| t.int().is_some_and(|int| int.bits == 32);
    btf.types().find(is_match).map_or(TypeId::VOID, Type::id)
}

/// The fixup of all DATASECs `.ksyms`.
struct KsymsFixer {
    /// The type that the variables get.
    int: TypeId,
    /// The variable that replaces functions.
    dummy: DummyVariable,
    /// The prototypes whose parameters are already named. Many functions can share a prototype.
    named_protos: HashSet<TypeId>,
}

impl KsymsFixer {
    fn new(btf: &Btf<'_>, edit: &mut Editor) -> Self {
        let int = find_int(btf);
        Self { int, dummy: DummyVariable::add(btf, edit, int), named_protos: HashSet::new() }
    }

    /// Turns the externs of a section into variables of the object.
    fn fix(
        &mut self,
        btf: &Btf<'_>,
        edit: &mut Editor,
        section: Type<'_>,
        externs_by_id: &HashMap<TypeId, &ExternEntry<'_>>,
    ) -> Result<(), LinkError> {
        let mut end = 0u32;
        for (n, info) in (0u32..).zip(section.secinfos()) {
            let ty = find_declaration(btf, section, info.ty, externs_by_id)?;
            let mut words = [info.ty.0, end, 4];
            if ty.kind() == Kind::Func {
                if let Some(proto) = ty.target().and_then(|id| btf.ty(id))
                    && self.named_protos.insert(proto.id())
                {
                    name_parameters(edit, proto, self.dummy.name)?;
                }
                words = [self.dummy.id.0, end, 4];
                edit.set_info(info.ty, Kind::Func, GLOBAL);
            } else {
                edit.set(info.ty, VAR_LINKAGE, GLOBAL);
                edit.set(info.ty, Editor::SIZE_OR_TYPE, self.int.0);
            }
            set_secinfo(edit, section.id(), n, words)?;
            end = end.checked_add(4).invariant("4 bytes for each entry of a DATASEC fit 32 bits")?;
        }
        edit.set(section.id(), Editor::SIZE_OR_TYPE, end);
        Ok(())
    }
}

/// Names the unnamed parameters of a prototype.
fn name_parameters(edit: &mut Editor, proto: Type<'_>, name: StrOffset) -> Result<(), InternalError> {
    for (n, param) in (0u32..).zip(proto.params()) {
        if param.ty != TypeId::VOID && param.name.is_empty() {
            edit.set(proto.id(), param_word(n)?, name.0);
        }
    }
    Ok(())
}

/// Fixes a DATASEC `.kconfig`: its variables get the offsets of the plan.
fn fix_kconfig(
    btf: &Btf<'_>,
    edit: &mut Editor,
    section: Type<'_>,
    externs_by_id: &HashMap<TypeId, &ExternEntry<'_>>,
) -> Result<(), LinkError> {
    let mut end = 0;
    for (n, info) in (0u32..).zip(section.secinfos()) {
        find_declaration(btf, section, info.ty, externs_by_id)?;
        let Some(ExternBinding::Config(slot)) = externs_by_id.get(&info.ty).map(|e| e.binding) else {
            continue;
        };
        edit.set(info.ty, VAR_LINKAGE, GLOBAL);
        set_secinfo(edit, section.id(), n, [info.ty.0, slot.offset, info.size])?;
        let slot_end = slot.offset.checked_add(slot.size);
        end = end.max(slot_end.invariant("a configuration value ends below the limit of .kconfig")?);
    }
    edit.set(section.id(), Editor::SIZE_OR_TYPE, end);
    Ok(())
}

/// Returns a variable or function of a section of externs. Refuses a variable or function without a symbol.
fn find_declaration<'b>(
    btf: &'b Btf<'_>,
    section: Type<'_>,
    id: TypeId,
    externs_by_id: &HashMap<TypeId, &ExternEntry<'_>>,
) -> Result<Type<'b>, LinkError> {
    let ty = btf.ty(id).invariant("the BTF's parser refuses entries whose type does not exist")?;
    if externs_by_id.contains_key(&id) {
        return Ok(ty);
    }
    let what = format!("`{}` has no symbol", ty.name()).into();
    Err(LinkError::Datasec { section: text(section.name().as_bytes()), what })
}

/// A change of a DATASEC of variables.
enum SectionChange {
    Size(u32),
    Entry {
        index: u32,
        words: SecInfo,
    },
    /// The variable of a hidden symbol becomes static.
    Static(TypeId),
}

/// Finds the changes of a DATASEC of variables. Its size and offsets are those of the ELF file, unless a
/// linker has set them: clang leaves 0.
fn plan_section(
    sizes: &HashMap<&[u8], u64>,
    btf: &Btf<'_>,
    section: Type<'_>,
    symbols: &HashMap<&[u8], Symbol<'_>>,
) -> Result<Vec<SectionChange>, LinkError> {
    let name = section.name();
    let fail = |what: String| LinkError::Datasec { section: text(name.as_bytes()), what: what.into() };
    let is_unset = section.size_or_type() == 0;
    let mut changes = Vec::new();
    if is_unset {
        let size = sizes.get(name.as_bytes()).and_then(|s| u32::try_from(*s).ok()).filter(|s| *s > 0);
        let size = size.ok_or_else(|| fail("the object has no such section".into()))?;
        changes.push(SectionChange::Size(size));
    }
    for (index, info) in (0u32..).zip(section.secinfos()) {
        let var = btf.ty(info.ty).filter(|t| t.kind() == Kind::Var);
        let var = var.ok_or_else(|| fail(format!("its entry {index} is not a VAR")))?;
        if matches!(var.linkage(), Some(STATIC | EXTERN)) {
            continue;
        }
        let symbol = symbols.get(var.name().as_bytes());
        let symbol = symbol.ok_or_else(|| fail(format!("variable `{}` has no symbol", var.name())))?;
        if is_unset {
            let offset = u32::try_from(symbol.value)
                .map_err(|_large| fail(format!("the offset of variable `{}` exceeds 32 bits", var.name())))?;
            changes.push(SectionChange::Entry { index, words: [info.ty.0, offset, info.size] });
        }
        if symbol.is_hidden {
            changes.push(SectionChange::Static(info.ty));
        }
    }
    Ok(changes)
}

/// Fixes a DATASEC of variables.
fn fix_section(
    edit: &mut Editor,
    section: Type<'_>,
    changes: Vec<SectionChange>,
) -> Result<(), InternalError> {
    for change in changes {
        match change {
            SectionChange::Size(size) => edit.set(section.id(), Editor::SIZE_OR_TYPE, size),
            SectionChange::Entry { index, words } => set_secinfo(edit, section.id(), index, words)?,
            SectionChange::Static(var) => edit.set(var, VAR_LINKAGE, STATIC),
        }
    }
    Ok(())
}

/// Returns the size of the first section of each name.
fn section_sizes<'o>(object: &'o Object<'_>) -> HashMap<&'o [u8], u64> {
    let mut sizes = HashMap::with_capacity(object.sections().len());
    for s in object.sections().iter().filter(|s| !s.is_null()) {
        sizes.entry(s.name).or_insert(s.size);
    }
    sizes
}

fn has_ksyms(externs_by_id: &HashMap<TypeId, &ExternEntry<'_>>) -> bool {
    externs_by_id.values().any(|e| !matches!(e.binding, ExternBinding::Config(_)))
}

/// Sorts the entries of a DATASEC by offset, as the kernel requires.
fn sort_secinfos(edit: &mut Editor, section: Type<'_>) -> Result<(), InternalError> {
    let infos = (0..section.vlen()).map(|n| secinfo(edit, section.id(), n));
    let mut infos: Vec<SecInfo> = infos.collect::<Result<_, _>>()?;
    infos.sort_by_key(|[_, offset, _]| *offset);
    for (n, words) in (0u32..).zip(infos) {
        set_secinfo(edit, section.id(), n, words)?;
    }
    Ok(())
}

/// Marks functions of hidden symbols as static, so that the verifier checks them together with their callers
/// (libbpf: `bpf_object__sanitize_and_load_btf`).
pub(in crate::load_plan) fn hide_functions(object: &Object<'_>, edit: &mut Editor) {
    let is_hidden = |p: &&Program<'_>| p.is_subprogram && p.is_hidden && p.linkage != Linkage::Static;
    let hidden: Vec<_> = object.programs().iter().filter(is_hidden).map(Program::name).collect();
    let (Some(btf), false) = (object.btf(), hidden.is_empty()) else { return };
    let mut functions = HashMap::new();
    for ty in btf.types().filter(|t| t.kind() == Kind::Func && t.linkage() == Some(GLOBAL)) {
        functions.entry(ty.name().as_bytes()).or_insert(ty.id());
    }
    for name in hidden {
        if let Some(id) = functions.get(name) {
            edit.set_info(*id, Kind::Func, STATIC);
        }
    }
}
