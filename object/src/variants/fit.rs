//! A variant table that fits an object.

use super::{
    error::{KernelValueError, VariantError},
    initial_program::{InitialProgram, collect_initial_programs},
    kernel_value::KernelValue,
    place::EntryName,
    table::{Indicator, KernelConstant, Part, PartKind, VariantGroup, VariantTable},
};
use crate::{
    elf::{key, text},
    globals::{Global, GlobalError, GlobalKind},
    index::ProgramIndex,
    internal::{InternalError, Invariant as _},
    link::{MapSource, ProgramLinker, RefTarget},
    load_plan::{InitialValues, LoadPlanError, Settings, SlotPlan},
    object::Object,
    target::KernelBtf,
};
use alloc::collections::{BTreeMap, BTreeSet};
use core_relo::{
    Endian,
    btf::{IntInfo, Kind, Type},
    explain::nearest_names,
    sort::collect_ordered,
};
use hashbrown::{HashMap, HashSet};

/// The kinds of parts that can be loaded.
const LOADED_KINDS: [PartKind; 3] = [PartKind::Group, PartKind::Program, PartKind::Map];

/// The kinds of parts that can be optional.
const OPTIONAL_KINDS: [PartKind; 4] = [PartKind::Group, PartKind::Program, PartKind::Map, PartKind::Constant];

/// A variant table whose names are those of an object.
#[derive(Clone, Debug)]
pub struct ObjectVariants {
    table: VariantTable,
    /// The group and the alternative of each program, by their indices.
    positions: HashMap<String, (usize, usize)>,
    group_indices: HashMap<String, usize>,
    /// For each group, whether a load may go on without any of its alternatives.
    pub(super) optional_groups: Vec<bool>,
    pub(super) optional_programs: BTreeSet<String>,
    pub(super) optional_maps: BTreeSet<String>,
    pub(super) indicators: Vec<(VariantGlobal, Part)>,
    constants: Vec<(VariantGlobal, KernelValue, bool)>,
    /// The maps that each program uses.
    pub(super) maps_of: BTreeMap<String, BTreeSet<String>>,
    /// The data maps that each program uses, by section.
    data_maps_of: BTreeMap<String, BTreeSet<String>>,
    /// The maps that other maps hold initially.
    pub(super) held_maps: BTreeSet<String>,
    /// The programs that maps contain initially and that some selection does not load.
    pub(super) initial_programs: Vec<InitialProgram>,
    /// The programs, with whether the object loads them by default.
    pub(super) programs: BTreeMap<String, bool>,
}

/// A constant of the object that a load sets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariantGlobal {
    /// The variable.
    pub global: Global,
    encoding: Encoding,
}

/// The numbers that a constant can take, within its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Unsigned,
    Signed,
    /// 0 and 1. The compiler may take any other byte for either.
    Bool,
}

impl VariantTable {
    /// Checks the table against an object: every name is one of the object's, and each constant can take its value.
    pub fn fit(&self, object: &Object<'_>) -> Result<ObjectVariants, VariantError> {
        let linker = ProgramLinker::collect(object)?;
        let names = ObjectNames::collect(object, &linker, self);
        let values = InitialValues::new(object);
        for group in self.groups() {
            let entry = || format!("group `{}`", group.name);
            for program in group.alternatives.iter().flat_map(|alternative| &alternative.0) {
                let checked = names.check(&entry, PartKind::Program, program);
                checked.map_err(|e| self.places.locate(&EntryName::Group(group.name.clone()), e))?;
            }
        }
        let (maps_of, data_maps_of) = collect_maps(object, &linker);
        let mut fit = ObjectVariants {
            optional_groups: vec![false; self.groups().len()],
            optional_programs: BTreeSet::new(),
            optional_maps: BTreeSet::new(),
            indicators: Vec::new(),
            constants: Vec::new(),
            maps_of,
            data_maps_of,
            held_maps: collect_held_maps(&linker),
            initial_programs: Vec::new(),
            programs: names.programs.clone(),
            table: self.clone(),
            positions: positions(self),
            group_indices: self.groups().iter().map(|group| group.name.clone()).zip(0..).collect(),
        };
        let mut optional_constants = HashSet::new();
        for part in self.optional_parts() {
            let resolved = names.resolve(&|| "optional".to_owned(), part, &OPTIONAL_KINDS);
            match resolved.map_err(|e| self.places.locate(&EntryName::Optional(part.clone()), e))? {
                (PartKind::Map, name) => drop(fit.optional_maps.insert(name)),
                (PartKind::Group, name) => fit.make_group_optional(fit.group_index(&name)),
                // An optional alternative makes its group optional.
                (PartKind::Program, name) => match fit.position(&name) {
                    Some((group, _)) => fit.make_group_optional(Some(group)),
                    None => drop(fit.optional_programs.insert(name)),
                },
                (PartKind::Constant, name) => drop(optional_constants.insert(name)),
            }
        }
        let locate = |global: &str, e| self.places.locate(&EntryName::Global(global.to_owned()), e);
        for Indicator { global: name, part } in self.indicators() {
            let global = VariantGlobal::find(object, &values, name).map_err(|e| locate(name, e))?;
            let entry = || format!("global `{name}`");
            let resolved = names.resolve(&entry, part, &LOADED_KINDS);
            let (kind, part_name) = resolved.map_err(|e| locate(name, e))?;
            fit.indicators.push((global, Part { kind: Some(kind), name: part_name }));
        }
        for KernelConstant { global: name, value } in self.constants() {
            let global = VariantGlobal::find(object, &values, name).map_err(|e| locate(name, e))?;
            fit.constants.push((global, value.clone(), optional_constants.contains(name)));
        }
        fit.initial_programs = collect_initial_programs(object, &linker, &fit)?;
        Ok(fit)
    }
}

impl ObjectVariants {
    /// Returns the table.
    pub const fn table(&self) -> &VariantTable {
        &self.table
    }

    /// Returns whether a load may go on without any alternative of a group, by the group's index in the table.
    pub fn is_group_optional(&self, group: usize) -> bool {
        self.optional_groups.get(group).copied().unwrap_or(false)
    }

    /// Returns the index of a group by name.
    pub fn group_index(&self, name: &str) -> Option<usize> {
        self.group_indices.get(name).copied()
    }

    /// Returns whether the load may go on without a program that belongs to no group.
    pub fn is_program_optional(&self, program: &str) -> bool {
        self.optional_programs.contains(program)
    }

    /// Returns whether some selection does not load a program: an alternative of several, or an optional program.
    pub fn may_leave_out(&self, program: &str) -> bool {
        self.position(program).is_some() || self.is_program_optional(program)
    }

    /// Returns the names of the object's programs, sorted.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// Returns the optional programs that belong to no group.
    pub fn optional_programs(&self) -> impl Iterator<Item = &str> {
        self.optional_programs.iter().map(String::as_str)
    }

    /// Returns whether the load may go on without a map.
    pub fn is_map_optional(&self, map: &str) -> bool {
        self.optional_maps.contains(map)
    }

    /// Returns whether a program uses a map, itself or through its subprograms.
    pub fn uses_map(&self, program: &str, map: &str) -> bool {
        self.maps_of.get(program).is_some_and(|maps| maps.contains(map))
    }

    /// Returns whether a program uses the variables of a data section, itself or through its subprograms.
    pub fn uses_section(&self, program: &str, section: &str) -> bool {
        self.data_maps_of.get(program).is_some_and(|sections| sections.contains(section))
    }

    /// Returns the group and the alternative of a program, by their indices.
    pub fn position(&self, program: &str) -> Option<(usize, usize)> {
        self.positions.get(program).copied()
    }

    /// Returns the constants that tell whether a part is loaded, with the kind and name of the part.
    pub fn indicators(&self) -> impl Iterator<Item = (&VariantGlobal, &Part)> {
        self.indicators.iter().map(|(global, part)| (global, part))
    }

    /// Returns the constants with values from the kernel's types, each with whether the constant is optional.
    pub fn constants(&self) -> impl Iterator<Item = (&VariantGlobal, &KernelValue, bool)> {
        self.constants.iter().map(|(global, value, is_optional)| (global, value, *is_optional))
    }

    /// Finds the values of the constants in the types of a kernel. The inner error is that of an optional constant, which keeps its
    /// initial value.
    pub fn find_constants(
        &self,
        kernel: &KernelBtf,
    ) -> Result<Vec<Result<i128, KernelValueError>>, VariantError> {
        let numbers = KernelValue::find_all(kernel, self.constants().map(|(_, value, _)| value));
        let check = |((global, value, is_optional), number): ((&VariantGlobal, &KernelValue, bool), _)| {
            let number: Result<i128, _> = number;
            match number.and_then(|number| global.check(number).map(|()| number)) {
                Err(cause) if !(is_optional && cause.is_absence()) => {
                    let name = &global.global.name;
                    let cause = value.add_similar_names(kernel, cause);
                    let error = VariantError::Value { global: text(name.as_bytes()), cause };
                    Err(self.table.places.locate(&EntryName::Global(name.clone()), error))
                }
                found => Ok(found),
            }
        };
        self.constants().zip(numbers).map(check).collect()
    }

    fn make_group_optional(&mut self, group: Option<usize>) {
        if let Some(is_optional) = group.and_then(|group| self.optional_groups.get_mut(group)) {
            *is_optional = true;
        }
    }
}

impl VariantGlobal {
    /// Finds a constant, and checks that it is an integer in `.rodata`.
    fn find(object: &Object<'_>, values: &InitialValues<'_, '_>, name: &str) -> Result<Self, VariantError> {
        let unfit = |found: &str| VariantError::Global {
            global: text(name.as_bytes()),
            found: text(found.as_bytes()),
        };
        let global = match values.find(&Settings::default(), name) {
            Err(LoadPlanError::Global(GlobalError::NotFound { .. })) => {
                let known = values.globals().iter().map(|global| global.name.as_bytes());
                let near = nearest_names(name.as_bytes(), known);
                return Err(VariantError::Unknown {
                    entry: "constant".into(),
                    kind: "global",
                    name: text(name.as_bytes()),
                    near: near.into_iter().map(|near| text(near.as_bytes())).collect(),
                });
            }
            found => found?,
        };
        if global.kind != GlobalKind::Constant {
            return Err(unfit(&format!("it is in {}", global.section)));
        }
        let ty = global.ty.zip(object.btf()).and_then(|(ty, btf)| btf.strip(ty).ok());
        let kind = ty.map_or(Kind::Int, Type::kind);
        if !matches!(kind, Kind::Int | Kind::Enum | Kind::Enum64) || !matches!(global.size, 1 | 2 | 4 | 8) {
            return Err(unfit(&format!("it is a {kind:?} of {} bytes", global.size)));
        }
        let int_encoding = ty.and_then(Type::int).map_or(0, |int| int.encoding);
        let is_signed = int_encoding & IntInfo::SIGNED != 0 || ty.is_some_and(Type::kflag);
        let encoding = match (int_encoding & IntInfo::BOOL != 0, is_signed) {
            (true, _) => Encoding::Bool,
            (false, true) => Encoding::Signed,
            (false, false) => Encoding::Unsigned,
        };
        Ok(Self { global, encoding })
    }

    /// Checks that a number fits the variable.
    fn check(&self, number: i128) -> Result<(), KernelValueError> {
        let fits = match (self.encoding, self.global.size) {
            (Encoding::Bool, _) if matches!(number, 0 | 1) => true,
            (Encoding::Bool, _) => return Err(KernelValueError::NotBool { value: number }),
            (Encoding::Unsigned, 1) => u8::try_from(number).is_ok(),
            (Encoding::Unsigned, 2) => u16::try_from(number).is_ok(),
            (Encoding::Unsigned, 4) => u32::try_from(number).is_ok(),
            (Encoding::Unsigned, _) => u64::try_from(number).is_ok(),
            (Encoding::Signed, 1) => i8::try_from(number).is_ok(),
            (Encoding::Signed, 2) => i16::try_from(number).is_ok(),
            (Encoding::Signed, 4) => i32::try_from(number).is_ok(),
            (Encoding::Signed, _) => i64::try_from(number).is_ok(),
        };
        if fits { Ok(()) } else { Err(KernelValueError::TooLarge { value: number, bytes: self.global.size }) }
    }

    /// Returns the bytes of a number in the variable. The number fits, see [`ObjectVariants::find_constants`].
    pub(super) fn encode(&self, number: i128, endian: Endian) -> Result<Vec<u8>, InternalError> {
        // The low 64 bits, of negative numbers in two's complement.
        let word = u64::try_from(number & i128::from(u64::MAX));
        let mut bytes = Vec::new();
        endian.put_u64(&mut bytes, word.invariant("a masked number has 64 bits")?);
        match endian {
            Endian::Little => bytes.truncate(self.global.size),
            Endian::Big => bytes = bytes.split_off(bytes.len().abs_diff(self.global.size)),
        }
        Ok(bytes)
    }
}

/// The names of an object that tables refer to.
struct ObjectNames {
    groups: BTreeSet<String>,
    programs: BTreeMap<String, bool>,
    maps: BTreeSet<String>,
    constants: BTreeSet<String>,
}

impl ObjectNames {
    fn collect(object: &Object<'_>, linker: &ProgramLinker<'_, '_>, table: &VariantTable) -> Self {
        let programs = object.programs().iter().filter(|program| !program.is_subprogram);
        let maps = linker.maps().iter().filter(|map| matches!(map.source, MapSource::Defined(_)));
        Self {
            groups: collect_ordered(table.groups().iter().map(|group| group.name.clone())),
            programs: collect_ordered(programs.map(|program| (key(program.name()), program.autoload()))),
            maps: collect_ordered(maps.map(|map| key(map.name))),
            constants: collect_ordered(table.constants().iter().map(|constant| constant.global.clone())),
        }
    }

    fn contains(&self, kind: PartKind, name: &str) -> bool {
        match kind {
            PartKind::Group => self.groups.contains(name),
            PartKind::Program => self.programs.contains_key(name),
            PartKind::Map => self.maps.contains(name),
            PartKind::Constant => self.constants.contains(name),
        }
    }

    fn check(&self, entry: &dyn Fn() -> String, kind: PartKind, name: &str) -> Result<(), VariantError> {
        if self.contains(kind, name) {
            Ok(())
        } else {
            Err(self.unknown(&entry(), kind.word(), name, &[kind]))
        }
    }

    /// Returns the kind and the name of a part, which is one of `kinds`.
    fn resolve(
        &self,
        entry: &dyn Fn() -> String,
        part: &Part,
        kinds: &[PartKind],
    ) -> Result<(PartKind, String), VariantError> {
        let name = &part.name;
        if let Some(kind) = part.kind.filter(|kind| kinds.contains(kind)) {
            return self.check(entry, kind, name).map(|()| (kind, name.clone()));
        }
        let mut found =
            kinds.iter().copied().filter(|kind| part.kind.is_none() && self.contains(*kind, name));
        match (found.next(), found.next()) {
            (Some(kind), None) => Ok((kind, name.clone())),
            (Some(first), Some(second)) => Err(VariantError::Ambiguous {
                entry: text(entry().as_bytes()),
                name: text(name.as_bytes()),
                kinds: [first.word(), second.word()],
            }),
            (None, _) if kinds.contains(&PartKind::Constant) => {
                Err(self.unknown(&entry(), "group, program, map or constant", &part.to_string(), kinds))
            }
            (None, _) => Err(self.unknown(&entry(), "group, program or map", &part.to_string(), kinds)),
        }
    }

    fn unknown(&self, entry: &str, kind: &'static str, name: &str, kinds: &[PartKind]) -> VariantError {
        let mut known: Vec<&[u8]> = Vec::new();
        for kind in kinds {
            match kind {
                PartKind::Group => known.extend(self.groups.iter().map(String::as_bytes)),
                PartKind::Program => known.extend(self.programs.keys().map(String::as_bytes)),
                PartKind::Map => known.extend(self.maps.iter().map(String::as_bytes)),
                PartKind::Constant => known.extend(self.constants.iter().map(String::as_bytes)),
            }
        }
        let near =
            nearest_names(name.as_bytes(), known).into_iter().map(|near| text(near.as_bytes())).collect();
        VariantError::Unknown { entry: text(entry.as_bytes()), kind, name: text(name.as_bytes()), near }
    }
}

/// Returns the group and the alternative of each program of a table, by their indices.
fn positions(table: &VariantTable) -> HashMap<String, (usize, usize)> {
    let mut positions = HashMap::new();
    for (group, VariantGroup { alternatives, .. }) in table.groups().iter().enumerate() {
        for (index, alternative) in alternatives.iter().enumerate() {
            positions.extend(alternative.0.iter().map(|program| (program.clone(), (group, index))));
        }
    }
    positions
}

/// The maps of each program.
type MapsOfPrograms = BTreeMap<String, BTreeSet<String>>;

/// Returns the maps that each program uses, and the data maps. A program that cannot be linked uses none; planning the load reports the
/// error.
fn collect_maps(object: &Object<'_>, linker: &ProgramLinker<'_, '_>) -> (MapsOfPrograms, MapsOfPrograms) {
    let code: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
    let (mut maps_of, mut data_maps_of) = (MapsOfPrograms::new(), MapsOfPrograms::new());
    for (index, program) in ProgramIndex::enumerate(object.programs()) {
        if program.is_subprogram {
            continue;
        }
        let linked = linker.link(&code, index, true).map(|linked| linked.refs).unwrap_or_default();
        let (mut maps, mut data_maps) = (BTreeSet::new(), BTreeSet::new());
        for (_, target) in &linked {
            let (map, uses) = match target {
                RefTarget::Map(map) => (map, &mut maps),
                RefTarget::Data { map, .. } => (map, &mut data_maps),
                _ => continue,
            };
            uses.extend(linker.maps().get(map.0).map(|map| key(map.name)));
        }
        maps_of.insert(key(program.name()), maps);
        data_maps_of.insert(key(program.name()), data_maps);
    }
    (maps_of, data_maps_of)
}

/// Returns the maps that other maps hold initially. Errors in the contents of maps are those of planning the load.
fn collect_held_maps(linker: &ProgramLinker<'_, '_>) -> BTreeSet<String> {
    let elements = linker.initial_elements().unwrap_or_default();
    let held = elements.into_iter().filter_map(|element| match element.slot {
        SlotPlan::Map(map) => linker.maps().get(map.0).map(|map| key(map.name)),
        _ => None,
    });
    collect_ordered(held)
}
