//! The check of all objects on one kernel.

use super::{
    kernel_output::{CheckPolicy, KernelKeys, KernelOutput, OutputOptions},
    report::{KernelReport, ObjectReport, REASONS, WARNINGS},
    report_cache::ReportCache,
};
use crate::{
    cmd::verdicts::{
        kernel_judge::{KernelCase, KernelJudge, bad_plan},
        objects::{JudgedObject, JudgedObjects},
        reasons::reason_lines,
        variants::{VariantChoice, VariantTables},
        warnings::warning_lines,
    },
    describe,
    error::{BadInput, escape_path},
    json::check::{ObjectKeys, Unresolved},
};
use core_relo_adaptive::variants::VariantTable;
use core_relo_kernels::{InputError, Kernel, KernelId, KernelSource, OpenedKernel, threads::Threads};
use core_relo_loader::load_plan::PlanByLoad;
use core_relo_verdict::kernel::KernelInputs;
use std::{collections::BTreeSet, io, sync::Arc};

/// A checker of all objects on any number of kernels. Threads share the checker.
pub(super) struct Checker<'c> {
    pub(super) judge: KernelJudge<'c>,
    policy: CheckPolicy<'c>,
    options: OutputOptions,
    variants: VariantTables,
    cache: ReportCache<KernelReport>,
}

impl<'c> Checker<'c> {
    pub(super) fn new(
        objects: &'c JudgedObjects<'c>,
        inputs: KernelInputs,
        policy: CheckPolicy<'c>,
        threads: &'c Threads,
        options: OutputOptions,
    ) -> Self {
        Self {
            judge: KernelJudge::with_workers(&objects.fleet, inputs, threads),
            policy,
            options,
            variants: VariantTables::default(),
            cache: ReportCache::new(),
        }
    }

    /// Chooses among the variants that the objects declare, and those of `table`. Without this call, objects
    /// are judged as other loaders load them.
    pub(super) fn with_variants(mut self, table: Option<&VariantTable>) -> Self {
        self.variants = VariantTables::new(self.judge.objects(), table);
        self
    }

    /// Returns why objects do not fit their tables of variants.
    pub(super) fn bad_variants(&self) -> impl Iterator<Item = &BadInput> {
        self.variants.errors()
    }

    /// Checks the objects on a kernel, and returns the output for the kernel. A kernel from a directory or an
    /// archive is skipped if no object has its byte order.
    pub(super) fn check(
        &self,
        id: &KernelId,
        image: Result<OpenedKernel<'_>, InputError>,
        source: &KernelSource,
    ) -> io::Result<KernelOutput> {
        let keys = KernelKeys::new(id, source.fetched());
        let is_listed = source.is_listed();
        match image.and_then(|image| self.report(image)) {
            Ok((name, report)) => {
                if let Some(bad) = report.mismatch().filter(|_| is_listed) {
                    return Ok(KernelOutput::skipped(&name, bad));
                }
                let objects: Vec<_> =
                    self.judge.objects().iter().map(|object| ObjectKeys::new(object.data.file)).collect();
                KernelOutput::new(
                    (&name, keys),
                    &report,
                    &objects,
                    (self.policy, None),
                    OutputOptions { is_listed, ..self.options },
                )
            }
            Err(error) => KernelOutput::bad_kernel(&error.into(), Some(keys), self.options),
        }
    }

    /// Returns the kernel's name and its report, from the cache if the file has been checked under another
    /// name.
    fn report(&self, image: OpenedKernel<'_>) -> Result<(String, Arc<KernelReport>), InputError> {
        let file = image.file_id();
        if let Some((path, file_id)) = &file
            && let Some(report) = self.cache.get(file_id)
        {
            log::debug!("{}: not read again: the same file was read under another name", escape_path(path));
            return Ok((escape_path(path), report));
        }
        let kernel = image.parse_with_facts(self.judge.wanted_facts())?;
        let report = Arc::new(self.check_kernel(&kernel, true));
        // The report of a module also depends on its base, which is another file.
        if let Some((_, file_id)) = file
            && !kernel.has_modules()
        {
            self.cache.insert(file_id, &report, report.memory_bytes());
        }
        Ok((kernel.name, report))
    }

    /// Judges the objects on a kernel. `is_adaptive` is unset for kernels that boot, where each program is
    /// loaded by itself.
    pub(super) fn check_kernel(&self, kernel: &Kernel, is_adaptive: bool) -> KernelReport {
        self.judge.with_kernel(kernel, None, |case| {
            let plans: Vec<_> = case.objects.iter().enumerate().collect();
            let objects = self.judge.workers().map(&plans, |(index, planned)| match &planned.plan {
                Ok(plan) => {
                    let table = self.variants.get(*index).filter(|_| is_adaptive);
                    self.object_report((planned.object, table), plan, case)
                        .unwrap_or_else(ObjectReport::Mismatch)
                }
                Err(error) => ObjectReport::Mismatch(bad_plan(error, case.kernel, planned.object)),
            });
            let modules = if is_adaptive { Vec::new() } else { needed_modules(case) };
            KernelReport {
                objects,
                modules,
                warnings: case.warnings.clone(),
                release: case.kernel.release(),
                distribution: case.kernel.distribution().cloned(),
            }
        })
    }

    fn object_report(
        &self,
        (object, table): (&JudgedObject<'_>, Option<Result<&VariantTable, &BadInput>>),
        plan: &PlanByLoad<'_, '_>,
        case: &KernelCase<'_, '_>,
    ) -> Result<ObjectReport, BadInput> {
        let choice = match table {
            Some(Ok(table)) => Some(VariantChoice::new((object, table), plan, case)?),
            Some(Err(_)) => return Ok(ObjectReport::BadVariants),
            None => None,
        };
        let verdict =
            choice.as_ref().map_or_else(|| case.judge(object, plan), |choice| choice.verdict.clone());
        let unresolved =
            plan.plan().iter().zip(&object.data.records).filter(|(reloc, _)| describe::is_unresolved(reloc));
        let unresolved = unresolved.map(|(reloc, record)| Unresolved::with_cached_record(&reloc, record));
        // Text output prints only the reasons of the verdict.
        let unresolved = if self.options.json { unresolved.collect() } else { Vec::new() };
        let (mut reasons, mut notes) = (Vec::new(), Vec::new());
        if self.options.text {
            reasons = match &choice {
                Some(choice) => reason_lines(&choice.verdict_of_load(), None, Some(REASONS)),
                None => reason_lines(&verdict, None, Some(REASONS)),
            };
            notes = choice.iter().flat_map(|choice| choice.lines(Some(REASONS))).collect();
            notes.extend(warning_lines(&verdict.warnings, Some(WARNINGS)));
        }
        let (reasons, notes) = (reasons.into(), notes.into());
        let adaptive = choice.and_then(|choice| choice.report);
        Ok(ObjectReport::Planned {
            summary: plan.plan().summary(),
            unresolved,
            verdict: Arc::new(verdict),
            adaptive,
            reasons,
            notes,
        })
    }
}

/// Returns the modules that have types or functions which the objects need and vmlinux lacks.
fn needed_modules(case: &KernelCase<'_, '_>) -> Vec<String> {
    let vmlinux = &case.kernel.target.vmlinux().name;
    let plans = case.objects.iter().filter_map(|object| object.plan.as_ref().ok());
    let relocated = plans.flat_map(|plan| plan.plan().iter().filter_map(|reloc| reloc.target_step()));
    let relocated = relocated.map(|(btf, _)| &btf.name).filter(|name| *name != vmlinux);
    let of_facts = case.answers.facts.needed_modules().into_iter().map(str::to_owned);
    let names: BTreeSet<_> = relocated.cloned().chain(of_facts).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{
        cmd::{
            check::report_bad_object,
            verdicts::objects::{ObjectFiles, with_judged_objects},
        },
        console::{Console, ExitStatus},
        format::Format,
        input::object::ObjectFile,
        settings::UserSettings,
        text::printer::Printer,
    };
    use core_relo_kernels::{InputError, KernelSelection};
    use core_relo_report::policy::AllowList;
    use core_relo_verdict::loaders::LoaderKind;
    use std::{fs, io::Read as _, ops::ControlFlow, path::Path, thread, time::Duration};

    #[test]
    fn a_file_that_changed_is_read_again() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
        let [mut old, mut new] = ["linux-5.10.btf.xz", "linux-6.1.btf.xz"].map(|name| {
            let mut bytes = Vec::new();
            let packed = fs::File::open(demo.join(name)).unwrap();
            lzma_rust2::XzReader::new(packed, false).read_to_end(&mut bytes).unwrap();
            bytes
        });
        // Bytes after the BTF are ignored.
        let len = old.len().max(new.len());
        for bytes in [&mut old, &mut new] {
            bytes.resize(len, 0);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kernel");
        fs::write(&path, old).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let source = KernelSource::File { path: path.clone(), base: None, is_listed: false };
        let selection = KernelSelection::from_sources(vec![source.clone()]);
        let visit_image = |visit: &mut dyn FnMut(OpenedKernel<'_>)| {
            let visit_result = &mut |_: &KernelId, image: Result<OpenedKernel<'_>, InputError>| {
                visit(image.unwrap());
                ControlFlow::Continue(())
            };
            assert_eq!(selection.visit_images(&source, &|_| true, visit_result), None);
        };
        let has_id = || {
            let mut has_id = false;
            visit_image(&mut |image| has_id = image.file_id().is_some());
            has_id
        };
        for _ in 0..100 {
            if has_id() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }

        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console {
            out: Printer::new(&mut out, false),
            err: Printer::new(&mut err, false),
            format: Format::Json,
            exit: ExitStatus::Success,
            batch_line: None,
        };
        let files = vec![ObjectFile::read(&demo.join("exec.bpf.o")).unwrap()];
        let files = ObjectFiles::new(files, report_bad_object);
        let (threads, allow_list) = (Threads::none(), AllowList::default());
        let policy = CheckPolicy { allow_list: &allow_list, baseline: None };
        let result = with_judged_objects(
            &mut console,
            &files,
            LoaderKind::default(),
            &UserSettings::default(),
            &threads,
            |_, objects| {
                let checker = || {
                    Checker::new(
                        objects,
                        KernelInputs::default(),
                        policy,
                        &threads,
                        OutputOptions {
                            json: true,
                            text: false,
                            report: false,
                            strict: false,
                            is_listed: false,
                        },
                    )
                };
                let lines = |checker: &Checker<'_>| {
                    let mut lines = None;
                    visit_image(&mut |image| {
                        lines = Some(checker.check(&source.id(), Ok(image), &source).unwrap().lines);
                    });
                    lines.unwrap()
                };
                let is_cached = |checker: &Checker<'_>| {
                    let mut is_cached = false;
                    visit_image(&mut |image| {
                        is_cached = checker.cache.get(&image.file_id().unwrap().1).is_some();
                    });
                    is_cached
                };
                let first_checker = checker();
                let first = lines(&first_checker);
                assert!(is_cached(&first_checker), "the test needs a cached report");
                assert_eq!(lines(&first_checker), first);
                fs::write(&path, &new)?;
                fs::File::options().write(true).open(&path)?.set_modified(modified)?;
                let changed = lines(&first_checker);
                assert_ne!(changed, first);
                assert_eq!(changed, lines(&checker()));
                Ok(())
            },
        );
        assert!(result.is_ok());
    }
}
