//! The choice of alternatives: by verdict first, then by what the kernel accepts.

use super::failed_part::FailedPart;
use crate::{
    startup_report::{Rejection, RejectionStage, reason_text},
    variants::{Alternative, ObjectVariants, Selection, VariantError, VariantGroup},
};
use alloc::collections::{BTreeMap, BTreeSet};
use core_relo_loader::{load::RefusedProgram, load_plan::Settings, object::Object};
use core_relo_verdict::{
    judge::{NeededFeature, ObjectVerdict, ProgramVerdict, Reason, Verdict},
    kernel::{Answer, Evidence},
};

/// A judge of an object with the settings of a load. The error is the reason why no verdict is possible.
pub(super) type Judge<'j> = dyn Fn(&Settings) -> Result<ObjectVerdict, String> + 'j;

/// The choice of the variants of an object.
#[derive(Clone, Debug)]
pub(super) struct Chooser<'v> {
    pub(super) object: &'v Object<'v>,
    pub(super) variants: &'v ObjectVariants,
    /// The caller's settings.
    base: &'v Settings,
    /// The values of the constants from the kernel's types.
    numbers: Vec<Option<i128>>,
    pub(super) selection: Selection,
    /// The rejections of each alternative, by group and alternative. An empty list is an alternative that is
    /// chosen or was not tried.
    pub(super) alternatives: Vec<Vec<Vec<Rejection>>>,
    /// The groups in which places do not decide, because no alternative is left that has its own.
    without_places: BTreeSet<usize>,
    pub(super) programs: BTreeMap<String, Rejection>,
    pub(super) maps: BTreeMap<String, Rejection>,
    /// The verdicts on the programs of the selection, with the reasons of those that may not load.
    pub(super) verdicts: BTreeMap<String, (Verdict, Vec<String>)>,
    /// The verdict on the selection as a whole.
    pub(super) verdict: Option<Verdict>,
    /// The reason why there is no verdict.
    pub(super) unjudged: Option<String>,
}

impl<'v> Chooser<'v> {
    pub(super) fn new(
        object: &'v Object<'v>,
        variants: &'v ObjectVariants,
        base: &'v Settings,
        numbers: Vec<Option<i128>>,
    ) -> Self {
        let groups = variants.table().groups().iter();
        Self {
            object,
            variants,
            base,
            numbers,
            selection: variants.first_selection(),
            alternatives: groups.map(|group| vec![Vec::new(); group.alternatives.len()]).collect(),
            without_places: BTreeSet::new(),
            programs: BTreeMap::new(),
            maps: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            verdict: None,
            unjudged: None,
        }
    }

    /// Returns the settings of the present selection.
    pub(super) fn settings(&self) -> Result<Settings, VariantError> {
        let mut settings = self.base.clone();
        self.variants.apply(self.object, &self.selection, &self.numbers, &mut settings)?;
        Ok(settings)
    }

    /// Rejects alternatives until the verdict refuses no program of the selection that has an alternative or
    /// is optional, and the kernel attaches all of them. Returns the settings. Each step rejects at least one
    /// part, so that the number of steps is bounded.
    pub(super) fn choose(
        &mut self,
        judge: &Judge<'_>,
        features: &[NeededFeature],
    ) -> Result<Settings, VariantError> {
        loop {
            // The next alternative of a group may need another feature.
            while self.reject_unattachable(features) {}
            let settings = self.settings()?;
            let verdict = match judge(&settings) {
                Ok(verdict) => verdict,
                Err(cause) => {
                    self.unjudged = Some(cause);
                    (self.verdict, self.verdicts) = (None, BTreeMap::new());
                    return Ok(settings);
                }
            };
            // The reasons of a map are reasons of every program. So the maps come first.
            if !self.reject_maps(&verdict) && !self.reject_programs(&verdict) && !self.ignore_places() {
                (self.verdict, self.unjudged) = (Some(verdict.verdict), None);
                self.verdicts = verdicts_of_programs(&verdict);
                return Ok(settings);
            }
        }
    }

    /// Rejects alternatives and optional programs that the kernel would load and cannot attach. Returns
    /// whether there was one.
    fn reject_unattachable(&mut self, features: &[NeededFeature]) -> bool {
        let mut is_changed = false;
        for NeededFeature { name, answer, attaches, is_place, .. } in features {
            let Answer::Absent(Evidence { source, text }) = answer else { continue };
            let reason = format!("the kernel lacks {name} [{source}: {text}]");
            let is_rejected = |program: &&String| {
                self.variants.loads(program, &self.selection, self.base)
                    && (!is_place || self.has_attachable_alternative(program, features))
            };
            for program in attaches.iter().filter(is_rejected).cloned().collect::<Vec<_>>() {
                let rejection = Rejection::new(&program, RejectionStage::Attach, reason.clone());
                is_changed |= self.reject_program(Rejection { is_place: *is_place, ..rejection });
            }
        }
        is_changed
    }

    /// Returns whether the group of a program has a later alternative that the kernel attaches, as far as is
    /// known. Without one, the places that the sections name do not decide: the caller may attach the
    /// programs elsewhere, and an attachment finds out.
    fn has_attachable_alternative(&self, program: &str, features: &[NeededFeature]) -> bool {
        let Some((group, alternative)) = self.variants.position(program) else { return false };
        if self.without_places.contains(&group) {
            return false;
        }
        let groups = self.variants.table().groups();
        let is_attachable = |Alternative(programs): &Alternative| {
            let lacks = |feature: &NeededFeature| {
                matches!(feature.answer, Answer::Absent(_))
                    && programs.iter().any(|program| feature.attaches.contains(program))
            };
            !features.iter().any(lacks)
        };
        groups
            .get(group)
            .is_some_and(|group| group.alternatives.iter().skip(alternative).skip(1).any(is_attachable))
    }

    /// Chooses the first alternative that only lacks its place, in each group of which no alternative is
    /// left. Returns whether there was one.
    fn ignore_places(&mut self) -> bool {
        let mut is_changed = false;
        let groups = self.selection.alternatives.iter_mut().zip(&mut self.alternatives).enumerate();
        for (group, (chosen, alternatives)) in groups.filter(|(_, (chosen, _))| chosen.is_none()) {
            let lacks_place = |rejections: &Vec<Rejection>| {
                !rejections.is_empty() && rejections.iter().all(|rejection| rejection.is_place)
            };
            let mut rejected = alternatives.iter_mut().enumerate();
            if let Some((alternative, rejections)) = rejected.find(|(_, of)| lacks_place(of)) {
                rejections.clear();
                *chosen = Some(alternative);
                self.without_places.insert(group);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Returns the first group without a working alternative that is not optional, and the rejections of its
    /// alternatives.
    pub(super) fn exhausted_group(&self) -> Option<(&'v VariantGroup, &[Vec<Rejection>])> {
        let groups = self.variants.table().groups().iter().enumerate();
        let mut groups = groups.zip(&self.selection.alternatives).zip(&self.alternatives);
        groups.find_map(|(((index, group), chosen), rejections)| {
            let is_exhausted = chosen.is_none() && !self.variants.is_group_optional(index);
            is_exhausted.then_some((group, rejections.as_slice()))
        })
    }

    /// Rejects the part that an attempt failed at, and other programs that the kernel refused in the same
    /// attempt. Returns whether the selection changed, so that another attempt is worth it.
    pub(super) fn reject(&mut self, failed: FailedPart, others: &[RefusedProgram]) -> bool {
        let indicators_before = self.indicator_values();
        let is_changed = match failed {
            FailedPart::Program(rejection) => self.reject_program(rejection),
            FailedPart::Map(rejection) => self.reject_map(&rejection),
        };
        if is_changed && !others.is_empty() {
            self.reject_others(others, &indicators_before);
        }
        is_changed
    }

    /// Rejects the other programs of an attempt. A program may be refused for the value of a constant that
    /// tells whether a part is loaded. If the new selection changes such a constant, the refusals of programs
    /// that read constants do not count: the next attempt decides.
    fn reject_others(&mut self, refused: &[RefusedProgram], indicators_before: &[bool]) {
        let reads_indicators = |refused: &&RefusedProgram| {
            let mut indicators = self.variants.indicators();
            indicators.any(|(global, _)| self.variants.uses_section(&refused.program, &global.global.section))
        };
        let (readers, others): (Vec<_>, Vec<_>) = refused.iter().partition(reads_indicators);
        for refused in others {
            self.reject_program(Rejection::from_refusal(refused));
        }
        let mut without_readers = self.clone();
        for refused in readers {
            without_readers.reject_program(Rejection::from_refusal(refused));
        }
        if without_readers.indicator_values() == indicators_before {
            *self = without_readers;
        }
    }

    /// Returns the values of the constants that tell whether a part is loaded.
    fn indicator_values(&self) -> Vec<bool> {
        let (variants, selection) = (self.variants, &self.selection);
        let uncreated = variants.uncreated_maps(selection, self.base);
        let is_loaded = |(_, part)| variants.is_part_loaded(part, selection, &uncreated, self.base);
        variants.indicators().map(is_loaded).collect()
    }

    /// Rejects the maps that the kernel cannot create.
    fn reject_maps(&mut self, verdict: &ObjectVerdict) -> bool {
        let mut by_map: BTreeMap<&str, Vec<&Reason>> = BTreeMap::new();
        for reason in &verdict.reasons {
            let is_refusal = matches!(reason.verdict, Verdict::Refused | Verdict::NeedsInput);
            if let Some(map) = reason.map.as_deref().filter(|_| is_refusal) {
                by_map.entry(map).or_default().push(reason);
            }
        }
        let mut is_changed = false;
        for (map, reasons) in by_map {
            is_changed |= self.reject_map(&Rejection::from_verdict(map, reasons));
        }
        is_changed
    }

    fn reject_programs(&mut self, verdict: &ObjectVerdict) -> bool {
        let mut is_changed = false;
        for program in verdict.programs.iter().filter(|program| program.autoload) {
            if matches!(program.verdict, Verdict::Refused | Verdict::NeedsInput) {
                is_changed |= self.reject_program(Rejection::from_verdict(&program.name, &program.reasons));
            }
        }
        is_changed
    }

    /// Rejects a map: leaves it out if it is optional, else rejects the alternatives and optional programs
    /// that use it.
    fn reject_map(&mut self, rejection: &Rejection) -> bool {
        let map = &rejection.name;
        if self.variants.is_map_optional(map) {
            self.maps.insert(map.clone(), rejection.clone());
            return self.selection.left_out_maps.insert(map.clone());
        }
        let users: Vec<String> =
            self.selected_programs().filter(|program| self.variants.uses_map(program, map)).collect();
        let mut is_changed = false;
        for program in users {
            is_changed |= self.reject_program(Rejection::from_map(&program, rejection));
        }
        is_changed
    }

    /// Rejects a program: chooses the next alternative of its group, or leaves it out if it is optional.
    fn reject_program(&mut self, rejection: Rejection) -> bool {
        let program = &rejection.name;
        if let Some((group, alternative)) = self.variants.position(program) {
            let Some(chosen) = self.selection.alternatives.get_mut(group) else { return false };
            let is_chosen = *chosen == Some(alternative);
            let Some(alternatives) = self.alternatives.get_mut(group) else { return false };
            let Some(rejections) = alternatives.get_mut(alternative) else { return false };
            // A second program of an alternative that is rejected already.
            if is_chosen || !rejections.is_empty() {
                rejections.push(rejection);
            }
            if is_chosen {
                let mut later = alternatives.iter().enumerate().skip(alternative).skip(1);
                *chosen = later.find(|(_, rejections)| rejections.is_empty()).map(|(next, _)| next);
            }
            return is_chosen;
        }
        if !self.variants.is_program_optional(program) {
            return false;
        }
        let is_new = self.selection.left_out_programs.insert(program.clone());
        self.programs.insert(program.clone(), rejection);
        is_new
    }

    /// Returns the selected programs that have an alternative or are optional.
    fn selected_programs(&self) -> impl Iterator<Item = String> {
        let groups = self.variants.table().groups().iter().zip(&self.selection.alternatives);
        let chosen = groups.filter_map(|(group, chosen)| group.alternatives.get((*chosen)?));
        let grouped = chosen.flat_map(|Alternative(programs)| programs.iter().cloned());
        let left_out = &self.selection.left_out_programs;
        let optional = self.variants.optional_programs().filter(|program| !left_out.contains(*program));
        grouped.chain(optional.map(str::to_owned))
    }
}

/// Returns the verdicts on the programs that are loaded.
fn verdicts_of_programs(verdict: &ObjectVerdict) -> BTreeMap<String, (Verdict, Vec<String>)> {
    let loaded = verdict.programs.iter().filter(|program| program.autoload);
    let verdict = |program: &ProgramVerdict| {
        let reasons = program.reasons.iter().filter(|reason| reason.verdict == program.verdict);
        (program.name.clone(), (program.verdict, reasons.map(reason_text).collect()))
    };
    loaded.map(verdict).collect()
}
