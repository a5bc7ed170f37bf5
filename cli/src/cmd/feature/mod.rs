//! `feature`: what a kernel offers. The running kernel is probed, other kernels are judged by evidence.
//!
//! | file | contents |
//! |---|---|
//! | `catalog`, `names` | the features with their sections and names; the search by name |
//! | `answer`, `source` | the answers, and how they are found: probes, or evidence |
//! | `model`, `text` | the answers as JSON and as text |

mod answer;
mod catalog;
mod model;
mod names;
mod source;
mod text;

use super::{
    kernel_visits::{report_selection, visit_kernels},
    load::setup::token_source,
    verdicts::kernel_inputs,
};
use crate::{
    args::feature::{FeatureArgs, Section},
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    fetched::kernel_paths,
    format::Format,
    policy::ConfigArgs,
};
use answer::Support;
use catalog::{Entry, entries};
use clap::ValueEnum as _;
use core_relo::{Name, Target, btf::Kind};
use core_relo_kernels::{Kernel, KernelSelection, KernelSource, WantedFacts, running_release};
use core_relo_loader::{features::Prober, object::ProgramType};
use core_relo_verdict::fleet::JudgedKernel as _;
use core_relo_verdict::kernel::{KernelFacts, KernelInputs, KernelName, NameQuery, known_kfuncs};
use model::{AnsweredFeature, KernelFeatures, Method};
pub(crate) use names::feature_names;
use names::{NameFilter, check_words, find_program_type, nearest, unknown_name};
use source::AnswerSource;
use std::io;

/// The environment variable that names the bpffs of a token if the option does not.
const TOKEN_VARIABLE: &str = "LIBBPF_BPF_TOKEN_PATH";

/// The facts that answers need of a kernel besides its BTF.
const WANTED: WantedFacts =
    WantedFacts { version_and_kconfig: true, symbols: true, refused_attach_types: false };

pub(crate) fn run(console: &mut Console<'_>, args: &FeatureArgs) -> CommandResult {
    let wanted_features = FeatureQuery::new(args)?;
    let inputs = kernel_inputs(&args.evidence())?;
    let selection = KernelSelection::new(&kernel_paths(&args.kernels, &ConfigArgs::default())?);
    report_selection(console, &selection)?;
    if args.unprivileged {
        drop_capabilities().map_err(|error| BadInput::new("--unprivileged", error))?;
    }
    let prober = prober(args, &selection)?;
    let mut answered = Vec::new();
    visit_kernels(console, &selection, &mut |console, source, image| {
        let is_running = *source == KernelSource::Running;
        match image
            .and_then(|image| image.parse_with_facts(WANTED))
            .map_err(BadInput::from)
            .and_then(fit_for_answers)
        {
            Ok(kernel) => {
                let probing = prober.as_ref().filter(|_| is_running);
                answered.push(wanted_features.answer_for_kernel(&kernel, &inputs, probing));
            }
            Err(bad) if is_running => {
                console.note(&bad.to_string())?;
                answered.extend(prober.as_ref().map(|probing| wanted_features.answer_without_btf(probing)));
            }
            Err(bad) => return Err(bad.into()),
        }
        Ok(())
    })?;
    let unknown = wanted_features.take_unknown_names(&mut answered);
    unknown.iter().try_for_each(|bad| console.report_error(bad))?;
    if wanted_features.names.is_some() {
        let supports = answered.iter().flat_map(|kernel| &kernel.features).map(|f| f.answer.support());
        supports.for_each(|support| match support {
            Support::Yes => {}
            Support::No => console.raise_exit(ExitStatus::Incompatible),
            Support::Unknown => console.raise_exit(ExitStatus::Error),
        });
    }
    match args.format {
        Format::Json => Ok(answered.iter().try_for_each(|kernel| console.out.json(kernel))?),
        Format::Text if !unknown.is_empty() && answered.iter().all(|kernel| kernel.features.is_empty()) => {
            Ok(())
        }
        Format::Text => Ok(text::write(&mut console.out, &answered, wanted_features.names.is_some())?),
    }
}

/// Drops the effective capabilities of this thread.
fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None)?;
    sets.effective = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}

/// Probes of the running kernel, and how they are made.
struct Probing {
    prober: Prober,
    method: Method,
}

/// Returns the prober of the running kernel. Returns `None` if the kernel is not among those of the query.
fn prober(args: &FeatureArgs, selection: &KernelSelection) -> Result<Option<Probing>, BadInput> {
    if !selection.sources.contains(&KernelSource::Running) {
        return Ok(None);
    }
    if args.unprivileged {
        return Ok(Some(Probing { prober: Prober::new(), method: Method::ProbeUnprivileged }));
    }
    let prober = Prober::from_token_source(&token_source(args.token.as_deref())).map_err(|error| {
        BadInput::new(if args.token.is_some() { "--token" } else { TOKEN_VARIABLE }, error)
    })?;
    let method = if prober.has_token() { Method::ProbeWithToken } else { Method::Probe };
    Ok(Some(Probing { prober, method }))
}

/// Returns an error for a kernel whose BTF lacks the types that answers need.
fn fit_for_answers(kernel: Kernel) -> Result<Kernel, BadInput> {
    kernel.check_for_verdicts()?;
    Ok(kernel)
}

/// The features to look up in each kernel.
struct FeatureQuery {
    /// The features, without kfuncs.
    entries: Vec<Entry>,
    sections: Vec<Section>,
    /// The names; `None` for all features.
    names: Option<Vec<NameFilter>>,
    caller: Option<ProgramType>,
    query: NameQuery,
    /// The names that may be those of kfuncs.
    kfuncs: Vec<KernelName>,
}

impl FeatureQuery {
    fn new(args: &FeatureArgs) -> Result<Self, BadInput> {
        check_words(args.names())?;
        let names: Result<Vec<_>, _> = args.names().iter().map(|name| NameFilter::new(name)).collect();
        let names = Some(names?).filter(|names| !names.is_empty());
        let caller = args.program_type.as_deref().map(find_program_type).transpose()?;
        let sections =
            if args.section.is_empty() { Section::value_variants().to_vec() } else { args.section.clone() };
        let mut entries = entries();
        entries.retain(|entry| {
            let is_named = names.as_ref().is_none_or(|names| names.iter().any(|name| name.matches(entry)));
            is_named && sections.contains(&entry.section)
        });
        let mut query = NameQuery::default();
        let wanted = Self { entries, sections, names, caller, query: query.clone(), kfuncs: Vec::new() };
        if wanted.lists_kfuncs() {
            for name in known_kfuncs() {
                query.declaration(name.as_bytes(), Kind::Func);
            }
        }
        let names = wanted.names.iter().flatten();
        let kfuncs = names.filter(|name| name.is_name() && !wanted.has_entry(name));
        let mut kfuncs: Vec<_> =
            kfuncs.map(|name| query.declaration(name.given.as_bytes(), Kind::Func)).collect();
        kfuncs.dedup();
        Ok(Self { query, kfuncs, ..wanted })
    }

    fn answer_for_kernel(
        &self,
        kernel: &Kernel,
        given: &KernelInputs,
        probing: Option<&Probing>,
    ) -> KernelFeatures {
        let wants = |section| self.entries.iter().any(|entry: &Entry| entry.section == section);
        // Reading the symbols takes longer than all probes.
        let wanted = WantedFacts { version_and_kconfig: wants(Section::Config), ..WantedFacts::default() };
        let inputs = kernel.inputs(given, wanted);
        let target: &Target<'_> = &kernel.target;
        let facts = KernelFacts::new(target, &self.query, &inputs);
        let prober = probing.map(|probing| &probing.prober);
        let source = AnswerSource::new(Some(&facts), prober, self.caller, self.names.is_some());
        let features = self.answer(&source);
        let method = probing.map_or(Method::Evidence, |probing| probing.method);
        KernelFeatures { kernel: kernel.name.clone(), method, features }
    }

    /// Asks the running kernel, which has no BTF.
    fn answer_without_btf(&self, probing: &Probing) -> KernelFeatures {
        let source = AnswerSource::new(None, Some(&probing.prober), self.caller, self.names.is_some());
        let kernel = format!("linux {} (running)", running_release());
        KernelFeatures { kernel, method: probing.method, features: self.answer(&source) }
    }

    fn answer(&self, source: &AnswerSource<'_>) -> Vec<AnsweredFeature> {
        let answer = |entry: Entry| AnsweredFeature { answer: source.answer(&entry), entry };
        let mut features: Vec<_> = self.entries.iter().cloned().map(answer).collect();
        if let Some(facts) = source.facts.filter(|_| self.sections.contains(&Section::Kfuncs)) {
            features.extend(self.kfuncs(source, facts));
        }
        features
    }

    /// Returns the answers for kfuncs: those of the kernel, and named ones that may be kfuncs of another
    /// kernel.
    fn kfuncs(&self, source: &AnswerSource<'_>, facts: &KernelFacts<'_>) -> Vec<AnsweredFeature> {
        let answer = |name: &str, exists| {
            let answer = source.kfunc(name, exists);
            AnsweredFeature { entry: Entry::kfunc(name), answer }
        };
        let named = self.kfuncs.iter().map(|name| answer(&Name::new(name).to_string(), facts.kfunc(name)));
        let mut answers: Vec<_> = named.collect();
        if self.lists_kfuncs() {
            let is_wanted = |name: &str| match &self.names {
                Some(patterns) => {
                    let entry = Entry::kfunc(name);
                    patterns.iter().any(|pattern| !pattern.is_name() && pattern.matches(&entry))
                }
                None => true,
            };
            let listed = facts.kfuncs().into_iter().filter(|(name, _)| is_wanted(name));
            answers.extend(listed.map(|(name, exists)| answer(&name, exists)));
        }
        answers
    }

    /// Returns whether all kfuncs of a kernel are looked at, not only named ones.
    fn lists_kfuncs(&self) -> bool {
        let has_pattern = |names: &Vec<NameFilter>| names.iter().any(|name| !name.is_name());
        self.sections.contains(&Section::Kfuncs) && self.names.as_ref().is_none_or(has_pattern)
    }

    fn has_entry(&self, name: &NameFilter) -> bool {
        self.entries.iter().any(|entry| name.matches(entry))
    }

    /// Removes the answers for names that neither a feature nor a kfunc of any kernel has. Returns an error
    /// for each such name.
    fn take_unknown_names(&self, answered: &mut [KernelFeatures]) -> Vec<BadInput> {
        let all = entries();
        let mut unknown = Vec::new();
        for name in self.names.iter().flatten().filter(|name| !self.has_entry(name)) {
            let is_kfunc = |feature: &AnsweredFeature| {
                feature.entry.section == Section::Kfuncs
                    && (if name.is_name() {
                        feature.entry.name == name.given
                    } else {
                        name.matches(&feature.entry)
                    })
            };
            let mut features = answered.iter().flat_map(|kernel| &kernel.features);
            let exists = features.any(|f| is_kfunc(f) && f.answer.support() == Support::Yes);
            let is_known = name.is_name() && names::is_known_kfunc(&name.given);
            if exists || (is_known && self.sections.contains(&Section::Kfuncs)) {
                continue;
            }
            for kernel in &mut *answered {
                kernel.features.retain(|feature| !is_kfunc(feature));
            }
            let in_other_section = all.iter().find(|entry| name.matches(entry));
            unknown.push(match in_other_section {
                Some(entry) => {
                    let section = entry.section.name();
                    BadInput::new(
                        &*entry.name,
                        format!("is in section {section}, which --section leaves out"),
                    )
                }
                None => unknown_name(None, "feature", &name.given, &nearest(&name.given, feature_names())),
            });
        }
        unknown
    }
}
