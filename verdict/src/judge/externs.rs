//! The answers of a kernel to the externs of an object, with the types of their declarations.

use super::{
    answers::{KernelAnswers, kind},
    model::{Reason, Requirement, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource},
    loaders::LoaderKind,
    requirements::{ExternNeed, Need, ObjectNeeds},
};
use core_relo::{
    Name,
    btf::{Btf, Kind},
    explain::declare_both,
    resolve::MatchError,
};
use core_relo_object::{
    ExternIndex,
    link::{ExternBinding, ExternEntry, LinkedProgram, RefTarget},
    load_plan::{ExternComparer, SymbolAddressError, ambiguity_text},
};

/// Returns the options of the commands that choose one of several symbols of a name.
pub fn symbol_choice(name: &str) -> String {
    format!("choose one with --ksym {name}=ADDRESS or {name}=SYMBOL+OFFSET")
}

/// The answers of a kernel to the externs of an object.
#[derive(Debug)]
pub(super) struct ExternAnswers<'o> {
    externs: &'o [ExternNeed],
    /// The difference between declaration and kernel, by extern. `None` for an extern without a difference.
    differences: Vec<Option<Difference>>,
    /// The addresses that the caller chooses, by extern.
    chosen: Vec<Option<Chosen>>,
    /// Whether the loader takes the addresses that the caller chooses.
    takes_chosen: bool,
}

/// The answer of a kernel to an address that the caller chooses for a kernel symbol.
#[derive(Debug)]
enum Chosen {
    Resolved,
    Refused(SymbolAddressError),
    /// The symbols of the kernel are not known.
    Unknown,
}

/// A difference between the declaration of an extern and the kernel's variable or function.
#[derive(Debug)]
enum Difference {
    /// The types are not compatible, or several symbols have the name.
    Incompatible {
        problem: String,
        /// The end of the message: both declarations of a function, or the way to choose a symbol.
        details: String,
    },
    /// Nothing tells: the comparison takes too many steps, or the symbols of the kernel are not known.
    Unknown(String),
}

impl<'o> ExternAnswers<'o> {
    pub(super) fn new(needs: &'o ObjectNeeds<'_, '_>, answers: &KernelAnswers<'_, '_>) -> Self {
        let mut comparer = ExternComparer::default();
        let (mut differences, mut all_chosen) = (Vec::new(), Vec::new());
        let takes_chosen = needs.loader == LoaderKind::CoreRelo;
        for (needed, entry) in needs.externs.iter().zip(needs.linker.externs()) {
            let chosen = needed.chosen.as_ref();
            all_chosen.push(chosen.map(|chosen| match answers.facts.chosen_symbol(entry.name, chosen) {
                Some(Ok(_)) => Chosen::Resolved,
                Some(Err(error)) => Chosen::Refused(error),
                None => Chosen::Unknown,
            }));
            let exists = answers.get(needed.id).is_some_and(Answer::is_present);
            let btf = needs.object.btf().filter(|_| exists);
            let need = answers.need(needed.id);
            let found = btf
                .zip(need)
                .and_then(|(btf, need)| find_difference(&mut comparer, btf, need, entry, answers));
            differences.push(found);
        }
        Self { externs: &needs.externs, differences, chosen: all_chosen, takes_chosen }
    }

    /// Returns the reason why an extern is not resolved. Returns `None` if the kernel has the extern.
    pub(super) fn reason(&self, index: ExternIndex, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
        let Some(chosen) = self.chosen.get(index.0).and_then(Option::as_ref) else {
            return self.own_reason(index, answers);
        };
        let (verdict, problem) = match chosen {
            Chosen::Resolved if self.takes_chosen => return None,
            Chosen::Resolved => return self.own_reason(index, answers).map(Reason::repaired),
            _ if !self.takes_chosen => return self.own_reason(index, answers),
            Chosen::Refused(error) => (Verdict::Refused, error.to_string()),
            Chosen::Unknown => {
                let problem = "its address is chosen with --ksym: give the kernel's symbols (--kallsyms)";
                (Verdict::Unknown, problem.to_owned())
            }
        };
        let id = self.externs.get(index.0)?.id;
        let need = answers.need(id)?;
        let reason = Reason::new(kind(need), verdict, format!("{}: {problem}", need.text()));
        let evidence = Evidence { source: EvidenceSource::Kallsyms, text: problem };
        let reason = if verdict == Verdict::Refused { reason.with_evidence(evidence) } else { reason };
        Some(reason.with_requirement(Requirement::Need(id)))
    }

    /// Returns the reason of an extern whose address the caller does not choose.
    fn own_reason(&self, index: ExternIndex, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
        let needed = self.externs.get(index.0)?;
        let need = answers.need(needed.id)?;
        let (verdict, problem, details) = match self.differences.get(index.0).and_then(Option::as_ref) {
            None => return answers.reason(needed.id),
            Some(Difference::Incompatible { problem, details }) => {
                (Verdict::Refused, problem, details.as_str())
            }
            Some(Difference::Unknown(problem)) => (Verdict::Unknown, problem, ""),
        };
        let (source, note) = match need {
            Need::Symbol(_) if verdict == Verdict::Refused && !self.takes_chosen => {
                (EvidenceSource::Kallsyms, ", which only core-relo does (--loader core-relo)")
            }
            Need::Symbol(_) => (EvidenceSource::Kallsyms, ""),
            _ => (EvidenceSource::Btf, ""),
        };
        let evidence = Evidence { source, text: problem.clone() };
        let text = format!("{}: {problem}{details}{note}", need.text());
        let reason = Reason::new(kind(need), verdict, text);
        let reason = if verdict == Verdict::Refused { reason.with_evidence(evidence) } else { reason };
        Some(reason.with_requirement(Requirement::Need(needed.id)))
    }

    /// Returns the reasons of the strong externs. libbpf refuses an object without them, whether a program
    /// uses the extern or not. It refuses an object with a variable of another type or an ambiguous symbol,
    /// whether the extern is weak or not.
    pub(super) fn object_reasons(&self, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
        let all = (0..self.externs.len()).map(ExternIndex);
        all.filter_map(|index| self.required_reason(index, answers)).collect()
    }

    /// Returns the reasons of the strong externs that a program uses, for a load that goes on without the
    /// other externs.
    pub(super) fn program_reasons(
        &self,
        program: &LinkedProgram,
        answers: &KernelAnswers<'_, '_>,
    ) -> Vec<Reason> {
        let used = program.refs.iter().filter_map(|(_, target)| match target {
            RefTarget::Extern(index) => Some(*index),
            _ => None,
        });
        let mut used: Vec<_> = used.collect();
        used.sort();
        used.dedup();
        used.into_iter().filter_map(|index| self.required_reason(index, answers)).collect()
    }

    /// Returns the reason why an extern that a load requires is not resolved.
    fn required_reason(&self, index: ExternIndex, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
        let needed = self.externs.get(index.0)?;
        let is_variable = matches!(answers.need(needed.id), Some(Need::Variable(_) | Need::Symbol(_)));
        let is_refused = matches!(self.chosen(index), Some(Chosen::Refused(_) | Chosen::Unknown));
        let differs = is_refused || self.differences.get(index.0).is_some_and(Option::is_some);
        let is_required = !needed.is_weak && !answers.is_from_libbpf(needed.id);
        if is_required || is_variable && differs { self.reason(index, answers) } else { None }
    }

    /// Returns whether the kernel has an extern. Returns `None` if nothing tells. The address of a missing
    /// extern is 0, and so is that of a weak function with another prototype.
    pub(super) fn is_resolved(&self, index: ExternIndex, answers: &KernelAnswers<'_, '_>) -> Option<bool> {
        match self.chosen(index) {
            Some(Chosen::Resolved) => return Some(true),
            Some(Chosen::Refused(_)) => return Some(false),
            Some(Chosen::Unknown) => return None,
            None => {}
        }
        match (self.differences.get(index.0)?, answers.get(self.externs.get(index.0)?.id)?) {
            (Some(Difference::Incompatible { .. }), _) | (_, Answer::Absent(_)) => Some(false),
            (None, Answer::Present(_)) => Some(true),
            (Some(Difference::Unknown(_)), _) | (_, Answer::Unknown(_)) => None,
        }
    }

    /// Returns the answer to the address that the caller chooses, if the loader takes it.
    fn chosen(&self, index: ExternIndex) -> Option<&Chosen> {
        self.chosen.get(index.0).and_then(Option::as_ref).filter(|_| self.takes_chosen)
    }
}

/// Compares the declaration of an extern with the kernel's variable or function.
fn find_difference<'k>(
    comparer: &mut ExternComparer<'k>,
    btf: &Btf<'_>,
    need: &Need,
    entry: &ExternEntry<'_>,
    answers: &KernelAnswers<'_, 'k>,
) -> Option<Difference> {
    let (name, local) = match (need, entry.binding) {
        (
            Need::Variable(name) | Need::Kfunc(name),
            ExternBinding::Variable(ty) | ExternBinding::Function(ty),
        ) => (name, ty),
        (Need::Symbol(symbol), _) => {
            if answers.facts.may_be_ambiguous(symbol) {
                let problem = "several symbols may have this name: give the kernel's symbols (--kallsyms)";
                return Some(Difference::Unknown(problem.to_owned()));
            }
            if answers.facts.hides_addresses() {
                let problem =
                    "its address is hidden (kernel.kptr_restrict): give the kernel's symbols (--kallsyms)";
                return Some(Difference::Unknown(problem.to_owned()));
            }
            let [first, second] = answers.facts.ambiguous_symbol(symbol)?;
            let problem = ambiguity_text([format!("0x{first}"), format!("0x{second}")]);
            let shown = core_relo::explain::text(Name::new(symbol.as_bytes()).shortened());
            return Some(Difference::Incompatible {
                problem,
                details: format!(": {}", symbol_choice(&shown)),
            });
        }
        _ => return None,
    };
    let (owner, ty) = answers.facts.extern_type(name)?;
    let is_function = ty.kind() == Kind::Func;
    let (what, differ) = if is_function { ("parameters", "differ") } else { ("type", "differs") };
    let owner = core_relo::explain::text(Name::new(owner.as_bytes()).shortened());
    match comparer.is_compatible(btf, local, ty) {
        Ok(true) => None,
        Err(MatchError::TooManySteps) => {
            Some(Difference::Unknown(format!("comparing its {what} with {owner} takes too many steps")))
        }
        _ => {
            let local = btf.ty(local).filter(|_| is_function);
            let problem = format!("its {what} in {owner} {differ} from the declaration");
            let details = match local.and_then(|local| declare_both(local, ty, Name::new(name))) {
                Some(both) => format!(": {both}"),
                None => String::new(),
            };
            Some(Difference::Incompatible { problem, details })
        }
    }
}
