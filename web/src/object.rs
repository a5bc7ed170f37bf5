//! The objects that the user gave, and the verdicts on them.

use crate::{advice::ObjectFixes, kernel::PageKernel, limits::MAX_OBJECT_BYTES, request_error::RequestError};
use core_relo::plan::Summary;
use core_relo_adaptive::variants::VariantTable;
use core_relo_object::object::Object;
use core_relo_verdict::{
    fleet::{Fleet, FleetJudge, FleetObject},
    judge::ObjectVerdict,
    listing::ObjectListing,
    loaders::LoaderKind,
};
use serde::Serialize;
use std::sync::Arc;

/// An object that the user gave.
#[derive(Clone, Debug)]
pub(crate) struct GivenObject {
    pub(crate) name: String,
    bytes: Arc<[u8]>,
}

/// What an object requires.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectDescription {
    /// The number of the object.
    pub(crate) object: usize,
    /// Whether verdicts depend on the symbols of a kernel.
    wants_symbols: bool,
    /// Whether the object declares variants, among which only the command chooses.
    has_variants: bool,
    /// The requirements. `None` if the loader cannot link the object, which the verdict explains.
    requirements: Option<ObjectListing>,
}

/// The verdict on an object on a kernel, with the keys of the lines of `check --format json`.
#[derive(Debug, Serialize)]
pub(crate) struct CheckedObject {
    object: String,
    target: String,
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    pub(crate) verdict: ObjectVerdict,
    fixes: ObjectFixes,
    kernel_warnings: Vec<String>,
    /// Whether the verdict needs modules that the page has not loaded.
    needs_modules: bool,
}

impl GivenObject {
    /// Checks the size of an object.
    pub(crate) fn new(name: String, bytes: &[u8]) -> Result<Self, RequestError> {
        match bytes.len() {
            0 => Err(RequestError::EmptyObject),
            found if found > MAX_OBJECT_BYTES => {
                Err(RequestError::LargeObject { found, max: MAX_OBJECT_BYTES })
            }
            _ => Ok(Self { name, bytes: bytes.into() }),
        }
    }

    /// Parses the object, and lists its requirements.
    pub(crate) fn describe(&self, number: usize) -> Result<ObjectDescription, RequestError> {
        self.with_fleet(LoaderKind::default(), |fleet, prepared| {
            let requirements = prepared
                .needs
                .as_ref()
                .ok()
                .map(|needs| ObjectListing::new(needs, fleet.needs(), Some(&prepared.relocs)));
            ObjectDescription {
                object: number,
                wants_symbols: FleetJudge::new(fleet).wanted_facts().symbols,
                has_variants: VariantTable::from_object(prepared.object).is_ok_and(|table| !table.is_empty()),
                requirements,
            }
        })
    }

    /// Judges the object on a kernel.
    pub(crate) fn check(
        &self,
        kernel: &PageKernel,
        loader: LoaderKind,
    ) -> Result<CheckedObject, RequestError> {
        self.with_fleet(loader, |fleet, prepared| {
            FleetJudge::new(fleet).with_kernel(kernel, None, |case| {
                let planned = case.objects.first().ok_or(RequestError::UnknownObject(0))?;
                let plan = planned.plan.as_ref().map_err(|error| RequestError::from(error.clone()))?;
                let verdict = case.judge(prepared, plan);
                Ok(CheckedObject {
                    object: self.name.clone(),
                    target: kernel.name.clone(),
                    summary: plan.plan().summary(),
                    fixes: ObjectFixes::new(prepared, plan, case, &verdict),
                    verdict,
                    kernel_warnings: case.warnings.clone(),
                    needs_modules: kernel.takes_modules_request(),
                })
            })
        })?
    }

    /// Parses the object, and passes its requirements to `use_fleet`.
    fn with_fleet<T>(
        &self,
        loader: LoaderKind,
        use_fleet: impl FnOnce(&Fleet<'_>, &FleetObject<'_>) -> T,
    ) -> Result<T, RequestError> {
        let object = Object::parse(&self.bytes)?;
        let mut fleet = Fleet::new(loader);
        fleet.add(&object, ())?;
        let prepared = fleet.objects().first().ok_or(RequestError::UnknownObject(0))?;
        Ok(use_fleet(&fleet, prepared))
    }
}
