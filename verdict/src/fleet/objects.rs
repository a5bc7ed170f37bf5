//! The objects of a fleet, parsed once for all kernels.

use crate::{
    loaders::LoaderKind,
    requirements::{NeedTable, ObjectNeeds},
};
use alloc::borrow::Cow;
use core_relo::{Plan, Relocs, plan::Options};
use core_relo_object::{
    InternalError,
    link::LinkError,
    load_plan::{PlanByLoad, Settings},
    object::{Object, ObjectError},
};

/// Objects to judge, with the table of what they need. `D` is the caller's data of each object.
#[derive(Debug)]
pub struct Fleet<'o, D = ()> {
    objects: Vec<FleetObject<'o, D>>,
    needs: NeedTable,
    loader: LoaderKind,
    options: Options,
}

/// An object to judge.
#[derive(Debug)]
#[non_exhaustive]
pub struct FleetObject<'o, D = ()> {
    /// The object.
    pub object: &'o Object<'o>,
    /// The relocations of the object; none for an object without BTF.
    pub relocs: Relocs<'o>,
    /// The loader that opens the object.
    pub loader: LoaderKind,
    /// What the object needs of a kernel, or the reason why no loader opens the object.
    pub needs: Result<ObjectNeeds<'o, 'o>, LinkError>,
    /// The caller's data.
    pub data: D,
}

impl<D> Default for Fleet<'_, D> {
    fn default() -> Self {
        Self::new(LoaderKind::default())
    }
}

impl<'o, D> Fleet<'o, D> {
    /// Creates a fleet without objects. The loader will open them.
    pub fn new(loader: LoaderKind) -> Self {
        let options = relocation_options(loader);
        Self { objects: Vec::new(), needs: NeedTable::default(), loader, options }
    }

    /// Replaces the options of the objects' plans, which are those of the loader.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Adds an object.
    pub fn add(&mut self, object: &'o Object<'o>, data: D) -> Result<(), ObjectError> {
        self.add_with_relocs(object, object.relocs_or_none()?, data);
        Ok(())
    }

    /// Adds an object whose relocations are known.
    pub fn add_with_relocs(&mut self, object: &'o Object<'o>, relocs: Relocs<'o>, data: D) {
        let loader = self.loader;
        let needs = ObjectNeeds::collect_for(loader, object, &relocs, &mut self.needs);
        self.objects.push(FleetObject { object, relocs, loader, needs, data });
    }

    /// Applies settings of user space to the objects for which `settings` returns any.
    pub fn apply_settings(&mut self, settings: impl Fn(&D) -> Option<&Settings>) {
        for FleetObject { needs, data, .. } in &mut self.objects {
            if let (Ok(needs), Some(settings)) = (needs, settings(data)) {
                needs.apply_settings(settings, &mut self.needs);
            }
        }
    }

    /// Makes the judge take the programs of an object that are loaded for those of one load: they are judged
    /// as loaded together.
    pub fn judge_as_load(&mut self) {
        self.objects
            .iter_mut()
            .filter_map(|object| object.needs.as_mut().ok())
            .for_each(ObjectNeeds::judge_as_load);
    }

    /// Returns the objects.
    pub fn objects(&self) -> &[FleetObject<'o, D>] {
        &self.objects
    }

    /// Returns the objects, to change the caller's data.
    pub fn objects_mut(&mut self) -> &mut [FleetObject<'o, D>] {
        &mut self.objects
    }

    /// Returns the table of what the objects need.
    pub const fn needs(&self) -> &NeedTable {
        &self.needs
    }

    /// Returns the options of the objects' plans.
    pub const fn options(&self) -> Options {
        self.options
    }
}

impl<D> FleetObject<'_, D> {
    /// Returns the plan of the default load, and of each other program by itself.
    pub fn plan_by_load<'p>(&self, plan: Plan<'p>) -> Result<PlanByLoad<'p, 'p>, InternalError> {
        match &self.needs {
            Ok(needs) => needs.plan_by_load(Cow::Owned(plan)),
            // Without needs, no load is possible.
            Err(_) => Ok(PlanByLoad::undivided(Cow::Owned(plan))),
        }
    }
}

/// Returns the options of plans for a loader: how the loader relocates enumerators.
pub fn relocation_options(loader: LoaderKind) -> Options {
    Options::default().zero_extend_unsigned_enums(matches!(loader, LoaderKind::Cilium | LoaderKind::Aya))
}
