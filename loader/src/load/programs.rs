//! Loading the programs of a plan (libbpf: `bpf_object_load_prog`).

use super::{
    Loading, Missing,
    error::{LoadError, LoadHint},
    kernel::Kernel,
    loaded::LoadedProgram,
    verifier::Refused,
};
use crate::{
    attach::Hint,
    load_plan::{FixupTarget, LoadPlan, MapRole, ProgramPlan, SlotPlan},
    sys::{Errno, Pod as _, ProgLoad},
};
use core_relo::Endian;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};

/// How often a load is tried that a signal interrupted.
const ATTEMPTS: u32 = 5;
/// Sizes of the verifier's log: what kernels before 5.2 take at most, more, and what any takes at most. Memory is taken only as
/// far as it is written; each further size costs another verification.
const LOG_BYTES: [usize; 3] = [(1 << 24) - 1, (1 << 26) - 1, (1 << 30) - 1];

impl<K: Kernel> Loading<'_, K> {
    /// Loads a program; what the verifier said of it is kept if it was asked for.
    pub(super) fn program(&mut self, plan: &LoadPlan, program: &ProgramPlan) -> Result<(), LoadError> {
        let insns = self.insns(program);
        let fd_array: Vec<RawFd> = match plan.fd_array.as_slice() {
            [] => Vec::new(),
            modules => {
                let fds = modules.iter().map(|m| self.loaded.modules.get(*m).map_or(0, OwnedFd::as_raw_fd));
                core::iter::once(0).chain(fds).collect()
            }
        };
        let module = program.attach.module.and_then(|m| self.loaded.modules.get(m));
        let has_btf = self.loaded.btf.is_some();
        let load = ProgLoad {
            prog_type: program.program_type.number(),
            name: &program.kernel_name,
            insns: &insns,
            license: &plan.license,
            kern_version: plan.kernel_version,
            prog_flags: program.flags,
            ifindex: program.ifindex,
            expected_attach_type: program.attach_type,
            btf: self.loaded.btf().filter(|_| !program.func_info.is_empty() || !program.line_info.is_empty()),
            func_info: if has_btf { &program.func_info } else { &[] },
            func_info_rec_size: if has_btf && !program.func_info.is_empty() { 8 } else { 0 },
            line_info: if has_btf { &program.line_info } else { &[] },
            line_info_rec_size: if has_btf && !program.line_info.is_empty() { 16 } else { 0 },
            attach_btf_id: program.attach.btf_id,
            attach_to: program.attach.program.as_ref().map(|p| p.as_fd()).or(module.map(|m| m.as_fd())),
            fd_array: &fd_array,
            log_level: program.log_level,
            token: self.loaded.token(),
        };
        let (fd, log) = self.verified(plan, program, load)?;
        if plan.bind_rodata {
            for map in self.loaded.maps.iter().filter(|m| m.plan.role == MapRole::Rodata) {
                if let Some(map_fd) = map.fd()
                    && let Err(errno) = self.kernel.prog_bind_map(fd.as_fd(), map_fd)
                {
                    log::info!("program {}: does not hold map {}: {errno}", program.name, map.plan.name);
                }
            }
        }
        self.loaded.programs.push(LoadedProgram { plan: program.clone(), fd, log });
        Ok(())
    }

    /// The instructions with descriptors in place.
    fn insns(&self, program: &ProgramPlan) -> Vec<u8> {
        let mut insns = program.insns.clone();
        for fixup in &program.fixups {
            let (fd, word) = match fixup.of {
                FixupTarget::Map(at) => (self.loaded.maps.get(at).and_then(|m| m.fd.as_ref()), 4),
                FixupTarget::Module(at) => (self.loaded.modules.get(at), 12),
            };
            let at = usize::try_from(fixup.insn).unwrap_or(usize::MAX).saturating_mul(8).saturating_add(word);
            let room = insns.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
            if let (Some(fd), Some(room)) = (fd, room) {
                *room = Endian::native().u32_bytes(fd.as_raw_fd().cast_unsigned());
            }
        }
        insns
    }

    /// Loads without a log first, unless one is asked for; then again to hear why not, with more and more room.
    fn verified(
        &self,
        plan: &LoadPlan,
        program: &ProgramPlan,
        mut load: ProgLoad<'_>,
    ) -> Result<(OwnedFd, String), LoadError> {
        let mut sizes = LOG_BYTES.into_iter();
        let mut room = |load: &mut ProgLoad<'_>| {
            load.log_level = load.log_level.max(1);
            // Asked for first, since memory that cannot be had would end the process. Zeroes that nobody writes to cost nothing.
            let fits = |size: &usize| Vec::<u8>::new().try_reserve_exact(*size).is_ok();
            sizes.next().filter(fits).map(|size| vec![0; size])
        };
        let mut log = if load.log_level == 0 { Vec::new() } else { room(&mut load).unwrap_or_default() };
        let mut cut_off: Option<String> = None;
        loop {
            let refusal = match self.attempt(&load, &mut log) {
                Ok(fd) => return Ok((fd, text_of(&log))),
                Err(errno) => errno,
            };
            if (log.is_empty() || refusal == Errno(libc::ENOSPC))
                && let Some(more) = room(&mut load)
            {
                cut_off = (!log.is_empty()).then(|| text_of(&log));
                log = more;
                continue;
            }
            // A kernel that does not take so large a log says nothing: what it said before counts.
            let (errno, said) = match cut_off {
                Some(before) if refusal == Errno(libc::EINVAL) && text_of(&log).is_empty() => {
                    (Errno(libc::ENOSPC), before)
                }
                _ => (refusal, text_of(&log)),
            };
            let refused = Refused::new(plan, program, errno, said);
            let object = self.loaded.name.clone();
            return Err(LoadError::Program { object: object.into(), refused: Box::new(refused) });
        }
    }

    fn attempt(&self, load: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let mut last = self.kernel.prog_load(load, log);
        for _ in 1..ATTEMPTS {
            match last {
                Err(Errno(libc::EAGAIN)) => last = self.kernel.prog_load(load, log),
                other => return other,
            }
        }
        last
    }

    /// Programs that stand in maps from the start: tail calls, and tables of struct_ops.
    pub(super) fn programs_in_maps(&mut self, missing: Missing) -> Result<(), LoadError> {
        let fds: Vec<_> = self.loaded.programs.iter().map(|p| (p.plan.function, p.fd.as_raw_fd())).collect();
        let fd_of = |function: usize| fds.iter().find(|(f, _)| *f == function).map(|(_, fd)| *fd);
        for map in &mut self.loaded.maps {
            let programs = core::mem::take(&mut map.plan.programs);
            for (byte, function) in &programs {
                let Some(fd) = fd_of(*function) else { continue };
                // The kernel reads a descriptor in the place of a pointer.
                let word = Endian::native().u64_bytes(u64::from(fd.cast_unsigned()));
                if let Some(room) = map.plan.data.get_mut(*byte..).and_then(<[u8]>::first_chunk_mut) {
                    *room = word;
                }
            }
            map.plan.programs = programs;
        }
        for map in &self.loaded.maps {
            let Some(fd) = map.fd() else { continue };
            for (key, slot) in &map.plan.slots {
                let SlotPlan::Program(function) = slot else { continue };
                let name = &map.plan.name;
                let fail = |errno, hint: Hint| LoadError::Kernel {
                    object: self.loaded.name.clone().into(),
                    what: format!("map `{name}`: putting a program at {key}").into(),
                    errno,
                    hint: LoadHint::from(hint),
                };
                let not_loaded =
                    Hint("the program is not loaded: its section begins with `?`, or it is not wanted");
                let value = match fd_of(*function) {
                    Some(program) => program.cast_unsigned(),
                    None if missing == Missing::IsLeftOut => continue,
                    None => return Err(fail(Errno(libc::EBADF), not_loaded)),
                };
                let updated = self.kernel.map_update(fd, key.as_bytes(), value.as_bytes());
                updated.map_err(|errno| fail(errno, Hint::of(errno)))?;
            }
        }
        Ok(())
    }
}

/// The log up to its NUL.
fn text_of(log: &[u8]) -> String {
    let text = log.split(|b| *b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
