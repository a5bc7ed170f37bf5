//! The other missing elements of a source line, which the fix of one of them guards, too. Otherwise the
//! changed program would be refused for the next element.

use super::{
    Advisor, externs,
    fix::{Fix, FixPlace},
    helper,
    line_guard::{LineGuard, add_guard},
    relocation::Access,
};
use crate::{
    advice::c_line::CLine,
    judge::{ProgramVerdict, Reason, Requirement},
    kernel::Answer,
    limits::SEARCHED_ACCESSES,
    requirements::{Need, ProgramNeeds},
    source_line::{SourceLine, source_line},
};
use core_relo::plan::Decision;
use core_relo_object::{
    ExternIndex,
    link::{ExternBinding, RefTarget},
};

/// The elements that are guarded in a line.
const ELEMENTS: usize = 8;

/// An element that a source line uses, and that the kernel lacks.
enum Element {
    Access(Access),
    /// A helper, by its name without `bpf_`.
    Helper(&'static str),
    /// A kernel function or variable, and its weak declaration if the program lacks one.
    Extern {
        name: String,
        is_function: bool,
        declaration: Option<String>,
    },
}

impl Element {
    fn condition(&self) -> String {
        match self {
            Self::Access(access) => access.condition.clone(),
            Self::Helper(name) => helper::condition(name),
            Self::Extern { name, is_function, .. } => externs::condition(name, *is_function),
        }
    }

    /// Returns the name for messages.
    fn name(&self) -> String {
        match self {
            Self::Access(access) => format!("`{}`", access.name()),
            Self::Helper(name) => format!("bpf_{name}()"),
            Self::Extern { name, .. } => format!("`{name}`"),
        }
    }

    fn guard(&self, line: CLine<'_>) -> Option<LineGuard> {
        match self {
            Self::Access(access) => access.guard(line),
            Self::Helper(name) => LineGuard::call(line, &format!("bpf_{name}"), &self.condition()),
            Self::Extern { name, is_function, .. } => externs::guard(line, name, *is_function),
        }
    }

    /// Returns whether the element is an access with the same text in C.
    fn is_access(&self, other: &Access) -> bool {
        matches!(self, Self::Access(own) if (&own.condition, &own.path) == (&other.condition, &other.path))
    }
}

/// A search for the missing elements of a line other than that of a reason.
#[derive(Clone, Copy)]
struct OtherElements<'r> {
    /// The record and the access of the reason, if the reason is a relocation.
    own_record: Option<usize>,
    own: Option<&'r Element>,
    reason: &'r Reason,
    source: &'r SourceLine,
}

impl Advisor<'_, '_> {
    /// Adds the guards of the other missing elements of a line to the fixes of one.
    pub(super) fn guard_same_line(
        &mut self,
        needs: &ProgramNeeds,
        verdict: &ProgramVerdict,
        reason: &Reason,
        fixes: &mut [Fix],
    ) {
        let Some(source) = fixes.iter().find_map(|fix| fix.source.clone()) else { return };
        let own_record = match reason.requirement {
            Some(Requirement::Relocation(record)) => Some(record),
            _ => None,
        };
        let own = own_record.and_then(|record| Access::new(&self.plan.get(record)?)).map(Element::Access);
        let others = OtherElements { own_record, own: own.as_ref(), reason, source: &source };
        let elements = self.other_elements(needs, verdict, others);
        // Compilers load the offset of a member once for several reads, so that these have one record.
        let mut alone: Vec<&Access> = Vec::new();
        for element in own.iter().chain(&elements) {
            if let Element::Access(access) = element
                && !self.has_namesake(needs, access, &source)
            {
                alone.push(access);
            }
        }
        for fix in fixes.iter_mut().filter(|fix| fix.applies_to == FixPlace::Line) {
            let mut names = Vec::new();
            for element in &elements {
                let Some(code) = &fix.code else { continue };
                let guarded = add_guard(code, &element.condition(), |line| element.guard(line));
                let Some(guarded) = guarded else { continue };
                fix.code = Some(guarded);
                let name = element.name();
                if !names.contains(&name) {
                    names.push(name);
                }
                if let Element::Extern { declaration: Some(declaration), .. } = element {
                    let known = fix.declaration.get_or_insert_default();
                    if !known.contains(declaration.as_str()) {
                        known.push_str(if known.is_empty() { "" } else { "\n" });
                        known.push_str(declaration);
                    }
                }
            }
            for access in &alone {
                let Some(code) = &fix.code else { continue };
                let guarded = add_guard(code, &access.condition, |line| access.guard_calls(line));
                fix.code = guarded.or_else(|| fix.code.take());
            }
            if !names.is_empty() {
                fix.text = format!("{}; the code also guards {} of this line", fix.text, names.join(", "));
            }
        }
    }

    /// Returns the missing elements of a line without that of the reason.
    fn other_elements(
        &mut self,
        needs: &ProgramNeeds,
        verdict: &ProgramVerdict,
        others: OtherElements<'_>,
    ) -> Vec<Element> {
        let OtherElements { own_record, own, reason, source } = others;
        let is_guarded =
            |requirement| verdict.guarded.iter().any(|dead| dead.requirement == Some(requirement));
        let mut elements: Vec<Element> = Vec::new();
        for (_, record) in &needs.records {
            if elements.len() >= ELEMENTS {
                break;
            }
            let Some(planned) = self.plan.get(*record) else { continue };
            let is_missing = matches!(planned.decision(), Ok(Decision::Poison { .. }));
            if !is_missing
                || Some(*record) == own_record
                || is_guarded(Requirement::Relocation(*record))
                || !self.is_in_line(*record, source)
            {
                continue;
            }
            let Some(access) = Access::new(&planned) else { continue };
            // Of several accesses with the same text, a kernel may lack some only.
            let is_known = own.into_iter().chain(&elements).any(|known| known.is_access(&access));
            if !is_known || !self.has_namesake(needs, &access, source) {
                elements.push(Element::Access(access));
            }
        }
        let Ok(code) = &needs.code else { return elements };
        let Some(btf) = self.needs.object.btf() else { return elements };
        let is_here = |insn: u32| {
            let line = source_line(btf, code, insn);
            line.is_some_and(|line| (&line.file, line.line) == (&source.file, source.line))
        };
        let is_absent = |need| matches!(self.answers.get(need), Some(Answer::Absent(_)));
        let is_new = |need| {
            let requirement = Requirement::Need(need);
            is_absent(need) && reason.requirement != Some(requirement) && !is_guarded(requirement)
        };
        for (insn, target) in &code.refs {
            let RefTarget::Extern(ExternIndex(index)) = target else { continue };
            let Some(need) = self.needs.externs.get(*index).filter(|need| is_new(need.id)) else { continue };
            if elements.len() < ELEMENTS && is_here(*insn) {
                elements.extend(self.extern_element(*index).filter(|_| is_new(need.id)));
            }
        }
        for site in &needs.sites {
            let Some(Need::Helper { helper, .. }) = self.answers.need(site.need) else { continue };
            let facts = &self.answers.facts;
            let is_missing =
                || !facts.helper(*helper).is_present() && facts.lockdown_of_helper(*helper).is_none();
            if elements.len() < ELEMENTS && is_new(site.need) && is_missing() && is_here(site.insn) {
                elements.extend(helper.name().map(Element::Helper));
            }
        }
        elements
    }

    fn extern_element(&self, index: usize) -> Option<Element> {
        let (entry, btf) = (self.needs.linker.externs().get(index)?, self.needs.object.btf()?);
        let is_function = match entry.binding {
            ExternBinding::Function(_) => true,
            ExternBinding::Config(_) => return None,
            _ => false,
        };
        let name = core::str::from_utf8(entry.name).ok()?.to_owned();
        let declaration = if entry.is_weak { None } else { Some(externs::declaration(btf, entry, &name)?) };
        Some(Element::Extern { name, is_function, declaration })
    }

    /// Returns whether the kernel has a member that a line names as it names a missing one.
    fn has_namesake(&mut self, needs: &ProgramNeeds, missing: &Access, source: &SourceLine) -> bool {
        needs.records.iter().any(|(_, record)| {
            let planned = self.plan.get(*record);
            let found = planned.filter(|planned| !matches!(planned.decision(), Ok(Decision::Poison { .. })));
            let access = found.and_then(|found| Access::new(&found));
            access.is_some_and(|access| access.path == missing.path) && self.is_in_line(*record, source)
        })
    }

    /// Returns whether the access of a record is in a source line.
    fn is_in_line(&mut self, record: usize, source: &SourceLine) -> bool {
        if !self.record_lines.contains_key(&record) {
            if self.record_lines.len() >= SEARCHED_ACCESSES {
                return false;
            }
            let line = self.plan.get(record).and_then(|planned| planned.source_line()).map(SourceLine::from);
            self.record_lines.insert(record, line.map(|line| (line.file, line.line)));
        }
        let line = self.record_lines.get(&record).and_then(Option::as_ref);
        line.is_some_and(|(file, line)| (file, *line) == (&source.file, source.line))
    }
}
