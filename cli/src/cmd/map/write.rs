//! `map update`, `map delete` and `map freeze`.

use super::{
    changed::MapChange,
    element::MapElements,
    operand::{are_key_and_value, split_flags, split_key_and_value},
};
use crate::{
    args::{
        map_elements::{MapDeleteArgs, MapUpdateArgs},
        object_selector::{ElementArgs, ObjectChangeArgs},
    },
    cmd::object_change::ObjectChange,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::select::{Selector, select_one},
};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, FdInfo, ObjectKind},
    load::{Kernel as _, RunningKernel},
    map_flags,
    maps::{Cpus, Flags},
    object::MapType,
};

pub(super) fn update(console: &mut Console<'_>, args: &MapUpdateArgs) -> CommandResult {
    change_map(console, args.map.split(), args.format, |console, elements, words| {
        elements.check_writable_by_key()?;
        let cpu = elements.select_cpu(args.cpu)?;
        let help = "core-relo map update --help has examples";
        let (words, flags) = split_flags(words, are_key_and_value);
        elements.check_one_condition(flags, args.noexist || args.exist)?;
        let (key, value) = split_key_and_value(words).map_err(|what| elements.bad_input(what, help))?;
        let (key, value) = (elements.parse_key(key)?, elements.parse_value(value)?);
        let flags = match (args.noexist, args.exist) {
            (true, _) => Flags::NO_EXIST,
            (false, true) => Flags::EXIST,
            (false, false) => flags.unwrap_or(Flags::ANY),
        };
        let updated = match cpu {
            None => elements.shape.update(&key, &value.bytes, flags.0),
            Some(cpu) => elements.update_cpu(&key, &value.bytes, cpu, flags),
        };
        match updated {
            Ok(()) => {}
            Err(e) if e == Errno::EINVAL && cpu.is_some() => {
                let what = format!("the value of one CPU cannot be written: {e}");
                let help = "does this kernel know BPF_F_CPU? Linux 7.2 does, 6.18 does not; without --cpu, all CPUs get the value";
                return Err(elements.bad_input(&what, help).into());
            }
            Err(e) if e == Errno::ENOENT && flags == Flags::EXIST => {
                return Ok(elements.report_missing(console, &key)?);
            }
            Err(e) if e == Errno::EEXIST => {
                let what = format!("element [{}] exists", elements.key_text(&key).trim_start());
                return Ok(elements.report_unmet(console, &what)?);
            }
            Err(e) if e == Errno::EINVAL && flags != Flags::ANY && elements.is_fd_array() => {
                let what = format!("maps of this type take no condition: {e}");
                return Err(elements.bad_input(&what, "leave out `noexist` or `exist`").into());
            }
            Err(e) => return Err(elements.write_refusal(e).into()),
        }
        let change = MapChange::new(elements.info.id, "updated").key(elements, &key).value(&value);
        Ok(change.write(console, args.format, &elements.name())?)
    })
}

pub(super) fn delete(console: &mut Console<'_>, args: &MapDeleteArgs) -> CommandResult {
    change_map(console, args.map.split(), args.format, |console, elements, words| {
        elements.check_writable_by_key()?;
        let key = elements.parse_key(words)?;
        match elements.shape.delete(&key) {
            Ok(()) => {}
            Err(e) if e == Errno::ENOENT => return Ok(elements.report_missing(console, &key)?),
            Err(e) if e == Errno::EINVAL && elements.is_array() => {
                let what = "elements of an array cannot be removed";
                return Err(elements.bad_input(what, "`core-relo map update` sets them to 0").into());
            }
            Err(e) => return Err(elements.write_refusal(e).into()),
        }
        let change = MapChange::new(elements.info.id, "deleted").key(elements, &key);
        Ok(change.write(console, args.format, &elements.name())?)
    })
}

pub(super) fn freeze(console: &mut Console<'_>, args: &ObjectChangeArgs) -> CommandResult {
    change_map(console, Ok((args.selector.clone(), &[])), args.format, |console, elements, _| {
        RunningKernel.map_freeze(elements.shape.fd()).map_err(|e| match e {
            Errno::EBUSY => {
                let help = "the kernel freezes a map once, and not while a process maps or writes it";
                elements.bad_input(&format!("cannot be frozen: {e}"), help)
            }
            _ => elements.write_refusal(e),
        })?;
        let change = ObjectChange::new(ObjectKind::Map, elements.info.id, "frozen");
        Ok(change.named(ObjectKind::Map, &elements.info.name()).write(console, args.format)?)
    })
}

/// Opens the one map that is selected, and calls `change` with it and the words after it.
pub(super) fn change_map(
    console: &mut Console<'_>,
    selected: Result<(impl Selector, &[String]), BadInput>,
    format: Format,
    change: impl FnOnce(&mut Console<'_>, &mut MapElements<'_>, &[String]) -> CommandResult,
) -> CommandResult {
    let (selector, words) = selected?;
    let (id, fd) = select_one(ObjectKind::Map, &selector)?;
    let args = ElementArgs { hex: false, types: false, format };
    let mut elements = MapElements::new(id, &fd, &args, &mut BtfCache::default())?;
    change(console, &mut elements, words)
}

impl MapElements<'_> {
    /// Returns an error if the last word and an option are a condition.
    pub(super) fn check_one_condition(&self, word: Option<Flags>, has_option: bool) -> Result<(), BadInput> {
        if word.is_some() && has_option {
            let what = "the condition is given twice, as an option and as the last word";
            return Err(self.bad_input(what, "one is enough"));
        }
        Ok(())
    }

    /// Returns whether the map is an array of descriptors, whose elements are written without a condition
    /// (`bpf_fd_array_map_update_elem`).
    fn is_fd_array(&self) -> bool {
        use MapType as M;
        matches!(self.map_type(), Some(M::ProgArray | M::PerfEventArray | M::CgroupArray | M::ArrayOfMaps))
    }

    /// Writes the value of one CPU, which is the first of `values`. The values of the other CPUs stay.
    fn update_cpu(&self, key: &[u8], values: &[u8], cpu: u32, flags: Flags) -> Result<(), Errno> {
        let value = values.get(..self.shape.cpu_value_size()).unwrap_or(values);
        self.shape.update_cpus(key, value, Cpus::One(cpu), flags.0)
    }

    /// Returns the error of a write that the kernel refuses. Explains errors that a property of the map
    /// causes.
    pub(super) fn write_refusal(&self, e: Errno) -> BadInput {
        let most = self.info.max_entries;
        match e {
            Errno::EPERM if FdInfo::read(&self.shape.fd()).and_then(|info| info.get("frozen")) == Some(1) => {
                let help = match self.info.map_flags & map_flags::RDONLY_PROG {
                    0 => "programs may still write to it",
                    _ => "programs cannot write to it, either",
                };
                self.bad_input("it is frozen: user space cannot write to it", help)
            }
            Errno::EPERM => {
                self.bad_input(&format!("cannot be written: {e}"), "the pin may allow only reading")
            }
            Errno::E2BIG if self.is_array() => self.bad_input(
                &format!("the index is too large: it has {most} elements"),
                "indices begin with 0",
            ),
            Errno::E2BIG => self
                .bad_input(&format!("it is full: it has at most {most} elements"), "`map delete` makes room"),
            Errno::EBADF if self.map_type() == Some(MapType::CgroupArray) => self.bad_input(
                "value: this directory is no cgroup of version 2",
                "`mount -t cgroup2` lists them",
            ),
            Errno::EINVAL => {
                let help = match self.value_kind() {
                    _ if self.map_type() == Some(MapType::LpmTrie) => {
                        "is the prefix length, the first 4 bytes of the key, at most the number of bits after it?"
                    }
                    Some(ObjectKind::Map) => "is it like the inner map with which the outer one was created?",
                    Some(_) => "is it of the same type as the programs that use this map?",
                    None => "the kernel does not accept this value or flag for this type of map",
                };
                self.bad_input(&format!("cannot be written: {e}"), help)
            }
            Errno::EOPNOTSUPP | Errno::ENOTSUPP => {
                self.bad_input(&format!("this type of map cannot be written: {e}"), "a program writes to it")
            }
            _ => self.bad_input(&format!("cannot be written: {e}"), core_relo_loader::Hint::for_errno(e).0),
        }
    }
}
