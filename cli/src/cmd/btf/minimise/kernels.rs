//! The minimal BTF of each selected kernel.

use crate::{
    args::btf::BtfMinArgs,
    cmd::{
        kernel_visits::{report_selection, visit_kernels},
        verdicts::{kernel_judge::KernelJudge, objects::JudgedObjects},
    },
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    fetched::kernel_paths,
    output,
    policy::ConfigArgs,
};
use core_relo::{
    Name, Plan,
    btf::Kind,
    minimise::{Detail, MinimalBtf, MinimiseError, Needs},
};
use core_relo_kernels::{
    Kernel, KernelRelease, KernelSelection, KernelSource, WantedFacts, threads::Threads,
};
use core_relo_loader::target::archive::{KernelIdentity, OsRelease, is_module_name, running_identity};
use core_relo_verdict::{
    fleet::JudgedKernel as _,
    kernel::{KernelInputs, NameQuery},
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// The minimal BTF of a kernel.
pub(super) struct MinimalKernel {
    /// The name of the kernel's file.
    pub(super) name: String,
    pub(super) identity: KernelIdentity,
    pub(super) bytes: Vec<u8>,
    pub(super) type_count: usize,
    /// The size of the full BTF in bytes, without modules.
    pub(super) full_bytes: usize,
    /// The modules that have types which the objects need.
    pub(super) modules: Vec<MinimalModule>,
    /// Whether the types have the ids of the full BTF.
    pub(super) keeps_ids: bool,
}

/// The minimal BTF of a module, split from that of its kernel.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct MinimalModule {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) type_count: usize,
}

/// The prefix of the names of struct_ops values: `bpf_struct_ops_tcp_congestion_ops`.
const STRUCT_OPS: &[u8] = b"bpf_struct_ops_";

/// The tag of kfuncs.
const KFUNC_TAG: &[u8] = b"bpf_kfunc";

/// Minimises the BTF of all selected kernels. Bad input is reported. The result is in the order of the
/// kernels.
pub(super) fn minimise_kernels(
    console: &mut Console<'_>,
    args: &BtfMinArgs,
    objects: &JudgedObjects<'_>,
) -> CommandResult<Vec<MinimalKernel>> {
    let selection = KernelSelection::new(&kernel_paths(&args.kernels, &ConfigArgs::default())?);
    report_selection(console, &selection)?;
    refuse_inputs(args, &selection)?;
    let threads = Threads::none();
    let judge = KernelJudge::with_workers(&objects.fleet, KernelInputs::default(), &threads);
    let mut kernels: Vec<MinimalKernel> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
    visit_kernels(console, &selection, &mut |console, source, image| {
        let kernel = image.and_then(|image| image.parse_with_facts(wanted))?;
        match check_byte_order(&judge, &kernel) {
            // The user did not name the kernel.
            Err(bad) if source.is_listed() => return Ok(console.note(&format!("{bad}; skipped"))?),
            order => order?,
        }
        let minimal = minimise_kernel(args, &judge, source, &kernel)?;
        add_kernel(console, (&mut kernels, &mut positions), minimal)
    })?;
    if kernels.is_empty() && console.exit == ExitStatus::Success {
        return Err(BadInput::new("--btf", "no kernel has the byte order of the objects").into());
    }
    Ok(kernels)
}

/// Refuses to replace an object, a kernel or a module by the output.
fn refuse_inputs(args: &BtfMinArgs, selection: &KernelSelection) -> Result<(), BadInput> {
    let kernels = selection.files().chain(args.kernels.base.as_deref());
    let inputs = kernels.chain(args.objects.iter().map(PathBuf::as_path));
    output::refuse_inputs(inputs, &args.output, "give the minimal BTF a name of its own with -o")
}

/// Adds a kernel, unless its name and BTF are known. Two kernels of one name are bad input.
fn add_kernel(
    console: &mut Console<'_>,
    (kernels, positions): (&mut Vec<MinimalKernel>, &mut HashMap<String, usize>),
    kernel: MinimalKernel,
) -> CommandResult {
    let file = kernel.identity.file_name();
    let known = positions.get(&file).and_then(|position| kernels.get(*position));
    match known {
        None => {
            positions.insert(file, kernels.len());
            kernels.push(kernel);
            Ok(())
        }
        Some(known)
            if (&known.bytes, &known.modules) == (&kernel.bytes, &kernel.modules)
                && known.identity == kernel.identity =>
        {
            Ok(console.note(&format!("{}: the same kernel as {}; skipped", kernel.name, known.name))?)
        }
        Some(known) => {
            let what = format!("has the name {file} in the archive, as {} has", known.name);
            let help = "rename the files: DISTRIBUTION/VERSION/ARCHITECTURE/RELEASE.btf";
            Err(BadInput::new(&*kernel.name, what).help(help).into())
        }
    }
}

/// Returns an error if no object has the kernel's byte order.
fn check_byte_order(judge: &KernelJudge<'_>, kernel: &Kernel) -> Result<(), BadInput> {
    let order = kernel.target.vmlinux().btf.endian();
    match judge.objects().first() {
        Some(first) if judge.objects().iter().all(|object| object.object.endian() != order) => {
            Ok(kernel.check_byte_order(first.object.endian())?)
        }
        _ => Ok(()),
    }
}

fn minimise_kernel(
    args: &BtfMinArgs,
    judge: &KernelJudge<'_>,
    source: &KernelSource,
    kernel: &Kernel,
) -> Result<MinimalKernel, BadInput> {
    let with_modules = with_further_modules(args, judge, kernel);
    let kernel = with_modules.as_ref().unwrap_or(kernel);
    let btf = &kernel.target.vmlinux().btf;
    let bad = |error: MinimiseError| BadInput::new(&*kernel.name, error);
    let mut needs = Needs::new(&kernel.target);
    if args.keep_ids {
        needs.keep_ids();
    }
    for plan in judge.relocation_plans(&kernel.target) {
        needs.add_plan(&plan).map_err(bad)?;
    }
    add_declarations(args, judge.names(), &mut needs);
    let minimal = needs.minimise().map_err(bad)?;
    let needed_modules = minimal.modules().iter().filter(|module| module.type_count() > 0);
    let mut modules = Vec::new();
    for module in needed_modules {
        if !is_module_name(module.name()) {
            let what =
                format!("an archive cannot have a module named {}", Name::new(module.name().as_bytes()));
            return Err(BadInput::new(&*kernel.name, what).help("rename its file: letters, digits, `_`"));
        }
        modules.push(MinimalModule {
            name: module.name().to_owned(),
            bytes: module.bytes().to_vec(),
            type_count: module.type_count(),
        });
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(MinimalKernel {
        name: kernel.name.clone(),
        identity: identify(source, kernel)?,
        bytes: minimal.vmlinux().bytes().to_vec(),
        type_count: minimal.vmlinux().type_count(),
        full_bytes: btf.as_bytes().len(),
        modules,
        keeps_ids: needs.keeps_ids(),
    })
}

/// Returns the kernel with those of its modules that may have types or declarations which vmlinux lacks.
/// Returns `None` if the modules of the kernel are unknown, or not needed.
fn with_further_modules(args: &BtfMinArgs, judge: &KernelJudge<'_>, kernel: &Kernel) -> Option<Kernel> {
    if !kernel.can_add_modules() {
        return None;
    }
    let btf = &kernel.target.vmlinux().btf;
    let plans = judge.relocation_plans(&kernel.target);
    let declarations = wanted_declarations(args, judge.names());
    let missing = declarations.iter().filter(|(name, kind, _)| btf.find(name, *kind).is_none());
    let names = missing.map(|(name, ..)| Name::new(name));
    kernel.with_modules_for(&mut plans.iter().flat_map(Plan::names_for_modules).chain(names))
}

/// Adds the declarations that the objects need, and with `--verdicts` all that `check` reads.
fn add_declarations(args: &BtfMinArgs, names: &NameQuery, needs: &mut Needs<'_>) {
    needs.add_all(wanted_declarations(args, names));
    if args.verdicts {
        needs.add_tags(KFUNC_TAG);
        needs.add_first_members();
    }
    needs.mark(if args.verdicts { MinimalBtf::ForVerdicts } else { MinimalBtf::ForLoading });
}

/// Returns the declarations that the objects need; with `--verdicts`, all that `check` reads.
fn wanted_declarations<'o>(args: &BtfMinArgs, names: &'o NameQuery) -> Vec<(&'o [u8], Kind, Detail)> {
    let needed: Vec<_> = match args.verdicts {
        true => names.all_declarations().collect(),
        false => names.needed_declarations().collect(),
    };
    let mut wanted = Vec::new();
    for (name, kind) in needed {
        let detail = match kind {
            Kind::Struct | Kind::Enum => Detail::Definition,
            _ => Detail::Declaration,
        };
        wanted.push((name, kind, detail));
        // An enum with large values has another kind.
        wanted.extend((kind == Kind::Enum).then_some((name, Kind::Enum64, detail)));
        wanted.extend(name.strip_prefix(STRUCT_OPS).map(|ops| (ops, kind, detail)));
    }
    wanted
}

/// Returns the identity of a kernel: of the running kernel what it shows, of a file what its path and its
/// image contain.
fn identify(source: &KernelSource, kernel: &Kernel) -> Result<KernelIdentity, BadInput> {
    if matches!(source, KernelSource::Running) {
        return running_identity().map_err(|e| BadInput::new(&*kernel.name, e));
    }
    let mut identity = KernelIdentity::from_file_name(&archive_path(&kernel.name));
    if let Some(release) = kernel.release() {
        identity.release = release;
    }
    kernel.version_string().unwrap_or("").clone_into(&mut identity.version);
    kernel.build_id().unwrap_or("").clone_into(&mut identity.build_id);
    if identity.architecture.is_empty() {
        let named = KernelRelease::from_name(&kernel.name).architecture;
        identity.architecture = named.unwrap_or("").to_owned();
    }
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['/', '\t', '\n']);
    if !is_plain(&identity.release) {
        return Err(BadInput::new(&*kernel.name, "its name contains no release"));
    }
    let OsRelease { id, version, .. } = &identity.distribution;
    if !is_plain(id) || !is_plain(version) {
        identity.distribution = OsRelease::default();
    }
    Ok(identity)
}

/// Returns the path that names a kernel. BTFHub puts each kernel into an archive of its own, so that the
/// archive's path has the distribution and the architecture.
fn archive_path(name: &str) -> String {
    let Some((archive, member)) = name.split_once("//") else { return name.to_owned() };
    let dir = Path::new(archive).parent().map_or_else(String::new, escape_path);
    if member.contains('/') { member.to_owned() } else { format!("{dir}/{member}") }
}
