//! The description in a loader file: names and properties of the maps and programs.
//!
//! Numbers have 4 bytes unless noted. A name is its length and its bytes.
//!
//! | part | contents |
//! |---|---|
//! | file | flags, name of the object, name of the kernel that the instructions are relocated for (may be empty) |
//! | maps | count; for each: name, flags, role, type, key size, value size, `max_entries`, `map_flags`, `map_extra` (8 bytes) |
//! | programs | count; for each: name, section name, flags, type, expected attach type |

use super::{
    LoaderFileError,
    parts::{Reader, put_name},
};
use crate::{
    load_plan::{MapAttributes, MapRole},
    object::{MapType, ProgramType},
};
use core_relo::Endian;

/// Flag of a file: [`checks_data`](super::LoaderFile::checks_data).
const CHECKS_DATA: u32 = 1;
/// Flag of a map: [`LoaderMap::entry_per_cpu`].
const ENTRY_PER_CPU: u32 = 1;
/// Flag of a program: [`LoaderProgram::autoattach`].
const AUTOATTACH: u32 = 1;

/// The roles of maps, by number.
const ROLES: [MapRole; 6] =
    [MapRole::Defined, MapRole::Data, MapRole::Rodata, MapRole::Bss, MapRole::Kconfig, MapRole::JumpTable];

/// A map that a loader program creates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoaderMap {
    /// The name. The name of a data map is its section's name.
    pub name: String,
    /// The role.
    pub role: MapRole,
    /// The attributes in the kernel.
    pub attributes: MapAttributes,
    /// Whether the map has an entry for each CPU, so that the process that executes the loader program sets
    /// `max_entries`.
    pub entry_per_cpu: bool,
}

/// A program that a loader program loads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoaderProgram {
    /// The name.
    pub name: String,
    /// The name of the section, which decides how the program is attached.
    pub section: String,
    /// The program type.
    pub program_type: ProgramType,
    /// The kernel's number of the expected attach type.
    pub attach_type: u32,
    /// Whether attaching all programs also attaches this program.
    pub autoattach: bool,
}

/// The description of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) relocated_for: String,
    pub(super) checks_data: bool,
    pub(super) maps: Vec<LoaderMap>,
    pub(super) programs: Vec<LoaderProgram>,
}

impl Description {
    /// Reads the section.
    pub(super) fn read(endian: Endian, bytes: &[u8]) -> Result<Self, LoaderFileError> {
        let mut reader = Reader::new(endian, bytes);
        let checks_data = reader.flag("flags of the file", CHECKS_DATA)?;
        let name = reader.text("name of the object")?;
        let relocated_for = reader.text("name of the kernel")?;
        let (mut maps, mut programs) = (Vec::new(), Vec::new());
        // A wrong count ends at the end of the bytes, and the vectors grow with what is read.
        for _ in 0..reader.u32("number of maps")? {
            maps.push(LoaderMap::read(&mut reader)?);
        }
        for _ in 0..reader.u32("number of programs")? {
            programs.push(LoaderProgram::read(&mut reader)?);
        }
        reader.finish("the description")?;
        Ok(Self { name, relocated_for, checks_data, maps, programs })
    }
}

/// Writes the section.
pub(super) fn write(file: &super::LoaderFile) -> Result<Vec<u8>, LoaderFileError> {
    let (endian, mut out) = (file.endian, Vec::new());
    endian.put_u32(&mut out, if file.checks_data { CHECKS_DATA } else { 0 });
    put_name(endian, &mut out, &file.name)?;
    put_name(endian, &mut out, &file.relocated_for)?;
    endian.put_u32(&mut out, count(file.maps.len(), "number of maps")?);
    for map in &file.maps {
        map.write(endian, &mut out)?;
    }
    endian.put_u32(&mut out, count(file.programs.len(), "number of programs")?);
    for program in &file.programs {
        program.write(endian, &mut out)?;
    }
    Ok(out)
}

/// Converts a count to the number in the file.
fn count(len: usize, field: &'static str) -> Result<u32, LoaderFileError> {
    u32::try_from(len).map_err(|_large| LoaderFileError::Count { field })
}

impl LoaderMap {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LoaderFileError> {
        let name = reader.name("name of a map")?;
        let entry_per_cpu = reader.flag("flags of a map", ENTRY_PER_CPU)?;
        let role = reader.u32("role of a map")?;
        let known = usize::try_from(role).ok().and_then(|role| ROLES.get(role));
        let role = *known.ok_or(LoaderFileError::Field {
            field: "role of a map",
            found: role.into(),
            expected: "0 to 5",
        })?;
        let attributes = MapAttributes {
            map_type: reader.u32("type of a map")?,
            key_size: reader.u32("key size of a map")?,
            value_size: reader.u32("value size of a map")?,
            max_entries: reader.u32("max_entries of a map")?,
            map_flags: reader.u32("map_flags of a map")?,
            map_extra: reader.u64("map_extra of a map")?,
        };
        Ok(Self { name, role, attributes, entry_per_cpu })
    }

    fn write(&self, endian: Endian, out: &mut Vec<u8>) -> Result<(), LoaderFileError> {
        put_name(endian, out, &self.name)?;
        endian.put_u32(out, if self.entry_per_cpu { ENTRY_PER_CPU } else { 0 });
        let role = (0..).zip(ROLES).find(|(_, role)| *role == self.role);
        let (number, _) = role.ok_or(LoaderFileError::Field {
            field: "role of a map",
            found: 6,
            expected: "no struct_ops map",
        })?;
        let MapAttributes { map_type, key_size, value_size, max_entries, map_flags, map_extra } =
            self.attributes;
        for word in [number, map_type, key_size, value_size, max_entries, map_flags] {
            endian.put_u32(out, word);
        }
        endian.put_u64(out, map_extra);
        Ok(())
    }

    /// Returns the map type. Returns `None` for an unknown number.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.attributes.map_type)
    }
}

impl LoaderProgram {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LoaderFileError> {
        let name = reader.name("name of a program")?;
        let section = reader.text("section of a program")?;
        let autoattach = reader.flag("flags of a program", AUTOATTACH)?;
        let number = reader.u32("type of a program")?;
        let program_type = ProgramType::from_number(number).ok_or(LoaderFileError::Field {
            field: "type of a program",
            found: number.into(),
            expected: "a program type",
        })?;
        let attach_type = reader.u32("attach type of a program")?;
        Ok(Self { name, section, program_type, attach_type, autoattach })
    }

    fn write(&self, endian: Endian, out: &mut Vec<u8>) -> Result<(), LoaderFileError> {
        put_name(endian, out, &self.name)?;
        put_name(endian, out, &self.section)?;
        endian.put_u32(out, if self.autoattach { AUTOATTACH } else { 0 });
        endian.put_u32(out, self.program_type.number());
        endian.put_u32(out, self.attach_type);
        Ok(())
    }
}
