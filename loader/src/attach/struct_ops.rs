//! struct_ops: maps of functions that the kernel calls, such as those of a TCP congestion control.

use super::{
    error::{AttachError, Hint},
    link::{Attachment, Link},
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget, MapFd};
use core_relo_object::{map_flags, object::AttachType};
use std::os::fd::BorrowedFd;

/// The only key of a struct_ops map.
const KEY: [u8; 4] = [0; 4];
const FAMILY: &str = "struct_ops";

/// Registers a struct_ops map with the kernel. `value` is the kernel's struct, with program descriptors in
/// place of functions.
///
/// A map created with `BPF_F_LINK` (`.struct_ops.link`, kernels from 6.4) is registered by a kernel link.
/// Another map stays registered until the returned link is dropped. If that link is leaked, the registration
/// outlives the process without a pin.
pub fn struct_ops(map: &MapFd, value: &[u8]) -> Result<Link, AttachError> {
    let info = sys::MapInfo::query(&map.shape().fd())
        .map_err(|errno| AttachError::kernel(FAMILY, "attach", errno))?;
    let label = format!("{FAMILY} {}", info.name());
    let size = map.shape().value_size();
    if value.len() != size {
        let problem = format!("wrong size of the value: {} bytes, expected {size}", value.len());
        return Err(AttachError::target(label, problem));
    }
    let failed = |errno| struct_ops_error(&label, "attach", errno);
    if info.map_flags & map_flags::LINK == 0 {
        let map = map.try_clone().map_err(failed)?;
        map.shape().update(&KEY, value, 0).map_err(failed)?;
        return Ok(Link::new(StructOpsAttachment(map), label.as_str()));
    }
    set_value(map, value).map_err(failed)?;
    let link = LinkCreate {
        prog: map.shape().fd(),
        target: LinkTarget::None,
        attach_type: AttachType::StructOps.number(),
        flags: 0,
        extra: LinkExtra::None,
    };
    Ok(Link::from_fd(sys::link_create(&link).map_err(failed)?, label.as_str()))
}

/// Replaces the map of a link by another map. Both maps have to be created with `BPF_F_LINK`.
pub fn struct_ops_update(link: &mut Link, map: &MapFd, value: &[u8]) -> Result<(), AttachError> {
    if link.fd().is_some() {
        set_value(map, value).map_err(|errno| struct_ops_error(link.label(), "update", errno))?;
    }
    link.update(map.shape().fd())
}

/// Stores a map's value before a link registers the map.
fn set_value(map: &MapFd, value: &[u8]) -> Result<(), Errno> {
    match map.shape().update(&KEY, value, 0) {
        // An earlier link had the value stored. The kernel does not let it change.
        Err(Errno(libc::EBUSY)) => Ok(()),
        result => result,
    }
}

fn struct_ops_error(label: &str, action: &'static str, errno: Errno) -> AttachError {
    let hint = match errno.0 {
        libc::EEXIST => Hint("a struct_ops with this name is registered already"),
        libc::EBUSY => Hint("this map is registered already, or was: create a new one"),
        libc::EINVAL => Hint("is a required function missing, or a member set that must be 0?"),
        _ => Hint::for_errno(errno),
    };
    AttachError::Kernel { label: label.into(), action, errno, hint }
}

/// A map that registered itself when its value was stored. The kernel can neither replace nor pin the
/// registration.
#[derive(Debug)]
struct StructOpsAttachment(MapFd);

impl Attachment for StructOpsAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        self.0.shape().delete(&KEY)
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}

    fn abandon(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::test_support::{Counting, eventually, in_own_network, ok_or_skip},
        sys::{BtfLoad, MapCreate},
    };
    use core::net::Ipv4Addr;
    use core_relo::{
        Endian,
        btf::{Btf, Builder, Kind},
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        os::fd::{AsFd as _, AsRawFd as _},
    };

    const OPS: &[u8] = b"tcp_congestion_ops";
    const CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    const CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

    fn btf() -> Option<Btf<'static>> {
        let found = crate::target::kernel().ok().map(|kernel| kernel.parse_unvalidated(None).unwrap());
        if found.is_none() {
            skip!(Btf, "the kernel has no BTF");
        }
        found
    }

    /// Returns the id and the size of a kernel struct.
    fn structure(btf: &Btf<'_>, name: &[u8]) -> (u32, u32) {
        let found = btf.find(name, Kind::Struct).unwrap();
        (found.id().0, found.size().unwrap().0)
    }

    /// Returns the byte offset and the index of a member of a kernel struct.
    fn member(btf: &Btf<'_>, of: &[u8], name: &[u8]) -> (usize, u32) {
        let found = btf.find(of, Kind::Struct).unwrap();
        let (n, member) = (0..).zip(found.members()).find(|(_, m)| m.name.as_bytes() == name).unwrap();
        (usize::try_from(member.bit_offset.0 / 8).unwrap(), n)
    }

    /// A congestion control with a window of two packets and a run counter for each function.
    struct Control {
        map: MapFd,
        value: Vec<u8>,
        functions: Vec<Counting>,
    }

    impl Control {
        fn new(btf: &Btf<'_>, name: &str, map_flags: u32) -> Option<Self> {
            const VALUE: &[u8] = b"bpf_struct_ops_tcp_congestion_ops";
            let (ops, _) = structure(btf, OPS);
            let (value_type, size) = structure(btf, VALUE);
            // The kernel requires a BTF with the map, but does not use its types.
            let mut any = Builder::new(Endian::native());
            any.int("int", 4, 1);
            let load = BtfLoad { btf: &any.finish(), ..BtfLoad::default() };
            let any = ok_or_skip("a BTF", sys::btf_load(&load, &mut []))?;
            let map = MapCreate {
                map_type: 26,
                btf: Some(any.as_fd()),
                name: name.as_bytes(),
                key_size: 4,
                value_size: size,
                max_entries: 1,
                map_flags,
                kernel_value_type: value_type,
                ..MapCreate::default()
            };
            let map = match sys::map_create(&map) {
                Err(Errno(libc::EINVAL)) if map_flags != 0 => {
                    skip!("no links of struct_ops");
                    return None;
                }
                made => MapFd::new(ok_or_skip("a struct_ops map", made)?).unwrap(),
            };
            let mut value = vec![0; usize::try_from(size).unwrap()];
            let (data, _) = member(btf, VALUE, b"data");
            let mut put = |name: &[u8], bytes: &[u8]| {
                let (at, n) = member(btf, OPS, name);
                value[data..][at..][..bytes.len()].copy_from_slice(bytes);
                n
            };
            put(b"name", name.as_bytes());
            // TCP_CONG_NON_RESTRICTED: network namespaces other than the initial one may use it.
            put(b"flags", &Endian::native().u32_bytes(1));
            let mut functions = Vec::new();
            for name in [&b"ssthresh"[..], b"undo_cwnd", b"cong_avoid"] {
                let n = put(name, &[]);
                let function = Counting::load_for(ProgramType::StructOps, n, ops, 2)?;
                let fd = function.fd().as_raw_fd();
                put(name, &Endian::native().u64_bytes(u64::try_from(fd).unwrap()));
                functions.push(function);
            }
            Some(Self { map, value, functions })
        }

        fn cong_avoid(&self) -> &Counting {
            &self.functions[2]
        }
    }

    fn available(name: &str) -> bool {
        std::fs::read_to_string(CONTROLS).unwrap().split_whitespace().any(|control| control == name)
    }

    /// Sends data over a connection with this congestion control.
    fn send(name: &str) {
        let before = std::fs::read_to_string(CONTROL).unwrap();
        std::fs::write(CONTROL, name).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        std::fs::write(CONTROL, before.trim()).unwrap();
        let data = vec![7; 1 << 16];
        std::thread::scope(|scope| {
            scope.spawn(|| near.write_all(&data).unwrap());
            far.read_exact(&mut vec![0; data.len()]).unwrap();
        });
    }

    #[test]
    fn a_congestion_control_registers_and_is_called() {
        in_own_network(|| {
            let Some(btf) = btf() else { return };
            for (name, flags) in [("crt_p", 0), ("crt_l", map_flags::LINK)] {
                let name = &format!("{name}{}", std::process::id());
                let Some(control) = Control::new(&btf, name, flags) else { continue };
                assert!(matches!(struct_ops(&control.map, &[1]), Err(AttachError::Target { .. })));
                let mut link = struct_ops(&control.map, &control.value).unwrap();
                assert_eq!(link.label(), format!("struct_ops {name}"));
                assert_eq!(link.fd().is_some(), flags == map_flags::LINK);
                assert!(available(name));
                send(name);
                assert!(control.cong_avoid().ran_since(0));
                if flags == map_flags::LINK {
                    let other = Control::new(&btf, name, flags).unwrap();
                    struct_ops_update(&mut link, &other.map, &other.value).unwrap();
                    send(name);
                    assert!(other.cong_avoid().ran_since(0));
                } else {
                    assert!(link.update(control.map.shape().fd()).is_err());
                    assert!(
                        link.pin("/sys/fs/bpf/never").unwrap_err().to_string().contains("cannot be pinned")
                    );
                    let again = struct_ops(&control.map, &control.value).unwrap_err().to_string();
                    assert!(again.contains("this map is registered already"), "{again}");
                }
                link.detach().unwrap();
                assert!(eventually(|| !available(name)));
            }
        });
    }
}
