//! Attaching the programs of a loaded object by their sections, and opening its ring buffers.

use super::loaded::{Loaded, LoadedMap, LoadedProgram};
use crate::{
    attach::{self, AttachError, Link},
    ring::{CallbackResult, PerfBuffer, RingBuffer, RingError, UserRingBuffer},
    sys::{Errno, MapFd},
};
use core_relo_object::{load_plan::MapRole, object::ProgramType};

impl Loaded {
    /// Attaches a program to the target that its section name states, see
    /// [`ProgramRef::attach`](attach::ProgramRef::attach). For other targets, see
    /// [`program_ref`](Self::program_ref).
    pub fn attach(&self, program: &str) -> Result<Link, AttachError> {
        self.program_ref(program)?.attach()
    }

    /// Attaches every program whose section names a target, and every struct_ops map (libbpf:
    /// `bpf_object__attach_skeleton`).
    ///
    /// Programs without a target and programs with
    /// [`ProgramSettings::autoattach`](crate::load_plan::ProgramSettings::autoattach) off are skipped, see
    /// [`unattached`](Self::unattached). If a program cannot be attached, the programs attached before are
    /// detached, and the error ([`AttachError::Program`]) names the program.
    pub fn attach_all(&self) -> Result<Vec<Link>, AttachError> {
        self.attach_each().collect()
    }

    /// Attaches the programs of [`attach_all`](Self::attach_all) one at a time, as the iterator advances.
    /// Callers can stop in between.
    pub fn attach_each(&self) -> impl Iterator<Item = Result<Link, AttachError>> {
        let automatic = |program: &LoadedProgram| match self.program_ref_of(program).attach() {
            Err(AttachError::NoAutoAttach { label }) => {
                log::debug!("{label}: not auto-attached");
                None
            }
            attached => Some(attached),
        };
        let is_struct_ops =
            |m: &&LoadedMap| m.plan.role() == MapRole::StructOps && m.plan.autoattach() && m.fd.is_some();
        let programs = self.programs.iter().filter(|p| p.plan.autoattach()).filter_map(automatic);
        programs.chain(self.maps.iter().filter(is_struct_ops).map(attach_struct_ops_map))
    }

    /// Returns the programs that [`attach_all`](Self::attach_all) skips, with the reason. Programs of
    /// struct_ops maps are not among them.
    pub fn unattached(&self) -> Vec<(&LoadedProgram, AttachError)> {
        let reason = |p: &LoadedProgram| {
            if p.plan.program_type() == ProgramType::StructOps {
                return None;
            }
            let not_automatic = attach::not_automatic(p.plan.section(), p.plan.name());
            let is_automatic = attach::is_automatic(p.plan.section(), p.plan.program_type());
            let is_skipped = !p.plan.autoattach() || p.plan.sec_def().is_none() || !is_automatic;
            is_skipped.then_some(not_automatic)
        };
        self.programs.iter().filter_map(|p| Some((p, reason(p)?))).collect()
    }

    /// Registers a struct_ops map with the kernel.
    pub fn attach_struct_ops(&self, map: &str) -> Result<Link, AttachError> {
        attach_struct_ops_map(self.struct_ops_map(map)?)
    }

    /// Replaces the struct_ops map of a link by another map (libbpf: `bpf_link__update_map`). Both are in a
    /// section `.struct_ops.link`.
    pub fn update_struct_ops(&self, link: &mut Link, map: &str) -> Result<(), AttachError> {
        let map = self.struct_ops_map(map)?;
        let handle = map.handle().map_err(|errno| AttachError::kernel(link.label(), "update", errno))?;
        attach::struct_ops_update(link, &handle, map.plan.data())
    }

    fn struct_ops_map(&self, map: &str) -> Result<&LoadedMap, AttachError> {
        let found = self.map(map).filter(|m| m.plan.role() == MapRole::StructOps && m.fd.is_some());
        let problem = "the object has no such struct_ops map, or it was not created";
        found.ok_or_else(|| AttachError::target(format!("map `{map}`"), problem))
    }

    /// Opens a ring buffer for reading. The callback gets each record in place, without a copy.
    pub fn ring_buffer<'cb, R: CallbackResult>(
        &self,
        map: &str,
        on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<RingBuffer<'cb>, RingError> {
        RingBuffer::new(self.ring_handle(map)?, on_record)
    }

    /// Opens a perf event array for reading, with a ring for each processor. The callback gets the processor
    /// and the sample.
    pub fn perf_buffer<'cb, R: CallbackResult>(
        &self,
        map: &str,
        on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<PerfBuffer<'cb>, RingError> {
        PerfBuffer::new(self.ring_handle(map)?, on_sample)
    }

    /// Opens a user ring buffer for writing.
    pub fn user_ring_buffer(&self, map: &str) -> Result<UserRingBuffer, RingError> {
        UserRingBuffer::new(self.ring_handle(map)?)
    }

    fn ring_handle(&self, map: &str) -> Result<MapFd, RingError> {
        let handle = self.map(map).ok_or(Errno(libc::ENOENT)).and_then(LoadedMap::handle);
        handle.map_err(|errno| RingError::kernel(map, "find it in the loaded object", errno))
    }
}

/// Registers a struct_ops map whose value holds the programs' descriptors.
fn attach_struct_ops_map(map: &LoadedMap) -> Result<Link, AttachError> {
    let label = format!("struct_ops {}", map.plan.name());
    let handle = map.handle().map_err(|errno| AttachError::kernel(&label, "attach", errno))?;
    attach::struct_ops(&handle, map.plan.data())
}

#[cfg(test)]
mod tests {
    use crate::{attach::AttachError, loader::Loader};
    use core_relo_object::{
        load_plan::USDT_MAPS,
        object::Object,
        test_support::{TestObject, returns},
    };
    use core_relo_test_support::skip;

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
            Err(e) => return skip!(Root, "nothing can be loaded here: {e}"),
        };
        loaded.attach("enter").unwrap().detach().unwrap();
        match loaded.attach("probe") {
            Err(AttachError::Program { program, cause, .. }) => {
                assert_eq!(&*program, "probe");
                assert!(
                    cause.to_string().starts_with("__bpf_usdt_specs: wrong size of values: 4 bytes"),
                    "{cause}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
