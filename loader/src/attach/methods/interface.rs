//! Attaching programs to network interfaces and segment routes.

use crate::attach::{
    AttachError, InterfaceRef, Link, LwtRoute, PacketDirection, Placement, ProgramRef, TcAttachPoint,
    TcOptions, XdpMode, XdpReplace, classifier, lwt, tcx, xdp,
};

impl ProgramRef<'_> {
    /// Attaches an XDP program to an interface, by name or index, by a kernel link (kernels from 5.9; libbpf:
    /// `bpf_program__attach_xdp`).
    ///
    /// On older kernels, attaches by netlink with [`XdpReplace::Never`]. Fails if another program or link is
    /// attached (`EBUSY`, `EEXIST`).
    ///
    /// ```no_run
    /// use core_relo_loader::{attach::{AttachError, XdpMode}, load::Loaded};
    ///
    /// # fn example(loaded: &Loaded) -> Result<(), AttachError> {
    /// let link = loaded.program_ref("drop_packets")?.attach_xdp("eth0", XdpMode::Any)?;
    /// # drop(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn attach_xdp<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        mode: XdpMode,
    ) -> Result<Link, AttachError> {
        xdp::xdp(self.fd, interface, mode).map_err(|e| self.named(e))
    }

    /// Attaches an XDP program by netlink (libbpf: `bpf_xdp_attach`). The program stays attached if the
    /// process ends without dropping the link.
    ///
    /// Detaching fails if another program is attached by then. A replaced program is not restored.
    pub fn attach_xdp_netlink<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        mode: XdpMode,
        replace: XdpReplace<'_>,
    ) -> Result<Link, AttachError> {
        xdp::xdp_netlink(self.fd, interface, mode, replace).map_err(|e| self.named(e))
    }

    /// Attaches a classifier to an interface (kernels from 6.6). The program's section names the direction:
    /// `tcx/ingress` or `tcx/egress`.
    ///
    /// tcx programs run before classifiers that were attached through [`TcHook`](crate::attach::TcHook).
    pub fn attach_tcx<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        placement: &Placement<'_>,
    ) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("`tcx/ingress` or `tcx/egress`")?;
        tcx::tcx(self.fd, interface, attach_type, placement).map_err(|e| self.named(e))
    }

    /// Attaches a classifier to a netkit device (kernels from 6.7). The interface is the primary end. The
    /// program's section names the end that runs the program: `netkit/primary` or `netkit/peer`.
    pub fn attach_netkit<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        placement: &Placement<'_>,
    ) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("`netkit/primary` or `netkit/peer`")?;
        tcx::netkit(self.fd, interface, attach_type, placement).map_err(|e| self.named(e))
    }

    /// Attaches a classifier to an interface: as a tcx link where the kernel has tcx, else by traffic
    /// control. A missing `clsact` qdisc is created for that.
    ///
    /// This method is for programs that run either way, such as those of the sections `tc` and `classifier`.
    /// As in libbpf, the sections `tcx/…` and `tc/…` name tcx: attach their programs with
    /// [`attach_tcx`](Self::attach_tcx), which fails on kernels without.
    ///
    /// Dropping the link detaches the classifier either way. A `clsact` qdisc that was created stays, as
    /// others may use it by then; if the classifier is refused, the qdisc is removed again. The order
    /// relative to other classifiers is the kernel's default.
    pub fn attach_classifier<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        direction: PacketDirection,
    ) -> Result<Link, AttachError> {
        classifier::classifier(self.fd, interface, direction).map_err(|e| self.named(e))
    }

    /// Attaches a classifier to an interface by traffic control, over netlink (see
    /// [`TcHook::attach`](crate::attach::TcHook::attach)). Creates the interface's `clsact` qdisc if the
    /// qdisc is missing, and removes it again if the classifier is refused.
    pub fn attach_tc<'i>(
        &self,
        interface: impl Into<InterfaceRef<'i>>,
        attach_point: TcAttachPoint,
        options: TcOptions,
    ) -> Result<Link, AttachError> {
        classifier::traffic_control(self.fd, interface, attach_point, options).map_err(|e| self.named(e))
    }

    /// Adds a segment route with a program of the type `lwt_seg6local`
    /// (`ip -6 route add … encap seg6local action End.BPF …`).
    ///
    /// The program runs on incoming packets to the route's destination that have a segment routing header
    /// with segments left. In all else, this method is like [`lwt`](crate::attach::lwt()).
    pub fn attach_seg6local(&self, route: &LwtRoute) -> Result<Link, AttachError> {
        lwt::seg6local(self.fd, route).map_err(|e| self.named(e))
    }
}
