//! Attach calls by program name, for the programs of network interfaces.

use super::{Loaded, attach_methods::attach_type};
use crate::attach::{
    self, AttachError, InterfaceRef, Link, Placement, TcAttachPoint, TcHook, TcOptions, XdpMode,
};
use std::os::fd::AsFd as _;

impl Loaded {
    /// Attaches an XDP program to an interface by name or index, see [`attach::xdp`](crate::attach::xdp()).
    ///
    /// ```no_run
    /// # fn example(loaded: &core_relo_loader::load::Loaded) -> Result<(), core_relo_loader::attach::AttachError> {
    /// use core_relo_loader::attach::XdpMode;
    /// let link = loaded.attach_xdp("drop_packets", "eth0", XdpMode::Any)?;
    /// # drop(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn attach_xdp<'i>(
        &self,
        program: &str,
        interface: impl Into<InterfaceRef<'i>>,
        mode: XdpMode,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::xdp(prog.as_fd(), interface, mode))
    }

    /// Attaches a classifier to an interface, see [`attach::tcx`](crate::attach::tcx()). The program's section names the
    /// direction: `tcx/ingress` or `tcx/egress`.
    pub fn attach_tcx<'i>(
        &self,
        program: &str,
        interface: impl Into<InterfaceRef<'i>>,
        placement: &Placement<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            attach::tcx(
                prog.as_fd(),
                interface,
                attach_type(prog, "`tcx/ingress` or `tcx/egress`")?,
                placement,
            )
        })
    }

    /// Attaches a classifier to a netkit device, see [`attach::netkit`](crate::attach::netkit()). The program's section names the
    /// end: `netkit/primary` or `netkit/peer`.
    pub fn attach_netkit<'i>(
        &self,
        program: &str,
        interface: impl Into<InterfaceRef<'i>>,
        placement: &Placement<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            let attach_type = attach_type(prog, "`netkit/primary` or `netkit/peer`")?;
            attach::netkit(prog.as_fd(), interface, attach_type, placement)
        })
    }

    /// Attaches a classifier to an interface through netlink, see [`TcHook::attach`]. Creates the interface's `clsact` qdisc, if
    /// the qdisc is missing.
    pub fn attach_tc<'i>(
        &self,
        program: &str,
        interface: impl Into<InterfaceRef<'i>>,
        attach_point: TcAttachPoint,
        options: TcOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            let hook = TcHook::new(interface, attach_point)?;
            if !matches!(attach_point, TcAttachPoint::Parent(_)) {
                hook.create()?;
            }
            hook.attach(prog.as_fd(), options)
        })
    }
}
