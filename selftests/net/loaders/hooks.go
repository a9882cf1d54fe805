// SPDX-License-Identifier: GPL-2.0

// hooks FILE.o PROGRAM xdp|cgroup-ingress|cgroup-egress|socket DEVICE|CGROUP: a Go agent on cilium/ebpf that loads
// one program of an object, attaches it (XDP: generic; socket: a packet socket's filter), prints its id
// and keeps it attached until its standard input ends.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

const (
	allProtocols = 0x0300 // ETH_P_ALL in network byte order
	soAttachBPF  = 50
)

func packetSocket(prog *ebpf.Program, dev string) (io.Closer, error) {
	ifc, err := net.InterfaceByName(dev)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, soAttachBPF, prog.FD()); err != nil {
		return nil, err
	}
	// From here on it gets packets.
	err = syscall.Bind(fd, &syscall.SockaddrLinklayer{Protocol: allProtocols, Ifindex: ifc.Index})
	return os.NewFile(uintptr(fd), dev), err
}

func attach(prog *ebpf.Program, hook, target string) (io.Closer, error) {
	switch hook {
	case "xdp":
		ifc, err := net.InterfaceByName(target)
		if err != nil {
			return nil, err
		}
		return link.AttachXDP(link.XDPOptions{
			Program: prog, Interface: ifc.Index, Flags: link.XDPGenericMode,
		})
	case "cgroup-ingress":
		return link.AttachCgroup(link.CgroupOptions{
			Path: target, Attach: ebpf.AttachCGroupInetIngress, Program: prog,
		})
	case "cgroup-egress":
		return link.AttachCgroup(link.CgroupOptions{
			Path: target, Attach: ebpf.AttachCGroupInetEgress, Program: prog,
		})
	case "socket":
		return packetSocket(prog, target)
	}
	return nil, fmt.Errorf("no hook %s", hook)
}

func run(file, name, hook, target string) error {
	spec, err := ebpf.LoadCollectionSpec(file)
	if err != nil {
		return err
	}
	// The program alone, with the maps it uses.
	for n := range spec.Programs {
		if n != name {
			delete(spec.Programs, n)
		}
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return err
	}
	defer coll.Close()
	prog := coll.Programs[name]
	if prog == nil {
		return fmt.Errorf("no program %s", name)
	}
	info, err := prog.Info()
	if err != nil {
		return err
	}
	id, _ := info.ID()
	held, err := attach(prog, hook, target)
	if err != nil {
		return err
	}
	defer held.Close()
	fmt.Println(id)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func main() {
	if len(os.Args) != 5 {
		os.Exit(1)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "hooks:", err)
		os.Exit(2)
	}
}
