//! The initial values of variables: the object's, overridden by the settings of a load.

use super::{error::LoadPlanError, settings::Settings};
use crate::{
    globals::{Global, GlobalError, GlobalIndex, GlobalKind, find_path, resize_array},
    internal::{InternalError, Invariant as _},
    limits,
    object::Object,
};
use core_relo::btf::Kind;
use std::sync::OnceLock;

/// The variables of an object and their initial values. The settings of a load hold the values that differ
/// from the object's.
#[derive(Clone, Debug)]
pub struct InitialValues<'o, 'd> {
    object: &'o Object<'d>,
    /// The variables, collected at the first use.
    variables: OnceLock<GlobalIndex>,
}

impl<'o, 'd> InitialValues<'o, 'd> {
    /// Returns the initial values of an object's variables.
    pub const fn new(object: &'o Object<'d>) -> Self {
        Self { object, variables: OnceLock::new() }
    }

    /// Returns the variables of data sections and the arena in the symbol table's order, then configuration
    /// values, then struct_ops maps.
    pub fn globals(&self) -> &[Global] {
        self.index().globals()
    }

    fn index(&self) -> &GlobalIndex {
        self.variables.get_or_init(|| GlobalIndex::new(Global::collect(self.object)))
    }

    /// Finds a variable by name, or a part of a variable by path: `config.ports[2]`.
    ///
    /// If the settings resize a section, the array at the section's end fills the new size.
    pub fn find(&self, settings: &Settings, name: &str) -> Result<Global, LoadPlanError> {
        let (index, btf) = (self.index(), self.object.btf());
        let find_whole = |name: &str| {
            let Some(mut whole) = index.find_whole(name)?.cloned() else { return Ok(None) };
            let section_size = settings.maps.get(&*whole.section).and_then(|map| map.value_size);
            if let (Some(size), Some(last_offset)) = (section_size, index.last_offset(&whole.section)) {
                resize_array(&mut whole, btf, size, last_offset);
            }
            Ok(Some(whole))
        };
        Ok(find_path(index.globals(), btf, name, find_whole)?)
    }

    /// Sets the initial value of a variable of the object. `value` has the size of the variable.
    pub fn set_bytes(
        &self,
        settings: &mut Settings,
        global: &Global,
        value: &[u8],
    ) -> Result<(), LoadPlanError> {
        let inaccessible =
            |reason| GlobalError::Inaccessible { name: global.name.as_str().into(), action: "set", reason };
        match global.kind {
            GlobalKind::Config => {
                return Err(inaccessible(
                    "it is the kernel's configuration: give the loader a line of configuration for it",
                )
                .into());
            }
            GlobalKind::StructOps
                if global.stripped(self.object.btf()).is_some_and(|t| t.kind() == Kind::Ptr) =>
            {
                return Err(inaccessible(
                    "the loader fills pointers in struct_ops maps: set programs in the settings of the map",
                )
                .into());
            }
            _ => {}
        }
        let fail = |what: String| LoadPlanError::Map { map: (*global.map).into(), what: what.into() };
        let (section, section_size) = self.section_bytes(global)?;
        let map = settings.maps.entry(global.map.to_string()).or_default();
        let resized = map.value_size.filter(|_| is_resizable(global.kind)).map(u64::from);
        let size = resized.unwrap_or(section_size);
        if resized.is_none() && size > limits::DATA_BYTES {
            return Err(fail(format!("too large: {size} bytes, expected at most {}", limits::DATA_BYTES)));
        }
        let data = map.data.get_or_insert_with(|| section.to_vec());
        // Data of the section's own size comes from earlier calls, and is resized. Data of another size comes
        // from the caller.
        if data.len() == section.len() || u64::try_from(data.len()) == Ok(section_size) {
            // Both bounds of `size`, a `u32` and the limit, fit a `usize`.
            data.resize(usize::try_from(size).invariant("the size of a section fits in memory")?, 0);
        }
        let len = data.len();
        let start = global.value_offset();
        let bytes = start.checked_add(value.len()).and_then(|end| data.get_mut(start..end));
        let too_small =
            || fail(format!("its variable `{}` does not lie in the {len} bytes it was set to", global.name));
        bytes.ok_or_else(too_small)?.copy_from_slice(value);
        Ok(())
    }

    /// Reads the initial value of a variable of the object from the settings, or else from the object.
    pub fn read_bytes(
        &self,
        settings: &Settings,
        global: &Global,
        into: &mut [u8],
    ) -> Result<(), LoadPlanError> {
        if global.kind == GlobalKind::Config {
            let reason = "it is the kernel's configuration, which is read during the load";
            return Err(GlobalError::Inaccessible {
                name: global.name.as_str().into(),
                action: "read",
                reason,
            }
            .into());
        }
        let set = settings.maps.get(&*global.map).and_then(|s| s.data.as_deref());
        let data = match set {
            Some(data) => data,
            None => self.section_bytes(global)?.0,
        };
        // Bytes that the file does not contain are 0: a `.bss` has none.
        let present = data.get(global.value_offset()..).unwrap_or(&[]);
        into.fill(0);
        into.iter_mut().zip(present).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Returns the bytes in the file of a variable's map, and the map's size.
    fn section_bytes(&self, global: &Global) -> Result<(&'d [u8], u64), InternalError> {
        let section = self.object.data_sections().iter().find(|s| s.name == global.section.as_bytes());
        // `.kconfig` has no section. A section whose name is not UTF-8 is not found either.
        let Some(section) = section else { return Ok((&[], 0)) };
        if global.kind != GlobalKind::StructOps {
            return Ok((section.bytes, section.size));
        }
        // Each variable of a struct_ops section is a map.
        let start = global.offset.checked_sub(global.value_offset());
        let start = start.invariant("a variable begins within its map")?;
        let is_map = |g: &&Global| g.kind == global.kind && g.map == global.map && g.offset == start;
        let map = self.globals().iter().find(is_map);
        let map = map.invariant("a part of a struct_ops map belongs to a variable of the object")?;
        let end = start.checked_add(map.size);
        let bytes = end.and_then(|end| section.bytes.get(start..end));
        let bytes = bytes.invariant("a struct_ops map lies within its section")?;
        let size = u64::try_from(bytes.len()).invariant("a length fits 64 bits")?;
        Ok((bytes, size))
    }
}

const fn is_resizable(kind: GlobalKind) -> bool {
    matches!(kind, GlobalKind::Variable | GlobalKind::Constant)
}
