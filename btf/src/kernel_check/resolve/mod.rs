//! Rules for types together: each type is resolved to a type with a size (kernel: `btf_check_all_types`).
//!
//! The kernel follows references depth first, and stops at types that end a reference of the kind being
//! followed: a pointer inside a struct is such an end, so that a struct may contain a pointer to itself. The
//! order of the visits decides which chains are too long, so the order here is the kernel's.

mod composite;
mod function;
mod member;
mod reference;
mod size;

use super::{
    checker::{Checker, Part},
    records::Record,
    rule::BtfRule,
};
use crate::{format::Kind, ids::TypeId, limits};
use alloc::vec::Vec;
use core::iter::once;
use hashbrown::HashMap;
use size::Resolved;

/// The progress of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// No reference to the type was followed.
    NotVisited,
    /// The type is on the stack.
    Visited,
    /// The type and all that it needs are valid.
    Resolved,
    /// The type or one that it needs violates a rule, which has been reported.
    Failed,
}

/// The kind of reference that is followed, which decides where it ends (kernel: `enum resolve_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Not decided yet.
    Undecided,
    /// A pointer's target: ends at every type but modifiers and pointers.
    Pointer,
    /// The parts of a struct or array: ends at every type but modifiers, arrays and structs.
    Aggregate,
}

/// A type on the stack.
#[derive(Clone, Copy)]
struct Frame<'d> {
    id: TypeId,
    record: Record<'d>,
    /// The member or entry with which the check continues.
    next_element: u32,
    /// Whether an element violates a rule.
    has_failed: bool,
}

/// The next step for the type at the top of the stack.
enum Step {
    /// Another type has to be resolved first.
    Push(TypeId),
    /// The type is resolved.
    Pop(Resolved),
    /// The type violates a rule, or needs a type that does.
    Fail,
}

/// The resolution of all types.
struct Resolver<'c, 'd> {
    checker: &'c mut Checker<'d>,
    /// The progress of each type, `void` first.
    progress: Vec<Progress>,
    /// The type to which each type resolves, `void` first.
    resolved: Vec<Resolved>,
    stack: Vec<Frame<'d>>,
    mode: Mode,
    /// The index of the first parameter without a name, by prototype of a function.
    unnamed_parameters: HashMap<TypeId, Option<u32>>,
}

impl Checker<'_> {
    /// Resolves all types. `has_violation` has the types whose records violate a rule: what they refer to is
    /// not checked.
    pub(super) fn check_references(&mut self, has_violation: &[bool]) {
        let progress = |failed: &bool| if *failed { Progress::Failed } else { Progress::NotVisited };
        let types = || self.records.ids().zip(has_violation);
        let mut resolver = Resolver {
            progress: once(Progress::NotVisited).chain(types().map(|(_, failed)| progress(failed))).collect(),
            resolved: once(Resolved::default()).chain(types().map(|_| Resolved::default())).collect(),
            checker: self,
            stack: Vec::with_capacity(limits::KERNEL_RESOLVE_DEPTH),
            mode: Mode::Undecided,
            unnamed_parameters: HashMap::new(),
        };
        for id in resolver.checker.records.ids() {
            resolver.check_type(id);
        }
    }
}

impl<'d> Resolver<'_, 'd> {
    fn check_type(&mut self, id: TypeId) {
        let Some(record) = self.record(id) else { return };
        if self.needs_resolution(record.kind()) {
            if self.progress(id) == Progress::NotVisited {
                self.resolve(id);
            }
        } else if self.progress(id) == Progress::Failed {
            return;
        } else if record.kind() == Kind::Func
            && let Err(rule) = self.check_prototype_of(record)
        {
            self.report(id, record, Part::Whole, rule);
        }
        if record.kind() == Kind::FuncProto {
            self.check_prototype(id, record);
        }
    }

    /// Resolves a type and all types that it needs (kernel: `btf_resolve`). Returns whether all are valid.
    fn resolve(&mut self, root: TypeId) -> bool {
        self.stack.clear();
        self.mode = Mode::Undecided;
        let result = self.resolve_stack(root);
        if let Err(rule) = result {
            for frame in self.stack.split_off(0) {
                self.set_progress(frame.id, Progress::Failed);
            }
            self.set_progress(root, Progress::Failed);
            if let Some(record) = self.record(root) {
                self.report(root, record, Part::Whole, rule);
            }
        }
        self.progress(root) == Progress::Resolved
    }

    /// Resolves types until the stack is empty. Returns the rule by which the kernel refuses the root.
    fn resolve_stack(&mut self, root: TypeId) -> Result<(), BtfRule> {
        self.push(root)?;
        while let Some(mut frame) = self.stack.last().copied() {
            let step = self.step(&mut frame);
            if let Some(top) = self.stack.last_mut() {
                *top = frame;
            }
            match step {
                Step::Push(id) => self.push(id)?,
                Step::Pop(resolved) => self.pop(frame, resolved),
                Step::Fail => self.pop(Frame { has_failed: true, ..frame }, Resolved::default()),
            }
        }
        if self.progress(root) == Progress::Resolved && !self.is_consistent(root) {
            return Err(BtfRule::Unresolved);
        }
        Ok(())
    }

    /// Adds a type to the stack (kernel: `env_stack_push`).
    fn push(&mut self, id: TypeId) -> Result<(), BtfRule> {
        if self.stack.len() >= limits::KERNEL_RESOLVE_DEPTH {
            return Err(BtfRule::Depth);
        }
        let Some(record) = self.record(id).filter(|_| self.progress(id) == Progress::NotVisited) else {
            return Err(BtfRule::Loop);
        };
        self.set_progress(id, Progress::Visited);
        self.stack.push(Frame { id, record, next_element: 0, has_failed: false });
        if self.mode == Mode::Undecided {
            self.mode = match record.kind() {
                Kind::Ptr => Mode::Pointer,
                Kind::Struct | Kind::Union | Kind::Array => Mode::Aggregate,
                _ => Mode::Undecided,
            };
        }
        Ok(())
    }

    /// Removes the type at the top of the stack (kernel: `env_stack_pop_resolved`).
    fn pop(&mut self, frame: Frame<'d>, resolved: Resolved) {
        self.stack.pop();
        self.set_progress(frame.id, if frame.has_failed { Progress::Failed } else { Progress::Resolved });
        if let Some(slot) = self.resolved.get_mut(frame.id.index()) {
            *slot = resolved;
        }
    }

    /// Decides the next step for the type at the top of the stack.
    fn step(&mut self, frame: &mut Frame<'d>) -> Step {
        match frame.record.kind() {
            Kind::Array => self.step_array(*frame),
            Kind::Struct | Kind::Union => self.step_composite(frame),
            Kind::Datasec => self.step_section(frame),
            Kind::Func => self.step_func(*frame),
            Kind::DeclTag => self.step_decl_tag(*frame),
            _ => self.step_reference(*frame),
        }
    }

    /// Returns whether a type has to be resolved (kernel: `btf_type_needs_resolve`).
    fn needs_resolution(&self, kind: Kind) -> bool {
        match kind {
            Kind::Func => self.checker.rules.resolves_functions,
            Kind::Ptr
            | Kind::Array
            | Kind::Struct
            | Kind::Union
            | Kind::Var
            | Kind::DeclTag
            | Kind::Datasec => true,
            _ => kind.is_modifier_or_typedef(),
        }
    }

    /// Returns whether references of the current kind end at a type (kernel: `env_type_is_resolve_sink`).
    fn is_end(&self, kind: Kind) -> bool {
        match self.mode {
            Mode::Undecided => !self.needs_resolution(kind),
            Mode::Pointer => !kind.is_modifier_or_typedef() && kind != Kind::Ptr,
            Mode::Aggregate => {
                !kind.is_modifier_or_typedef() && !matches!(kind, Kind::Array | Kind::Struct | Kind::Union)
            }
        }
    }

    /// Returns the step that has to come before a type is used. `None` if the type can be used.
    fn step_before(&self, id: TypeId, kind: Kind) -> Option<Step> {
        match self.progress(id) {
            _ if self.is_end(kind) => None,
            Progress::Resolved => None,
            Progress::Failed => Some(Step::Fail),
            Progress::NotVisited | Progress::Visited => Some(Step::Push(id)),
        }
    }

    fn is_resolved(&self, id: TypeId) -> bool {
        self.progress(id) == Progress::Resolved
    }

    fn progress(&self, id: TypeId) -> Progress {
        // A type that does not exist would be one that violates a rule.
        self.progress.get(id.index()).copied().unwrap_or(Progress::Failed)
    }

    fn set_progress(&mut self, id: TypeId, progress: Progress) {
        if let Some(slot) = self.progress.get_mut(id.index()) {
            *slot = progress;
        }
    }

    fn record(&self, id: TypeId) -> Option<Record<'d>> {
        self.checker.records.get(id)
    }

    fn kind(&self, id: TypeId) -> Option<Kind> {
        self.checker.records.kind(id)
    }

    fn report(&mut self, id: TypeId, record: Record<'d>, part: Part, rule: BtfRule) {
        self.checker.report(id, record, part, rule);
    }

    /// Reports a violation by the whole type at the top of the stack.
    fn fail(&mut self, frame: Frame<'d>, rule: BtfRule) -> Step {
        self.report(frame.id, frame.record, Part::Whole, rule);
        Step::Fail
    }
}

/// Returns whether types of this kind only refer to others, and no type may refer to them (kernel:
/// `btf_type_is_resolve_source_only`).
fn is_declaration(kind: Kind) -> bool {
    matches!(kind, Kind::Var | Kind::DeclTag | Kind::Datasec)
}

/// Returns whether types of this kind have no size, and do not refer to a type with a size (kernel:
/// `btf_type_nosize`).
fn has_no_size(kind: Kind) -> bool {
    matches!(kind, Kind::Void | Kind::Fwd | Kind::Func | Kind::FuncProto | Kind::DeclTag)
}
