//! The advice on the reasons of one object on one kernel.

use crate::{
    judge::KernelAnswers,
    requirements::{NeedId, ObjectNeeds, ProgramNeeds, TargetKind},
    source_line::{SourceLine, source_line},
};
use core_relo::{
    Plan,
    btf::{Btf, Kind},
    explain::{Explainer, similar_names},
};
use core_relo_object::{ExternIndex, ProgramIndex, link::RefTarget};
use hashbrown::{HashMap, HashSet};

/// The searches for similar functions. Each takes a pass over the kernel's types.
const SEARCHES: usize = 64;

/// An adviser on the reasons of one object on one kernel.
#[derive(Debug)]
pub struct Advisor<'a, 'k> {
    pub(super) needs: &'a ObjectNeeds<'a, 'a>,
    pub(super) plan: &'a Plan<'a>,
    pub(super) answers: &'a KernelAnswers<'a, 'k>,
    pub(super) explainer: Explainer<'a>,
    searches: HashMap<(TargetKind, String), Vec<String>>,
    /// The names of the object's types, once they are needed.
    type_names: Option<HashSet<&'a [u8]>>,
    /// The indices of the externs, by requirement.
    externs: HashMap<NeedId, usize>,
    /// The first use of each extern in the program that was asked for last.
    first_uses: Option<(ProgramIndex, HashMap<usize, u32>)>,
    /// The file and line of the accesses of records, as far as they are known.
    pub(super) record_lines: HashMap<usize, Option<(String, u32)>>,
}

impl<'a, 'k> Advisor<'a, 'k> {
    /// Creates an adviser. `plan` and `answers` are those of the verdict.
    pub fn new(
        needs: &'a ObjectNeeds<'a, 'a>,
        plan: &'a Plan<'a>,
        answers: &'a KernelAnswers<'a, 'k>,
    ) -> Self {
        let externs =
            needs.externs.iter().enumerate().rev().map(|(index, known)| (known.id, index)).collect();
        Self {
            needs,
            plan,
            answers,
            explainer: Explainer::new(plan),
            searches: HashMap::new(),
            type_names: None,
            externs,
            first_uses: None,
            record_lines: HashMap::new(),
        }
    }

    /// Returns the name of a program's section. Returns `None` if the name is no plain text.
    pub(super) fn section(&self, program: &ProgramNeeds) -> Option<&'a str> {
        let section = self.needs.object.programs().get(program.index.0)?.section_name();
        let section = core::str::from_utf8(section).ok()?;
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        section.bytes().all(is_plain).then_some(section)
    }

    /// Returns the names of the object's types.
    pub(super) fn type_names(&mut self) -> &HashSet<&'a [u8]> {
        let object = self.needs.object;
        self.type_names.get_or_insert_with(|| {
            let types = object.btf().into_iter().flat_map(Btf::types);
            types.map(|ty| ty.name().as_bytes()).collect()
        })
    }

    /// Returns the index of the extern with a requirement.
    pub(super) fn extern_index(&self, need: NeedId) -> Option<usize> {
        self.externs.get(&need).copied()
    }

    /// Returns the source line of a program's first use of an extern.
    pub(super) fn first_use(&mut self, program: &ProgramNeeds, index: usize) -> Option<SourceLine> {
        let code = program.code.as_ref().ok()?;
        if self.first_uses.as_ref().is_none_or(|(known, _)| *known != program.index) {
            let mut uses = HashMap::new();
            for (insn, target) in &code.refs {
                if let RefTarget::Extern(ExternIndex(index)) = target {
                    uses.entry(*index).or_insert(*insn);
                }
            }
            self.first_uses = Some((program.index, uses));
        }
        let (_, uses) = self.first_uses.as_ref()?;
        source_line(self.needs.object.btf()?, code, *uses.get(&index)?)
    }

    /// Returns targets of a kind with a similar name in the kernel's BTF.
    pub(super) fn similar_targets(&mut self, kind: TargetKind, name: &str) -> Vec<String> {
        let key = (kind, name.to_owned());
        if let Some(known) = self.searches.get(&key) {
            return known.clone();
        }
        if self.searches.len() >= SEARCHES {
            return Vec::new();
        }
        let btf: &Btf<'_> = &self.plan.target().vmlinux().btf;
        let type_kind = if kind == TargetKind::Tracepoint { Kind::Typedef } else { Kind::Func };
        let similar = similar_names(btf, type_kind, kind.kernel_name("").as_bytes(), name.as_bytes());
        self.searches.insert(key, similar.clone());
        similar
    }
}
