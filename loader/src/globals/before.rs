//! Variables before the load: their first values.

use super::{Global, GlobalError, GlobalKind, find, fit, fit_value, resized, size};
use crate::{Loader, limits, load_plan::LoadPlanError, sys::Pod};
use core_relo::btf::Kind;

impl<'d> Loader<'_, 'd> {
    /// The variables of all data sections and of the arena, in the symbol table's order; then configuration values and
    /// struct_ops tables.
    pub fn globals(&self) -> Vec<Global> {
        self.known_globals().to_vec()
    }

    /// The variable of a name, or the part of one that a path leads to: `config.ports[2]`.
    ///
    /// Of two static variables of one name, `section/name` is one (`.data/config.ports[2]`). An array that ends a section which
    /// was [resized](crate::load_plan::MapSettings::value_size) has as many elements as there is room for.
    pub fn find_global(&self, name: &str) -> Result<Global, LoadPlanError> {
        let (known, btf) = (self.known_globals(), self.object.btf());
        let maps = &self.settings.maps;
        if maps.values().all(|s| s.value_size.is_none()) {
            return Ok(find(known, btf, name)?);
        }
        let known = resized(known.to_vec(), btf, |section| maps.get(section)?.value_size);
        Ok(find(&known, btf, name)?)
    }

    /// Sets a variable's first value: also one that is constant for the programs, by which the verifier may leave out code, and
    /// one in the arena. By name or by [path](Self::find_global).
    ///
    /// The value has to have the variable's size and, as far as the object's BTF says what it is, its type: for integers, enums
    /// and `bool` integers with or without sign (0 and 1 for `bool`), for floats floats, for pointers unsigned integers, for
    /// arrays arrays of such, for structs and unions structs or arrays. A struct ([`pod!`](crate::pod)) may also stand for an
    /// array, an array of bytes for anything.
    ///
    /// The kernel's configuration is not set this way, but by lines of
    /// [`Settings::kconfig`](crate::load_plan::Settings::kconfig). Of a struct_ops table the members that are no pointers can be
    /// set, as `my_ops.flags`; its programs go by [`MapSettings::programs`](crate::load_plan::MapSettings::programs).
    pub fn set_global<T: Pod>(&mut self, name: &str, value: &T) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        fit_value(self.object.btf(), &global, value)?;
        self.put_global(&global, value.as_bytes())
    }

    /// The same, by its bytes in the machine's order: of whatever type, if there are as many as it has.
    pub fn set_global_bytes(&mut self, name: &str, value: &[u8]) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        size(self.object.btf(), &global, value.len())?;
        self.put_global(&global, value)
    }

    /// A variable's first value, as it stands now.
    pub fn global<T: Pod>(&self, name: &str) -> Result<T, LoadPlanError> {
        let global = self.find_global(name)?;
        fit::<T>(self.object.btf(), &global)?;
        let mut value = T::zeroed();
        self.first_value(&global, value.as_bytes_mut())?;
        Ok(value)
    }

    /// The same, as its bytes.
    pub fn global_bytes(&self, name: &str) -> Result<Vec<u8>, LoadPlanError> {
        let global = self.find_global(name)?;
        let mut value = vec![0; global.size];
        self.first_value(&global, &mut value)?;
        Ok(value)
    }

    fn known_globals(&self) -> &[Global] {
        self.globals.get_or_init(|| Global::all(self.object))
    }

    fn put_global(&mut self, global: &Global, value: &[u8]) -> Result<&mut Self, LoadPlanError> {
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
        let settings = self.settings.maps.entry(global.map.to_string()).or_default();
        let grown = settings.value_size.filter(|_| is_resizable(global.kind)).map(u64::from);
        let size = grown.unwrap_or(own_size);
        if grown.is_none() && size > limits::DATA_BYTES {
            return Err(fail(format!("it has {size} bytes, {} is the most", limits::DATA_BYTES)));
        }
        let data = settings.data.get_or_insert_with(|| own.to_vec());
        // What was set before the section was resized grows with it; what a caller gave as a whole stays.
        if data.len() == own.len() || u64::try_from(data.len()) == Ok(own_size) {
            data.resize(usize::try_from(size).unwrap_or(usize::MAX), 0);
        }
        let len = data.len();
        let room = data.get_mut(global.place()..global.place().saturating_add(value.len()));
        let too_small =
            || fail(format!("its variable `{}` does not lie in the {len} bytes it was set to", global.name));
        room.ok_or_else(too_small)?.copy_from_slice(value);
        Ok(self)
    }

    fn first_value(&self, global: &Global, into: &mut [u8]) -> Result<(), LoadPlanError> {
        if global.kind == GlobalKind::Config {
            let why = "it is the kernel's configuration, which is read when it is loaded";
            return Err(GlobalError::When { name: global.name.as_str().into(), action: "read", why }.into());
        }
        let set = self.settings.maps.get(&*global.map).and_then(|s| s.data.as_deref());
        let data = set.unwrap_or_else(|| self.section_of(global).0);
        // What the file says nothing of is 0.
        let given = data.get(global.place()..).unwrap_or_default();
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
        let table = self.known_globals().iter().find(|g| g.kind == global.kind && g.map == global.map);
        let end = table.map_or(global.start, |table| global.start.saturating_add(table.size));
        let bytes = section.bytes.get(global.start..end).unwrap_or_default();
        (bytes, u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }
}

const fn is_resizable(kind: GlobalKind) -> bool {
    matches!(kind, GlobalKind::Variable | GlobalKind::Constant)
}
