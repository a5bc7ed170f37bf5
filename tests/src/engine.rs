//! Outcomes of core-relo, in the form in which they are compared.

use crate::record::{Outcome, Record};
use core_relo::{Plan, Target, explain::Explainer, plan::Decision};
use core_relo_loader::object::Object;

/// Plans all records of an object. With `explain`, each record has its explanation, which takes time.
pub fn records(object: &Object<'_>, target: &Target<'_>, explain: bool) -> Result<Vec<Record>, String> {
    let relocs = object.relocs().map_err(|error| error.to_string())?;
    let plan = Plan::new(&relocs, target);
    let endian = relocs.endian();
    let mut explainer = Explainer::new(&plan);
    let records = plan.iter().map(|planned| {
        let record = planned.record();
        let outcome = match planned.decision() {
            Err(error) => Outcome::Error(error.to_string()),
            Ok(Decision::Skip(_)) => Outcome::Skipped,
            Ok(_) => {
                let after = planned.after().map(|slot| slot.encode(endian));
                let (first, second) = after.unwrap_or_default();
                Outcome::Words(first.into_iter().chain(second.into_iter().flatten()).collect())
            }
        };
        Record {
            section: record.section.to_string(),
            index: record.index_in_section,
            kind: record.relo.kind.raw(),
            root: record.relo.root.0,
            outcome,
            values: planned.local_value().map(|local| (local, planned.target_value())),
            exception: None,
            log: if explain { explainer.explain(&planned).reason } else { String::new() },
        }
    });
    Ok(records.collect())
}
