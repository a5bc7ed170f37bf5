//! A variant table that fits an object, and the constants that a load sets.

use super::{
    entry_lines::EntryName,
    error::{KernelValueError, VariantError},
    initial_program::InitialProgram,
    kernel_value::KernelValue,
    part::Part,
    table::VariantTable,
};
use alloc::collections::{BTreeMap, BTreeSet};
use core_relo::{
    Endian,
    btf::{IntInfo, Kind, Type},
    explain::nearest_names,
    internal::Invariant as _,
};
use core_relo_object::{
    InternalError,
    globals::{Global, GlobalError, GlobalKind},
    load_plan::{InitialValues, LoadPlanError, Settings},
    object::Object,
    shown_name,
    target::KernelBtf,
};
use hashbrown::HashMap;

/// A variant table whose names are those of an object.
#[derive(Clone, Debug)]
pub struct ObjectVariants {
    pub(super) table: VariantTable,
    /// The group and the alternative of each program, by their indices.
    pub(super) positions: HashMap<String, (usize, usize)>,
    pub(super) group_indices: HashMap<String, usize>,
    /// For each group, whether a load may go on without any of its alternatives.
    pub(super) optional_groups: Vec<bool>,
    pub(super) optional_programs: BTreeSet<String>,
    pub(super) optional_maps: BTreeSet<String>,
    pub(super) indicators: Vec<(VariantGlobal, Part)>,
    pub(super) constants: Vec<ObjectConstant>,
    /// The maps that each program uses.
    pub(super) maps_of: BTreeMap<String, BTreeSet<String>>,
    /// The data maps that each program uses, by section.
    pub(super) data_maps_of: BTreeMap<String, BTreeSet<String>>,
    /// The maps that other maps hold initially.
    pub(super) held_maps: BTreeSet<String>,
    /// The programs that maps contain initially and that some selection does not load.
    pub(super) initial_programs: Vec<InitialProgram>,
    /// The programs, with whether the object loads them by default.
    pub(super) programs: BTreeMap<String, bool>,
}

/// A constant of the object with a value from the kernel's types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectConstant {
    /// The constant.
    pub global: VariantGlobal,
    /// The value.
    pub value: KernelValue,
    /// Whether the constant keeps its initial value if the kernel has no other.
    pub is_optional: bool,
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

impl ObjectVariants {
    /// Returns the table.
    pub const fn table(&self) -> &VariantTable {
        &self.table
    }

    /// Returns whether a load may go on without any alternative of a group, by the group's index in the
    /// table.
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

    /// Returns whether some selection does not load a program: an alternative of several, or an optional
    /// program.
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

    /// Returns the constants with values from the kernel's types.
    pub fn constants(&self) -> &[ObjectConstant] {
        &self.constants
    }

    /// Finds the values of the constants in the types of a kernel. The inner error is that of an optional
    /// constant, which keeps its initial value.
    pub fn find_constants(
        &self,
        kernel: &KernelBtf,
    ) -> Result<Vec<Result<i128, KernelValueError>>, VariantError> {
        let numbers = KernelValue::find_all(kernel, self.constants.iter().map(|constant| &constant.value));
        let constants = self.constants.iter().zip(numbers);
        constants.map(|(constant, number)| self.check_number(constant, number, kernel)).collect()
    }

    /// Checks the number that was found for a constant.
    fn check_number(
        &self,
        ObjectConstant { global, value, is_optional }: &ObjectConstant,
        number: Result<i128, KernelValueError>,
        kernel: &KernelBtf,
    ) -> Result<Result<i128, KernelValueError>, VariantError> {
        match number.and_then(|number| global.check(number).map(|()| number)) {
            Err(cause) if !(*is_optional && cause.is_absence()) => {
                let name = &global.global.name;
                let cause = value.add_similar_names(kernel, cause);
                let error = VariantError::Value { global: shown_name(name.as_bytes()), cause };
                Err(self.table.lines.locate(&EntryName::Global(name.clone()), error))
            }
            found => Ok(found),
        }
    }

    pub(super) fn make_group_optional(&mut self, group: Option<usize>) {
        if let Some(is_optional) = group.and_then(|group| self.optional_groups.get_mut(group)) {
            *is_optional = true;
        }
    }
}

impl VariantGlobal {
    /// Finds a constant, and checks that it is an integer in `.rodata`.
    pub(super) fn find(
        object: &Object<'_>,
        values: &InitialValues<'_, '_>,
        name: &str,
    ) -> Result<Self, VariantError> {
        let unfit = |found: &str| VariantError::Global {
            global: shown_name(name.as_bytes()),
            found: shown_name(found.as_bytes()),
        };
        let global = match values.find(&Settings::default(), name) {
            Err(LoadPlanError::Global(GlobalError::NotFound { .. })) => {
                let known = values.globals().iter().map(|global| global.name.as_bytes());
                let near = nearest_names(name.as_bytes(), known);
                return Err(VariantError::Unknown {
                    entry: "constant".into(),
                    kind: "global",
                    name: shown_name(name.as_bytes()),
                    near: near.into_iter().map(|near| shown_name(near.as_bytes())).collect(),
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

    /// Returns the bytes of a number in the variable. The number fits, see
    /// [`ObjectVariants::find_constants`].
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
