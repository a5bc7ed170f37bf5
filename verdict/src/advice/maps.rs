//! Advice on map types and sizes.

use super::{
    Advisor,
    fix::{Fix, FixLanguage, FixPlace},
};
use crate::requirements::{MapInput, MapNeed, Need, NeedId};
use core_relo::btf::Kind;
use core_relo_object::{link::MapSource, object::MapType};

/// Older map types for the same data, which need other calls.
const OLDER_TYPES: [(MapType, &str); 5] = [
    (MapType::Ringbuf, "older kernels have BPF_MAP_TYPE_PERF_EVENT_ARRAY with bpf_perf_event_output()"),
    (MapType::TaskStorage, "older kernels have BPF_MAP_TYPE_HASH with the thread id as key"),
    (MapType::CgrpStorage, "older kernels have BPF_MAP_TYPE_HASH with bpf_get_current_cgroup_id() as key"),
    (MapType::InodeStorage, "older kernels have BPF_MAP_TYPE_HASH with device and inode number as key"),
    (MapType::BloomFilter, "older kernels have BPF_MAP_TYPE_HASH"),
];

/// `PERF_MAX_STACK_DEPTH`: the frames that stack traces have by default.
const STACK_DEPTH: u32 = 127;

/// The size of such a stack trace: an address for each frame.
const STACK_BYTES: u32 = 8 * STACK_DEPTH;

/// The number of entries in examples.
const ENTRIES: u32 = 10240;

/// Returns the fixes of a map that the kernel cannot create.
pub(super) fn need_fixes(advisor: &Advisor<'_, '_>, map: usize, need: NeedId) -> Vec<Fix> {
    let Some(name) = advisor.needs.maps.get(map).map(|map| &map.name) else { return Vec::new() };
    let mut fixes = Vec::new();
    if let Some(Need::StructOps(_) | Need::Feature(_)) = advisor.answers.need(need) {
        let text =
            "leave the map out of the default load; the loader creates it where the kernel has the type";
        let section = struct_ops_section(advisor, name).filter(|section| !section.starts_with('?'));
        fixes.extend(section.map(|section| Fix::c(FixPlace::Section, text, format!("SEC(\"?{section}\")"))));
    }
    let c = format!("bpf_map__set_autocreate(skel->maps.{name}, false);");
    let rust = format!("loader.map_mut(\"{name}\").autocreate = Some(false);");
    let text = "do not create the map on such kernels, and leave out the programs that use it";
    fixes.push(Fix::c(FixPlace::Loader, text, c));
    fixes.push(Fix::new(FixLanguage::Rust, FixPlace::Loader, "the same with this project's loader", rust));
    if let Some(Need::MapType(number)) = advisor.answers.need(need) {
        let known = MapType::from_number(*number);
        let older = OLDER_TYPES.iter().find(|(newer, _)| Some(*newer) == known);
        fixes.extend(older.map(|(_, text)| Fix::without_code(*text)));
    }
    fixes
}

/// Returns the fixes of a member of a struct_ops map that the kernel's struct does not have: the member is
/// cleared.
///
/// Returns `None` for a member that C and Rust cannot name.
pub(super) fn member_fixes(advisor: &Advisor<'_, '_>, map: usize, member: u32) -> Option<Vec<Fix>> {
    let need = advisor.needs.maps.get(map)?;
    let MapSource::StructOps(table) = advisor.needs.linker.maps().get(need.struct_ops?.0)?.source else {
        return None;
    };
    let btf = advisor.needs.object.btf()?;
    let member = btf.strip(table.ty).ok()?.member(member)?;
    let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let name = core::str::from_utf8(member.name.as_bytes()).ok().filter(|name| is_plain(name))?;
    let map = Some(need.name.as_str()).filter(|map| is_plain(map))?;
    let text = format!("clear the member on such kernels, if the program works without `{name}`");
    let (skeleton, mut fixes) = (format!("skel->struct_ops.{map}->{name} ="), Vec::new());
    match btf.strip(member.ty).ok()?.kind() {
        Kind::Int | Kind::Enum | Kind::Enum64 => {
            let option = format!("--set {map}.{name}=0");
            fixes.push(Fix::new(
                FixLanguage::Shell,
                FixPlace::Command,
                &format!("{text}: for `load`"),
                option,
            ));
            let text = "the same in a loader with a skeleton; without one, change the value that bpf_map__initial_value() returns";
            fixes.push(Fix::c(FixPlace::Loader, text, format!("{skeleton} 0;")));
        }
        Kind::Ptr => {
            fixes.push(Fix::c(FixPlace::Loader, text, format!("{skeleton} NULL;")));
            let rust = format!("loader.map_mut(\"{map}\").programs.insert(\"{name}\".into(), None);");
            let text = "the same with this project's loader";
            fixes.push(Fix::new(FixLanguage::Rust, FixPlace::Loader, text, rust));
        }
        _ => {
            let text = format!(
                "{text}: set all of its bytes to 0 in the value that bpf_map__initial_value() returns"
            );
            fixes.push(Fix::without_code(text));
        }
    }
    Some(fixes)
}

/// Returns the name of the section of a struct_ops map.
fn struct_ops_section<'a>(advisor: &Advisor<'a, '_>, map: &str) -> Option<&'a str> {
    let mut maps = advisor.needs.linker.maps().iter().filter(|entry| entry.name == map.as_bytes());
    match maps.next()?.source {
        MapSource::StructOps(map) => core::str::from_utf8(map.section.name).ok(),
        _ => None,
    }
}

/// Returns the fix of an option of this project's commands.
fn option(option: String) -> Fix {
    Fix::new(FixLanguage::Shell, FixPlace::Command, "for `check`, `explain`, `load` and their like", option)
}

/// Returns the fixes of an attribute that user space must set.
pub(super) fn input_fixes(advisor: &Advisor<'_, '_>, map: usize, input: MapInput) -> Vec<Fix> {
    let Some(MapNeed { name, definition, .. }) = advisor.needs.maps.get(map) else { return Vec::new() };
    let is_stack_trace = definition.as_ref().is_some_and(|def| def.known_type() == Some(MapType::StackTrace));
    let text = "set the attribute in a loader that uses libbpf";
    let (c, rust, definition) = match input {
        MapInput::MaxEntries => (
            format!("bpf_map__set_max_entries(skel->maps.{name}, {ENTRIES});"),
            format!("loader.map_mut(\"{name}\").max_entries = Some({ENTRIES});"),
            format!("__uint(max_entries, {ENTRIES});"),
        ),
        MapInput::KeySize => (
            format!("bpf_map__set_key_size(skel->maps.{name}, sizeof(__u32));"),
            format!("loader.map_mut(\"{name}\").key_size = Some(4);"),
            "__uint(key_size, sizeof(__u32));".to_owned(),
        ),
        MapInput::ValueSize if is_stack_trace => (
            format!("bpf_map__set_value_size(skel->maps.{name}, {STACK_DEPTH} * sizeof(__u64));"),
            format!("loader.map_mut(\"{name}\").value_size = Some({STACK_BYTES});"),
            format!("__uint(value_size, {STACK_DEPTH} * sizeof(__u64));"),
        ),
        MapInput::ValueSize => (
            format!("bpf_map__set_value_size(skel->maps.{name}, sizeof(__u64));"),
            format!("loader.map_mut(\"{name}\").value_size = Some(8);"),
            "__uint(value_size, sizeof(__u64));".to_owned(),
        ),
        MapInput::InnerMap => {
            return vec![
                option(format!("--inner-map {name}=hash:4:8:{ENTRIES}")),
                Fix::c(
                    FixPlace::Loader,
                    text,
                    format!("bpf_map__set_inner_map_fd(skel->maps.{name}, inner_map_fd);"),
                ),
            ];
        }
    };
    let number = match input {
        MapInput::KeySize => 4,
        MapInput::ValueSize if is_stack_trace => STACK_BYTES,
        MapInput::ValueSize => 8,
        _ => ENTRIES,
    };
    let mut fixes = vec![
        Fix::c(FixPlace::Map, "set the attribute in the map's definition", definition),
        option(format!("--{} {name}={number}", input.name().replace('_', "-"))),
    ];
    fixes.push(Fix::c(FixPlace::Loader, text, c));
    fixes.push(Fix::new(FixLanguage::Rust, FixPlace::Loader, "the same with this project's loader", rust));
    fixes
}
