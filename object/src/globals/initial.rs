//! The first values of variables: what the object has, as the settings change it.

use super::{Global, GlobalError, GlobalKind, find_global, resized};
use crate::{
    limits,
    load_plan::{LoadPlanError, Settings},
    object::Object,
};
use core_relo::btf::Kind;
use std::sync::OnceLock;

/// The variables of an object and their first values. The settings of a load hold the values that differ from the object's.
#[derive(Clone, Debug)]
pub struct InitialValues<'o, 'd> {
    object: &'o Object<'d>,
    /// The variables, collected when they are first needed.
    variables: OnceLock<Vec<Global>>,
}

impl<'o, 'd> InitialValues<'o, 'd> {
    /// The first values of an object's variables.
    pub const fn new(object: &'o Object<'d>) -> Self {
        Self { object, variables: OnceLock::new() }
    }

    /// Returns the variables of all data sections and of the arena, in the symbol table's order; then configuration values and
    /// struct_ops tables.
    pub fn all(&self) -> &[Global] {
        self.variables.get_or_init(|| Global::all(self.object))
    }

    /// Finds the variable of a name, or the part of a variable that a path leads to: `config.ports[2]`.
    ///
    /// An array that ends a section which the settings resize has as many elements as there is room for.
    pub fn find(&self, settings: &Settings, name: &str) -> Result<Global, LoadPlanError> {
        let (all, btf) = (self.all(), self.object.btf());
        if settings.maps.values().all(|s| s.value_size.is_none()) {
            return Ok(find_global(all, btf, name)?);
        }
        let all = resized(all.to_vec(), btf, |section| settings.maps.get(section)?.value_size);
        Ok(find_global(&all, btf, name)?)
    }

    /// Sets the first value of a variable to these bytes, of which there are as many as the variable has.
    pub fn set_bytes(
        &self,
        settings: &mut Settings,
        global: &Global,
        value: &[u8],
    ) -> Result<(), LoadPlanError> {
        let when = |why| GlobalError::When { name: global.name.as_str().into(), action: "set", why };
        match global.kind {
            GlobalKind::Config => {
                return Err(when(
                    "it is the kernel's configuration: give the loader a line of configuration for it",
                )
                .into());
            }
            GlobalKind::StructOps
                if global.stripped(self.object.btf()).is_some_and(|t| t.kind() == Kind::Ptr) =>
            {
                return Err(
                    when("pointers in struct_ops tables are filled by the loader: programs go by the table's settings").into()
                );
            }
            _ => {}
        }
        let fail = |what: String| LoadPlanError::Map { map: (*global.map).into(), what: what.into() };
        let (own, own_size) = self.section_of(global);
        let map = settings.maps.entry(global.map.to_string()).or_default();
        let grown = map.value_size.filter(|_| is_resizable(global.kind)).map(u64::from);
        let size = grown.unwrap_or(own_size);
        if grown.is_none() && size > limits::DATA_BYTES {
            return Err(fail(format!("it has {size} bytes, {} is the most", limits::DATA_BYTES)));
        }
        let data = map.data.get_or_insert_with(|| own.to_vec());
        // What was set before the section was resized grows with it; what a caller gave as a whole stays.
        if data.len() == own.len() || u64::try_from(data.len()) == Ok(own_size) {
            data.resize(usize::try_from(size).unwrap_or(usize::MAX), 0);
        }
        let len = data.len();
        let room = data.get_mut(global.value_offset()..global.value_offset().saturating_add(value.len()));
        let too_small =
            || fail(format!("its variable `{}` does not lie in the {len} bytes it was set to", global.name));
        room.ok_or_else(too_small)?.copy_from_slice(value);
        Ok(())
    }

    /// Reads the first value of a variable, as the object and the settings have it.
    pub fn read_bytes(
        &self,
        settings: &Settings,
        global: &Global,
        into: &mut [u8],
    ) -> Result<(), LoadPlanError> {
        if global.kind == GlobalKind::Config {
            let why = "it is the kernel's configuration, which is read when it is loaded";
            return Err(GlobalError::When { name: global.name.as_str().into(), action: "read", why }.into());
        }
        let set = settings.maps.get(&*global.map).and_then(|s| s.data.as_deref());
        let data = set.unwrap_or_else(|| self.section_of(global).0);
        // What the file says nothing of is 0.
        let given = data.get(global.value_offset()..).unwrap_or_default();
        into.fill(0);
        into.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// What the file has for the map a variable lies in, and its size.
    fn section_of(&self, global: &Global) -> (&'d [u8], u64) {
        let section = self.object.data_sections().iter().find(|s| s.name == global.section.as_bytes());
        let Some(section) = section else { return (&[], 0) };
        if global.kind != GlobalKind::StructOps {
            return (section.bytes, section.size);
        }
        // Each table is a map of its own.
        let table = self.all().iter().find(|g| g.kind == global.kind && g.map == global.map);
        let end = table.map_or(global.start, |table| global.start.saturating_add(table.size));
        let bytes = section.bytes.get(global.start..end).unwrap_or_default();
        (bytes, u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }
}

const fn is_resizable(kind: GlobalKind) -> bool {
    matches!(kind, GlobalKind::Variable | GlobalKind::Constant)
}
