//! The struct_ops maps in the running kernel: their types, values and links.

use crate::{
    cmd::map::{MapElementType, value_type},
    error::BadInput,
    kernel_objects::{
        error::{object_name, unreadable, unreadable_info},
        text,
    },
};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, Holders, InfoError, KernelObject, MapInfo, ObjectKind, Process, link_infos},
    maps::MapShape,
    object::{LinkType, MapType},
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
};

/// The only key of a struct_ops map.
pub(super) const KEY: [u8; 4] = [0; 4];

/// The prefix of the types of values: `bpf_struct_ops_tcp_congestion_ops`.
const VALUE_PREFIX: &str = "bpf_struct_ops_";

/// The facts that `struct_ops list` and `struct_ops show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct StructOpsFacts {
    pub(super) id: u32,
    pub(super) name: String,
    /// The struct of the kernel.
    pub(super) kernel_struct_ops: Option<String>,
    /// `init`, `inuse`, `tobefree` or `ready`.
    pub(super) state: Option<String>,
    pub(super) link_ids: Vec<u32>,
    pub(super) pinned: Vec<String>,
    #[serde(serialize_with = "text::serialize_processes")]
    pub(super) pids: Vec<Process>,
}

/// What the facts of all maps need.
pub(super) struct FactsContext {
    holders: Holders,
    pub(super) btfs: BtfCache,
    links: BTreeMap<u32, Vec<u32>>,
}

impl FactsContext {
    /// Reads the processes, pins and links of the running kernel.
    pub(super) fn read() -> Result<Self, BadInput> {
        Ok(Self { holders: Holders::find(), btfs: BtfCache::default(), links: links_of_maps()? })
    }
}

/// Returns the links by the ids of the maps that they register.
pub(super) fn links_of_maps() -> Result<BTreeMap<u32, Vec<u32>>, BadInput> {
    let mut links: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for info in link_infos()? {
        if let (Some(LinkType::StructOps), [map_id, ..]) =
            (LinkType::from_number(info.link_type), info.detail)
        {
            links.entry(map_id).or_default().push(info.id);
        }
    }
    Ok(links)
}

/// A struct_ops map with its value.
pub(super) struct StructOpsMap {
    pub(super) fd: OwnedFd,
    pub(super) info: MapInfo,
}

impl StructOpsMap {
    /// Opens a map. Returns `None` if it is gone.
    ///
    /// The outer error is that of opening it. The inner result is an error if the map is of another type.
    pub(super) fn open(map: KernelObject) -> Result<Option<Result<Self, BadInput>>, BadInput> {
        let id = map.id();
        let Some(fd) = map.open()? else { return Ok(None) };
        let info = MapInfo::query(&fd).map_err(|e| unreadable_info(ObjectKind::Map, id, e))?;
        if info.map_type != MapType::StructOps.number() {
            let bad = BadInput::new(object_name(ObjectKind::Map, id, &info.name()), "is no struct_ops map");
            return Ok(Some(Err(bad.help("`core-relo struct_ops list` lists them"))));
        }
        Ok(Some(Ok(Self { fd, info })))
    }

    /// Returns the name in messages.
    pub(super) fn name(&self) -> String {
        object_name(ObjectKind::Map, self.info.id, &self.info.name())
    }

    /// Returns the kernel's type of the value.
    pub(super) fn value_type(&self, btfs: &mut BtfCache) -> Option<MapElementType> {
        value_type(&self.info, btfs)
    }

    /// Reads the value.
    pub(super) fn value(&self) -> Result<Vec<u8>, Errno> {
        let shape = MapShape::query(&self.fd)?;
        let mut value = vec![0; shape.value_size()];
        shape.lookup(&KEY, &mut value, 0)?;
        Ok(value)
    }

    /// Returns the facts.
    pub(super) fn facts(&self, context: &mut FactsContext) -> Result<StructOpsFacts, BadInput> {
        let id = self.info.id;
        let ty = self.value_type(&mut context.btfs);
        let state = match &ty {
            Some(ty) => {
                let value = self.value().map_err(|e| unreadable(ObjectKind::Map, id, "its value", e))?;
                let json = ty
                    .json(&value)
                    .map_err(|e| BadInput::new(self.name(), format_args!("its value cannot be read: {e}")))?;
                state(&json)
            }
            None => None,
        };
        Ok(StructOpsFacts {
            id,
            name: self.info.name(),
            kernel_struct_ops: ty.as_ref().and_then(kernel_struct_name),
            state,
            link_ids: context.links.get(&id).into_iter().flatten().copied().collect(),
            pinned: text::pins(context.holders.pins(ObjectKind::Map, id)),
            pids: context.holders.processes(ObjectKind::Map, id).to_vec(),
        })
    }
}

/// Returns the name of the kernel's struct in a value: `tcp_congestion_ops`.
pub(super) fn kernel_struct_name(ty: &MapElementType) -> Option<String> {
    let name = ty.btf.ty(ty.id)?.name().to_string();
    name.strip_prefix(VALUE_PREFIX).map(str::to_owned)
}

/// Returns the state in a value: `inuse`. Kernels before 6.9 have it outside of `common`.
fn state(value: &Value) -> Option<String> {
    let state = value.pointer("/common/state").or_else(|| value.get("state"))?.as_str()?;
    Some(state.strip_prefix("BPF_STRUCT_OPS_STATE_").unwrap_or(state).to_lowercase())
}

/// Returns the id of a map.
pub(super) fn map_id(fd: &impl AsFd) -> Result<u32, InfoError> {
    MapInfo::query(fd).map(|info| info.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_state_is_where_each_kernel_has_it() {
        let old = json!({"refcnt": {}, "state": "BPF_STRUCT_OPS_STATE_INUSE"});
        let new = json!({"common": {"refcnt": {}, "state": "BPF_STRUCT_OPS_STATE_READY"}, "data": {}});
        assert_eq!(state(&old).as_deref(), Some("inuse"));
        assert_eq!(state(&new).as_deref(), Some("ready"));
        assert_eq!(state(&json!({"data": 7})), None);
    }
}
