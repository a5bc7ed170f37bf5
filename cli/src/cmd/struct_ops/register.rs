//! `struct_ops register` and `struct_ops unregister`.

use super::{
    StructOpsSelector,
    facts::{KEY, StructOpsMap, kernel_struct_name, links_of_maps, map_id},
};
use crate::{
    args::{kernel_services::RegisterArgs, object_selector::ObjectChangeArgs},
    cmd::{load::setup::set_kconfig, object_refusal::ObjectRefusal},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::object::{ObjectFile, object_name},
    kernel_objects::{
        error::{object_name as kernel_object_name, unreadable_info, with_hint},
        select::select_one,
    },
    text::{line::Line, style},
};
use core_relo_loader::{
    Errno, Loader,
    attach::Link,
    inventory::{BtfCache, InfoError, KernelObject, LinkInfo, ObjectKind},
    load::{Loaded, LoadedMap, RunningKernel},
    load_plan::{LoadPlan, MapRole},
    map_flags,
    maps::MapShape,
};
use serde::Serialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A map that was registered or unregistered, and its JSON line.
#[derive(Debug, Serialize)]
struct Registration {
    id: u32,
    name: String,
    kernel_struct_ops: Option<String>,
    change: &'static str,
    link_id: Option<u32>,
    pin: Option<String>,
}

impl Registration {
    fn write(&self, console: &mut Console<'_>, format: Format) -> io::Result<()> {
        let map = kernel_object_name(ObjectKind::Map, self.id, &self.name);
        let kernel_struct = self.kernel_struct_ops.as_deref().unwrap_or("struct_ops");
        let mut line = Line::new().styled(style::GOOD, self.change);
        line = line.text(format_args!(": {map}: {kernel_struct}"));
        if let (Some(link_id), Some(pin)) = (self.link_id, &self.pin) {
            line = line.text(format_args!(": link {link_id}, pinned at {pin}"));
        }
        console.report_change(format, self, &line)
    }
}

pub(super) fn register(console: &mut Console<'_>, args: &RegisterArgs) -> CommandResult {
    let file = ObjectFile::read(&args.object)?;
    match register_object(&file, args) {
        Ok(registrations) => {
            Ok(registrations.iter().try_for_each(|done| done.write(console, args.format))?)
        }
        Err(e) => Ok(e.report(console, &file.name)?),
    }
}

fn register_object(file: &ObjectFile, args: &RegisterArgs) -> Result<Vec<Registration>, ObjectRefusal> {
    let object = file.parse()?;
    let mut loader = Loader::new(&object).name(object_name(&args.object));
    set_kconfig(&mut loader, args.kconfig.as_deref())?;
    let plan = loader.plan()?;
    check_plan(&file.name, &plan, args.link_dir.as_deref())?;
    let mut loaded = loader.execute_unpinned(&plan, &RunningKernel)?;
    let mut links = RegisteredLinks::new(args.link_dir.as_deref());
    let names: Vec<String> =
        loaded.maps().iter().filter(|map| is_struct_ops(map)).map(|map| map.name().to_owned()).collect();
    for name in &names {
        links.register(&loaded, name)?;
    }
    let registrations = registrations(&file.name, &loaded, &names, &links)?;
    loaded.pin_maps(&RunningKernel)?;
    links.keep();
    Ok(registrations)
}

fn is_struct_ops(map: &LoadedMap) -> bool {
    map.plan.role() == MapRole::StructOps && map.fd().is_some()
}

/// Checks that the object has struct_ops maps, and that their links will be pinned.
fn check_plan(file: &str, plan: &LoadPlan, link_dir: Option<&Path>) -> Result<(), BadInput> {
    let mut maps = plan.maps().iter().filter(|map| map.role() == MapRole::StructOps).peekable();
    if maps.peek().is_none() {
        let bad = BadInput::new(file, "it has no struct_ops map");
        return Err(bad.help("`core-relo load --attach` attaches other programs"));
    }
    match maps.find(|map| map.map_flags() & map_flags::LINK != 0 && link_dir.is_none()) {
        Some(map) => {
            let what =
                format!("map `{}` is registered by a link, which would end with this command", map.name());
            let help =
                "name a directory of a bpffs for the pin of the link: struct_ops register OBJ LINK_DIR";
            Err(BadInput::new(file, what).help(help))
        }
        None => Ok(()),
    }
}

/// The links of registered maps. Dropping them undoes the registrations and the pins.
struct RegisteredLinks<'d> {
    links: Vec<Link>,
    dir: Option<&'d Path>,
    /// The directory, if this command creates it.
    new_dir: Option<PathBuf>,
}

impl<'d> RegisteredLinks<'d> {
    fn new(dir: Option<&'d Path>) -> Self {
        let new_dir = dir.filter(|dir| !dir.exists()).map(Path::to_path_buf);
        Self { links: Vec::new(), dir, new_dir }
    }

    /// Registers a map, and pins its link if it has one.
    fn register(&mut self, loaded: &Loaded, map: &str) -> Result<(), ObjectRefusal> {
        let mut link = loaded.attach_struct_ops(map)?;
        if let Some(dir) = self.dir.filter(|_| link.fd().is_some()) {
            link.pin(dir.join(map))?;
        }
        self.links.push(link);
        Ok(())
    }

    /// Leaves the maps registered.
    fn keep(mut self) {
        self.new_dir = None;
        std::mem::take(&mut self.links).into_iter().for_each(Link::leak);
    }
}

impl Drop for RegisteredLinks<'_> {
    fn drop(&mut self) {
        for link in &mut self.links {
            if let Err(e) = link.unpin() {
                log::warn!("{e}");
            }
        }
        self.links.clear();
        // Nothing is registered, so a directory that was created is empty. It may also not have been created
        // yet.
        if let Some(dir) = &self.new_dir
            && let Err(e) = fs::remove_dir(dir)
            && e.kind() != io::ErrorKind::NotFound
        {
            log::warn!("{}: not removed: {e}", escape_path(dir));
        }
    }
}

/// Returns the report on registered maps.
fn registrations(
    file: &str,
    loaded: &Loaded,
    names: &[String],
    links: &RegisteredLinks<'_>,
) -> Result<Vec<Registration>, BadInput> {
    let unreadable = |e: InfoError| BadInput::new(file, format_args!("a registered map: {}", e.problem()));
    let mut btfs = BtfCache::default();
    let mut found = Vec::new();
    for (name, link) in names.iter().zip(&links.links) {
        let fd = loaded.map(name).and_then(LoadedMap::fd).ok_or_else(|| {
            BadInput::new(file, format_args!("internal error: registered map `{name}` has no descriptor"))
        })?;
        let id = map_id(&fd).map_err(unreadable)?;
        let link_id = link.fd().map(|fd| LinkInfo::query(&fd)).transpose().map_err(unreadable)?;
        let kernel_struct_ops = match StructOpsMap::open(KernelObject::new(ObjectKind::Map, id)) {
            Ok(Some(Ok(map))) => map.value_type(&mut btfs).as_ref().and_then(kernel_struct_name),
            _ => None,
        };
        found.push(Registration {
            id,
            name: name.clone(),
            kernel_struct_ops,
            change: "registered",
            link_id: link_id.map(|info| info.id),
            pin: link.pin_path().map(escape_path),
        });
    }
    Ok(found)
}

pub(super) fn unregister(console: &mut Console<'_>, args: &ObjectChangeArgs) -> CommandResult {
    let done = unregister_map(args)?;
    Ok(done.write(console, args.format)?)
}

fn unregister_map(args: &ObjectChangeArgs) -> Result<Registration, BadInput> {
    let (id, fd) = select_one(ObjectKind::Map, &StructOpsSelector(&args.selector))?;
    let gone = || BadInput::new(kernel_object_name(ObjectKind::Map, id, ""), "it is gone");
    let object =
        KernelObject::from_fd(ObjectKind::Map, fd).map_err(|e| unreadable_info(ObjectKind::Map, id, e))?;
    let map = StructOpsMap::open(object)?.ok_or_else(gone)??;
    let kernel_struct_ops = map.value_type(&mut BtfCache::default()).as_ref().and_then(kernel_struct_name);
    let shape = MapShape::query(&map.fd)
        .map_err(|e| BadInput::new(map.name(), format_args!("cannot be read: {e}")))?;
    shape.delete(&KEY).map_err(|e| unregister_refusal(&map, e))?;
    Ok(Registration {
        id,
        name: map.info.name(),
        kernel_struct_ops,
        change: "unregistered",
        link_id: None,
        pin: None,
    })
}

/// Returns the error of a map that the kernel does not unregister.
fn unregister_refusal(map: &StructOpsMap, e: Errno) -> BadInput {
    if map.info.map_flags & map_flags::LINK != 0 {
        let mut links = match links_of_maps() {
            Ok(links) => links,
            Err(bad) => return bad,
        };
        let bad = BadInput::new(map.name(), "is registered by a link, and ends with it");
        return match links.remove(&map.info.id).as_deref().unwrap_or(&[]) {
            [] => BadInput::new(map.name(), "is not registered: it has no link"),
            [id] => bad.help(format!("core-relo link detach {id}")),
            ids => bad.help(format!("`core-relo link detach` detaches the links {ids:?}")),
        };
    }
    match e {
        Errno::ENOENT => BadInput::new(map.name(), "is not registered"),
        Errno::EINPROGRESS => BadInput::new(map.name(), "is being unregistered already"),
        _ => with_hint(BadInput::new(map.name(), format_args!("cannot be unregistered: {e}")), e),
    }
}
