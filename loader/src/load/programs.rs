//! Loading the programs of a plan (libbpf: `bpf_object_load_prog`).

use super::{
    error::{LoadError, LoadHint},
    kernel::Kernel,
    loaded::{LoadedMap, LoadedProgram},
    loading::Loading,
    map_owner,
    verifier::{RefusedProgram, log_text},
};
use crate::{
    hint::Hint,
    kernel_handle::descriptor,
    sys::{Errno, Pod as _, ProgLoad},
    token_scope::TokenRequest,
};
use core_relo::{Endian, insn::INSN_BYTES};
use core_relo_object::{
    MapIndex, ProgramIndex,
    load_plan::{Fixup, FixupTarget, LoadPlan, MapRole, ProgramPlan, SlotPlan},
};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

/// The number of attempts for a load that signals interrupt.
const ATTEMPTS: u32 = 5;

/// Sizes of the verifier's log: the maximum before Linux 5.2, a larger one, and the maximum of all kernels.
/// Each size costs another verification. A large log costs only the memory that the kernel writes.
const LOG_BYTES: [usize; 3] = [(1 << 24) - 1, (1 << 26) - 1, (1 << 30) - 1];

/// The bits of a log level that log instructions (kernel: `BPF_LOG_LEVEL`).
const LOG_INSNS: u32 = 3;

impl<K: Kernel> Loading<'_, K> {
    /// Loads a program. Keeps the verifier's log if the plan sets a log level.
    pub(super) fn load_program(&mut self, plan: &LoadPlan, program: &ProgramPlan) -> Result<(), LoadError> {
        let insns = self.insns_with_fds(program)?;
        let fd_array = self.fd_array(plan)?;
        let module = program.attach().module().map(|index| self.module(index)).transpose()?;
        let replaced = program.attach().program().map(descriptor).transpose();
        let replaced = replaced.map_err(|errno| {
            self.error(format!("program `{}`: using the caller's target program", program.name()), errno)
        })?;
        let has_btf = self.loaded.btf.is_some();
        let load = ProgLoad {
            prog_type: program.program_type().number(),
            name: program.kernel_name(),
            insns: &insns,
            license: plan.license(),
            kern_version: plan.kernel_version(),
            prog_flags: program.flags(),
            ifindex: program.ifindex(),
            expected_attach_type: program.attach_type(),
            btf: self
                .loaded
                .btf()
                .filter(|_| !program.func_info().is_empty() || !program.line_info().is_empty()),
            func_info: if has_btf { program.func_info() } else { &[] },
            func_info_rec_size: if has_btf && !program.func_info().is_empty() { 8 } else { 0 },
            line_info: if has_btf { program.line_info() } else { &[] },
            line_info_rec_size: if has_btf && !program.line_info().is_empty() { 16 } else { 0 },
            attach_btf_id: program.attach().type_id().map_or(0, |ty| ty.0),
            attach_to: replaced.or(module),
            fd_array: &fd_array,
            is_fd_array_bound: false,
            log_level: program.log_level(),
            token: self.loaded.token(),
            // A signature covers instructions with their descriptors, which are known only now.
            signature: None,
        };
        let (fd, log) = self.verify(plan, program, load)?;
        if plan.binds_rodata() {
            for map in self.loaded.maps.iter().filter(|m| m.plan.role() == MapRole::Rodata) {
                if let Some(map_fd) = map.fd()
                    && let Err(errno) = self.kernel.prog_bind_map(fd.as_fd(), map_fd)
                {
                    log::info!("program {}: cannot bind map {}: {errno}", program.name(), map.plan.name());
                }
            }
        }
        self.loaded.programs.push(LoadedProgram { plan: program.clone(), fd, log });
        Ok(())
    }

    /// Returns the program's instructions with the descriptors of maps and modules filled in.
    fn insns_with_fds(&self, program: &ProgramPlan) -> Result<Vec<u8>, LoadError> {
        let mut insns = program.insns().to_vec();
        for fixup in program.fixups() {
            let fd = self.fixup_fd(*fixup)?;
            let imm = imm_offset(*fixup).and_then(|at| insns.get_mut(at..)?.first_chunk_mut());
            let imm =
                imm.ok_or_else(|| self.broken_invariant("each fixup is an instruction of the program"))?;
            *imm = Endian::native().u32_bytes(fd.as_raw_fd().cast_unsigned());
        }
        Ok(insns)
    }

    fn fixup_fd(&self, fixup: Fixup) -> Result<BorrowedFd<'_>, LoadError> {
        match fixup.target() {
            FixupTarget::Map(index) => {
                let map = self.loaded.maps.get(index.0).and_then(LoadedMap::fd);
                map.ok_or_else(|| self.broken_invariant("each map that an instruction refers to is created"))
            }
            FixupTarget::Module(index) => self.module(index),
        }
    }

    /// Returns the array of module descriptors that calls of kfuncs refer to. Index 0 stands for the kernel
    /// itself.
    fn fd_array(&self, plan: &LoadPlan) -> Result<Vec<RawFd>, LoadError> {
        let mut fds = Vec::new();
        if !plan.fd_array().is_empty() {
            fds.push(0);
        }
        for index in plan.fd_array() {
            fds.push(self.module(*index)?.as_raw_fd());
        }
        Ok(fds)
    }

    /// Loads a program with the log level of the plan. If the kernel refuses the program, loads it again with
    /// a log of the instructions, which tells the reason. The log's size increases until the log fits.
    fn verify(
        &self,
        plan: &LoadPlan,
        program: &ProgramPlan,
        mut load: ProgLoad<'_>,
    ) -> Result<(OwnedFd, String), LoadError> {
        let mut sizes = LOG_BYTES.into_iter();
        let mut next_log = || sizes.next().and_then(empty_log);
        let first_log = if load.log_level == 0 { None } else { next_log() };
        #[expect(clippy::disallowed_methods, reason = "an empty log requests no log")]
        let mut log = first_log.unwrap_or_default();
        let mut truncated_log: Option<String> = None;
        loop {
            let errno = match self.retry_load(&load, &mut log) {
                Ok(fd) => return Ok((fd, log_text(&log))),
                Err(errno) => errno,
            };
            if load.log_level & LOG_INSNS == 0 {
                load.log_level |= 1;
                let same_size = if log.is_empty() { next_log() } else { empty_log(log.len()) };
                if let Some(same_size) = same_size {
                    log = same_size;
                    continue;
                }
            } else if (log.is_empty() || errno == Errno(libc::ENOSPC))
                && let Some(larger_log) = next_log()
            {
                truncated_log = (!log.is_empty()).then(|| log_text(&log));
                log = larger_log;
                continue;
            }
            // A kernel that refuses a log of this size writes nothing. Then the log of the smaller size
            // counts.
            let (errno, text) = match truncated_log {
                Some(truncated) if errno == Errno(libc::EINVAL) && log_text(&log).is_empty() => {
                    (Errno(libc::ENOSPC), truncated)
                }
                _ => (errno, log_text(&log)),
            };
            let mut refused = Box::new(RefusedProgram::new(plan, program, errno, text));
            let request = TokenRequest::Program {
                program_type: program.program_type().number(),
                attach_type: program.attach_type(),
            };
            // The verifier writes its own reasons.
            if refused.log.trim().is_empty()
                && let Some(hint) = self.token_refusal(request, errno)
            {
                refused.hint = hint;
            }
            if let Some(hint) = map_owner::explain_refusal(&self.loaded, program, &refused) {
                refused.hint = hint;
            }
            let object = self.loaded.name.clone().into();
            return Err(LoadError::Program { object, refused, others: Vec::new() });
        }
    }

    /// Loads a program, again if a signal interrupts the verifier.
    fn retry_load(&self, load: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let mut result = self.kernel.prog_load(load, log);
        for _ in 1..ATTEMPTS {
            match result {
                Err(Errno(libc::EAGAIN)) => result = self.kernel.prog_load(load, log),
                other => return other,
            }
        }
        result
    }

    /// Puts programs into the maps that hold them: arrays of tail calls and struct_ops maps. An element whose
    /// program is not loaded stays empty.
    pub(super) fn fill_maps_with_programs(&mut self) -> Result<(), LoadError> {
        self.fill_struct_ops()?;
        for (index, map) in (0..).map(MapIndex).zip(&self.loaded.maps) {
            let Some(fd) = map.fd() else { continue };
            for (key, slot) in map.plan.slots() {
                let SlotPlan::Program(function) = slot else { continue };
                let failed = |errno, hint: LoadHint| {
                    let request = format!("map `{}`: putting a program at {key}", map.plan.name());
                    self.error_with_hint(request, errno, hint)
                };
                let Some(program) = self.find_program(*function) else { continue };
                let program_fd = program.fd.as_raw_fd().cast_unsigned();
                let updated = self.kernel.map_update(fd, key.as_bytes(), program_fd.as_bytes());
                updated.map_err(|errno| {
                    let owner = map_owner::explain_misfit(&self.loaded, index, map, &program.plan);
                    let owner = owner.filter(|_| errno.0 == libc::EINVAL).map(LoadHint);
                    failed(errno, owner.unwrap_or_else(|| Hint::for_errno(errno).into()))
                })?;
            }
        }
        Ok(())
    }

    /// Writes the descriptors of programs to the values of struct_ops maps, which the kernel gets when the
    /// map is registered.
    fn fill_struct_ops(&mut self) -> Result<(), LoadError> {
        for index in 0..self.loaded.maps.len() {
            let Some(map) = self.loaded.maps.get(index).filter(|map| map.fd.is_some()) else { continue };
            let mut fds = Vec::new();
            for slot in map.plan.programs() {
                // A program that is not loaded leaves a null pointer: the operation is optional.
                fds.extend(self.program_fd(slot.program()).map(|fd| (*slot, fd)));
            }
            let Some(map) = self.loaded.maps.get_mut(index) else { continue };
            let set = |(slot, fd)| map.plan.set_program_fd(slot, fd);
            if let Err(cause) = fds.into_iter().try_for_each(set) {
                return Err(LoadError::Internal { object: self.loaded.name.clone().into(), cause });
            }
        }
        Ok(())
    }

    fn program_fd(&self, function: ProgramIndex) -> Option<RawFd> {
        self.find_program(function).map(|program| program.fd.as_raw_fd())
    }

    fn find_program(&self, function: ProgramIndex) -> Option<&LoadedProgram> {
        self.loaded.programs.iter().find(|program| program.plan.function() == function)
    }
}

/// Returns a buffer for a log, or `None` if there is too little memory.
fn empty_log(size: usize) -> Option<Vec<u8>> {
    // A failed `vec!` would end the process. Zeros that nobody writes to cost no memory.
    Vec::<u8>::new().try_reserve_exact(size).is_ok().then(|| vec![0; size])
}

/// Returns the offset of the `imm` that a fixup sets: that of the first half of a map's `ld_imm64`, or of the
/// second half for a module.
fn imm_offset(fixup: Fixup) -> Option<usize> {
    let offset_in_insn = match fixup.target() {
        FixupTarget::Map(_) => 4,
        FixupTarget::Module(_) => 12,
    };
    usize::try_from(fixup.insn()).ok()?.checked_mul(INSN_BYTES)?.checked_add(offset_in_insn)
}
