// SPDX-License-Identifier: GPL-2.0

// loader FILE.o N: a Go agent on cilium/ebpf. N goroutines, each on a thread of its own, load the
// object, run program "count" on one packet and check that its map has counted it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/cilium/ebpf"
)

type objects struct {
	Count *ebpf.Program `ebpf:"count"`
	Seen  *ebpf.Map     `ebpf:"seen"`
}

func load(file string) error {
	spec, err := ebpf.LoadCollectionSpec(file)
	if err != nil {
		return err
	}
	var objs objects
	if err := spec.LoadAndAssign(&objs, nil); err != nil {
		return err
	}
	defer objs.Count.Close()
	defer objs.Seen.Close()

	pkt := make([]byte, 100)
	pkt[12], pkt[13], pkt[14], pkt[20] = 0x86, 0xdd, 0x60, 6
	if _, _, err := objs.Count.Test(pkt); err != nil {
		return err
	}
	var n uint64
	if err := objs.Seen.Lookup(uint32(0), &n); err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("counted %d packets, not 1", n)
	}
	return nil
}

func main() {
	if len(os.Args) != 3 {
		os.Exit(1)
	}
	n, _ := strconv.Atoi(os.Args[2])
	errs := make(chan error)
	for i := 0; i < n; i++ {
		go func() {
			runtime.LockOSThread()
			errs <- load(os.Args[1])
		}()
	}
	for i := 0; i < n; i++ {
		if err := <-errs; err != nil {
			fmt.Fprintln(os.Stderr, "loader:", err)
			os.Exit(2)
		}
	}
}
