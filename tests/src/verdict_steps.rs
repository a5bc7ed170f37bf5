//! The steps of a verdict, each by itself, for measurements.

use core_relo::{Plan, Relocs, Target};
use core_relo_loader::object::Object;
use core_relo_verdict::{
    judge::{KernelAnswers, judge},
    kernel::KernelInputs,
    reach::{self, Function, Reach},
    requirements::{NeedTable, ObjectNeeds, ProgramNeeds},
};

/// The requirements of objects, collected once for many kernels.
#[derive(Debug)]
pub struct Requirements<'o> {
    table: NeedTable,
    objects: Vec<ObjectNeeds<'o, 'o>>,
    relocs: Vec<&'o Relocs<'o>>,
}

impl<'o> Requirements<'o> {
    /// Collects the requirements of objects. Leaves out objects that libbpf would not open.
    pub fn collect(objects: &[(&'o Object<'o>, &'o Relocs<'o>)]) -> Self {
        let mut table = NeedTable::default();
        let needs = objects.iter().filter_map(|(object, relocs)| {
            Some((ObjectNeeds::collect(object, *relocs, &mut table).ok()?, *relocs))
        });
        let (objects, relocs) = needs.unzip();
        Self { table, objects, relocs }
    }

    /// Returns the number of different requirements.
    pub fn need_count(&self) -> usize {
        self.table.iter().len()
    }

    /// Looks up all requirements in a kernel. Returns the number of answers.
    pub fn look_up(&self, target: &Target<'_>) -> usize {
        let inputs = KernelInputs::default();
        KernelAnswers::new(&self.table, target, &inputs).iter().count()
    }

    /// Analyzes the reachability in every program, before relocation. Returns the number of dead
    /// instructions.
    pub fn analyze(&self) -> usize {
        let programs = self.objects.iter().flat_map(|needs| needs.programs.iter().map(move |p| (needs, p)));
        programs.map(|(needs, program)| dead_insn_count(needs, program)).sum()
    }

    /// Plans and judges all objects on a kernel. Returns the number of programs.
    pub fn judge(&self, target: &Target<'_>) -> usize {
        let inputs = KernelInputs::default();
        let answers = KernelAnswers::new(&self.table, target, &inputs);
        let plans = Plan::for_objects(&self.relocs, target);
        let verdicts = self.objects.iter().zip(&plans).map(|(needs, plan)| judge(needs, plan, &answers));
        verdicts
            .map(|verdict| verdict.expect("the plans and answers are those of the objects").programs.len())
            .sum()
    }
}

fn dead_insn_count(needs: &ObjectNeeds<'_, '_>, program: &ProgramNeeds) -> usize {
    let Ok(code) = &program.code else { return 0 };
    let is_global = |copy| needs.linker.is_global(code, copy);
    let functions =
        code.functions.iter().map(|copy| Function { start: copy.start, is_global: is_global(*copy) });
    let functions: Vec<_> = functions.collect();
    let reachability = reach::analyze(&reach::Program {
        insns: &code.insns,
        functions: &functions,
        loads: &[],
        endian: needs.object.endian(),
        verifies_uncalled_functions: true,
        exception_callback: code.exception_callback,
        bounds_context: false,
        passes_context: true,
    });
    (0u32..).zip(&code.insns).filter(|(insn, _)| matches!(reachability.reach(*insn), Reach::Dead)).count()
}
