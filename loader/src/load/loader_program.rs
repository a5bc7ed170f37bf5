//! Executes loader programs: the kernel creates the maps and loads the programs of an object by itself.

use super::{
    error::LoadError,
    loaded::{Loaded, LoadedMap, LoadedProgram},
    signature::SignatureRefusal,
    verifier::{RefusedProgram, log_text},
};
use crate::{
    hint::Hint,
    sys::{
        self, Errno, IsolationError, IsolationStep, Keyring, LoaderProgramRun, MapCreate, MapShape, Pod as _,
        ProgLoad, ProgSignature,
    },
};
use core_relo::Endian;
use core_relo_object::{
    InternalError,
    load_plan::{LoadPlanError, MapAttributes, MapPlan, MapRole, ProgramPlan, prog_flags},
    loader_program::{
        LoaderFile, LoaderSignatures, LoaderStep, StepKind,
        context::{context_bytes, map_fd_offset, max_entries_offset, program_fd_offset},
    },
    map_flags,
    object::{MapType, ProgramType},
};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// The license of loader programs. The helpers that they call do not need one.
const LICENSE: &[u8] = b"Dual BSD/GPL";
/// The names of the loader's map and program in the kernel, as in libbpf.
const MAP_NAME: &[u8] = b"__loader.map";
const PROGRAM_NAME: &[u8] = b"__loader.prog";
/// Sizes of the verifier's log, see `programs.rs`.
const LOG_BYTES: [usize; 3] = [(1 << 24) - 1, (1 << 26) - 1, (1 << 30) - 1];

/// The beginning of the log of BTF, which stays if the kernel refuses a program without a word.
const BTF_LOG: &str = "magic: 0x";

/// The message of kernels from 7.3 about a signed program with a map that the signature does not cover.
const UNBOUND: &str = "signed program must bind maps";

/// Executes a loader program (libbpf: `bpf_load_and_run`), which needs Linux 5.14.
///
/// If the program fails, the kernel holds nothing of the object. A refused program is verified again with a
/// log of the instructions.
///
/// The instructions of a loader file run in the kernel with the rights of this process. Execute only files
/// that you trust, or that are signed. The program runs in a thread with a descriptor table of its own, so
/// that it cannot close or replace descriptors of this process, and the returned maps and programs are
/// checked against the file.
///
/// The kernel does not check a signature in the file: see [`execute_signed_loader_program`].
pub fn execute_loader_program(file: &LoaderFile) -> Result<Loaded, LoadError> {
    LoaderRun { file, signatures: None }.execute()
}

/// Executes a loader program whose signature the kernel checks (Linux 6.18). The keyring has the certificate
/// of the key.
///
/// Linux 7.3 checks the signature over instructions and data, older kernels that over the instructions.
pub fn execute_signed_loader_program(file: &LoaderFile, keyring: Keyring) -> Result<Loaded, LoadError> {
    let unsigned = || LoadError::Unsigned { object: file.name().into() };
    let signatures = file.signatures().ok_or_else(unsigned)?;
    LoaderRun { file, signatures: Some((signatures, keyring)) }.execute()
}

/// An execution of a loader program.
struct LoaderRun<'f> {
    file: &'f LoaderFile,
    /// The signatures, one of which the kernel checks, and the keyring with the certificate.
    signatures: Option<(&'f LoaderSignatures, Keyring)>,
}

/// The result of an attempt.
enum Attempt {
    Loaded(Loaded),
    Failed(Failure),
}

/// A loader program that failed.
struct Failure {
    errno: Errno,
    step: Option<LoaderStep>,
    /// The log of the last BTF or program; `None` without log.
    log: Option<String>,
}

impl Failure {
    /// Returns whether a log, or a larger one, would tell the reason.
    fn needs_log(&self) -> bool {
        let kind = self.step.as_ref().map(|step| step.kind);
        let has_log = matches!(kind, Some(StepKind::LoadBtf | StepKind::LoadProgram));
        has_log && (self.log.is_none() || self.errno == Errno(libc::ENOSPC))
    }
}

impl LoaderRun<'_> {
    fn execute(&self) -> Result<Loaded, LoadError> {
        let file = self.file;
        if file.endian() != Endian::native() {
            let cause = LoadPlanError::Endian { is_big: file.endian() == Endian::Big };
            return Err(LoadError::Plan { object: file.name().into(), cause });
        }
        let mut failure = match self.attempt(&mut [])? {
            Attempt::Loaded(loaded) => return Ok(loaded),
            Attempt::Failed(failure) => failure,
        };
        for size in LOG_BYTES {
            if !failure.needs_log() {
                break;
            }
            let mut log = vec![0; size];
            match self.attempt(&mut log)? {
                Attempt::Loaded(loaded) => return Ok(loaded),
                Attempt::Failed(again) => failure = again,
            }
        }
        Err(self.explain(failure))
    }

    /// Loads and runs the loader program once.
    fn attempt(&self, log: &mut [u8]) -> Result<Attempt, LoadError> {
        let file = self.file;
        let map = self.create_data_map()?;
        let program = self.load_program(&map)?;
        let mut context = self.context()?;
        let fd_offsets = self.fd_offsets().ok_or_else(|| self.broken_invariant())?;
        let run = sys::run_loader_program(&program, &mut context, &fd_offsets, 1, log);
        let LoaderProgramRun { result, descriptors } = run.map_err(|error| self.failed_run(error))?;
        if result < 0 {
            let errno = Errno(result.checked_neg().unwrap_or(libc::EIO));
            let step = self.last_step(&map);
            let log = if log.is_empty() { None } else { Some(log_text(log)) };
            return Ok(Attempt::Failed(Failure { errno, step, log }));
        }
        let mut loaded = Loaded { name: file.name().to_owned(), ..Loaded::default() };
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| self.broken_invariant());
        for map in file.maps() {
            let mut loaded_map = LoadedMap::new(MapPlan::for_loader_map(map));
            loaded_map.fd = Some(next()?);
            loaded.maps.push(loaded_map);
        }
        for (index, program) in file.programs().iter().enumerate() {
            let plan = ProgramPlan::for_loader_program(index, program);
            loaded.programs.push(LoadedProgram { plan, fd: next()?, log: String::new() });
        }
        self.check_objects(&loaded)?;
        bind_rodata(&loaded);
        Ok(Attempt::Loaded(loaded))
    }

    /// Returns the offsets of the descriptors in the context: those of maps, then those of programs. Returns
    /// `None` for an offset beyond the address space.
    fn fd_offsets(&self) -> Option<Vec<usize>> {
        let map_count = self.file.maps().len();
        let maps = (0..map_count).map(map_fd_offset);
        let programs = (0..self.file.programs().len()).map(|index| program_fd_offset(map_count, index));
        maps.chain(programs).collect()
    }

    /// Returns the error of a run that did not take place, or whose descriptors cannot be taken.
    fn failed_run(&self, error: IsolationError) -> LoadError {
        let IsolationError { step, errno } = error;
        let hint = match step {
            IsolationStep::OwnTable => Hint(
                "a seccomp filter or security module forbids the call, without which the loader program could close descriptors of this process",
            ),
            IsolationStep::Send(_) if errno == Errno(libc::EBADF) => {
                Hint("the loader program wrote no new descriptor to its context")
            }
            _ => Hint::for_errno(errno),
        };
        let request = match step {
            IsolationStep::Call => "running the loader program".to_owned(),
            step => format!("running the loader program: {step}"),
        };
        self.error_with_hint(request, errno, hint)
    }

    /// Creates the map with the program's data. If the program checks its data, only the program can use the
    /// map, and the kernel hashes it.
    fn create_data_map(&self) -> Result<OwnedFd, LoadError> {
        let file = self.file;
        let failed =
            |action: &str, errno| self.error(format!("the data of the loader program: {action}"), errno);
        let hash = file.instructions_hash();
        let value_size = u32::try_from(file.data().len()).map_err(|_large| self.broken_invariant())?;
        let create = MapCreate {
            map_type: MapType::Array.number(),
            name: MAP_NAME,
            key_size: 4,
            value_size,
            max_entries: 1,
            excl_prog_hash: if file.checks_data() { &hash } else { &[] },
            ..MapCreate::default()
        };
        let map = match sys::map_create(&create) {
            Err(errno @ Errno(libc::E2BIG | libc::EINVAL)) if file.checks_data() => {
                let hint = Hint("a loader program that checks its data needs Linux 6.18");
                let request = "the data of the loader program: creating its map".into();
                return Err(self.error_with_hint(request, errno, hint));
            }
            created => created.map_err(|errno| failed("creating its map", errno))?,
        };
        let shape = MapShape::query(&map).map_err(|errno| failed("reading its map", errno))?;
        let filled = shape.update(0_u32.as_bytes(), file.data(), 0);
        filled.map_err(|errno| failed("filling its map", errno))?;
        if file.checks_data() {
            sys::map_freeze(&map).map_err(|errno| failed("freezing its map", errno))?;
            sys::map_hash(&map).map_err(|errno| failed("hashing its map", errno))?;
        }
        Ok(map)
    }

    /// Loads the loader program. If the verifier refuses the program, loads it again with a log.
    fn load_program(&self, map: &OwnedFd) -> Result<OwnedFd, LoadError> {
        let file = self.file;
        let fd_array = [map.as_raw_fd()];
        let load = ProgLoad {
            prog_type: ProgramType::Syscall.number(),
            name: PROGRAM_NAME,
            insns: file.instructions(),
            license: LICENSE,
            // The program waits for other requests.
            prog_flags: prog_flags::SLEEPABLE,
            fd_array: &fd_array,
            ..ProgLoad::default()
        };
        let Some((signatures, keyring)) = self.signatures else { return self.verify(load) };
        let sign = |pkcs7| Some(ProgSignature { pkcs7, keyring });
        let with_data =
            ProgLoad { signature: sign(&signatures.instructions_and_data), is_fd_array_bound: true, ..load };
        let mismatch = match self.verify(with_data) {
            Err(error @ LoadError::Signature { refusal: SignatureRefusal::Mismatch, .. }) => error,
            other => return other,
        };
        // Kernels before 7.3 verify the instructions alone.
        match self.verify(ProgLoad { signature: sign(&signatures.instructions), ..load }) {
            Err(error) if error.verifier_log().is_some_and(|log| log.contains(UNBOUND)) => Err(mismatch),
            other => other,
        }
    }

    /// Loads the program. If the kernel refuses it, the error has the reason: the signature, or the
    /// verifier's log.
    fn verify(&self, mut load: ProgLoad<'_>) -> Result<OwnedFd, LoadError> {
        let file = self.file;
        let errno = match sys::prog_load(&load, &mut []) {
            Ok(program) => return Ok(program),
            Err(errno) => errno,
        };
        if let Some(refusal) =
            load.signature.and_then(|signature| SignatureRefusal::explain(errno, &signature))
        {
            return Err(LoadError::Signature { object: file.name().into(), errno, refusal });
        }
        load.log_level = 1;
        let [size, ..] = LOG_BYTES;
        let mut log = vec![0; size];
        if let Ok(program) = sys::prog_load(&load, &mut log) {
            return Ok(program);
        }
        let refused = RefusedProgram::from_log("__loader.prog", "syscall", errno, log_text(&log));
        Err(LoadError::Program { object: file.name().into(), refused: Box::new(refused), others: Vec::new() })
    }

    /// Returns the context of the program.
    fn context(&self) -> Result<Vec<u8>, LoadError> {
        let file = self.file;
        let bytes = context_bytes(file.maps().len(), file.programs().len());
        let mut context = vec![0; bytes.ok_or_else(|| self.broken_invariant())?];
        for (index, _) in file.maps().iter().enumerate().filter(|(_, map)| map.entry_per_cpu) {
            let cpus = sys::possible_cpus()
                .map_err(|e| self.error("the number of possible CPUs".into(), Errno::from_io_error(&e)))?;
            let place =
                max_entries_offset(index).and_then(|offset| context.get_mut(offset..)?.first_chunk_mut());
            *place.ok_or_else(|| self.broken_invariant())? = Endian::native().u32_bytes(cpus);
        }
        Ok(context)
    }

    /// Reads the last step of the program from its data.
    fn last_step(&self, map: &OwnedFd) -> Option<LoaderStep> {
        let mut data = vec![0; self.file.data().len()];
        let read = MapShape::query(map).and_then(|shape| shape.lookup(0_u32.as_bytes(), &mut data, 0));
        if let Err(errno) = read {
            log::info!("{}: the step at which the loader program failed: {errno}", self.file.name());
            return None;
        }
        LoaderStep::read(Endian::native(), &data)
    }

    /// Checks that the descriptors are of maps and programs as the file describes them. A hostile loader
    /// program can return any others.
    fn check_objects(&self, loaded: &Loaded) -> Result<(), LoadError> {
        let wrong = |kind: &str, name: &str| {
            self.error(
                format!("{kind} `{name}`: the loader program returned another object"),
                Errno(libc::EINVAL),
            )
        };
        let cpus = sys::possible_cpus()
            .map_err(|e| self.error("counting the possible CPUs".into(), Errno::from_io_error(&e)))?;
        for (map, described) in loaded.maps.iter().zip(self.file.maps()) {
            let MapAttributes { map_type, key_size, value_size, .. } = described.attributes;
            let info = map.fd().and_then(|fd| sys::MapInfo::query(&fd).ok());
            let is_described = info.is_some_and(|info| {
                (info.map_type, info.key_size, info.value_size) == (map_type, key_size, value_size)
                    && (described.entry_per_cpu
                        || fits_entries(&described.attributes, info.max_entries, cpus))
            });
            if !is_described {
                return Err(wrong("map", map.name()));
            }
        }
        for program in &loaded.programs {
            let info = sys::ProgramInfo::query(&program.as_fd());
            if !info.is_ok_and(|info| info.prog_type == program.plan.program_type().number()) {
                return Err(wrong("program", program.name()));
            }
        }
        Ok(())
    }

    /// Returns the error of a program that failed.
    fn explain(&self, failure: Failure) -> LoadError {
        let Failure { errno, step, log } = failure;
        let Some(step) = step else {
            return self.error("running the loader program".into(), errno);
        };
        match step.kind {
            StepKind::LoadProgram => {
                let section = self.file.programs().iter().find(|program| program.name == step.name);
                let section = section.map_or("", |program| &*program.section);
                #[expect(clippy::disallowed_methods, reason = "the verifier wrote no log")]
                let log = log.filter(|log| !log.starts_with(BTF_LOG)).unwrap_or_default();
                let refused = RefusedProgram::from_log(&step.name, section, errno, log);
                LoadError::Program {
                    object: self.file.name().into(),
                    refused: Box::new(refused),
                    others: Vec::new(),
                }
            }
            StepKind::LoadBtf => {
                let mut lines = log.iter().flat_map(|log| log.lines().rev());
                let last_line = lines.find(|line| !line.trim().is_empty());
                self.error(format!("BTF ({})", last_line.unwrap_or("the kernel does not say why")), errno)
            }
            StepKind::CreateMap | StepKind::CreateInnerMap | StepKind::FillMap | StepKind::FreezeMap => {
                let hint = self.map_hint(&step.name, errno);
                LoadError::Kernel {
                    object: self.file.name().into(),
                    request: step.to_string().into(),
                    map: Some(step.name.into()),
                    errno,
                    hint: hint.into(),
                }
            }
            StepKind::FindSymbol => {
                let hint = Hint("neither the kernel nor a loaded module has a symbol of this name and kind");
                let hint = if errno == Errno(libc::ENOENT) { hint } else { Hint::for_errno(errno) };
                self.error_with_hint(step.to_string(), errno, hint)
            }
            StepKind::CheckData => {
                let hint = Hint("the data was changed after the loader program was generated");
                self.error_with_hint("the data of the loader program has a wrong hash".into(), errno, hint)
            }
            _ => self.error(step.to_string(), errno),
        }
    }

    /// Returns the reason for a refused map. The size of a ring buffer was computed for the pages of the
    /// machine for which the file was generated.
    fn map_hint(&self, name: &str, errno: Errno) -> Hint {
        let map = self.file.maps().iter().find(|map| map.name == name);
        let is_ring = |kind| matches!(kind, MapType::Ringbuf | MapType::UserRingbuf);
        let ring = map.filter(|map| map.known_type().is_some_and(is_ring));
        let has_whole_pages = |bytes: u32| bytes.is_multiple_of(sys::page_bytes());
        match ring {
            Some(ring) if errno == Errno(libc::EINVAL) && !has_whole_pages(ring.attributes.max_entries) => {
                Hint("the loader file was generated for smaller pages: generate it with --page-size")
            }
            _ => Hint::for_errno(errno),
        }
    }

    #[cold]
    fn error(&self, request: String, errno: Errno) -> LoadError {
        self.error_with_hint(request, errno, Hint::for_errno(errno))
    }

    #[cold]
    fn error_with_hint(&self, request: String, errno: Errno, hint: Hint) -> LoadError {
        let object = self.file.name().into();
        LoadError::Kernel { object, request: request.into(), map: None, errno, hint: hint.into() }
    }

    #[cold]
    fn broken_invariant(&self) -> LoadError {
        let cause =
            InternalError::new("the context of a loader program has a place for each map and program");
        LoadError::Internal { object: self.file.name().into(), cause }
    }
}

/// Returns whether a map of a loader program has the number of elements that the file describes. The kernel
/// rounds up the number of an LRU map whose processors have lists of their own (`BPF_F_NO_COMMON_LRU`) to a
/// multiple of the possible processors.
fn fits_entries(described: &MapAttributes, found: u32, cpus: u32) -> bool {
    let is_lru =
        matches!(MapType::from_number(described.map_type), Some(MapType::LruHash | MapType::LruPercpuHash));
    match described.max_entries.checked_next_multiple_of(cpus) {
        Some(rounded) if is_lru && described.map_flags & map_flags::NO_COMMON_LRU != 0 => found == rounded,
        _ => found == described.max_entries,
    }
}

/// Binds the read-only data maps to every program, as a load without loader program does.
fn bind_rodata(loaded: &Loaded) {
    for map in loaded.maps.iter().filter(|map| map.plan.role() == MapRole::Rodata) {
        for program in &loaded.programs {
            if let Some(fd) = map.fd()
                && let Err(errno) = sys::prog_bind_map(program, fd)
            {
                log::info!("program {}: cannot bind map {}: {errno}", program.name(), map.name());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_rounds_up_the_elements_of_lru_maps_with_lists_of_processors() {
        let described = |map_type: MapType, map_flags| MapAttributes {
            map_type: map_type.number(),
            max_entries: 3,
            map_flags,
            ..MapAttributes::default()
        };
        let per_processor = described(MapType::LruHash, 2);
        assert!(fits_entries(&per_processor, 4, 2) && !fits_entries(&per_processor, 3, 2));
        for plain in [described(MapType::LruHash, 0), described(MapType::Hash, 2)] {
            assert!(fits_entries(&plain, 3, 2) && !fits_entries(&plain, 4, 2));
        }
    }
}
