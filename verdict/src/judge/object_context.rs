//! What the programs of an object share.

use super::{
    answers::KernelAnswers, btf::BtfRefusal, btf_parts::RefusedTypes, data::FrozenData,
    externs::ExternAnswers, model::Reason,
};
use crate::requirements::ObjectNeeds;
use core::cell::Cell;
use core_relo_object::load_plan::PlanByLoad;

/// The parts that the programs of an object share.
pub(super) struct ObjectContext<'c, 'k> {
    pub(super) needs: &'c ObjectNeeds<'c, 'c>,
    pub(super) plan: &'c PlanByLoad<'c, 'c>,
    pub(super) answers: &'c KernelAnswers<'c, 'k>,
    /// The reasons that concern every program.
    pub(super) reasons: &'c [Reason],
    pub(super) frozen: &'c FrozenData<'c>,
    pub(super) externs: &'c ExternAnswers<'c>,
    /// The refusal of the object's BTF, if the kernel refuses it.
    pub(super) btf_refusal: Option<&'c BtfRefusal>,
    /// The types that the kernel refuses, if the loader sends only those of each map and program.
    pub(super) refused_types: Option<&'c RefusedTypes>,
    /// The number of accesses whose source line has been searched for.
    pub(super) searched_lines: Cell<usize>,
}
