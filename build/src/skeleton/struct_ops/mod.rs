//! The struct_ops maps of a skeleton: tables whose members can be set before the load.

mod write;

pub(super) use write::write;

use super::{
    error::SkeletonError,
    identifier::{self, Names},
    types::Types,
};
use alloc::collections::BTreeMap;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::{
    link::{MapSource, ProgramLinker},
    load_plan::{LoadPlanError, StructOpsTable},
    object::{DataKind, Object, Program, ProgramType},
};

/// The struct_ops maps of an object.
pub(super) struct Tables {
    /// The struct with a field for each table.
    struct_name: String,
    /// The enum of the programs that tables can contain.
    program_enum: String,
    /// The enum's variants by the programs' names.
    variants: BTreeMap<String, String>,
    list: Vec<Table>,
}

/// A struct_ops map: a table.
pub(super) struct Table {
    /// The map's name in the object.
    pub(super) name: String,
    /// Whether the map is created only if the settings say so.
    pub(super) is_optional: bool,
    field: String,
    /// The section and the name, as a Rust literal.
    path: String,
    c_type: String,
    /// The struct of the table before the load.
    struct_name: String,
    /// The private field of that struct with the members that are no pointers.
    values: String,
    values_type: String,
    functions: Vec<Function>,
}

/// A member that is a function.
struct Function {
    field: String,
    member: String,
    /// The program that the member has in the object.
    program: Option<String>,
}

impl Tables {
    /// Collects the struct_ops maps of an object. Returns `None` for an object without such maps.
    pub(super) fn collect(object: &Object<'_>, types: &mut Types<'_>) -> Result<Option<Self>, SkeletonError> {
        let is_table = |kind: DataKind| matches!(kind, DataKind::StructOps { .. });
        if !object.data_sections().iter().any(|section| is_table(section.kind)) {
            return Ok(None);
        }
        let mut collected = Self {
            struct_name: types.take_name("OpenStructOps".to_owned()),
            program_enum: types.take_name("StructOpsProgram".to_owned()),
            variants: variants(object),
            list: Vec::new(),
        };
        let linker = ProgramLinker::collect(object).map_err(LoadPlanError::from)?;
        let mut fields = Names::default();
        for (map, initial) in linker.struct_ops_tables()? {
            let entry = linker.maps().get(map.0);
            let Some((MapSource::StructOps(place), name)) = entry.map(|entry| (entry.source, entry.name))
            else {
                continue;
            };
            // The loader finds maps by name. Names that are not UTF-8 cannot be asked for.
            let Ok(name) = core::str::from_utf8(name) else { continue };
            let ty = types.btf().ty(place.ty);
            let ty = ty.ok_or_else(|| SkeletonError::NoSuchType { name: name.into() })?;
            let mut members = Names::default();
            let functions = functions(object, types.btf(), ty, &initial, &mut members);
            let section = String::from_utf8_lossy(place.section.name);
            collected.list.push(Table {
                name: name.to_owned(),
                is_optional: matches!(place.section.kind, DataKind::StructOps { optional: true, .. }),
                field: fields.take(identifier::value_name(name.as_bytes())),
                path: format!("{:?}", format!("{section}/{name}")),
                c_type: ty.name().shortened().to_string(),
                struct_name: types.take_name(identifier::type_name(format!("open_{name}").as_bytes())),
                values: members.take("values".to_owned()),
                values_type: types.of_table(ty)?.text,
                functions,
            });
        }
        Ok(Some(collected))
    }

    /// Returns the tables, in the order of the loader's maps.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Table> {
        self.list.iter()
    }
}

/// Returns the programs that tables can contain, each with the name of its variant.
fn variants(object: &Object<'_>) -> BTreeMap<String, String> {
    let mut names = Names::default();
    let is_struct_ops = |program: &&Program<'_>| {
        program.sec_def().is_some_and(|def| def.program_type == ProgramType::StructOps)
    };
    let programs = object.programs().iter().filter(is_struct_ops).filter_map(program_name);
    programs.map(|name| (name.to_owned(), names.take(identifier::value_name(name.as_bytes())))).collect()
}

fn program_name<'o>(program: &'o Program<'_>) -> Option<&'o str> {
    core::str::from_utf8(program.name()).ok()
}

/// Returns the members of a table that are functions.
fn functions(
    object: &Object<'_>,
    btf: &Btf<'_>,
    ty: Type<'_>,
    initial: &StructOpsTable<'_>,
    names: &mut Names,
) -> Vec<Function> {
    let programs: BTreeMap<_, _> = initial.members(btf).collect();
    let functions = ty.members().filter(|member| is_function_pointer(btf, member.ty));
    let functions = functions.filter_map(|member| {
        let name = member.name.as_bytes();
        let program = programs.get(name).and_then(|index| object.programs().get(index.0));
        Some(Function {
            field: names.take(identifier::value_name(name)),
            member: core::str::from_utf8(name).ok()?.to_owned(),
            program: program.and_then(program_name).map(str::to_owned),
        })
    });
    functions.collect()
}

/// Returns whether a type is a pointer to a function.
fn is_function_pointer(btf: &Btf<'_>, id: TypeId) -> bool {
    let pointer = btf.strip(id).ok().filter(|ty| ty.kind() == Kind::Ptr);
    let target = pointer.and_then(Type::target).and_then(|target| btf.strip(target).ok());
    target.is_some_and(|ty| ty.kind() == Kind::FuncProto)
}
