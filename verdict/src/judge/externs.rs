//! The externs of an object whose types differ from those of the kernel.

use super::{
    answers::KernelAnswers,
    model::{Reason, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource},
    requirements::ObjectNeeds,
};
use core_relo::resolve::TypeComparer;
use core_relo_object::{ExternIndex, link::ExternBinding};
use std::collections::HashMap;

/// The answers of a kernel to an object's externs. A kernel function with other parameters than the declaration counts as missing
/// (libbpf: `bpf_object__resolve_ksym_func_btf_id`), and so does a variable of another type.
#[derive(Debug)]
pub(super) struct ExternAnswers<'c, 'k> {
    needs: &'c ObjectNeeds<'c, 'c>,
    answers: &'c KernelAnswers<'c, 'k>,
    /// The answers that differ because of the types, by extern.
    by_type: HashMap<usize, Answer>,
}

impl<'c, 'k> ExternAnswers<'c, 'k> {
    /// Compares the types of the externs that the kernel has.
    pub(super) fn new(needs: &'c ObjectNeeds<'c, 'c>, answers: &'c KernelAnswers<'c, 'k>) -> Self {
        let mut by_type = HashMap::new();
        let (mut comparer, mut compared) = (TypeComparer::default(), HashMap::new());
        let externs = needs.linker.externs().iter().zip(&needs.externs).enumerate();
        for (index, (entry, needed)) in externs {
            let (local, what) = match entry.binding {
                ExternBinding::Function(local) => (local, "parameters differ"),
                ExternBinding::Variable(local) => (local, "type differs"),
                _ => continue,
            };
            let (Some(btf), Some(need), Some(Answer::Present(_))) =
                (needs.object.btf(), answers.need(needed.id), answers.get(needed.id))
            else {
                continue;
            };
            let Some(kernel) = answers.kernel_type(need) else { continue };
            let key = (local, core::ptr::from_ref(kernel.btf()), kernel.id());
            let is_compatible = compared
                .entry(key)
                .or_insert_with(|| comparer.are_compatible(btf, local, kernel.btf(), kernel.id()).ok());
            let text = || format!("the {what} from the declaration");
            match is_compatible {
                Some(true) => {}
                Some(false) => {
                    let evidence = Evidence { source: EvidenceSource::Btf, text: text() };
                    by_type.insert(index, Answer::Absent(evidence));
                }
                None => {
                    let question = format!("whether {}, which takes too many steps to compare", text());
                    by_type.insert(index, Answer::Unknown(question));
                }
            }
        }
        Self { needs, answers, by_type }
    }

    /// Returns the answer to an extern.
    pub(super) fn get(&self, index: ExternIndex) -> Option<&Answer> {
        let by_type = self.by_type.get(&index.0);
        by_type.or_else(|| self.answers.get(self.needs.externs.get(index.0)?.id))
    }

    /// Returns the reason why a kernel with an extern of the name does not have the declared extern.
    pub(super) fn reason(&self, index: ExternIndex) -> Option<Reason> {
        let answer = self.by_type.get(&index.0)?;
        let need = self.answers.need(self.needs.externs.get(index.0)?.id)?;
        let (verdict, text, evidence) = match answer {
            Answer::Present(_) => return None,
            Answer::Absent(evidence) => {
                (Verdict::Refused, format!("{}: {}", need.text(), evidence.text), Some(evidence.clone()))
            }
            Answer::Unknown(question) => {
                (Verdict::Unknown, format!("{} may be missing: {question}", need.text()), None)
            }
        };
        Some(Reason { evidence, ..Reason::new(super::answers::kind(need), verdict, text) })
    }
}
