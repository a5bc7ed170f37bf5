//! Attaching the programs of a loaded object, and reading what they send.

use super::{Loaded, LoadedMap, LoadedProgram};
use crate::{
    attach::{self, AttachError, Attachable, Link, UsdtManager},
    features,
    load_plan::{MapRole, USDT_MAPS, UsdtPlan},
    object::{AttachType, ProgramType, SectionTarget},
    ring::{Flow, PerfBuffer, RingBuffer, RingError, UserRingBuffer},
    sys::{Errno, MapFd},
};
use std::os::fd::AsFd as _;

impl Loaded {
    /// Attaches a program to what its section's name says; nothing, if its type was set to another than the name says. What
    /// fails is an [`AttachError::Program`], which says why.
    pub fn attach(&self, program: &str) -> Result<Link, AttachError> {
        let found = self.program(program).ok_or_else(|| {
            let problem = "the object has no such program, or it was not loaded";
            AttachError::target(format!("program `{program}`"), problem)
        })?;
        self.attach_one(found)
    }

    /// Attaches every program whose section's name says to what, and every struct_ops table (libbpf: `bpf_object__attach_skeleton`).
    ///
    /// Programs that have to be told what to attach to are left out, as are those set so
    /// ([`ProgramSettings::autoattach`](crate::load_plan::ProgramSettings::autoattach)). If one cannot be attached, those that were are
    /// detached, and the error ([`AttachError::Program`]) names it.
    pub fn attach_all(&self) -> Result<Vec<Link>, AttachError> {
        self.attach_each().collect()
    }

    /// Attaches what [`attach_all`](Self::attach_all) attaches, one by one as the iterator goes on: for callers who may have to
    /// stop in between.
    pub fn attach_each(&self) -> impl Iterator<Item = Result<Link, AttachError>> {
        let automatic = |program: &LoadedProgram| match self.attach_one(program) {
            Err(AttachError::NotAutomatic { what }) => {
                log::debug!("{what}: does not attach by itself");
                None
            }
            attached => Some(attached),
        };
        let is_table =
            |m: &&LoadedMap| m.plan.role == MapRole::StructOps && m.plan.autoattach && m.fd.is_some();
        let programs = self.programs.iter().filter(|p| p.plan.autoattach).filter_map(automatic);
        programs.chain(self.maps.iter().filter(is_table).map(attach_table))
    }

    /// The programs that [`attach_all`](Self::attach_all) leaves out, and why: those that have to be told what to attach to, are
    /// run by themselves, or are set so. Programs of struct_ops tables are not among them.
    pub fn left_unattached(&self) -> Vec<(&LoadedProgram, AttachError)> {
        let why = |p: &LoadedProgram| {
            if p.plan.program_type == ProgramType::StructOps {
                return None;
            }
            let not_automatic = attach::not_automatic(&p.plan.section, &p.plan.name);
            let is_automatic = attach::is_automatic(&p.plan.section, p.plan.program_type);
            let is_left = !p.plan.autoattach || p.plan.sec_def.is_none() || !is_automatic;
            is_left.then_some(not_automatic)
        };
        self.programs.iter().filter_map(|p| Some((p, why(p)?))).collect()
    }

    /// Registers a struct_ops table with the kernel.
    pub fn attach_struct_ops(&self, map: &str) -> Result<Link, AttachError> {
        let found = self.map(map).filter(|m| m.plan.role == MapRole::StructOps && m.fd.is_some());
        let problem = "the object has no such struct_ops table, or it was not created";
        attach_table(found.ok_or_else(|| AttachError::target(format!("map `{map}`"), problem))?)
    }

    /// Reads a ring buffer; each record is given to the callback where it lies.
    pub fn ring_buffer<'cb, R: Flow>(
        &self,
        map: &str,
        on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<RingBuffer<'cb>, RingError> {
        RingBuffer::new(self.handle_of(map)?, on_record)
    }

    /// Reads a perf event array with a ring for each processor; the callback is given the processor and the sample.
    pub fn perf_buffer<'cb, R: Flow>(
        &self,
        map: &str,
        on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<PerfBuffer<'cb>, RingError> {
        PerfBuffer::new(self.handle_of(map)?, on_sample)
    }

    /// Writes to a user ring buffer.
    pub fn user_ring_buffer(&self, map: &str) -> Result<UserRingBuffer, RingError> {
        UserRingBuffer::new(self.handle_of(map)?)
    }

    fn handle_of(&self, map: &str) -> Result<MapFd, RingError> {
        let found = self.map(map).ok_or(Errno(libc::ENOENT)).and_then(LoadedMap::handle);
        found.map_err(|errno| RingError::kernel(map, "find it in the loaded object", errno))
    }

    /// What goes wrong names the program, so that the caller of [`attach_all`](Self::attach_all) knows which it was.
    fn attach_one(&self, program: &LoadedProgram) -> Result<Link, AttachError> {
        self.attach_as_its_section_says(program).map_err(|cause| match cause {
            cause @ AttachError::NotAutomatic { .. } => cause,
            cause => AttachError::Program {
                program: program.plan.name.as_str().into(),
                section: program.plan.section.as_str().into(),
                cause: Box::new(cause),
            },
        })
    }

    fn attach_as_its_section_says(&self, program: &LoadedProgram) -> Result<Link, AttachError> {
        if program.plan.sec_def.is_none() {
            return Err(attach::not_automatic(&program.plan.section, &program.plan.name));
        }
        let is_usdt =
            matches!(SectionTarget::parse(&program.plan.section), Ok(Some(SectionTarget::Usdt { .. })));
        attach::auto(&Attachable {
            fd: program.as_fd(),
            name: &program.plan.name,
            section: &program.plan.section,
            program_type: program.plan.program_type,
            attach_type: AttachType::from_number(program.plan.attach_type)
                .filter(|_| program.plan.attach_type != 0),
            usdt: if is_usdt { self.usdt()? } else { None },
        })
    }

    /// What the object's USDT programs share; made when it is first needed: programs of other kinds do not depend on its maps.
    pub fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError> {
        if let Some(known) = self.usdt.get() {
            return Ok(known.as_ref());
        }
        let handles = USDT_MAPS.map(|name| self.map(name).and_then(|m| m.handle().ok()));
        let made = match &handles {
            [Some(specs), Some(by_address)] => {
                let plan = self.usdt_plan.unwrap_or_else(|| UsdtPlan::on(&features::running()));
                Some(UsdtManager::planned(specs, by_address, plan)?)
            }
            _ => None,
        };
        Ok(self.usdt.get_or_init(|| made).as_ref())
    }
}

/// Registers a struct_ops table that holds its programs' descriptors already.
fn attach_table(map: &LoadedMap) -> Result<Link, AttachError> {
    let what = format!("struct_ops {}", map.plan.name);
    let handle = map.handle().map_err(|errno| AttachError::kernel(&what, "attach", errno))?;
    attach::struct_ops(&handle, &map.plan.data)
}

#[cfg(test)]
mod tests {
    use crate::{Loader, attach::AttachError, load_plan::USDT_MAPS, object::Object};
    use core_relo_object::test_support::{TestObject, returns};

    #[test]
    fn programs_of_other_kinds_do_not_depend_on_the_maps_of_usdt() {
        let mut m = TestObject::new();
        for name in USDT_MAPS {
            // Not what libbpf's usdt.bpf.h declares.
            m.map(name, &[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
        }
        m.program("enter", "raw_tp/sys_enter", &returns(0));
        m.program("probe", "usdt//bin/sh:a:b", &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        let loaded = match Loader::new(&object).load() {
            Ok(loaded) => loaded,
            Err(e) => return println!("SKIP: nothing can be loaded here: {e}"),
        };
        loaded.attach("enter").unwrap().detach().unwrap();
        match loaded.attach("probe") {
            Err(AttachError::Program { program, cause, .. }) => {
                assert_eq!(&*program, "probe");
                assert!(
                    cause.to_string().starts_with("__bpf_usdt_specs: its values have 4 bytes"),
                    "{cause}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
